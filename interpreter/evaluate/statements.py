"""Statements as closures: ``None`` for going on, ``(value,)`` for return, a :class:`Jump` for break and continue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreter.errors import BudgetExceeded, EvaluationError
from interpreter.evaluate.code import Compiler, Jump, exported
from interpreter.evaluate.functions import Evaluate
from interpreter.evaluate.operators import describe, iterate
from interpreter.evaluate.scope import FIRST_SLOT, UNSET, Frame, FrameValue, Scope
from interpreter.evaluate.values import Thrown
from interpreter.javascript import UNDEFINED, js_key_order, strict_equal, truthy
from interpreter.syntax.program import FUNCTIONS, pattern_names
from interpreter.syntax.source import Tree, walk

Turn = Callable[[FrameValue], Any]


def _expression(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    inner = compiler.expression(node.expression, scope)

    def run(frame: FrameValue) -> Any:
        inner(frame)

    return run


def _declaration(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    steps = []
    for declarator in node.declarations:
        if declarator.init is None and node.kind == "var":
            continue
        bind = compiler.pattern(declarator.id, scope, declare=True)
        init = compiler.expression(declarator.init, scope) if declarator.init is not None else None
        steps.append((bind, init))

    def run(frame: FrameValue) -> Any:
        for bind, init in steps:
            bind(frame, UNDEFINED if init is None else init(frame))

    return run


def _return(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    if node.argument is None:
        return lambda _frame: (UNDEFINED,)
    inner = compiler.expression(node.argument, scope)
    return lambda frame: (inner(frame),)


def _if(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    test = compiler.expression(node.test, scope)
    yes = compiler.statement(node.consequent, scope)
    if node.alternate is None:
        return lambda frame: yes(frame) if truthy(test(frame)) else None
    no = compiler.statement(node.alternate, scope)
    return lambda frame: yes(frame) if truthy(test(frame)) else no(frame)


def _block(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    return compiler.block(node.body, Scope(scope, scope.frame))


def _empty(_compiler: Compiler, _node: Tree, _scope: Scope) -> Evaluate:
    return lambda _frame: None


def _throw(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    inner = compiler.expression(node.argument, scope)

    def run(frame: FrameValue) -> Any:
        raise Thrown(inner(frame))

    return run


def _jump(stops: bool) -> Callable[[Compiler, Tree, Scope], Evaluate]:
    def compile_(_compiler: Compiler, node: Tree, _scope: Scope) -> Evaluate:
        jump = Jump(stops, node.label.name if node.label is not None else None)
        return lambda _frame: jump

    return compile_


def _labeled(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    label = node.label.name
    if node.body.type in _LOOPS:
        return _LOOPS[node.body.type](compiler, node.body, scope, label)
    inner = compiler.statement(node.body, scope)

    def run(frame: FrameValue) -> Any:
        outcome = inner(frame)
        return None if isinstance(outcome, Jump) and outcome.label == label else outcome

    return run


def _try(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    body = compiler.statement(node.block, scope)
    handler: Evaluate | None = None
    bind: Callable[[FrameValue, Any], None] | None = None
    if node.handler is not None:
        inner = Scope(scope, scope.frame)
        if node.handler.param is not None:
            for name in pattern_names(node.handler.param):
                inner.declare(name, constant=False)
            bind = compiler.pattern(node.handler.param, inner, declare=True)
        handler = compiler.block(node.handler.body.body, Scope(inner, scope.frame))
    final = compiler.statement(node.finalizer, scope) if node.finalizer is not None else None

    def guarded(frame: FrameValue) -> Any:
        try:
            return body(frame)
        except Thrown as error:
            if handler is None:
                raise
            if bind is not None:
                bind(frame, error.value)
        return handler(frame)

    if final is None:
        return guarded
    after = final

    def run(frame: FrameValue) -> Any:
        try:
            outcome = guarded(frame)
        except Thrown:
            replaced = after(frame)
            if replaced is not None:
                return replaced
            raise
        replaced = after(frame)
        return outcome if replaced is None else replaced

    return run


def _switch(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    subject = compiler.expression(node.discriminant, scope)
    inner = Scope(scope, scope.frame)
    compiler.declare_all([statement for case in node.cases for statement in case.consequent], inner)
    cases = []
    for case in node.cases:
        test = compiler.expression(case.test, inner) if case.test is not None else None
        cases.append((test, [compiler.statement(statement, inner) for statement in case.consequent]))

    def run(frame: FrameValue) -> Any:
        value = subject(frame)
        start = next(
            (index for index, (test, _) in enumerate(cases) if test is not None and strict_equal(value, test(frame))),
            next((index for index, (test, _) in enumerate(cases) if test is None), len(cases)),
        )
        for _test, steps in cases[start:]:
            for step in steps:
                outcome = step(frame)
                if outcome is not None:
                    if isinstance(outcome, Jump) and outcome.stops and outcome.label is None:
                        return None
                    return outcome
        return None

    return run


# --- loops -------------------------------------------------------------------------------------------------------


def _captures(node: Tree) -> bool:
    return any(part.type in FUNCTIONS for part in walk(node))


def _loop_scope(scope: Scope, node: Tree) -> tuple[Scope, bool]:
    """The scope of a loop; a frame of its own where a function inside captures its variables."""
    if not _captures(node):
        return Scope(scope, scope.frame), False
    return Scope(scope, Frame(scope.frame, scope.frame.owner())), True


def _new_frame(inner: Scope, outer: FrameValue) -> FrameValue:
    return [outer, outer[1], *([UNSET] * (inner.frame.size - FIRST_SLOT))]


def _leaves(outcome: Any, label: str | None) -> tuple[bool, Any]:
    """Whether a turn's outcome ends the loop, and what the loop then answers."""
    if outcome is None:
        return False, None
    if isinstance(outcome, Jump) and outcome.label in (None, label):
        return outcome.stops, None
    return True, outcome


