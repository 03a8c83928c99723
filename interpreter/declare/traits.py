"""What Zod derives from a schema before parsing: whether a key may be absent, its values, its discriminators.

``optional_in`` and ``optional_out`` say whether an absent key is accepted and may stay absent; ``values`` is the finite
set of accepted values, if there is one (enum, literal); ``discriminators`` maps the keys of an object to such sets.
"""

from __future__ import annotations

from typing import Any

from interpreter.declare import nodes as n
from interpreter.declare.constructors import enum_values
from interpreter.declare.options import build_error
from interpreter.javascript import UNDEFINED

_DEEPEST = 64


def optional_in(node: n.Node, depth: int = 0) -> bool:
    """Whether an absent input is accepted (Zod's ``optin``)."""
    if isinstance(node, (n.OptionalNode, n.DefaultNode, n.PrefaultNode, n.CatchNode, n.TransformNode)):
        return True
    if depth > _DEEPEST:
        return False
    if isinstance(node, (n.NullableNode, n.ReadonlyNode)):
        return optional_in(node.inner, depth + 1)
    if isinstance(node, (n.PipeNode, n.CodecNode)):
        return optional_in(node.left, depth + 1)
    if isinstance(node, n.LazyNode):
        return optional_in(node.resolve(), depth + 1)
    if isinstance(node, (n.UnionNode, n.DiscriminatedUnionNode)):
        return any(optional_in(option, depth + 1) for option in node.options)
    return False


def optional_out(node: n.Node, depth: int = 0) -> bool:
    """Whether the output may be absent (Zod's ``optout``)."""
    if isinstance(node, n.OptionalNode):
        return True
    if depth > _DEEPEST:
        return False
    if isinstance(node, (n.NullableNode, n.ReadonlyNode, n.CatchNode)):
        return optional_out(node.inner, depth + 1)
    if isinstance(node, (n.PipeNode, n.CodecNode)):
        return optional_out(node.right, depth + 1)
    if isinstance(node, n.LazyNode):
        return optional_out(node.resolve(), depth + 1)
    if isinstance(node, (n.UnionNode, n.DiscriminatedUnionNode)):
        return any(optional_out(option, depth + 1) for option in node.options)
    return False


def values(node: n.Node, depth: int = 0) -> list[Any] | None:
    """The finite set of accepted values, in order, or None."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, n.EnumNode):
        return enum_values(node.entries)
    if isinstance(node, n.LiteralNode):
        return list(node.values)
    if isinstance(node, n.SimpleNode) and node.kind in ("null", "undefined"):
        return [None if node.kind == "null" else UNDEFINED]
    if isinstance(node, (n.OptionalNode, n.NullableNode)):
        inner = values(node.inner, depth + 1)
        extra: Any = None if isinstance(node, n.NullableNode) else UNDEFINED
        if inner is None or (isinstance(node, n.OptionalNode) and node.exact):
            return inner
        return inner if any(value is extra for value in inner) else [*inner, extra]
    if isinstance(node, n.NonOptionalNode):
        inner = values(node.inner, depth + 1)
        return None if inner is None else [value for value in inner if value is not UNDEFINED]
    if isinstance(node, (n.DefaultNode, n.PrefaultNode, n.CatchNode, n.ReadonlyNode)):
        return values(node.inner, depth + 1)
    if isinstance(node, (n.PipeNode, n.CodecNode)):
        return values(node.left, depth + 1)
    if isinstance(node, (n.UnionNode, n.DiscriminatedUnionNode)):
        return _union_values(node.options, depth)
    return None


def _union_values(options: tuple[n.Node, ...], depth: int) -> list[Any] | None:
    found: list[Any] = []
    for option in options:
        inner = values(option, depth + 1)
        if inner is None:
            return None
        found.extend(inner)
    return found


def discriminators(node: n.Node, depth: int = 0) -> dict[str, list[Any]] | None:
    """The finite values of each key of an object schema, or None."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, n.ObjectNode):
        found: dict[str, list[Any]] = {}
        for key, field in node.shape.items():
            inner = values(field)
            if inner is not None:
                found[key] = inner
        return found
    if isinstance(node, n.DiscriminatedUnionNode):
        merged: dict[str, list[Any]] = {}
        for index, option in enumerate(node.options):
            inner_map = discriminators(option, depth + 1)
            if not inner_map:
                raise build_error(f'Invalid discriminated union option at index "{index}"')
            for key, listed in inner_map.items():
                merged.setdefault(key, []).extend(listed)
        return merged
    if isinstance(node, n.ReadonlyNode):
        return discriminators(node.inner, depth + 1)
    if isinstance(node, (n.PipeNode, n.CodecNode)):
        return discriminators(node.left, depth + 1)
    if isinstance(node, n.LazyNode):
        return discriminators(node.resolve(), depth + 1)
    return None
