"""Strict JSON text in, JSON text out: the one reader for bodies, files and stored text (spec/http.md, design §5)."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from runtime.values.bounds import measure
from runtime.values.canonical import ordered_json
from runtime.values.limits import ValueLimits
from runtime.values.numbers import normalise_numbers
from runtime.values.rows import InnkeeperError

_UNBOUNDED = 1 << 62
_MAX_DEPTH = 200
"""Levels a caller may ask for at most: the second pass below recurses in C, far below Python's own limit."""
_ODD_NUMBER = re.compile(rb"[0-9][.eE]|[0-9]{16}|-0")


class JsonTextError(InnkeeperError):
    """A text that is no strict JSON; ``details`` hold ``line`` and ``column`` where they are known."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonTextError(
                    "MVU_JSON", f"expected every key of an object once, found {key[:80]!r} again", {"key": key[:80]}
                )
            seen.add(key)
    return result


def loads_strict(text: bytes | str, *, depth: int = 64) -> Any:
    """The value of a strict JSON text (RFC 8259).

    Refused with ``MVU_JSON``: NaN and infinities, numbers beyond a double, lone surrogates, invalid UTF-8, duplicate
    keys, anything that is no JSON; with ``MVU_LIMIT``: more than ``depth`` levels. Numbers take their one form.
    """
    depth = min(depth, _MAX_DEPTH)
    try:
        raw = text.encode("utf-8") if isinstance(text, str) else bytes(text)
        value = orjson.loads(raw)
    except UnicodeEncodeError as error:
        raise JsonTextError("MVU_JSON", "expected text without lone surrogates, found one") from error
    except orjson.JSONDecodeError as error:
        if "depth" in error.msg or "recursion" in error.msg:
            raise InnkeeperError("MVU_LIMIT", f"expected at most {depth} levels of nesting in JSON") from error
        raise JsonTextError(
            "MVU_JSON",
            f"expected JSON, it stops being it at line {error.lineno}, column {error.colno}: {error.msg}",
            {"line": error.lineno, "column": error.colno},
        ) from error
    check_depth(value, depth)
    json.loads(raw, object_pairs_hook=_pairs)
    if _ODD_NUMBER.search(raw):
        measure(value, ValueLimits(_UNBOUNDED, depth, _UNBOUNDED, _UNBOUNDED)) if _might_overflow(raw) else None
        value = normalise_numbers(value)
    return value


def _might_overflow(raw: bytes) -> bool:
    return re.search(rb"[eE]\+?[0-9]{3}|[0-9]{300}", raw) is not None


def check_depth(value: Any, depth: int) -> None:
    """Refuse (``MVU_LIMIT``) a value of more than ``depth`` levels. Iterative."""
    stack = [(value, 0)] if isinstance(value, dict | list) else []
    while stack:
        item, level = stack.pop()
        if level > depth:
            raise InnkeeperError(
                "MVU_LIMIT", f"expected at most {depth} levels of nesting in JSON, found more", {"limit": depth}
            )
        children = item.values() if isinstance(item, dict) else item
        stack.extend((child, level + 1) for child in children if isinstance(child, dict | list))


def dumps(value: Any) -> bytes:
    """Compact JSON text as UTF-8 in insertion order with JavaScript's numbers; lone surrogates are escaped."""
    return ordered_json(value).encode("utf-8")
