"""Forks, swipes and retries: a child session whose sources are those of one place in its parent (spec/mvu.md §9.4).

A seed is what the sources froze at a :class:`~runtime.sessions.sources.Cut`; over HTTP one call captures and installs
it, a host that creates the child itself gets a ticket.
"""

from __future__ import annotations

from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import EVENTS, PLAYTHROUGHS, SEEDS, SELECTIONS, SESSIONS
from runtime.sessions import events as kinds
from runtime.sessions import store, timelines
from runtime.sessions.events import Event
from runtime.sessions.host import SessionHost, check_created_at, check_identifier
from runtime.sessions.operations import check_operation_id, once
from runtime.sessions.sources import Cut
from runtime.values.rows import InnkeeperError

KINDS = ("fork", "reply-swipe", "request-retry")


def _seq(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 2**53 - 1:
        raise InnkeeperError("MVU_SEED", f"expected {name} as the number of an event, found {value!r:.80}")
    return value


def _turn_bounds(tx: Transaction, session: Row, event: Event) -> tuple[Event | None, Event | None]:
    """The start and the end of the turn in which ``event`` lies."""
    start = next(
        (e for e in reversed(store.read_events(tx, session, 0, event.seq + 1)) if e.type == kinds.TURN_START), None
    )
    following = store.read_events(tx, session, event.seq)
    end = next((e for e in following if e.type in (kinds.TURN_END, kinds.TURN_START) and e.seq > event.seq), None)
    return start, end if end is not None and end.type == kinds.TURN_END else None


def find_cut(tx: Transaction, session: Row, kind: str, at_event: int) -> Cut:
    """Where a child of this kind leaves ``session``, or ``MVU_SEED`` with the reason why it cannot."""
    event = store.event_at(tx, session, at_event)
    if event is None:
        raise InnkeeperError(
            "MVU_SEED", f"session {session['id']!r} has no event {at_event} (it stands at {session['next_seq']})"
        )
    start, end = _turn_bounds(tx, session, event)
    if kind == "request-retry":
        return _retry_cut(tx, session, event, start, end)
    if event.type != kinds.ASSISTANT_MESSAGE or event.interrupted:
        raise InnkeeperError(
            "MVU_SEED",
            f"expected an assistant message that was not interrupted at event {at_event}, found {event.type}",
        )
    if start is None or end is None:
        raise InnkeeperError("MVU_SEED", f"the turn of event {at_event} has not ended yet")
    inherited = end.seq + 1 if kind == "fork" else start.seq
    return Cut(kind, at_event, inherited, start.turn or 0)


def _retry_cut(tx: Transaction, session: Row, event: Event, start: Event | None, end: Event | None) -> Cut:
    if event.type != kinds.USER_MESSAGE:
        raise InnkeeperError(
            "MVU_SEED", f"expected the user message of a stopped turn at event {event.seq}, found {event.type}"
        )
    if start is None or end is None or end.reason != "aborted" or end.seq != _last_turn_event(tx, session):
        raise InnkeeperError("MVU_SEED", "a retry needs the last turn to have ended as aborted, with nothing after it")
    between = store.read_events(tx, session, start.seq, end.seq - start.seq)
    if any(e.type == kinds.ASSISTANT_MESSAGE and e.text.strip() for e in between):
        raise InnkeeperError("MVU_SEED", "the stopped turn has a reply already: swipe it instead")
    return Cut("request-retry", event.seq, start.seq, start.turn or 0)


def _last_turn_event(tx: Transaction, session: Row) -> int:
    """The number of the last event that belongs to a conversation."""
    last = -1
    for event in store.read_events(tx, session, max(0, session["next_seq"] - 256)):
        if not kinds.keeps_opening(event.type, event.fields):
            last = event.seq
    return last


class Branches:
    """Creating child sessions with everything that they inherit."""

    def __init__(self, host: SessionHost) -> None:
        self.host = host

    def branch(
        self, session_id: str, kind: str, at_event: object, operation_id: str, child_id: object = None
    ) -> dict[str, Any]:
        """``POST /host/sessions/{id}/fork|swipe|retry``: capture and install in one transaction."""
        check_operation_id(operation_id)
        at = _seq(at_event, "atEventId")
        target = None if child_id is None else check_identifier(child_id, "sessionId")

        def produce(tx: Transaction) -> dict[str, Any]:
            parent = self._source(tx, session_id)
            cut = find_cut(tx, parent, kind, at)
            child = self.branch_at(tx, parent, cut, target)
            answer = {"sessionId": child["id"], "resources": self.host.header(tx, child).get("resources", [])}
            if child["playthrough_id"] is not None:
                answer["playthroughId"] = child["playthrough_id"]
            return answer

        request = [kind, at, target]
        return self.host.ledger.write(
            lambda tx: once(tx, f"session:{session_id}", operation_id, request, lambda: produce(tx))
        )

    def branch_at(self, tx: Transaction, parent: Row, cut: Cut, child_id: str | None = None) -> Row:
        """A child at ``cut`` with everything that the sources give it, inside the caller's transaction."""
        items = self._capture(tx, parent, cut)
        child = self._create_child(tx, parent, cut, child_id, None)
        self._install(tx, parent, child, cut, items)
        return child

    def _source(self, tx: Transaction, session_id: str) -> Row:
        row = store.session_row(tx, session_id)
        if row["seed_ticket"] is not None:
            raise InnkeeperError("MVU_SEED_PENDING", f"session {session_id!r} waits for its own seed")
        return row

    def _capture(self, tx: Transaction, parent: Row, cut: Cut) -> dict[str, Any]:
        items: dict[str, Any] = {}
        for source in self.host.sources:
            item = source.capture(tx, parent, cut)
            if item is not None:
                items[source.name] = item
        return items

    def _install(self, tx: Transaction, parent: Row, child: Row, cut: Cut, items: dict[str, Any]) -> None:
        for source in self.host.sources:
            if source.name in items:
                source.install(tx, parent, child, cut, items[source.name])

    def _create_child(self, tx: Transaction, parent: Row, cut: Cut, child_id: str | None, created_at: Any) -> Row:
        columns: dict[str, Any] = {
            "created_at": created_at,
            "format_version": parent["format_version"],
            "origin": cut.kind,
        }
        if cut.inherited > 0 or cut.kind == "fork":
            columns.update(
                parent_id=parent["id"], parent_event=cut.at_event, inherited=cut.inherited, next_seq=cut.inherited
            )
        child = self.host.insert_session(tx, child_id, **columns)
        last = None
        if child["parent_id"] is not None:
            last = next((e for e in reversed(store.read_events(tx, child)) if e.type == kinds.TURN_START), None)
        store.change_session(tx, child, last_turn=None if last is None else last.turn)
        selection = store.selection_row(tx, parent["id"])
        if selection["character_id"] is not None:
            tx.put(SELECTIONS, {**selection, "session_id": child["id"], "generation": 1})
        if parent["playthrough_id"] is not None:
            self._join_timeline(tx, parent, child, cut)
        self.host.notify(tx, child["id"], "created")
        return child

    def _join_timeline(self, tx: Transaction, parent: Row, child: Row, cut: Cut) -> None:
        """A fork gets a playthrough that refers to the ancestors' nodes; a swipe stands before its node."""
        playthrough = timelines.playthrough_row(tx, parent["playthrough_id"])
        event = store.event_at(tx, parent, cut.at_event)
        owner = store.owner_of(tx, parent, cut.at_event)
        message_id = event.message_id if event is not None else None
        place = timelines.place_of(tx, playthrough["id"], owner["id"], message_id) if message_id is not None else None
        if cut.kind != "fork":
            attach = dict(parent["attach"] or {})
            if place is not None:
                attach = {"node": place["node_id"], "ordinal": cut.turn}
            store.change_session(tx, child, playthrough_id=playthrough["id"], attach=attach)
            timelines.touch(tx, playthrough)
            return
        fork = {
            **playthrough,
            "id": self.host.new_id(),
            "root_session_id": child["id"],
            "epoch": 0,
            "head_node": None,
            "created_at": self.host.now(),
        }
        attach = {"ordinal": cut.turn + 1}
        if place is not None:
            fork["head_node"] = place["node_id"]
            attach = {"parentNode": place["node_id"], "parentVariant": place["variant_id"], "ordinal": cut.turn + 1}
        tx.insert(PLAYTHROUGHS, fork)
        if place is not None:
            timelines.copy_path(tx, playthrough["id"], fork["id"], place["node_id"], place["variant_id"])
        store.change_session(tx, child, playthrough_id=fork["id"], attach=attach)

    # -- seeds for hosts that create the child themselves ---------------------------------------------------------

    def capture_seed(
        self,
        session_id: str,
        kind: object,
        at_event: object,
        operation_id: str,
        *,
        prefix_end: object = None,
        target: object = None,
    ) -> dict[str, Any]:
        """``POST /host/sessions/{id}/seeds``: a ticket, or ``null`` when the session has no state (spec/mvu.md §9.4)."""
        check_operation_id(operation_id)
        if kind not in KINDS or not isinstance(kind, str):
            raise InnkeeperError("MVU_SEED", f"expected kind as one of {', '.join(KINDS)}, found {kind!r:.80}")
        at = _seq(at_event, "atEventId")
        prefix = None if prefix_end is None else _seq(prefix_end, "prefixEndEventId")
        target_id = None if target is None else check_identifier(target, "targetSessionId")
        if kind == "fork" and prefix is not None:
            raise InnkeeperError("MVU_SEED", "a fork takes no prefixEndEventId: it continues after atEventId")
        if prefix is not None and prefix >= at:
            raise InnkeeperError("MVU_SEED", f"expected prefixEndEventId before atEventId {at}, found {prefix}")
        if kind != "fork" and prefix is None and target_id is None:
            raise InnkeeperError("MVU_SEED", f"a {kind} needs prefixEndEventId, or targetSessionId at the first turn")

        def produce(tx: Transaction) -> dict[str, Any]:
            parent = self._source(tx, session_id)
            cut = find_cut(tx, parent, kind, at)
            if prefix is not None:
                _check_prefix(tx, parent, cut, prefix)
            elif kind != "fork":
                cut = Cut(cut.kind, cut.at_event, 0, cut.turn)
            items = self._capture(tx, parent, cut)
            if not items:
                return {"ticket": None}
            ticket = self.host.new_id()
            self._check_target(tx, target_id)
            data = {
                "items": items,
                "cut": [cut.kind, cut.at_event, cut.inherited, cut.turn],
                "source": store.identity(parent),
            }
            row = {
                "ticket": ticket,
                "kind": kind,
                "source_session": session_id,
                "target_session": target_id,
                "installed": 0,
                "data": data,
            }
            tx.insert(SEEDS, row)
            if target_id is not None and (known := tx.get(SESSIONS, target_id)) is not None:
                store.change_session(tx, known, seed_ticket=ticket)
            return {"ticket": ticket}

        request = ["seed", kind, at, prefix, target_id]
        return self.host.ledger.write(
            lambda tx: once(tx, f"session:{session_id}", operation_id, request, lambda: produce(tx))
        )

    def _check_target(self, tx: Transaction, target_id: str | None) -> None:
        if target_id is None:
            return
        taken = [row for row in tx.select(SEEDS, {"target_session": target_id}) if not row["installed"]]
        known = tx.get(SESSIONS, target_id)
        if taken or (known is not None and not store.is_opening(tx, known)):
            raise InnkeeperError("MVU_SEED_CONFLICT", f"session {target_id!r} has state or a seed of its own already")

    def create_session(
        self,
        operation_id: str,
        *,
        session_id: object = None,
        created_at: object = None,
        format_version: object = None,
        parent: object = None,
        seed_ticket: object = None,
        origin: object = None,
    ) -> dict[str, Any]:
        """``POST /host/sessions``: a session of a host that keeps its own timelines; ``seed_ticket`` installs a seed."""
        check_operation_id(operation_id)
        target = None if session_id is None else check_identifier(session_id, "sessionId")
        created = None if created_at is None else check_created_at(created_at)
        version = 1 if format_version is None else format_version
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise InnkeeperError(
                "MVU_SESSION_IDENTITY", f"expected formatVersion as a positive whole number, found {version!r:.80}"
            )
        if origin is not None and not isinstance(origin, str):
            raise InnkeeperError("HOST_REQUEST", f"expected origin as a string, found {origin!r:.80}")
        link = _read_parent(parent)

        def produce(tx: Transaction) -> dict[str, Any]:
            row = self.host.known_session(tx, target, created)
            if row is None:
                row = self._insert(tx, target, created, version, origin, link)
            if seed_ticket is not None:
                self.install_seed(tx, check_identifier(seed_ticket, "seedTicket"), row)
            return self.host.header(tx, row)

        request = [target, created, version, link, seed_ticket, origin]
        return self.host.ledger.write(lambda tx: once(tx, "sessions", operation_id, request, lambda: produce(tx)))

    def _insert(
        self,
        tx: Transaction,
        target: str | None,
        created: Any,
        version: int,
        origin: str | None,
        link: tuple[str, int | None] | None,
    ) -> Row:
        columns: dict[str, Any] = {"created_at": created, "format_version": version, "origin": origin}
        if link is not None:
            ancestor = store.session_row(tx, link[0])
            inherited = ancestor["next_seq"] if link[1] is None else _inherited_upto(tx, ancestor, link[1])
            columns.update(parent_id=ancestor["id"], parent_event=link[1], inherited=inherited, next_seq=inherited)
        row = self.host.insert_session(tx, target, **columns)
        if row["parent_id"] is not None:
            last = next((e for e in reversed(store.read_events(tx, row)) if e.type == kinds.TURN_START), None)
            selection = store.selection_row(tx, row["parent_id"])
            store.change_session(tx, row, last_turn=None if last is None else last.turn)
            if selection["character_id"] is not None:
                tx.put(SELECTIONS, {**selection, "session_id": row["id"], "generation": 1})
        pending = [s for s in tx.select(SEEDS, {"target_session": row["id"]}) if not s["installed"]]
        if pending:
            store.change_session(tx, row, seed_ticket=pending[0]["ticket"])
        return row

    def install_seed(self, tx: Transaction, ticket: str, child: Row) -> None:
        """Install a captured seed into ``child``; the same ticket and target again changes nothing (spec/mvu.md §9.4)."""
        seed = tx.get(SEEDS, ticket)
        if seed is None:
            raise InnkeeperError("MVU_SEED", f"expected a ticket that was captured here, found {ticket!r:.80}")
        if seed["installed"]:
            if seed["target_session"] == child["id"]:
                return
            raise InnkeeperError("MVU_SEED_CONFLICT", f"ticket {ticket!r} was installed in another session")
        if seed["target_session"] not in (None, child["id"]):
            raise InnkeeperError("MVU_SEED_CONFLICT", f"ticket {ticket!r} is for session {seed['target_session']!r}")
        parent = tx.get(SESSIONS, seed["source_session"])
        if parent is None or store.identity(parent) != seed["data"]["source"]:
            raise InnkeeperError(
                "MVU_SEED_MISMATCH", "the session that the seed was taken from has changed its identity"
            )
        cut = Cut(*seed["data"]["cut"])
        self._check_child(tx, parent, child, cut)
        self._install(tx, parent, child, cut, seed["data"]["items"])
        tx.update(SEEDS, (ticket,), {"installed": 1, "target_session": child["id"]})
        store.change_session(tx, child, seed_ticket=None)

    @staticmethod
    def _check_child(tx: Transaction, parent: Row, child: Row, cut: Cut) -> None:
        wanted = parent["id"] if cut.inherited > 0 else None
        if child["parent_id"] != wanted:
            raise InnkeeperError(
                "MVU_SEED_MISMATCH", f"expected the session's parent to be {wanted!r}, found {child['parent_id']!r}"
            )
        own = tx.select(EVENTS, {"session_id": child["id"]})
        if any(row["type"] in (kinds.TURN_START, kinds.USER_MESSAGE, kinds.ASSISTANT_MESSAGE) for row in own):
            raise InnkeeperError("MVU_SEED_CONFLICT", f"session {child['id']!r} has begun already")
        if cut.inherited > 0 and child["inherited"] < _last_reply_before(tx, parent, cut.inherited) + 1:
            raise InnkeeperError(
                "MVU_SEED_MISMATCH", "the new session does not hold the replies that the seed continues"
            )


def _last_reply_before(tx: Transaction, session: Row, end: int) -> int:
    replies = [e.seq for e in store.read_events(tx, session, 0, end) if e.type == kinds.ASSISTANT_MESSAGE]
    return replies[-1] if replies else -1


def _check_prefix(tx: Transaction, session: Row, cut: Cut, prefix: int) -> None:
    event = store.event_at(tx, session, prefix)
    if (
        event is None
        or event.type != kinds.ASSISTANT_MESSAGE
        or _last_reply_before(tx, session, cut.inherited) != prefix
    ):
        raise InnkeeperError(
            "MVU_SEED_MISMATCH",
            f"expected prefixEndEventId to be the reply right before turn {cut.turn}, found event {prefix}",
        )


def _inherited_upto(tx: Transaction, session: Row, at_event: int) -> int:
    event = store.event_at(tx, session, at_event)
    if event is None:
        raise InnkeeperError("MVU_SEED_MISMATCH", f"session {session['id']!r} has no event {at_event}")
    if event.type == kinds.TURN_END:
        return at_event + 1
    _, end = _turn_bounds(tx, session, event)
    return at_event + 1 if end is None else end.seq + 1


def _read_parent(parent: object) -> tuple[str, int | None] | None:
    if parent is None:
        return None
    if not isinstance(parent, dict) or set(parent) - {"sessionId", "atEventId"}:
        raise InnkeeperError("HOST_REQUEST", f"expected parent as {{sessionId, atEventId?}}, found {parent!r:.80}")
    at = parent.get("atEventId")
    return check_identifier(parent.get("sessionId"), "parent.sessionId"), None if at is None else _seq(
        at, "parent.atEventId"
    )
