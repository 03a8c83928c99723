"""Command values: JSON5, then backtick text, then arithmetic, then YAML (spec/mvu.md §4.2)."""

from __future__ import annotations

import re
from typing import Any

from interpreter.javascript import js_trim, round12, utf16_length
from runtime.mvu.commands.arithmetic import evaluate
from runtime.mvu.errors import fatal
from runtime.mvu.limits import ARITHMETIC
from runtime.values import json5, yaml12
from runtime.values.bounds import check_json
from runtime.values.json5 import Json5Error

# The commonest literals, read without any reader: they mean the same in JSON5.
_SIMPLE_TEXT = re.compile(r"'([^'\\\n\r]*)'|\"([^\"\\\n\r]*)\"")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_WORDS = {"true": True, "false": False, "null": None}
_OPERATORS = re.compile(r"[()+*/%^]")
_NUMBER_THEN_SIGN = re.compile(r"[+-]?(?:[0-9]|\.[0-9]).*[+-]", re.DOTALL)


def read_body(text: str) -> Any:
    """The value of a patch body: as ``read_value``, but never arithmetic, since a list is wanted."""
    return _read_slow(js_trim(text), False)


def read_value(text: str) -> Any:
    """The value of one argument; raises fatal errors only."""
    text = js_trim(text)
    simple = _SIMPLE_TEXT.fullmatch(text)
    if simple:
        inner = simple.group(1)
        return simple.group(2) if inner is None else inner
    if _INTEGER.fullmatch(text):
        return int(text)
    if text in _WORDS:
        return _WORDS[text]
    if _DECIMAL.fullmatch(text):
        return round_trip(float(text))
    return _read_slow(text, True)


def round_trip(number: float) -> int | float:
    """Integral floats as integers."""
    return int(number) if number.is_integer() else number


def _read_slow(text: str, arithmetic: bool) -> Any:
    try:
        value = json5.load(text)
    except Json5Error:
        pass
    else:
        check_json(value)
        return value
    if len(text) >= 2 and text[0] == "`" and text[-1] == "`":
        return text[1:-1]
    if arithmetic and is_arithmetic(text):
        return _arithmetic(text)
    value = yaml12.load(text)
    check_json(value)
    return value


def is_arithmetic(text: str) -> bool:
    """Whether a text that is no JSON5 is read as arithmetic (spec/mvu.md §4.2 rule 3)."""
    return (
        _OPERATORS.search(text) is not None
        or text.startswith(("Math.", "math."))
        or _NUMBER_THEN_SIGN.match(text) is not None
    )


def _arithmetic(text: str) -> int | float:
    if utf16_length(text) > ARITHMETIC.default:
        raise fatal(
            "MVU_LIMIT",
            f"expected arithmetic of at most {ARITHMETIC.default} characters, found {len(text)}",
            {"limit": ARITHMETIC.default},
        )
    number = evaluate(text)
    if number != number or number in (float("inf"), float("-inf")):
        raise fatal("MVU_JSON", f"expected arithmetic with a finite result, found {text[:80]!r}")
    rounded = round12(number)
    return round_trip(float(rounded))
