"""Commands in prose: finding, reading and normalising them, in two dialects (spec/mvu.md §4)."""

from __future__ import annotations

from typing import Any

from runtime.mvu.commands import strict
from runtime.mvu.commands.magvarupdate import commands as loose
from runtime.mvu.commands.model import (
    REASONING_TAGS,
    STRICT,
    Command,
    CommandError,
    Ignored,
    Parsed,
    ParseOptions,
)
from runtime.mvu.commands.repairs import ALL_REPAIRS, REPAIRS
from runtime.mvu.errors import fatal

__all__ = [
    "ALL_REPAIRS",
    "DIALECTS",
    "REASONING_TAGS",
    "REPAIRS",
    "STRICT",
    "Command",
    "CommandError",
    "Ignored",
    "ParseOptions",
    "Parsed",
    "commands_from_patch",
    "contains_update",
    "parse_commands",
]

DIALECTS = ("strict", "magvarupdate")
"""The dialects that replies can be written in."""


def parse_commands(text: str, *, dialect: str = "strict", options: ParseOptions = STRICT) -> Parsed:
    """Everything in ``text`` that is a command, or looks like one, in order of place.

    Raises ``CommandError`` where the dialect calls an error fatal.
    """
    if dialect == "strict":
        return strict.parse(text, options)
    if dialect == "magvarupdate":
        return loose.parse(text, options)
    raise fatal("MVU_CONFIG", f"expected a dialect out of {', '.join(DIALECTS)}, found {dialect!r:.40}")


def commands_from_patch(operations: Any) -> Parsed:
    """The commands of a JSON Patch given as a value (card writes)."""
    return strict.parse_patch(operations)


def contains_update(text: str) -> bool:
    """Whether a reply holds anything of an update, for usage policies (spec/mvu.md §4.1)."""
    return strict.contains_update(text)
