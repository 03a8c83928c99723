"""What the world service needs from a store, and one in memory for tests and for playing alone.

A store object stands for one transaction of its owner: everything the service does through it is kept together or not
at all. The opening, the Canon's hash and the role never change; events are only appended.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from runtime.values.canonical import canonical_json
from runtime.values.rows import InnkeeperError
from runtime.world.kernel import Event
from runtime.world.pointers import State


@dataclass(frozen=True, slots=True)
class PackRecord:
    """The last upload of a pack: its Canon's hash, whether it may be played, and what was found."""

    pack_id: str
    canon_hash: str
    ok: bool
    diagnostics: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class WorldRecord:
    """One session's world. ``snapshot`` is a cache: the State after the first ``count`` events."""

    session_id: str
    pack_id: str
    canon_hash: str
    role: str
    opening: State
    events: tuple[Event, ...] = ()
    snapshot: tuple[int, State] | None = None


class WorldStore(Protocol):
    """One transaction over stored packs, Canons and sessions."""

    def pack(self, pack_id: str) -> PackRecord | None:
        """The last upload under this id."""
        ...

    def put_pack(self, record: PackRecord, document: Mapping[str, Any]) -> None:
        """Keep an upload and its Canon, which is stored by hash and stays as long as a session uses it."""
        ...

    def canon(self, canon_hash: str) -> Mapping[str, Any] | None:
        """The document of a Canon."""
        ...

    def load(self, session_id: str) -> WorldRecord | None:
        """The world of a session, with everything that it inherited."""
        ...

    def create(self, record: WorldRecord) -> None:
        """Give a session (a new one, or one without a world) its world."""
        ...

    def append(self, session_id: str, events: Sequence[Event], snapshot: tuple[int, State] | None) -> None:
        """Append events to the session's log; a snapshot may be kept as a cache."""
        ...

    def fork(self, session_id: str, index: int, child_id: str) -> str:
        """Fork all sources right before the world event at ``index``; answers the child's id (it must be free)."""
        ...

    def once(
        self, scope: str, operation_id: str, request: Any, produce: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Answer the stored receipt of this operation, or produce and keep it."""
        ...


@dataclass(slots=True)
class MemoryStore:
    """A store in memory; every write is kept at once."""

    packs: dict[str, PackRecord] = field(default_factory=dict)
    canons: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    sessions: dict[str, WorldRecord] = field(default_factory=dict)
    operations: dict[tuple[str, str], tuple[str, dict[str, Any]]] = field(default_factory=dict)

    def pack(self, pack_id: str) -> PackRecord | None:
        """See ``WorldStore``."""
        return self.packs.get(pack_id)

    def put_pack(self, record: PackRecord, document: Mapping[str, Any]) -> None:
        """See ``WorldStore``."""
        self.packs[record.pack_id] = record
        self.canons[record.canon_hash] = document

    def canon(self, canon_hash: str) -> Mapping[str, Any] | None:
        """See ``WorldStore``."""
        return self.canons.get(canon_hash)

    def load(self, session_id: str) -> WorldRecord | None:
        """See ``WorldStore``."""
        return self.sessions.get(session_id)

    def create(self, record: WorldRecord) -> None:
        """See ``WorldStore``."""
        if record.session_id in self.sessions:
            raise InnkeeperError("WORLD_SESSION_EXISTS", f"the session {record.session_id!r} already has a world")
        self.sessions[record.session_id] = record

    def append(self, session_id: str, events: Sequence[Event], snapshot: tuple[int, State] | None) -> None:
        """See ``WorldStore``."""
        record = self.sessions[session_id]
        kept = snapshot if snapshot is not None else record.snapshot
        self.sessions[session_id] = replace(
            record, events=(*record.events, *copy.deepcopy(tuple(events))), snapshot=kept
        )

    def fork(self, session_id: str, index: int, child_id: str) -> str:
        """See ``WorldStore``."""
        record = self.sessions[session_id]
        number = 2
        name = child_id
        while name in self.sessions:
            name, number = f"{child_id}-{number}", number + 1
        snapshot = record.snapshot if record.snapshot is not None and record.snapshot[0] <= index else None
        self.sessions[name] = replace(record, session_id=name, events=record.events[:index], snapshot=snapshot)
        return name

    def once(
        self, scope: str, operation_id: str, request: Any, produce: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """See ``WorldStore``."""
        fingerprint = canonical_json(request)
        known = self.operations.get((scope, operation_id))
        if known is None:
            known = self.operations[scope, operation_id] = (fingerprint, produce())
        elif known[0] != fingerprint:
            raise InnkeeperError(
                "WORLD_IDEMPOTENCY_CONFLICT",
                f"operation {operation_id!r} was used for another request; choose a new id for a new request",
            )
        return known[1]
