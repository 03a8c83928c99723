"""The checks that methods and ``z`` functions make (spec/zod.md §4.3, spec/mvu.md §5.4)."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.declare import nodes as n
from interpreter.declare.options import build_error, check_params, params, schema
from interpreter.evaluate.builtins.arguments import arg
from interpreter.evaluate.operators import describe, is_callable
from interpreter.evaluate.regular import FinitePattern
from interpreter.javascript import UNDEFINED
from interpreter.regex import FiniteRegex, Regex, RegExp

Arguments = list[Any]
Make = Callable[[Run, Arguments], Any]
_FORMAT_OPTIONS = ("version", "precision", "offset", "local", "hostname", "protocol", "normalize", "delimiter", "alg")


def number_bound(kind: type[n.LessThan] | type[n.GreaterThan], inclusive: bool, fixed: Any = None) -> Make:
    """``min``, ``gt``, ``positive``…"""

    def make(_run: Run, a: Arguments) -> Any:
        value, options = (fixed, arg(a, 0)) if fixed is not None else (arg(a, 0), arg(a, 1))
        return kind(value=value, inclusive=inclusive, **check_params(options))

    return make


def length_check(kind: Any, field: str, fixed: int | None = None) -> Make:
    """``min``, ``max``, ``length``, ``nonempty`` of strings, arrays, sets and maps."""

    def make(_run: Run, a: Arguments) -> Any:
        value, options = (fixed, arg(a, 0)) if fixed is not None else (arg(a, 0), arg(a, 1))
        return kind(**{field: value}, **check_params(options))

    return make


def multiple_of(_run: Run, a: Arguments) -> Any:
    """``multipleOf`` and ``step``."""
    return n.MultipleOf(value=arg(a, 0), **check_params(arg(a, 1)))


def number_format(name: Any) -> Make:
    """``int`` and its kin as a check."""
    return lambda run, a: n.NumberFormat(format=name, **check_params(arg(a, 0)))


def regex_check(run: Run, a: Arguments) -> Any:
    """``regex(pattern, message)``."""
    pattern: Any = arg(a, 0)
    if isinstance(pattern, FinitePattern):
        pattern = pattern.build(run)
    elif isinstance(pattern, RegExp):
        pattern = pattern.regex
    if not isinstance(pattern, (Regex, FiniteRegex)):
        raise build_error(f"expected a regular expression literal for regex(), found {describe(pattern)}")
    return n.StringFormat(format="regex", pattern=pattern, **check_params(arg(a, 1)))


def includes_check(_run: Run, a: Arguments) -> Any:
    """``includes(text, {position})``."""
    options = params(arg(a, 1))
    position = options.get("position", UNDEFINED)
    where = None if position is UNDEFINED else position
    return n.Includes(text=str(arg(a, 0)), position=where, **check_params(arg(a, 1)))


def starts_check(_run: Run, a: Arguments) -> Any:
    """``startsWith(text)``."""
    return n.StartsWith(text=str(arg(a, 0)), **check_params(arg(a, 1)))


def ends_check(_run: Run, a: Arguments) -> Any:
    """``endsWith(text)``."""
    return n.EndsWith(text=str(arg(a, 0)), **check_params(arg(a, 1)))


def format_check(name: str, fixed: dict[str, Any] | None = None) -> Make:
    """A named string format as a check."""

    def make(_run: Run, a: Arguments) -> Any:
        given = params(arg(a, 0))
        options = dict(fixed or {})
        for key in _FORMAT_OPTIONS:
            value = given.get(key, UNDEFINED)
            if value is not UNDEFINED and value is not None:
                options[key] = value.regex if isinstance(value, RegExp) else value
        if name == "uuid" and options.get("version") not in (None, *(f"v{index}" for index in range(1, 9))):
            raise build_error(f'Invalid UUID version: "{options["version"]}"')
        return n.StringFormat(format=name, options=MappingProxyType(options), **check_params(arg(a, 0)))

    return make


def overwrite(name: str) -> Make:
    """``trim``, ``toLowerCase``, ``toUpperCase``, ``slugify``, ``normalize``."""
    return lambda run, a: n.Overwrite(name=name, argument=None if arg(a, 0) is UNDEFINED else arg(a, 0))


def overwrite_function(_run: Run, a: Arguments) -> Any:
    """``overwrite(fn)``."""
    return n.Overwrite(function=callable_argument(arg(a, 0), "overwrite"))


def callable_argument(value: Any, where: str) -> Any:
    """A function argument, or the exception that building the schema ends with."""
    if not is_callable(value):
        raise build_error(f"expected a function for {where}, found {describe(value)}")
    return value


def refine_check(_run: Run, a: Arguments) -> Any:
    """``refine(fn, params)``."""
    options = params(arg(a, 1))
    given = options.get("params", UNDEFINED)
    return n.Refine(
        function=callable_argument(arg(a, 0), "refine"),
        path=issue_path(options.get("path")),
        params=None if given is UNDEFINED else given,
        **check_params(arg(a, 1)),
    )


def issue_path(value: Any) -> tuple[str | int, ...]:
    """The path that an author gave to a refinement."""
    if not isinstance(value, list):
        return ()
    return tuple(part if isinstance(part, (str, int)) else js.to_text(part, str) for part in value)


def super_refine_check(run: Run, a: Arguments) -> Any:
    """``superRefine(fn)``."""
    if run.restricted and len(a) != 1:
        raise build_error(f"expected exactly one function for superRefine, found {len(a)} arguments")
    return n.SuperRefine(function=callable_argument(arg(a, 0), "superRefine"), when=check_params(arg(a, 1))["when"])


def check_function(_run: Run, a: Arguments) -> Any:
    """``z.check(fn)``."""
    return n.CheckFunction(function=callable_argument(arg(a, 0), "check"))


def property_check(_run: Run, a: Arguments) -> Any:
    """``z.property(name, schema)``."""
    return n.PropertyCheck(property=str(arg(a, 0)), schema=schema(arg(a, 1), "property"), **check_params(arg(a, 2)))


def annotation(key: str | None) -> Make:
    """``z.describe(text)`` and ``z.meta(data)`` as checks."""

    def make(_run: Run, a: Arguments) -> Any:
        data = arg(a, 0)
        return n.Annotation(data=MappingProxyType({key: data} if key else dict(data)))

    return make


CHECKS: dict[str, Make] = {
    "lt": number_bound(n.LessThan, False),
    "lte": number_bound(n.LessThan, True),
    "maximum": number_bound(n.LessThan, True),
    "gt": number_bound(n.GreaterThan, False),
    "gte": number_bound(n.GreaterThan, True),
    "minimum": number_bound(n.GreaterThan, True),
    "positive": number_bound(n.GreaterThan, False, 0),
    "negative": number_bound(n.LessThan, False, 0),
    "nonpositive": number_bound(n.LessThan, True, 0),
    "nonnegative": number_bound(n.GreaterThan, True, 0),
    "multipleOf": multiple_of,
    "minLength": length_check(n.MinLength, "minimum"),
    "maxLength": length_check(n.MaxLength, "maximum"),
    "length": length_check(n.ExactLength, "length"),
    "minSize": length_check(n.MinSize, "minimum"),
    "maxSize": length_check(n.MaxSize, "maximum"),
    "size": length_check(n.ExactSize, "size"),
    "regex": regex_check,
    "includes": includes_check,
    "startsWith": starts_check,
    "endsWith": ends_check,
    "lowercase": format_check("lowercase"),
    "uppercase": format_check("uppercase"),
    "trim": overwrite("trim"),
    "normalize": overwrite("normalize"),
    "toLowerCase": overwrite("toLowerCase"),
    "toUpperCase": overwrite("toUpperCase"),
    "slugify": overwrite("slugify"),
    "overwrite": overwrite_function,
    "refine": refine_check,
    "superRefine": super_refine_check,
    "check": check_function,
    "property": property_check,
    "describe": annotation("description"),
    "meta": annotation(None),
}
