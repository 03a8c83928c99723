"""Calls as closures: author functions, methods, built-ins, constructors."""

from __future__ import annotations

from typing import Any

from interpreter.errors import EvaluationError, InterpreterError
from interpreter.evaluate.code import Compiler
from interpreter.evaluate.functions import Evaluate
from interpreter.evaluate.operators import call_function, describe, iterate, type_of
from interpreter.evaluate.properties import call_member, get_member
from interpreter.evaluate.scope import FrameValue, Scope
from interpreter.evaluate.values import Namespace, Native, Thrown, type_error
from interpreter.javascript import UNDEFINED
from interpreter.syntax.restricted import UNSAFE_KEYS, is_own_property_test
from interpreter.syntax.source import Tree, position


def _arguments(compiler: Compiler, nodes: list[Tree], scope: Scope) -> Evaluate:
    """The closure of an argument list."""
    parts = [
        (
            node.type == "SpreadElement",
            compiler.expression(node.argument if node.type == "SpreadElement" else node, scope),
        )
        for node in nodes
    ]
    if not any(spread for spread, _ in parts):
        items = [item for _, item in parts]
        if len(items) == 1:
            only = items[0]
            return lambda frame: [only(frame)]
        return lambda frame: [item(frame) for item in items]

    def run(frame: FrameValue) -> Any:
        made: list[Any] = []
        for spread, item in parts:
            if spread:
                made.extend(iterate(frame[1], item(frame)))
            else:
                made.append(item(frame))
        return made

    return run


def located(error: Thrown | InterpreterError, node: Tree) -> None:
    """Note where an exception came from, at the innermost call."""
    if getattr(error, "place", None) is None:
        error.place = position(node)  # type: ignore[union-attr]


def compile_call(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    """A call expression."""
    callee = node.callee
    if callee.type == "MemberExpression":
        if is_own_property_test(callee) and scope.find("Object") is None:
            return _own_property_test(compiler, node, scope)
        return _method(compiler, node, scope)
    from interpreter.evaluate.expressions import SHORT, in_chain

    if callee.type in ("Super", "Import"):
        return compiler.fault(node, callee.type, "expected a plain call, found super() or import()")
    function = compiler.expression(callee, scope)
    arguments = _arguments(compiler, node.arguments, scope)
    optional = bool(getattr(node, "optional", False))
    if optional or in_chain(callee):

        def chained(frame: FrameValue) -> Any:
            target = function(frame)
            if target is SHORT or (optional and (target is None or target is UNDEFINED)):
                return SHORT
            return call_function(frame[1], target, arguments(frame))

        return chained

    def run(frame: FrameValue) -> Any:
        target = function(frame)
        try:
            return target.call(frame[1], arguments(frame))
        except AttributeError:
            if hasattr(target, "call"):
                raise
            error = type_error(f"{describe(target)} is not a function")
            located(error, node)
            raise error from None
        except (Thrown, InterpreterError) as error:
            located(error, node)
            raise

    return run


def _method(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    from interpreter.evaluate.assignments import member_key
    from interpreter.evaluate.expressions import SHORT, in_chain, static_member

    callee = node.callee
    known = static_member(compiler, callee, scope)
    arguments = _arguments(compiler, node.arguments, scope)
    if known is not None:
        return _static_call(known, arguments, node)
    inner = compiler.expression(callee.object, scope)
    optional = bool(getattr(callee, "optional", False))
    optional_call = bool(getattr(node, "optional", False))
    if callee.computed:
        key = compiler.expression(callee.property, scope)
    else:
        key = member_key(compiler, callee, scope)
    if optional or optional_call or in_chain(callee.object):

        def chained(frame: FrameValue) -> Any:
            target = inner(frame)
            if target is SHORT or (optional and (target is None or target is UNDEFINED)):
                return SHORT
            name = _name(frame, key(frame))
            if optional_call:
                member = get_member(frame[1], target, name)
                if member is None or member is UNDEFINED:
                    return SHORT
            return call_member(frame[1], target, name, arguments(frame))

        return chained
    if callee.computed:
        return lambda frame: _call_computed(frame, inner(frame), key(frame), arguments, node)
    name = callee.property.name

    def run(frame: FrameValue) -> Any:
        target = inner(frame)
        values = arguments(frame)
        try:
            return call_member(frame[1], target, name, values)
        except (Thrown, InterpreterError) as error:
            located(error, node)
            raise

    return run


def _static_call(known: Evaluate, arguments: Evaluate, node: Tree) -> Evaluate:
    function = known([])

    def run(frame: FrameValue) -> Any:
        values = arguments(frame)
        try:
            return call_function(frame[1], function, values)
        except (Thrown, InterpreterError) as error:
            located(error, node)
            raise

    return run


def _name(frame: FrameValue, key: Any) -> str:
    from interpreter.evaluate.operators import property_key

    return key if type(key) is str else property_key(frame[1], key)


def _call_computed(frame: FrameValue, target: Any, key: Any, arguments: Evaluate, node: Tree) -> Any:
    try:
        if type(target) is list:
            item = get_member(frame[1], target, key)
            if hasattr(item, "call"):
                return item.call(frame[1], arguments(frame))
        return call_member(frame[1], target, _name(frame, key), arguments(frame))
    except (Thrown, InterpreterError) as error:
        located(error, node)
        raise


def _own_property_test(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    """The exact chain ``Object.prototype.hasOwnProperty.call(data, key)`` (spec/mvu.md §5.2)."""
    if len(node.arguments) != 2:
        return compiler.fault(node, "hasOwnProperty", "expected two arguments (data, key), found another number")
    arguments = _arguments(compiler, node.arguments, scope)

    def run(frame: FrameValue) -> Any:
        data, key = arguments(frame)
        name = _name(frame, key)
        if name in UNSAFE_KEYS and frame[1].restricted:
            raise EvaluationError("MVU_PATH", f"expected a safe key, found {name}")
        if type(data) is dict:
            return name in data
        if type(data) is list:
            return name == "length" or (name.isdigit() and int(name) < len(data))
        if isinstance(data, str):
            return name == "length" or (name.isdigit() and int(name) < len(data))
        if data is None or data is UNDEFINED:
            raise type_error("Cannot convert undefined or null to object")
        if isinstance(data, (bool, int, float)):
            return False
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected data, found {describe(data)} (hasOwnProperty)")

    return run


def compile_new(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    """``new Set(…)``, ``new Map(…)``, ``new Date(…)``, ``new Error(…)``, ``new RegExp(…)``, ``new Array(…)``."""
    from interpreter.evaluate.expressions import static_value

    value = static_value(compiler, node.callee, scope)
    if value is None and node.callee.type == "Identifier" and scope.find(node.callee.name) is None:
        compiler.expression(node.callee, scope)
        return lambda _frame: UNDEFINED
    function = compiler.expression(node.callee, scope)
    arguments = _arguments(compiler, node.arguments, scope)

    def run(frame: FrameValue) -> Any:
        target = function(frame)
        if not isinstance(target, Native) or target.constructor is None:
            kind = target.name if isinstance(target, (Native, Namespace)) else type_of(target)
            error = type_error(f"{kind} is not a constructor")
            located(error, node)
            raise error
        try:
            return target.constructor(frame[1], arguments(frame))
        except (Thrown, InterpreterError) as error:
            located(error, node)
            raise

    return run
