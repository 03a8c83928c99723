"""Findings about a pack: what, how grave, and where (§6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "notice"]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file of the pack, one-based; no line means the file as a whole."""

    file: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the loader or the validator has to say."""

    code: str
    severity: Severity
    message: str
    place: Place

    def to_json(self) -> dict[str, Any]:
        """The form that answers and reports carry."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": self.place.file,
            "line": self.place.line,
            "column": self.place.column,
        }


@dataclass(frozen=True, slots=True)
class Source:
    """Where a part of the document came from: its file, the positions of its nodes, its first line of prose."""

    file: str
    positions: Mapping[Path, tuple[int, int]] = field(default_factory=dict)
    styles: Mapping[Path, str] = field(default_factory=dict)
    plain_numbers: frozenset[Path] = frozenset()
    body_line: int = 1

    def place(self, path: Path = ()) -> Place:
        """The position of a node, or of its nearest ancestor."""
        for length in range(len(path), -1, -1):
            found = self.positions.get(path[:length])
            if found is not None:
                return Place(self.file, *found)
        return Place(self.file)

    def text_place(self, path: Path, line: int, column: int) -> Place:
        """The position of line and column inside the text at ``path`` (a formula)."""
        found = self.positions.get(path)
        if found is None:
            return self.place(path)
        if self.styles.get(path) in ("|", ">"):
            return Place(self.file, found[0] + line, None)
        return Place(self.file, found[0] + line - 1, found[1] + column - 1 if line == 1 else None)

    def body_place(self, offset: int = 0) -> Place:
        """The position of a line of the prose, counted from 0."""
        return Place(self.file, self.body_line + offset)
