"""Values and functions of mathematical expressions: real and complex numbers, booleans, texts, plain lists.

What has no row here (units, matrix algebra, random numbers) makes the expression unreadable, so that the text goes on
to the next reading (spec/magvarupdate.md §3.4). Random numbers are left out on purpose: a reply must replay.
"""

from __future__ import annotations

import cmath
import math
import statistics
from collections.abc import Callable, Mapping
from typing import Any, Final

from interpreter.javascript import add_numbers as js_add
from interpreter.javascript import divide, js_number, js_number_text, js_round, multiply, power, to_int32
from interpreter.javascript import subtract as js_subtract
from runtime.mvu.commands.magvarupdate.values import is_number

_LARGEST_FACTORIAL = 170
_EXPONENT_FROM, _EXPONENT_BELOW = 5, -3
_NEARLY = 1e-12


class MathFault(ValueError):
    """An expression that has no value here."""


def number(value: Any) -> float:
    """A real number out of a number, boolean or numeric text."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value) if value.strip() else 0.0
        except ValueError:
            raise MathFault(f"expected a number, found the text {value[:20]!r}") from None
    raise MathFault("expected a number")


def _scalar(value: Any) -> complex | float:
    return value if isinstance(value, complex) else number(value)


def _real(call: Callable[[float], float], complex_call: Callable[[complex], complex] | None = None) -> Any:
    """A function of one number; where it has no real value the complex one is taken."""

    def apply(value: Any) -> Any:
        scalar = _scalar(value)
        if not isinstance(scalar, complex):
            try:
                return js_number(call(scalar))
            except OverflowError:
                return math.inf
            except ValueError:
                if complex_call is None or not math.isfinite(scalar):
                    return math.nan
        if complex_call is None:
            raise MathFault("expected a real number")
        try:
            return complex_call(complex(scalar))
        except (ValueError, OverflowError, ZeroDivisionError):
            raise MathFault("the function has no value there") from None

    return apply


def _nearly_equal(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= max(abs(a), abs(b)) * _NEARLY


def _rounding(call: Callable[[float], float]) -> Any:
    def apply(value: Any, digits: Any = 0) -> Any:
        x, scale = number(value), 10.0 ** _digits(digits)
        if not math.isfinite(x):
            return x
        scaled = x * scale
        nearest = float(js_round(scaled))
        whole = nearest if _nearly_equal(scaled, nearest) else float(call(scaled))
        return js_number(whole / scale)

    return apply


def _digits(value: Any) -> int:
    digits = number(value)
    if digits != int(digits) or not 0 <= digits <= 15:
        raise MathFault("expected 0 to 15 digits")
    return int(digits)


def _half_away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)


def power_of(base: Any, exponent: Any) -> Any:
    """``base ^ exponent``: real where it is, complex otherwise."""
    x, y = _scalar(base), _scalar(exponent)
    if not isinstance(x, complex) and not isinstance(y, complex) and (x >= 0 or y == math.floor(y) or math.isnan(x)):
        return power(x, y)
    try:
        return complex(x) ** complex(y)
    except (OverflowError, ZeroDivisionError):
        raise MathFault("the power has no value") from None


def factorial_of(value: Any) -> Any:
    """``value!``."""
    x = number(value)
    if x < 0:
        raise MathFault("expected a number that is not negative before '!'")
    if x != x or x > _LARGEST_FACTORIAL:
        return math.inf if x == x else x
    return js_number(float(math.factorial(int(x))) if x == int(x) else math.gamma(x + 1))


def modulo(x: Any, y: Any) -> Any:
    """``x mod y`` with the sign of ``y``; by zero it is ``x``."""
    a, b = number(x), number(y)
    if b == 0 or not math.isfinite(a):
        return a if b == 0 else math.nan
    if not math.isfinite(b):
        return a
    return js_number(a - b * math.floor(a / b))


def _log(value: Any, base: Any = None) -> Any:
    found = _real(math.log, cmath.log)(value) if _scalar(value) != 0 else -math.inf
    if base is None:
        return found
    return arithmetic("/", found, _log(base))


def _based_log(base: float) -> Any:
    def apply(value: Any) -> Any:
        x = _scalar(value)
        if isinstance(x, complex) or x < 0:
            return cmath.log(x) / math.log(base)
        if x == 0:
            return -math.inf
        return js_number(math.log10(x) if base != 2 else math.log2(x))

    return apply


def _flat(values: tuple[Any, ...]) -> list[float]:
    flat: list[float] = []
    stack = list(reversed(values))
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(reversed(item))
        else:
            flat.append(number(item))
    if not flat:
        raise MathFault("expected at least one number")
    return flat


def _over(call: Callable[[list[float]], float]) -> Any:
    """A function of any numbers, or of the numbers in lists."""
    return lambda *values: js_number(call(_flat(values)))


def _pick(call: Callable[[list[float]], float]) -> Callable[[list[float]], float]:
    return lambda values: math.nan if any(map(math.isnan, values)) else call(values)


def _spread(call: Callable[[list[float]], float]) -> Callable[[list[float]], float]:
    return lambda values: call(values) if len(values) > 1 else 0.0


def _integers(call: Callable[..., int]) -> Any:
    def apply(*values: Any) -> Any:
        numbers = _flat(values)
        if any(not math.isfinite(item) or item != int(item) for item in numbers):
            raise MathFault("expected whole numbers")
        return js_number(float(call(*map(int, numbers))))

    return apply


def _choose(call: Callable[[int, int], int]) -> Any:
    def apply(n: Any, k: Any) -> Any:
        a, b = number(n), number(k)
        if a != int(a) or b != int(b) or not 0 <= b <= a <= _LARGEST_FACTORIAL:
            raise MathFault("expected whole numbers n >= k >= 0")
        return js_number(float(call(int(a), int(b))))

    return apply


def _nth_root(value: Any, root: Any = 2) -> Any:
    x, n = number(value), number(root)
    if n == 0 or (x < 0 and n % 2 == 0):
        raise MathFault("the root has no real value")
    found = math.copysign(abs(x) ** (1 / n), x)
    nearest = float(round(found)) if math.isfinite(found) else found
    return js_number(nearest if math.isfinite(nearest) and nearest**n == x else found)


def _sign(value: Any) -> Any:
    x = number(value)
    return x if x != x or x == 0 else int(math.copysign(1, x))


def _abs(value: Any) -> Any:
    return js_number(abs(_scalar(value)))


def _cube_root(x: float) -> float:
    root = math.copysign(abs(x) ** (1 / 3), x)
    nearest = float(round(root)) if math.isfinite(root) else root
    return nearest if nearest**3 == x else root


def arithmetic(operator: str, left: Any, right: Any) -> Any:
    """One of ``+ - * / ^ mod`` on scalars and lists."""
    if isinstance(left, list) or isinstance(right, list):
        return _on_lists(operator, left, right)
    if operator == "^":
        return power_of(left, right)
    if operator == "mod":
        return modulo(left, right)
    x, y = _scalar(left), _scalar(right)
    if isinstance(x, complex) or isinstance(y, complex):
        return _complex(operator, complex(x), complex(y))
    return {"+": js_add, "-": js_subtract, "*": multiply, "/": divide}[operator](x, y)


def _complex(operator: str, x: complex, y: complex) -> complex:
    try:
        return {"+": x + y, "-": x - y, "*": x * y}[operator] if operator != "/" else x / y
    except (ZeroDivisionError, OverflowError):
        raise MathFault("the quotient has no value") from None


def _on_lists(operator: str, left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        if operator not in ("+", "-") or len(left) != len(right):
            raise MathFault("expected lists of one length and '+' or '-'")
        return [arithmetic(operator, a, b) for a, b in zip(left, right, strict=True)]
    if isinstance(left, list):
        if operator == "^":
            raise MathFault("a list has no power")
        return [arithmetic(operator, item, right) for item in left]
    if operator in ("^", "/"):
        raise MathFault("a list is no exponent and no divisor")
    return [arithmetic(operator, left, item) for item in right]


def elementwise(operator: str, left: Any, right: Any) -> Any:
    """``.*``, ``./`` and ``.^``: item by item."""
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            raise MathFault("expected lists of one length")
        return [elementwise(operator, a, b) for a, b in zip(left, right, strict=True)]
    if isinstance(left, list):
        return [elementwise(operator, item, right) for item in left]
    if isinstance(right, list):
        return [elementwise(operator, left, item) for item in right]
    return arithmetic(operator, left, right)


def product(left: Any, right: Any) -> Any:
    """``left * right``; two flat lists give their scalar product."""
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right) or any(isinstance(item, list) for item in left + right):
            raise MathFault("expected two flat lists of one length")
        total: Any = 0
        for a, b in zip(left, right, strict=True):
            total = arithmetic("+", total, arithmetic("*", a, b))
        return total
    return arithmetic("*", left, right)


def bits(operator: str, left: Any, right: Any) -> Any:
    """Operators on the bits of whole numbers."""
    a, b = number(left), number(right)
    if not (math.isfinite(a) and math.isfinite(b) and a == int(a) and b == int(b)):
        raise MathFault("expected whole numbers")
    x, y, shift = to_int32(a), to_int32(b), to_int32(b) & 31
    if operator == ">>>":
        return (x & 0xFFFFFFFF) >> shift
    return to_int32({"&": x & y, "|": x | y, "<<": x << shift, ">>": x >> shift}[operator])


def _total(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


# Functions that are called bare or through ``math.``.
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": _abs,
    "ceil": _rounding(math.ceil),
    "floor": _rounding(math.floor),
    "fix": _rounding(math.trunc),
    "round": _rounding(_half_away),
    "sqrt": _real(math.sqrt, cmath.sqrt),
    "cbrt": _real(_cube_root),
    "exp": _real(math.exp, cmath.exp),
    "expm1": _real(math.expm1),
    "log": _log,
    "log10": _based_log(10),
    "log2": _based_log(2),
    "log1p": _real(math.log1p),
    "pow": power_of,
    "nthRoot": _nth_root,
    "sign": _sign,
    "square": lambda x: arithmetic("*", x, x),
    "cube": lambda x: arithmetic("*", arithmetic("*", x, x), x),
    "add": lambda a, b: arithmetic("+", a, b),
    "subtract": lambda a, b: arithmetic("-", a, b),
    "multiply": product,
    "divide": lambda a, b: arithmetic("/", a, b),
    "mod": modulo,
    "unaryMinus": lambda x: arithmetic("-", 0, x),
    "unaryPlus": lambda x: arithmetic("+", 0, x),
    "factorial": factorial_of,
    "gamma": lambda x: factorial_of(number(x) - 1),
    "combinations": _choose(math.comb),
    "permutations": _choose(math.perm),
    "gcd": _integers(math.gcd),
    "lcm": _integers(math.lcm),
    "hypot": _over(lambda values: math.hypot(*values)),
    "max": _over(_pick(max)),
    "min": _over(_pick(min)),
    "sum": _over(_total),
    "prod": _over(math.prod),
    "mean": _over(lambda values: _total(values) / len(values)),
    "median": _over(statistics.median),
    "std": _over(_spread(statistics.stdev)),
    "variance": _over(_spread(statistics.variance)),
    "count": lambda values: len(_flat((values,))),
    "number": lambda x=0: js_number(number(x)),
    "re": lambda x: js_number(complex(_scalar(x)).real),
    "im": lambda x: js_number(complex(_scalar(x)).imag),
    "compare": lambda a, b: _sign(number(a) - number(b)),
    "sin": _real(math.sin, cmath.sin),
    "cos": _real(math.cos, cmath.cos),
    "tan": _real(math.tan, cmath.tan),
    "asin": _real(math.asin, cmath.asin),
    "acos": _real(math.acos, cmath.acos),
    "atan": _real(math.atan, cmath.atan),
    "atan2": lambda y, x: js_number(math.atan2(number(y), number(x))),
    "sec": lambda x: arithmetic("/", 1, FUNCTIONS["cos"](x)),
    "csc": lambda x: arithmetic("/", 1, FUNCTIONS["sin"](x)),
    "cot": lambda x: arithmetic("/", 1, FUNCTIONS["tan"](x)),
    "sinh": _real(math.sinh, cmath.sinh),
    "cosh": _real(math.cosh, cmath.cosh),
    "tanh": _real(math.tanh, cmath.tanh),
    "asinh": _real(math.asinh, cmath.asinh),
    "acosh": _real(math.acosh, cmath.acosh),
    "atanh": _real(math.atanh, cmath.atanh),
}


def _reals(call: Callable[..., float]) -> Any:
    """A function of JavaScript's ``Math``: real numbers only, NaN where it has no value."""

    def apply(*values: Any) -> Any:
        numbers = [number(value) for value in values]
        try:
            return js_number(float(call(*numbers)))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan
        except TypeError:
            raise MathFault("wrong number of arguments") from None

    return apply


