"""JavaScript's one number type: text forms, text rules, rounding and arithmetic (design §5, spec/mvu.md §11 traps)."""

import decimal
import math
import re
from typing import TypeGuard

from interpreter.javascript.text import JS_WHITE_SPACE, js_trim, js_trim_start

Number = int | float

MAX_SAFE_INTEGER = 2**53 - 1
_EXACT = 2**53
_DECIMAL = re.compile(r"[+-]?(?:Infinity|[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)")
_RADIX_PREFIX = {
    "0x": (16, re.compile(r"[0-9a-fA-F]+")),
    "0o": (8, re.compile("[0-7]+")),
    "0b": (2, re.compile("[01]+")),
}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# The longest exact decimal expansion of a double has 767 significant digits and 1074 places after the point.
_WIDE = decimal.Context(prec=1200, Emax=9999, Emin=-9999, rounding=decimal.ROUND_HALF_UP, traps=[])
# A number of this many digits is beyond the largest double in every radix from 2 up.
_ALWAYS_INFINITE = 1100


def is_number(value: object) -> TypeGuard[Number]:
    """Whether the value is a JavaScript number; a boolean never is."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _double(x: Number) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def js_number(x: Number) -> Number:
    """Settle a number on its one representation: ``int`` for the integers up to 2^53, else ``float`` (also -0)."""
    if isinstance(x, int):
        return x if -_EXACT <= x <= _EXACT else js_number(_double(x))
    if x.is_integer() and -_EXACT <= x <= _EXACT and (x != 0 or math.copysign(1, x) > 0):
        return int(x)
    return x


def is_integer(value: object) -> bool:
    """``Number.isInteger``."""
    return is_number(value) and _double(value).is_integer()


def is_safe_integer(value: object) -> bool:
    """``Number.isSafeInteger``."""
    return is_integer(value) and abs(_double(value)) <= MAX_SAFE_INTEGER  # type: ignore[arg-type]


# --- out ---------------------------------------------------------------------------------------------------------


def js_number_text(x: Number) -> str:
    """``Number::toString`` in radix 10: shortest digits, exponent outside 1e-7 < |x| < 1e21, -0 as ``0``."""
    if isinstance(x, int) and -_EXACT <= x <= _EXACT:
        return str(int(x))
    value = _double(x)
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    digits, point = _shortest(abs(value))
    return ("-" if value < 0 else "") + _layout(digits, point)


def _shortest(value: float) -> tuple[str, int]:
    """Shortest digits of a positive double and the position of the point: value = 0.digits x 10^point."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).rstrip("0")
    point = len(whole) + int(exponent or 0)
    stripped = digits.lstrip("0")
    return stripped, point - (len(digits) - len(stripped))


def _layout(digits: str, point: int) -> str:
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    return _exponential(digits, point - 1)


def _exponential(digits: str, exponent: int) -> str:
    head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{head}e{'+' if exponent >= 0 else '-'}{abs(exponent)}"


def _special(x: float) -> str | None:
    if x != x or x in (math.inf, -math.inf):
        return js_number_text(x)
    return None


def to_fixed(x: Number, digits: int = 0) -> str:
    """``Number.prototype.toFixed``: works on the exact binary value, halves away from zero; digits 0 to 100."""
    value = _double(x)
    special = _special(value)
    if special is not None or abs(value) >= 1e21:
        return js_number_text(value)
    quantum = decimal.Decimal(1).scaleb(-digits)
    text = format(decimal.Decimal(abs(value)).quantize(quantum, context=_WIDE), "f")
    return ("-" if value < 0 else "") + text


def _significant(value: float, count: int) -> tuple[str, int]:
    """``count`` digits of a positive double, halves up, and the exponent of the first digit."""
    exact = decimal.Decimal(value)
    rounded = decimal.Context(prec=count, rounding=decimal.ROUND_HALF_UP, traps=[]).plus(exact)
    parts = rounded.as_tuple()
    digits = "".join(map(str, parts.digits))
    exponent = len(digits) - 1 + int(parts.exponent)
    return digits.ljust(count, "0")[:count], exponent


