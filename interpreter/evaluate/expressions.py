"""Expressions as closures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreter import javascript as js
from interpreter.errors import EvaluationError
from interpreter.evaluate import operators
from interpreter.evaluate.assignments import compile_assignment, compile_update, member_key
from interpreter.evaluate.calls import compile_call, compile_new
from interpreter.evaluate.code import Compiler, reference_error
from interpreter.evaluate.functions import Evaluate
from interpreter.evaluate.operators import BINARY, describe, iterate, property_key
from interpreter.evaluate.properties import UNSAFE, delete_member, get_member, has_member
from interpreter.evaluate.scope import UNSET, FrameValue, Scope
from interpreter.evaluate.values import (
    Chain,
    ErrorValue,
    Getter,
    MapValue,
    Namespace,
    Native,
    SetValue,
    Thrown,
    type_error,
)
from interpreter.javascript import UNDEFINED, truthy
from interpreter.syntax.source import Tree

_MISSING = object()
_DATA = (bool, int, float, str, dict, list, Getter)
SHORT = object()  # what an optional chain answers inside when it stopped


def _literal(compiler: Compiler, node: Tree, _scope: Scope) -> Evaluate:
    if getattr(node, "regex", None) is not None:
        return _regex(compiler, node)
    if getattr(node, "bigint", None) is not None:
        return compiler.fault(node, "bigint", "expected a number, found a bigint", "a plain number")
    value = node.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = js.js_number(value)
    return lambda _frame: value


def _regex(compiler: Compiler, node: Tree) -> Evaluate:
    from interpreter.evaluate.regular import literal

    pattern, flags = node.regex.pattern, node.regex.flags
    made = literal(compiler, node, pattern, flags)
    if made is None:
        return lambda _frame: UNDEFINED
    return lambda _frame: made()


def _identifier(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    name = node.name
    found = scope.find(name)
    if found is None:
        value = compiler.globals.get(name, _MISSING)
        if value is _MISSING:
            return _free_name(compiler, node, name)
        return lambda _frame: value
    hops, binding = found
    slot = binding.slot
    if hops and compiler.current:
        for code in compiler.current:
            code.calls_out = True
    if hops == 0:

        def local(frame: FrameValue) -> Any:
            value = frame[slot]
            if value is UNSET:
                raise reference_error(name)
            return value

        return local
    if hops == 1:

        def outer(frame: FrameValue) -> Any:
            value = frame[0][slot]
            if value is UNSET:
                raise reference_error(name)
            return value

        return outer

    def far(frame: FrameValue) -> Any:
        for _ in range(hops):
            frame = frame[0]
        value = frame[slot]
        if value is UNSET:
            raise reference_error(name)
        return value

    return far


def _free_name(compiler: Compiler, node: Tree, name: str) -> Evaluate:
    from difflib import get_close_matches

    close = get_close_matches(name, [known for known in compiler.globals if known.isascii()], 1, 0.75)
    message = f"expected a name of the declaration or a supported built-in, found {name}"
    return compiler.fault(node, name, message, close[0] if close else None)


def _template(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    texts = [quasi.value.cooked for quasi in node.quasis]
    parts = [compiler.expression(part, scope) for part in node.expressions]

    def run(frame: FrameValue) -> Any:
        text = texts[0]
        for index, part in enumerate(parts):
            value = part(frame)
            piece = value if type(value) is str else operators.to_text(value)
            text = operators.add(frame[1], operators.add(frame[1], text, piece), texts[index + 1])
        return text

    return run


def _array(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    parts: list[tuple[bool, Evaluate]] = []
    for element in node.elements:
        if element is None:
            parts.append((False, lambda _frame: UNDEFINED))
        elif element.type == "SpreadElement":
            parts.append((True, compiler.expression(element.argument, scope)))
        else:
            parts.append((False, compiler.expression(element, scope)))
    if not any(spread for spread, _ in parts):
        items = [item for _, item in parts]
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


def spread_into(run: Any, made: dict[str, Any], value: Any) -> None:
    """``{ ...value }``."""
    if type(value) is dict:
        run.charge(len(value))
        if any(type(item) is Getter for item in value.values()):
            value = {key: get_member(run, value, key) for key in value}
        made.update(value)
    elif type(value) is list or isinstance(value, str):
        run.charge(len(value))
        made.update((str(index), item) for index, item in enumerate(value))
    elif not (value is None or value is UNDEFINED or isinstance(value, (bool, int, float, SetValue, MapValue))):
        if isinstance(value, ErrorValue):
            made.update(value.extra)
            return
        raise EvaluationError("MVU_SCHEMA_CODE", f"expected data to spread, found {describe(value)}")


def _property_name(node: Tree) -> str:
    if node.type == "Identifier":
        return str(node.name)
    value = node.value
    return str(value) if isinstance(value, str) else js.js_number_text(value)


def _object(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    parts: list[tuple[str, Any, Evaluate]] = []
    for item in node.properties:
        if item.type == "SpreadElement":
            parts.append(("spread", None, compiler.expression(item.argument, scope)))
            continue
        value = compiler.expression(item.value, scope)
        if item.kind == "set":
            compiler.fault(item, "setter", "expected name: value, found a setter", "a function")
            continue
        kind = "get" if item.kind == "get" else "value"
        if item.computed:
            parts.append((kind, compiler.expression(item.key, scope), value))
            continue
        name = _property_name(item.key)
        if name == "__proto__" and not item.shorthand:
            compiler.fault(item, "__proto__", "expected a safe key, found __proto__")
        parts.append((kind, name, value))
    if all(kind == "value" and isinstance(name, str) for kind, name, _ in parts):
        plain = [(name, value) for _, name, value in parts]
        return lambda frame: {name: value(frame) for name, value in plain}

    def run(frame: FrameValue) -> Any:
        made: dict[str, Any] = {}
        for kind, name, value in parts:
            if kind == "spread":
                spread_into(frame[1], made, value(frame))
                continue
            key = name if isinstance(name, str) else property_key(frame[1], name(frame))
            item = Getter(value(frame)) if kind == "get" else value(frame)
            if key == "__proto__" and (isinstance(item, _DATA) or item is None or item is UNDEFINED):
                raise EvaluationError("MVU_PATH", "expected a safe key, found __proto__")
            made[key] = item
        return made

    return run


def _function(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    return compiler.function(node, scope)


def _unary(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    operator = node.operator
    if operator == "delete":
        return _delete(compiler, node, scope)
    if operator == "typeof" and node.argument.type == "Identifier":
        name = node.argument.name
        if scope.find(name) is None and name not in compiler.globals:
            return lambda _frame: "undefined"
    inner = compiler.expression(node.argument, scope)
    if operator == "!":
        return lambda frame: not truthy(inner(frame))
    if operator == "-":
        if node.argument.type == "Literal" and type(node.argument.value) in (int, float):
            constant = js.negate(js.js_number(node.argument.value))
            return lambda _frame: constant
        return lambda frame: operators.minus(frame[1], inner(frame))
    if operator == "+":
        return lambda frame: operators.plus(frame[1], inner(frame))
    if operator == "typeof":
        return lambda frame: operators.type_of(inner(frame))
    if operator == "void":
        return lambda frame: (inner(frame), UNDEFINED)[1]
    if operator == "~":
        return lambda frame: js.to_int32(~js.to_int32(operators.to_number(inner(frame))))
    return compiler.fault(node, operator, f"expected a supported operator, found {operator}")


def _delete(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    target = node.argument.expression if node.argument.type == "ChainExpression" else node.argument
    if target.type != "MemberExpression":
        return compiler.fault(node, "delete", "expected delete object.key, found something else", "delete object.key")
    inner = compiler.expression(target.object, scope)
    key = member_key(compiler, target, scope)
    return lambda frame: delete_member(frame[1], inner(frame), key(frame))


def _binary(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    operator = node.operator
    left, right = compiler.expression(node.left, scope), compiler.expression(node.right, scope)
    if operator == "in":
        return lambda frame: has_member(frame[1], *_swapped(left(frame), right(frame)))
    if operator == "instanceof":
        return lambda frame: _instance_of(left(frame), right(frame))
    function = BINARY.get(operator)
    if function is None:
        return compiler.fault(node, operator, f"expected a supported operator, found {operator}")
    operate = function
    return lambda frame: operate(frame[1], left(frame), right(frame))


def _swapped(key: Any, target: Any) -> tuple[Any, Any]:
    return target, key


def _instance_of(value: Any, kind: Any) -> bool:
    name = kind.name if isinstance(kind, (Native, Namespace)) else ""
    if name == "Error" or name.endswith("Error"):
        return isinstance(value, ErrorValue) and name in ("Error", value.name)
    tests: dict[str, Callable[[Any], bool]] = {
        "Array": lambda item: type(item) is list,
        "Object": lambda item: isinstance(item, (dict, list, SetValue, MapValue, ErrorValue)),
        "Set": lambda item: isinstance(item, SetValue),
        "Map": lambda item: isinstance(item, MapValue),
    }
    test = tests.get(name)
    if test is None and name not in ("Date", "RegExp", "Function", "Promise", "String", "Number", "Boolean"):
        raise type_error("Right-hand side of 'instanceof' is not callable")
    return test(value) if test is not None else False


def _logical(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    left, right = compiler.expression(node.left, scope), compiler.expression(node.right, scope)
    if node.operator == "&&":

        def both(frame: FrameValue) -> Any:
            value = left(frame)
            return right(frame) if truthy(value) else value

        return both
    if node.operator == "||":

        def either(frame: FrameValue) -> Any:
            value = left(frame)
            return value if truthy(value) else right(frame)

        return either

    def nullish(frame: FrameValue) -> Any:
        value = left(frame)
        return right(frame) if value is None or value is UNDEFINED else value

    return nullish


def _conditional(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    test = compiler.expression(node.test, scope)
    yes, no = compiler.expression(node.consequent, scope), compiler.expression(node.alternate, scope)
    return lambda frame: yes(frame) if truthy(test(frame)) else no(frame)


def _sequence(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    parts = [compiler.expression(part, scope) for part in node.expressions]

    def run(frame: FrameValue) -> Any:
        value: Any = UNDEFINED
        for part in parts:
            value = part(frame)
        return value

    return run


# --- members -----------------------------------------------------------------------------------------------------


def _member(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    known = static_member(compiler, node, scope)
    if known is not None:
        return known
    inner = compiler.expression(node.object, scope)
    optional = bool(getattr(node, "optional", False))
    inside_chain = optional or in_chain(node.object)
    if node.computed:
        key = compiler.expression(node.property, scope)
        if not inside_chain:
            return lambda frame: get_member(frame[1], inner(frame), key(frame))
        return lambda frame: _chained(frame, inner(frame), key, optional)
    name = member_key(compiler, node, scope)(())  # type: ignore[arg-type]
    if inside_chain:
        return lambda frame: _chained(frame, inner(frame), lambda _frame: name, optional)
    if name in UNSAFE:
        return lambda frame: get_member(frame[1], inner(frame), name)

    def read(frame: FrameValue) -> Any:
        target = inner(frame)
        if type(target) is dict:
            value = target.get(name, _MISSING)
            if value is not _MISSING and type(value) is not Getter:
                return value
        return get_member(frame[1], target, name)

    return read


def in_chain(node: Tree) -> bool:
    """Whether a node may answer that its optional chain stopped."""
    while node.type in ("MemberExpression", "CallExpression"):
        if getattr(node, "optional", False):
            return True
        node = node.object if node.type == "MemberExpression" else node.callee
    return False


def _chained(frame: FrameValue, target: Any, key: Evaluate, optional: bool) -> Any:
    if target is SHORT or (optional and (target is None or target is UNDEFINED)):
        return SHORT
    return get_member(frame[1], target, key(frame))


def _chain(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate:
    inner = compiler.expression(node.expression, scope)

    def run(frame: FrameValue) -> Any:
        value = inner(frame)
        return UNDEFINED if value is SHORT else value

    return run


def static_member(compiler: Compiler, node: Tree, scope: Scope) -> Evaluate | None:
    """A member of a built-in known when the code is compiled (``Math.PI``, ``z.coerce``); faults are located."""
    if node.computed or node.property.type != "Identifier":
        return None
    value = static_value(compiler, node.object, scope)
    if not isinstance(value, (Namespace, Native)):
        return None
    name = node.property.name
    found = value.members.get(name, _MISSING)
    if found is _MISSING:
        if isinstance(value, Native) and name in ("call", "apply", "bind", "name", "prototype"):
            return None
        return _unknown_member(compiler, node, value, name)
    return lambda _frame: found


def static_value(compiler: Compiler, node: Tree, scope: Scope) -> Any:
    """The built-in that an expression names, or None."""
    if node.type == "Identifier":
        return compiler.globals.get(node.name) if scope.find(node.name) is None else None
    if node.type == "MemberExpression" and not node.computed and node.property.type == "Identifier":
        outer = static_value(compiler, node.object, scope)
        if isinstance(outer, (Namespace, Native)):
            return outer.members.get(node.property.name)
    return None


def _unknown_member(compiler: Compiler, node: Tree, owner: Any, name: str) -> Evaluate:
    from difflib import get_close_matches

    close = get_close_matches(name, list(owner.members), 1, 0.6)
    nearest = f"{owner.name}.{close[0]}" if close else None
    message = f"expected a supported member of {owner.name}, found {owner.name}.{name}"
    return compiler.fault(node, f"{owner.name}.{name}", message, nearest)


def _spread(compiler: Compiler, node: Tree, _scope: Scope) -> Evaluate:
    return compiler.fault(node, "...", "expected an expression, found a spread")


def unchain(value: Any) -> Any:
    """The value inside a lodash chain."""
    return value.value if isinstance(value, Chain) else value


def throw(value: Any) -> Any:
    """Raise a JavaScript exception."""
    raise Thrown(value)


EXPRESSIONS: dict[str, Callable[[Compiler, Tree, Scope], Evaluate]] = {
    "Literal": _literal,
    "Identifier": _identifier,
    "TemplateLiteral": _template,
    "ArrayExpression": _array,
    "ObjectExpression": _object,
    "ArrowFunctionExpression": _function,
    "FunctionExpression": _function,
    "FunctionDeclaration": _function,
    "UnaryExpression": _unary,
    "BinaryExpression": _binary,
    "LogicalExpression": _logical,
    "ConditionalExpression": _conditional,
    "SequenceExpression": _sequence,
    "MemberExpression": _member,
    "ChainExpression": _chain,
    "AssignmentExpression": compile_assignment,
    "UpdateExpression": compile_update,
    "CallExpression": compile_call,
    "NewExpression": compile_new,
    "SpreadElement": _spread,
}
