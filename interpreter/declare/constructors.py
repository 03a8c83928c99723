"""The namespace ``z``: every constructor of schemas and checks (spec/zod.md §4.1, spec/mvu.md §5.4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.declare import nodes as n
from interpreter.declare.check_makers import (
    callable_argument,
    format_check,
    issue_path,
    number_format,
)
from interpreter.declare.options import build_error, check_params, error_of, params, schema
from interpreter.declare.templates import template_node
from interpreter.evaluate.builtins.arguments import arg
from interpreter.evaluate.operators import call_function, describe, is_callable, property_key
from interpreter.evaluate.values import Getter, Native
from interpreter.javascript import UNDEFINED, js_key_order, truthy
from interpreter.regex import RegExp

Arguments = list[Any]
Make = Callable[[Run, Arguments], Any]

UNKNOWN = n.SimpleNode(kind="unknown")
NEVER = n.SimpleNode(kind="never")


# --- scalars -----------------------------------------------------------------------------------------------------


def string(coerce: bool) -> Make:
    """``z.string()`` and ``z.coerce.string()``."""
    return lambda run, a: n.StringNode(coerce=coerce, error=error_of(arg(a, 0)))


def number(coerce: bool) -> Make:
    """``z.number()`` and ``z.coerce.number()``."""
    return lambda run, a: n.NumberNode(coerce=coerce, error=error_of(arg(a, 0)))


def boolean(coerce: bool) -> Make:
    """``z.boolean()`` and ``z.coerce.boolean()``."""
    return lambda run, a: n.BooleanNode(coerce=coerce, error=error_of(arg(a, 0)))


def simple(kind: Any, coerce: bool = False) -> Make:
    """A kind without parameters."""
    return lambda run, a: n.SimpleNode(kind=kind, coerce=coerce, error=error_of(arg(a, 0)))


def string_format(name: str, fixed: dict[str, Any] | None = None) -> Make:
    """A format as a schema: a string whose first check is the format."""
    check = format_check(name, fixed)
    return lambda run, a: n.StringNode(checks=(check(run, a),), error=error_of(arg(a, 0)))


def _number_format(name: str) -> Make:
    check = number_format(name)
    return lambda run, a: n.NumberNode(checks=(check(run, a),), error=error_of(arg(a, 0)))


def _custom_format(_run: Run, a: Arguments) -> Any:
    name, rule = str(arg(a, 0)), arg(a, 1)
    pattern = rule.regex if isinstance(rule, RegExp) else None
    check = n.StringFormat(
        format=name,
        pattern=pattern,
        function=None if pattern else callable_argument(rule, name),
        **check_params(arg(a, 2)),
    )
    return n.StringNode(checks=(check,), error=error_of(arg(a, 2)))


def _hash(run: Run, a: Arguments) -> Any:
    encoding = params(arg(a, 1)).get("enc", "hex")
    return string_format(f"{arg(a, 0)}_{encoding}")(run, a[1:])


def _http_url(run: Run, a: Arguments) -> Any:
    from interpreter.formats import domain, http_protocol

    fixed = {"protocol": http_protocol(), "hostname": domain()}
    return string_format("url", fixed)(run, a)


def _enum(run: Run, a: Arguments) -> Any:
    values = arg(a, 0)
    entries: dict[str, Any]
    if isinstance(values, list):
        if run.restricted and (not values or not all(isinstance(value, str) for value in values)):
            raise build_error("expected a list of strings for z.enum, found something else")
        entries = {property_key(run, value): value for value in values}
    elif type(values) is dict:
        entries = dict(values)
    else:
        raise build_error(f"expected a list or an object for z.enum, found {describe(values)}")
    run.charge(len(entries))
    return n.EnumNode(entries=MappingProxyType(_ordered(entries)), error=error_of(arg(a, 1)))


def _ordered(entries: dict[str, Any]) -> dict[str, Any]:
    return {key: entries[key] for key in js_key_order(entries.keys())}


def enum_values(entries: Any) -> list[Any]:
    """The values of an enum; the reverse names of a numeric TypeScript enum are left out."""
    numbers = [value for value in entries.values() if js.is_number(value)]
    names = {js.js_number_text(value) for value in numbers}
    return [value for key, value in entries.items() if key not in names]


def _literal(run: Run, a: Arguments) -> Any:
    given = arg(a, 0)
    values = list(given) if isinstance(given, list) else [given]
    if not values:
        raise build_error("Cannot create literal schema with no valid values")
    for value in values:
        if not (value is None or value is UNDEFINED or isinstance(value, (bool, int, float, str))):
            raise build_error(f"expected a scalar for z.literal, found {describe(value)}")
    run.charge(len(values))
    return n.LiteralNode(values=tuple(values), error=error_of(arg(a, 1)))


def _nan_value(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


# --- containers --------------------------------------------------------------------------------------------------


def shape_of(run: Run, value: Any) -> dict[str, n.Node]:
    """The fields of a shape in JavaScript's key order; a getter becomes a lazy schema."""
    if value is UNDEFINED or value is None:
        return {}
    if type(value) is not dict:
        raise build_error(f"expected an object of schemas, found {describe(value)}")
    made: dict[str, n.Node] = {}
    for key in js_key_order(value.keys()):
        item = value[key]
        run.charge(1)
        if run.restricted and key in ("__proto__", "prototype", "constructor"):
            raise build_error(f"expected a safe key, found {key}")
        if type(item) is Getter:
            made[key] = n.LazyNode(resolver=_resolver(run, item.function))
        elif isinstance(item, n.Node):
            made[key] = item
        else:
            raise build_error(f'Invalid element at key "{key}": expected a Zod schema, found {describe(item)}')
    return made


