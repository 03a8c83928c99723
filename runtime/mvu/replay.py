"""Replay: every stored reply again from its checkpoint, each version proved or the first difference named (design §11)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.ledger.tables import RESOURCES, VERSIONS
from runtime.mvu import engine
from runtime.mvu.processors import Processors
from runtime.sessions import store, timelines
from runtime.values.canonical import ordered_json
from runtime.values.patch import diff
from runtime.values.rows import InnkeeperError


@dataclass(frozen=True, slots=True)
class Replayed:
    """One version: ``difference`` is ``None`` when the replay gave the same bytes."""

    session_id: str
    resource_id: str
    turn: int | None
    revision: int
    difference: str | None


def replay_playthrough(ledger: Ledger, processors: Processors, playthrough_id: str) -> Iterator[Replayed]:
    """Re-run every reply of a playthrough's sessions, in the order in which it was applied."""
    session_ids = ledger.read(lambda tx: timelines.member_sessions(tx, timelines.playthrough_row(tx, playthrough_id)))
    for session_id in session_ids:
        yield from ledger.read(partial(_replay_session, processors=processors, session_id=session_id))


def _replay_session(tx: Transaction, processors: Processors, session_id: str) -> list[Replayed]:
    found: list[Replayed] = []
    for resource in tx.select(RESOURCES, {"session_id": session_id}, order=("id",)):
        found.extend(_replay(tx, processors, session_id, resource["id"]))
    return found


def _replay(tx: Transaction, processors: Processors, session_id: str, resource_id: str) -> list[Replayed]:
    session = store.session_row(tx, session_id, deleted=True)
    resource = tx.get(RESOURCES, resource_id)
    assert resource is not None
    found = []
    for version in tx.select(VERSIONS, {"resource_id": resource_id, "kind": "reply"}, order=("ordinal",)):
        difference = _difference(tx, processors, session, resource, version)
        found.append(Replayed(session_id, resource_id, version["turn"], version["revision"], difference))
    return found


def _difference(tx: Transaction, processors: Processors, session: Row, resource: Row, version: Row) -> str | None:
    receipt: dict[str, Any] = version["data"]["receipt"]
    if receipt["status"] == "skipped":
        return None if version["content"] == version["data"]["before"] else "a skipped reply has changed the content"
    reply = store.event_at(tx, session, version["message_seq"])
    if reply is None:
        return f"the reply at event {version['message_seq']} is missing"
    end = next((e for e in store.read_events(tx, session, reply.seq) if e.type == "turn/end"), None)
    events = [] if end is None else store.turn_events(tx, session, end)
    user = next((e.text for e in reversed(events) if e.type == "user/message"), "")
    variables = tx.load_content(version["data"]["before"])
    clock = int(version["data"].get("clock") or 0)
    dialect = version["data"].get("dialect", "strict")
    outcome = processors.filter(tx, resource, variables, reply.text, user, dialect=dialect)
    try:
        after = engine.update(variables, reply.text, clock=clock, outcome=outcome, dialect=dialect).variables
    except InnkeeperError as error:
        return (
            None
            if version["error"] == error.code
            else f"the reply fails with {error.code}, stored was {version['error'] or 'a state'}"
        )
    if version["error"] is not None:
        return f"the reply is accepted, stored was the failure {version['error']}"
    stored = tx.load_content(version["content"])
    if ordered_json(after) == ordered_json(stored):
        return None
    changed = diff(stored, after)
    return (
        f"the state differs at {changed[0]['path'] or 'its root'}"
        if changed
        else "the state differs in the order of its keys"
    )