def _whole(call: Callable[[float], float]) -> Any:
    return _reals(lambda x: float(call(x)) if math.isfinite(x) else x)


# Functions that are called through ``Math.``.
JS_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    **{name: _reals(getattr(math, name)) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh")},
    **{name: _reals(getattr(math, name)) for name in ("cosh", "tanh", "asinh", "acosh", "atanh", "exp", "expm1")},
    "abs": _reals(abs),
    "cbrt": _reals(_cube_root),
    "ceil": _whole(math.ceil),
    "floor": _whole(math.floor),
    "round": _whole(lambda x: float(js_round(x))),
    "trunc": _whole(math.trunc),
    "hypot": _reals(math.hypot),
    "log": _reals(lambda x: math.log(x) if x else -math.inf),
    "log10": _reals(lambda x: math.log10(x) if x else -math.inf),
    "log1p": _reals(lambda x: math.log1p(x) if x != -1 else -math.inf),
    "log2": _reals(lambda x: math.log2(x) if x else -math.inf),
    "max": _reals(lambda *values: _pick(max)(list(values)) if values else -math.inf),
    "min": _reals(lambda *values: _pick(min)(list(values)) if values else math.inf),
    "pow": _reals(lambda x, y: float(power(x, y))),
    "sign": _reals(lambda x: math.copysign(1, x) if x else x),
    "sqrt": _reals(math.sqrt),
}