def to_precision(x: Number, digits: int) -> str:
    """``Number.prototype.toPrecision``: 1 to 100 significant digits."""
    value = _double(x)
    special = _special(value)
    if special is not None:
        return special
    sign = "-" if value < 0 else ""
    text, exponent = ("0" * digits, 0) if value == 0 else _significant(abs(value), digits)
    if exponent < -6 or exponent >= digits:
        return sign + _exponential(text, exponent)
    if exponent == digits - 1:
        return sign + text
    if exponent >= 0:
        return f"{sign}{text[: exponent + 1]}.{text[exponent + 1 :]}"
    return f"{sign}0.{'0' * -(exponent + 1)}{text}"


def to_exponential(x: Number, digits: int | None = None) -> str:
    """``Number.prototype.toExponential``: as many digits as needed, or a given number (0 to 100) after the point."""
    value = _double(x)
    special = _special(value)
    if special is not None:
        return special
    sign = "-" if value < 0 else ""
    if value == 0:
        return sign + _exponential("0" * ((digits or 0) + 1), 0)
    if digits is None:
        text, point = _shortest(abs(value))
        return sign + _exponential(text, point - 1)
    return sign + _exponential(*_significant(abs(value), digits + 1))


def radix_text(x: Number, radix: int) -> str:
    """``Number.prototype.toString(radix)`` for radix 2 to 36, with the shortest fraction that reads back the same."""
    value = _double(x)
    special = _special(value)
    if special is not None or radix == 10:
        return js_number_text(value)
    sign, value = ("-" if value < 0 else ""), abs(value)
    whole = int(value)
    fraction = value - whole
    delta = max(0.5 * (math.nextafter(value, math.inf) - value), math.nextafter(0.0, 1.0))
    digits: list[int] = []
    if fraction >= delta:
        whole += _fraction_digits(fraction, delta, radix, digits)
    text = _whole_text(whole, radix)
    if digits:
        text += "." + "".join(_DIGITS[digit] for digit in digits)
    return sign + text


def _fraction_digits(fraction: float, delta: float, radix: int, digits: list[int]) -> int:
    """Append the digits of a fraction until they determine it; answer the carry into the whole part."""
    while True:
        fraction *= radix
        delta *= radix
        digit = int(fraction)
        digits.append(digit)
        fraction -= digit
        if (fraction > 0.5 or (fraction == 0.5 and digit & 1)) and fraction + delta > 1:
            while digits:
                last = digits.pop()
                if last + 1 < radix:
                    digits.append(last + 1)
                    return 0
            return 1
        if fraction < delta:
            return 0


def _whole_text(whole: int, radix: int) -> str:
    """All digits, exactly; above 2^53 ECMA-262 leaves the digits below a double's precision to the implementation."""
    if whole == 0:
        return "0"
    digits: list[str] = []
    while whole:
        whole, digit = divmod(whole, radix)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))


# --- in ----------------------------------------------------------------------------------------------------------


def text_to_number(text: str) -> Number:
    """``Number(text)``: the ECMAScript numeric string grammar over ASCII digits; anything else is NaN."""
    trimmed = js_trim(text)
    if not trimmed:
        return 0
    prefix = _RADIX_PREFIX.get(trimmed[:2].lower())
    if prefix is not None:
        radix, pattern = prefix
        return _in_radix(trimmed[2:], radix) if pattern.fullmatch(trimmed, 2) else math.nan
    return _decimal_number(trimmed) if _DECIMAL.fullmatch(trimmed) else math.nan


def _decimal_number(text: str) -> Number:
    return js_number(float(text))


def _in_radix(digits: str, radix: int) -> Number:
    digits = digits.lstrip("0") or "0"
    if radix == 10:
        return js_number(float(digits))
    if len(digits) > _ALWAYS_INFINITE:
        return math.inf
    return js_number(int(digits, radix))


def parse_float(text: str) -> Number:
    """``parseFloat(text)``: the longest decimal literal at the start after white space, else NaN."""
    match = _DECIMAL.match(js_trim_start(text))
    return _decimal_number(match.group()) if match else math.nan


