"""Reading and changing sessions and their events inside a transaction."""

from __future__ import annotations

from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import EVENTS, SELECTIONS, SESSIONS
from runtime.sessions import events as kinds
from runtime.sessions.events import Event
from runtime.sessions.limits import FORK_DEPTH
from runtime.values.rows import InnkeeperError


def session_row(tx: Transaction, session_id: str, *, deleted: bool = False) -> Row:
    """The row of a session, or ``SESSION_NOT_FOUND`` / ``SESSION_DELETED``."""
    row = tx.get(SESSIONS, session_id)
    if row is None:
        raise InnkeeperError("SESSION_NOT_FOUND", f"expected the id of a session, found {session_id!r:.100}")
    if row["deleted"] and not deleted:
        raise InnkeeperError("SESSION_DELETED", f"session {session_id!r} was deleted")
    return row


def identity(row: Row) -> dict[str, Any]:
    """The durable identity of a session (spec/mvu.md §1.6)."""
    return {"sessionId": row["id"], "createdAt": row["created_at"]}


def change_session(tx: Transaction, row: Row, **changes: Any) -> None:
    """Change columns of a session, in the store and in ``row``."""
    tx.update(SESSIONS, (row["id"],), changes)
    row.update(changes)


def _event(row: Row) -> Event:
    return Event(row["seq"], row["type"], row["data"])


def read_events(tx: Transaction, session: Row, start: int = 0, limit: int | None = None) -> list[Event]:
    """The events from ``start`` on, inherited ones included, at most ``limit``."""
    end = session["next_seq"] if limit is None else min(session["next_seq"], start + limit)
    found: list[Event] = []
    owner = session
    spans: list[tuple[str, int, int]] = []
    for _ in range(FORK_DEPTH.default):
        own = max(start, owner["inherited"])
        if own < end:
            spans.append((owner["id"], own, end))
        end = min(end, owner["inherited"])
        if end <= start or owner["parent_id"] is None:
            break
        owner = session_row(tx, owner["parent_id"], deleted=True)
    for session_id, first, last in reversed(spans):
        rows = tx.select(
            EVENTS, {"session_id": session_id}, above=("seq", first), below=("seq", last - 1), order=("seq",)
        )
        found.extend(_event(row) for row in rows)
    return found


def event_at(tx: Transaction, session: Row, seq: int) -> Event | None:
    """The event with this sequence number, wherever it was inherited from."""
    if not 0 <= seq < session["next_seq"]:
        return None
    owner = owner_of(tx, session, seq)
    row = tx.get(EVENTS, owner["id"], seq)
    return None if row is None else _event(row)


def owner_of(tx: Transaction, session: Row, seq: int) -> Row:
    """The session in whose log the event ``seq`` was written."""
    owner = session
    for _ in range(FORK_DEPTH.default):
        if seq >= owner["inherited"] or owner["parent_id"] is None:
            return owner
        owner = session_row(tx, owner["parent_id"], deleted=True)
    raise InnkeeperError("MVU_SEED", f"session {session['id']!r} has more than {FORK_DEPTH.default} ancestors")


def find_message(tx: Transaction, session: Row, message_id: str) -> Event | None:
    """The message with this id in the session or in what it inherited."""
    owner, end = session, session["next_seq"]
    for _ in range(FORK_DEPTH.default):
        rows = tx.select(
            EVENTS,
            {"session_id": owner["id"], "message_id": message_id},
            below=("seq", end - 1),
            order=("seq",),
            descending=True,
        )
        if rows:
            return _event(rows[0])
        if owner["parent_id"] is None:
            return None
        end = min(end, owner["inherited"])
        owner = session_row(tx, owner["parent_id"], deleted=True)
    return None


def _last_of(tx: Transaction, session: Row, event_type: str) -> Event | None:
    owner, end = session, session["next_seq"]
    for _ in range(FORK_DEPTH.default):
        rows = tx.select(
            EVENTS,
            {"session_id": owner["id"], "type": event_type},
            below=("seq", end - 1),
            order=("seq",),
            descending=True,
            limit=1,
        )
        if rows:
            return _event(rows[0])
        if owner["parent_id"] is None:
            return None
        end = min(end, owner["inherited"])
        owner = session_row(tx, owner["parent_id"], deleted=True)
    return None


def last_reply(tx: Transaction, session: Row) -> Event | None:
    """The last assistant message of the session."""
    return _last_of(tx, session, kinds.ASSISTANT_MESSAGE)


def last_turn_start(tx: Transaction, session: Row) -> Event | None:
    """The last turn start of the session."""
    return _last_of(tx, session, kinds.TURN_START)


def last_turn_end(tx: Transaction, session: Row) -> Event | None:
    """The last turn end of the session."""
    return _last_of(tx, session, kinds.TURN_END)


def first_turn_start(tx: Transaction, session: Row) -> Event | None:
    """The first turn start of the session."""
    chain = [session]
    while chain[-1]["parent_id"] is not None and chain[-1]["inherited"] > 0:
        chain.append(session_row(tx, chain[-1]["parent_id"], deleted=True))
    end = session["next_seq"]
    bounds = []
    for owner in chain:
        bounds.append((owner["id"], end))
        end = min(end, owner["inherited"])
    for session_id, last in reversed(bounds):
        rows = tx.select(
            EVENTS,
            {"session_id": session_id, "type": kinds.TURN_START},
            below=("seq", last - 1),
            order=("seq",),
            limit=1,
        )
        if rows:
            return _event(rows[0])
    return None


def is_opening(tx: Transaction, session: Row) -> bool:
    """Whether the session is an untouched opening: no parent and only events of the table (spec/mvu.md §7.4)."""
    if session["parent_id"] is not None or session["last_turn"] is not None or session["running"]:
        return False
    return all(kinds.keeps_opening(event.type, event.fields) for event in read_events(tx, session))


def turn_events(tx: Transaction, session: Row, end: Event) -> list[Event]:
    """The events of the turn that ``end`` closes, from its last turn start on."""
    collected: list[Event] = []
    upto = end.seq
    while upto > 0:
        start = max(0, upto - 64)
        chunk = read_events(tx, session, start, upto - start)
        collected[:0] = chunk
        for index in range(len(collected) - 1, -1, -1):
            if collected[index].type == kinds.TURN_START and collected[index].turn == end.turn:
                return collected[index:]
        upto = start
    return collected


def message_count(tx: Transaction, session: Row) -> int:
    """How many user and assistant messages the session has, inherited ones included."""
    return sum(1 for e in read_events(tx, session) if e.type in (kinds.USER_MESSAGE, kinds.ASSISTANT_MESSAGE))


def selection_row(tx: Transaction, session_id: str) -> Row:
    """The selection of a session; nothing selected yet is generation 0 without a card."""
    row = tx.get(SELECTIONS, session_id)
    return row or {"session_id": session_id, "character_id": None, "greeting_index": 0, "generation": 0}