def _resolver(run: Run, function: Any) -> Callable[[], n.Node]:
    return lambda: schema(call_function(run, function, []), "a lazy schema")


def _object(catchall: n.Node | None) -> Make:
    def make(run: Run, a: Arguments) -> Any:
        shape = MappingProxyType(shape_of(run, arg(a, 0)))
        options = params(arg(a, 1)) if not run.restricted else {}
        given = options.get("catchall")
        error = options.get("error")
        return n.ObjectNode(
            shape=shape,
            catchall=given if isinstance(given, n.Node) else catchall,
            error=None if error is UNDEFINED else error,
        )

    return make


def _array(_run: Run, a: Arguments) -> Any:
    return n.ArrayNode(element=schema(arg(a, 0), "z.array"), error=error_of(arg(a, 1)))


def _tuple(_run: Run, a: Arguments) -> Any:
    items = arg(a, 0)
    if not isinstance(items, list):
        raise build_error(f"expected a list of schemas for z.tuple, found {describe(items)}")
    rest = arg(a, 1) if isinstance(arg(a, 1), n.Node) else None
    options = arg(a, 2) if rest is not None else arg(a, 1)
    made = tuple(schema(item, "z.tuple") for item in items)
    return n.TupleNode(items=made, rest=rest, error=error_of(options))


def _record(*, partial: bool = False, loose: bool = False) -> Make:
    def make(_run: Run, a: Arguments) -> Any:
        key, value, options = arg(a, 0), arg(a, 1), arg(a, 2)
        if not isinstance(value, n.Node) and not partial and not loose:
            key, value, options = n.StringNode(), key, value
        return n.RecordNode(
            key=schema(key, "z.record"),
            value=schema(value, "z.record"),
            partial=partial,
            loose=loose,
            error=error_of(options),
        )

    return make


def _union(exclusive: bool) -> Make:
    def make(run: Run, a: Arguments) -> Any:
        options = arg(a, 0)
        if not isinstance(options, list) or (run.restricted and not options):
            raise build_error(f"expected a list of schemas for z.union, found {describe(options)}")
        made = tuple(schema(option, "z.union") for option in options)
        return n.UnionNode(options=made, exclusive=exclusive, error=error_of(arg(a, 1)))

    return make


def _discriminated(_run: Run, a: Arguments) -> Any:
    options = arg(a, 1)
    if not isinstance(options, list) or not isinstance(arg(a, 0), str):
        raise build_error("expected z.discriminatedUnion(key, [schemas]), found other arguments")
    made = tuple(schema(option, "z.discriminatedUnion") for option in options)
    fallback = truthy(params(arg(a, 2)).get("unionFallback", UNDEFINED))
    return n.DiscriminatedUnionNode(discriminator=arg(a, 0), options=made, fallback=fallback, error=error_of(arg(a, 2)))


