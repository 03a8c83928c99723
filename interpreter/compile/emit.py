"""What the generated functions say, node by node; ``emit`` also counts the steps that the exact parser would charge."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from interpreter import javascript as js
from interpreter.compile.exact import holds_containers
from interpreter.compile.fast import RememberedTest, plain_container, plain_length
from interpreter.compile.inline import inline
from interpreter.compile.wrappers import _takes_context as takes_context
from interpreter.declare import nodes as n
from interpreter.declare.traits import optional_in, optional_out
from interpreter.evaluate.functions import FunctionValue

if TYPE_CHECKING:
    from interpreter.compile.fast import FastCompiler

_CONTAINERS = (n.ObjectNode, n.RecordNode, n.ArrayNode)


def emit_function(c: FastCompiler, node: n.Node, name: str, slot: int) -> None:
    """Generate the function of one node: the memory's answer first, then the parse, then what to remember."""
    w = c.writer
    w.indent = 0
    w.line(f"def {name}(v, R, M):")
    w.indent = 1
    remembers = holds_containers(node)
    if remembers:
        w.line("keeps = M is not None and (v.__class__ is dict or v.__class__ is list)")
        w.line("if keeps:")
        w.line(f"    known = M.recall({slot}, v, R)")
        w.line("    if known is not None: return known")
        w.line("    before = R.steps; clock = R.clock_reads")
    position = len(w.lines)
    w.line("")
    if plain_container(node):
        cost = _container(c, node, "v", "result")
    else:
        cost = emit(c, node, "v", "result", inside=True)
    w.lines[position] = f"    R.steps += {cost}\n    if R.steps > R.limit: raise F"
    if remembers:
        w.line("if keeps and result is v and R.clock_reads == clock: M.remember(" + f"{slot}, v, R.steps - before)")
    w.line("return result")
    w.line("")


def emit(c: FastCompiler, node: n.Node, x: str, out: str, *, inside: bool = False) -> int:
    """Write the parse of ``x`` into ``out``; the steps of the usual way are returned, others are corrected in place."""
    if plain_container(node):
        if inside:
            return _container(c, node, x, out)
        c.writer.line(f"{out} = {c.function(node)}({x}, R, M)")
        return 0
    maker = _EMITTERS.get(type(node))
    if maker is not None and (not node.checks or type(node) in (n.StringNode, n.NumberNode)):
        cost: int | None = maker(c, node, x, out)
        if cost is not None:
            return cost
    return _exact(c, node, x, out)


def _exact(c: FastCompiler, node: n.Node, x: str, out: str) -> int:
    c.writer.line(f"{out} = {c.exact_call(node)}({x}, R, M)")
    return 0


# --- scalars -----------------------------------------------------------------------------------------------------


def _string(c: FastCompiler, node: n.StringNode, x: str, out: str) -> int | None:
    if node.coerce or not all(_string_check(check) for check in node.checks):
        return None
    w = c.writer
    w.line(f"if {x}.__class__ is not str: raise F")
    for check in node.checks:
        if isinstance(check, n.MinLength):
            w.line(f"if len({x}) < {check.minimum} and length({x}) < {check.minimum}: raise F")
        elif isinstance(check, n.MaxLength):
            w.line(f"if len({x}) * 2 > {check.maximum} and length({x}) > {check.maximum}: raise F")
        else:
            assert isinstance(check, n.StringFormat)
            w.line(f"if not {w.bind(RememberedTest(check.pattern).test, 'p')}({x}, R.charge): raise F")
    w.line(f"{out} = {x}")
    return 1 + len(node.checks)


def _string_check(check: n.Check) -> bool:
    if check.when is not None:
        return False
    return plain_length(check) or (isinstance(check, n.StringFormat) and check.pattern is not None)


