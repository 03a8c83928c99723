"""Which schemas let a key be absent: before the parse (``input``) and after it (``output``)."""

from __future__ import annotations

from typing import Literal

from interpreter.declare import nodes as n
from interpreter.javascript import UNDEFINED

Direction = Literal["input", "output"]

_DEPTH = 100  # wrappers around wrappers; deeper ones say "may be missing", which is always allowed


class Presence:
    """Answers for one direction; remembers them, so that shared and recursive schemas are asked once."""

    def __init__(self, io: Direction) -> None:
        self.io: Direction = io
        self.depth = 0
        self.known: dict[int, bool] = {}
        self.kept: list[n.Node] = []  # so that no identity is used twice

    def optional(self, node: n.Node) -> bool:
        """Whether a key with this schema may be missing from a given value, or from a result."""
        answer = self.known.get(id(node))
        if answer is None:
            self.known[id(node)] = False  # what a schema made only of itself says
            self.kept.append(node)
            self.depth += 1
            answer = self.known[id(node)] = self.depth > _DEPTH or self._optional(node)
            self.depth -= 1
        return answer

    def _optional(self, node: n.Node) -> bool:
        if isinstance(node, n.OptionalNode):
            return True
        if isinstance(node, n.NonOptionalNode):
            return False
        if isinstance(node, n.SuccessNode):
            return self.io == "input"
        if isinstance(node, n.DefaultNode | n.PrefaultNode | n.CatchNode):
            return self.io == "input" or self._filled(node)
        if isinstance(node, n.WrapperNode):
            return self.optional(node.inner)
        if isinstance(node, n.LazyNode):
            return self.optional(node.resolve())
        if isinstance(node, n.UnionNode | n.DiscriminatedUnionNode):
            return any(self.optional(option) for option in node.options)
        if isinstance(node, n.IntersectionNode):
            return self.optional(node.left) and self.optional(node.right)
        if isinstance(node, n.PipeNode | n.CodecNode):
            return self.optional(node.left if self.io == "input" else node.right)
        if isinstance(node, n.LiteralNode):
            return UNDEFINED in node.values
        return self._simple(node)

    def _filled(self, node: n.DefaultNode | n.PrefaultNode | n.CatchNode) -> bool:
        """After the parse the key is there, unless what fills it is undefined or unknown."""
        unknown = node.function is not None and not isinstance(node, n.PrefaultNode)
        return unknown or node.value is UNDEFINED or self.optional(node.inner)

    def _simple(self, node: n.Node) -> bool:
        if isinstance(node, n.TransformNode):
            return True  # it sees a missing key, and may answer undefined
        if isinstance(node, n.SimpleNode):
            return node.kind in ("undefined", "void") or (self.io == "output" and node.kind in ("any", "unknown"))
        return self.io == "output" and isinstance(node, n.CustomNode)
