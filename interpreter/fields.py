"""The fields of a schema: path, type, constraints and description, as an "update rules" prompt needs them (design §6).

A field is a place of the state: ``角色.好感度``, ``背包.*.数量`` (``*`` stands for any name of a record), ``日志[]``
(an item of an array). Containers are fields of their own, before what is in them. What is described is what may be
written: the input side of the schema.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from interpreter.declare import nodes as n
from interpreter.jsonschema.build import enumerated_keys
from interpreter.jsonschema.keywords import json_value, lengths, numbers, standing_checks, strings
from interpreter.jsonschema.presence import Presence
from interpreter.limits import LIMIT, Limit

FIELDS = Limit("interpreter.fields", 5_000, "fields", "the list of a schema's fields", LIMIT)
DEPTH = Limit("interpreter.fields.depth", 100, "levels", "the depth of a schema's fields", LIMIT)
LIMITS: tuple[Limit, ...] = (FIELDS, DEPTH)

_PLAIN_KEY = re.compile(r"[^\s.\[\]*'\"]+")


@dataclass(frozen=True, slots=True)
class Field:
    """One field. ``type`` is a JSON type, or ``enum``, ``literal``, ``union``, ``record``, ``any``, ``recursive``…;
    ``constraints`` uses the words of JSON Schema; ``transformed`` says that what is stored may differ from what is
    written."""

    path: str
    type: str
    optional: bool = False
    nullable: bool = False
    description: str | None = None
    constraints: dict[str, Any] = field(default_factory=dict)
    has_default: bool = False
    default: Any = None
    transformed: bool = False

    def to_json(self) -> dict[str, Any]:
        """The field as a JSON object, without what says nothing."""
        found: dict[str, Any] = {"path": self.path, "type": self.type}
        for name in ("optional", "nullable", "transformed"):
            if getattr(self, name):
                found[name] = True
        if self.description is not None:
            found["description"] = self.description
        if self.constraints:
            found["constraints"] = self.constraints
        if self.has_default:
            found["default"] = self.default
        return found


@dataclass(slots=True)
class _Seen:
    """What the wrappers around a schema say about it."""

    nullable: bool = False
    description: str | None = None
    has_default: bool = False
    default: Any = None
    transformed: bool = False


def schema_fields(node: n.Node) -> tuple[Field, ...]:
    """All fields of a schema, in the order of its declaration; the root itself is no field unless it is a leaf."""
    walk = _Walk().fields(node, "", False)
    root = next(walk)
    return tuple(itertools.islice(walk, FIELDS.default)) or (root,)


class _Walk:
    def __init__(self) -> None:
        self.open: list[n.Node] = []  # the containers around the place
        self.presence = Presence("input")

    def fields(self, node: n.Node, path: str, optional: bool) -> Iterator[Field]:
        """The field of a place, then those of the places inside it."""
        seen = _Seen()
        core = _unwrap(node, seen)
        kind, constraints = _describe(core)
        recursive = any(core is outer for outer in self.open) or len(self.open) > DEPTH.default
        yield Field(
            path,
            "recursive" if recursive else kind,
            optional,
            seen.nullable,
            seen.description,
            constraints,
            seen.has_default,
            seen.default,
            seen.transformed,
        )
        if recursive:
            return
        self.open.append(core)
        for child, child_path, child_optional in self.children(core, path):
            yield from self.fields(child, child_path, child_optional)
        self.open.pop()

    def children(self, node: n.Node, path: str) -> Iterator[tuple[n.Node, str, bool]]:
        """The places inside a container: schema, path, whether it may be left out."""
        optional = self.presence.optional
        if isinstance(node, n.ObjectNode):
            for key, child in node.shape.items():
                yield child, join(path, key), optional(child)
            if node.catchall is not None and not isinstance(node.catchall, n.SimpleNode):
                yield node.catchall, _any_name(path), True
        elif isinstance(node, n.RecordNode):
            keys = enumerated_keys(node.key)
            if keys is None:
                yield node.value, _any_name(path), True
            for key in keys or ():
                yield node.value, join(path, key), node.partial or optional(node.value)
        elif isinstance(node, n.ArrayNode):
            yield node.element, f"{path}[]", True
        elif isinstance(node, n.TupleNode):
            for index, item in enumerate(node.items):
                yield item, f"{path}[{index}]", optional(item)
            if node.rest is not None:
                yield node.rest, f"{path}[]", True
        else:
            for part in _parts(node):
                for child, child_path, child_optional in self.children(part, path):
                    yield child, child_path, child_optional or not isinstance(node, n.IntersectionNode)


def _parts(node: n.Node) -> list[n.Node]:
    """The containers that an intersection joins, or that a union chooses from."""
    found: list[n.Node] = []
    waiting, seen = [node], {id(node)}
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, n.ObjectNode | n.RecordNode | n.ArrayNode | n.TupleNode):
            found.append(part)
        inner: tuple[n.Node, ...] = ()
        if isinstance(part, n.IntersectionNode):
            inner = (part.left, part.right)
        elif isinstance(part, n.UnionNode | n.DiscriminatedUnionNode) and part is node:
            inner = part.options
        cores = [_unwrap(one, _Seen()) for one in inner]
        for core in cores:
            if id(core) not in seen:
                seen.add(id(core))
                waiting.append(core)
    return found


def _unwrap(node: n.Node, seen: _Seen) -> n.Node:
    """The schema inside the wrappers, on the side of what is given."""
    for _ in range(DEPTH.default):
        if seen.description is None and isinstance(node.meta.get("description"), str):
            seen.description = node.meta["description"]
        seen.transformed = seen.transformed or any(isinstance(check, n.Overwrite) for check in node.checks)
        inner = _inner(node, seen)
        if inner is None:
            return node
        node = inner
    return node


def _inner(node: n.Node, seen: _Seen) -> n.Node | None:
    if isinstance(node, n.DefaultNode | n.PrefaultNode) and not seen.has_default:
        valid, value = json_value(node.value) if node.function is None else (False, None)
        if valid:
            seen.has_default, seen.default = True, value
    if isinstance(node, n.NullableNode):
        seen.nullable = True
    if isinstance(node, n.WrapperNode):
        return node.inner
    if isinstance(node, n.LazyNode):
        return node.resolve()
    if isinstance(node, n.PipeNode | n.CodecNode):
        seen.transformed = True
        return node.right if isinstance(node.left, n.TransformNode) else node.left
    if isinstance(node, n.UnionNode) and not node.exclusive:
        return _without_null(node, seen)
    return None


def _without_null(node: n.UnionNode, seen: _Seen) -> n.Node | None:
    """``schema.or(z.null())`` is a nullable schema."""
    others = [option for option in node.options if not (isinstance(option, n.SimpleNode) and option.kind == "null")]
    if len(others) == 1 and len(node.options) == 2:
        seen.nullable = True
        return others[0]
    return None


def join(path: str, key: str) -> str:
    """A path with one more key; keys with signs of the path language in them stand in brackets and quotes."""
    if not _PLAIN_KEY.fullmatch(key):
        quoted = key.replace("\\", "\\\\").replace('"', '\\"')
        return f'{path}["{quoted}"]'
    return f"{path}.{key}" if path else key


def _any_name(path: str) -> str:
    return f"{path}.*" if path else "*"


def _describe(node: n.Node) -> tuple[str, dict[str, Any]]:
    """The type and the constraints of an unwrapped schema."""
    if isinstance(node, n.StringNode):
        found = strings(standing_checks(node, "input"))
        _exact_lengths(node, found)
        return found.pop("type"), found
    if isinstance(node, n.NumberNode):
        found = numbers(standing_checks(node, "input"))
        return found.pop("type"), found
    if isinstance(node, n.EnumNode):
        return "enum", {"enum": list(node.entries.values())}
    if isinstance(node, n.LiteralNode):
        values = [value for valid, value in map(json_value, node.values) if valid]
        return "literal", {"enum": values}
    if isinstance(node, n.TemplateNode):
        return "string", {"pattern": node.source}
    if isinstance(node, n.StringBoolNode):
        return "string", {"enum": [word for word in (*node.truthy, *node.falsy) if isinstance(word, str)]}
    if isinstance(node, n.UnionNode | n.DiscriminatedUnionNode):
        cores = [_unwrap(option, _Seen()) for option in node.options]
        unions = (n.UnionNode, n.DiscriminatedUnionNode)
        types = ["union" if isinstance(core, unions) else _describe(core)[0] for core in cores]
        return "union", {"types": list(dict.fromkeys(types))}
    if isinstance(node, n.ArrayNode | n.TupleNode):
        return "array" if isinstance(node, n.ArrayNode) else "tuple", _sizes(node)
    if isinstance(node, n.ObjectNode):
        strict = isinstance(node.catchall, n.SimpleNode) and node.catchall.kind == "never"
        return "object", {"additionalProperties": False} if strict else {}
    return _NAMES.get(type(node), getattr(node, "kind", "any")), _record_names(node)


_NAMES: dict[type[n.Node], str] = {
    n.BooleanNode: "boolean",
    n.RecordNode: "record",
    n.IntersectionNode: "object",
    n.CustomNode: "any",
    n.TransformNode: "any",
    n.MapNode: "map",
    n.SetNode: "set",
    n.SuccessNode: "boolean",
}


def _record_names(node: n.Node) -> dict[str, Any]:
    """What the key schema of a record says about names."""
    if not isinstance(node, n.RecordNode):
        return {}
    seen = _Seen()
    key = _unwrap(node.key, seen)
    found: dict[str, Any] = {}
    if seen.description is not None:
        found["names"] = seen.description
    if isinstance(key, n.StringNode):
        about = strings(standing_checks(key, "input"))
        found.update({name: item for name, item in about.items() if name in ("pattern", "format", "maxLength")})
    return found


def _exact_lengths(node: n.StringNode, found: dict[str, Any]) -> None:
    """Lengths as Zod counts them, in UTF-16 units: a prompt needs no allowance for what JSON Schema cannot say."""
    if "minLength" in found:
        lows = [
            check.minimum if isinstance(check, n.MinLength) else check.length
            for check in standing_checks(node, "input")
            if isinstance(check, n.MinLength | n.ExactLength)
        ]
        found["minLength"] = max(lows)


def _sizes(node: n.Node) -> dict[str, Any]:
    return lengths(standing_checks(node, "input"), "minItems", "maxItems", units=False)