_JS_CONSTANTS = {
    "PI": math.pi,
    "E": math.e,
    "LN2": math.log(2),
    "LN10": math.log(10),
    "LOG2E": math.log2(math.e),
    "LOG10E": math.log10(math.e),
    "SQRT2": math.sqrt(2),
    "SQRT1_2": math.sqrt(0.5),
}
_OWN_CONSTANTS: dict[str, Any] = {
    **_JS_CONSTANTS,
    "pi": math.pi,
    "e": math.e,
    "tau": math.tau,
    "phi": (1 + math.sqrt(5)) / 2,
    "i": 1j,
    "Infinity": math.inf,
    "NaN": math.nan,
}
CONSTANTS: Final[Mapping[str, Any]] = {
    **_OWN_CONSTANTS,
    "true": True,
    "false": False,
    **{f"Math.{name}": value for name, value in _JS_CONSTANTS.items()},
    **{f"math.{name}": value for name, value in _OWN_CONSTANTS.items()},
}


def _component(value: float) -> str:
    return js_number_text(js_number(value))


def complex_text(value: complex) -> str:
    """A complex number as its library prints it: ``2i``, ``3 + 4i``."""
    real, imaginary = value.real, value.imag
    if abs(real) < 1e-15:
        real = 0.0
    if abs(imaginary) < 1e-15:
        imaginary = 0.0
    if imaginary == 0:
        return _component(real)
    size = "" if abs(imaginary) == 1 else _component(abs(imaginary))
    if real == 0:
        return f"{'-' if imaginary < 0 else ''}{size}i"
    return f"{_component(real)} {'-' if imaginary < 0 else '+'} {size}i"


def _item_text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_item_text, value)) + "]"
    if isinstance(value, complex):
        return complex_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if not is_number(value):
        return f'"{value}"'
    if value == 0 or not math.isfinite(value):
        return js_number_text(value)
    text = f"{abs(float(value)):.17e}"
    exponent = int(text.partition("e")[2])
    if _EXPONENT_BELOW <= exponent < _EXPONENT_FROM:
        return js_number_text(value)
    digits = repr(float(value)).partition("e")[0].replace(".", "").replace("-", "").strip("0")
    sign = "-" if value < 0 else ""
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'+' if exponent >= 0 else '-'}{abs(exponent)}"


def list_text(value: list[Any]) -> str:
    """A list as its library prints it: ``[1, 2]``, large and small numbers with an exponent."""
    return _item_text(value)


__all__ = [
    "CONSTANTS",
    "FUNCTIONS",
    "JS_FUNCTIONS",
    "MathFault",
    "arithmetic",
    "bits",
    "complex_text",
    "elementwise",
    "factorial_of",
    "list_text",
    "number",
    "product",
]