def _turn_cost(compiler: Compiler, compile_: Callable[[], Any], scope: Scope) -> tuple[Any, int]:
    """Compile something that runs once per turn, and what a turn costs."""
    outer, compiler.cost = compiler.cost, 1
    made = compile_()
    cost = compiler.cost + (scope.visible() if compiler.profile == "reference" else 0)
    compiler.cost = outer
    return made, cost


def _for_each(compiler: Compiler, node: Tree, scope: Scope, label: str | None, *, keys: bool) -> Evaluate:
    subject = compiler.expression(node.right, scope)
    inner, framed = _loop_scope(scope, node)
    declares = node.left.type == "VariableDeclaration"
    target = node.left.declarations[0].id if declares else node.left
    if declares and node.left.kind != "var":
        for name in pattern_names(target):
            inner.declare(name, constant=node.left.kind == "const")

    def compile_turn() -> tuple[Any, Turn]:
        return compiler.pattern(target, inner, declare=declares), compiler.statement(
            node.body, Scope(inner, inner.frame)
        )

    (bind, body), cost = _turn_cost(compiler, compile_turn, scope)
    if compiler.restricted and declares and _shadowed(node, target):
        return compiler.fault(node, "for", "expected a loop variable that differs from its own iterable")

    def run(frame: FrameValue) -> Any:
        budget = frame[1]
        items = _keys(budget, subject(frame)) if keys else _items(budget, subject(frame))
        for item in items:
            budget.charge(cost)
            turn = _new_frame(inner, frame) if framed else frame
            bind(turn, item)
            leave, answer = _leaves(body(turn), label)
            if leave:
                return answer
        return None

    return run


def _shadowed(node: Tree, target: Tree) -> bool:
    return target.type == "Identifier" and any(
        part.type == "Identifier" and part.name == target.name for part in walk(node.right)
    )


def _items(run: Any, value: Any) -> list[Any]:
    if run.restricted and type(value) is not list:
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected an array after of, found {describe(value)}")
    items = list(iterate(run, value))
    if len(items) > run.loop_items:
        raise BudgetExceeded("interpreter.loop.items", run.loop_items, "items", str(len(items)))
    return items


