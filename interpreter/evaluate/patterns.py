"""Destructuring: patterns as closures that bind a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreter.evaluate.code import Compiler
from interpreter.evaluate.operators import describe, iterate, property_key
from interpreter.evaluate.properties import get_member
from interpreter.evaluate.scope import FrameValue, Scope
from interpreter.evaluate.values import type_error
from interpreter.javascript import UNDEFINED
from interpreter.syntax.source import Tree

Bind = Callable[[FrameValue, Any], None]


def compile_pattern(compiler: Compiler, node: Tree, scope: Scope, *, declare: bool) -> Bind:
    """How to bind a value to a pattern."""
    compiler.cost += 1
    kind = node.type
    if kind == "Identifier" and declare:
        found = scope.find(node.name)
        assert found is not None
        slot = found[1].slot
        if found[0] == 0:

            def bind(frame: FrameValue, value: Any) -> None:
                frame[slot] = value

            return bind
    if kind in ("Identifier", "MemberExpression"):
        from interpreter.evaluate.assignments import reference

        _read, write = reference(compiler, node, scope)

        def assign(frame: FrameValue, value: Any) -> None:
            write(frame, lambda _old: value)

        return assign
    if kind == "AssignmentPattern":
        return _with_default(compiler, node, scope, declare)
    if kind == "ArrayPattern":
        return _array(compiler, node, scope, declare)
    if kind == "ObjectPattern":
        return _object(compiler, node, scope, declare)
    compiler.fault(node, kind, f"expected a name or a pattern, found {kind}")
    return lambda frame, value: None


def _with_default(compiler: Compiler, node: Tree, scope: Scope, declare: bool) -> Bind:
    inner = compile_pattern(compiler, node.left, scope, declare=declare)
    default = compiler.expression(node.right, scope)

    def bind(frame: FrameValue, value: Any) -> None:
        inner(frame, default(frame) if value is UNDEFINED else value)

    return bind


def _array(compiler: Compiler, node: Tree, scope: Scope, declare: bool) -> Bind:
    parts: list[tuple[int, bool, Bind]] = []
    for index, element in enumerate(node.elements):
        if element is None:
            continue
        rest = element.type == "RestElement"
        target = element.argument if rest else element
        parts.append((index, rest, compile_pattern(compiler, target, scope, declare=declare)))

    def bind(frame: FrameValue, value: Any) -> None:
        items = iterate(frame[1], value)
        for index, rest, inner in parts:
            if rest:
                inner(frame, items[index:])
            else:
                inner(frame, items[index] if index < len(items) else UNDEFINED)

    return bind


def _object(compiler: Compiler, node: Tree, scope: Scope, declare: bool) -> Bind:
    from interpreter.evaluate.expressions import spread_into

    parts: list[tuple[Any, Bind]] = []
    rest: Bind | None = None
    for item in node.properties:
        if item.type == "RestElement":
            rest = compile_pattern(compiler, item.argument, scope, declare=declare)
            continue
        key: Any
        if item.computed:
            key = compiler.expression(item.key, scope)
        else:
            key = item.key.name if item.key.type == "Identifier" else item.key.value
        parts.append((key, compile_pattern(compiler, item.value, scope, declare=declare)))

    def bind(frame: FrameValue, value: Any) -> None:
        if value is None or value is UNDEFINED:
            raise type_error(f"Cannot destructure {describe(value)}")
        taken = []
        for key, inner in parts:
            name = property_key(frame[1], key(frame) if callable(key) else key)
            taken.append(name)
            inner(frame, get_member(frame[1], value, name))
        if rest is not None:
            left: dict[str, Any] = {}
            spread_into(frame[1], left, value)
            for name in taken:
                left.pop(name, None)
            rest(frame, left)

    return bind