def _intersection(_run: Run, a: Arguments) -> Any:
    return n.IntersectionNode(left=schema(arg(a, 0), "z.intersection"), right=schema(arg(a, 1), "z.intersection"))


# --- wrappers and functions --------------------------------------------------------------------------------------


def wrapper(kind: Any, **fields: Any) -> Make:
    """``z.optional(schema)`` and its kin."""
    return lambda run, a: kind(inner=schema(arg(a, 0), "a wrapper"), **fields)


def _non_optional(_run: Run, a: Arguments) -> Any:
    return n.NonOptionalNode(inner=schema(arg(a, 0), "z.nonoptional"), error=error_of(arg(a, 1)))


def valued(kind: Any, *, error: bool = False) -> Make:
    """``default``, ``prefault`` and ``catch``: a value or a function that gives one."""

    def make(run: Run, a: Arguments) -> Any:
        inner, value = schema(arg(a, 0), "a default"), arg(a, 1)
        if is_callable(value):
            if run.restricted:
                raise build_error("expected JSON data as a default, found a function")
            return kind(inner=inner, function=value)
        if run.restricted:
            check_data(value)
        return kind(inner=inner, value=value)

    return make


def check_data(value: Any) -> None:
    """Refuse anything but JSON data as a default (spec/mvu.md §5.4)."""
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is dict:
            stack.extend(item.values())
        elif type(item) is list:
            stack.extend(item)
        elif not (item is None or isinstance(item, (bool, int, float, str))):
            raise build_error(f"expected JSON data as a default, found {describe(item)}")


def _transform(_run: Run, a: Arguments) -> Any:
    return n.TransformNode(function=callable_argument(arg(a, 0), "transform"))


def _preprocess(_run: Run, a: Arguments) -> Any:
    function = n.TransformNode(function=callable_argument(arg(a, 0), "preprocess"))
    return n.PipeNode(left=function, right=schema(arg(a, 1), "z.preprocess"))


def _pipe(_run: Run, a: Arguments) -> Any:
    return n.PipeNode(left=schema(arg(a, 0), "pipe"), right=schema(arg(a, 1), "pipe"))


def _codec(_run: Run, a: Arguments) -> Any:
    options = params(arg(a, 2))
    return n.CodecNode(
        left=schema(arg(a, 0), "z.codec"),
        right=schema(arg(a, 1), "z.codec"),
        decode=callable_argument(options.get("decode"), "decode"),
        encode=options.get("encode"),
    )


def _lazy(run: Run, a: Arguments) -> Any:
    return n.LazyNode(resolver=_resolver(run, callable_argument(arg(a, 0), "z.lazy")))


def _json(_run: Run, a: Arguments) -> Any:
    def resolve() -> n.Node:
        scalars = (n.StringNode(error=error_of(arg(a, 0))), n.NumberNode(), n.BooleanNode(), n.SimpleNode(kind="null"))
        record = n.RecordNode(key=n.StringNode(), value=lazy)
        return n.UnionNode(options=(*scalars, n.ArrayNode(element=lazy), record))

    lazy = n.LazyNode(resolver=resolve)
    return lazy


def _custom(_run: Run, a: Arguments) -> Any:
    function = arg(a, 0)
    if function is UNDEFINED:
        return n.CustomNode()
    options = params(arg(a, 1))
    fields = check_params(arg(a, 1))
    fields["abort"] = options.get("abort") is not False
    given = options.get("params", UNDEFINED)
    check = n.Refine(
        function=callable_argument(function, "z.custom"),
        path=issue_path(options.get("path")),
        params=None if given is UNDEFINED else given,
        **fields,
    )
    return n.CustomNode(checks=(check,), error=error_of(arg(a, 1)))


def _instance_of(_run: Run, a: Arguments) -> Any:
    from interpreter.evaluate.expressions import _instance_of as instance_of

    kind = arg(a, 0)
    test = Native("instanceof", lambda run, inner: instance_of(arg(inner, 0), kind))
    name = getattr(kind, "name", "object")
    return n.CustomNode(checks=(n.Refine(function=test, expected=name, **check_params(arg(a, 1))),))


