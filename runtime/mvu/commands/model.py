"""Commands and what was seen but not taken: the values that every reader of replies produces (spec/mvu.md §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from runtime.values.canonical import ordered_json
from runtime.values.copying import MISSING
from runtime.values.paths import path_text, pointer_text
from runtime.values.rows import InnkeeperError

CommandType = Literal["set", "add", "insert", "delete", "move"]
Form = Literal["legacy", "patch"]


class Command(NamedTuple):
    """One command of an update text; ``order`` is its place among the commands of the text, from 0.

    ``path`` is the target; for ``insert`` the collection, with ``key`` the place in it or ``MISSING``; for ``delete``
    ``key`` is the element to delete or ``MISSING``; for ``move`` ``path`` is the source and ``to`` the destination.
    ``old`` is the middle argument of the three-argument ``set``, which nothing reads. ``source`` is the command's text,
    ``start``/``end`` its place in the reply in characters.
    """

    order: int
    type: CommandType
    path: tuple[str, ...]
    value: Any = MISSING
    key: Any = MISSING
    to: tuple[str, ...] | None = None
    old: Any = MISSING
    form: Form = "legacy"
    source: str = ""
    start: int = 0
    end: int = 0
    repairs: tuple[str, ...] = ()
    operation: Mapping[str, Any] | None = None

    def arguments(self) -> list[Any]:
        """The command's arguments as JSON values: path text first."""
        if self.type == "move":
            return [path_text(self.path), path_text(self.to or ())]
        parts = [path_text(self.path)]
        parts.extend(part for part in (self.old, self.key, self.value) if part is not MISSING)
        return parts

    def normalised(self) -> str:
        """A text that reads as this very command (spec/mvu.md §4): JSON literals, ``<`` escaped."""
        if self.form == "patch":
            return f"<JSONPatch>{_safe([self._patch()])}</JSONPatch>"
        return f"_.{self.type}({', '.join(_safe(part) for part in self.arguments())});"

    def _patch(self) -> dict[str, Any]:
        if self.type == "move":
            return {"op": "move", "from": pointer_text(self.path), "path": pointer_text(self.to or ())}
        if self.type == "insert":
            return {"op": "insert", "path": pointer_text((*self.path, str(self.key))), "value": self.value}
        if self.type == "delete":
            return {"op": "remove", "path": pointer_text(self.path)}
        op = "replace" if self.type == "set" else "delta"
        return {"op": op, "path": pointer_text(self.path), "value": self.value}


def _safe(value: Any) -> str:
    return ordered_json(value).replace("<", "\\u003c")


class Ignored(NamedTuple):
    """Something that looks like a command and was not taken: ``why`` says so for people, ``reason`` for machines."""

    reason: str
    why: str
    start: int
    end: int
    line: int
    source: str

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "status": "ignored",
            "reason": self.reason,
            "message": self.why,
            "span": [self.start, self.end],
            "line": self.line,
            "source": self.source,
        }


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What a reader of replies may do beyond the seed's reading.

    ``reasoning_tags``: commands inside these tags are ignored. ``partial``: the text may have been cut; then an open
    construct makes the reading ``incomplete`` instead of an error. ``repairs``: names out of ``repairs.REPAIRS``.
    """

    reasoning_tags: tuple[str, ...] = ()
    partial: bool = False
    repairs: frozenset[str] = frozenset()


REASONING_TAGS: tuple[str, ...] = ("think", "thinking", "reasoning", "analysis")
"""The usual tags of models' reasoning, for ``ParseOptions.reasoning_tags``."""

STRICT = ParseOptions()
"""The seed's reading."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was read out of one text: ``commands`` in order, what was ``ignored``, and whether it is ``incomplete``."""

    commands: tuple[Command, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    incomplete: str | None = None
    contains_update: bool = False
    dialect: str = "strict"
    notes: tuple[str, ...] = field(default=())


class CommandError(InnkeeperError):
    """A fatal error while reading a text; ``parsed`` holds what was read before it."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any], parsed: Parsed) -> None:
        super().__init__(code, message, details)
        self.parsed = parsed