def _number(c: FastCompiler, node: n.NumberNode, x: str, out: str) -> int | None:
    if not all(_number_check(check) for check in node.checks):
        return None
    w = c.writer
    kind = w.fresh("k")
    w.line(f"{kind} = {x}.__class__")
    wrong = f"{kind} is not int and ({kind} is not float or {x} - {x} != 0)"
    if node.coerce:
        w.line(f"{out} = number({x}, R) if {wrong} else {x}")
    else:
        w.line(f"if {wrong}: raise F")
        w.line(f"{out} = {x}")
    for check in node.checks:
        if isinstance(check, n.LessThan):
            w.line(f"if {out} {'>' if check.inclusive else '>='} {w.bind(check.value, 'c')}: raise F")
        elif isinstance(check, n.GreaterThan):
            w.line(f"if {out} {'<' if check.inclusive else '<='} {w.bind(check.value, 'c')}: raise F")
        else:
            w.line(f"if {out}.__class__ is not int: check_int({out})")
            w.line(f"elif not -SAFE <= {out} <= SAFE: raise F")
    return 1 + len(node.checks)


def _number_check(check: n.Check) -> bool:
    if check.when is not None:
        return False
    if isinstance(check, n.LessThan | n.GreaterThan):
        return js.is_number(check.value) and math.isfinite(check.value)
    return isinstance(check, n.NumberFormat) and check.format == "safeint"


def _boolean(c: FastCompiler, node: n.BooleanNode, x: str, out: str) -> int | None:
    if node.coerce:
        return None
    c.writer.line(f"if {x} is not True and {x} is not False: raise F")
    c.writer.line(f"{out} = {x}")
    return 1


def _simple(c: FastCompiler, node: n.SimpleNode, x: str, out: str) -> int | None:
    if node.kind == "null":
        c.writer.line(f"if {x} is not None: raise F")
    elif node.kind not in ("any", "unknown"):
        return None
    c.writer.line(f"{out} = {x}")
    return 1


def _choice(c: FastCompiler, values: list[Any], x: str, out: str) -> int:
    from interpreter.evaluate.values import key_of

    w = c.writer
    if all(isinstance(value, str) for value in values):
        w.line(f"if {x}.__class__ is not str or {x} not in {w.bind(frozenset(values), 's')}: raise F")
    else:
        accepted = frozenset(key_of(value) for value in values)
        w.line(f"if key_of({x}) not in {w.bind(accepted, 's')}: raise F")
    w.line(f"{out} = {x}")
    return 1


def _enum(c: FastCompiler, node: n.EnumNode, x: str, out: str) -> int:
    from interpreter.declare.constructors import enum_values

    return _choice(c, enum_values(node.entries), x, out)


def _literal(c: FastCompiler, node: n.LiteralNode, x: str, out: str) -> int:
    return _choice(c, list(node.values), x, out)


# --- wrappers ----------------------------------------------------------------------------------------------------


def _either(c: FastCompiler, test: str, value: str, node: n.Node, x: str, out: str) -> int:
    """``value`` where the test holds, else the inner schema."""
    w = c.writer
    w.line(f"if {test}:")
    position = len(w.lines)
    w.line(f"    {out} = {value}")
    w.line("else:")
    w.indent += 1
    cost = emit(c, node, x, out)
    w.indent -= 1
    if cost:
        w.lines[position] += f"; R.steps -= {cost}"
    return cost


def _optional(c: FastCompiler, node: n.OptionalNode, x: str, out: str) -> int | None:
    if node.exact:
        return None
    if optional_in(node.inner):
        w = c.writer
        w.line(f"if {x} is U:")
        position = len(w.lines)
        w.line("")
        w.line("else:")
        w.indent += 1
        cost = emit(c, node.inner, x, out)
        w.indent -= 1
        w.lines[position] = "    " * w.indent + f"    R.steps -= {1 + cost}; {out} = {c.exact_call(node)}({x}, R, M)"
        return 1 + cost
    return 1 + _either(c, f"{x} is U", x, node.inner, x, out)


def _nullable(c: FastCompiler, node: n.NullableNode, x: str, out: str) -> int:
    return 1 + _either(c, f"{x} is None", x, node.inner, x, out)


def _default(c: FastCompiler, node: n.DefaultNode, x: str, out: str) -> int | None:
    if node.function is not None:
        return None
    value = c.writer.bind(node.value, "d")
    cost = 1 + _either(c, f"{x} is U", value, node.inner, x, out)
    c.writer.line(f"if {out} is U: {out} = {value}")
    return cost


def _prefault(c: FastCompiler, node: n.PrefaultNode, x: str, out: str) -> int | None:
    if node.function is not None:
        return None
    c.writer.line(f"if {x} is U: {x} = {c.writer.bind(node.value, 'd')}")
    return 1 + emit(c, node.inner, x, out)


