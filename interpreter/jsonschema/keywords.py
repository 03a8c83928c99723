"""The checks of a schema as JSON Schema keywords, and the metadata as annotations."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from interpreter.declare import nodes as n
from interpreter.formats import PATTERNS
from interpreter.javascript import UNDEFINED, Number, is_number, js_number
from interpreter.jsonschema.presence import Direction

_FORMATS = {"guid": "uuid", "url": "uri", "datetime": "date-time", "json_string": "json-string"}
_INTEGERS = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}
_ANNOTATIONS = ("title", "description", "examples", "deprecated", "readOnly", "writeOnly", "$comment")
_DEPTH = 64


def json_value(value: Any, depth: int = 0) -> tuple[bool, Any]:
    """Whether a value of a declaration is JSON, and the value with its numbers settled."""
    if value is None or isinstance(value, (bool, str)):
        return True, value
    if is_number(value):
        return math.isfinite(value), js_number(value)
    if depth < _DEPTH and isinstance(value, list):
        items = [json_value(item, depth + 1) for item in value]
        return all(valid for valid, _ in items), [item for _, item in items]
    if depth < _DEPTH and isinstance(value, Mapping):
        members = {key: json_value(item, depth + 1) for key, item in value.items() if item is not UNDEFINED}
        return all(valid for valid, _ in members.values()), {key: item for key, (_, item) in members.items()}
    return False, None


def meta_annotations(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Of the metadata, what JSON Schema knows as annotation or leaves to its users (``x-…``); never a constraint."""
    found: dict[str, Any] = {}
    for key, item in meta.items():
        if key in _ANNOTATIONS or key.startswith("x-"):
            valid, value = json_value(item)
            if valid:
                found[key] = value
    return found


def rewrites(check: n.Check) -> bool:
    """Whether a check may replace the value."""
    return isinstance(check, n.Overwrite | n.CheckFunction)


def out_of_hand(node: n.Node) -> bool:
    """Whether an author's function among the checks may put any value in place of the checked one."""
    return any(
        isinstance(check, n.CheckFunction) or (isinstance(check, n.Overwrite) and check.function is not None)
        for check in node.checks
    )


def standing_checks(node: n.Node, io: Direction) -> list[n.Check]:
    """The checks that hold for the value given (before the first rewriting one) or put out (after the last one)."""
    checks = list(node.checks)
    places = [index for index, check in enumerate(checks) if rewrites(check)]
    if places:
        checks = checks[: places[0]] if io == "input" else checks[places[-1] + 1 :]
    return [check for check in checks if check.when is None]


def _whole(value: object) -> int | None:
    number = js_number(value) if is_number(value) else None
    return number if isinstance(number, int) else None


def lengths(checks: list[n.Check], least: str, most: str, *, units: bool) -> dict[str, Any]:
    """``minLength`` and ``maxLength``, or ``minItems`` and ``maxItems``.

    With ``units`` lengths are UTF-16 units: so many units are at least half as many characters.
    """
    low, high = 0, math.inf
    for check in checks:
        if isinstance(check, n.MinLength):
            low = max(low, _whole(check.minimum) or 0)
        elif isinstance(check, n.MaxLength):
            maximum = _whole(check.maximum)
            high = high if maximum is None else min(high, maximum)
        elif isinstance(check, n.ExactLength):
            exact = _whole(check.length)
            if exact is not None:
                low, high = max(low, exact), min(high, exact)
    found: dict[str, Any] = {}
    if low > 0:
        found[least] = (low + 1) // 2 if units else low
    if high >= 0 and high != math.inf:
        found[most] = int(high)
    return found


def numbers(checks: list[n.Check]) -> dict[str, Any]:
    """``type``, bounds and ``multipleOf`` of a number."""
    found: dict[str, Any] = {"type": "number"}
    for check in checks:
        if isinstance(check, n.NumberFormat):
            if check.format in ("safeint", "int32", "uint32"):
                found["type"] = "integer"
            if check.format in _INTEGERS:
                low, high = _INTEGERS[check.format]
                _raise(found, "minimum", low)
                _lower(found, "maximum", high)
        elif isinstance(check, n.GreaterThan) and _finite(check.value):
            _raise(found, "minimum" if check.inclusive else "exclusiveMinimum", js_number(check.value))
        elif isinstance(check, n.LessThan) and _finite(check.value):
            _lower(found, "maximum" if check.inclusive else "exclusiveMaximum", js_number(check.value))
        elif isinstance(check, n.MultipleOf):
            divisor = _whole(check.value)
            if divisor:  # a fraction divides with a tolerance that JSON Schema does not know
                found["multipleOf"] = abs(divisor)
    return found


def _finite(value: object) -> bool:
    return is_number(value) and math.isfinite(value)


def _raise(found: dict[str, Any], key: str, value: Number) -> None:
    found[key] = max(found.get(key, value), value)


def _lower(found: dict[str, Any], key: str, value: Number) -> None:
    found[key] = min(found.get(key, value), value)


def regex_source(pattern: Any) -> str | None:
    """The text of an author's regular expression, None where its flags change what JSON Schema would read in it."""
    source, flags = getattr(pattern, "source", None), getattr(pattern, "flags", "")
    return source if isinstance(source, str) and not set(flags) - {"g", "u"} else None


def strings(checks: list[n.Check]) -> dict[str, Any]:
    """``type``, lengths, ``format`` and patterns of a string."""
    found: dict[str, Any] = {"type": "string", **lengths(checks, "minLength", "maxLength", units=True)}
    patterns: list[str] = []
    for check in checks:
        if isinstance(check, n.StringFormat):
            pattern = _format(check, found)
        elif isinstance(check, n.StartsWith):
            pattern = "^" + escape(check.text)
        elif isinstance(check, n.EndsWith):
            pattern = escape(check.text) + "$"
        elif isinstance(check, n.Includes):
            pattern = None if check.position else escape(check.text)
        else:
            continue
        if pattern is not None:
            patterns.append(pattern)
    if len(patterns) == 1:
        found["pattern"] = patterns[0]
    elif patterns:
        found["allOf"] = [{"pattern": pattern} for pattern in patterns]
    return found


def _format(check: n.StringFormat, found: dict[str, Any]) -> str | None:
    """Set ``format`` where there is one; answer the pattern."""
    name = check.format
    if name not in ("regex", "time", "lowercase", "uppercase") and not check.options.get("local"):
        found["format"] = _FORMATS.get(name, name)
    if check.pattern is not None:
        return regex_source(check.pattern)
    if check.function is not None or name not in PATTERNS:
        return None
    return f"^{PATTERNS[name]}$" if name != "nanoid" else "^[A-Za-z0-9_-]{21}$"


def escape(text: str) -> str:
    """A text as a pattern of JavaScript that matches just this text."""
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", lambda found: "\\" + found.group(), text)
