"""JSON Schema and fields of schema graphs made by hand: what each kind of node says, and its bounds."""

from typing import Any

import jsonschema
import pytest

from interpreter.declare import nodes as n
from interpreter.fields import FIELDS, schema_fields
from interpreter.javascript import UNDEFINED
from interpreter.jsonschema import json_schema
from interpreter.jsonschema.build import INLINE
from interpreter.regex import compile_regex

S, N, B = n.StringNode, n.NumberNode, n.BooleanNode
TEXT, NUMBER = S(), N()
ANY = n.SimpleNode(kind="any")
NEVER = n.SimpleNode(kind="never")
DATE = n.SimpleNode(kind="date")


def identity(value: Any) -> Any:
    return value


TRANSFORM = n.TransformNode(function=identity)


def low(value: Any, inclusive: bool = True) -> n.Check:
    return n.GreaterThan(value=value, inclusive=inclusive)


def high(value: Any, inclusive: bool = True) -> n.Check:
    return n.LessThan(value=value, inclusive=inclusive)


def text(*checks: n.Check) -> n.Node:
    return S(checks=checks)


def number(*checks: n.Check) -> n.Node:
    return N(checks=checks)


def shape(catchall: n.Node | None = None, **members: n.Node) -> n.ObjectNode:
    return n.ObjectNode(shape=members, catchall=catchall)


TRIM = n.Overwrite(name="trim")

