"""Small PNG files for tests, written chunk by chunk."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, body: bytes, *, crc: int | None = None, length: int | None = None) -> bytes:
    """One chunk; ``crc`` and ``length`` can be forged."""
    checksum = zlib.crc32(kind + body) if crc is None else crc
    return struct.pack(">I", len(body) if length is None else length) + kind + body + struct.pack(">I", checksum)


HEADER = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
PIXELS = chunk(b"IDAT", zlib.compress(b"\0\0\0\0"))
END = chunk(b"IEND", b"")


def encoded(card: Any) -> bytes:
    """The base64 form that card chunks carry."""
    return base64.b64encode(json.dumps(card, ensure_ascii=False).encode())


def text_chunk(keyword: str, text: bytes, kind: bytes = b"tEXt", *, compressed: bool = False) -> bytes:
    """A tEXt, zTXt or iTXt chunk."""
    name = keyword.encode("latin-1") + b"\0"
    if kind == b"tEXt":
        return chunk(kind, name + text)
    if kind == b"zTXt":
        return chunk(kind, name + b"\0" + zlib.compress(text))
    body = zlib.compress(text) if compressed else text
    return chunk(kind, name + bytes([int(compressed), 0]) + b"en\0\0" + body)


def png(*chunks: bytes) -> bytes:
    """A one-pixel picture with the given extra chunks."""
    return SIGNATURE + HEADER + b"".join(chunks) + PIXELS + END
