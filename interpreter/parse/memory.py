"""Remembered results between parses (design §4)."""

from __future__ import annotations

from typing import Any


class Memory:
    """Fix points of earlier parses: containers whose parse is themselves, per schema node."""

    __slots__ = ("points",)

    def __init__(self) -> None:
        self.points: dict[int, Any] = {}

    def hint(self, new: Any, old: Any, key: Any) -> None:
        """Tell that ``new`` is ``old`` with one changed key."""

    def accept(self) -> None:
        """The candidate became the state: what it replaced is forgotten."""

    def reject(self) -> None:
        """The candidate was refused: its hints are forgotten."""
