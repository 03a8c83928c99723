"""From a syntax tree to closures: the compiler's core (design §6).

Every expression becomes a function ``frame -> value``, every statement ``frame -> None | (value,) | Jump``. No tree is
walked when a value is parsed. Work is charged per function body and per loop turn, by the count of its nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreter.errors import Fault
from interpreter.evaluate.functions import Evaluate, FunctionCode, FunctionValue
from interpreter.evaluate.scope import FIRST_SLOT, UNSET, Frame, FrameValue, Scope
from interpreter.evaluate.values import ErrorValue, Thrown
from interpreter.javascript import UNDEFINED
from interpreter.syntax.program import FUNCTIONS, MUTATORS, pattern_names
from interpreter.syntax.source import Tree, children, fault_at, walk


class Jump:
    """The outcome of ``break`` and ``continue``; a label names its loop."""

    __slots__ = ("label", "stops")

    def __init__(self, stops: bool, label: str | None) -> None:
        self.stops = stops
        self.label = label


def _nothing(_frame: FrameValue) -> Any:
    return UNDEFINED


class Compiler:
    """Compiles one program; faults are collected, not raised, so that all of them can be reported."""

    def __init__(self, globals_: dict[str, Any], *, version: int, profile: str) -> None:
        self.globals = globals_
        self.version = version
        self.restricted = version < 3
        self.profile = profile
        self.faults: list[Fault] = []
        self.cost = 0
        self.functions: list[FunctionCode] = []
        self.current: list[FunctionCode] = []
        self.units: bytes = b""

    def fault(self, node: Tree, construct: str, message: str, nearest: str | None = None) -> Evaluate:
        """Note a fault; the code that stands for it is never run."""
        self.faults.append(fault_at(node, construct, message, nearest))
        return _nothing

    # --- dispatch --------------------------------------------------------------------------------------------------

    def expression(self, node: Tree, scope: Scope) -> Evaluate:
        """The closure of an expression."""
        from interpreter.evaluate.expressions import EXPRESSIONS

        self.cost += 1
        compile_ = EXPRESSIONS.get(node.type)
        if compile_ is None:
            return self.fault(
                node, node.type, f"expected a supported expression, found {node.type}", NEAREST.get(node.type)
            )
        return compile_(self, node, scope)

    def statement(self, node: Tree, scope: Scope) -> Evaluate:
        """The closure of a statement."""
        from interpreter.evaluate.statements import STATEMENTS

        self.cost += 1
        compile_ = STATEMENTS.get(node.type)
        if compile_ is None:
            return self.fault(
                node, node.type, f"expected a supported statement, found {node.type}", NEAREST.get(node.type)
            )
        return compile_(self, node, scope)

    def block(self, body: list[Tree], scope: Scope) -> Evaluate:
        """The closure of a list of statements in a scope that is already made."""
        self.declare_all(body, scope)
        hoisted = []
        for node in body:
            node = exported(node)
            if node.type == "FunctionDeclaration":
                make = self.function(node, scope)
                _hops, binding = scope.find(node.id.name) or (0, None)
                if binding is not None:
                    hoisted.append((binding.slot, make))
        steps = [self.statement(node, scope) for node in body if exported(node).type != "FunctionDeclaration"]
        if len(steps) == 1 and not hoisted:
            return steps[0]
        run_all = tuple(steps)
        functions = tuple(hoisted)

        def run(frame: FrameValue) -> Any:
            for slot, make in functions:
                frame[slot] = make(frame)
            for step in run_all:
                outcome = step(frame)
                if outcome is not None:
                    return outcome
            return None

        return run

    def declare_all(self, body: list[Tree], scope: Scope) -> None:
        """Declare the names of ``let``, ``const`` and functions of a block."""
        for node in body:
            node = exported(node)
            if node.type == "VariableDeclaration" and node.kind != "var":
                for declarator in node.declarations:
                    for name in pattern_names(declarator.id):
                        if name in scope.names:
                            self.fault(declarator, name, f"expected each name once, found {name} again")
                        scope.declare(name, constant=node.kind == "const")
            elif node.type == "FunctionDeclaration" and node.id is not None:
                scope.declare(node.id.name, constant=False)

    def declare_vars(self, body: list[Tree], scope: Scope) -> None:
        """Declare the names of ``var`` anywhere inside a function."""
        stack = list(body)
        while stack:
            node = stack.pop()
            if node.type in FUNCTIONS:
                continue
            if node.type == "VariableDeclaration" and node.kind == "var":
                for declarator in node.declarations:
                    for name in pattern_names(declarator.id):
                        if name not in scope.names:
                            scope.frame.var_slots.append(scope.declare(name, constant=False).slot)
            stack.extend(children(node))

    # --- functions -------------------------------------------------------------------------------------------------

    def function(self, node: Tree, scope: Scope) -> Evaluate:
        """The closure that makes a function value."""
        if node.isAsync or node.generator:
            return self.fault(
                node, "function", "expected a plain function, found an async or generator function", "() => …"
            )
        outer_cost, self.cost = self.cost, 1
        frame = Frame(scope.frame)
        inner = Scope(scope, frame, is_function=True)
        name = node.id.name if getattr(node, "id", None) is not None else ""
        code = FunctionCode(name, node)
        self.functions.append(code)
        self.current.append(code)
        self._parameters(node, inner, code)
        if name and node.type == "FunctionExpression" and name not in inner.names:
            code.self_slot = inner.declare(name, constant=True).slot
        body = inner if code.simple else Scope(inner, frame)
        if node.body.type == "BlockStatement":
            self.declare_vars(node.body.body, inner)
            code.body = self.block(node.body.body, body)
        else:
            code.body = self.expression(node.body, body)
            code.expression = True
        self.current.pop()
        effects(code, node)
        code.cost = self.cost + len(node.params) + (scope.visible() if self.profile == "reference" else 0)
        code.weight = 4 + depth_of(node.body)
        code.template = [None] * FIRST_SLOT + [UNSET] * (frame.size - FIRST_SLOT)
        for slot in frame.var_slots:
            code.template[slot] = UNDEFINED
        if code.simple:
            code.template[FIRST_SLOT : FIRST_SLOT + code.parameters] = [UNDEFINED] * code.parameters
        self.cost = outer_cost + 1
        return lambda outer: FunctionValue(code, outer)

    def _parameters(self, node: Tree, scope: Scope, code: FunctionCode) -> None:
        code.parameters = len(node.params)
        code.simple = all(parameter.type == "Identifier" for parameter in node.params)
        names = [name for parameter in node.params for name in pattern_names(parameter)]
        for name in names:
            scope.declare(name, constant=False)
        if code.simple:
            if len(set(names)) != len(names):
                self.fault(node, "parameters", "expected different parameter names, found one twice")
            return
        for index, parameter in enumerate(node.params):
            code.binders.append(self._binder(index, parameter, scope))

    def _binder(self, index: int, parameter: Tree, scope: Scope) -> Callable[[FrameValue, list[Any]], None]:
        if parameter.type == "RestElement":
            bind_rest = self.pattern(parameter.argument, scope, declare=True)
            return lambda frame, arguments: bind_rest(frame, arguments[index:])
        bind = self.pattern(parameter, scope, declare=True)
        return lambda frame, arguments: bind(frame, arguments[index] if index < len(arguments) else UNDEFINED)

    def pattern(self, node: Tree, scope: Scope, *, declare: bool) -> Callable[[FrameValue, Any], None]:
        """The closure that binds a value to a pattern; ``declare`` sets constants for the first time."""
        from interpreter.evaluate.patterns import compile_pattern

        return compile_pattern(self, node, scope, declare=declare)


NEAREST = {
    "AwaitExpression": "code without await",
    "YieldExpression": "a loop that fills an array",
    "ThisExpression": "the parameter of the function",
    "ClassDeclaration": "an object of functions",
    "ClassExpression": "an object of functions",
    "TaggedTemplateExpression": "a function call",
    "ImportExpression": "code without imports",
    "MetaProperty": "code without import.meta or new.target",
    "WithStatement": "a constant",
    "DebuggerStatement": "nothing",
    "Super": "a function",
}


def exported(node: Tree) -> Tree:
    """The declaration inside ``export``."""
    if node.type == "ExportNamedDeclaration" and node.declaration is not None:
        return node.declaration
    return node


def depth_of(tree: Tree) -> int:
    """The depth of a function's text, nested functions left out: what its closures may take of the stack."""
    deepest = 0
    stack = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in children(node) if child.type not in FUNCTIONS)
    return deepest


def effects(code: FunctionCode, tree: Tree) -> None:
    """Whether the text of a function can change data in place."""
    for node in walk(tree):
        kind = node.type
        if kind == "AssignmentExpression" and node.left.type != "Identifier":
            code.mutates = True
        elif kind in ("UpdateExpression", "ForOfStatement", "ForInStatement"):
            target = node.argument if kind == "UpdateExpression" else node.left
            code.mutates = code.mutates or target.type == "MemberExpression"
        elif kind == "UnaryExpression" and node.operator == "delete":
            code.mutates = True
        elif kind in ("CallExpression", "NewExpression"):
            callee = node.callee
            if callee.type == "MemberExpression":
                name = None if callee.computed else callee.property.name
                if name is None or name in MUTATORS:
                    code.mutates = True


def reference_error(name: str) -> Thrown:
    """A read of a variable before its declaration."""
    return Thrown(ErrorValue("ReferenceError", f"Cannot access '{name}' before initialization"))
