"""A player's message, before any model is called (§7.3, §00.3): tags, staging, and every forced check in order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.world.canon import Canon, Check
from runtime.world.host.line import Line
from runtime.world.host.reading import fill_slots, named_in, tags_in
from runtime.world.kernel import Event, match_check, recipe_of
from runtime.world.opening import entry_for
from runtime.world.patching import Patch, apply_resolved
from runtime.world.pointers import State


@dataclass(frozen=True, slots=True)
class Forced:
    """One hit and its fate: ``ran`` with a receipt, ``lapsed`` (no longer held), or ``refused`` with a code."""

    check_id: str
    actors: dict[str, str]
    status: str
    receipt: dict[str, Any] | None = None
    code: str | None = None
    message: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The form of the answer."""
        body: dict[str, Any] = {"checkId": self.check_id, "actors": self.actors, "status": self.status}
        if self.receipt is not None:
            body["receipt"] = self.receipt
        if self.code is not None:
            body |= {"code": self.code, "message": self.message}
        return body


@dataclass(frozen=True, slots=True)
class MessageRun:
    """What a message did."""

    tags: list[str]
    staged: list[str]
    forced: list[Forced]
    events: tuple[Event, ...]
    state: State


def message_cause(text: str) -> str:
    """The mark that events caused by a message carry, so that a turn can tell that its message was run."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def stage_event(canon: Canon, state: State, ids: Sequence[str]) -> Event | None:
    """The event that brings characters on stage, or ``None`` when all stand there already.

    Whoever has a card but no entry in the State gets the fields of an opening (§00.8). The turn does not rise.
    """
    newcomers = [
        actor
        for actor in dict.fromkeys(ids)
        if actor not in state["present"]
        and (actor in state["characters"] or (actor in canon.cards and "." not in actor))
    ]
    if not newcomers:
        return None
    entries = {f"characters.{actor}": entry_for(canon, state, actor) for actor in newcomers}
    resolved: Patch = {pointer: entry for pointer, entry in entries.items() if entry is not None}
    resolved["present"] = [*state["present"], *newcomers]
    return {
        "type": "stage",
        "ids": newcomers,
        "resolved": resolved,
        "recipe": recipe_of(state),
        "canonHash": canon.hash,
    }


def run_message(line: Line, text: str, *, u: float | None = None) -> MessageRun:
    """Run a player's text: stage who is named, match, run every hit."""
    named = named_in(line.canon, line.state, text)
    return _run(line, tags_in(line.canon, text), named, None, u, message_cause(text))


def run_tagged(line: Line, tags: Sequence[str], actors: Mapping[str, str], *, u: float | None = None) -> MessageRun:
    """The same for a host that found tags and actors itself."""
    return _run(line, list(tags), list(actors.values()), dict(actors), u, None)


def _run(
    line: Line, tags: list[str], named: list[str], actors: dict[str, str] | None, u: float | None, cause: str | None
) -> MessageRun:
    events: list[Event] = []
    state = line.state
    staged = stage_event(line.canon, state, named)
    if staged is not None:
        state = apply_resolved(state, staged["resolved"])
        events.append(staged)
    chosen = frozenset(tags)
    hits = _hits(line.canon, state, chosen, named, actors)
    forced: list[Forced] = []
    kernel = line.kernel
    for position, (check, bound) in enumerate(hits):
        if position and match_check(check, state, chosen, bound) is None:
            forced.append(Forced(check.id, bound, "lapsed"))
            continue
        result = kernel.turn(state, {"type": "check", "checkId": check.id, "actors": bound}, u=u)
        if not result.ok:
            forced.append(Forced(check.id, bound, "refused", None, result.code, result.message))
            continue
        state = result.state
        events.extend({**event, "forced": True} for event in result.events)
        forced.append(Forced(check.id, bound, "ran", result.receipt))
    if cause is not None and events:
        events = [{**event, "message": cause} for event in events]
        # A rewind into the middle of a message cuts this mark off, so that the message counts as not run.
        events[-1]["messageEnd"] = True
    return MessageRun(tags, list(staged["ids"]) if staged else [], forced, tuple(events), state)


def _hits(
    canon: Canon, state: State, tags: frozenset[str], named: list[str], actors: dict[str, str] | None
) -> list[tuple[Check, dict[str, str]]]:
    """The hits in Canon order, each with actors for all of its slots."""
    hits = []
    for check in canon.checks.values():
        given = actors if actors is not None else fill_slots(check, state, named)
        bound = match_check(check, state, tags, given)
        if bound is not None:
            hits.append((check, bound))
    return hits


def missing_checks(line: Line, text: str, since: int) -> list[str]:
    """The forced checks of a text that no message run since the event ``since`` has looked at (http, whole turns)."""
    cause = message_cause(text)
    if any(event.get("message") == cause and event.get("messageEnd") for event in line.events[since:]):
        return []
    named = named_in(line.canon, line.state, text)
    state = line.state
    staged = stage_event(line.canon, state, named)
    if staged is not None:
        state = apply_resolved(state, staged["resolved"])
    tags = frozenset(tags_in(line.canon, text))
    return [check.id for check, _ in _hits(line.canon, state, tags, named, None)]
