"""The names that a declaration finds: pure globals only (spec/zod.md §4.6; spec/mvu.md §5.2 for versions 1 and 2)."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import quote, unquote

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.evaluate.builtins.arguments import arg, text
from interpreter.evaluate.builtins.lodash import LODASH, RESTRICTED_LODASH
from interpreter.evaluate.builtins.numbers import (
    DATE,
    IS_FINITE,
    IS_NAN,
    MATH_CONSTANTS,
    MATH_FUNCTIONS,
    NUMBER,
    PARSE_FLOAT,
    PARSE_INT,
)
from interpreter.evaluate.builtins.objects import ARRAY, JSON_MEMBERS, OBJECT, boolean, clone, new_map, new_set
from interpreter.evaluate.operators import is_callable
from interpreter.evaluate.regular import new_regex
from interpreter.evaluate.values import ErrorValue, Namespace, Native, Thrown, type_error
from interpreter.javascript import UNDEFINED
from interpreter.syntax.restricted import MATH

_URI_KEPT = "-_.!~*'()"


def _error(name: str) -> Native:
    def make(_run: Run, arguments: list[Any]) -> Any:
        message = arg(arguments, 0)
        return ErrorValue(name, "" if message is UNDEFINED else text(message))

    return Native(name, make, constructor=make)


def _needs_new(name: str) -> Any:
    def call(_run: Run, _arguments: list[Any]) -> Any:
        raise type_error(f"Constructor {name} requires 'new'")

    return call


def _string(_run: Run, arguments: list[Any]) -> Any:
    return text(arguments[0]) if arguments else ""


def _from_char_code(_run: Run, arguments: list[Any]) -> Any:
    units = b"".join(js.to_uint32(js.to_number(item)).to_bytes(4, "little")[:2] for item in arguments)
    return js.from_units(units)


def _from_code_point(_run: Run, arguments: list[Any]) -> Any:
    points = [js.to_number(item) for item in arguments]
    for point in points:
        if not js.is_integer(point) or not 0 <= point <= 0x10FFFF:
            raise Thrown(ErrorValue("RangeError", "Invalid code point"))
    return js.join_surrogates("".join(chr(int(point)) for point in points))


def _silent(_run: Run, _arguments: list[Any]) -> Any:
    return UNDEFINED


def _encode(_run: Run, arguments: list[Any]) -> Any:
    try:
        return quote(text(arg(arguments, 0)), safe=_URI_KEPT)
    except UnicodeEncodeError:
        raise Thrown(ErrorValue("URIError", "URI malformed")) from None


def _decode(_run: Run, arguments: list[Any]) -> Any:
    try:
        return unquote(text(arg(arguments, 0)), errors="strict")
    except UnicodeDecodeError:
        raise Thrown(ErrorValue("URIError", "URI malformed")) from None


STRING = Native(
    "String",
    _string,
    {
        "fromCharCode": Native("String.fromCharCode", _from_char_code),
        "fromCodePoint": Native("String.fromCodePoint", _from_code_point),
    },
)
CONSOLE = Namespace(
    "console", {name: Native(f"console.{name}", _silent) for name in ("log", "info", "warn", "error", "debug")}
)


def globals_for(version: int, zod: Namespace) -> dict[str, Any]:
    """The global names of an interpreter version; ``zod`` is the namespace ``z``."""
    constants = {"undefined": UNDEFINED}
    if version < 3:
        functions = {name: function for name, function in MATH_FUNCTIONS.items() if name in MATH}
        capital = Namespace("Math", {**functions, "PI": math.pi, "E": math.e})
        small = Namespace("math", {**functions, "pi": math.pi, "e": math.e})
        return {
            **functions,
            **constants,
            "z": zod,
            "Math": capital,
            "math": small,
            "_": Namespace("_", RESTRICTED_LODASH),
        }
    return {
        **constants,
        "NaN": math.nan,
        "Infinity": math.inf,
        "z": zod,
        "_": LODASH,
        "Math": Namespace("Math", {**MATH_FUNCTIONS, **MATH_CONSTANTS}),
        "Number": NUMBER,
        "String": STRING,
        "Boolean": Native("Boolean", boolean),
        "Array": ARRAY,
        "Object": OBJECT,
        "JSON": Namespace("JSON", JSON_MEMBERS),
        "Date": DATE,
        "Set": Native("Set", _needs_new("Set"), constructor=new_set),
        "Map": Native("Map", _needs_new("Map"), constructor=new_map),
        "RegExp": Native("RegExp", new_regex, constructor=new_regex),
        **{name: _error(name) for name in ("Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError")},
        "isNaN": IS_NAN,
        "isFinite": IS_FINITE,
        "parseInt": PARSE_INT,
        "parseFloat": PARSE_FLOAT,
        "structuredClone": Native("structuredClone", lambda run, arguments: clone(run, arg(arguments, 0))),
        "encodeURIComponent": Native("encodeURIComponent", _encode),
        "decodeURIComponent": Native("decodeURIComponent", _decode),
        "console": CONSOLE,
    }


def callable_or_none(value: Any) -> Any:
    """The value if it can be called."""
    return value if is_callable(value) else None
