"""Assignments as closures: variables, members, patterns, ``++`` and ``--``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.errors import EvaluationError
from interpreter.evaluate import operators
from interpreter.evaluate.code import Compiler
from interpreter.evaluate.functions import Evaluate
from interpreter.evaluate.operators import BINARY
from interpreter.evaluate.properties import get_member, set_member
from interpreter.evaluate.scope import FrameValue, Scope
from interpreter.evaluate.values import (
    type_error,
)
from interpreter.javascript import UNDEFINED, truthy
from interpreter.syntax.source import Tree


def member_key(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    """The closure of the key of a member expression."""
    if node.computed:
        return compiler.expression(node.property, scope)
    if node.property.type != "Identifier":
        return compiler.fault(node, "member", "expected object.name, found a private name", "object.name")
    name = node.property.name
    return lambda _frame: name


def compile_assignment(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    """``target = value`` and its compound forms."""
    target, operator = node.left, node.operator
    if target.type in ("ObjectPattern", "ArrayPattern"):
        bind = compiler.pattern(target, scope, declare=False)
        value = compiler.expression(node.right, scope)

        def destructure(frame: FrameValue) -> Any:
            result = value(frame)
            bind(frame, result)
            return result

        return destructure
    if compiler.restricted and not _rooted_inside(target, scope):
        return compiler.fault(
            node,
            "assignment",
            "expected an assignment to a parameter or local of the innermost function, found another target",
            "a new object: { ...it, field: value }",
        )
    read, write = reference(compiler, target, scope)
    value = compiler.expression(node.right, scope)
    if operator == "=":
        return lambda frame: write(frame, lambda _old: value(frame))
    if operator in ("&&=", "||=", "??="):
        return _logical_assignment(operator, read, write, value)
    operate = BINARY[operator[:-1]]
    return lambda frame: write(frame, lambda old: operate(frame[1], old(), value(frame)))


def _logical_assignment(operator: str, read: Evaluate, write: Any, value: Evaluate) -> Evaluate:
    def run(frame: FrameValue) -> Any:
        old = read(frame)
        if operator == "&&=":
            needed = truthy(old)
        elif operator == "||=":
            needed = not truthy(old)
        else:
            needed = old is None or old is UNDEFINED
        return write(frame, lambda _old: value(frame)) if needed else old

    return run


def _rooted_inside(target: Tree, scope: Scope) -> bool:
    while target.type == "MemberExpression":
        target = target.object
    if target.type != "Identifier":
        return False
    found = scope.find(target.name)
    return found is not None and found[1].frame.owner() is scope.frame.owner()


Write = Callable[[FrameValue, Callable[[Callable[[], Any]], Any]], Any]


def reference(compiler: Compiler, target: Tree, scope: Scope) -> tuple[Evaluate, Write]:
    """How to read and write an assignment target; ``write`` gets a function from the old value to the new one."""
    if target.type == "Identifier":
        return _variable_reference(compiler, target, scope)
    if target.type != "MemberExpression":
        fault = compiler.fault(target, target.type, "expected a variable or a member, found another assignment target")
        return fault, lambda frame, new: UNDEFINED
    inner = compiler.expression(target.object, scope)
    key = member_key(compiler, target, scope)

    def read(frame: FrameValue) -> Any:
        return get_member(frame[1], inner(frame), key(frame))

    def write(frame: FrameValue, new: Callable[[Callable[[], Any]], Any]) -> Any:
        owner, name = inner(frame), key(frame)
        value = new(lambda: get_member(frame[1], owner, name))
        set_member(frame[1], owner, name, value)
        return value

    return read, write


def _variable_reference(compiler: Compiler, target: Tree, scope: Scope) -> tuple[Evaluate, Write]:
    read = compiler.expression(target, scope)
    found = scope.find(target.name)
    name = target.name
    if found is None:
        compiler.fault(target, name, f"expected a variable of the declaration, found {name}")
        return read, lambda frame, new: UNDEFINED
    hops, binding = found
    slot, constant = binding.slot, binding.constant

    def write(frame: FrameValue, new: Callable[[Callable[[], Any]], Any]) -> Any:
        value = new(lambda: read(frame))
        if constant:
            raise type_error(f"Assignment to constant variable {name}")
        target_frame = frame
        for _ in range(hops):
            target_frame = target_frame[0]
        if target_frame[1] is not frame[1]:
            message = f"expected a variable of the function, found {name}, which outlives it"
            raise EvaluationError("MVU_SCHEMA_CODE", message)
        target_frame[slot] = value
        return value

    return read, write


def compile_update(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    """``++`` and ``--``."""
    _read, write = reference(compiler, node.argument, scope)
    step = 1 if node.operator == "++" else -1
    if node.prefix:
        return lambda frame: write(frame, lambda old: js.add_numbers(operators.to_number(old()), step))

    def postfix(frame: FrameValue) -> Any:
        before: list[Any] = []

        def new(old: Callable[[], Any]) -> Any:
            before.append(operators.to_number(old()))
            return js.add_numbers(before[0], step)

        write(frame, new)
        return before[0]

    return postfix
