"""From schema nodes to JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from interpreter.declare import nodes as n
from interpreter.javascript import UNDEFINED, is_number, js_number, js_number_text
from interpreter.jsonschema.fits import fits
from interpreter.jsonschema.keywords import (
    json_value,
    lengths,
    meta_annotations,
    numbers,
    out_of_hand,
    standing_checks,
    strings,
)
from interpreter.jsonschema.presence import Direction, Presence
from interpreter.limits import LIMIT, Limit

__all__ = ["DIALECT", "LIMITS", "Direction", "json_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
INLINE = Limit("interpreter.jsonschema.inline", 5_000, "schemas", "the size of a JSON Schema without references", LIMIT)
DEPTH = Limit("interpreter.jsonschema.depth", 100, "levels", "the depth of a JSON Schema", LIMIT)
LIMITS: tuple[Limit, ...] = (INLINE, DEPTH)

_SAFE_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_BRANCHING = (
    n.ObjectNode,
    n.RecordNode,
    n.UnionNode,
    n.DiscriminatedUnionNode,
    n.TupleNode,
    n.IntersectionNode,
)
_NOTHING: dict[str, Any] = {"not": {}}
Schema = dict[str, Any]


def json_schema(node: n.Node, io: Direction = "output") -> Schema:
    """The JSON Schema of a schema node, for what is given to a parse (``input``) or what comes out (``output``)."""
    builder = _Builder(io)
    schema = builder.build(node, open_=False)
    builder.define()
    found = {"$schema": DIALECT, **schema}
    if builder.definitions:
        found["$defs"] = builder.definitions
    return found


class _Builder:
    """One description. ``open_`` is set inside intersections: there each side may carry keys of the other, at any
    depth, because the results are merged."""

    def __init__(self, io: Direction) -> None:
        self.io: Direction = io
        self.presence = Presence(io)
        self.definitions: dict[str, Schema] = {}
        self.names: dict[tuple[int, bool], str] = {}
        self.waiting: list[tuple[str, n.Node, bool]] = []  # keeps the nodes, so that no identity is used twice
        self.made = 0
        self.depth = 0

    def build(self, node: n.Node, *, open_: bool) -> Schema:
        """The schema of a node; by reference where the inline form would grow too large."""
        if self.depth > DEPTH.default:
            return {}
        if self.made > INLINE.default and isinstance(node, _BRANCHING):
            return self.reference(node, open_)
        return self.inline(node, open_)

    def inline(self, node: n.Node, open_: bool) -> Schema:
        self.made += 1
        self.depth += 1
        try:
            make = _MAKERS.get(type(node))
            schema = {} if make is None else make(self, node, open_)
        finally:
            self.depth -= 1
        if self.io == "output" and out_of_hand(node):
            schema = {}
        return {**schema, **meta_annotations(node.meta)}

    def reference(self, node: n.Node, open_: bool) -> Schema:
        """A reference to the definition of a node, which is made once."""
        name = self.names.get((id(node), open_))
        if name is None:
            name = self.new_name(node)
            self.names[id(node), open_] = name
            self.definitions[name] = {}
            self.waiting.append((name, node, open_))
        return {"$ref": f"#/$defs/{name}"}

    def define(self) -> None:
        """Make the definitions that are referred to, until no new ones come up; too many stay without constraints."""
        for done, (name, node, open_) in enumerate(self.waiting):  # the list grows while it is read
            if done >= INLINE.default:
                break
            self.definitions[name] = self.inline(node, open_)

    def new_name(self, node: n.Node) -> str:
        wanted = node.meta.get("id")
        if isinstance(wanted, str) and _SAFE_NAME.fullmatch(wanted) and wanted not in self.definitions:
            return wanted
        number = len(self.definitions)
        while f"schema{number}" in self.definitions:
            number += 1
        return f"schema{number}"

    # --- values without parts --------------------------------------------------------------------------------

    def string(self, node: n.StringNode, open_: bool) -> Schema:
        return strings(standing_checks(node, self.io))

    def number(self, node: n.NumberNode, open_: bool) -> Schema:
        return numbers(standing_checks(node, self.io))

    def boolean(self, node: n.Node, open_: bool) -> Schema:
        return {"type": "boolean"}

    def simple(self, node: n.SimpleNode, open_: bool) -> Schema:
        if node.kind in ("any", "unknown"):
            return {}
        return {"type": "null"} if node.kind == "null" else dict(_NOTHING)

    def no_json(self, node: n.Node, open_: bool) -> Schema:
        return dict(_NOTHING)

    def enumeration(self, node: n.EnumNode, open_: bool) -> Schema:
        return _choice([js_number(item) if is_number(item) else item for item in node.entries.values()])

    def literal(self, node: n.LiteralNode, open_: bool) -> Schema:
        values = [value for valid, value in map(json_value, node.values) if valid]
        if not values:
            return dict(_NOTHING)
        return {"const": values[0], **_type_of(values)} if len(values) == 1 else _choice(values)

    def template(self, node: n.TemplateNode, open_: bool) -> Schema:
        return {"type": "string", "pattern": node.source}

    def string_bool(self, node: n.StringBoolNode, open_: bool) -> Schema:
        if self.io == "output":
            return {"type": "boolean"}
        words = [word for word in (*node.truthy, *node.falsy) if isinstance(word, str)]
        return {"type": "string", "enum": words} if node.sensitive else {"type": "string", "examples": words}

    # --- containers ------------------------------------------------------------------------------------------

    def array(self, node: n.ArrayNode, open_: bool) -> Schema:
        size = lengths(standing_checks(node, self.io), "minItems", "maxItems", units=False)
        return {"type": "array", "items": self.build(node.element, open_=open_), **size}

    def tuple_(self, node: n.TupleNode, open_: bool) -> Schema:
        needed = [index for index, item in enumerate(node.items) if not self.presence.optional(item)]
        schema: Schema = {"type": "array"}
        parts = [self.build(item, open_=open_) for item in node.items]
        for index in range(needed[-1] if needed and self.io == "output" else 0):
            if index not in needed and parts[index]:  # an item left out before a filled one is null in JSON
                parts[index] = {"anyOf": [parts[index], {"type": "null"}]}
        if parts:
            schema["prefixItems"] = parts
        if node.rest is None:
            schema["items"] = False
        else:
            schema["items"] = self.build(node.rest, open_=open_)
        if needed:
            schema["minItems"] = needed[-1] + 1
        return schema

    def object(self, node: n.ObjectNode, open_: bool) -> Schema:
        schema: Schema = {
            "type": "object",
            "properties": {key: self.build(child, open_=open_) for key, child in node.shape.items()},
        }
        required = [key for key, child in node.shape.items() if not self.presence.optional(child)]
        if required:
            schema["required"] = required
        others = node.catchall
        if others is None:
            if self.io == "output" and not open_:
                schema["additionalProperties"] = False
        elif _is_never(others):
            if not open_:
                schema["additionalProperties"] = False
        elif not open_ and not (isinstance(others, n.SimpleNode) and others.kind in ("any", "unknown")):
            schema["additionalProperties"] = self.build(others, open_=open_)
        return schema

    def record(self, node: n.RecordNode, open_: bool) -> Schema:
        schema: Schema = {"type": "object"}
        keys = enumerated_keys(node.key)
        if keys and not node.partial and not self.presence.optional(node.value):
            schema["required"] = keys
        if node.loose or (open_ and self.io == "output"):
            return schema
        if keys is not None:
            schema["propertyNames"] = {"enum": keys}
        else:
            names = self.key_names(node.key)
            if names:
                schema["propertyNames"] = names
        schema["additionalProperties"] = self.build(node.value, open_=open_)
        return schema

    def key_names(self, key: n.Node) -> Schema:
        """What the names of a record are like, as far as a schema of strings says it."""
        schema = self.build(key, open_=False)
        if schema.get("type") != "string":
            return {}
        return {name: item for name, item in schema.items() if name != "type"}

    # --- combinations ----------------------------------------------------------------------------------------

    def union(self, node: n.UnionNode | n.DiscriminatedUnionNode, open_: bool) -> Schema:
        options = [self.build(option, open_=open_) for option in node.options]
        options = [option for option in options if option != _NOTHING]
        if len(options) == 1:
            return options[0]
        return {"anyOf": options} if options else dict(_NOTHING)

    def intersection(self, node: n.IntersectionNode, open_: bool) -> Schema:
        sides = (node.left, node.right)
        for shaped, free in (sides, sides[::-1]):
            if (
                self.io == "output"
                and isinstance(shaped, n.ObjectNode)
                and (shaped.catchall is None or _is_never(shaped.catchall))  # it keeps no key of the record's
                and isinstance(free, n.RecordNode)
                and not (free.loose or free.checks or shaped.checks or open_)
                and enumerated_keys(free.key) is None
            ):
                # the declared keys as they are, the record's schema for all the others
                others = self.build(free.value, open_=False)
                return {**self.build(shaped, open_=True), "additionalProperties": others}
        parts = [self.build(side, open_=True) for side in sides]
        return {"allOf": parts}

    # --- wrappers --------------------------------------------------------------------------------------------

    def wrapper(self, node: n.WrapperNode, open_: bool) -> Schema:
        return self.build(node.inner, open_=open_)

    def nullable(self, node: n.NullableNode, open_: bool) -> Schema:
        inner = self.build(node.inner, open_=open_)
        if inner == _NOTHING:
            return {"type": "null"}
        return inner if inner == {} else {"anyOf": [inner, {"type": "null"}]}

    def readonly(self, node: n.ReadonlyNode, open_: bool) -> Schema:
        return {**self.build(node.inner, open_=open_), "readOnly": True}

    def default(self, node: n.DefaultNode | n.CatchNode, open_: bool) -> Schema:
        """The value stands in as it is, so the output may be it although the inner schema refuses it."""
        inner = self.build(node.inner, open_=open_)
        valid, value = json_value(node.value) if node.function is None else (False, None)
        if self.io == "output" and not valid and node.value is not UNDEFINED:
            return {"anyOf": [inner, {}]}
        if not valid:
            return inner
        if self.io == "output" and not fits(inner, value):
            inner = {"anyOf": [inner, {"const": value}]}
        return {**inner, "default": value}

    def prefault(self, node: n.PrefaultNode, open_: bool) -> Schema:
        inner = self.build(node.inner, open_=open_)
        valid, value = json_value(node.value) if node.function is None else (False, None)
        return {**inner, "default": value} if valid and self.io == "input" else inner

    def pipe(self, node: n.PipeNode | n.CodecNode, open_: bool) -> Schema:
        side = node.left if self.io == "input" else node.right
        if self.io == "input" and isinstance(node.left, n.TransformNode):
            side = node.right  # preprocess: the schema that the prepared value meets says what is meant
        return self.build(side, open_=open_)

    def lazy(self, node: n.LazyNode, open_: bool) -> Schema:
        return self.reference(node.resolve(), open_)


def enumerated_keys(key: n.Node) -> list[str] | None:
    """The names that a record's key schema lists one by one (enumerations, literals, unions of them), else None."""
    names: dict[str, None] = {}
    waiting, seen = [key], {id(key)}
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, n.EnumNode):
            names.update((_name(value), None) for value in node.entries.values())
        elif isinstance(node, n.LiteralNode):
            names.update((_name(value), None) for value in node.values if isinstance(value, str) or is_number(value))
        elif isinstance(node, n.UnionNode):
            for option in node.options:
                if id(option) not in seen:
                    seen.add(id(option))
                    waiting.append(option)
        else:
            return None
    return list(names)


