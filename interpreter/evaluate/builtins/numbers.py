"""``Number``, ``Math``, ``Date`` and the methods of numbers and booleans (spec/zod.md §4.6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter import limits
from interpreter.budget import Run
from interpreter.errors import EvaluationError
from interpreter.evaluate.builtins.arguments import arg, integer, number, text
from interpreter.evaluate.builtins.objects import date_text
from interpreter.evaluate.operators import describe, finite, to_text
from interpreter.evaluate.properties import methods
from interpreter.evaluate.values import DateValue, Native, range_error
from interpreter.javascript import UNDEFINED


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _whole(function: Callable[[float], float]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if type(value) is int:
            return value
        x = _double(value)
        if not math.isfinite(x):
            return x
        result = function(x)
        # -0 survives: Math.ceil(-0.5) and Math.trunc(-0.5) are -0.
        return -0.0 if result == 0 and math.copysign(1, x) < 0 and x > -1 else js.js_number(result)

    return apply


def _real(function: Callable[[float], float], outside: float = math.nan) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        x = _double(value)
        try:
            return js.js_number(function(x))
        except ValueError:
            return outside
        except OverflowError:
            return math.inf

    return apply


def _log(function: Callable[[float], float]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        x = _double(value)
        if x == 0:
            return -math.inf
        if x < 0 or x != x:
            return math.nan
        return x if x == math.inf else js.js_number(function(x))

    return apply


def _sign(value: Any) -> Any:
    x = _double(value)
    if x != x or x == 0:
        return value
    return 1 if x > 0 else -1


def _cbrt(value: Any) -> Any:
    x = _double(value)
    if x == 0 or not math.isfinite(x):
        return value
    root = math.copysign(abs(x) ** (1 / 3), x)
    nearest = round(root)
    return js.js_number(nearest if nearest**3 == x else root)


def _fround(value: Any) -> Any:
    import struct

    x = _double(value)
    if not math.isfinite(x):
        return x
    try:
        return js.js_number(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def _trigonometry(function: Callable[[float], float]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        x = _double(value)
        return js.js_number(function(x)) if math.isfinite(x) else math.nan

    return apply


ONE_NUMBER: dict[str, Callable[[Any], Any]] = {
    "abs": lambda value: abs(value) if value != 0 else 0,
    "ceil": _whole(lambda x: float(math.ceil(x))),
    "floor": _whole(lambda x: float(math.floor(x))),
    "trunc": _whole(lambda x: float(math.trunc(x))),
    "round": js.js_round,
    "sign": _sign,
    "sqrt": _real(math.sqrt),
    "cbrt": _cbrt,
    "exp": _real(math.exp),
    "expm1": _real(math.expm1),
    "log": _log(math.log),
    "log10": _log(math.log10),
    "log2": _log(math.log2),
    "log1p": lambda value: _log(math.log)(1 + value) if abs(_double(value)) > 1e-5 else js.js_number(math.log1p(value)),
    "sin": _trigonometry(math.sin),
    "cos": _trigonometry(math.cos),
    "tan": _trigonometry(math.tan),
    "asin": _real(math.asin),
    "acos": _real(math.acos),
    "atan": _real(math.atan),
    "sinh": _real(math.sinh),
    "cosh": _real(math.cosh),
    "tanh": _real(math.tanh),
    "fround": _fround,
    "clz32": lambda value: 32 - js.to_uint32(value).bit_length(),
}


def _check_numbers(run: Run, name: str, arguments: list[Any]) -> None:
    """Versions 1 and 2 take numbers only, and not too many (spec/mvu.md §5.3, §1.7)."""
    if not run.restricted:
        return
    if len(arguments) > limits.MATH_ARGUMENTS.default:
        message = f"expected at most {limits.MATH_ARGUMENTS.default} arguments of {name}, found {len(arguments)}"
        raise EvaluationError("MVU_SCHEMA_CODE", message)
    for value in arguments:
        if not js.is_number(value) and (run.strict_numbers or isinstance(value, (dict, list))):
            raise EvaluationError("MVU_SCHEMA_CODE", f"expected numbers for {name}, found {describe(value)}")


def _one(name: str, function: Callable[[Any], Any]) -> Native:
    def call(run: Run, arguments: list[Any]) -> Any:
        _check_numbers(run, name, arguments)
        return finite(run, function(number(arg(arguments, 0))))

    return Native(f"Math.{name}", call)


def extreme(name: str) -> Callable[[Run, list[Any]], Any]:
    """``Math.max`` and ``Math.min``."""
    largest = name == "max"

    def call(run: Run, arguments: list[Any]) -> Any:
        _check_numbers(run, name, arguments)
        best: Any = -math.inf if largest else math.inf
        run.charge(len(arguments))
        broken = False
        for value in arguments:
            value = number(value)
            broken = broken or value != value
            if value == 0 and best == 0:
                negative = math.copysign(1, value) < 0
                best = value if negative != largest else best
            elif (value > best) if largest else (value < best):
                best = value
        return finite(run, math.nan if broken else best)

    return call


def _pow(run: Run, arguments: list[Any]) -> Any:
    _check_numbers(run, "pow", arguments)
    return finite(run, js.power(number(arg(arguments, 0)), number(arg(arguments, 1))))


def _hypot(_run: Run, arguments: list[Any]) -> Any:
    return js.js_number(math.hypot(*[_double(number(value)) for value in arguments]))


def _atan2(_run: Run, arguments: list[Any]) -> Any:
    return js.js_number(math.atan2(_double(number(arg(arguments, 0))), _double(number(arg(arguments, 1)))))


MATH_FUNCTIONS: dict[str, Native] = {
    **{name: _one(name, function) for name, function in ONE_NUMBER.items()},
    "max": Native("Math.max", extreme("max")),
    "min": Native("Math.min", extreme("min")),
    "pow": Native("Math.pow", _pow),
    "hypot": Native("Math.hypot", _hypot),
    "atan2": Native("Math.atan2", _atan2),
}
MATH_CONSTANTS: dict[str, Any] = {
    "PI": math.pi,
    "E": math.e,
    "LN2": math.log(2),
    "LN10": math.log(10),
    "LOG2E": 1 / math.log(2),
    "LOG10E": 0.4342944819032518,
    "SQRT2": math.sqrt(2),
    "SQRT1_2": math.sqrt(0.5),
}


# --- Number ------------------------------------------------------------------------------------------------------


def _number(_run: Run, arguments: list[Any]) -> Any:
    return number(arguments[0]) if arguments else 0


def _is_finite(value: Any) -> bool:
    return js.is_number(value) and math.isfinite(_double(value))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _parse_int(_run: Run, arguments: list[Any]) -> Any:
    radix = arg(arguments, 1)
    return js.parse_int(text(arg(arguments, 0)), 0 if radix is UNDEFINED else number(radix))


def _parse_float(_run: Run, arguments: list[Any]) -> Any:
    return js.parse_float(text(arg(arguments, 0)))


PARSE_INT = Native("parseInt", _parse_int)
PARSE_FLOAT = Native("parseFloat", _parse_float)
NUMBER = Native(
    "Number",
    _number,
    {
        "isFinite": Native("Number.isFinite", lambda run, arguments: _is_finite(arg(arguments, 0))),
        "isNaN": Native("Number.isNaN", lambda run, arguments: _is_nan(arg(arguments, 0))),
        "isInteger": Native("Number.isInteger", lambda run, arguments: js.is_integer(arg(arguments, 0))),
        "isSafeInteger": Native("Number.isSafeInteger", lambda run, arguments: js.is_safe_integer(arg(arguments, 0))),
        "parseFloat": PARSE_FLOAT,
        "parseInt": PARSE_INT,
        "POSITIVE_INFINITY": math.inf,
        "NEGATIVE_INFINITY": -math.inf,
        "NaN": math.nan,
        "EPSILON": 2.0**-52,
        "MAX_SAFE_INTEGER": js.MAX_SAFE_INTEGER,
        "MIN_SAFE_INTEGER": -js.MAX_SAFE_INTEGER,
        "MAX_VALUE": 1.7976931348623157e308,
        "MIN_VALUE": 5e-324,
    },
)
IS_NAN = Native("isNaN", lambda run, arguments: _is_nan(number(arg(arguments, 0))))
IS_FINITE = Native("isFinite", lambda run, arguments: _is_finite(number(arg(arguments, 0))))


def _digits(value: Any, name: str, low: int, high: int) -> int:
    count = integer(value)
    if not low <= count <= high:
        raise range_error(f"{name}() argument must be between {low} and {high}")
    return int(count)


def _to_fixed(_run: Run, target: Any, arguments: list[Any]) -> Any:
    return js.to_fixed(target, _digits(arg(arguments, 0), "toFixed", 0, 100))


def _to_precision(_run: Run, target: Any, arguments: list[Any]) -> Any:
    if arg(arguments, 0) is UNDEFINED:
        return to_text(target)
    return js.to_precision(target, _digits(arg(arguments, 0), "toPrecision", 1, 100))


def _to_exponential(_run: Run, target: Any, arguments: list[Any]) -> Any:
    if arg(arguments, 0) is UNDEFINED:
        return js.to_exponential(target)
    return js.to_exponential(target, _digits(arg(arguments, 0), "toExponential", 0, 100))


def _to_string(_run: Run, target: Any, arguments: list[Any]) -> Any:
    if arg(arguments, 0) is UNDEFINED:
        return to_text(target)
    return js.radix_text(target, _digits(arg(arguments, 0), "toString", 2, 36))


def _to_locale(_run: Run, target: Any, _arguments: list[Any]) -> Any:
    """``toLocaleString`` in one fixed locale (English): groups of three, at most three decimals."""
    value = _double(target)
    if not math.isfinite(value):
        return "NaN" if value != value else ("∞" if value > 0 else "-∞")
    fixed = js.to_fixed(value, 3).rstrip("0").rstrip(".") if abs(value) < 1e21 else to_text(target)
    whole, _, fraction = fixed.partition(".")
    sign = "-" if whole.startswith("-") else ""
    grouped = f"{int(whole.lstrip('-') or '0'):,}" if whole.lstrip("-").isdigit() else whole
    return sign + grouped + ("." + fraction if fraction else "")


_NUMBER_METHODS: dict[str, Callable[[Run, Any, list[Any]], Any]] = {
    "toFixed": _to_fixed,
    "toPrecision": _to_precision,
    "toExponential": _to_exponential,
    "toString": _to_string,
    "toLocaleString": _to_locale,
    "valueOf": lambda run, target, arguments: target,
}
methods(int).update(_NUMBER_METHODS)
methods(float).update(_NUMBER_METHODS)
methods(bool).update(
    {
        "toString": lambda run, target, arguments: "true" if target else "false",
        "toLocaleString": lambda run, target, arguments: "true" if target else "false",
        "valueOf": lambda run, target, arguments: target,
    }
)


# --- Date --------------------------------------------------------------------------------------------------------


def now(run: Run) -> int:
    """``Date.now()``: an input of the parse, never the machine's clock."""
    run.clock_reads += 1
    if run.clock is None:
        raise EvaluationError(
            "MVU_SCHEMA_CODE", "expected a clock for Date.now(), found none: the caller passes the time in"
        )
    return run.clock


