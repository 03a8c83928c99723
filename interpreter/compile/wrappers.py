"""Exact parsers of unions, intersections, wrappers, pipes and transforms (spec/zod.md §9, rules 1-6, 21-27)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.compile.author import check_output, mutates, own_copy
from interpreter.compile.checks import call_with_context
from interpreter.compile.exact import ExactCompiler, Parse, call_default
from interpreter.compile.payload import Payload, RawIssue, finalize_all, invalid_type
from interpreter.declare import nodes as n
from interpreter.declare.options import build_error
from interpreter.declare.traits import discriminators, optional_in
from interpreter.evaluate.functions import FunctionValue
from interpreter.evaluate.values import HostObject, key_of
from interpreter.javascript import UNDEFINED


def _take(payload: Payload, other: Payload) -> None:
    """Become another payload."""
    payload.value, payload.issues = other.value, other.issues
    payload.aborted, payload.fallback = other.aborted, other.fallback


def _union(compiler: ExactCompiler, node: n.UnionNode) -> Parse:
    options = [compiler.compile(option) for option in node.options]
    if len(options) == 1:
        return options[0]

    def parse(payload: Payload, run: Run) -> None:
        results: list[Payload] = []
        for option in options:
            part = Payload(payload.value)
            option(part, run)
            if not part.issues and not node.exclusive:
                _take(payload, part)
                return
            results.append(part)
        if node.exclusive:
            _exclusive(payload, results, node, run)
            return
        going_on = [part for part in results if not part.stopped()]
        if len(going_on) == 1:
            _take(payload, going_on[0])
            return
        errors = [finalize_all(run, part.issues) for part in results]
        payload.issues.append(RawIssue("invalid_union", payload.value, {"errors": errors}, node.error))

    return parse


def _exclusive(payload: Payload, results: list[Payload], node: n.UnionNode, run: Run) -> None:
    good = [part for part in results if not part.issues]
    if len(good) == 1:
        payload.value = good[0].value
    elif not good:
        errors = [finalize_all(run, part.issues) for part in results]
        payload.issues.append(RawIssue("invalid_union", payload.value, {"errors": errors}, node.error))
    else:
        fields = {"errors": [], "inclusive": False}
        payload.issues.append(RawIssue("invalid_union", payload.value, fields, node.error))


def _discriminated(compiler: ExactCompiler, node: n.DiscriminatedUnionNode) -> Parse:
    key, error = node.discriminator, node.error
    by_value: dict[Any, Parse] = {}
    listed: list[Any] = []
    for index, option in enumerate(node.options):
        values = (discriminators(option) or {}).get(key)
        if not values:
            raise build_error(f'Invalid discriminated union option at index "{index}"')
        parse_option = compiler.compile(option)
        for value in values:
            if key_of(value) in by_value:
                raise build_error(f'Duplicate discriminator value "{js.to_text(value, str)}"')
            by_value[key_of(value)] = parse_option
            listed.append(value)
    union = _union(compiler, n.UnionNode(options=node.options, error=error)) if node.fallback else None

    def parse(payload: Payload, run: Run) -> None:
        source = payload.value
        if not isinstance(source, dict):
            invalid_type(payload, "object", error)
            return
        option = by_value.get(key_of(source.get(key, UNDEFINED)))
        if option is not None:
            option(payload, run)
        elif union is not None:
            union(payload, run)
        else:
            fields = {
                "errors": [],
                "note": "No matching discriminator",
                "discriminator": key,
                "options": list(listed),
            }
            payload.issues.append(RawIssue("invalid_union", source, fields, error, path=[key]))

    return parse


# --- intersection ------------------------------------------------------------------------------------------------


class _Unmergeable(Exception):
    def __init__(self, path: list[Any]) -> None:
        super().__init__(path)
        self.path = path


def merge_outputs(run: Run, a: Any, b: Any) -> Any:
    """Both outputs of an intersection as one; conflicting leaves raise."""
    run.charge(1)
    if js.strict_equal(a, b):
        return a
    if isinstance(a, dict) and isinstance(b, dict):
        merged = {**a, **b}
        for key in a:
            if key in b:
                merged[key] = _merge_part(run, a[key], b[key], key)
        return merged
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [_merge_part(run, left, right, index) for index, (left, right) in enumerate(zip(a, b, strict=True))]
    raise _Unmergeable([])


def _merge_part(run: Run, a: Any, b: Any, part: Any) -> Any:
    try:
        return merge_outputs(run, a, b)
    except _Unmergeable as error:
        raise _Unmergeable([part, *error.path]) from None


def _intersection(compiler: ExactCompiler, node: n.IntersectionNode) -> Parse:
    sides = (compiler.compile(node.left), compiler.compile(node.right))

    def parse(payload: Payload, run: Run) -> None:
        left, right = Payload(payload.value), Payload(payload.value)
        sides[0](left, run)
        sides[1](right, run)
        _combine_issues(payload, left, right)
        if payload.stopped():
            return
        try:
            payload.value = merge_outputs(run, left.value, right.value)
        except _Unmergeable as error:
            path = json.dumps(error.path, ensure_ascii=False, separators=(",", ":"))
            raise build_error(f"Unmergable intersection. Error path: {path}") from None

    return parse


def _combine_issues(payload: Payload, left: Payload, right: Payload) -> None:
    """Keys are unknown only where both sides say so."""
    known: dict[str, set[str]] = {}
    first: RawIssue | None = None
    for name, side in (("left", left), ("right", right)):
        for issue in side.issues:
            if issue.code != "unrecognized_keys":
                payload.issues.append(issue)
                continue
            if name == "left" and first is None:
                first = issue
            for key in issue.fields["keys"]:
                known.setdefault(key, set()).add(name)
    both = [key for key, sides in known.items() if len(sides) == 2]
    if both and first is not None:
        payload.issues.append(
            RawIssue(first.code, first.value, {**first.fields, "keys": both}, first.error, first.goes_on, first.path)
        )


# --- wrappers ----------------------------------------------------------------------------------------------------


def _optional(compiler: ExactCompiler, node: n.OptionalNode) -> Parse:
    inner = compiler.compile(node.inner)
    if node.exact:
        return inner
    if optional_in(node.inner):

        def parse_inner(payload: Payload, run: Run) -> None:
            absent = payload.value is UNDEFINED
            inner(payload, run)
            if absent and (payload.issues or payload.fallback):
                _take(payload, Payload(UNDEFINED))

        return parse_inner

    def parse(payload: Payload, run: Run) -> None:
        if payload.value is not UNDEFINED:
            inner(payload, run)

    return parse


def _nullable(compiler: ExactCompiler, node: n.NullableNode) -> Parse:
    inner = compiler.compile(node.inner)

    def parse(payload: Payload, run: Run) -> None:
        if payload.value is not None:
            inner(payload, run)

    return parse


def _default(compiler: ExactCompiler, node: n.DefaultNode) -> Parse:
    inner = compiler.compile(node.inner)

    def parse(payload: Payload, run: Run) -> None:
        if payload.value is UNDEFINED:
            payload.value = call_default(node, run)
            return
        inner(payload, run)
        if payload.value is UNDEFINED:
            payload.value = call_default(node, run)

    return parse


def _prefault(compiler: ExactCompiler, node: n.PrefaultNode) -> Parse:
    inner = compiler.compile(node.inner)

    def parse(payload: Payload, run: Run) -> None:
        if payload.value is UNDEFINED:
            payload.value = call_default(node, run)
        inner(payload, run)

    return parse


def _nonoptional(compiler: ExactCompiler, node: n.NonOptionalNode) -> Parse:
    inner = compiler.compile(node.inner)

    def parse(payload: Payload, run: Run) -> None:
        inner(payload, run)
        if not payload.issues and payload.value is UNDEFINED:
            invalid_type(payload, "nonoptional", node.error)

    return parse


def _success(compiler: ExactCompiler, node: n.SuccessNode) -> Parse:
    inner = compiler.compile(node.inner)

    def parse(payload: Payload, run: Run) -> None:
        inner(payload, run)
        payload.value = not payload.issues

    return parse


def _catch(compiler: ExactCompiler, node: n.CatchNode) -> Parse:
    inner = compiler.compile(node.inner)

    def parse(payload: Payload, run: Run) -> None:
        inner(payload, run)
        if not payload.issues:
            payload.issues, payload.leaked = payload.leaked, []
            return
        payload.value = catch_value(node, payload, run)
        payload.issues = []
        payload.fallback = True

    return parse


def catch_value(node: n.CatchNode, payload: Payload, run: Run) -> Any:
    """What ``catch`` puts in place of a value that failed."""
    if node.function is None:
        return node.value
    issues = finalize_all(run, payload.issues)
    context = HostObject(
        {"value": payload.value, "issues": issues, "error": {"issues": issues}, "input": payload.value}
    )
    value = node.function.call(run, [context])
    run.unclean = True
    return value


def _readonly(compiler: ExactCompiler, node: n.ReadonlyNode) -> Parse:
    return compiler.compile(node.inner)


# --- functions -----------------------------------------------------------------------------------------------------


def _takes_context(function: Any) -> bool:
    """Whether a function may use a second parameter; most have one only, which is called without a context."""
    if not isinstance(function, FunctionValue):
        return False
    code = function.code
    return code.parameters > 1 or any(parameter.type == "RestElement" for parameter in code.tree.params)


def _transform(_compiler: ExactCompiler, node: n.TransformNode) -> Parse:
    function = node.function
    with_context, copies = _takes_context(function), mutates(function)

    def parse(payload: Payload, run: Run) -> None:
        before = payload.value
        value = own_copy(run, function, before) if copies else before
        if with_context and not run.restricted:
            after = call_with_context(payload, run, function, None, first=value)
        else:
            after = function.call(run, [value])
        payload.value = check_output(run, before, after)
        payload.fallback = True

    return parse


def _pipe(compiler: ExactCompiler, node: n.PipeNode) -> Parse:
    left, right = compiler.compile(node.left), compiler.compile(node.right)

    def parse(payload: Payload, run: Run) -> None:
        left(payload, run)
        if payload.issues:
            payload.aborted = True
            return
        shared = payload.issues
        right(payload, run)
        if shared and payload.issues is not shared:
            payload.leaked = shared

    return parse


def _codec(compiler: ExactCompiler, node: n.CodecNode) -> Parse:
    left, right = compiler.compile(node.left), compiler.compile(node.right)
    function = node.decode

    def parse(payload: Payload, run: Run) -> None:
        left(payload, run)
        if payload.issues:
            payload.aborted = True
            return
        before = own_copy(run, function, payload.value)
        payload.value = check_output(run, before, call_with_context(payload, run, function, None, first=before))
        if payload.issues:
            payload.aborted = True
            return
        shared = payload.issues
        right(payload, run)
        if shared and payload.issues is not shared:
            payload.leaked = shared

    return parse


WRAPPERS: dict[type, Callable[[ExactCompiler, Any], Parse]] = {
    n.UnionNode: _union,
    n.DiscriminatedUnionNode: _discriminated,
    n.IntersectionNode: _intersection,
    n.OptionalNode: _optional,
    n.NullableNode: _nullable,
    n.DefaultNode: _default,
    n.PrefaultNode: _prefault,
    n.NonOptionalNode: _nonoptional,
    n.SuccessNode: _success,
    n.CatchNode: _catch,
    n.ReadonlyNode: _readonly,
    n.TransformNode: _transform,
    n.PipeNode: _pipe,
    n.CodecNode: _codec,
}