# node, what comes out, what is given (None: the same)
CASES: list[tuple[str, n.Node, dict[str, Any], dict[str, Any] | None]] = [
    ("string", TEXT, {"type": "string"}, None),
    (
        "units",
        text(n.MinLength(minimum=5), n.MaxLength(maximum=9)),
        {"type": "string", "minLength": 3, "maxLength": 9},
        None,
    ),
    ("length", text(n.ExactLength(length=1)), {"type": "string", "minLength": 1, "maxLength": 1}, None),
    ("email", text(n.StringFormat(format="email")), {"type": "string", "format": "email"}, None),
    ("datetime", text(n.StringFormat(format="datetime")), {"type": "string", "format": "date-time"}, None),
    ("local", text(n.StringFormat(format="datetime", options={"local": True})), {"type": "string"}, None),
    ("time", text(n.StringFormat(format="time")), {"type": "string"}, None),
    (
        "ulid",
        text(n.StringFormat(format="xid")),
        {"type": "string", "format": "xid", "pattern": "^[0-9A-Va-v]{20}$"},
        None,
    ),
    (
        "regex",
        text(n.StringFormat(format="regex", pattern=compile_regex("^a"))),
        {"type": "string", "pattern": "^a"},
        None,
    ),
    ("flags", text(n.StringFormat(format="regex", pattern=compile_regex("^a", "i"))), {"type": "string"}, None),
    (
        "affixes",
        text(n.StartsWith(text="a.b"), n.EndsWith(text="c"), n.Includes(text="[")),
        {"type": "string", "allOf": [{"pattern": r"^a\.b"}, {"pattern": "c$"}, {"pattern": r"\["}]},
        None,
    ),
    ("trim last", text(n.MaxLength(maximum=3), TRIM), {"type": "string"}, {"type": "string", "maxLength": 3}),
    ("trim first", text(TRIM, n.MaxLength(maximum=3)), {"type": "string", "maxLength": 3}, {"type": "string"}),
    ("own overwrite", text(n.Overwrite(function=identity)), {}, {"type": "string"}),
    ("condition", text(n.MaxLength(maximum=3, when=identity)), {"type": "string"}, None),
    ("number", number(low(0), high(9, False)), {"type": "number", "minimum": 0, "exclusiveMaximum": 9}, None),
    ("bounds", number(low(0), low(5), high(9), high(7)), {"type": "number", "minimum": 5, "maximum": 7}, None),
    ("int", number(n.NumberFormat(format="safeint")), {"type": "integer"}, None),
    (
        "uint32",
        number(n.NumberFormat(format="uint32"), low(3)),
        {"type": "integer", "minimum": 3, "maximum": 2**32 - 1},
        None,
    ),
    ("multiple", number(n.MultipleOf(value=5)), {"type": "number", "multipleOf": 5}, None),
    ("tolerant multiple", number(n.MultipleOf(value=0.1)), {"type": "number"}, None),
    ("boolean", B(), {"type": "boolean"}, None),
    ("null", n.SimpleNode(kind="null"), {"type": "null"}, None),
    ("any", ANY, {}, None),
    ("never", NEVER, {"not": {}}, None),
    ("date", DATE, {"not": {}}, None),
    ("set", n.SetNode(value=TEXT), {"not": {}}, None),
    ("enum", n.EnumNode(entries={"a": "a", "b": "b"}), {"type": "string", "enum": ["a", "b"]}, None),
    ("mixed enum", n.EnumNode(entries={"a": "a", "b": 1.0}), {"enum": ["a", 1]}, None),
    ("literal", n.LiteralNode(values=("x",)), {"type": "string", "const": "x"}, None),
    ("literals", n.LiteralNode(values=(1, None, UNDEFINED)), {"enum": [1, None]}, None),
    ("undefined", n.LiteralNode(values=(UNDEFINED,)), {"not": {}}, None),
    ("template", n.TemplateNode(parts=("a", NUMBER), source="^a1$"), {"type": "string", "pattern": "^a1$"}, None),
    (
        "array",
        n.ArrayNode(element=TEXT, checks=(n.MinLength(minimum=3),)),
        {"type": "array", "items": {"type": "string"}, "minItems": 3},
        None,
    ),
    (
        "tuple",
        n.TupleNode(items=(TEXT, n.OptionalNode(inner=NUMBER))),
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": False, "minItems": 1},
        None,
    ),
    ("empty tuple", n.TupleNode(items=(), rest=TEXT), {"type": "array", "items": {"type": "string"}}, None),
    (
        "strip",
        shape(a=TEXT),
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    ),
    (
        "loose",
        shape(ANY, a=n.OptionalNode(inner=TEXT)),
        {"type": "object", "properties": {"a": {"type": "string"}}},
        None,
    ),
    ("strict", shape(NEVER), {"type": "object", "properties": {}, "additionalProperties": False}, None),
    ("catchall", shape(NUMBER), {"type": "object", "properties": {}, "additionalProperties": {"type": "number"}}, None),
    (
        "record",
        n.RecordNode(key=TEXT, value=NUMBER),
        {"type": "object", "additionalProperties": {"type": "number"}},
        None,
    ),
    (
        "record names",
        n.RecordNode(key=text(n.StartsWith(text="x")), value=NUMBER),
        {"type": "object", "propertyNames": {"pattern": "^x"}, "additionalProperties": {"type": "number"}},
        None,
    ),
    (
        "closed record",
        n.RecordNode(
            key=n.UnionNode(options=(n.LiteralNode(values=("a", 1)), n.EnumNode(entries={"b": "b"}))), value=B()
        ),
        {
            "type": "object",
            "required": ["a", "1", "b"],
            "propertyNames": {"enum": ["a", "1", "b"]},
            "additionalProperties": {"type": "boolean"},
        },
        None,
    ),
    (
        "partial record",
        n.RecordNode(key=n.LiteralNode(values=("a",)), value=B(), partial=True),
        {"type": "object", "propertyNames": {"enum": ["a"]}, "additionalProperties": {"type": "boolean"}},
        None,
    ),
    ("loose record", n.RecordNode(key=TEXT, value=B(), loose=True), {"type": "object"}, None),
    ("union", n.UnionNode(options=(TEXT, DATE, NUMBER)), {"anyOf": [{"type": "string"}, {"type": "number"}]}, None),
    ("union of one", n.UnionNode(options=(TEXT, n.SimpleNode(kind="undefined"))), {"type": "string"}, None),
    ("union of none", n.UnionNode(options=(DATE,)), {"not": {}}, None),
    (
        "intersection",
        n.IntersectionNode(left=shape(a=shape(b=TEXT)), right=shape(c=TEXT)),
        {
            "allOf": [
                {
                    "type": "object",
                    "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}},
                    "required": ["a"],
                },
                {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]},
            ]
        },
        None,
    ),
    (
        "object and record",
        n.IntersectionNode(left=shape(a=TEXT), right=n.RecordNode(key=TEXT, value=NUMBER)),
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "additionalProperties": {"type": "number"},
        },
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"type": "object", "additionalProperties": {"type": "number"}},
            ]
        },
    ),
    ("nullable", n.NullableNode(inner=TEXT), {"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
    ("nullable any", n.NullableNode(inner=ANY), {}, None),
    ("readonly", n.ReadonlyNode(inner=TEXT), {"type": "string", "readOnly": True}, None),
    ("default", n.DefaultNode(inner=number(low(0)), value=3.0), {"type": "number", "minimum": 0, "default": 3}, None),
    (
        "default outside its schema",
        n.DefaultNode(inner=number(low(10)), value=3),
        {"anyOf": [{"type": "number", "minimum": 10}, {"const": 3}], "default": 3},
        {"type": "number", "minimum": 10, "default": 3},
    ),
    (
        "default by function",
        n.DefaultNode(inner=TEXT, function=identity),
        {"anyOf": [{"type": "string"}, {}]},
        {"type": "string"},
    ),
    ("prefault", n.PrefaultNode(inner=TEXT, value="a"), {"type": "string"}, {"type": "string", "default": "a"}),
    (
        "catch",
        n.CatchNode(inner=B(), value=0),
        {"anyOf": [{"type": "boolean"}, {"const": 0}], "default": 0},
        {"type": "boolean", "default": 0},
    ),
    ("transform", n.PipeNode(left=TEXT, right=TRANSFORM), {}, {"type": "string"}),
    ("preprocess", n.PipeNode(left=TRANSFORM, right=TEXT), {"type": "string"}, None),
    ("codec", n.CodecNode(left=TEXT, right=NUMBER, decode=identity), {"type": "number"}, {"type": "string"}),
    (
        "stringbool",
        n.StringBoolNode(truthy=("y",), falsy=("n",), sensitive=True),
        {"type": "boolean"},
        {"type": "string", "enum": ["y", "n"]},
    ),
    ("success", n.SuccessNode(inner=TEXT), {"type": "boolean"}, None),
    ("custom", n.CustomNode(), {}, None),
    (
        "metadata",
        S(
            meta={
                "description": "名",
                "title": "t",
                "examples": ["a"],
                "id": "x",
                "type": "number",
                "x-y": 1,
                "deprecated": len,
            }
        ),
        {"type": "string", "description": "名", "title": "t", "examples": ["a"], "x-y": 1},
        None,
    ),
    (
        "outer description",
        n.OptionalNode(inner=S(meta={"description": "inner"}), meta={"description": "outer"}),
        {"type": "string", "description": "outer"},
        None,
    ),
]


@pytest.mark.parametrize(("node", "output", "given"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_schemas(node: n.Node, output: dict[str, Any], given: dict[str, Any] | None) -> None:
    for io, wanted in (("output", output), ("input", output if given is None else given)):
        schema = json_schema(node, io)  # type: ignore[arg-type]
        assert schema.pop("$schema") == "https://json-schema.org/draft/2020-12/schema"
        assert schema == wanted, io
        jsonschema.Draft202012Validator.check_schema(schema)


PRESENCE: list[tuple[n.Node, bool, bool]] = [  # node, required out, required in
    (TEXT, True, True),
    (n.OptionalNode(inner=TEXT), False, False),
    (n.NonOptionalNode(inner=n.OptionalNode(inner=TEXT)), True, True),
    (n.DefaultNode(inner=TEXT, value=""), True, False),
    (n.PrefaultNode(inner=n.OptionalNode(inner=TEXT), value=""), False, False),
    (n.PrefaultNode(inner=TEXT, function=identity), True, False),
    (n.CatchNode(inner=TEXT, function=identity), False, False),
    (n.NullableNode(inner=TEXT), True, True),
    (ANY, False, True),
    (n.PipeNode(left=TEXT, right=TRANSFORM), False, True),
    (n.PipeNode(left=TRANSFORM, right=TEXT), True, False),
    (n.UnionNode(options=(TEXT, n.SimpleNode(kind="undefined"))), False, False),
    (n.IntersectionNode(left=n.OptionalNode(inner=TEXT), right=TEXT), True, True),
    (n.LiteralNode(values=("a", UNDEFINED)), False, False),
    (n.LazyNode(resolver=lambda: n.OptionalNode(inner=TEXT)), False, False),
    (n.SuccessNode(inner=TEXT), True, False),
]


def test_required_keys() -> None:
    for node, output, given in PRESENCE:
        assert (
            "required" in json_schema(shape(a=node), "output"),
            "required" in json_schema(shape(a=node), "input"),
        ) == (output, given), node


def test_recursion_becomes_references() -> None:
    def tree() -> n.Node:
        return n.LazyNode(resolver=lambda: node)

    node: n.Node = shape(name=TEXT, children=n.ArrayNode(element=tree()))
    schema = json_schema(node)
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/schema0"}
    jsonschema.validate({"name": "a", "children": [{"name": "b", "children": []}]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "a", "children": [{"name": "b", "children": [{}]}]}, schema)
    assert [(one.path, one.type) for one in schema_fields(node)] == [
        ("name", "string"),
        ("children", "array"),
        ("children[]", "recursive"),
    ]


def test_a_schema_that_makes_new_schemas_for_ever_ends() -> None:
    def fresh() -> n.Node:
        return shape(a=n.LazyNode(resolver=fresh), b=n.LazyNode(resolver=fresh))

    definitions = json_schema(n.ArrayNode(element=n.LazyNode(resolver=fresh)))["$defs"]
    assert len(definitions) < 3 * INLINE.default

    def nothing_else() -> n.Node:
        return n.LazyNode(resolver=nothing_else)

    assert "required" not in json_schema(shape(a=nothing_else()), "input")


def test_doubling_does_not_explode() -> None:
    # The graphs stay out of the assertions: a failing one would print them, which does explode.
    node: n.Node = TEXT
    for _ in range(60):
        node = shape(a=node, b=node)
    size, fields = len(str(json_schema(node))), len(schema_fields(node))
    assert size < 200 * INLINE.default
    assert fields == FIELDS.default
    union: n.Node = TEXT
    for _ in range(60):
        union = n.UnionNode(options=(union, union))
    required = json_schema(shape(a=union), "input")["required"]
    fields = len(schema_fields(n.RecordNode(key=union, value=union)))
    assert required == ["a"]
    assert fields == 1


def test_names_of_definitions() -> None:
    node = n.LazyNode(resolver=lambda: S(meta={"id": "名 字"}))
    other = n.LazyNode(resolver=lambda: S(meta={"id": "name"}))
    assert json_schema(shape(a=node, b=other))["$defs"].keys() == {"schema0", "name"}


def test_fields() -> None:
    node = shape(
        角色=shape(
            好感度=n.PrefaultNode(
                inner=n.PipeNode(left=N(coerce=True, checks=(low(0),)), right=TRANSFORM),
                value=50,
                meta={"description": "0 到 100"},
            ),
            称呼=n.OptionalNode(inner=n.UnionNode(options=(text(n.MinLength(minimum=5)), n.SimpleNode(kind="null")))),
        ),
        背包=n.RecordNode(key=S(meta={"description": "物品名"}), value=shape(数量=n.ReadonlyNode(inner=NUMBER))),
        **{"a.b": n.EnumNode(entries={"x": "x"}), 'q"': B()},
        位置=n.TupleNode(items=(NUMBER,), rest=TEXT),
        形态=n.DiscriminatedUnionNode(
            discriminator="型",
            options=(shape(型=n.LiteralNode(values=("剑",)), 锋=NUMBER), shape(型=n.LiteralNode(values=("弓",)))),
        ),
        合=n.IntersectionNode(left=shape(甲=TEXT), right=n.RecordNode(key=TEXT, value=B())),
        定=n.RecordNode(key=n.EnumNode(entries={"左": "左"}), value=text(TRIM)),
    )
    rows = [one.to_json() for one in schema_fields(node)]
    assert rows == [
        {"path": "角色", "type": "object"},
        {
            "path": "角色.好感度",
            "type": "number",
            "optional": True,
            "transformed": True,
            "description": "0 到 100",
            "constraints": {"minimum": 0},
            "default": 50,
        },
        {"path": "角色.称呼", "type": "string", "optional": True, "nullable": True, "constraints": {"minLength": 5}},
        {"path": "背包", "type": "record", "constraints": {"names": "物品名"}},
        {"path": "背包.*", "type": "object", "optional": True},
        {"path": "背包.*.数量", "type": "number"},
        {"path": '["a.b"]', "type": "enum", "constraints": {"enum": ["x"]}},
        {"path": '["q\\""]', "type": "boolean"},
        {"path": "位置", "type": "tuple"},
        {"path": "位置[0]", "type": "number"},
        {"path": "位置[]", "type": "string", "optional": True},
        {"path": "形态", "type": "union", "constraints": {"types": ["object"]}},
        {"path": "形态.型", "type": "literal", "optional": True, "constraints": {"enum": ["剑"]}},
        {"path": "形态.锋", "type": "number", "optional": True},
        {"path": "形态.型", "type": "literal", "optional": True, "constraints": {"enum": ["弓"]}},
        {"path": "合", "type": "object"},
        {"path": "合.甲", "type": "string"},
        {"path": "合.*", "type": "boolean", "optional": True},
        {"path": "定", "type": "record"},
        {"path": "定.左", "type": "string", "transformed": True},
    ]
    assert [one.path for one in schema_fields(TEXT)] == [""]
