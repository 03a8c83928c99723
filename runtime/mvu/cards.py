"""The imported cards, parsed and remembered by the hash of their bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from runtime.cards import Card, read_card
from runtime.ledger.contract import Transaction
from runtime.ledger.tables import CARDS
from runtime.mvu.service_limits import CARD_CACHE


class CardShelf:
    """Cards by id; parsing a card happens once per distinct bytes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parsed: OrderedDict[str, Card] = OrderedDict()

    def parse(self, sha: str, raw: bytes) -> Card:
        """The card of these bytes."""
        with self._lock:
            known = self._parsed.get(sha)
            if known is not None:
                self._parsed.move_to_end(sha)
                return known
        card = read_card(raw)
        with self._lock:
            self._parsed[sha] = card
            while len(self._parsed) > CARD_CACHE.default:
                self._parsed.popitem(last=False)
        return card

    def card(self, tx: Transaction, character_id: str | None) -> Card | None:
        """An imported card, or ``None``."""
        row = None if character_id is None else tx.get(CARDS, character_id)
        return None if row is None else self.parse(row["sha"], row["raw"])

    def sha(self, tx: Transaction, character_id: str | None) -> str | None:
        """The hash of an imported card's bytes."""
        row = None if character_id is None else tx.get(CARDS, character_id)
        return None if row is None else str(row["sha"])

    def greeting(self, tx: Transaction, character_id: str | None, index: int) -> tuple[str | None, str | None]:
        """``(text, hash of the card)`` of one greeting; no text when the card or the greeting is gone."""
        row: Any = None if character_id is None else tx.get(CARDS, character_id)
        if row is None:
            return None, None
        greetings = self.parse(row["sha"], row["raw"]).greetings
        return (greetings[index] if 0 <= index < len(greetings) else None), row["sha"]
