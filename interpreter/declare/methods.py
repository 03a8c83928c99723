"""The methods and members of schemas (spec/zod.md §4.3, spec/mvu.md §5.4). Every method makes a new schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.declare import check_makers as k
from interpreter.declare import constructors as c
from interpreter.declare import nodes as n
from interpreter.declare.options import build_error, error_of, params, schema
from interpreter.evaluate.builtins.arguments import arg
from interpreter.evaluate.operators import call_function, describe, is_callable
from interpreter.evaluate.properties import METHODS, register_reader
from interpreter.evaluate.values import SetValue, type_error
from interpreter.javascript import UNDEFINED, js_key_order, truthy

Arguments = list[Any]
Method = Callable[[Run, Any, Arguments], Any]

PARSERS: dict[str, Callable[[Run, n.Node, Any], Any]] = {}
"""``parse`` and ``safeParse`` inside author functions; the parser fills it in."""


def add_checks(node: Any, *checks: n.Check) -> Any:
    """The schema with more checks; annotations change its metadata only."""
    meta = dict(node.meta)
    for check in checks:
        if isinstance(check, n.Annotation):
            meta.update(check.data)
    kept = tuple(check for check in checks if not isinstance(check, n.Annotation))
    return replace(node, checks=(*node.checks, *kept), meta=MappingProxyType(meta))


def check_method(make: k.Make) -> Method:
    """A method that adds the check which a constructor makes."""

    def method(run: Run, node: Any, a: Arguments) -> Any:
        run.charge(1)
        return add_checks(node, make(run, a))

    return method


def wrap_method(make: k.Make) -> Method:
    """A method that wraps the schema as a constructor does."""

    def method(run: Run, node: Any, a: Arguments) -> Any:
        run.charge(1)
        return make(run, [node, *a])

    return method


def _check(run: Run, node: Any, a: Arguments) -> Any:
    made: list[n.Check] = []
    for item in a:
        if isinstance(item, n.Check):
            made.append(item)
        elif is_callable(item):
            made.append(k.check_function(run, [item]))
        elif isinstance(item, n.Node):
            made.extend(item.checks)
        else:
            raise build_error(f"expected a check, found {describe(item)}")
    return add_checks(node, *made)


def _describe(run: Run, node: Any, a: Arguments) -> Any:
    run.charge(1)
    text = arg(a, 0)
    if run.restricted and not isinstance(text, str):
        raise build_error(f"expected a text for describe, found {describe(text)}")
    return _with_meta(node, {"description": text})


def _meta(_run: Run, node: Any, a: Arguments) -> Any:
    if not a:
        return dict(node.meta) if node.meta else UNDEFINED
    if type(a[0]) is not dict:
        raise build_error(f"expected an object for meta, found {describe(a[0])}")
    return _with_meta(node, a[0])


def _with_meta(node: Any, data: dict[str, Any]) -> Any:
    inherited = {key: value for key, value in node.meta.items() if key != "id"}
    return replace(node, meta=MappingProxyType({**inherited, **data}))


def _itself(_run: Run, node: Any, _a: Arguments) -> Any:
    return node


def _or(_run: Run, node: Any, a: Arguments) -> Any:
    return n.UnionNode(options=(node, schema(arg(a, 0), "or")))


def _and(_run: Run, node: Any, a: Arguments) -> Any:
    return n.IntersectionNode(left=node, right=schema(arg(a, 0), "and"))


def _transform(run: Run, node: Any, a: Arguments) -> Any:
    return n.PipeNode(left=node, right=c.SCHEMAS["transform"](run, a))


def _pipe(_run: Run, node: Any, a: Arguments) -> Any:
    return n.PipeNode(left=node, right=schema(arg(a, 0), "pipe"))


def _apply(run: Run, node: Any, a: Arguments) -> Any:
    return call_function(run, arg(a, 0), [node])


def _parser(name: str) -> Method:
    def method(run: Run, node: Any, a: Arguments) -> Any:
        return PARSERS[name](run, node, arg(a, 0))

    return method


def _is(value: Any) -> Method:
    return lambda run, node, a: PARSERS["safeParse"](run, node, value)["success"]


_COMMON: dict[str, Method] = {
    "check": _check,
    "with": _check,
    "refine": check_method(k.refine_check),
    "superRefine": check_method(k.super_refine_check),
    "overwrite": check_method(k.overwrite_function),
    "optional": wrap_method(c.wrapper(n.OptionalNode)),
    "exactOptional": wrap_method(c.wrapper(n.OptionalNode, exact=True)),
    "nullable": wrap_method(c.wrapper(n.NullableNode)),
    "nullish": wrap_method(c.SCHEMAS["nullish"]),
    "nonoptional": wrap_method(c.SCHEMAS["nonoptional"]),
    "array": wrap_method(c.SCHEMAS["array"]),
    "or": _or,
    "and": _and,
    "transform": _transform,
    "default": wrap_method(c.valued(n.DefaultNode)),
    "prefault": wrap_method(c.valued(n.PrefaultNode)),
    "catch": wrap_method(c.valued(n.CatchNode)),
    "pipe": _pipe,
    "readonly": wrap_method(c.wrapper(n.ReadonlyNode)),
    "describe": _describe,
    "meta": _meta,
    "brand": _itself,
    "register": _itself,
    "clone": _itself,
    "apply": _apply,
    "parse": _parser("parse"),
    "safeParse": _parser("safeParse"),
    "decode": _parser("parse"),
    "safeDecode": _parser("safeParse"),
    "isOptional": _is(UNDEFINED),
    "isNullable": _is(None),
}

_STRING: dict[str, Method] = {
    **{
        name: check_method(k.CHECKS[name])
        for name in [
            "regex",
            "includes",
            "startsWith",
            "endsWith",
            "length",
            "lowercase",
            "uppercase",
            "trim",
            "normalize",
            "toLowerCase",
            "toUpperCase",
            "slugify",
        ]
    },
    "min": check_method(k.CHECKS["minLength"]),
    "max": check_method(k.CHECKS["maxLength"]),
    "nonempty": check_method(k.length_check(n.MinLength, "minimum", 1)),
    **{name: check_method(k.format_check(*spec)) for name, spec in c.FORMATS.items()},
    **{name: check_method(k.format_check(name)) for name in c.ISO_FORMATS},
}
_NUMBER: dict[str, Method] = {
    **{
        name: check_method(k.CHECKS[name])
        for name in ["gt", "gte", "lt", "lte", "positive", "negative", "nonpositive", "nonnegative"]
    },
    "min": check_method(k.CHECKS["gte"]),
    "max": check_method(k.CHECKS["lte"]),
    "multipleOf": check_method(k.multiple_of),
    "step": check_method(k.multiple_of),
    "int": check_method(k.number_format("safeint")),
    "safe": check_method(k.number_format("safeint")),
    "finite": _itself,
}
_ARRAY: dict[str, Method] = {
    "min": check_method(k.CHECKS["minLength"]),
    "max": check_method(k.CHECKS["maxLength"]),
    "length": check_method(k.CHECKS["length"]),
    "nonempty": check_method(k.length_check(n.MinLength, "minimum", 1)),
    "unwrap": lambda run, node, a: node.element,
}
_SIZED: dict[str, Method] = {
    "min": check_method(k.CHECKS["minSize"]),
    "max": check_method(k.CHECKS["maxSize"]),
    "size": check_method(k.CHECKS["size"]),
    "nonempty": check_method(k.length_check(n.MinSize, "minimum", 1)),
}


# --- numbers and strings under versions 1 and 2 --------------------------------------------------------------------


def _bounded(method: Method, *, length: bool) -> Method:
    """Versions 1 and 2 take a finite number, for lengths a non-negative safe integer (spec/mvu.md §5.4)."""

    def checked(run: Run, node: Any, a: Arguments) -> Any:
        value = arg(a, 0)
        if run.restricted:
            good = (
                js.is_safe_integer(value) and value >= 0
                if length
                else js.is_number(value) and abs(value) < float("inf")
            )
            if not good:
                wanted = "a non-negative integer" if length else "a finite number"
                raise build_error(f"expected {wanted} as a bound, found {describe(value)}")
        return method(run, node, a)

    return checked


for _table, _length in ((_STRING, True), (_ARRAY, True), (_NUMBER, False)):
    for _name in ("min", "max"):
        _table[_name] = _bounded(_table[_name], length=_length)


# --- objects -----------------------------------------------------------------------------------------------------


def _catchall(value: n.Node | None) -> Method:
    def method(run: Run, node: Any, a: Arguments) -> Any:
        run.charge(1)
        if run.restricted and a:
            raise build_error("expected no arguments")
        return replace(node, catchall=value)

    return method


def _catchall_schema(_run: Run, node: Any, a: Arguments) -> Any:
    return replace(node, catchall=schema(arg(a, 0), "catchall"))


def _shape(shape: dict[str, n.Node]) -> Any:
    return MappingProxyType({key: shape[key] for key in js_key_order(shape.keys())})


def _extend(safe: bool) -> Method:
    def method(run: Run, node: Any, a: Arguments) -> Any:
        given = arg(a, 0)
        if type(given) is not dict:
            raise build_error("Invalid input to extend: expected a plain object")
        added = c.shape_of(run, given)
        if node.checks and not safe and any(key in node.shape for key in added):
            raise build_error(
                "Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead."
            )
        run.charge(len(node.shape))
        return replace(node, shape=_shape({**node.shape, **added}))

    return method


def _merge(run: Run, node: Any, a: Arguments) -> Any:
    other = arg(a, 0)
    if not isinstance(other, n.ObjectNode):
        raise build_error(f"expected an object schema to merge, found {describe(other)}")
    if node.checks:
        raise build_error(
            ".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead."
        )
    run.charge(len(node.shape) + len(other.shape))
    merged = _shape({**node.shape, **other.shape})
    return replace(node, shape=merged, catchall=other.catchall, checks=other.checks)


def _mask(node: Any, value: Any) -> list[str]:
    if type(value) is not dict:
        return []
    for key in value:
        if key not in node.shape:
            raise build_error(f'Unrecognized key: "{key}"')
    return [key for key, chosen in value.items() if truthy(chosen)]


def _refuse_checks(node: Any, name: str) -> None:
    if node.checks:
        raise build_error(f".{name}() cannot be used on object schemas containing refinements")


def _pick(run: Run, node: Any, a: Arguments) -> Any:
    _refuse_checks(node, "pick")
    run.charge(len(node.shape))
    return replace(node, shape=_shape({key: node.shape[key] for key in _mask(node, arg(a, 0))}))


def _omit(run: Run, node: Any, a: Arguments) -> Any:
    _refuse_checks(node, "omit")
    left_out = set(_mask(node, arg(a, 0)))
    run.charge(len(node.shape))
    return replace(node, shape=_shape({key: field for key, field in node.shape.items() if key not in left_out}))


def _each(wrap: Callable[[n.Node], n.Node], *, refuse: str | None) -> Method:
    def method(run: Run, node: Any, a: Arguments) -> Any:
        if refuse is not None:
            _refuse_checks(node, refuse)
        chosen = set(_mask(node, arg(a, 0))) if type(arg(a, 0)) is dict else set(node.shape)
        run.charge(len(node.shape))
        shape = {key: wrap(field) if key in chosen else field for key, field in node.shape.items()}
        return replace(node, shape=_shape(shape), checks=() if refuse else node.checks)

    return method


def _keyof(run: Run, node: Any, _a: Arguments) -> Any:
    return c.SCHEMAS["keyof"](run, [node])


_OBJECT: dict[str, Method] = {
    "strict": _catchall(c.NEVER),
    "strip": _catchall(None),
    "passthrough": _catchall(c.UNKNOWN),
    "loose": _catchall(c.UNKNOWN),
    "catchall": _catchall_schema,
    "extend": _extend(safe=False),
    "safeExtend": _extend(safe=True),
    "merge": _merge,
    "pick": _pick,
    "omit": _omit,
    "partial": _each(lambda field: n.OptionalNode(inner=field), refuse="partial"),
    "required": _each(lambda field: n.NonOptionalNode(inner=field), refuse=None),
    "keyof": _keyof,
}


# --- enums, tuples, wrappers ---------------------------------------------------------------------------------------


def _enum_part(keep: bool) -> Method:
    def method(run: Run, node: Any, a: Arguments) -> Any:
        listed = arg(a, 0) if isinstance(arg(a, 0), list) else []
        run.charge(len(node.entries))
        for name in listed:
            if name not in node.entries:
                raise build_error(f"Key {name} not found in enum")
        if keep:
            entries = {name: node.entries[name] for name in listed}
        else:
            entries = {name: value for name, value in node.entries.items() if name not in listed}
        error = error_of(arg(a, 1))
        return replace(node, entries=MappingProxyType(entries), checks=(), error=error if error else node.error)

    return method


def _unwrap(_run: Run, node: Any, _a: Arguments) -> Any:
    return node.inner


def _rest(_run: Run, node: Any, a: Arguments) -> Any:
    return replace(node, rest=schema(arg(a, 0), "rest"))


_WRAPPER: dict[str, Method] = {"unwrap": _unwrap, "removeDefault": _unwrap, "removeCatch": _unwrap}
_BY_CLASS: dict[type, dict[str, Method]] = {
    n.StringNode: _STRING,
    n.NumberNode: _NUMBER,
    n.SimpleNode: {name: _NUMBER[name] for name in ("min", "max", "gt", "gte", "lt", "lte")},
    n.ArrayNode: _ARRAY,
    n.MapNode: _SIZED,
    n.SetNode: _SIZED,
    n.ObjectNode: _OBJECT,
    n.EnumNode: {"extract": _enum_part(True), "exclude": _enum_part(False)},
    n.TupleNode: {"rest": _rest},
    n.LazyNode: {"unwrap": lambda run, node, a: node.resolve()},
    **dict.fromkeys(n.WrapperNode.__subclasses__(), _WRAPPER),
}


def _all_kinds() -> list[type]:
    found: list[type] = []
    stack = list(n.Node.__subclasses__())
    while stack:
        kind = stack.pop()
        found.append(kind)
        stack.extend(kind.__subclasses__())
    return found


for _kind in _all_kinds():
    METHODS[_kind] = {**_COMMON, **_BY_CLASS.get(_kind, {})}


# --- members -----------------------------------------------------------------------------------------------------

_TYPES: dict[type, str] = {
    n.StringNode: "string",
    n.NumberNode: "number",
    n.BooleanNode: "boolean",
    n.ObjectNode: "object",
    n.ArrayNode: "array",
    n.RecordNode: "record",
    n.EnumNode: "enum",
    n.LiteralNode: "literal",
    n.UnionNode: "union",
    n.DiscriminatedUnionNode: "union",
    n.IntersectionNode: "intersection",
    n.TupleNode: "tuple",
    n.OptionalNode: "optional",
    n.NullableNode: "nullable",
    n.DefaultNode: "default",
    n.PrefaultNode: "prefault",
    n.CatchNode: "catch",
    n.PipeNode: "pipe",
    n.TransformNode: "transform",
    n.LazyNode: "lazy",
    n.ReadonlyNode: "readonly",
    n.NonOptionalNode: "nonoptional",
    n.TemplateNode: "template_literal",
    n.CustomNode: "custom",
}
_MEMBERS: dict[tuple[type, str], Callable[[Any], Any]] = {
    (n.ObjectNode, "shape"): lambda node: dict(node.shape),
    (n.ArrayNode, "element"): lambda node: node.element,
    (n.EnumNode, "options"): lambda node: list(node.entries.values()),
    (n.EnumNode, "enum"): lambda node: dict(node.entries),
    (n.LiteralNode, "values"): lambda node: SetValue(list(node.values)),
    (n.LiteralNode, "value"): lambda node: node.values[0],
    (n.UnionNode, "options"): lambda node: list(node.options),
    (n.DiscriminatedUnionNode, "options"): lambda node: list(node.options),
    (n.RecordNode, "keyType"): lambda node: node.key,
    (n.RecordNode, "valueType"): lambda node: node.value,
    (n.MapNode, "keyType"): lambda node: node.key,
    (n.MapNode, "valueType"): lambda node: node.value,
    (n.PipeNode, "in"): lambda node: node.left,
    (n.PipeNode, "out"): lambda node: node.right,
}


def _read(run: Run, node: Any, name: str) -> Any:
    """A member of a schema; an unknown one is a fault with the nearest known one."""
    if run.restricted:
        raise build_error(f"expected a call of a schema's method, found the member {name} of a schema")
    member = _MEMBERS.get((type(node), name))
    if member is not None:
        return member(node)
    if name == "description":
        return node.meta.get("description", UNDEFINED)
    if name == "type":
        return _TYPES.get(type(node), getattr(node, "kind", "unknown"))
    table = METHODS[type(node)]
    if name in table:
        from interpreter.evaluate.values import Native

        method = table[name]
        return Native(name, lambda inner, arguments: method(inner, node, arguments))
    raise unknown_method(node, name)


def unknown_method(node: n.Node, name: str) -> Exception:
    """The exception for a method that a schema of this kind has not."""
    kind = _TYPES.get(type(node), getattr(node, "kind", "this kind of"))
    close = get_close_matches(name, list(METHODS[type(node)]), 1, 0.6)
    hint = f"; the nearest is .{close[0]}()" if close else ""
    return type_error(f"a {kind} schema has no method .{name}(){hint}")


register_reader(n.Node, _read)


def message_of(value: Any) -> Any:
    """The message that parameters give, or None."""
    return params(value).get("error")
