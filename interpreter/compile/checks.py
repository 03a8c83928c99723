"""The checks of a chain, with exactly Zod's issues (spec/zod.md §9, rules 10-13, 25-29)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from interpreter import formats
from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.compile.author import check_issue, copy_data, frozen_copy, mutates, own_copy, parse_context
from interpreter.compile.payload import Payload, RawIssue, finalize
from interpreter.declare import nodes as n
from interpreter.errors import EvaluationError
from interpreter.evaluate.builtins.arguments import arg
from interpreter.evaluate.operators import describe, to_text
from interpreter.evaluate.regular import regex_text
from interpreter.evaluate.values import DateValue, MapValue, Native, SetValue, type_error
from interpreter.javascript import UNDEFINED, truthy

CheckRun = Callable[[Payload, Run], None]
_SAFE = js.MAX_SAFE_INTEGER
NUMBER_RANGES: dict[str, tuple[float, float]] = {
    "safeint": (-_SAFE, _SAFE),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "float32": (-3.4028234663852886e38, 3.4028234663852886e38),
    "float64": (-1.7976931348623157e308, 1.7976931348623157e308),
}
# Formats that Zod checks by code, not by a pattern: their issues carry no origin.
_BY_CODE = frozenset({"url", "ipv6", "cidrv6", "base64", "base64url", "jwt"})
_SIZE_ORIGIN = {SetValue: "set", MapValue: "map"}


def add(payload: Payload, check: n.Check, code: str, fields: dict[str, Any]) -> None:
    """Report an issue of a check; later checks go on unless the check aborts."""
    payload.issues.append(RawIssue(code, payload.value, fields, check.error, not check.abort))


def origin_of(value: Any) -> str:
    """The origin of an issue about a number-like bound."""
    if isinstance(value, DateValue):
        return "date"
    return "number"


def _comparable(value: Any) -> Any:
    return value.milliseconds if isinstance(value, DateValue) else value


def _holds(a: Any, b: Any, inclusive: bool) -> bool:
    """``a < b`` or ``a <= b`` in JavaScript's sense."""
    if inclusive:
        return js.less_than(b, a, to_text) is False
    return js.less_than(a, b, to_text) is True


def _less_than(check: n.LessThan) -> CheckRun:
    limit, inclusive = _comparable(check.value), check.inclusive
    fields = {"origin": origin_of(check.value), "maximum": limit, "inclusive": inclusive}

    def run_check(payload: Payload, run: Run) -> None:
        if not _holds(_comparable(payload.value), limit, inclusive):
            add(payload, check, "too_big", dict(fields))

    return run_check


def _greater_than(check: n.GreaterThan) -> CheckRun:
    limit, inclusive = _comparable(check.value), check.inclusive
    fields = {"origin": origin_of(check.value), "minimum": limit, "inclusive": inclusive}

    def run_check(payload: Payload, run: Run) -> None:
        if not _holds(limit, _comparable(payload.value), inclusive):
            add(payload, check, "too_small", dict(fields))

    return run_check


def float_remainder(value: Any, step: Any) -> float:
    """The tolerant remainder of ``multipleOf``."""
    ratio = float(js.divide(value, step))
    if ratio != ratio or ratio in (float("inf"), float("-inf")):
        return float("nan")
    rounded = float(js.js_round(ratio))
    if abs(ratio - rounded) < 2.0**-52 * max(abs(ratio), 1):
        return 0.0
    return ratio - rounded


def _multiple_of(check: n.MultipleOf) -> CheckRun:
    fields = {"origin": "number", "divisor": check.value}

    def run_check(payload: Payload, run: Run) -> None:
        if not js.is_number(payload.value):
            raise type_error("Cannot mix number and bigint in multiple_of check.")
        if float_remainder(payload.value, check.value) != 0:
            add(payload, check, "not_multiple_of", dict(fields))

    return run_check


_UNSAFE_NOTE = "Integers must be within the safe integer range."


