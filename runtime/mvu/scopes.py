"""Scopes: where a read or write is aimed, and the evidence that the place is what the caller says (spec/mvu.md §3, §7.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import SESSIONS, VARIANTS
from runtime.sessions import events as kinds
from runtime.sessions import store, timelines
from runtime.sessions.events import Event
from runtime.sessions.playthroughs import selection_token
from runtime.values.canonical import text_sha
from runtime.values.rows import InnkeeperError

TRACE_KEYS = ("authority", "sessionId", "messageId", "endEventId")
CARD_KEYS = (
    "mode",
    "characterId",
    "playthroughId",
    "sessionId",
    "nodeId",
    "variantId",
    "endEventId",
    "sessionFormatVersion",
    "greetingIndex",
    "selectionToken",
)
_TOKEN = re.compile(r"[0-9a-f]{64}\Z")
_SAFE = 2**53 - 1
SCOPE_ID_LENGTH = 200


def _refuse(message: str) -> InnkeeperError:
    return InnkeeperError("MVU_SCOPE", message)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class TraceScope:
    """The scope of trusted reads and edits; ``session_id`` is ``None`` for the whole deployment."""

    session_id: str | None
    message_id: str | None = None
    end_event: int | None = None

    @property
    def historical(self) -> bool:
        """Whether the scope names a place in the past."""
        return self.message_id is not None or self.end_event is not None

    def to_json(self) -> dict[str, Any]:
        """The normalised scope."""
        found: dict[str, Any] = {"authority": "local"}
        if self.session_id is not None:
            found["sessionId"] = self.session_id
        if self.message_id is not None:
            found["messageId"] = self.message_id
        if self.end_event is not None:
            found["endEventId"] = self.end_event
        return found


def read_trace_scope(raw: object, *, current_only: bool = True, need_session: bool = True) -> TraceScope:
    """A trace scope: only the named keys, authority ``local`` or absent (spec/mvu.md §3)."""
    if not isinstance(raw, Mapping):
        raise _refuse(f"expected scope as an object, found {type(raw).__name__}")
    unknown = [key for key in raw if key not in TRACE_KEYS]
    if unknown:
        raise _refuse(f"expected only {', '.join(TRACE_KEYS)} in scope, found {unknown[0]!r:.80}")
    if raw.get("authority") not in (None, "", "local"):
        raise InnkeeperError("MVU_AUTHORITY", f"expected the authority local, found {raw['authority']!r:.80}")
    session_id = raw.get("sessionId")
    if session_id is None and not need_session:
        if set(raw) - {"authority"}:
            raise _refuse("expected sessionId beside messageId and endEventId")
        return TraceScope(None)
    for name in ("sessionId", "messageId"):
        value = raw.get(name)
        if (value is not None or name == "sessionId") and (
            not isinstance(value, str) or not 1 <= len(value) <= SCOPE_ID_LENGTH
        ):
            raise _refuse(f"expected {name} of 1 to {SCOPE_ID_LENGTH} characters in scope, found {value!r:.80}")
    if current_only and ("messageId" in raw or "endEventId" in raw):
        raise _refuse("expected a current scope: messageId and endEventId belong to historical reads only")
    end = raw.get("endEventId")
    if "endEventId" in raw and (not _whole(end) or not -1 <= int(end or 0) <= _SAFE):
        raise _refuse(f"expected endEventId as a whole number from -1, found {end!r:.80}")
    return TraceScope(session_id, raw.get("messageId"), end)


@dataclass(frozen=True, slots=True)
class CardScope:
    """The scope of one rendered execution; ``mode`` is ``message``, ``initial`` or ``greeting``."""

    mode: str
    raw: Mapping[str, Any]

    def get(self, name: str) -> Any:
        """A field of the scope."""
        return self.raw.get(name)


def read_card_scope(raw: object) -> CardScope:
    """A card scope with the keys that its mode allows (spec/mvu.md §3, §7.4)."""
    if not isinstance(raw, Mapping):
        raise _refuse(f"expected scope as an object, found {type(raw).__name__}")
    unknown = [key for key in raw if key not in CARD_KEYS]
    if unknown:
        raise _refuse(f"expected only {', '.join(CARD_KEYS)} in scope, found {unknown[0]!r:.80}")
    mode = raw.get("mode", "message") if "mode" in raw else "message"
    if mode not in ("message", "initial", "greeting") or ("mode" in raw and mode == "message"):
        raise _refuse(f"expected mode initial or greeting, or none for a message, found {raw.get('mode')!r:.80}")
    for name in ("playthroughId", "sessionId"):
        if not isinstance(raw.get(name), str) or not raw[name]:
            raise _refuse(f"expected {name} as a non-empty string in scope, found {raw.get(name)!r:.80}")
    version = raw.get("sessionFormatVersion")
    if "sessionFormatVersion" in raw and (not _whole(version) or not 0 <= int(version or 0) <= _SAFE):
        raise _refuse(f"expected sessionFormatVersion as a whole number, found {version!r:.80}")
    if mode == "message":
        _check_message_keys(raw)
    else:
        _check_opening_keys(raw)
    return CardScope(mode, dict(raw))


def _check_message_keys(raw: Mapping[str, Any]) -> None:
    for name in ("characterId", "greetingIndex", "selectionToken"):
        if name in raw:
            raise _refuse(f"{name} belongs to the modes initial and greeting, not to a message scope")
    for name in ("nodeId", "variantId"):
        if not isinstance(raw.get(name), str) or not raw[name]:
            raise _refuse(f"expected {name} as a non-empty string in scope, found {raw.get(name)!r:.80}")
    end = raw.get("endEventId")
    if not _whole(end) or not 0 <= int(end or 0) <= _SAFE:
        raise _refuse(f"expected endEventId as the number of the reply's event, found {end!r:.80}")


def _check_opening_keys(raw: Mapping[str, Any]) -> None:
    for name in ("nodeId", "variantId", "endEventId"):
        if name in raw:
            raise _refuse(f"{name} belongs to message scopes, not to the mode {raw['mode']}")
    if not isinstance(raw.get("characterId"), str) or not raw["characterId"]:
        raise _refuse(f"expected characterId as a non-empty string in scope, found {raw.get('characterId')!r:.80}")
    index, token = raw.get("greetingIndex"), raw.get("selectionToken")
    if "greetingIndex" in raw and (not _whole(index) or not 0 <= int(index or 0) <= _SAFE):
        raise _refuse(f"expected greetingIndex as a non-negative whole number, found {index!r:.80}")
    if "selectionToken" in raw and (not isinstance(token, str) or _TOKEN.match(token) is None):
        raise _refuse("expected selectionToken as 64 lower-case hex digits")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the durable history says about a card scope.

    ``lease`` is the tuple of counters that must stay the same while a binding lives (spec/mvu.md §0.9).
    """

    session: Row
    playthrough: Row
    reply: Event | None
    writable: bool
    lease: tuple[Any, ...]
    view: dict[str, Any] | None
    why_read_only: str | None = None

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the reply's text."""
        return None if self.reply is None else text_sha(self.reply.text)


