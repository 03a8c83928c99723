"""Canonical JSON and its hash: sorted keys, compact, numbers as JavaScript prints them (design §5).

Keys sort by code point. The C encoder writes the text; only numbers that Python and JavaScript print differently are
rewritten afterwards.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import orjson

from interpreter.javascript import js_number_text
from runtime.values.rows import InnkeeperError

_sorted = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True).encode
_ordered = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
# Numbers that the two languages print differently: integral floats, exponents, integers of sixteen digits or more.
_ODD_NUMBER = re.compile(r"(?:^|[\[:,])-?(?:[0-9]+\.0(?:[,\]}]|$)|[0-9]+(?:\.[0-9]+)?e|[0-9]{16})")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?')
_SURROGATE = re.compile("[\ud800-\udfff]")


def _rewrite(match: re.Match[str]) -> str:
    token = match.group()
    if token[0] == '"':
        return token
    return js_number_text(float(token))


def _finish(text: str) -> str:
    if _ODD_NUMBER.search(text):
        text = _TOKEN.sub(_rewrite, text)
    if not text.isascii() and _SURROGATE.search(text):
        text = _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    return text


def _encode(encode: Any, value: object) -> str:
    try:
        return _finish(encode(value))
    except (ValueError, TypeError) as error:
        raise InnkeeperError("MVU_JSON", f"expected a JSON value, found one that JSON cannot hold: {error}") from error
    except RecursionError as error:
        raise InnkeeperError("MVU_LIMIT", "expected a value of bounded depth, found one nested too deeply") from error


def canonical_json(value: object) -> str:
    """Canonical text: the same for every order of keys and for ``1`` and ``1.0``; lone surrogates are escaped."""
    return _encode(_sorted, value)


def ordered_json(value: object) -> str:
    """Compact text in insertion order with JavaScript's numbers: for storage and transport."""
    return _encode(_ordered, value)


def sha(value: object) -> str:
    """Lower-case hex SHA-256 of the UTF-8 canonical text (spec/mvu.md §1.6 with canonical keys)."""
    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()


def text_sha(text: str) -> str:
    """Lower-case hex SHA-256 of a text as UTF-8; lone surrogates are hashed as their three-byte form."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_MAYBE_ODD = re.compile(rb"[0-9][.e]|[0-9]{16}")


def quick_json(value: object) -> str:
    """``ordered_json`` of a value that passed ``check_json`` before: the fast encoder where no number may differ."""
    try:
        raw = orjson.dumps(value)
    except (orjson.JSONEncodeError, TypeError):
        return ordered_json(value)
    return ordered_json(value) if _MAYBE_ODD.search(raw) else raw.decode("utf-8")
