"""lodash on numbers and texts (spec/zod.md §4.5)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.errors import EvaluationError
from interpreter.evaluate.builtins.arguments import arg, integer, number, text
from interpreter.evaluate.builtins.lodash_base import (
    array_of,
    iteratee,
)
from interpreter.evaluate.builtins.lodash_objects import OBJECTS, Function, Items, lodash
from interpreter.evaluate.builtins.numbers import ONE_NUMBER
from interpreter.evaluate.builtins.strings import split_text
from interpreter.evaluate.builtins.symbols import symbol_count, symbols
from interpreter.evaluate.properties import call_member
from interpreter.javascript import UNDEFINED


@lodash("clamp")
def _clamp(run: Run, a: Items) -> Any:
    if run.strict_numbers and (len(a) != 3 or not all(js.is_number(value) for value in a)):
        raise EvaluationError("MVU_SCHEMA_CODE", "expected three numbers for _.clamp, found something else")
    low, high = arg(a, 1), arg(a, 2)
    if high is UNDEFINED:
        low, high = UNDEFINED, low
    value = number(arg(a, 0))
    if value != value:
        return value
    if high is not UNDEFINED:
        top = number(high)
        top = 0 if top != top else top
        value = value if value <= top else top
    if low is not UNDEFINED:
        bottom = number(low)
        bottom = 0 if bottom != bottom else bottom
        value = value if value >= bottom else bottom
    return value


@lodash("inRange")
def _in_range(_run: Run, a: Items) -> Any:
    value, start, end = number(arg(a, 0)), number(arg(a, 1)), arg(a, 2)
    low, high = (0, start) if end is UNDEFINED else (start, number(end))
    return min(low, high) <= value < max(low, high)


def _rounder(method: Callable[[Any], Any]) -> Function:
    def rounded(run: Run, a: Items) -> Any:
        value, places = number(arg(a, 0)), int(max(-292, min(integer(arg(a, 1)), 292)))
        if not places or not math.isfinite(value):
            return method(value)
        # lodash shifts the decimal text, so that 1.005 rounds as written.
        mantissa, _, exponent = _exponent(value)
        shifted = method(js.text_to_number(f"{mantissa}e{exponent + places}"))
        mantissa, _, exponent = _exponent(shifted)
        return js.text_to_number(f"{mantissa}e{exponent - places}")

    return rounded


def _exponent(value: Any) -> tuple[str, str, int]:
    written = _base_text(value)
    mantissa, mark, exponent = written.partition("e")
    return mantissa, mark, int(exponent or 0)


OBJECTS["round"] = _rounder(js.js_round)
OBJECTS["floor"] = _rounder(ONE_NUMBER["floor"])
OBJECTS["ceil"] = _rounder(ONE_NUMBER["ceil"])


def total(run: Run, values: Items) -> Any:
    """lodash's sum: undefined is skipped, strings join."""
    from interpreter.evaluate.operators import add

    result: Any = UNDEFINED
    for value in values:
        if value is not UNDEFINED:
            result = value if result is UNDEFINED else add(run, result, value)
    return 0 if result is UNDEFINED and not values else result


@lodash("sum")
def _sum(run: Run, a: Items) -> Any:
    return total(run, array_of(run, arg(a, 0)))


@lodash("sumBy")
def _sum_by(run: Run, a: Items) -> Any:
    call = iteratee(run, arg(a, 1))
    return total(run, [call(item) for item in array_of(run, arg(a, 0))])


def _mean_of(run: Run, values: Items) -> Any:
    return js.divide(number(total(run, values)), len(values)) if values else math.nan


@lodash("mean")
def _mean(run: Run, a: Items) -> Any:
    return _mean_of(run, array_of(run, arg(a, 0)))


@lodash("meanBy")
def _mean_by(run: Run, a: Items) -> Any:
    call = iteratee(run, arg(a, 1))
    return _mean_of(run, [call(item) for item in array_of(run, arg(a, 0))])


def _extreme(*, largest: bool, by: bool) -> Function:
    def extreme(run: Run, a: Items) -> Any:
        call: Callable[..., Any] = iteratee(run, arg(a, 1)) if by else (lambda item: item)
        best: Any = UNDEFINED
        best_key: Any = UNDEFINED
        for item in array_of(run, arg(a, 0)):
            key = call(item)
            if key is None or key is UNDEFINED or key != key:
                continue
            better = js.less_than(best_key, key, str) if largest else js.less_than(key, best_key, str)
            if best_key is UNDEFINED or better is True:
                best, best_key = item, key
        return best

    return extreme


for _name, _largest in {"max": True, "min": False}.items():
    OBJECTS[_name] = _extreme(largest=_largest, by=False)
    OBJECTS[_name + "By"] = _extreme(largest=_largest, by=True)


def _arithmetic(name: str, start: int) -> Function:
    from interpreter.evaluate.operators import BINARY

    def apply(run: Run, a: Items) -> Any:
        return BINARY[name](run, arg(a, 0) if a else start, arg(a, 1) if len(a) > 1 else start)

    return apply


for _name, _sign in {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}.items():
    OBJECTS[_name] = _arithmetic(_sign, 0)
for _name, (_sign, _start) in {"add": ("+", 0), "subtract": ("-", 0), "multiply": ("*", 1), "divide": ("/", 1)}.items():
    OBJECTS[_name] = _arithmetic(_sign, _start)


@lodash("toNumber")
def _to_number(_run: Run, a: Items) -> Any:
    return number(arg(a, 0))


