"""Settlement receipts: what a narrative's dimension changes owe, and how the debt ends (``spec/dimensions.md`` §5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from runtime.dimensions import limits
from runtime.dimensions.derive import hide_value
from runtime.dimensions.errors import SETTLEMENT_PENDING, DimensionError
from runtime.dimensions.records import (
    Batch,
    Fault,
    Record,
    Records,
    Source,
    evaluate,
    read_batch,
    source_fault,
    versions,
)
from runtime.dimensions.values import Json, quoted, same

Status = Literal["pending-settlement", "settled", "no-change", "manual", "skipped"]
PENDING: Final = "pending-settlement"
STATUSES: Final = (PENDING, "settled", "no-change", "manual", "skipped")


@dataclass(frozen=True, slots=True)
class Receipt:
    """One narrative's debt (§5.1); ``order`` is the place in the sequence of registrations."""

    source: Source
    turn_id: str
    status: Status
    version: int
    order: int
    read_versions: Mapping[str, int] = field(default_factory=dict)
    definitions: Mapping[str, dict[str, Json]] = field(default_factory=dict)
    error: str | None = None

    @property
    def pending(self) -> bool:
        """Whether the debt still stands."""
        return self.status == PENDING

    def summary(self) -> dict[str, Any]:
        """The public summary (§5.1)."""
        data: dict[str, Any] = {
            "source": self.source.to_json(),
            "status": self.status,
            "sourceTurnId": self.turn_id,
            "version": self.version,
        }
        if self.error is not None:
            data["error"] = self.error
        return data

    def to_json(self) -> dict[str, Any]:
        """The stored form."""
        return {
            **self.summary(),
            "order": self.order,
            "readVersions": dict(self.read_versions),
            "definitions": dict(self.definitions),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Receipt:
        """Read the stored form; raises ``ValueError`` when it is none."""
        fault = source_fault(data["source"])
        known = data["status"] in STATUSES and isinstance(data["sourceTurnId"], str)
        numbers = [data["version"], data["order"], *data["readVersions"].values()]
        if fault is not None or not known or not all(type(number) is int and number >= 1 for number in numbers):
            raise ValueError(fault or "a receipt has a part of the wrong form")
        if not all(isinstance(part, dict) for part in data["definitions"].values()):
            raise ValueError("a receipt's definitions are none")
        if not isinstance(data.get("error"), str | None):
            raise ValueError("a receipt's error is no text")
        return cls(
            Source.from_json(data["source"]),
            data["sourceTurnId"],
            data["status"],
            data["version"],
            data["order"],
            data["readVersions"],
            data["definitions"],
            data.get("error"),
        )

    def failed(self, error: str) -> Receipt:
        """The receipt after an attempt that did not settle it."""
        return replace(self, error=error, version=self.version + 1)

    def finished(self, status: Status) -> Receipt:
        """The receipt at its end: the frozen parts are empty (§5.1)."""
        return replace(self, status=status, error=None, version=self.version + 1, read_versions={}, definitions={})


Receipts = Mapping[str, Receipt]


def pending_receipts(receipts: Receipts) -> list[Receipt]:
    """The debts, oldest turn first (§5.5)."""
    return sorted(
        (receipt for receipt in receipts.values() if receipt.pending),
        key=lambda receipt: (receipt.source.turn_number, receipt.order),
    )


def check_barrier(receipts: Receipts) -> None:
    """Refuse a narrative while a debt stands (§5.5, §0.2)."""
    owed = pending_receipts(receipts)
    if not owed:
        return
    first = owed[0]
    because = f" The last attempt failed: {first.error}." if first.error else ""
    raise DimensionError(
        SETTLEMENT_PENDING,
        f"the dimension changes of turn {first.source.turn_number} are still owed: retry or skip its settlement "
        f"in the notice, then send again.{because}",
        {"source": first.source.to_json(), "sourceTurnId": first.turn_id, "error": first.error, "pending": len(owed)},
    )


def opened(records: Records, source: Source, turn_id: str, order: int, error: str | None = None) -> Receipt:
    """A new debt: every version, and the definitions that have a rule, as they stand now (§5.1)."""
    frozen = {key: record.definition for key, record in records.items() if record.has_rule}
    return Receipt(source, turn_id, PENDING, 1, order, versions(records), frozen, error)


def register(records: Records, receipts: Receipts, source: Source, turn_id: str) -> tuple[Receipts, Receipt | None]:
    """Register the debt of a committed narrative; no rule anywhere, no receipt (§5.2)."""
    known = receipts.get(source.result_id)
    if known is not None:
        return receipts, None
    if not any(record.has_rule for record in records.values()):
        return receipts, None
    receipt = opened(records, source, turn_id, next_order(receipts))
    return pruned({**receipts, source.result_id: receipt}, receipt), receipt


def next_order(receipts: Receipts) -> int:
    """The place of the next registration."""
    return max((receipt.order for receipt in receipts.values()), default=0) + 1


def pruned(receipts: Mapping[str, Receipt], new: Receipt) -> Receipts:
    """All pending receipts, the new one, and the newest finished ones (§5.2)."""
    finished = sorted((r.order for r in receipts.values() if not r.pending and r is not new), reverse=True)
    kept = set(finished[: limits.RECEIPTS_KEPT.default])
    return {key: r for key, r in receipts.items() if r.pending or r is new or r.order in kept}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a settlement did: the changed records, the receipt after it, and whether the receipt moved."""

    changed: Mapping[str, Record]
    receipt: Receipt
    touched: bool
    fault: Fault | None = None


def settle(
    records: Records,
    receipts: Receipts,
    payload: Json,
    *,
    turn_id: str | None = None,
    guard: Callable[[Mapping[str, Record]], None] | None = None,
) -> Outcome:
    """Apply an update that carries a source; a refusal becomes a pending receipt (§5.3).

    ``guard`` may refuse the changed records as a whole (the bound of the public snapshot).
    """
    source = _claimed_source(payload)
    receipt = receipts.get(source.result_id)
    if receipt is None:
        error = "this narrative had no receipt when its settlement arrived; nothing was written"
        fresh = opened(records, source, turn_id or source.result_id, next_order(receipts), error)
        return Outcome({}, fresh, True, Fault("payload", error))
    if receipt.source != source:
        raise DimensionError(
            "DIMENSION_RECEIPT_MISMATCH",
            f"the receipt {quoted(source.result_id)} belongs to turn {receipt.source.turn_number}, "
            f"not to turn {source.turn_number}; nothing was written",
            {"source": receipt.source.to_json()},
        )
    if not receipt.pending:
        return Outcome({}, receipt, False)
    try:
        batch = read_batch(payload)
        _check_frozen(records, receipt, batch)
        changed = evaluate(records, batch)
        if guard is not None:
            guard(changed)
    except Fault as fault:
        return Outcome({}, receipt.failed(fault.message), True, fault)
    return Outcome(changed, receipt.finished(_final_status(records, batch)), True)


def _claimed_source(payload: Json) -> Source:
    fault = source_fault(payload.get("source") if isinstance(payload, dict) else None)
    if fault is not None:
        raise Fault("payload", fault)
    return Source.from_json(payload["source"])


def _check_frozen(records: Records, receipt: Receipt, batch: Batch) -> None:
    """Steps 4 and 5 of §5.3; a player's own resolution is exempt."""
    if batch.settlement in ("manual", "skipped"):
        return
    reads = batch.read_versions or {}
    if reads != dict(receipt.read_versions):
        keys = sorted({*reads, *receipt.read_versions})
        key = next(key for key in keys if reads.get(key) != receipt.read_versions.get(key))
        raise Fault(
            "conflict",
            f"the settlement read other versions than its narrative left: dimension {quoted(key)} "
            f"{receipt.read_versions.get(key, 'absent')} then, {reads.get(key, 'absent')} now",
            key,
        )
    for update in batch.updates:
        record = records.get(update.id)
        if record is not None and not record.has_rule:
            raise Fault("validation", f"dimension {quoted(update.id)} has no update rule", update.id)
    for key, definition in receipt.definitions.items():
        record = records.get(key)
        if record is None or not same(record.definition, definition):
            raise Fault("conflict", f"the definition of {quoted(key)} changed since the narrative", key)


def _final_status(records: Records, batch: Batch) -> Status:
    if batch.settlement is not None:
        return batch.settlement
    changes = any(not same(update.value, records[update.id].value) for update in batch.updates)
    return "settled" if changes else "no-change"


def adopt(records: Records, receipt: Receipt) -> Receipt:
    """The pending receipt of a retry: it takes the current versions as its own (§5.4)."""
    frozen = {key: record.definition for key, record in records.items() if record.has_rule}
    return replace(
        receipt, read_versions=versions(records), definitions=frozen, error=None, version=receipt.version + 1
    )


def follow_derived(receipts: Receipts, before: Records, changed: Mapping[str, Record]) -> Receipts:
    """After a rewrite of derived fields alone, pending receipts read the new versions (§0.1)."""
    moved = {
        key: (before[key].version, record.version)
        for key, record in changed.items()
        if key in before and _only_derived(before[key], record)
    }
    result = dict(receipts)
    for key, receipt in receipts.items():
        if not receipt.pending:
            continue
        reads = dict(receipt.read_versions)
        for name, (old, new) in moved.items():
            if reads.get(name) == old:
                reads[name] = new
        if reads != receipt.read_versions:
            result[key] = replace(receipt, read_versions=reads)
    return result


def _only_derived(before: Record, after: Record) -> bool:
    schema = after.definition["schema"]
    if not same(before.definition, after.definition):
        return False
    return "x-derive" in schema or same(hide_value(schema, before.value), hide_value(schema, after.value))