def find_evidence(tx: Transaction, scope: CardScope, deployment: str) -> Evidence:
    """Check a card scope against sessions, timeline and selection; ``MVU_SCOPE`` or ``MVU_READ_ONLY`` when it differs."""
    playthrough = tx_playthrough(tx, scope)
    if scope.mode == "message":
        return _message_evidence(tx, scope, playthrough)
    return _opening_evidence(tx, scope, playthrough, deployment)


def tx_playthrough(tx: Transaction, scope: CardScope) -> Row:
    """The playthrough that a scope names."""
    try:
        return timelines.playthrough_row(tx, scope.get("playthroughId"))
    except InnkeeperError as error:
        raise _refuse(error.message) from None


def _session_of(tx: Transaction, scope: CardScope) -> Row:
    row = tx.get(SESSIONS, scope.get("sessionId"))
    if row is None or row["deleted"]:
        raise _refuse(f"expected the id of a session, found {scope.get('sessionId')!r:.80}")
    version = scope.get("sessionFormatVersion")
    if version is not None and version != row["format_version"]:
        raise _refuse(f"expected sessionFormatVersion {row['format_version']}, found {version}")
    return row


def _message_evidence(tx: Transaction, scope: CardScope, playthrough: Row) -> Evidence:
    session = _session_of(tx, scope)
    variant = tx.get(VARIANTS, playthrough["id"], scope.get("nodeId"), scope.get("variantId"))
    if variant is None or variant["session_id"] != session["id"] or variant["end_event"] != scope.get("endEventId"):
        raise _refuse(
            "the timeline has no such variant: nodeId, variantId, sessionId and endEventId must name one saved reply"
        )
    reply = store.event_at(tx, session, variant["end_event"])
    if reply is None or reply.type != kinds.ASSISTANT_MESSAGE or reply.interrupted:
        raise _refuse("the scope's endEventId is no finished reply")
    why = _why_not_head(tx, session, playthrough, variant, reply)
    lease = (session["header_epoch"], session["playthrough_id"])
    return Evidence(session, playthrough, reply, why is None, lease, None, why)


