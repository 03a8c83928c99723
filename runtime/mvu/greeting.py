"""Greetings: the explicit update blocks of an opening text, applied once (spec/mvu.md §4.6)."""

from __future__ import annotations

import re
from typing import Any

from runtime.mvu.apply import SchemaLike, apply_commands
from runtime.mvu.commands import parse_commands
from runtime.mvu.commands.find import Lines
from runtime.mvu.commands.model import Command
from runtime.mvu.commands.strict import check_text, strip_fence
from runtime.mvu.envelope import Variables
from runtime.mvu.errors import fatal
from runtime.mvu.limits import COMMANDS

_TAG = re.compile(r"<(/?)(UpdateVariable|JSONPatch|json_patch)>", re.IGNORECASE)


def envelopes(text: str) -> list[tuple[str, int, int, int, int]]:
    """The outermost envelopes: name, start, end, and the span of the body; unbalanced tags are refused."""
    found: list[tuple[str, int, int, int, int]] = []
    stack: list[tuple[str, int, int]] = []
    lines = Lines(text)
    for match in _TAG.finditer(text):
        name = match.group(2).lower()
        if not match.group(1):
            stack.append((name, match.start(), match.end()))
            continue
        if not stack or stack[-1][0] != name:
            wanted = f"</{stack[-1][0]}>" if stack else "no closing tag"
            raise _unbalanced(f"expected {wanted}, found {match.group()} at line {lines.of(match.start())}")
        _, start, body = stack.pop()
        if not stack:
            found.append((name, start, match.end(), body, match.start()))
    if stack:
        name, start, _ = stack[-1]
        raise _unbalanced(f"expected </{name}> for the tag of line {lines.of(start)}, found the end of the greeting")
    return found


def _unbalanced(message: str) -> Exception:
    return fatal("MVU_INITIALIZATION_INVALID", f"the greeting's update blocks are not balanced: {message}")


def read_greeting(text: str) -> list[Command]:
    """The commands of a greeting, in order; spans refer to the whole text."""
    check_text(text)
    commands: list[Command] = []
    for name, start, end, body_start, body_end in envelopes(text):
        if name == "updatevariable":
            source, offset = text[body_start:body_end], body_start
            if strip_fence(source).startswith("["):
                source, offset = f"<JSONPatch>{source}</JSONPatch>", -1
        else:
            source, offset = text[start:end], start
        for command in parse_commands(source).commands:
            place = (start, end) if offset < 0 else (command.start + offset, command.end + offset)
            commands.append(command._replace(order=len(commands), start=place[0], end=place[1]))
    if len(commands) > COMMANDS.default:
        raise fatal("MVU_LIMIT", f"expected at most {COMMANDS.default} commands in a greeting, found {len(commands)}")
    return commands


def initialise(
    text: str,
    variables: Variables | None,
    schema: SchemaLike | None = None,
    *,
    clock: int | None = None,
    memory: Any = None,
) -> Any:
    """The variables of a chat that begins with this greeting; ``variables`` are the card's, normalised.

    Without update blocks the same object comes back; None stays None. A refused command is an error here
    (``MVU_INITIALIZATION_INVALID``): an opening is written by the author and applies as a whole or not at all.
    """
    if variables is None:
        return None
    commands = read_greeting(text)
    if not commands:
        return variables
    applied = apply_commands(variables, commands, schema, clock=clock, memory=memory)
    refused = [receipt for receipt in applied.receipts if receipt.status == "refused"]
    if refused:
        first = refused[0]
        raise fatal(
            "MVU_INITIALIZATION_INVALID",
            f"the greeting's command {first.command.order} is refused: {first.message}",
            {"diagnostics": list(applied.diagnostics), "receipts": [receipt.to_json() for receipt in refused]},
        )
    return applied.variables
