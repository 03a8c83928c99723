"""What a helper sees of a command: ``{type, args, full_match, reason}`` (spec/mvu.md §6 Command view)."""

from __future__ import annotations

from typing import Any

from runtime.mvu.commands import Command
from runtime.values.canonical import ordered_json

View = dict[str, Any]


def command_view(command: Command) -> View:
    """The view of one command. Arguments are texts: the path (``move``: both paths), then JSON of what follows."""
    arguments = command.arguments()
    plain = len(arguments) if command.type == "move" else 1
    args = [text if place < plain else ordered_json(text) for place, text in enumerate(arguments)]
    if command.form == "patch":
        match = command.source if command.operation is None else ordered_json(command.operation)
        return {"type": command.type, "args": args, "full_match": match, "reason": "json_patch"}
    return {"type": command.type, "args": args, "full_match": command.source, "reason": "legacy"}