def _readonly(c: FastCompiler, node: n.ReadonlyNode, x: str, out: str) -> int:
    return 1 + emit(c, node.inner, x, out)


def _pipe(c: FastCompiler, node: n.PipeNode, x: str, out: str) -> int | None:
    transform = node.right
    if not isinstance(transform, n.TransformNode) or transform.checks:
        return None
    function = transform.function
    if takes_context(function) or getattr(getattr(function, "code", None), "mutates", False):
        return None
    if isinstance(node.left, n.TransformNode):
        return None
    w = c.writer
    middle = w.fresh("y")
    cost = 2 + emit(c, node.left, x, middle)
    if isinstance(node.left, n.NumberNode) and isinstance(function, FunctionValue):
        found = inline(function, middle, w.bind, c.free)
        if found is not None:
            text, finite, charged = found
            w.line(f"{out} = {text}")
            if not finite:
                w.line(f"if {out} == {middle} and {out}.__class__ is {middle}.__class__: {out} = {middle}")
                w.line(f"elif {out} - {out} != 0: R.unclean = True")
            return cost + charged
    call = w.bind(function.call, "call")
    w.line(f"{out} = settle(R, {middle}, {call}(R, [{middle}]))")
    return cost


def _union(c: FastCompiler, node: n.UnionNode, x: str, out: str) -> int | None:
    """Options that no value can confuse: scalars tell at once, and at most one option takes objects or arrays."""
    if node.exclusive or len(node.options) < 2:
        return None
    kinds = [_kind(option) for option in node.options]
    if None in kinds or any(kinds.count(kind) > 1 for kind in ("dict", "list")):
        return None
    w = c.writer
    failed = 1
    for position, (option, kind) in enumerate(zip(node.options, kinds, strict=True)):
        test = _test(w, option, str(kind), x)
        w.line(f"{'if' if position == 0 else 'elif'} {test}:")
        w.indent += 1
        cost = emit(c, option, x, out)
        w.line(f"R.steps += {failed + cost}")
        w.indent -= 1
        failed += 1
    w.line("else: raise F")
    return 0


def _kind(option: n.Node) -> str | None:
    if plain_container(option) and not option.checks:
        return "list" if isinstance(option, n.ArrayNode) else "dict"
    if option.checks or getattr(option, "coerce", False):
        return None
    if isinstance(option, n.StringNode):
        return "str"
    if isinstance(option, n.NumberNode):
        return "number"
    if isinstance(option, n.BooleanNode):
        return "bool"
    if isinstance(option, n.SimpleNode) and option.kind == "null":
        return "null"
    if isinstance(option, n.LiteralNode | n.EnumNode):
        return "choice"
    return None


def _test(w: Any, option: n.Node, kind: str, x: str) -> str:
    from interpreter.declare.traits import values
    from interpreter.evaluate.values import key_of

    if kind == "choice":
        accepted = frozenset(key_of(value) for value in values(option) or ())
        return f"key_of({x}) in {w.bind(accepted, 's')}"
    tests = {
        "str": f"{x}.__class__ is str",
        "number": f"{x}.__class__ is int or ({x}.__class__ is float and {x} - {x} == 0)",
        "bool": f"{x} is True or {x} is False",
        "null": f"{x} is None",
        "dict": f"{x}.__class__ is dict",
        "list": f"{x}.__class__ is list",
    }
    return tests[kind]


_EMITTERS: dict[type, Any] = {
    n.StringNode: _string,
    n.NumberNode: _number,
    n.BooleanNode: _boolean,
    n.SimpleNode: _simple,
    n.EnumNode: _enum,
    n.LiteralNode: _literal,
    n.OptionalNode: _optional,
    n.NullableNode: _nullable,
    n.DefaultNode: _default,
    n.PrefaultNode: _prefault,
    n.ReadonlyNode: _readonly,
    n.PipeNode: _pipe,
    n.UnionNode: _union,
}


# --- containers --------------------------------------------------------------------------------------------------


def _container(c: FastCompiler, node: n.Node, x: str, out: str) -> int:
    if isinstance(node, n.ObjectNode):
        return _object(c, node, x, out)
    if isinstance(node, n.RecordNode):
        return _record(c, node, x, out)
    assert isinstance(node, n.ArrayNode)
    return _array(c, node, x, out)


