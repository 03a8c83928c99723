"""Importing cards: read, described, kept, their templates discovered (spec/http.md, Cards; spec/mvu.md §9.1)."""

from __future__ import annotations

import hashlib
from typing import Any

from runtime.cards import read_card
from runtime.ledger.contract import Transaction
from runtime.ledger.tables import CARDS
from runtime.mvu import resources
from runtime.mvu.commands import DIALECTS
from runtime.mvu.discovery import describe_card
from runtime.mvu.service import MvuService
from runtime.sessions.host import check_identifier
from runtime.values.rows import InnkeeperError


class CardLibrary:
    """The imported cards of a deployment."""

    def __init__(self, mvu: MvuService) -> None:
        self._mvu = mvu

    def add(self, raw: bytes, card_id: object = None, *, dialect: str = "strict") -> dict[str, Any]:
        """``POST /host/cards``: import PNG or JSON bytes; the same bytes again change nothing.

        ``dialect`` is the one that its replies are read in, chosen when its template is made. Other bytes under an existing id replace card and greetings, and keep templates and instances but for repair.
        """
        if dialect not in DIALECTS:
            raise InnkeeperError(
                "HOST_REQUEST", f"expected dialect as one of {', '.join(DIALECTS)}, found {dialect!r:.80}"
            )
        card = read_card(raw)
        sha = hashlib.sha256(raw).hexdigest()
        character_id = check_identifier(card_id, "id") if card_id is not None else f"card-{sha[:24]}"
        described = describe_card(card)

        def job(tx: Transaction) -> dict[str, Any]:
            known = tx.get(CARDS, character_id)
            if known is not None and known["sha"] == sha:
                stored: dict[str, Any] = known["summary"]
                return stored
            template = self._mvu.instances.discover(tx, character_id, card, dialect)
            answer: dict[str, Any] = {"characterId": character_id, "name": card.name, "spec": card.spec}
            answer["greetings"] = len(card.greetings)
            answer["templateId"] = None if template is None else template["id"]
            answer.update({key: value for key, value in described.items() if key not in answer})
            generation = 1 if known is None else known["generation"] + 1
            row = {
                "id": character_id,
                "sha": sha,
                "name": card.name,
                "generation": generation,
                "raw": raw,
                "summary": answer,
            }
            tx.put(CARDS, row)
            return answer

        return self._mvu.ledger.write(job)

    def list(self) -> dict[str, Any]:
        """``GET /host/cards``."""

        def job(tx: Transaction) -> dict[str, Any]:
            return {"cards": [row["summary"] for row in tx.select(CARDS, order=("id",))]}

        return self._mvu.ledger.read(job)

    def read(self, character_id: str) -> dict[str, Any]:
        """``GET /host/cards/{id}``: the answer of the import."""

        def job(tx: Transaction) -> dict[str, Any]:
            row = tx.get(CARDS, character_id)
            if row is None:
                raise InnkeeperError(
                    "CARD_NOT_FOUND", f"expected the id of an imported card, found {character_id!r:.100}"
                )
            summary: dict[str, Any] = row["summary"]
            return summary

        return self._mvu.ledger.read(job)

    def content(self, character_id: str) -> dict[str, Any]:
        """The texts that a page shows of a card: greetings, world book, InitVar, declaration, helper, display scripts."""

        def job(tx: Transaction) -> dict[str, Any]:
            card = self._mvu.shelf.card(tx, character_id)
            if card is None:
                raise InnkeeperError(
                    "CARD_NOT_FOUND", f"expected the id of an imported card, found {character_id!r:.100}"
                )
            return {
                "name": card.name,
                "greetings": list(card.greetings),
                "initvar": [entry.content for entry in card.initvar_entries],
                "scripts": [{"name": s.name, "content": s.content} for s in card.scripts if s.enabled],
                "worldBook": [{"id": e.id, "comment": e.comment, "content": e.content} for e in card.world_book],
            }

        return self._mvu.ledger.read(job)

    def remove(self, character_id: str) -> dict[str, Any]:
        """``DELETE /host/cards/{id}``: sessions keep their states."""

        def job(tx: Transaction) -> dict[str, Any]:
            if tx.get(CARDS, character_id) is None:
                raise InnkeeperError(
                    "CARD_NOT_FOUND", f"expected the id of an imported card, found {character_id!r:.100}"
                )
            tx.delete(CARDS, {"id": character_id})
            return {"ok": True}

        return self._mvu.ledger.write(job)

    def template_id(self, character_id: str) -> str:
        """The template id of a card."""
        return resources.character_template_id(character_id)
