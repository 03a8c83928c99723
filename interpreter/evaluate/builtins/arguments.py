"""Reading the arguments of built-ins as JavaScript does."""

from __future__ import annotations

import math
from typing import Any

from interpreter import javascript as js
from interpreter.evaluate.operators import describe, is_callable, to_number, to_text
from interpreter.evaluate.values import type_error
from interpreter.javascript import UNDEFINED


def arg(arguments: list[Any], index: int) -> Any:
    """The argument at an index, or undefined."""
    return arguments[index] if index < len(arguments) else UNDEFINED


def integer(value: Any, default: float = 0) -> float:
    """``ToIntegerOrInfinity``; undefined is the default."""
    if type(value) is int:
        return value
    if value is UNDEFINED:
        return default
    number = float(to_number(value))
    if number != number:
        return 0
    return number if math.isinf(number) else float(math.trunc(number))


def relative(value: Any, length: int, default: float) -> int:
    """A position that may count from the end, clamped to 0…length."""
    number = integer(value, default)
    if number < 0:
        return int(max(length + number, 0))
    return int(min(number, length))


def text(value: Any) -> str:
    """``String(value)``."""
    return value if type(value) is str else to_text(value)


def number(value: Any) -> Any:
    """``Number(value)``."""
    return value if type(value) is int or type(value) is float else to_number(value)


def function(value: Any) -> Any:
    """A callable argument, or a TypeError."""
    if not is_callable(value):
        raise type_error(f"{describe(value)} is not a function")
    return value


def settle(value: float) -> Any:
    """A computed number on its one representation."""
    return js.js_number(value)
