"""JavaScript's conversions and comparisons between values (design §5, spec/mvu.md §11 traps)."""

import enum
import math
from collections.abc import Callable, Iterator
from typing import Final

from interpreter.javascript.numbers import Number, is_number, js_number, js_number_text, text_to_number
from interpreter.javascript.text import utf16_less


class Undefined(enum.Enum):
    """The type of ``undefined``; an enumeration, so that comparing by identity narrows the type."""

    UNDEFINED = "undefined"

    def __repr__(self) -> str:
        return "undefined"

    def __bool__(self) -> bool:
        return False


UNDEFINED: Final = Undefined.UNDEFINED


def type_of(value: object) -> str:
    """``typeof value`` for data: opaque values count as objects unless they are callable."""
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "function" if callable(value) else "object"


def truthy(value: object) -> bool:
    """``Boolean(value)``: only false, 0, -0, NaN, '', null and undefined are false; empty containers are true."""
    if value is None or value is UNDEFINED or value is False:
        return False
    if isinstance(value, (int, float)):
        return value == value and value != 0
    return value != "" if isinstance(value, str) else True


def to_text(value: object, other: Callable[[object], str] | None = None) -> str:
    """``String(value)``; arrays join with commas, null and undefined inside them are empty, plain objects are
    ``[object Object]``. ``other`` gives the text of an opaque value; without it such a value raises TypeError."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _joined(value, other)
    return _scalar_text(value, other)


def _scalar_text(value: object, other: Callable[[object], str] | None) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return js_number_text(value)
    if value is None:
        return "null"
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, dict):
        return "[object Object]"
    if other is None:
        raise TypeError(f"no text for a value of type {type(value).__name__}")
    return other(value)


def _joined(array: list[object], other: Callable[[object], str] | None) -> str:
    """Nested arrays join to one comma list; a loop, so that depth costs no stack; an array inside itself is empty."""
    parts: list[str] = []
    open_ids = {id(array)}
    stack: list[tuple[int, Iterator[object]]] = [(id(array), iter(array))]
    fresh = True  # no comma before the first item of an array
    while stack:
        for item in stack[-1][1]:
            if not fresh:
                parts.append(",")
            fresh = False
            if isinstance(item, list):
                if id(item) in open_ids:
                    continue
                stack.append((id(item), iter(item)))
                open_ids.add(id(item))
                fresh = True
                break
            if item is not None and item is not UNDEFINED:
                parts.append(_scalar_text(item, other))
        else:
            open_ids.discard(stack.pop()[0])
            fresh = False
    return "".join(parts)


def to_primitive(value: object, other: Callable[[object], str] | None = None) -> object:
    """``ToPrimitive`` for data: containers become their text, primitives stay."""
    if value is None or value is UNDEFINED or isinstance(value, (bool, int, float, str)):
        return value
    return to_text(value, other)


def to_number(value: object, other: Callable[[object], str] | None = None) -> Number:
    """``Number(value)``: also of text, by :func:`text_to_number`."""
    if isinstance(value, str):
        return text_to_number(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return js_number(value)
    if value is None:
        return 0
    if value is UNDEFINED:
        return math.nan
    return text_to_number(to_text(value, other))


def strict_equal(a: object, b: object) -> bool:
    """``a === b``: numbers by value, NaN equals nothing, containers by identity, booleans are never numbers."""
    if is_number(a):
        return is_number(b) and js_number(a) == js_number(b)
    if isinstance(a, str):
        return isinstance(b, str) and a == b
    return a is b


def same_value_zero(a: object, b: object) -> bool:
    """SameValueZero (``includes``, ``Set``, lodash): as ``===``, but NaN equals NaN."""
    return strict_equal(a, b) or (isinstance(a, float) and isinstance(b, float) and a != a and b != b)


def same_value(a: object, b: object) -> bool:
    """``Object.is``: NaN equals NaN, 0 and -0 differ."""
    if is_number(a) and is_number(b) and a == 0 and b == 0:
        return math.copysign(1, a) == math.copysign(1, b)
    return same_value_zero(a, b)


def loose_equal(a: object, b: object, other: Callable[[object], str] | None = None) -> bool:
    """``a == b`` with its conversions."""
    if a is None or a is UNDEFINED or b is None or b is UNDEFINED:
        return (a is None or a is UNDEFINED) and (b is None or b is UNDEFINED)
    a_scalar, b_scalar = isinstance(a, (bool, int, float, str)), isinstance(b, (bool, int, float, str))
    if not a_scalar and not b_scalar:
        return a is b
    left = a if a_scalar else to_text(a, other)
    right = b if b_scalar else to_text(b, other)
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return to_number(left) == to_number(right)


def less_than(a: object, b: object, other: Callable[[object], str] | None = None) -> bool | None:
    """``a < b``: strings by UTF-16 units, anything else as numbers; None where a NaN makes it undefined.

    ``a >= b`` is ``less_than(a, b) is False``; ``a <= b`` is ``less_than(b, a) is False``.
    """
    left, right = to_primitive(a, other), to_primitive(b, other)
    if isinstance(left, str) and isinstance(right, str):
        return utf16_less(left, right)
    first, second = to_number(left), to_number(right)
    if first != first or second != second:
        return None
    return first < second