def _is_never(node: n.Node) -> bool:
    return isinstance(node, n.SimpleNode) and node.kind == "never"


def _name(value: Any) -> str:
    return js_number_text(value) if is_number(value) else str(value)


def _choice(values: list[Any]) -> Schema:
    return {**_type_of(values), "enum": values}


def _type_of(values: list[Any]) -> Schema:
    kinds = {_kind(value) for value in values}
    return {"type": kinds.pop()} if len(kinds) == 1 else {}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


_MAKERS: dict[type[n.Node], Callable[[_Builder, Any, bool], Schema]] = {
    n.StringNode: _Builder.string,
    n.NumberNode: _Builder.number,
    n.BooleanNode: _Builder.boolean,
    n.SimpleNode: _Builder.simple,
    n.EnumNode: _Builder.enumeration,
    n.LiteralNode: _Builder.literal,
    n.TemplateNode: _Builder.template,
    n.ObjectNode: _Builder.object,
    n.ArrayNode: _Builder.array,
    n.TupleNode: _Builder.tuple_,
    n.RecordNode: _Builder.record,
    n.MapNode: _Builder.no_json,
    n.SetNode: _Builder.no_json,
    n.UnionNode: _Builder.union,
    n.DiscriminatedUnionNode: _Builder.union,
    n.IntersectionNode: _Builder.intersection,
    n.OptionalNode: _Builder.wrapper,
    n.NonOptionalNode: _Builder.wrapper,
    n.NullableNode: _Builder.nullable,
    n.DefaultNode: _Builder.default,
    n.PrefaultNode: _Builder.prefault,
    n.CatchNode: _Builder.default,
    n.ReadonlyNode: _Builder.readonly,
    n.SuccessNode: _Builder.boolean,
    n.PipeNode: _Builder.pipe,
    n.CodecNode: _Builder.pipe,
    n.StringBoolNode: _Builder.string_bool,
    n.LazyNode: _Builder.lazy,
}