@lodash("toInteger", "toSafeInteger")
def _to_integer(_run: Run, a: Items) -> Any:
    value = integer(arg(a, 0))
    return js.js_number(math.copysign(1.7976931348623157e308, value) if math.isinf(value) else value)


@lodash("toFinite")
def _to_finite(_run: Run, a: Items) -> Any:
    value = number(arg(a, 0))
    if value != value:
        return 0
    return math.copysign(1.7976931348623157e308, value) if math.isinf(value) else value


@lodash("parseInt")
def _parse_int(_run: Run, a: Items) -> Any:
    return js.parse_int(text(arg(a, 0)), 0 if arg(a, 1) is UNDEFINED else number(arg(a, 1)))


@lodash("times")
def _times(run: Run, a: Items) -> Any:
    count = int(min(max(integer(arg(a, 0)), 0), 2**31))
    call = iteratee(run, arg(a, 1))
    run.charge(count)
    return [call(index) for index in range(count)]


# --- strings -----------------------------------------------------------------------------------------------------


def _as_text(value: Any) -> str:
    return "" if value is None or value is UNDEFINED else _base_text(value)


def _base_text(value: Any) -> str:
    """lodash's text of a value: null inside an array is written, and -0 keeps its sign."""
    if isinstance(value, list):
        return ",".join(_base_text(item) for item in value)
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        return "-0"
    return text(value)


@lodash("toString")
def _to_string(_run: Run, a: Items) -> Any:
    return _as_text(arg(a, 0))


def _through(method: str) -> Function:
    return lambda run, a: call_member(run, _as_text(arg(a, 0)), method, a[1:])


for _lodash, _method in {
    "toLower": "toLowerCase",
    "toUpper": "toUpperCase",
    "repeat": "repeat",
    "replace": "replace",
    "startsWith": "startsWith",
    "endsWith": "endsWith",
    "padStart": "padStart",
    "padEnd": "padEnd",
}.items():
    OBJECTS[_lodash] = _through(_method)


def _trim(start: bool, end: bool) -> Function:
    def trim(_run: Run, a: Items) -> Any:
        value = _as_text(arg(a, 0))
        signs = js.JS_WHITE_SPACE if arg(a, 1) is UNDEFINED else text(arg(a, 1))
        value = value.lstrip(signs) if start else value
        return value.rstrip(signs) if end else value

    return trim


OBJECTS["trim"] = _trim(True, True)
OBJECTS["trimStart"] = _trim(True, False)
OBJECTS["trimEnd"] = _trim(False, True)


@lodash("split")
def _split(run: Run, a: Items) -> Any:
    return split_text(run, _as_text(arg(a, 0)), arg(a, 1), arg(a, 2))


@lodash("capitalize")
def _capitalize(_run: Run, a: Items) -> Any:
    value = _as_text(arg(a, 0))
    return value[:1].upper() + value[1:].lower()


@lodash("upperFirst")
def _upper_first(_run: Run, a: Items) -> Any:
    value = _as_text(arg(a, 0))
    return value[:1].upper() + value[1:]


@lodash("lowerFirst")
def _lower_first(_run: Run, a: Items) -> Any:
    value = _as_text(arg(a, 0))
    return value[:1].lower() + value[1:]


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\x00-\x7f]+")


def words(value: str) -> list[str]:
    """``_.words`` for texts of plain letters, digits and other scripts."""
    return _WORD.findall(value.replace("'", ""))


@lodash("words")
def _words(run: Run, a: Items) -> Any:
    return words(_as_text(arg(a, 0)))


def _cased(join: str, change: Callable[[str, int], str]) -> Function:
    return lambda run, a: join.join(change(word, index) for index, word in enumerate(words(_as_text(arg(a, 0)))))


OBJECTS["camelCase"] = _cased(
    "", lambda word, index: word.lower() if index == 0 else word[:1].upper() + word[1:].lower()
)
OBJECTS["snakeCase"] = _cased("_", lambda word, index: word.lower())
OBJECTS["kebabCase"] = _cased("-", lambda word, index: word.lower())
OBJECTS["startCase"] = _cased(" ", lambda word, index: word[:1].upper() + word[1:])
OBJECTS["lowerCase"] = _cased(" ", lambda word, index: word.lower())
OBJECTS["upperCase"] = _cased(" ", lambda word, index: word.upper())


@lodash("truncate")
def _truncate(_run: Run, a: Items) -> Any:
    value, options = _as_text(arg(a, 0)), arg(a, 1)
    settings = options if type(options) is dict else {}
    length = int(integer(settings.get("length", 30)))
    mark = _as_text(settings.get("omission", "..."))
    if symbol_count(value) <= length:
        return value
    return "".join(symbols(value)[: max(0, length - symbol_count(mark))]) + mark


@lodash("pad")
def _pad(run: Run, a: Items) -> Any:
    value, length = _as_text(arg(a, 0)), int(integer(arg(a, 1)))
    width, missing = js.utf16_length(value), max(0, length - symbol_count(value))
    left = call_member(run, value, "padStart", [width + missing // 2, *a[2:]])
    return call_member(run, left, "padEnd", [width + missing, *a[2:]])


@lodash("escapeRegExp")
def _escape(_run: Run, a: Items) -> Any:
    return re.sub(r"[\\^$.*+?()[\]{}|]", lambda found: "\\" + found.group(), _as_text(arg(a, 0)))
