"""Names and frames: every variable has a slot in a frame, resolved when the code is compiled.

A frame is a list: slot 0 is the frame around it, slot 1 the :class:`~interpreter.budget.Run` it belongs to, then the
variables. A function call makes a frame; a block makes one only where a function inside a loop captures its variables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FIRST_SLOT = 2


class Unset:
    """The value of a variable before its declaration ran (the temporal dead zone)."""

    def __repr__(self) -> str:
        return "unset"


UNSET = Unset()

FrameValue = list[Any]


@dataclass(slots=True, eq=False)
class Frame:
    """The plan of one frame: how many slots it has, and the function it belongs to."""

    parent: Frame | None
    function: Frame | None = None
    size: int = FIRST_SLOT
    var_slots: list[int] = field(default_factory=list)

    def owner(self) -> Frame:
        """The frame of the innermost function."""
        return self.function or self


@dataclass(slots=True)
class Binding:
    """One variable: its frame and slot; a constant cannot be assigned."""

    frame: Frame
    slot: int
    constant: bool


@dataclass(slots=True)
class Scope:
    """The names of one block; blocks of one function usually share a frame."""

    parent: Scope | None
    frame: Frame
    names: dict[str, Binding] = field(default_factory=dict)
    is_function: bool = False

    def declare(self, name: str, *, constant: bool) -> Binding:
        """Give a name a new slot (or its slot again, for repeated ``var``)."""
        known = self.names.get(name)
        if known is not None:
            return known
        binding = Binding(self.frame, self.frame.size, constant)
        self.frame.size += 1
        self.names[name] = binding
        return binding

    def find(self, name: str) -> tuple[int, Binding] | None:
        """How many frames up a name lives, and its binding; None for a free name."""
        scope: Scope | None = self
        while scope is not None:
            binding = scope.names.get(name)
            if binding is not None:
                hops = 0
                frame: Frame | None = self.frame
                while frame is not None and frame is not binding.frame:
                    frame = frame.parent
                    hops += 1
                return hops, binding
            scope = scope.parent
        return None

    def function_scope(self) -> Scope:
        """The scope of the innermost function (or of the module)."""
        scope = self
        while not scope.is_function and scope.parent is not None:
            scope = scope.parent
        return scope

    def visible(self) -> int:
        """How many names are visible here."""
        count = 0
        scope: Scope | None = self
        while scope is not None:
            count += len(scope.names)
            scope = scope.parent
        return count
