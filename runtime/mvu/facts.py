"""Facts: bounded observations of what the source did; never state (spec/mvu.md §1.5, §10, §11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.ledger.contract import Ledger, Transaction
from runtime.ledger.tables import COUNTERS, FACTS
from runtime.mvu.service_limits import FACT_BYTES, FACT_RECORDS, FACT_TEXT
from runtime.values.canonical import ordered_json

PHASES = ("started", "triggered", "applied", "skipped", "failed", "completed")
_KEPT = (
    "id",
    "eventId",
    "phase",
    "on",
    "sessionId",
    "turn",
    "cause",
    "requestId",
    "reason",
    "detail",
    "revision",
    "configRevision",
)
Fact = dict[str, Any]
Observer = Callable[[Fact], None]


class Facts:
    """Keeps the newest facts and tells observers; an observer's fault changes nothing."""

    def __init__(self, ledger: Ledger, now: Callable[[], int]) -> None:
        self._ledger = ledger
        self._now = now
        self._observers: list[Observer] = []

    def observe(self, listener: Observer) -> Callable[[], None]:
        """Call ``listener`` with each fact; returns a disposer."""
        self._observers.append(listener)

        def dispose() -> None:
            if listener in self._observers:
                self._observers.remove(listener)

        return dispose

    def tell(self, fact: Fact) -> None:
        """Hand a fact to the observers."""
        for listener in list(self._observers):
            try:
                listener(dict(fact))
            except Exception:  # an observer takes no part in state: its faults end with it
                continue

    def keep(self, tx: Transaction, facts: Sequence[Fact]) -> None:
        """Store facts with the transaction that they describe and tell observers when it is durable."""
        kept = [fact for fact in facts if fact.get("sessionId") and fact.get("id") and fact.get("phase") in PHASES]
        if kept:
            self._store(tx, kept)
        for fact in facts:
            tx.after_commit(lambda fact=fact: self.tell(fact))  # type: ignore[misc]

    def keep_alone(self, facts: Sequence[Fact]) -> None:
        """Store facts of an operation that changed nothing."""
        self._ledger.write(lambda tx: self.keep(tx, facts))

    def _store(self, tx: Transaction, facts: Sequence[Fact]) -> None:
        counter = tx.get(COUNTERS, "facts")
        ordinal = 0 if counter is None else counter["value"]
        size_row = tx.get(COUNTERS, "factBytes")
        total = 0 if size_row is None else size_row["value"]
        for fact in facts:
            record = {key: _cut(fact[key]) for key in _KEPT if fact.get(key) is not None or key in fact}
            record["recordedAt"] = self._now()
            size = len(ordered_json(record).encode())
            tx.insert(FACTS, {"ordinal": ordinal, "session_id": fact["sessionId"], "size": size, "data": record})
            ordinal += 1
            total += size
        oldest = self._oldest(tx, ordinal)
        while ordinal - oldest > FACT_RECORDS.default or total > FACT_BYTES.default:
            row = tx.get(FACTS, oldest)
            total -= 0 if row is None else row["size"]
            tx.delete(FACTS, {"ordinal": oldest})
            oldest += 1
        tx.put(COUNTERS, {"name": "facts", "value": ordinal})
        tx.put(COUNTERS, {"name": "factBytes", "value": total})

    @staticmethod
    def _oldest(tx: Transaction, default: int) -> int:
        rows = tx.select(FACTS, order=("ordinal",), limit=1)
        return rows[0]["ordinal"] if rows else default

    def of_session(self, tx: Transaction, resource_id: str, session_id: str) -> list[Fact]:
        """The kept facts of one resource in one session, in order."""
        rows = tx.select(FACTS, {"session_id": session_id}, order=("ordinal",))
        return [row["data"] for row in rows if row["data"].get("id") == resource_id]


def _cut(value: Any) -> Any:
    return value[: FACT_TEXT.default] if isinstance(value, str) else value