def _number_format(check: n.NumberFormat) -> CheckRun:
    low, high = NUMBER_RANGES[check.format]
    whole = "int" in check.format

    def run_check(payload: Payload, run: Run) -> None:
        value = payload.value
        if whole:
            if not js.is_integer(value):
                fields = {"expected": "int", "format": check.format}
                payload.issues.append(RawIssue("invalid_type", value, fields, check.error, False))
                return
            if not js.is_safe_integer(value):
                common = {"note": _UNSAFE_NOTE, "origin": "int", "inclusive": True}
                if value > 0:
                    add(payload, check, "too_big", {"maximum": _SAFE, **common})
                else:
                    add(payload, check, "too_small", {"minimum": -_SAFE, **common})
                return
        if value < low:
            add(payload, check, "too_small", {"origin": "number", "minimum": low, "inclusive": True})
        if value > high:
            add(payload, check, "too_big", {"origin": "number", "maximum": high, "inclusive": True})

    return run_check


# --- lengths and sizes -----------------------------------------------------------------------------------------------


def length_of(value: Any) -> Any:
    """``value.length``, None where there is none."""
    if isinstance(value, str):
        return js.utf16_length(value)
    if isinstance(value, list):
        return len(value)
    if isinstance(value, dict):
        found = value.get("length", UNDEFINED)
        return None if found is UNDEFINED else found
    return None


def has_length(payload: Payload) -> bool:
    """The condition of the length checks."""
    return length_of(payload.value) is not None


def has_size(payload: Payload) -> bool:
    """The condition of the size checks."""
    return isinstance(payload.value, (SetValue, MapValue)) or (
        isinstance(payload.value, dict) and payload.value.get("size", UNDEFINED) is not UNDEFINED
    )


def _origin(value: Any) -> str:
    if isinstance(value, list):
        return "array"
    if isinstance(value, str):
        return "string"
    return _SIZE_ORIGIN.get(type(value), "unknown")


def _size(value: Any) -> Any:
    return len(value) if isinstance(value, (SetValue, MapValue)) else value.get("size")


def _at_most(check: Any, maximum: Any, measure: Callable[[Any], Any]) -> CheckRun:
    def run_check(payload: Payload, run: Run) -> None:
        if not _holds(measure(payload.value), maximum, True):
            fields = {"origin": _origin(payload.value), "maximum": maximum, "inclusive": True}
            add(payload, check, "too_big", fields)

    return run_check


def _at_least(check: Any, minimum: Any, measure: Callable[[Any], Any]) -> CheckRun:
    def run_check(payload: Payload, run: Run) -> None:
        if not _holds(minimum, measure(payload.value), True):
            fields = {"origin": _origin(payload.value), "minimum": minimum, "inclusive": True}
            add(payload, check, "too_small", fields)

    return run_check


def _exactly(check: Any, wanted: Any, measure: Callable[[Any], Any]) -> CheckRun:
    def run_check(payload: Payload, run: Run) -> None:
        found = measure(payload.value)
        if js.strict_equal(found, wanted):
            return
        common = {"origin": _origin(payload.value), "inclusive": True, "exact": True}
        if js.less_than(wanted, found, to_text):
            add(payload, check, "too_big", {"maximum": wanted, **common})
        else:
            add(payload, check, "too_small", {"minimum": wanted, **common})

    return run_check


# --- strings -------------------------------------------------------------------------------------------------------


def _string_format(check: n.StringFormat) -> CheckRun:
    if check.pattern is not None:
        return _pattern(check)
    if check.function is not None:
        return _format_function(check)
    if check.format == "url":
        return _url(check)
    accepts = formats.predicate(check.format, check.options)
    fields = {"format": check.format}
    if check.format not in _BY_CODE:
        fields = {"origin": "string", **fields}

    def run_check(payload: Payload, run: Run) -> None:
        run.charge(len(payload.value) >> 5)
        if not accepts(payload.value):
            add(payload, check, "invalid_format", dict(fields))

    return run_check


def _pattern(check: n.StringFormat) -> CheckRun:
    pattern = check.pattern
    fields = {"origin": "string", "format": check.format, "pattern": regex_text(pattern)}

    def run_check(payload: Payload, run: Run) -> None:
        if not pattern.test(payload.value, run.charge):
            add(payload, check, "invalid_format", dict(fields))

    return run_check


def _format_function(check: n.StringFormat) -> CheckRun:
    def run_check(payload: Payload, run: Run) -> None:
        if not truthy(check.function.call(run, [payload.value])):
            add(payload, check, "invalid_format", {"format": check.format})

    return run_check