def parse_int(text: str, radix: Number = 0) -> Number:
    """``parseInt(text, radix)``: sign, optional ``0x``, then the longest run of digits of the radix, else NaN."""
    rest = text.lstrip(JS_WHITE_SPACE)
    negative = rest.startswith("-")
    if rest[:1] in ("+", "-"):
        rest = rest[1:]
    base = to_int32(radix)
    if base != 0 and not 2 <= base <= 36:
        return math.nan
    if base in (0, 16) and rest[:2].lower() == "0x":
        rest, base = rest[2:], 16
    base = base or 10
    allowed = _DIGITS[:base]
    end = 0
    while end < len(rest) and rest[end] in allowed + allowed.upper():
        end += 1
    if end == 0:
        return math.nan
    value = _in_radix(rest[:end], base)
    return negate(value) if negative else value


def to_int32(x: Number) -> int:
    """``ToInt32``: the low 32 bits as a signed number."""
    bits = to_uint32(x)
    return bits - 2**32 if bits >= 2**31 else bits


def to_uint32(x: Number) -> int:
    """``ToUint32``: the low 32 bits as an unsigned number; NaN and infinities are 0."""
    value = _double(x)
    return int(value) & 0xFFFFFFFF if math.isfinite(value) else 0


# --- arithmetic --------------------------------------------------------------------------------------------------


def js_round(x: Number) -> Number:
    """``Math.round``: halves towards positive infinity, -0.5 gives -0."""
    value = _double(x)
    if not math.isfinite(value) or value.is_integer():
        return js_number(value)
    low = math.floor(value)
    result = low if value - low < 0.5 else low + 1
    return -0.0 if result == 0 and value < 0 else js_number(result)


def round12(x: Number) -> Number:
    """Round to 12 significant digits, as ``Number(x.toPrecision(12))`` (spec/mvu.md §1.7, arithmetic)."""
    value = _double(x)
    if value == 0 or not math.isfinite(value):
        return 0 if value == 0 else value
    return js_number(float(to_precision(value, 12)))


def add_numbers(a: Number, b: Number) -> Number:
    """``a + b`` on numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return js_number(js_number(a) + js_number(b))
    return js_number(_double(a) + _double(b))


def subtract(a: Number, b: Number) -> Number:
    """``a - b``."""
    if isinstance(a, int) and isinstance(b, int):
        return js_number(js_number(a) - js_number(b))
    return js_number(_double(a) - _double(b))


def multiply(a: Number, b: Number) -> Number:
    """``a * b``; a zero product keeps its sign."""
    return js_number(_double(a) * _double(b))


def divide(a: Number, b: Number) -> Number:
    """``a / b``: division by zero gives an infinity or NaN."""
    top, bottom = _double(a), _double(b)
    if bottom == 0:
        if top == 0 or top != top:
            return math.nan
        return math.copysign(math.inf, math.copysign(1, top) * math.copysign(1, bottom))
    return js_number(top / bottom)


def remainder(a: Number, b: Number) -> Number:
    """``a % b``: the sign is the dividend's."""
    top, bottom = _double(a), _double(b)
    if bottom == 0 or not math.isfinite(top) or bottom != bottom:
        return math.nan
    return js_number(math.fmod(top, bottom))


def power(a: Number, b: Number) -> Number:
    """``a ** b`` and ``Math.pow``: an exponent of NaN gives NaN also for base 1, and 1 to an infinity is NaN.

    The last digit is the platform's: ECMA-262 leaves the precision of powers to the implementation.
    """
    base, exponent = _double(a), _double(b)
    if exponent != exponent or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    try:
        return js_number(math.pow(base, exponent))
    except OverflowError:
        odd = exponent.is_integer() and math.fmod(exponent, 2) != 0
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        if base == 0:  # zero to a negative power
            odd = exponent.is_integer() and math.fmod(exponent, 2) != 0
            return math.copysign(math.inf, base) if odd else math.inf
        return math.nan


def negate(x: Number) -> Number:
    """``-x``; the negative of 0 is -0."""
    return js_number(-_double(x))