def _object(c: FastCompiler, node: n.ObjectNode, x: str, out: str) -> int:
    w = c.writer
    get = w.fresh("get")
    w.line(f"if {x}.__class__ is not dict: raise F")
    w.line(f"{get} = {x}.get")
    total = 1
    parts: list[tuple[str, str, bool]] = []
    for key, field in node.shape.items():
        name, value, result = w.bind(key, "key"), w.fresh("x"), w.fresh("r")
        w.line(f"{value} = {get}({name}, U)")
        maybe = optional_in(field)
        if not maybe:
            w.line(f"if {value} is U: raise F")
        total += emit(c, field, value, result)
        parts.append((name, result, maybe and _may_vanish(field)))
    always = []
    while parts and not parts[0][2]:
        always.append(parts.pop(0))
    made = w.fresh("made")
    w.line(f"{made} = {{" + ", ".join(f"{name}: {result}" for name, result, _ in always) + "}")
    for name, result, vanishes in parts:
        w.line(f"if {result} is not U: {made}[{name}] = {result}" if vanishes else f"{made}[{name}] = {result}")
    _rest(c, node, x, made)
    w.line(f"{out} = {x} if M is not None and same_dict({x}, {made}) else {made}")
    return total


def _may_vanish(field: n.Node) -> bool:
    """Whether the output of a field may be undefined."""
    if optional_out(field):
        return True
    if isinstance(field, n.PrefaultNode | n.DefaultNode):
        return not isinstance(field.inner, n.StringNode | n.NumberNode | n.BooleanNode | n.EnumNode | n.LiteralNode)
    return True


def _rest(c: FastCompiler, node: n.ObjectNode, x: str, made: str) -> None:
    w = c.writer
    if node.catchall is None:
        return
    shape, keys = w.bind(node.shape, "shape"), w.bind(node.shape.keys(), "keys")
    if isinstance(node.catchall, n.SimpleNode) and node.catchall.kind == "never":
        w.line(f"if not {x}.keys() <= {keys}: refuse_unknown({x}, {shape})")
    else:
        w.line(f"if not {x}.keys() <= {keys}: {made} = extras({x}, {made}, {shape}, R)")


def _record(c: FastCompiler, node: n.RecordNode, x: str, out: str) -> int:
    w = c.writer
    made, key, value, result, mixed = (w.fresh(kind) for kind in ("made", "key", "x", "r", "mixed"))
    w.line(f"if {x}.__class__ is not dict or '__proto__' in {x}: raise F")
    w.line(f"{made} = {{}}; {mixed} = False")
    position = len(w.lines)
    w.line("")
    w.line(f"for {key}, {value} in {x}.items():")
    w.indent += 1
    cost = emit(c, node.value, value, result)
    w.line(f"if {result} is U: raise F")
    w.line(f"if {key}[:1] in DIGITS: {mixed} = True")
    w.line(f"{made}[{key}] = {result}")
    w.indent -= 1
    w.lines[position] = "    " * w.indent + f"R.steps += len({x}) * {1 + cost}"
    w.line(f"if {mixed}: {made} = ordered({made})")
    w.line(f"{out} = {x} if M is not None and same_dict({x}, {made}) else {made}")
    return 1


def _array(c: FastCompiler, node: n.ArrayNode, x: str, out: str) -> int:
    w = c.writer
    made, value, result = (w.fresh(kind) for kind in ("made", "x", "r"))
    w.line(f"if {x}.__class__ is not list: raise F")
    for check in node.checks:
        if isinstance(check, n.MinLength):
            w.line(f"if len({x}) < {check.minimum}: raise F")
        else:
            assert isinstance(check, n.MaxLength)
            w.line(f"if len({x}) > {check.maximum}: raise F")
    w.line(f"{made} = []")
    position = len(w.lines)
    w.line("")
    w.line(f"for {value} in {x}:")
    w.indent += 1
    cost = emit(c, node.element, value, result)
    w.line(f"{made}.append({result})")
    w.indent -= 1
    w.lines[position] = "    " * w.indent + f"R.steps += len({x}) * {cost}"
    w.line(f"{out} = {x} if M is not None and same_list({x}, {made}) else {made}")
    return 1 + len(node.checks)
