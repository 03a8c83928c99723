"""The world kernel as a state source of the session host: forks, swipes and retries carry it, turns are held to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.ledger.tables import DOCUMENTS
from runtime.sessions import events as kinds
from runtime.sessions import store as sessions
from runtime.sessions.events import Event
from runtime.sessions.sources import Cut, EndedTurn, Receipt
from runtime.world.fold import fold
from runtime.world.host.line import Line
from runtime.world.ledger_store import (
    CANON_SOURCE,
    PREFIX,
    SOURCE,
    EventCache,
    HostPorts,
    LedgerWorldStore,
    RetryCut,
    binding_of,
    put_canon,
    put_document,
    snapshot_of,
    world_events,
)
from runtime.world.pointers import MISSING, read
from runtime.world.service import WorldService, WorldSettings

T = TypeVar("T")
_CHUNK = 64


class WorldSource:
    """Implements ``StateSource``, and runs work on the world service inside one transaction."""

    name = SOURCE

    def __init__(self, ledger: Ledger, ports: HostPorts, settings: WorldSettings) -> None:
        self._ledger = ledger
        self._ports = ports
        self._settings = settings
        self._cache = EventCache()

    # -- for endpoints -----------------------------------------------------------------------------------------

    def write(self, work: Callable[[WorldService], T]) -> T:
        """Run ``work`` in one durable transaction."""
        return self._ledger.write(lambda tx: work(self.service(tx)))

    def read(self, work: Callable[[WorldService], T]) -> T:
        """Run ``work`` on one consistent snapshot."""
        return self._ledger.read(lambda tx: work(self.service(tx)))

    def service(self, tx: Transaction) -> WorldService:
        """The service over one transaction."""
        return WorldService(LedgerWorldStore(tx, self._ports, self._cache), self._settings)

    def prompt_blocks(self, session_id: str, turn: int | None = None) -> list[dict[str, Any]]:
        """The world's context as the block of a model request; none without a world."""
        if self._ledger.read(lambda tx: binding_of(tx, session_id)) is None:
            return []
        found = self.read(lambda service: service.context(session_id))
        return [
            {
                "id": f"world-{found['turn']}" if "turn" in found else "world",
                "source": "innkeeper.world/context",
                "role": "system",
                "lifetime": "request",
                "text": found["text"],
                "diagnostics": [],
            }
        ]

    # -- StateSource -------------------------------------------------------------------------------------------

    def prepare(self, session_id: str, replies: Sequence[tuple[int, Event, str]]) -> Any:
        """The world has no slow work."""
        return None

    def selected(self, tx: Transaction, session: Row, selection: Row, *, fresh: bool) -> None:
        """Cards of a host do not change a world."""

    def before_turn(self, tx: Transaction, session: Row, start: Event, user_text: str) -> None:
        """Refuse a turn whose message forces checks that were not run (``FORCED_CHECK_MISSING``)."""
        if binding_of(tx, session["id"]) is not None and user_text:
            service = self.service(tx)
            recent = _events_since(tx, session, _turn_boundary(tx, session, start.seq))
            since = max(0, len(service.line(session["id"]).events) - recent)
            service.missing_checks(session["id"], user_text, since)

    def turn_started(self, tx: Transaction, session: Row, start: Event) -> None:
        """Nothing to freeze: the log is the truth."""

    def turn_ended(self, tx: Transaction, session: Row, ended: EndedTurn, prepared: Any) -> list[Receipt]:
        """What the world's events since the last reply changed, and the claims that none of them caused."""
        if binding_of(tx, session["id"]) is None or ended.reply is None:
            return []
        service = self.service(tx)
        line = service.line(session["id"])
        recent = _events_since(tx, session, _turn_boundary(tx, session, ended.end.seq))
        since = max(0, len(line.events) - recent)
        return [
            {
                "source": SOURCE,
                "resourceId": f"{SOURCE}:{session['id']}",
                "status": "applied" if len(line.events) > since else "no-update",
                "revision": line.state["turn"],
                "changes": _changes(line, since),
                "diagnostics": service.claims(session["id"], ended.reply.text, since),
                "ignored": [],
            }
        ]

    def capture(self, tx: Transaction, session: Row, cut: Cut) -> Any | None:
        """The binding, and the State itself where the child inherits no events."""
        binding = binding_of(tx, session["id"])
        if binding is None:
            return None
        end = cut.inherited
        if cut.inherited == 0 and not isinstance(cut, RetryCut):
            end = _start_of(tx, session, cut)
        if end < binding["seq"]:
            return None
        count = self._events_before(tx, session, binding, end)
        item: dict[str, Any] = {"data": binding["data"], "seq": binding["seq"], "content": binding["content"]}
        if cut.inherited == 0:
            line = self.service(tx).line(session["id"])
            item |= {"seq": 0, "state": fold(line.opening, line.events[:count])}
        else:
            item["snapshot"] = snapshot_of(tx, session["id"], count)
        return item

    def install(self, tx: Transaction, parent: Row, child: Row, cut: Cut, item: Any) -> None:
        """Bind the child to the same Canon and role."""
        content = item["content"]
        if "state" in item:
            content = tx.store_content(item["state"]).key
        put_document(tx, child["id"], 0, item["seq"], content, item["data"])
        canon = tx.get(DOCUMENTS, CANON_SOURCE, parent["id"], 0)
        if canon is not None:
            put_canon(tx, child["id"], canon["content"], item["data"]["canonHash"])
        if item.get("snapshot") is not None:
            ordinal, key = item["snapshot"]
            put_document(tx, child["id"], ordinal, child["next_seq"], key, {})

    def describe(self, tx: Transaction, session: Row) -> Mapping[str, Any]:
        """Pack, role and turn."""
        if binding_of(tx, session["id"]) is None or session["deleted"]:
            return {}
        line = self.service(tx).line(session["id"])
        world = {"packId": line.canon.id, "canonHash": line.canon.hash, "role": line.role, "turn": line.state["turn"]}
        return {SOURCE: world}

    def _events_before(self, tx: Transaction, session: Row, binding: Row, end: int) -> int:
        """How many events of this world stand before the number ``end``."""
        if end <= 0:
            return 0
        return sum(1 for event in world_events(tx, session, end) if event.seq >= binding["seq"])


