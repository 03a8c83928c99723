"""Contents: each distinct JSON value once, compressed, as a delta against a similar keyframe where that is small.

Key order is part of a value here, so the storage key is the hash of the text as it stands; ``hash`` is the canonical
one (design §5). A delta names a keyframe, never another delta: reading costs at most two rows.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from typing import Any

import zstandard

from runtime.ledger.contract import StoredContent, Table, Transaction
from runtime.ledger.limits import CONTENT_CACHE, DELTA_SHARE
from runtime.values.canonical import canonical_json

CONTENTS = Table(
    "contents",
    {"key": "text", "hash": "text", "size": "integer", "base": "text", "body": "blob"},
    key=("key",),
)
QUOTAS = Table("quotas", {"owner": "text", "bytes": "integer"}, key=("owner",))
QUOTA_ITEMS = Table("quota_items", {"owner": "text", "hash": "text", "size": "integer"}, key=("owner", "hash"))


def content_text(value: Any) -> str:
    """The stored text: compact, insertion order, ASCII escapes (so lone surrogates survive)."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


class ContentCache:
    """Decoded contents by key, bounded by the size of their texts; shared between threads."""

    def __init__(self, limit: int = CONTENT_CACHE.default) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._items: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._total = 0

    def get(self, key: str) -> tuple[Any, int] | None:
        """``(value, size)`` of a remembered content."""
        with self._lock:
            item = self._items.get(key)
            if item is not None:
                self._items.move_to_end(key)
            return item

    def put(self, key: str, value: Any, size: int) -> None:
        """Remember a content, forgetting the longest unused ones beyond the limit."""
        with self._lock:
            if key in self._items:
                return
            self._items[key] = (value, size)
            self._total += size
            while self._total > self._limit and len(self._items) > 1:
                _, (_, dropped) = self._items.popitem(last=False)
                self._total -= dropped


def _compress(text: bytes, base: bytes | None) -> bytes:
    if base is None:
        return zstandard.ZstdCompressor(level=3).compress(text)
    dictionary = zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return zstandard.ZstdCompressor(level=3, dict_data=dictionary).compress(text)


def _decompress(body: bytes, base: bytes | None) -> bytes:
    if base is None:
        return zstandard.ZstdDecompressor().decompress(body)
    dictionary = zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(body)


def _text_of(tx: Transaction, key: str) -> tuple[bytes, str | None]:
    """The stored text of ``key`` and the keyframe that it stands against."""
    row = tx.get(CONTENTS, key)
    if row is None:
        raise KeyError(f"no stored content {key}")
    base = row["base"]
    if base is None:
        return _decompress(row["body"], None), None
    return _decompress(row["body"], _text_of(tx, base)[0]), base


def store(tx: Transaction, cache: ContentCache, value: Any, near: str | None) -> StoredContent:
    """Keep ``value`` once and say under which key."""
    text = content_text(value).encode("ascii")
    key = hashlib.sha256(text).hexdigest()
    known = tx.get(CONTENTS, key)
    if known is not None:
        return StoredContent(key, known["hash"], known["size"])
    canonical = canonical_json(value).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(canonical).hexdigest()
    body, base = _compress(text, None), None
    if near is not None and near != key and tx.get(CONTENTS, near) is not None:
        near_text, keyframe = _text_of(tx, near)
        base_key = keyframe or near
        base_text = near_text if keyframe is None else _text_of(tx, base_key)[0]
        delta = _compress(text, base_text)
        if len(delta) * 100 <= len(body) * DELTA_SHARE.default:
            body, base = delta, base_key
    tx.insert(CONTENTS, {"key": key, "hash": digest, "size": len(canonical), "base": base, "body": body})
    cache.put(key, value, len(text))
    return StoredContent(key, digest, len(canonical))


def load(tx: Transaction, cache: ContentCache, key: str) -> Any:
    """The value kept under ``key``."""
    remembered = cache.get(key)
    if remembered is not None:
        return remembered[0]
    text, _ = _text_of(tx, key)
    value = json.loads(text)
    cache.put(key, value, len(text))
    return value
