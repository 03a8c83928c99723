"""JSON5 reading: ``pyjson5`` with its differences from the reference reader of the language put right.

Differences: numbers are doubles (the library keeps big integers and refuses a lone ``1e400``), digit separators are
refused (the library takes ``1_0``), lone surrogate escapes are characters (the library refuses them).
"""

from __future__ import annotations

import math
import re
from typing import Any

import orjson
import pyjson5

from runtime.values.jsontext import check_depth
from runtime.values.limits import DEPTH, TEXT
from runtime.values.numbers import normal_number
from runtime.values.rows import InnkeeperError

_NUMBER = re.compile(
    r"\s*(?P<sign>[+-]?)(?:(?P<hex>0[xX][0-9a-fA-F]+)|(?P<word>Infinity|NaN)"
    r"|(?P<dec>(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?))\s*"
)
_FAST_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
# Where a number may not be in its one form: a fraction, an exponent, a minus zero, sixteen digits.
_ODD_NUMBER = re.compile(r"[0-9][.eE]|-0|[0-9]{16}")
_SEPARATOR = re.compile(r"[0-9a-fA-F.]_|_[0-9]")
_TOKEN = re.compile(
    r"""(?P<skip>"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|//[^\n\r\u2028\u2029]*|/\*[\s\S]*?\*/)"""
    r"""|(?P<word>[\w$\\]+)"""
)
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u([dD][c-fC-F][0-9a-fA-F]{2})|[\s\S])"
)
_NEAR = re.compile(r"near ([0-9]+)")


class Json5Error(InnkeeperError):
    """A text that is no JSON5; ``details`` hold line and column where the reader says so."""


def _place(text: str, offset: int) -> tuple[int, int]:
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _refuse(text: str, error: Exception) -> Json5Error:
    message = str(error.args[0]) if error.args else str(error)
    near = _NEAR.search(message)
    details: dict[str, Any] = {}
    where = ""
    if near:
        details["line"], details["column"] = _place(text, max(int(near.group(1)) - 1, 0))
        where = f" at line {details['line']}, column {details['column']}"
    return Json5Error("MVU_PARSE", f"expected JSON5, the text stops being it{where}", details)


def _refuse_separators(text: str) -> None:
    """Refuse ``1_0`` outside strings and comments."""
    for match in _TOKEN.finditer(text):
        word = match.group("word")
        if word and word[0] in "0123456789" and "_" in word:
            line, column = _place(text, match.start())
            raise Json5Error(
                "MVU_PARSE",
                f"expected a number without '_', found {word[:40]!r} at line {line}, column {column}",
                {"line": line, "column": column},
            )


def _lone(match: re.Match[str]) -> str:
    high, pair, low = match.groups()
    if high and not pair:
        return chr(int(high, 16))
    return chr(int(low, 16)) if low else match.group()


def _number(text: str) -> Any:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign = -1 if match.group("sign") == "-" else 1
    if match.group("hex"):
        digits = int(match.group("hex"), 16)
        try:
            return normal_number(sign * float(digits))
        except OverflowError:
            return sign * math.inf
    if match.group("word"):
        return math.nan if match.group("word") == "NaN" else sign * math.inf
    return normal_number(sign * float(match.group("dec")))


def _normalise(value: Any) -> Any:
    """Numbers as doubles: integers beyond 2^53 and integral floats take their one form. The value is fresh."""
    if not isinstance(value, dict | list):
        return normal_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        for key, child in item.items() if isinstance(item, dict) else enumerate(item):
            if isinstance(child, dict | list):
                stack.append(child)
            elif isinstance(child, float) or (isinstance(child, int) and not -(2**53) < child < 2**53):
                item[key] = normal_number(child)
    return value


def load(text: str) -> Any:
    """The value of a JSON5 text; raises ``Json5Error`` (``MVU_PARSE``) or ``MVU_LIMIT`` for depth and length.

    Infinities and NaN are returned as read: the bounds check that follows refuses them.
    """
    if len(text) > TEXT.default:
        raise InnkeeperError("MVU_LIMIT", f"expected a text of at most {TEXT.default} characters, found {len(text)}")
    if _FAST_NUMBER.fullmatch(text):
        return int(text)
    number = _number(text) if len(text) <= 512 else None
    if number is not None:
        return number
    if text[:1] in ("{", "[", '"'):
        try:  # most texts are plain JSON, which means the same and is read ten times as fast
            value = orjson.loads(text)
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            pass
        else:
            if text.count("[") + text.count("{") > DEPTH.default:
                check_depth(value, DEPTH.default)
            return _normalise(value) if _ODD_NUMBER.search(text) else value
    try:
        value = _decode(text)
    except pyjson5.Json5NestingTooDeep as error:
        raise InnkeeperError(
            "MVU_LIMIT", f"expected at most {DEPTH.default} levels of nesting in JSON5", {"limit": DEPTH.default}
        ) from error
    except pyjson5.Json5DecoderException as error:
        raise _refuse(text, error) from error
    if "_" in text and _SEPARATOR.search(text):
        _refuse_separators(text)
    return _normalise(value)


def _decode(text: str) -> Any:
    try:
        return pyjson5.decode(text, DEPTH.default + 1)
    except pyjson5.Json5IllegalCharacter:
        if "\\ud" not in text and "\\uD" not in text:
            raise
        mended = _ESCAPE.sub(_lone, text)
        if mended == text:
            raise
        return pyjson5.decode(mended, DEPTH.default + 1)