def _new_date(run: Run, arguments: list[Any]) -> Any:
    value = arg(arguments, 0)
    if not arguments:
        return DateValue(now(run))
    if isinstance(value, DateValue):
        return value
    if js.is_number(value):
        return DateValue(float(value))
    if isinstance(value, str):
        return DateValue(parse_date(value))
    return DateValue(math.nan)


def parse_date(value: str) -> float:
    """The ISO forms of a date with a zone; anything else is not a date here (no local zone exists)."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return float(round(moment.timestamp() * 1000))


DATE = Native(
    "Date",
    lambda run, arguments: date_text(DateValue(now(run))),
    {
        "now": Native("Date.now", lambda run, arguments: now(run)),
        "parse": Native("Date.parse", lambda run, arguments: js.js_number(parse_date(text(arg(arguments, 0))))),
    },
    _new_date,
)


def _part(name: str) -> Callable[[Run, Any, list[Any]], Any]:
    def method(_run: Run, target: DateValue, _arguments: list[Any]) -> Any:
        from datetime import UTC, datetime, timedelta

        if target.milliseconds != target.milliseconds:
            return math.nan
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=target.milliseconds)
        parts = {
            "FullYear": moment.year,
            "Month": moment.month - 1,
            "Date": moment.day,
            "Day": (moment.weekday() + 1) % 7,
            "Hours": moment.hour,
            "Minutes": moment.minute,
            "Seconds": moment.second,
            "Milliseconds": moment.microsecond // 1000,
        }
        return parts[name]

    return method


_PARTS = ("FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds")
methods(DateValue).update(
    {
        "getTime": lambda run, target, arguments: js.js_number(target.milliseconds),
        "valueOf": lambda run, target, arguments: js.js_number(target.milliseconds),
        "toISOString": lambda run, target, arguments: date_text(target),
        "toJSON": lambda run, target, arguments: date_text(target),
        # One fixed zone (UTC), so that a parse is the same on every machine.
        **{f"get{name}": _part(name) for name in _PARTS},
        **{f"getUTC{name}": _part(name) for name in _PARTS},
    }
)
