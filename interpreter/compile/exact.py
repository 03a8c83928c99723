"""The exact parser: closures over the schema graph with precisely Zod's outcome and issues (spec/zod.md §9).

Every node becomes ``parse(payload, run)``, which changes the payload. One step is charged for each node that is parsed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter import limits
from interpreter.budget import Run
from interpreter.compile.author import own_copy
from interpreter.compile.checks import CheckRun, compile_check, condition
from interpreter.compile.payload import Payload, invalid_type, prefix
from interpreter.compile.text import number_text_to_number, string_of
from interpreter.declare import nodes as n
from interpreter.errors import BudgetExceeded
from interpreter.evaluate.builtins.numbers import parse_date
from interpreter.evaluate.values import DateValue
from interpreter.javascript import UNDEFINED, truthy

Parse = Callable[[Payload, Run], None]
_DEEP = 150


class ExactCompiler:
    """Compiles each node once; recursive schemas meet themselves through a cell.

    With ``attempts``, containers are tried by the generated parser first (see :func:`attempting`).
    """

    def __init__(self, *, attempts: bool = False) -> None:
        self.attempts = attempts
        self.done: dict[int, Parse] = {}
        self.kept: list[n.Node] = []

    def compile(self, node: n.Node) -> Parse:
        """The parser of a node with its checks."""
        known = self.done.get(id(node))
        if known is not None:
            return known
        self.kept.append(node)
        if isinstance(node, n.LazyNode):
            return self._lazy(node)
        from interpreter.compile.containers import CONTAINERS
        from interpreter.compile.wrappers import WRAPPERS

        maker = SCALARS.get(type(node)) or CONTAINERS.get(type(node)) or WRAPPERS[type(node)]
        parse = with_checks(self, node, maker(self, node))
        if self.attempts and holds_containers(node):
            parse = attempting(node, parse)
        self.done[id(node)] = parse
        return parse

    def _lazy(self, node: n.LazyNode) -> Parse:
        cell: list[Parse] = []

        def parse(payload: Payload, run: Run) -> None:
            run.depth += 1
            try:
                if run.depth > limits.SCHEMA_DEPTH.default:
                    maximum = limits.SCHEMA_DEPTH.default
                    raise BudgetExceeded(limits.SCHEMA_DEPTH.name, maximum, limits.SCHEMA_DEPTH.unit)
                cell[0](payload, run)
            finally:
                run.depth -= 1

        checked = with_checks(self, node, parse)
        self.done[id(node)] = checked
        cell.append(self.compile(node.resolve()))
        return checked


def holds_containers(node: n.Node) -> bool:
    """Whether a node can answer an object or array of its own making."""
    if isinstance(node, n.ObjectNode | n.RecordNode | n.ArrayNode):
        return True
    if isinstance(node, n.WrapperNode):
        return holds_containers(node.inner)
    if isinstance(node, n.PipeNode):
        return holds_containers(node.left) or holds_containers(node.right)
    return False


def attempting(node: n.Node, parse: Parse) -> Parse:
    """Let the generated parser do a container that is right, so that only the way to what is wrong is slow.

    ``run.quick`` gives the generated parser of a node, once there is one; it charges the same steps.
    """

    def attempt(payload: Payload, run: Run) -> None:
        quick = run.quick
        if quick is None or type(payload.value) not in (dict, list):
            parse(payload, run)
            return
        steps, unclean = run.steps, run.unclean
        try:
            payload.value = quick.parser(node)(payload.value, run, None)
        except quick.failures:
            run.steps, run.unclean = steps, unclean
            parse(payload, run)

    return attempt


def with_checks(compiler: ExactCompiler, node: n.Node, parse: Parse) -> Parse:
    """The node's own parser followed by its chain of checks (Zod's ``runChecks``)."""
    if not node.checks:

        def counted(payload: Payload, run: Run) -> None:
            run.steps += 1
            if run.steps > run.limit:
                run.exhausted()
            parse(payload, run)

        return counted
    checks = [(condition(check), _check(compiler, check)) for check in node.checks]
    cost = 1 + len(checks)

    def checked(payload: Payload, run: Run) -> None:
        run.charge(cost)
        parse(payload, run)
        stopped = bool(payload.issues or payload.aborted) and payload.stopped()
        for when, check in checks:
            if when is not None:
                if payload.stopped_explicitly() or not when(payload, run):
                    continue
            elif stopped:
                continue
            before = len(payload.issues)
            check(payload, run)
            if len(payload.issues) != before and not stopped:
                stopped = payload.stopped(before)

    return checked


def _check(compiler: ExactCompiler, check: n.Check) -> CheckRun:
    if isinstance(check, n.PropertyCheck):
        inner = compiler.compile(check.schema)
        name = check.property

        def run_check(payload: Payload, run: Run) -> None:
            value = payload.value.get(name, UNDEFINED) if isinstance(payload.value, dict) else UNDEFINED
            part = Payload(value)
            inner(part, run)
            payload.issues.extend(prefix(part.issues, name))

        return run_check
    return compile_check(check)


# --- scalars -----------------------------------------------------------------------------------------------------


def refused(run: Run, value: Any) -> bool:
    """Whether coercion is refused: objects never become numbers or texts, version 1 refuses arrays too."""
    return isinstance(value, dict) or (isinstance(value, list) and run.version == 1)


def _string(_compiler: ExactCompiler, node: n.StringNode) -> Parse:
    error, coerce = node.error, node.coerce

    def parse(payload: Payload, run: Run) -> None:
        if isinstance(payload.value, str):
            return
        if coerce and not refused(run, payload.value):
            payload.value = string_of(payload.value)
            return
        invalid_type(payload, "string", error)

    return parse


def _number(_compiler: ExactCompiler, node: n.NumberNode) -> Parse:
    error, coerce = node.error, node.coerce

    def parse(payload: Payload, run: Run) -> None:
        value = payload.value
        kind = type(value)
        if kind is int:
            return
        if coerce and kind is not float and not refused(run, value):
            value = payload.value = number_text_to_number(run, value)
            kind = type(value)
        if kind is int or (kind is float and math.isfinite(value)):
            return
        extra = {}
        if kind is float:
            extra["received"] = "NaN" if value != value else "Infinity"
        invalid_type(payload, "number", error, **extra)

    return parse


def _boolean(_compiler: ExactCompiler, node: n.BooleanNode) -> Parse:
    error, coerce = node.error, node.coerce

    def parse(payload: Payload, run: Run) -> None:
        if isinstance(payload.value, bool):
            return
        if coerce:
            payload.value = truthy(payload.value)
            return
        invalid_type(payload, "boolean", error)

    return parse


def _accept(value: Any) -> bool:
    return True


_TESTS: dict[str, Callable[[Any], bool]] = {
    "any": _accept,
    "unknown": _accept,
    "never": lambda value: False,
    "null": lambda value: value is None,
    "undefined": lambda value: value is UNDEFINED,
    "void": lambda value: value is UNDEFINED,
    "nan": lambda value: isinstance(value, float) and math.isnan(value),
    "date": lambda value: isinstance(value, DateValue) and not math.isnan(value.milliseconds),
    "bigint": lambda value: isinstance(value, BigInt),
    "symbol": lambda value: False,
    "file": lambda value: False,
    "function": lambda value: hasattr(value, "call"),
}


class BigInt(int):
    """A bigint that ``z.coerce.bigint()`` made; it is no JSON."""

    js_class = "bigint"


def _to_bigint(value: Any) -> Any:
    """``BigInt(value)``; the value itself where that throws."""
    if isinstance(value, bool):
        return BigInt(value)
    if isinstance(value, int):
        return BigInt(value)
    if isinstance(value, float) and value.is_integer():
        return BigInt(int(value))
    if isinstance(value, str):
        text = js.js_trim(value)
        try:
            if text == "":
                return BigInt(0)
            if text[:2].lower() in ("0x", "0o", "0b"):
                return BigInt(int(text, 0))
            if text.lstrip("+-").isascii() and text.lstrip("+-").isdigit() and len(text) < 4000:
                return BigInt(int(text))
        except ValueError:
            return value
    return value


def _to_date(value: Any) -> Any:
    if isinstance(value, DateValue):
        return value
    if isinstance(value, bool) or value is None:
        return DateValue(float(value or 0))
    if isinstance(value, (int, float)):
        return DateValue(float(value))
    return DateValue(parse_date(value)) if isinstance(value, str) else DateValue(math.nan)


def _simple(_compiler: ExactCompiler, node: n.SimpleNode) -> Parse:
    kind, error, test, coerce = node.kind, node.error, _TESTS[node.kind], node.coerce
    if test is _accept:
        return lambda payload, run: None

    def parse(payload: Payload, run: Run) -> None:
        if coerce:
            payload.value = _to_bigint(payload.value) if kind == "bigint" else _to_date(payload.value)
        if test(payload.value):
            run.unclean = run.unclean or kind not in ("null",)
            return
        extra = {"received": "Invalid Date"} if isinstance(payload.value, DateValue) else {}
        invalid_type(payload, kind, error, **extra)

    return parse


def _custom(_compiler: ExactCompiler, _node: n.CustomNode) -> Parse:
    return lambda payload, run: None


def _enum(_compiler: ExactCompiler, node: n.EnumNode) -> Parse:
    from interpreter.declare.constructors import enum_values

    return choices(enum_values(node.entries), node.error)


def _literal(_compiler: ExactCompiler, node: n.LiteralNode) -> Parse:
    return choices(list(node.values), node.error)


def choices(values: list[Any], error: Any) -> Parse:
    """A parser that accepts the listed values (SameValueZero)."""
    from interpreter.compile.payload import RawIssue
    from interpreter.evaluate.values import key_of

    accepted = {key_of(value) for value in values}

    def parse(payload: Payload, run: Run) -> None:
        if key_of(payload.value) not in accepted:
            payload.issues.append(RawIssue("invalid_value", payload.value, {"values": list(values)}, error))

    return parse


def _template(_compiler: ExactCompiler, node: n.TemplateNode) -> Parse:
    from interpreter.compile.payload import RawIssue
    from interpreter.regex import compile_regex

    regex, error = compile_regex(node.source), node.error

    def parse(payload: Payload, run: Run) -> None:
        if not isinstance(payload.value, str):
            invalid_type(payload, "string", error)
        elif not regex.test(payload.value, run.charge):
            fields = {"format": "template_literal", "pattern": node.source}
            payload.issues.append(RawIssue("invalid_format", payload.value, fields, error))

    return parse


def _stringbool(_compiler: ExactCompiler, node: n.StringBoolNode) -> Parse:
    from interpreter.compile.payload import RawIssue

    truths, falsities = set(node.truthy), set(node.falsy)
    listed = [*node.truthy, *node.falsy]

    def parse(payload: Payload, run: Run) -> None:
        value = payload.value
        if not isinstance(value, str):
            invalid_type(payload, "string", node.error)
            payload.aborted = True
            return
        folded = value if node.sensitive else value.lower()
        if folded in truths or folded in falsities:
            payload.value = folded in truths
            return
        fields = {"expected": "stringbool", "values": list(listed)}
        payload.issues.append(RawIssue("invalid_value", value, fields, node.error, False))
        payload.aborted = True

    return parse


def call_default(node: Any, run: Run) -> Any:
    """The value of a ``default`` or ``prefault``."""
    if node.function is None:
        return node.value
    value = node.function.call(run, [])
    run.unclean = True
    return value


def copied(run: Run, function: Any, value: Any) -> Any:
    """The value that an author function gets."""
    return own_copy(run, function, value)


SCALARS: dict[type, Callable[[ExactCompiler, Any], Parse]] = {
    n.StringNode: _string,
    n.NumberNode: _number,
    n.BooleanNode: _boolean,
    n.SimpleNode: _simple,
    n.CustomNode: _custom,
    n.EnumNode: _enum,
    n.LiteralNode: _literal,
    n.TemplateNode: _template,
    n.StringBoolNode: _stringbool,
}