def _url(check: n.StringFormat) -> CheckRun:
    options = check.options

    def run_check(payload: Payload, run: Run) -> None:
        run.charge(len(payload.value) >> 5)
        hostname, protocol = options.get("hostname"), options.get("protocol")
        value, notes = formats.check_url(payload.value, protocol, hostname, normalize=truthy(options.get("normalize")))
        for note in notes:
            fields: dict[str, Any] = {"format": "url"}
            if note is not None:
                fields["note"] = note
            add(payload, check, "invalid_format", fields)
        if notes != (None,) and notes != ("Invalid URL format",):
            payload.value = value

    return run_check


def _includes(check: n.Includes) -> CheckRun:
    def run_check(payload: Payload, run: Run) -> None:
        start = 0 if check.position is None else int(max(0, check.position))
        start = min(start, js.utf16_length(payload.value))
        if js.utf16_find(payload.value, check.text, start) < 0:
            fields = {"origin": "string", "format": "includes", "includes": check.text}
            add(payload, check, "invalid_format", fields)

    return run_check


def _starts_with(check: n.StartsWith) -> CheckRun:
    def run_check(payload: Payload, run: Run) -> None:
        if not payload.value.startswith(check.text):
            fields = {"origin": "string", "format": "starts_with", "prefix": check.text}
            add(payload, check, "invalid_format", fields)

    return run_check


def _ends_with(check: n.EndsWith) -> CheckRun:
    def run_check(payload: Payload, run: Run) -> None:
        if not payload.value.endswith(check.text):
            add(payload, check, "invalid_format", {"origin": "string", "format": "ends_with", "suffix": check.text})

    return run_check


def slugify(text: str) -> str:
    """Zod's ``slugify``: lower case, only word characters and single hyphens."""
    text = js.js_trim(text.lower())
    space = re.escape(js.JS_WHITE_SPACE)
    text = re.sub(rf"[^A-Za-z0-9_{space}-]", "", text)
    text = re.sub(rf"[{space}_-]+", "-", text)
    return text.strip("-")


OVERWRITES: dict[str, Callable[[str, Any], str]] = {
    "trim": lambda text, _argument: js.js_trim(text),
    "toLowerCase": lambda text, _argument: text.lower(),
    "toUpperCase": lambda text, _argument: text.upper(),
    "normalize": lambda text, argument: unicodedata.normalize(argument or "NFC", text),
    "slugify": lambda text, _argument: slugify(text),
}


def _overwrite(check: n.Overwrite) -> CheckRun:
    function = check.function
    if function is not None:

        def call(payload: Payload, run: Run) -> None:
            payload.value = function.call(run, [own_copy(run, function, payload.value)])
            run.unclean = True

        return call
    change = OVERWRITES[check.name]

    def run_check(payload: Payload, run: Run) -> None:
        if not isinstance(payload.value, str):
            raise type_error(f"{describe(payload.value)} has no method {check.name}()")
        run.charge(len(payload.value) >> 5)
        payload.value = change(payload.value, check.argument)

    return run_check


# --- author's checks -----------------------------------------------------------------------------------------------


def _refine(check: n.Refine) -> CheckRun:
    function = check.function

    def run_check(payload: Payload, run: Run) -> None:
        if mutates(function):
            payload.value = copy_data(run, payload.value)
        if truthy(function.call(run, [payload.value])):
            return
        if check.expected is not None:
            issue = RawIssue(
                "invalid_type", payload.value, {"expected": check.expected}, check.error, None, list(check.path)
            )
        else:
            fields = {} if check.params is None else {"params": check.params}
            issue = RawIssue("custom", payload.value, fields, check.error, not check.abort, list(check.path))
        payload.issues.append(issue)

    return run_check


