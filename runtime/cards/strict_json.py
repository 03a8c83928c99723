"""Strict, depth-bounded JSON reading for card files: no NaN, no duplicate keys, no lone surrogates."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from runtime.cards.errors import CardError
from runtime.cards.limits import CARD_DEPTH, CARD_JSON_BYTES

_INT_DIGITS = 309  # a longer literal is no finite double
_OPEN = "[{"
_BRACKETS = re.compile(r"[\[\]{}]")


class _Refused(ValueError):
    pass


def read_json(data: bytes, where: str) -> Any:
    """The JSON value of ``data``; anything else is ``CARD_INVALID`` with line and column."""
    if len(data) > CARD_JSON_BYTES.default:
        raise CardError(f"Expected at most {CARD_JSON_BYTES.default} bytes of JSON, found {len(data)}, in {where}.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CardError(
            f"Expected UTF-8 text, found byte 0x{data[error.start]:02x} at {error.start}, in {where}.",
            {"offset": error.start},
        ) from None
    _check_depth(text, where)
    try:
        value = json.loads(
            text, parse_constant=_no_constant, parse_float=_float, parse_int=_int, object_pairs_hook=_pairs
        )
    except json.JSONDecodeError as error:
        found = repr(text[error.pos : error.pos + 12]) if error.pos < len(text) else "the end of the text"
        raise CardError(
            f"Expected JSON, found {found} ({error.msg}) at line {error.lineno}, column {error.colno}, in {where}.",
            {"line": error.lineno, "column": error.colno},
        ) from None
    except _Refused as error:
        raise CardError(f"Expected plain JSON, found {error}, in {where}.") from None
    return value


def _check_depth(text: str, where: str) -> None:
    """Count brackets outside strings before the recursive decoder sees the text.

    Up to the first syntax error the count is exact, and the decoder stops at that error.
    """
    plain = text.replace("\\\\", "").replace('\\"', "")
    depth = 0
    for piece in plain.split('"')[::2]:
        for bracket in _BRACKETS.findall(piece):
            if bracket in _OPEN:
                depth += 1
                if depth > CARD_DEPTH.default:
                    raise CardError(f"Expected at most {CARD_DEPTH.default} levels of nesting, found more, in {where}.")
            else:
                depth -= 1


def _no_constant(name: str) -> Any:
    raise _Refused(f"the number {name}")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Refused(f"the number {text[:40]}, which is too large")
    return value


def _int(text: str) -> int | float:
    if len(text) > _INT_DIGITS + 1:
        raise _Refused(f"a number of {len(text)} digits, which is too large")
    return int(text)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Refused(f"the key {key[:80]!r} twice in one object")
            seen.add(key)
    for key, item in pairs:
        _no_surrogate(key)
        if isinstance(item, str):
            _no_surrogate(item)
        elif isinstance(item, list):
            _check_list(item)
    return value


def _check_list(items: list[Any]) -> None:
    for item in items:
        if isinstance(item, str):
            _no_surrogate(item)
        elif isinstance(item, list):
            _check_list(item)


def _no_surrogate(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Refused(f"half of a surrogate pair (\\u{ord(text[error.start]):04x})") from None
