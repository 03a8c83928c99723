"""The world's store on the shared ledger: Canons and packs in the library, worlds as documents, events in the session's log.

A StoryEvent is a session event of type ``world/<type>``, so a fork, swipe or retry inherits it as it inherits messages
(§00.7). The binding of a session is document 0, a snapshot of the State after n events is document n; the Canon stands
beside them as a document of its own, so that an exported session carries its rules.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import DOCUMENTS, LIBRARY, SESSIONS
from runtime.sessions import events as kinds
from runtime.sessions import store as sessions
from runtime.sessions.events import Event as SessionEvent
from runtime.sessions.host import check_identifier
from runtime.sessions.operations import check_operation_id, once
from runtime.sessions.sources import Cut
from runtime.values.rows import InnkeeperError
from runtime.world.kernel import Event
from runtime.world.limits import CACHED_SESSIONS
from runtime.world.pointers import State
from runtime.world.store import PackRecord, WorldRecord

SOURCE = "world"
CANON_SOURCE = "world-canon"
PREFIX = "world/"
_PACK = "world-pack"
_CANON = "world-canon"


@dataclass(frozen=True, slots=True)
class HostPorts:
    """What the session host does for the world, each inside the given transaction.

    ``create`` makes a session, ``append`` adds events to its log, ``branch`` makes a child that all sources fork into.
    """

    create: Callable[[Transaction, str | None], Row]
    append: Callable[[Transaction, Row, list[tuple[str, dict[str, Any]]]], object]
    branch: Callable[[Transaction, Row, Cut, str], Row]


class EventCache:
    """The world's events of recently used sessions, so that a long log is not read for every act.

    A log is only appended to, so a beginning that was committed stays true; what a transaction read itself is
    remembered once it is durable.
    """

    def __init__(self, most: int = CACHED_SESSIONS.default) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._items: OrderedDict[str, tuple[int, tuple[Event, ...]]] = OrderedDict()

    def get(self, session_id: str) -> tuple[int, tuple[Event, ...]]:
        """``(next number to read, events before it)``."""
        with self._lock:
            return self._items.get(session_id, (0, ()))

    def put(self, session_id: str, upto: int, events: tuple[Event, ...]) -> None:
        """Remember a committed beginning; a longer one stays."""
        with self._lock:
            known = self._items.get(session_id)
            if known is None or known[0] <= upto:
                self._items[session_id] = (upto, events)
            self._items.move_to_end(session_id)
            while len(self._items) > self._most:
                self._items.popitem(last=False)


def binding_of(tx: Transaction, session_id: str) -> Row | None:
    """The document that binds a session to its world."""
    return tx.get(DOCUMENTS, SOURCE, session_id, 0)


def world_events(tx: Transaction, session: Row, end: int | None = None) -> list[SessionEvent]:
    """The world's events of a session, inherited ones included, up to the number ``end``."""
    found = sessions.read_events(tx, session, 0, end)
    return [event for event in found if event.type.startswith(PREFIX)]


def story_event(event: SessionEvent) -> Event:
    """The StoryEvent inside a session event."""
    return {"type": event.type.removeprefix(PREFIX), **event.fields}


def put_canon(tx: Transaction, session_id: str, content: str, canon_hash: str) -> None:
    """Keep the Canon of a session beside it."""
    row = {"source": CANON_SOURCE, "session_id": session_id, "ordinal": 0, "seq": 0, "content": content}
    tx.put(DOCUMENTS, {**row, "data": {"canonHash": canon_hash}})


def snapshot_of(tx: Transaction, session_id: str, most: int) -> tuple[int, str] | None:
    """``(events, content key)`` of the last snapshot of at most ``most`` events."""
    rows = tx.select(
        DOCUMENTS,
        {"source": SOURCE, "session_id": session_id},
        above=("ordinal", 1),
        below=("ordinal", most),
        order=("ordinal",),
        descending=True,
        limit=1,
    )
    return (rows[0]["ordinal"], rows[0]["content"]) if rows else None


def put_document(tx: Transaction, session_id: str, ordinal: int, seq: int, content: str, data: Any) -> None:
    """Keep a document of the world."""
    row = {"source": SOURCE, "session_id": session_id, "ordinal": ordinal, "seq": seq, "content": content, "data": data}
    tx.put(DOCUMENTS, row)


@dataclass(frozen=True, slots=True)
class RetryCut(Cut):
    """A cut right before a world event: what the child does not inherit did not happen, even when that is everything."""


def retry_cut(tx: Transaction, session: Row, seq: int) -> RetryCut:
    """The cut of ``/retry`` before the event ``seq``: as a swipe of the turn around or after it, else as a fork.

    The other sources know the state at a turn's start and the state after a reply; between two turns the two are one.
    """
    events = sessions.read_events(tx, session)
    starts = [event for event in events if event.type == kinds.TURN_START]
    after = next((event for event in starts if event.seq > seq), None)
    before = next((event for event in reversed(starts) if event.seq < seq), None)
    ended = before is not None and any(event.type == kinds.TURN_END for event in events[before.seq : seq])
    around = before if before is not None and not ended else after
    if around is not None:
        # The reply of that turn tells the timeline where the child's next reply belongs.
        reply = next((event for event in events[around.seq :] if event.type == kinds.ASSISTANT_MESSAGE), None)
        return RetryCut("reply-swipe", reply.seq if reply is not None else seq, seq, around.turn or 0)
    reply = next((event for event in reversed(events[:seq]) if event.type == kinds.ASSISTANT_MESSAGE), None)
    return RetryCut(
        "fork", reply.seq if reply is not None else -1, seq, (before.turn or 0) if before is not None else 0
    )