def _why_not_head(tx: Transaction, session: Row, playthrough: Row, variant: Row, reply: Event) -> str | None:
    head = timelines.head_variant(tx, playthrough)
    if head is None or head["variant_id"] != variant["variant_id"] or head["node_id"] != variant["node_id"]:
        return "another reply is the head of the timeline"
    if session["running"]:
        return "a turn of the session is running"
    last = store.last_reply(tx, session)
    if last is None or last.seq != reply.seq:
        return "a newer reply follows"
    end = store.last_turn_end(tx, session)
    if end is None or end.reason != "completed" or end.turn != reply.turn:
        return "the reply's turn is not the last completed one"
    return None


def _opening_evidence(tx: Transaction, scope: CardScope, playthrough: Row, deployment: str) -> Evidence:
    session = _session_of(tx, scope)
    selection = store.selection_row(tx, session["id"])
    view = {
        "greetingIndex": selection["greeting_index"],
        "selectionToken": selection_token(deployment, session["id"], selection["generation"]),
    }
    why = _opening_refusal(tx, scope, playthrough, session, selection, view)
    if why is not None:
        raise InnkeeperError("MVU_READ_ONLY", why)
    lease = (
        session["header_epoch"],
        session["event_epoch"],
        playthrough["epoch"],
        selection["generation"],
        session["playthrough_id"],
    )
    return Evidence(session, playthrough, None, scope.mode == "initial", lease, view)


def _opening_refusal(
    tx: Transaction, scope: CardScope, playthrough: Row, session: Row, selection: Row, view: dict[str, Any]
) -> str | None:
    """Why an opening scope does not hold, or ``None`` (spec/mvu.md §7.4: initial, greeting, view identity)."""
    if scope.mode == "initial":
        if playthrough["root_session_id"] != session["id"]:
            return "the scope's session is not the root of its playthrough"
        if playthrough["head_node"] is not None:
            return "the playthrough has replies already"
        if not store.is_opening(tx, session):
            return "the session is no untouched opening: its history holds more than set-up events"
    elif not timelines.is_member(tx, playthrough, session["id"]):
        return "the scope's session does not belong to the playthrough"
    if selection["character_id"] != scope.get("characterId") or playthrough["character_id"] != scope.get("characterId"):
        return "another card is selected in the session"
    if scope.get("greetingIndex") is not None and scope.get("greetingIndex") != view["greetingIndex"]:
        return (
            f"the session shows greeting {view['greetingIndex']}, the scope was taken from {scope.get('greetingIndex')}"
        )
    if scope.get("selectionToken") is not None and scope.get("selectionToken") != view["selectionToken"]:
        return "the selection has changed since the scope was taken: read the snapshot again"
    return None