def _turn_boundary(tx: Transaction, session: Row, before: int) -> int:
    """The number right behind the last turn's end before the event ``before``, looked for from the back."""
    end, size = before, _CHUNK
    while end > 0:
        start = max(0, end - size)
        events = sessions.read_events(tx, session, start, end - start)
        found = next((event.seq + 1 for event in reversed(events) if event.type == kinds.TURN_END), None)
        if found is not None:
            return found
        end, size = start, size * 2
    return 0


def _events_since(tx: Transaction, session: Row, boundary: int) -> int:
    """How many world events stand at or behind the number ``boundary``."""
    return sum(1 for event in sessions.read_events(tx, session, boundary) if event.type.startswith(PREFIX))


def _start_of(tx: Transaction, session: Row, cut: Cut) -> int:
    """The number of the start of the cut's turn."""
    events = sessions.read_events(tx, session, 0, max(cut.at_event, 0) + 1)
    return next((event.seq for event in reversed(events) if event.type == kinds.TURN_START), 0)


def _changes(line: Line, since: int) -> list[dict[str, Any]]:
    """What each pointer was and is, over the events since then."""
    before = fold(line.opening, line.events[:since])
    pointers = dict.fromkeys(pointer for event in line.events[since:] for pointer in event.get("resolved", {}))
    changes = []
    for pointer in pointers:
        if pointer.startswith("facts.__"):
            continue
        segments = tuple(pointer.split("."))
        old, new = read(before, segments), read(line.state, segments)
        change: dict[str, Any] = {"path": "/" + "/".join(segments), "op": "add" if old is MISSING else "replace"}
        if old is not MISSING:
            change["before"] = old
        if new is MISSING:
            change["op"] = "remove"
        else:
            change["after"] = new
        if old is MISSING or new is MISSING or old != new or type(old) is not type(new):
            changes.append(change)
    return changes