def raw_from(issue: Any, value: Any, goes_on: bool | None) -> RawIssue:
    """The issue that author code gave: a text or an object with Zod's fields."""
    if isinstance(issue, str):
        return RawIssue("custom", value, {}, None, None, [], issue)
    if type(issue) is not dict:
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected a text or an object for addIssue, found {describe(issue)}")
    fields = {key: item for key, item in issue.items() if item is not UNDEFINED}
    code = fields.pop("code", "custom")
    path = fields.pop("path", [])
    message = fields.pop("message", None)
    given = fields.pop("continue", None)
    if truthy(fields.get("fatal", UNDEFINED)):
        given = False
    fields.pop("input", None)
    fields.pop("inst", None)
    goes = given if isinstance(given, bool) else goes_on
    listed = list(path) if isinstance(path, list) else []
    return RawIssue(str(code), value, fields, None, goes, listed, message if isinstance(message, str) else None)


def call_with_context(payload: Payload, run: Run, function: Any, goes_on: bool | None, *, first: Any) -> Any:
    """Call a function with the value (or only the context) and take over the issues it adds."""
    start = len(payload.issues)
    shown: list[Any] = []

    def add_issue(_run: Run, arguments: list[Any]) -> Any:
        issue = arg(arguments, 0)
        if run.restricted:
            check_issue(issue)
        run.charge(1)
        payload.issues.append(raw_from(issue, payload.value, goes_on))
        return UNDEFINED

    if start:
        shown.extend(finalize(run, issue) for issue in payload.issues)
    context = parse_context(payload.value, shown, Native("addIssue", add_issue))
    listed = len(shown)
    result = function.call(run, [context] if first is context_only else [first, context])
    pushed = context.members["issues"]
    if isinstance(pushed, list):
        payload.issues.extend(raw_from(issue, payload.value, None) for issue in pushed[listed:])
    if context.members["value"] is not payload.value:
        payload.value = context.members["value"]
        run.unclean = True
    return result


context_only = object()


def _super_refine(check: n.SuperRefine) -> CheckRun:
    function = check.function

    def run_check(payload: Payload, run: Run) -> None:
        value = payload.value
        if run.restricted:
            value = frozen_copy(run, value)
        elif mutates(function):
            value = payload.value = copy_data(run, value)
        call_with_context(payload, run, function, True, first=value)

    return run_check


def _check_function(check: n.CheckFunction) -> CheckRun:
    function = check.function

    def run_check(payload: Payload, run: Run) -> None:
        if mutates(function):
            payload.value = copy_data(run, payload.value)
        call_with_context(payload, run, function, None, first=context_only)

    return run_check


_MAKERS: dict[type, Callable[[Any], CheckRun]] = {
    n.LessThan: _less_than,
    n.GreaterThan: _greater_than,
    n.MultipleOf: _multiple_of,
    n.NumberFormat: _number_format,
    n.MinLength: lambda check: _at_least(check, check.minimum, length_of),
    n.MaxLength: lambda check: _at_most(check, check.maximum, length_of),
    n.ExactLength: lambda check: _exactly(check, check.length, length_of),
    n.MinSize: lambda check: _at_least(check, check.minimum, _size),
    n.MaxSize: lambda check: _at_most(check, check.maximum, _size),
    n.ExactSize: lambda check: _exactly(check, check.size, _size),
    n.StringFormat: _string_format,
    n.Includes: _includes,
    n.StartsWith: _starts_with,
    n.EndsWith: _ends_with,
    n.Overwrite: _overwrite,
    n.Refine: _refine,
    n.SuperRefine: _super_refine,
    n.CheckFunction: _check_function,
}
_CONDITIONS: dict[type, Callable[[Payload], bool]] = {
    **dict.fromkeys((n.MinLength, n.MaxLength, n.ExactLength), has_length),
    **dict.fromkeys((n.MinSize, n.MaxSize, n.ExactSize), has_size),
}


def compile_check(check: n.Check) -> CheckRun:
    """The parser of a check that needs no other schema."""
    return _MAKERS[type(check)](check)


def condition(check: n.Check) -> Callable[[Payload, Run], bool] | None:
    """When a check runs although an earlier one stopped, or None."""
    if check.when is not None:
        function = check.when

        def ask(payload: Payload, run: Run) -> bool:
            shown = [finalize(run, issue) for issue in payload.issues]
            return truthy(function.call(run, [parse_context(payload.value, shown, UNDEFINED)]))

        return ask
    test = _CONDITIONS.get(type(check))
    return None if test is None else (lambda payload, run: test(payload))