class LedgerWorldStore:
    """One transaction of the ledger as a ``WorldStore``."""

    def __init__(self, tx: Transaction, ports: HostPorts, cache: EventCache | None = None) -> None:
        self._tx = tx
        self._ports = ports
        self._cache = cache
        # Canons of loaded sessions by hash: an imported session brings its own, whatever the library holds.
        self._canons: dict[str, str] = {}

    def pack(self, pack_id: str) -> PackRecord | None:
        """See ``WorldStore``."""
        row = self._tx.get(LIBRARY, _PACK, pack_id)
        if row is None:
            return None
        data = row["data"]
        return PackRecord(pack_id, data["canonHash"], data["ok"], tuple(data["diagnostics"]))

    def put_pack(self, record: PackRecord, document: Mapping[str, Any]) -> None:
        """See ``WorldStore``."""
        content = self._tx.store_content(document)
        canon = {"kind": _CANON, "id": record.canon_hash, "content": content.key, "data": {}}
        data = {"canonHash": record.canon_hash, "ok": record.ok, "diagnostics": list(record.diagnostics)}
        self._tx.put(LIBRARY, canon)
        self._tx.put(LIBRARY, {"kind": _PACK, "id": record.pack_id, "content": content.key, "data": data})

    def canon(self, canon_hash: str) -> Mapping[str, Any] | None:
        """See ``WorldStore``."""
        key = self._canons.get(canon_hash)
        if key is None:
            row = self._tx.get(LIBRARY, _CANON, canon_hash)
            if row is None:
                return None
            key = row["content"]
        document: Mapping[str, Any] = self._tx.load_content(key)
        return document

    def load(self, session_id: str) -> WorldRecord | None:
        """See ``WorldStore``."""
        session = self._tx.get(SESSIONS, session_id)
        binding = binding_of(self._tx, session_id)
        if session is None or session["deleted"] or binding is None:
            return None
        events = self._events(session, binding["seq"])
        kept = snapshot_of(self._tx, session_id, len(events))
        snapshot = (kept[0], self._tx.load_content(kept[1])) if kept is not None else None
        data = binding["data"]
        canon = self._tx.get(DOCUMENTS, CANON_SOURCE, session_id, 0)
        if canon is not None:
            self._canons[data["canonHash"]] = canon["content"]
        return WorldRecord(
            session_id,
            data["packId"],
            data["canonHash"],
            data["role"],
            self._tx.load_content(binding["content"]),
            events,
            snapshot,
        )

    def _events(self, session: Row, first: int) -> tuple[Event, ...]:
        """The world's events from ``first`` on, read only as far as they are not remembered."""
        start, known = self._cache.get(session["id"]) if self._cache is not None else (0, ())
        found = sessions.read_events(self._tx, session, max(start, first))
        events = (*known, *(story_event(event) for event in found if event.type.startswith(PREFIX)))
        cache, name, upto = self._cache, session["id"], session["next_seq"]
        if cache is not None:
            self._tx.after_commit(lambda: cache.put(name, upto, events))
        return events

    def create(self, record: WorldRecord) -> None:
        """See ``WorldStore``."""
        check_identifier(record.session_id, "sessionId")
        session = self._tx.get(SESSIONS, record.session_id) or self._ports.create(self._tx, record.session_id)
        sessions.session_row(self._tx, record.session_id)
        if binding_of(self._tx, record.session_id) is not None:
            raise InnkeeperError("WORLD_SESSION_EXISTS", f"the session {record.session_id!r} already has a world")
        content = self._tx.store_content(record.opening)
        data = {"packId": record.pack_id, "canonHash": record.canon_hash, "role": record.role}
        put_document(self._tx, record.session_id, 0, session["next_seq"], content.key, data)
        canon = self._tx.get(LIBRARY, _CANON, record.canon_hash)
        if canon is not None:
            put_canon(self._tx, record.session_id, canon["content"], record.canon_hash)

    def append(self, session_id: str, events: Sequence[Event], snapshot: tuple[int, State] | None) -> None:
        """See ``WorldStore``."""
        session = sessions.session_row(self._tx, session_id)
        fields = [
            (PREFIX + str(event["type"]), {key: value for key, value in event.items() if key != "type"})
            for event in events
        ]
        self._ports.append(self._tx, session, fields)
        if snapshot is not None:
            content = self._tx.store_content(snapshot[1])
            put_document(self._tx, session_id, snapshot[0], session["next_seq"], content.key, {})

    def fork(self, session_id: str, index: int, child_id: str) -> str:
        """See ``WorldStore``."""
        session = sessions.session_row(self._tx, session_id)
        binding = binding_of(self._tx, session_id)
        first = binding["seq"] if binding is not None else 0
        events = [event for event in world_events(self._tx, session) if event.seq >= first]
        name, number = child_id, 2
        while self._tx.get(SESSIONS, name) is not None:
            name, number = f"{child_id}-{number}", number + 1
        child = self._ports.branch(self._tx, session, retry_cut(self._tx, session, events[index].seq), name)
        return str(child["id"])

    def once(
        self, scope: str, operation_id: str, request: Any, produce: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """See ``WorldStore``."""
        check_operation_id(operation_id, "WORLD_REQUEST")
        return once(self._tx, scope, operation_id, request, produce, "WORLD_IDEMPOTENCY_CONFLICT")
