"""Playthroughs: a character card, a root session, a timeline, and the selections in its sessions (spec/http.md)."""

from __future__ import annotations

from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import CARDS, PLAYTHROUGHS, SELECTIONS, SESSIONS
from runtime.sessions import store, timelines
from runtime.sessions.host import SessionHost, check_created_at, check_identifier
from runtime.sessions.operations import check_operation_id, once
from runtime.values.canonical import sha
from runtime.values.rows import InnkeeperError


def selection_token(deployment: str, session_id: str, generation: int) -> str:
    """The token of one selection of one session in one deployment: 64 hex digits (spec/mvu.md §1.6, §0.10)."""
    return sha([deployment, session_id, generation])


class Playthroughs:
    """Creating playthroughs, selecting cards and greetings, walking the timeline."""

    def __init__(self, host: SessionHost) -> None:
        self.host = host

    def create(
        self,
        character_id: object,
        operation_id: str,
        *,
        greeting_index: object = 0,
        playthrough_id: object = None,
        session_id: object = None,
        created_at: object = None,
        user_name: object = None,
    ) -> dict[str, Any]:
        """``POST /host/playthroughs``: the root session, its selected card and its allocated states."""
        check_operation_id(operation_id)
        character = check_identifier(character_id, "characterId")
        chosen_playthrough = None if playthrough_id is None else check_identifier(playthrough_id, "playthroughId")
        chosen_session = None if session_id is None else check_identifier(session_id, "sessionId")
        created = None if created_at is None else check_created_at(created_at)
        if user_name is not None and not isinstance(user_name, str):
            raise InnkeeperError("HOST_REQUEST", f"expected userName as a string, found {user_name!r:.80}")
        request = [character, greeting_index, chosen_playthrough, chosen_session, created, user_name]

        def produce(tx: Transaction) -> dict[str, Any]:
            index = _check_greeting(card_row(tx, character), greeting_index)
            if chosen_playthrough is not None and tx.get(PLAYTHROUGHS, chosen_playthrough) is not None:
                raise InnkeeperError(
                    "PLAYTHROUGH_EXISTS", f"a playthrough {chosen_playthrough!r} exists already; choose another id"
                )
            session = self._root_session(tx, chosen_session, created)
            playthrough = {
                "id": chosen_playthrough or self.host.new_id(),
                "character_id": character,
                "root_session_id": session["id"],
                "user_name": user_name,
                "epoch": 0,
                "head_node": None,
                "created_at": self.host.now(),
            }
            tx.insert(PLAYTHROUGHS, playthrough)
            store.change_session(tx, session, playthrough_id=playthrough["id"], attach={"ordinal": 1})
            selection = self._select(tx, session, character, index, fresh=True)
            self.host.notify(tx, session["id"], "selection")
            return {
                "playthroughId": playthrough["id"],
                "sessionId": session["id"],
                "characterId": character,
                "greetingIndex": index,
                "selectionToken": selection_token(self.host.deployment, session["id"], selection["generation"]),
                "resources": self.host.header(tx, session).get("resources", []),
            }

        return self.host.ledger.write(lambda tx: once(tx, "playthroughs", operation_id, request, lambda: produce(tx)))

    def _root_session(self, tx: Transaction, session_id: str | None, created_at: Any) -> Row:
        known = self.host.known_session(tx, session_id, created_at)
        if known is None:
            return self.host.insert_session(tx, session_id, created_at=created_at)
        if known["playthrough_id"] is not None:
            raise InnkeeperError(
                "SESSION_EXISTS", f"session {session_id!r} belongs to a playthrough already; choose another sessionId"
            )
        return known

    def read(self, playthrough_id: str) -> dict[str, Any]:
        """``GET /host/playthroughs/{id}``."""
        return self.host.ledger.read(lambda tx: self._json(tx, timelines.playthrough_row(tx, playthrough_id)))

    def list(self) -> dict[str, Any]:
        """All playthroughs, the newest first, without their timelines."""

        def job(tx: Transaction) -> dict[str, Any]:
            rows = tx.select(PLAYTHROUGHS)
            rows.sort(key=lambda row: (row["created_at"], row["id"]), reverse=True)
            found = [
                {
                    "playthroughId": row["id"],
                    "characterId": row["character_id"],
                    "rootSessionId": row["root_session_id"],
                    "createdAt": row["created_at"],
                }
                for row in rows
            ]
            return {"playthroughs": found}

        return self.host.ledger.read(job)

    def _json(self, tx: Transaction, playthrough: Row) -> dict[str, Any]:
        return {
            "playthroughId": playthrough["id"],
            "rootSessionId": playthrough["root_session_id"],
            "characterId": playthrough["character_id"],
            "userName": playthrough["user_name"],
            "timeline": timelines.timeline_json(tx, playthrough["id"]),
            "sessions": timelines.member_sessions(tx, playthrough),
        }

    def select_character(
        self, playthrough_id: str, session_id: object, character_id: object, operation_id: str
    ) -> dict[str, Any]:
        """``POST …/character``: select another card in one session, or none (``None``)."""
        session = check_identifier(session_id, "sessionId")
        character = None if character_id is None else check_identifier(character_id, "characterId")

        def produce(tx: Transaction) -> dict[str, Any]:
            row = self._member(tx, playthrough_id, session)
            if character is not None:
                card_row(tx, character)
            selection = self._select(tx, row, character, 0, fresh=False)
            self.host.notify(tx, session, "selection")
            return {
                "sessionId": session,
                "characterId": character,
                "generation": selection["generation"],
                "greetingIndex": selection["greeting_index"],
                "selectionToken": selection_token(self.host.deployment, session, selection["generation"]),
                "resources": self.host.header(tx, row).get("resources", []),
            }

        return self._once(playthrough_id, operation_id, ["character", session, character], produce)

    def select_greeting(
        self, playthrough_id: str, session_id: object, greeting_index: object, operation_id: str
    ) -> dict[str, Any]:
        """``POST …/greeting``: choose another opening before the first turn."""
        session = check_identifier(session_id, "sessionId")

        def produce(tx: Transaction) -> dict[str, Any]:
            row = self._member(tx, playthrough_id, session)
            self._require_opening(row)
            current = store.selection_row(tx, session)
            if current["character_id"] is None:
                raise InnkeeperError("MVU_READ_ONLY", f"no card is selected in session {session!r}: select one first")
            index = _check_greeting(card_row(tx, current["character_id"]), greeting_index)
            selection = self._select(tx, row, current["character_id"], index, fresh=False)
            self.host.notify(tx, session, "selection")
            token = selection_token(self.host.deployment, session, selection["generation"])
            return {"greetingIndex": index, "selectionToken": token}

        return self._once(playthrough_id, operation_id, ["greeting", session, greeting_index], produce)

    def activate(self, playthrough_id: str, node_id: object, variant_id: object, operation_id: str) -> dict[str, Any]:
        """``POST …/activate``: walk the timeline to another variant."""
        node = check_identifier(node_id, "nodeId")
        variant = check_identifier(variant_id, "variantId")

        def produce(tx: Transaction) -> dict[str, Any]:
            playthrough = timelines.playthrough_row(tx, playthrough_id)
            timelines.activate(tx, playthrough, node, variant)
            for session in timelines.member_sessions(tx, playthrough):
                self.host.notify(tx, session, "timeline")
            return {"timeline": timelines.timeline_json(tx, playthrough_id)}

        return self._once(playthrough_id, operation_id, ["activate", node, variant], produce)

    def _once(self, playthrough_id: str, operation_id: str, request: Any, produce: Any) -> dict[str, Any]:
        check_operation_id(operation_id)
        scope = f"playthrough:{playthrough_id}"
        return self.host.ledger.write(lambda tx: once(tx, scope, operation_id, request, lambda: produce(tx)))

    def _member(self, tx: Transaction, playthrough_id: str, session_id: str) -> Row:
        playthrough = timelines.playthrough_row(tx, playthrough_id)
        row = store.session_row(tx, session_id)
        if row["playthrough_id"] != playthrough["id"]:
            raise InnkeeperError(
                "HOST_REQUEST", f"session {session_id!r} does not belong to playthrough {playthrough_id!r}"
            )
        return row

    @staticmethod
    def _require_opening(row: Row) -> None:
        if row["last_turn"] is not None or row["parent_id"] is not None:
            raise InnkeeperError(
                "MVU_READ_ONLY", f"the opening of session {row['id']!r} is over: its first turn has begun"
            )

    def _select(self, tx: Transaction, session: Row, character_id: str | None, greeting: int, *, fresh: bool) -> Row:
        """Write a selection with its next generation and tell the sources."""
        row = store.selection_row(tx, session["id"])
        row = {**row, "character_id": character_id, "greeting_index": greeting, "generation": row["generation"] + 1}
        tx.put(SELECTIONS, row)
        for source in self.host.sources:
            source.selected(tx, session, row, fresh=fresh)
        return row


def card_row(tx: Transaction, character_id: str) -> Row:
    """The row of a card, or ``CARD_NOT_FOUND``."""
    row = tx.get(CARDS, character_id)
    if row is None:
        raise InnkeeperError("CARD_NOT_FOUND", f"expected the id of an imported card, found {character_id!r:.100}")
    return row


def _check_greeting(card: Row, index: object) -> int:
    count = int(card["summary"]["greetings"])
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise InnkeeperError(
            "HOST_REQUEST", f"expected greetingIndex as a non-negative whole number, found {index!r:.80}"
        )
    if index >= max(1, count):
        raise InnkeeperError(
            "HOST_REQUEST", f"expected a greetingIndex below {count} (the card's greetings), found {index}"
        )
    return index


def sessions_of(tx: Transaction, playthrough_id: str) -> list[Row]:
    """The session rows of a playthrough."""
    return tx.select(SESSIONS, {"playthrough_id": playthrough_id})