def _keys(run: Any, value: Any) -> list[Any]:
    if type(value) is dict:
        run.charge(len(value))
        return list(js_key_order(value.keys()))
    if type(value) is list or isinstance(value, str):
        run.charge(len(value))
        return [str(index) for index in range(len(value))]
    return []


def _for_of(compiler: Compiler, node: Tree, scope: Scope, label: str | None = None) -> Evaluate:
    if getattr(node, "isAwait", False) or getattr(node, "await", False):
        return compiler.fault(node, "for await", "expected for…of, found for await", "for (const item of array)")
    return _for_each(compiler, node, scope, label, keys=False)


def _for_in(compiler: Compiler, node: Tree, scope: Scope, label: str | None = None) -> Evaluate:
    return _for_each(compiler, node, scope, label, keys=True)


def _for(compiler: Compiler, node: Tree, scope: Scope, label: str | None = None) -> Evaluate:
    inner, framed = _loop_scope(scope, node)
    init: Evaluate | None = None
    if node.init is not None:
        if node.init.type == "VariableDeclaration":
            compiler.declare_all([node.init], inner)
            init = compiler.statement(node.init, inner)
        else:
            init = compiler.expression(node.init, inner)

    def compile_turn() -> tuple[Any, Any, Turn]:
        test = compiler.expression(node.test, inner) if node.test is not None else None
        update = compiler.expression(node.update, inner) if node.update is not None else None
        return test, update, compiler.statement(node.body, Scope(inner, inner.frame))

    (test, update, body), cost = _turn_cost(compiler, compile_turn, scope)

    def run(frame: FrameValue) -> Any:
        budget = frame[1]
        turn = _new_frame(inner, frame) if framed else frame
        if init is not None:
            init(turn)
        while test is None or truthy(test(turn)):
            budget.charge(cost)
            leave, answer = _leaves(body(turn), label)
            if leave:
                return answer
            if framed:
                turn = turn.copy()
            if update is not None:
                update(turn)
        return None

    return run


def _while(compiler: Compiler, node: Tree, scope: Scope, label: str | None = None) -> Evaluate:
    inner, framed = _loop_scope(scope, node.body)

    def compile_turn() -> tuple[Any, Turn]:
        return compiler.expression(node.test, scope), compiler.statement(node.body, inner)

    (test, body), cost = _turn_cost(compiler, compile_turn, scope)
    first = node.type == "DoWhileStatement"

    def run(frame: FrameValue) -> Any:
        budget = frame[1]
        skip_test = first
        while skip_test or truthy(test(frame)):
            skip_test = False
            budget.charge(cost)
            leave, answer = _leaves(body(_new_frame(inner, frame) if framed else frame), label)
            if leave:
                return answer
        return None

    return run


def _exported(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    inner = exported(node)
    return _empty(compiler, node, scope) if inner is node else compiler.statement(inner, scope)


def _function(_compiler: Compiler, _node: Tree, _scope: Scope) -> Evaluate:
    return lambda _frame: None  # hoisted by its block


_LOOPS: dict[str, Callable[[Compiler, Tree, Scope, str | None], Evaluate]] = {
    "ForOfStatement": _for_of,
    "ForInStatement": _for_in,
    "ForStatement": _for,
    "WhileStatement": _while,
    "DoWhileStatement": _while,
}

STATEMENTS: dict[str, Callable[[Compiler, Tree, Scope], Evaluate]] = {
    "ExpressionStatement": _expression,
    "VariableDeclaration": _declaration,
    "ReturnStatement": _return,
    "IfStatement": _if,
    "BlockStatement": _block,
    "EmptyStatement": _empty,
    "ThrowStatement": _throw,
    "BreakStatement": _jump(stops=True),
    "ContinueStatement": _jump(stops=False),
    "LabeledStatement": _labeled,
    "TryStatement": _try,
    "SwitchStatement": _switch,
    "ForOfStatement": _for_of,
    "ForInStatement": _for_in,
    "ForStatement": _for,
    "WhileStatement": _while,
    "DoWhileStatement": _while,
    "ExportNamedDeclaration": _exported,
    "FunctionDeclaration": _function,
}
