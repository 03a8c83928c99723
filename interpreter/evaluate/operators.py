"""JavaScript's operators on the evaluator's values (spec/zod.md §9, spec/mvu.md §5.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.errors import BudgetExceeded, EvaluationError
from interpreter.evaluate.values import (
    Chain,
    DateValue,
    ErrorValue,
    HostObject,
    Iterated,
    MapValue,
    Namespace,
    Native,
    SetValue,
    type_error,
)
from interpreter.javascript import UNDEFINED

_EXACT = 2**53
_SCALARS = (bool, int, float, str)
_OPAQUE_TEXT: list[tuple[type, Callable[[Any], str]]] = []


def register_text(kind: type, text: Callable[[Any], str]) -> None:
    """Say what ``String(value)`` is for an opaque kind."""
    _OPAQUE_TEXT.append((kind, text))


def opaque_text(value: object) -> str:
    """``String(value)`` of an opaque value; functions and schemas refuse."""
    for kind, text in _OPAQUE_TEXT:
        if isinstance(value, kind):
            return text(value)
    if isinstance(value, ErrorValue):
        return value.text()
    if isinstance(value, SetValue):
        return "[object Set]"
    if isinstance(value, MapValue):
        return "[object Map]"
    if isinstance(value, (HostObject, Iterated, Chain)):
        return "[object Object]"
    raise EvaluationError("MVU_SCHEMA_CODE", f"expected data, found {describe(value)} where text is needed")


def describe(value: object) -> str:
    """What a value is, in a message."""
    if value is None:
        return "null"
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (Native, Namespace)):
        return f"the built-in {value.name}"
    return f"a {type(value).__name__.removesuffix('Value').removesuffix('Node').lower() or 'value'}"


def to_text(value: Any) -> str:
    """``String(value)``."""
    return js.to_text(value, opaque_text)


def to_number(value: Any) -> Any:
    """``Number(value)``."""
    if isinstance(value, DateValue):
        return value.milliseconds
    return js.to_number(value, opaque_text)


def type_of(value: Any) -> str:
    """``typeof value``."""
    if hasattr(value, "call"):
        return "function"
    return js.type_of(value)


def _operand(run: Run, value: Any) -> None:
    if run.restricted and not (isinstance(value, _SCALARS) or value is None or value is UNDEFINED):
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected a scalar operand, found {describe(value)}")


def finite(run: Run, value: Any) -> Any:
    """Under the profile ``reference`` of versions 1 and 2 a non-finite number is over the limit."""
    if run.strict_numbers and isinstance(value, float) and not math.isfinite(value):
        raise BudgetExceeded("interpreter.number", 0, "non-finite numbers", js.js_number_text(value))
    return value


def add(run: Run, a: Any, b: Any) -> Any:
    """``a + b``."""
    if type(a) is int and type(b) is int:
        total = a + b
        return total if -_EXACT <= total <= _EXACT else js.js_number(total)
    if type(a) is str and type(b) is str:
        run.check_string(len(a) + len(b))
        return _join(a, b)
    if js.is_number(a) and js.is_number(b):
        return finite(run, js.add_numbers(a, b))
    _operand(run, a)
    _operand(run, b)
    left, right = js.to_primitive(a, opaque_text), js.to_primitive(b, opaque_text)
    if isinstance(left, str) or isinstance(right, str):
        left, right = to_text(left), to_text(right)
        run.check_string(len(left) + len(right))
        return _join(left, right)
    return finite(run, js.add_numbers(to_number(left), to_number(right)))


def _join(a: str, b: str) -> str:
    joined = a + b
    if a and b and "\ud800" <= a[-1] <= "\udbff" and "\udc00" <= b[0] <= "\udfff":
        return js.join_surrogates(joined)
    return joined


def _numeric(function: Callable[[Any, Any], Any]) -> Callable[[Run, Any, Any], Any]:
    def operate(run: Run, a: Any, b: Any) -> Any:
        if not (js.is_number(a) and js.is_number(b)):
            _operand(run, a)
            _operand(run, b)
            a, b = to_number(a), to_number(b)
        return finite(run, function(a, b))

    return operate


def _compare(swap: bool, negate: bool) -> Callable[[Run, Any, Any], Any]:
    def operate(run: Run, a: Any, b: Any) -> Any:
        if type(a) is int and type(b) is int:
            left, right = (b, a) if swap else (a, b)
            return not left < right if negate else left < right
        _operand(run, a)
        _operand(run, b)
        if type(a) is str and type(b) is str:
            run.check_string(len(a) + len(b))
        if isinstance(a, DateValue) or isinstance(b, DateValue):
            a, b = to_number(a), to_number(b)
        answer = js.less_than(b, a, opaque_text) if swap else js.less_than(a, b, opaque_text)
        if answer is None:
            return False
        return not answer if negate else answer

    return operate


def strict_equal(run: Run, a: Any, b: Any) -> bool:
    """``a === b``: containers by identity."""
    return js.strict_equal(a, b)


def loose_equal(run: Run, a: Any, b: Any) -> bool:
    """``a == b``; versions 1 and 2 refuse the conversion of containers."""
    if a is not None and a is not UNDEFINED and b is not None and b is not UNDEFINED:
        _operand(run, a)
        _operand(run, b)
    return js.loose_equal(a, b, opaque_text)


def bit(function: Callable[[int, int], int], unsigned: bool = False) -> Callable[[Run, Any, Any], Any]:
    """A bitwise operator on 32-bit integers."""

    def operate(_run: Run, a: Any, b: Any) -> Any:
        result = function(js.to_int32(to_number(a)), js.to_int32(to_number(b)))
        return js.to_uint32(result) if unsigned else js.to_int32(result)

    return operate


def _power(a: Any, b: Any) -> Any:
    return js.power(a, b)


BINARY: dict[str, Callable[[Run, Any, Any], Any]] = {
    "+": add,
    "-": _numeric(js.subtract),
    "*": _numeric(js.multiply),
    "/": _numeric(js.divide),
    "%": _numeric(js.remainder),
    "**": _numeric(_power),
    "<": _compare(swap=False, negate=False),
    ">": _compare(swap=True, negate=False),
    "<=": _compare(swap=True, negate=True),
    ">=": _compare(swap=False, negate=True),
    "===": strict_equal,
    "!==": lambda run, a, b: not strict_equal(run, a, b),
    "==": loose_equal,
    "!=": lambda run, a, b: not loose_equal(run, a, b),
    "&": bit(lambda a, b: a & b),
    "|": bit(lambda a, b: a | b),
    "^": bit(lambda a, b: a ^ b),
    "<<": bit(lambda a, b: a << (b & 31)),
    ">>": bit(lambda a, b: a >> (b & 31)),
    ">>>": bit(lambda a, b: (a % 2**32) >> (b & 31), unsigned=True),
}


def plus(run: Run, value: Any) -> Any:
    """Unary ``+``; versions 1 and 2 take numbers and strings only."""
    strange = run.strict_numbers and (isinstance(value, bool) or not isinstance(value, (int, float, str)))
    if strange or (run.restricted and isinstance(value, (dict, list))):
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected a number or string after +, found {describe(value)}")
    return finite(run, to_number(value))


def minus(run: Run, value: Any) -> Any:
    """Unary ``-``."""
    return finite(run, js.negate(plus(run, value)))


def property_key(run: Run, value: Any) -> str:
    """The text of a property key; versions 1 and 2 take strings and numbers only."""
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value)
    if run.restricted and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected a string or number as key, found {describe(value)}")
    return to_text(value)


def iterate(run: Run, value: Any) -> list[Any]:
    """The items that ``for…of``, spread and array patterns take."""
    if type(value) is list:
        run.charge(len(value))
        return value
    if isinstance(value, str):
        run.charge(len(value))
        return list(value)
    if isinstance(value, SetValue):
        run.charge(len(value))
        return value.values()
    if isinstance(value, MapValue):
        run.charge(len(value))
        return value.entries()
    if isinstance(value, Iterated):
        items = value.rest()
        run.charge(len(items))
        return items
    if isinstance(value, Chain) and isinstance(value.value, list):
        return iterate(run, value.value)
    raise type_error(f"{describe(value)} is not iterable")


def call_function(run: Run, function: Any, arguments: list[Any]) -> Any:
    """Call an author function or a built-in."""
    try:
        call = function.call
    except AttributeError:
        raise type_error(f"{describe(function)} is not a function") from None
    return call(run, arguments)


def is_callable(value: Any) -> bool:
    """Whether ``typeof value === 'function'``."""
    return hasattr(value, "call")
