"""What a helper sees of a command: ``{type, args, full_match, reason}`` (spec/mvu.md §6 Command view)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from runtime.values.canonical import ordered_json


class CommandLike(Protocol):
    """What the helper room needs of a parsed command (``runtime.mvu.commands.Command``)."""

    @property
    def index(self) -> int:
        """Its place among the reply's commands."""

    @property
    def type(self) -> str:
        """set, add, insert, delete or move."""

    @property
    def form(self) -> str:
        """``legacy`` call or ``patch`` operation."""

    @property
    def source(self) -> str:
        """Its exact text in the reply."""

    @property
    def operation(self) -> Mapping[str, Any] | None:
        """The patch operation as it was read."""

    def arguments(self) -> list[Any]:
        """Path text first, then the further arguments as JSON values."""


View = dict[str, Any]


def command_view(command: CommandLike) -> View:
    """The view of one command. Arguments are texts: the path (``move``: both paths), then JSON of what follows."""
    arguments = command.arguments()
    plain = len(arguments) if command.type == "move" else 1
    args = [text if place < plain else ordered_json(text) for place, text in enumerate(arguments)]
    if command.form == "patch":
        match = command.source if command.operation is None else ordered_json(command.operation)
        return {"type": command.type, "args": args, "full_match": match, "reason": "json_patch"}
    return {"type": command.type, "args": args, "full_match": command.source, "reason": "legacy"}
