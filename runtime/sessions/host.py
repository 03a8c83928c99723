"""The session host: sessions with durable identity, append-only events and turns (design §8; spec/http.md).

Every public method is one transaction, and what it answers is the JSON object of the HTTP contract. State sources take
part through :class:`runtime.sessions.sources.StateSource`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.ledger.tables import EVENTS, SESSIONS
from runtime.sessions import events as kinds
from runtime.sessions import store, timelines
from runtime.sessions.events import Event
from runtime.sessions.limits import EVENTS_PER_CALL, EVENTS_PER_PAGE, IDENTIFIER, PREPARATIONS
from runtime.sessions.operations import check_operation_id, once
from runtime.sessions.sources import EndedTurn, Receipt, StateSource, Unprepared
from runtime.values.canonical import sha
from runtime.values.rows import InnkeeperError

Listener = Callable[[str, dict[str, Any]], None]


def check_identifier(value: object, name: str) -> str:
    """A caller's own id: a string of 1 to 200 characters."""
    if not isinstance(value, str) or not 1 <= len(value) <= IDENTIFIER.default:
        raise InnkeeperError(
            "HOST_REQUEST", f"expected {name} of 1 to {IDENTIFIER.default} characters, found {value!r:.80}"
        )
    return value


def check_created_at(value: object) -> Any:
    """A durable creation time: a finite number or a non-empty string (spec/mvu.md §1.6)."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number or (isinstance(value, str) and value):
        return value
    raise InnkeeperError(
        "MVU_SESSION_IDENTITY", f"expected createdAt as a number or a non-empty string, found {value!r:.80}"
    )


class SessionHost:
    """Sessions, their events and their turns.

    ``new_id`` makes ids and ``now`` tells milliseconds: the two things that a host does not decide itself.
    """

    def __init__(self, ledger: Ledger, *, deployment: str, new_id: Callable[[], str], now: Callable[[], int]) -> None:
        self.ledger = ledger
        self.deployment = deployment
        self.new_id = new_id
        self.now = now
        self.sources: list[StateSource] = []
        self._listeners: list[Listener] = []

    # -- notices ------------------------------------------------------------------------------------------------

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(session id, notice)`` after each commit that changes a session; returns a disposer."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def notify(self, tx: Transaction, session_id: str, kind: str, **details: Any) -> None:
        """Tell listeners about a change once it is durable."""

        def tell() -> None:
            for listener in list(self._listeners):
                listener(session_id, {"kind": kind, **details})

        tx.after_commit(tell)

    # -- sessions -----------------------------------------------------------------------------------------------

    def insert_session(self, tx: Transaction, session_id: str | None, **columns: Any) -> Row:
        """Add a session row; ``columns`` override the defaults of a fresh root session."""
        row: Row = {
            "id": session_id or self.new_id(),
            "created_at": self.now(),
            "format_version": 1,
            "playthrough_id": None,
            "parent_id": None,
            "parent_event": None,
            "inherited": 0,
            "origin": None,
            "next_seq": 0,
            "last_turn": None,
            "running": 0,
            "event_epoch": 0,
            "header_epoch": 0,
            "attach": None,
            "seed_ticket": None,
            "deleted": 0,
        }
        row.update({name: value for name, value in columns.items() if value is not None})
        if tx.get(SESSIONS, row["id"]) is not None:
            raise InnkeeperError("SESSION_EXISTS", f"a session {row['id']!r} exists already; choose another sessionId")
        tx.insert(SESSIONS, row)
        return row

    def known_session(self, tx: Transaction, session_id: str | None, created_at: Any) -> Row | None:
        """An existing session with this identity; another creation time is refused."""
        row = tx.get(SESSIONS, session_id) if session_id is not None else None
        if row is None:
            return None
        if created_at is not None and row["created_at"] != created_at:
            raise InnkeeperError(
                "MVU_SESSION_IDENTITY",
                f"session {session_id!r} was created at {row['created_at']!r}, found createdAt {created_at!r}: use a new id",
            )
        if row["deleted"]:
            raise InnkeeperError(
                "MVU_SESSION_IDENTITY", f"session {session_id!r} was deleted; its id cannot be used again"
            )
        return row

    def header(self, tx: Transaction, row: Row) -> dict[str, Any]:
        """A session's header with what each source says of it."""
        answer: dict[str, Any] = {
            "sessionId": row["id"],
            "createdAt": row["created_at"],
            "formatVersion": row["format_version"],
            "nextSeq": row["next_seq"],
            "lastTurn": row["last_turn"],
            "running": bool(row["running"]),
        }
        if row["parent_id"] is not None:
            answer["parent"] = {"sessionId": row["parent_id"], "atEventId": row["parent_event"]}
        if row["playthrough_id"] is not None:
            answer["playthroughId"] = row["playthrough_id"]
        if row["origin"] is not None:
            answer["origin"] = row["origin"]
        for source in self.sources:
            answer.update(source.describe(tx, row))
        return answer

    def session(self, session_id: str) -> dict[str, Any]:
        """``GET /host/sessions/{id}``."""
        return self.ledger.read(lambda tx: self.header(tx, store.session_row(tx, session_id)))

    def events(self, session_id: str, start: int = 0, limit: int | None = None) -> dict[str, Any]:
        """``GET /host/sessions/{id}/events``: at most one page, with the number to go on from."""
        size = min(limit or EVENTS_PER_PAGE.default, EVENTS_PER_PAGE.default)

        def job(tx: Transaction) -> dict[str, Any]:
            row = store.session_row(tx, session_id)
            found = [event.to_json() for event in store.read_events(tx, row, start, size)]
            return {"events": found, "nextSeq": row["next_seq"]}

        return self.ledger.read(job)

    def delete_session(self, session_id: str, operation_id: str) -> dict[str, Any]:
        """``DELETE /host/sessions/{id}``: the session answers no more; children keep what they inherited."""
        check_operation_id(operation_id)

        def job(tx: Transaction) -> dict[str, Any]:
            def produce() -> dict[str, Any]:
                row = store.session_row(tx, session_id)
                store.change_session(tx, row, deleted=1, header_epoch=row["header_epoch"] + 1)
                if row["playthrough_id"] is not None:
                    playthrough = timelines.playthrough_row(tx, row["playthrough_id"])
                    timelines.touch(tx, playthrough)
                self.notify(tx, session_id, "deleted")
                return {"ok": True}

            return once(tx, f"delete:{session_id}", operation_id, {"delete": session_id}, produce)

        return self.ledger.write(job)

    # -- events -------------------------------------------------------------------------------------------------

    def append(self, session_id: str, expected_seq: object, events: object, operation_id: str) -> dict[str, Any]:
        """``POST /host/sessions/{id}/events``: append ``events`` when the session stands at ``expected_seq``."""
        check_operation_id(operation_id)
        if not isinstance(expected_seq, int) or isinstance(expected_seq, bool) or expected_seq < 0:
            raise InnkeeperError(
                "HOST_REQUEST", f"expected expectedSeq as a non-negative whole number, found {expected_seq!r:.80}"
            )
        if not isinstance(events, list) or not events:
            raise InnkeeperError("HOST_EVENT", "expected events as a non-empty list")
        if len(events) > EVENTS_PER_CALL.default:
            raise InnkeeperError(
                "HOST_EVENT", f"expected at most {EVENTS_PER_CALL.default} events, found {len(events)}"
            )
        parsed = [kinds.read_event(index, raw) for index, raw in enumerate(events)]
        request = {"expectedSeq": expected_seq, "events": sha(events)}

        def work(tx: Transaction, prepared: list[Any]) -> dict[str, Any]:
            def produce() -> dict[str, Any]:
                row = store.session_row(tx, session_id)
                if row["next_seq"] != expected_seq:
                    raise InnkeeperError(
                        "SEQUENCE_CONFLICT",
                        f"expected the session at {expected_seq}, found it at {row['next_seq']}: read the events in between",
                        {"nextSeq": row["next_seq"]},
                    )
                receipts = self._append_all(tx, row, parsed, prepared)
                return {"nextSeq": row["next_seq"], "receipts": receipts}

            return once(tx, f"session:{session_id}", operation_id, request, produce)

        return self._prepared(session_id, parsed, work)

    def turn(self, session_id: str, user: object, reply: object, operation_id: str) -> dict[str, Any]:
        """``POST /host/sessions/{id}/turns``: one whole turn in one transaction."""
        check_operation_id(operation_id)
        user_id, user_text = _message(user, "user")
        reply_id, reply_text = _message(reply, "reply")
        given = {"user": user, "reply": reply}
        user_id = user_id or self.new_id()
        reply_id = reply_id or self.new_id()

        def build(turn: int) -> list[tuple[str, dict[str, Any]]]:
            return [
                (kinds.TURN_START, {"turn": turn}),
                (kinds.USER_MESSAGE, {"id": user_id, "turn": turn, "text": user_text, "source": {"kind": "user"}}),
                (kinds.ASSISTANT_MESSAGE, {"id": reply_id, "turn": turn, "step": 0, "text": reply_text}),
                (kinds.TURN_END, {"turn": turn, "reason": {"kind": "completed"}}),
            ]

        def work(tx: Transaction, prepared: list[Any]) -> dict[str, Any]:
            def produce() -> dict[str, Any]:
                row = store.session_row(tx, session_id)
                if row["running"]:
                    raise InnkeeperError(
                        "SESSION_RUNNING", f"a turn of session {session_id!r} is still running; end it first"
                    )
                turn = 1 if row["last_turn"] is None else row["last_turn"] + 1
                places: dict[int, tuple[str, str] | None] = {}
                receipts = self._append_all(tx, row, build(turn), prepared, places)
                end_event = row["next_seq"] - 2
                answer: dict[str, Any] = {
                    "turn": turn,
                    "messageId": reply_id,
                    "endEventId": end_event,
                    "receipts": receipts,
                }
                place = places.get(turn)
                if place is not None:
                    answer["nodeId"], answer["variantId"] = place
                return answer

            return once(tx, f"session:{session_id}", operation_id, {"turn": sha(given)}, produce)

        return self._prepared(session_id, build(0), work)

    def _prepared(
        self,
        session_id: str,
        parsed: Sequence[tuple[str, dict[str, Any]]],
        work: Callable[[Transaction, list[Any]], dict[str, Any]],
    ) -> dict[str, Any]:
        """Run ``work`` with what each source prepared outside of the transaction; again when that went stale."""
        for _ in range(PREPARATIONS.default):
            replies = self._replies_of(session_id, parsed)
            prepared = [source.prepare(session_id, replies) for source in self.sources]
            try:
                return self.ledger.write(lambda tx, ready=prepared: work(tx, ready))  # type: ignore[misc]
            except Unprepared:
                continue
        raise InnkeeperError(
            "SEQUENCE_CONFLICT", f"session {session_id!r} changed all the time while the reply was read"
        )

    def _replies_of(
        self, session_id: str, parsed: Sequence[tuple[str, dict[str, Any]]]
    ) -> list[tuple[int, Event, str]]:
        """The counting replies that ``parsed`` would complete, each with its turn's user text."""
        if not any(event_type == kinds.TURN_END for event_type, _ in parsed):
            return []

        def job(tx: Transaction) -> list[Event]:
            row = tx.get(SESSIONS, session_id)
            if row is None or not row["running"]:
                return []
            start = store.last_turn_start(tx, row)
            return [] if start is None else store.read_events(tx, row, start.seq)

        pending = self.ledger.read(job)
        found: list[tuple[int, Event, str]] = []
        for index, (event_type, fields) in enumerate(parsed):
            event = Event(-len(parsed) + index, event_type, fields)
            if event_type == kinds.TURN_START:
                pending = []
            pending.append(event)
            if event_type == kinds.TURN_END:
                reply = _counting(pending)
                if reply is not None:
                    found.append((event.turn or 0, reply, _user_text(pending)))
        return found

    def _append_all(
        self,
        tx: Transaction,
        row: Row,
        parsed: Sequence[tuple[str, dict[str, Any]]],
        prepared: list[Any],
        places: dict[int, tuple[str, str] | None] | None = None,
    ) -> list[Receipt]:
        if row["seed_ticket"] is not None:
            raise InnkeeperError("MVU_SEED_PENDING", f"session {row['id']!r} waits for its seed; install it first")
        receipts: list[Receipt] = []
        for index, (event_type, fields) in enumerate(parsed):
            event = self._append(tx, row, event_type, fields)
            if event_type == kinds.TURN_START:
                self._start_turn(tx, row, event, parsed[index + 1 :])
            elif event_type == kinds.TURN_END:
                place = self._end_turn(tx, row, event, prepared, receipts)
                if places is not None:
                    places[event.turn or 0] = place
        self.notify(tx, row["id"], "events", nextSeq=row["next_seq"])
        return receipts

    def add_events(self, tx: Transaction, row: Row, events: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Append events of a state source to a session's log, inside the source's own transaction."""
        for event_type, fields in events:
            self._append(tx, row, event_type, fields)
        self.notify(tx, row["id"], "events", nextSeq=row["next_seq"])

    def _append(self, tx: Transaction, row: Row, event_type: str, fields: dict[str, Any]) -> Event:
        event = Event(row["next_seq"], event_type, fields)
        if event.message_id is not None and store.find_message(tx, row, event.message_id) is not None:
            raise InnkeeperError(
                "HOST_EVENT", f"expected a new message id, found {event.message_id!r:.80} a second time"
            )
        tx.insert(
            EVENTS,
            {
                "session_id": row["id"],
                "seq": event.seq,
                "type": event_type,
                "turn": event.turn,
                "message_id": event.message_id,
                "data": fields,
            },
        )
        store.change_session(tx, row, next_seq=event.seq + 1, event_epoch=row["event_epoch"] + 1)
        return event

    def _start_turn(
        self, tx: Transaction, row: Row, start: Event, following: Sequence[tuple[str, dict[str, Any]]]
    ) -> None:
        if row["running"]:
            raise InnkeeperError(
                "SESSION_RUNNING", f"turn {row['last_turn']} of session {row['id']!r} has not ended yet"
            )
        if row["last_turn"] is not None and (start.turn or 0) <= row["last_turn"]:
            raise InnkeeperError("HOST_EVENT", f"expected a turn above {row['last_turn']}, found {start.turn}")
        texts = [fields.get("text", "") for event_type, fields in following if event_type == kinds.USER_MESSAGE]
        for source in self.sources:
            source.before_turn(tx, row, start, texts[0] if texts and isinstance(texts[0], str) else "")
        store.change_session(tx, row, running=1, last_turn=start.turn)
        for source in self.sources:
            source.turn_started(tx, row, start)

    def _end_turn(
        self, tx: Transaction, row: Row, end: Event, prepared: list[Any], receipts: list[Receipt]
    ) -> tuple[str, str] | None:
        if not row["running"] or end.turn != row["last_turn"]:
            raise InnkeeperError("HOST_EVENT", f"expected the end of the running turn, found turn/end {end.turn}")
        turn_events = store.turn_events(tx, row, end)
        reply = _counting(turn_events)
        store.change_session(tx, row, running=0)
        ended = EndedTurn(end.turn or 0, end, reply, _user_text(turn_events))
        place = None
        if reply is not None and end.reason == "completed" and reply.message_id is not None:
            place = timelines.add_reply(tx, row, ended.turn, reply.message_id, reply.seq, self.new_id)
        for source, ready in zip(self.sources, prepared, strict=True):
            receipts.extend(source.turn_ended(tx, row, ended, ready))
        return place


def _counting(events: Sequence[Event]) -> Event | None:
    """The last assistant message that counts; a later tool call does not hide it (spec/mvu.md §0.7)."""
    return next((event for event in reversed(events) if event.counts()), None)


def _user_text(events: Sequence[Event]) -> str:
    """The text of the last message that the user wrote in the turn (spec/mvu.md §6, user gate)."""
    for event in reversed(events):
        source = event.fields.get("source")
        if event.type == kinds.USER_MESSAGE and (
            source is None or (isinstance(source, dict) and source.get("kind") == "user")
        ):
            return event.text
    return ""


def _message(raw: object, name: str) -> tuple[str | None, str]:
    if not isinstance(raw, dict) or not isinstance(raw.get("text"), str):
        raise InnkeeperError(
            "HOST_REQUEST", f"expected {name} as {{id?, text}} with a text that is a string, found {raw!r:.80}"
        )
    unknown = set(raw) - {"id", "text"}
    if unknown:
        raise InnkeeperError("HOST_REQUEST", f"expected only id and text in {name}, found {sorted(unknown)[0]!r:.80}")
    identifier = raw.get("id")
    return (None if identifier is None else check_identifier(identifier, f"{name}.id")), raw["text"]
