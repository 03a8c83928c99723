"""Acting on a line: intents, commands, tools and messages, each answered in the same way (§7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.world.channels import fact_refusal
from runtime.world.host.authoring import author_tool
from runtime.world.host.commands import Command, parse_command, split_command
from runtime.world.host.line import RETRY_SUFFIX, Answer, Fork, Line, of_result, refused
from runtime.world.host.refusals import HostRefusal
from runtime.world.host.tools import actors_of, tags_of, tool_intent, tool_of
from runtime.world.host.views import state_view
from runtime.world.intents import Intent, check_intent
from runtime.world.limits import LORE_CHARS
from runtime.world.opening import entry_for
from runtime.world.patching import add_delta, is_delta
from runtime.world.pointers import MISSING, PointerError, read, segments_of, utf16_length


def run_intent(line: Line, intent: Intent, *, u: float | None = None) -> Answer:
    """Carry out an intent. A look sees what the role may see."""
    check_intent(intent)
    state = state_view(line.state, line.role) if intent["type"] == "look" else line.state
    result = line.kernel.turn(state, intent, u=u)
    body = result.receipt.get("body")
    if line.canon.lore_budget is None and isinstance(body, str) and utf16_length(body) > LORE_CHARS.default:
        # The kernel knows the pack's own budget only; where a pack names none, the host's holds (§00.8).
        return refused("BUDGET", f"expected at most {LORE_CHARS.default} characters, found {utf16_length(body)}")
    return of_result(result)


def run_command_text(line: Line, text: str) -> Answer:
    """Carry out ``/name …``."""
    try:
        return run_command(line, *split_command(text))
    except HostRefusal as refusal:
        return refused(refusal.code, refusal.message)


def run_command(line: Line, name: str, argument: str = "") -> Answer:
    """Carry out a command; refusals of the host are answers with codes of their own."""
    try:
        command = parse_command(name, argument)
        if command.name == "ooc":
            return Answer({"ok": True, "receipt": {"kind": "empty"}})
        if command.name == "retry":
            return _rewind(line, command)
        return run_intent(line, _ready(line, command))
    except HostRefusal as refusal:
        return refused(refusal.code, refusal.message)


def _ready(line: Line, command: Command) -> Intent:
    """The intent of a command with what only the host knows: cards for summoning, sums for corrections."""
    intent = dict(command.intent or {})
    if intent["type"] == "correct" and is_delta(intent["value"]):
        # Corrections are literal in the kernel, so a change is worked out here.
        if fact_refusal(intent["pointer"], line.canon.guards) is None:
            current = read(line.state, segments_of(intent["pointer"]))
            try:
                intent["value"] = add_delta(None if current is MISSING else current, intent["value"])
            except PointerError as error:
                raise HostRefusal("HOST_COMMAND", str(error)) from None
    elif intent["type"] == "gm":
        intent["patch"] = _summoned(line, intent["patch"])
    return intent


def _summoned(line: Line, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Summoning needs a card (§00.8); a card without an entry in the State gets its fields."""
    value = patch.get("present")
    ids = value if isinstance(value, list) else [value]
    fields: dict[str, Any] = {}
    for item in ids:
        if not isinstance(item, str) or item.strip().startswith("-"):
            continue
        actor = item.strip().removeprefix("+")
        if "." in actor or (actor not in line.canon.cards and actor not in line.opening["characters"]):
            have = ", ".join(line.canon.cards)
            raise HostRefusal("HOST_COMMAND", f"expected somebody with a card ({have}), found {actor!r}")
        entry = entry_for(line.canon, line.state, actor)
        if entry is not None:
            fields[f"characters.{actor}"] = entry
    return {**fields, **patch}


def _rewind(line: Line, command: Command) -> Answer:
    """Find the last check (or the last of a name); the new line ends right before it (§7.4, §00.7)."""
    for index in range(len(line.events) - 1, -1, -1):
        event = line.events[index]
        if event.get("type") == "check" and command.check_id in (None, event.get("check_id")):
            fork = Fork(index, str(event.get("check_id")), line.session_id + RETRY_SUFFIX)
            return Answer({"ok": True, "receipt": {"kind": "empty"}}, (), fork)
    what = f"a check {command.check_id!r}" if command.check_id else "a check"
    raise HostRefusal("HOST_NOTHING_TO_RETRY", f"expected {what} to go back to, found none in this session")


def run_tool(line: Line, name: str, arguments: Mapping[str, Any], *, u: float | None = None) -> Answer:
    """Run one tool call of a model."""
    try:
        tool = tool_of(name, line.role)
        if tool.author_only:
            return Answer({"ok": True, "receipt": {"kind": "empty"}, **author_tool(line, name, arguments)})
        if name == "check_match":
            hits = line.kernel.match(line.state, tags_of(arguments.get("tags")), actors_of(arguments.get("actors")))
            forced = [hit.to_json() for hit in hits]
            return Answer({"ok": True, "receipt": {"kind": "empty"}, "forced": forced})
        return run_intent(line, tool_intent(name, arguments), u=u)
    except HostRefusal as refusal:
        return refused(refusal.code, refusal.message)
