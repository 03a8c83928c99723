"""``z.templateLiteral``: the pattern that a list of texts and schemas makes (spec/zod.md §4.1)."""

from __future__ import annotations

import re
from typing import Any

from interpreter import formats
from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.declare import nodes as n
from interpreter.declare.options import build_error
from interpreter.evaluate.operators import describe
from interpreter.javascript import UNDEFINED

_LONGEST = 1_000
_SIGN = re.compile(r"[.*+?^${}()|[\]\\/]")
_NUMBER, _INTEGER = r"-?\d+(?:\.\d+)?", r"-?\d+"
# Patterns of the formats that are likely inside a template; the other ones are those of interpreter.formats.
_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_FORMATS = {
    "date": _DATE,
    "time": _CLOCK,
    "datetime": f"{_DATE}T{_CLOCK}Z",
    "email": r"[A-Za-z0-9_'+\-.]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}",
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}",
    "ipv4": rf"(?:{_BYTE}\.){{3}}{_BYTE}",
}


def escape(text: str) -> str:
    """A text as a pattern that matches it."""
    return _SIGN.sub(lambda found: "\\" + found.group(), text)


def template_node(run: Run, parts: Any, error: Any) -> n.TemplateNode:
    """The schema of a template."""
    if not isinstance(parts, list):
        raise build_error(f"expected a list for z.templateLiteral, found {describe(parts)}")
    run.charge(len(parts))
    source = "".join(_strip(part) if isinstance(part, n.Node) else escape(_constant(part)) for part in parts)
    return n.TemplateNode(parts=tuple(parts), source=f"^{source}$", error=error)


def _constant(part: Any) -> str:
    if part is None or part is UNDEFINED or isinstance(part, (bool, int, float, str)):
        return js.to_text(part)
    raise build_error(f"Invalid template literal part: {describe(part)}")


def _strip(node: n.Node) -> str:
    source = pattern_source(node)
    if source is None:
        raise build_error(f"Invalid template literal part, no pattern found: {describe(node)}")
    return source.removeprefix("^").removesuffix("$")


def _clean(source: str) -> str:
    return source.removeprefix("^").removesuffix("$")


def pattern_source(node: n.Node, depth: int = 0) -> str | None:
    """The pattern of the texts that a schema accepts, anchored, or None."""
    if depth > 32:
        return None
    if isinstance(node, n.StringNode):
        return _string_source(node)
    if isinstance(node, n.NumberNode):
        whole = any(isinstance(check, n.NumberFormat) and "int" in check.format for check in node.checks)
        return f"^{_INTEGER if whole else _NUMBER}$"
    if isinstance(node, n.BooleanNode):
        return "^(?:true|false)$"
    if isinstance(node, n.SimpleNode):
        return {"null": "^null$", "undefined": "^undefined$", "bigint": r"^-?\d+n?$"}.get(node.kind)
    if isinstance(node, n.EnumNode):
        from interpreter.declare.constructors import enum_values

        return f"^({'|'.join(escape(js.to_text(value)) for value in enum_values(node.entries))})$"
    if isinstance(node, n.LiteralNode):
        return f"^({'|'.join(escape(js.to_text(value)) for value in node.values)})$"
    if isinstance(node, n.TemplateNode):
        return node.source
    return _wrapped_source(node, depth)


def _wrapped_source(node: n.Node, depth: int) -> str | None:
    if isinstance(node, n.OptionalNode):
        inner = pattern_source(node.inner, depth + 1)
        return inner if inner is None or node.exact else f"^({_clean(inner)})?$"
    if isinstance(node, n.NullableNode):
        inner = pattern_source(node.inner, depth + 1)
        return None if inner is None else f"^({_clean(inner)}|null)$"
    if isinstance(node, n.UnionNode):
        found = [pattern_source(option, depth + 1) for option in node.options]
        return None if None in found else f"^({'|'.join(_clean(item) for item in found if item is not None)})$"
    if isinstance(node, n.LazyNode):
        return pattern_source(node.resolve(), depth + 1)
    return None


def _bound(value: Any) -> int:
    if not js.is_integer(value) or not 0 <= value <= _LONGEST:
        raise build_error(f"expected a whole number up to {_LONGEST} as a length, found {describe(value)}")
    return int(value)


def _string_source(node: n.StringNode) -> str:
    low, high = 0, ""
    pattern: str | None = None
    for check in node.checks:
        if isinstance(check, n.MinLength):
            low = max(low, _bound(check.minimum))
        elif isinstance(check, n.MaxLength):
            most = _bound(check.maximum)
            high = str(most) if high == "" else str(min(int(high), most))
        elif isinstance(check, n.ExactLength):
            low, high = _bound(check.length), str(_bound(check.length))
        else:
            pattern = _check_source(check) or pattern
    if pattern is not None:
        return pattern
    return f"^[\\s\\S]{{{low},{high}}}$"


def _check_source(check: n.Check) -> str | None:
    if isinstance(check, n.StartsWith):
        return f"^{escape(check.text)}.*"
    if isinstance(check, n.EndsWith):
        return f".*{escape(check.text)}$"
    if isinstance(check, n.Includes):
        return escape(check.text)
    if isinstance(check, n.StringFormat):
        if check.pattern is not None:
            return str(getattr(check.pattern, "source", ""))
        known = _FORMATS.get(check.format) or formats.PATTERNS.get(check.format)
        return None if known is None else f"^{known}$"
    return None
