"""A naive model of what a story's states must be: whole copies, no sharing, nothing of the product (design §11)."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

Data = dict[str, Any]
OPENINGS: tuple[Data, ...] = ({"hp": 100, "bag": []}, {"hp": 60, "bag": ["key"]})
"""What the two greetings of the story's card begin with."""


@dataclass
class Reply:
    """One completed turn: what it began with, and everything that has stood at its reply, each with its moment."""

    before: Data
    began: int
    stood: list[tuple[int, Data]]
    end_event: int
    turn: int
    failed: bool = False
    place: tuple[str, str] | None = None

    @property
    def after(self) -> Data:
        """What stands at the reply now."""
        return self.stood[-1][1]

    def as_of(self, moment: int) -> Reply:
        """The reply as it stood at a moment; it has stood since it was written."""
        kept = [entry for entry in self.stood if entry[0] <= moment] or self.stood[:1]
        return replace(self, stood=copy.deepcopy(kept))


@dataclass
class Line:
    """One session as the model sees it; ``anchor`` is the reply on which the current version sits."""

    session: str
    playthrough: str
    state: Data
    revision: int = 0
    replies: list[Reply] = field(default_factory=list)
    anchor: int | None = None
    started: bool = False
    greeting: int = 0
    copies: dict[int, Data] = field(default_factory=dict)
    aborted: tuple[int, Data, int] | None = None

    def clone(self, session: str, playthrough: str, state: Data, count: int, moment: int) -> Line:
        """A child that shares the first ``count`` replies as they stood at a moment."""
        return Line(
            session,
            playthrough,
            copy.deepcopy(state),
            replies=[reply.as_of(moment) for reply in self.replies[:count]],
            anchor=count - 1 if count else None,
            started=count > 0,
            greeting=self.greeting,
        )


def change(data: Data, commands: list[tuple[Any, ...]]) -> Data:
    """The data after literal commands; a command that its declaration refuses leaves it as it was."""
    found = copy.deepcopy(data)
    for command in commands:
        tried = copy.deepcopy(found)
        if command[0] == "add":
            tried["hp"] += command[1]
        elif command[0] == "set":
            tried["hp"] = command[1]
        elif command[0] == "append":
            tried["bag"].append(command[1])
        elif command[0] == "drop":
            if not tried["bag"]:
                continue
            tried["bag"].pop(0)
        if fits(tried):
            found = tried
    return found


def fits(data: Data) -> bool:
    """The rule of the story's declaration."""
    return isinstance(data["hp"], int) and 0 <= data["hp"] <= 200 and len(data["bag"]) <= 6


def reply_text(commands: list[tuple[Any, ...]]) -> str:
    """The commands as a model would write them."""
    parts = ["The story goes on."]
    for command in commands:
        if command[0] == "add":
            parts.append(f"_.add('hp', {command[1]});")
        elif command[0] == "set":
            parts.append(f"_.set('hp', {command[1]!r});")
        elif command[0] == "append":
            parts.append(f"_.insert('bag', '{command[1]}');")
        elif command[0] == "drop":
            parts.append("_.remove('bag', 0);")
    return " ".join(parts)