def _stringbool(run: Run, a: Arguments) -> Any:
    options = params(arg(a, 0))
    truthy_words = options.get("truthy", ["true", "1", "yes", "on", "y", "enabled"])
    falsy_words = options.get("falsy", ["false", "0", "no", "off", "n", "disabled"])
    sensitive = options.get("case") == "sensitive"

    def words(values: Any) -> tuple[Any, ...]:
        listed = values if isinstance(values, list) else []
        run.charge(len(listed))
        folded = [value if sensitive or not isinstance(value, str) else value.lower() for value in listed]
        return tuple(dict.fromkeys(folded))

    return n.StringBoolNode(
        truthy=words(truthy_words), falsy=words(falsy_words), sensitive=sensitive, error=error_of(arg(a, 0))
    )


def _map(_run: Run, a: Arguments) -> Any:
    return n.MapNode(key=schema(arg(a, 0), "z.map"), value=schema(arg(a, 1), "z.map"), error=error_of(arg(a, 2)))


def _set(_run: Run, a: Arguments) -> Any:
    return n.SetNode(value=schema(arg(a, 0), "z.set"), error=error_of(arg(a, 1)))


def _keyof(_run: Run, a: Arguments) -> Any:
    target = arg(a, 0)
    if not isinstance(target, n.ObjectNode):
        raise build_error("expected an object schema for keyof")
    return n.EnumNode(entries=MappingProxyType({key: key for key in target.shape}))


# --- the namespace -----------------------------------------------------------------------------------------------

_SIMPLE_KINDS = ("any", "unknown", "never", "null", "undefined", "void", "nan", "date", "bigint", "symbol", "file")
FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        name: (name, {})
        for name in [
            "email",
            "url",
            "emoji",
            "guid",
            "uuid",
            "nanoid",
            "cuid",
            "cuid2",
            "ulid",
            "xid",
            "ksuid",
            "ipv4",
            "ipv6",
            "mac",
            "cidrv4",
            "cidrv6",
            "base64",
            "base64url",
            "e164",
            "jwt",
            "hostname",
            "hex",
        ]
    },
    "uuidv4": ("uuid", {"version": "v4"}),
    "uuidv6": ("uuid", {"version": "v6"}),
    "uuidv7": ("uuid", {"version": "v7"}),
}
ISO_FORMATS = ("datetime", "date", "time", "duration")
SCHEMAS: dict[str, Make] = {
    "string": string(False),
    "number": number(False),
    "boolean": boolean(False),
    **{kind: simple(kind) for kind in _SIMPLE_KINDS},
    **{name: string_format(*spec) for name, spec in FORMATS.items()},
    **{name: _number_format(name) for name in ("int32", "uint32", "float32", "float64")},
    "int": _number_format("safeint"),
    "stringFormat": _custom_format,
    "hash": _hash,
    "httpUrl": _http_url,
    "enum": _enum,
    "nativeEnum": _enum,
    "literal": _literal,
    "object": _object(None),
    "strictObject": _object(NEVER),
    "looseObject": _object(UNKNOWN),
    "array": _array,
    "tuple": _tuple,
    "record": _record(),
    "partialRecord": _record(partial=True),
    "looseRecord": _record(loose=True),
    "map": _map,
    "set": _set,
    "union": _union(False),
    "xor": _union(True),
    "discriminatedUnion": _discriminated,
    "intersection": _intersection,
    "optional": wrapper(n.OptionalNode),
    "exactOptional": wrapper(n.OptionalNode, exact=True),
    "nullable": wrapper(n.NullableNode),
    "nullish": lambda run, a: n.OptionalNode(inner=n.NullableNode(inner=schema(arg(a, 0), "z.nullish"))),
    "nonoptional": _non_optional,
    "readonly": wrapper(n.ReadonlyNode),
    "success": wrapper(n.SuccessNode),
    "_default": valued(n.DefaultNode),
    "prefault": valued(n.PrefaultNode),
    "catch": valued(n.CatchNode),
    "transform": _transform,
    "preprocess": _preprocess,
    "pipe": _pipe,
    "codec": _codec,
    "lazy": _lazy,
    "json": _json,
    "custom": _custom,
    "instanceof": _instance_of,
    "stringbool": _stringbool,
    "templateLiteral": lambda run, a: template_node(run, arg(a, 0), error_of(arg(a, 1))),
    "keyof": _keyof,
}
