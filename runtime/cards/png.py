"""The card text of a PNG file: chunk walk with bounds and CRC, text chunks ``ccv3`` and ``chara``.

Only text chunks are read; the picture is never decoded.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from runtime.cards.errors import CardError
from runtime.cards.limits import CARD_CHUNKS, CARD_JSON_BYTES

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORDS = ("ccv3", "chara")  # in order of preference: the newer chunk wins
_TEXT_TYPES = (b"tEXt", b"zTXt", b"iTXt")
_OVERHEAD = 12  # length, type and CRC, four bytes each


@dataclass(frozen=True, slots=True)
class CardText:
    """The decoded card text of one chunk, with the place it came from."""

    keyword: str
    where: str
    data: bytes


@dataclass(frozen=True, slots=True)
class _Chunk:
    kind: bytes
    offset: int
    body: bytes

    @property
    def where(self) -> str:
        return f"{self.kind.decode('latin-1')} chunk at byte {self.offset}"


def find_card_text(data: bytes) -> CardText:
    """The text of the first ``ccv3`` chunk, else of the first ``chara`` chunk (``spec/http.md`` Cards)."""
    found: dict[str, _Chunk] = {}
    seen: list[str] = []
    for chunk in _chunks(data):
        if chunk.kind in _TEXT_TYPES:
            keyword = chunk.body.split(b"\0", 1)[0].decode("latin-1")
            seen.append(keyword[:80])
            found.setdefault(keyword.lower(), chunk)
    for keyword in KEYWORDS:
        if keyword in found:
            return CardText(keyword, f"{found[keyword].where} ('{keyword}')", _decode(keyword, found[keyword]))
    named = ", ".join(repr(name) for name in seen[:8]) or "none"
    raise CardError(
        f"Expected a PNG text chunk 'ccv3' or 'chara', found text chunks: {named}. "
        "Use the card file itself; a copy that passed a picture host has usually lost its text.",
        {"lookedFor": list(KEYWORDS), "found": seen[:32]},
    )


def _chunks(data: bytes) -> Iterator[_Chunk]:
    """Every chunk up to ``IEND``, each checked for bounds and CRC."""
    offset = len(SIGNATURE)
    for _ in range(CARD_CHUNKS.default):
        if len(data) - offset < _OVERHEAD:
            raise _broken(offset, f"expected a chunk or the end chunk IEND, found {len(data) - offset} bytes")
        length = int.from_bytes(data[offset : offset + 4], "big")
        kind = data[offset + 4 : offset + 8]
        if not kind.isalpha() or not kind.isascii():
            raise _broken(offset, f"expected a chunk name of four letters, found {kind!r}")
        left = len(data) - offset - _OVERHEAD
        name = kind.decode("latin-1")
        if length > left:
            raise _broken(offset, f"chunk {name} announces {length} bytes, found {left}")
        body = data[offset + 8 : offset + 8 + length]
        stored = int.from_bytes(data[offset + 8 + length : offset + _OVERHEAD + length], "big")
        actual = zlib.crc32(body, zlib.crc32(kind))
        if stored != actual:
            raise _broken(offset, f"chunk {name} has checksum {stored:08x}, its bytes give {actual:08x}")
        yield _Chunk(kind, offset, body)
        if kind == b"IEND":
            return
        offset += _OVERHEAD + length
    raise _broken(offset, f"expected the end chunk IEND within {CARD_CHUNKS.default} chunks")


def _broken(offset: int, what: str) -> CardError:
    return CardError(f"The PNG file is damaged: {what} (at byte {offset}).", {"offset": offset})


def _decode(keyword: str, chunk: _Chunk) -> bytes:
    text = _text_of(chunk).strip()
    if text[:1] == b"{":  # some tools write the JSON itself instead of its base64 form
        return text
    compact = b"".join(text.split())
    try:
        return base64.b64decode(compact + b"=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise CardError(
            f"Expected base64 text in the '{keyword}' chunk, found {compact[:16]!r}… ({error}), in {chunk.where}.",
            {"offset": chunk.offset, "chunk": keyword},
        ) from None


def _text_of(chunk: _Chunk) -> bytes:
    """The raw text of a tEXt, zTXt or iTXt chunk (PNG specification, textual chunks)."""
    _, separator, rest = chunk.body.partition(b"\0")
    if not separator:
        raise _broken(chunk.offset, f"a {chunk.kind.decode()} chunk without the separator after its keyword")
    if chunk.kind == b"tEXt":
        return rest
    if chunk.kind == b"zTXt":
        if rest[:1] != b"\0":
            raise _broken(chunk.offset, f"expected compression method 0 in a zTXt chunk, found {rest[:1]!r}")
        return _inflate(rest[1:], chunk)
    flags, rest = rest[:2], rest[2:]
    language_and_more = rest.split(b"\0", 2)
    if len(flags) < 2 or len(language_and_more) < 3 or flags[0] > 1:
        raise _broken(chunk.offset, "an iTXt chunk without its flags, language and translated keyword")
    return _inflate(language_and_more[2], chunk) if flags[0] else language_and_more[2]


def _inflate(data: bytes, chunk: _Chunk) -> bytes:
    limit = CARD_JSON_BYTES.default * 4 // 3 + 4  # base64 text is longer than what it carries
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(data, limit)
    except zlib.error as error:
        raise _broken(chunk.offset, f"compressed text that cannot be inflated ({error})") from None
    if inflater.unconsumed_tail:
        raise CardError(
            f"Expected at most {limit} bytes of inflated text, found more, in {chunk.where}.", {"offset": chunk.offset}
        )
    if not inflater.eof:
        raise _broken(chunk.offset, "compressed text that ends too early")
    return text
