"""One session's dimensions as an immutable value, and its stored parts (design §4, ``spec/dimensions.md`` §10).

A state is never mutated; every operation gives a new one that shares what did not change. Stored, it is a set of
parts by key (``meta``, ``clock``, ``record/ID``, ``receipt/ID``, ``ledger/ID``, ``frozen/TURN``, ``text/ID``), so that
a commit writes only what moved; ``dirty`` names those parts. A fork, swipe or rewind carries the parts of a revision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runtime.dimensions import limits
from runtime.dimensions.clock import Clock
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.records import Fault, Record, Records, read_record
from runtime.dimensions.settlement import Receipt, Receipts
from runtime.dimensions.sync import LedgerRow
from runtime.dimensions.values import BoundsError, Size, measure, quoted, same, text_bytes

Parts = Mapping[str, Any]
_NOTHING = Size(0, 0)


def _entry_size(key: str, data: Any) -> Size:
    """What one entry adds to a table: its key, colon and comma included."""
    weight = measure(data)
    return Size(weight.nodes, weight.size + text_bytes(key) + 2)


def _refuse_total(total: Size, what: str, about: str | None) -> None:
    if total.nodes + 1 > limits.JSON_NODES.default:
        raise Fault("validation", f"{what} would hold more than {limits.JSON_NODES.default} values", about)
    if total.size + 1 > limits.JSON_BYTES.default:
        raise Fault("validation", f"{what} would need more than {limits.JSON_BYTES.default} bytes of JSON", about)


@dataclass(frozen=True, slots=True)
class State:
    """Everything one session holds about its dimensions."""

    locale: str = ""
    world_id: str | None = None
    provider: str | None = None
    records: Records = field(default_factory=dict)
    receipts: Receipts = field(default_factory=dict)
    ledger: Mapping[str, LedgerRow] = field(default_factory=dict)
    clock: Clock | None = None
    frozen: Mapping[str, Records] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    completed: int = 0
    last_turn: str | None = None
    table: Size = _NOTHING
    snapshot: Size = _NOTHING
    dirty: frozenset[str] = frozenset()

    # --- changes ----------------------------------------------------------------------------------------------------

    def touched(self, parts: Iterable[str], **changes: Any) -> State:
        """A new state in which ``parts`` have to be written."""
        return replace(self, dirty=self.dirty.union(parts), **changes)

    def with_records(self, changed: Mapping[str, Record], removed: Iterable[str] = ()) -> State:
        """Put and remove records; the bounds of the whole table and snapshot are checked here (§0.9, §1.5)."""
        gone = [key for key in removed if key in self.records]
        if not changed and not gone:
            return self
        table, snapshot = self.weigh(changed, gone)
        records = {**self.records, **changed}
        for key in gone:
            del records[key]
        parts = {f"record/{key}" for key in (*changed, *gone)}
        if gone or len(records) != len(self.records):
            parts.add("meta")
        return self.touched(parts, records=records, table=table, snapshot=snapshot)

    def weigh(self, changed: Mapping[str, Record], removed: Iterable[str] = ()) -> tuple[Size, Size]:
        """The running totals after a change; raises ``Fault`` when the table or the snapshot outgrows its bound."""
        table, snapshot = self.table, self.snapshot
        nodes = size = 0
        for key, record in changed.items():
            old = self.records.get(key)
            if old is not None and old.definition is record.definition:
                more_nodes, more_size = _value_growth(key, old, record)
                nodes, size = nodes + more_nodes, size + more_size
            else:
                more, shown = _growth(key, old, record)
                table, snapshot = table + more, snapshot + shown
        snapshot = Size(snapshot.nodes + nodes, snapshot.size + size)
        for key in removed:
            table = table - _entry_size(key, self.records[key].definition)
            snapshot = snapshot - _entry_size(key, self.records[key].public())
        about = next(iter(changed), None)
        _refuse_total(table, "the table of definitions", about)
        _refuse_total(snapshot, "the public snapshot of this session", about)
        return table, snapshot

    def guard(self, changed: Mapping[str, Record]) -> None:
        """Refuse records that the session as a whole could not hold."""
        self.weigh(changed)

    def with_receipts(self, receipts: Receipts) -> State:
        """Replace the receipts; texts of narratives live only as long as their debt."""
        keys = {*receipts, *self.receipts}
        moved = {key for key in keys if receipts.get(key) is not self.receipts.get(key)}
        if not moved:
            return self
        texts = {key: text for key, text in self.texts.items() if key in receipts and receipts[key].pending}
        parts = {f"receipt/{key}" for key in moved} | {f"text/{key}" for key in self.texts if key not in texts}
        return self.touched(parts, receipts=receipts, texts=texts)

    def with_receipt(self, receipt: Receipt) -> State:
        """Put one receipt."""
        return self.with_receipts({**self.receipts, receipt.source.result_id: receipt})

    def with_frozen(self, turn_id: str) -> State:
        """Freeze the committed values as the base of a turn; a turn begun before keeps its base (§6.1)."""
        if turn_id in self.frozen:
            return self
        frozen = {**self.frozen, turn_id: self.records}
        parts = {"meta", f"frozen/{turn_id}"}
        while len(frozen) > limits.FROZEN_TURNS.default:
            oldest = next(iter(frozen))
            del frozen[oldest]
            # The next base was stored as a difference from the dropped one and is written whole now.
            parts |= {f"frozen/{oldest}", f"frozen/{next(iter(frozen))}"}
        return self.touched(parts, frozen=frozen)

    def base(self, turn_id: str) -> Records:
        """The records frozen at a turn's start (§0.4)."""
        base = self.frozen.get(turn_id)
        if base is None:
            kept = len(self.frozen)
            raise DimensionError(
                "DIMENSION_TURN_NOT_FOUND",
                f"no frozen values are kept for turn {quoted(turn_id)}; {kept} turns are kept",
                {"turnId": turn_id},
            )
        return base

    # --- stored form ------------------------------------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:
        """The part that holds the small things and the order of the others."""
        return {
            "format": 1,
            "locale": self.locale,
            "worldId": self.world_id,
            "provider": self.provider,
            "completed": self.completed,
            "lastTurn": self.last_turn,
            "records": list(self.records),
            "frozen": list(self.frozen),
        }

    def part(self, key: str) -> Any | None:
        """The stored form of one part; ``None`` when it is to be removed."""
        kind, _, name = key.partition("/")
        if kind == "meta":
            return self.meta()
        if kind == "clock":
            return None if self.clock is None else self.clock.to_json()
        if kind == "frozen":
            return self._frozen_part(name)
        if kind == "text":
            return self.texts.get(name)
        tables: dict[str, Mapping[str, Any]] = {"record": self.records, "receipt": self.receipts, "ledger": self.ledger}
        entry = tables[kind].get(name)
        return None if entry is None else entry.to_json()

    def _frozen_part(self, turn_id: str) -> dict[str, Any] | None:
        """A base as the difference from the one before it: most records do not change in a turn."""
        if turn_id not in self.frozen:
            return None
        turns = list(self.frozen)
        place = turns.index(turn_id)
        before = self.frozen[turns[place - 1]] if place else {}
        now = self.frozen[turn_id]
        return {
            "set": {key: record.to_json() for key, record in now.items() if before.get(key) is not record},
            "removed": [key for key in before if key not in now],
        }

    def part_keys(self) -> set[str]:
        """Every part of this state."""
        keys = {"meta"} if self.clock is None else {"meta", "clock"}
        for kind, table in (
            ("record", self.records),
            ("receipt", self.receipts),
            ("ledger", self.ledger),
            ("frozen", self.frozen),
            ("text", self.texts),
        ):
            keys |= {f"{kind}/{key}" for key in table}
        return keys

    def changes(self) -> dict[str, Any | None]:
        """The parts to write since the last ``clean``."""
        return {key: self.part(key) for key in sorted(self.dirty)}

    def clean(self) -> State:
        """The same state, counted as stored."""
        return replace(self, dirty=frozenset()) if self.dirty else self

    def to_json(self) -> dict[str, Any]:
        """The whole state as one JSON document of parts."""
        return {key: self.part(key) for key in sorted(self.part_keys())}


def _weigh_value(key: str, value: Any) -> Size:
    """A value's weight; it stands two levels below the snapshot's root, beside its schema."""
    weight = measure(value)
    if weight.depth + 2 > limits.JSON_DEPTH.default:
        raise Fault("validation", f"the value of {quoted(key)} is too deep for the public snapshot", key)
    return weight


def _value_growth(key: str, old: Record, new: Record) -> tuple[int, int]:
    """Nodes and bytes that a new value adds to the snapshot; its definition is not weighed again."""
    try:
        was, now = measure(old.value), _weigh_value(key, new.value)
    except BoundsError as error:
        raise Fault("validation", f"dimension {quoted(key)}: {error.issue.message}", key) from None
    return now.nodes - was.nodes, now.size - was.size + len(str(new.version)) - len(str(old.version))


def _growth(key: str, old: Record | None, new: Record) -> tuple[Size, Size]:
    """What a record with a new definition adds to the table and the snapshot."""
    try:
        _weigh_value(key, new.value)
        table, snapshot = _entry_size(key, new.definition), _entry_size(key, new.public())
        if old is not None:
            table = table - _entry_size(key, old.definition)
            snapshot = snapshot - _entry_size(key, old.public())
        return table, snapshot
    except BoundsError as error:
        raise Fault("validation", f"dimension {quoted(key)}: {error.issue.message}", key) from None


def _whole(keys: Iterable[str], parts: Parts, kind: str) -> Iterable[tuple[str, Any]]:
    for key in keys:
        part = parts.get(f"{kind}/{key}")
        if part is None:
            raise DimensionError("DIMENSION_UNREADABLE", f"the stored dimensions lack the part {kind}/{key}")
        yield key, part


def _named(parts: Parts, kind: str) -> dict[str, Any]:
    prefix = f"{kind}/"
    return {key[len(prefix) :]: part for key, part in parts.items() if key.startswith(prefix) and part is not None}


def read_state(parts: Parts) -> State:
    """Read a stored state; an unreadable one is an error, never an empty table (§6.1)."""
    meta = parts.get("meta")
    if not isinstance(meta, dict) or meta.get("format") != 1:
        raise DimensionError("DIMENSION_UNREADABLE", "the stored dimensions have no readable head")
    try:
        state = _read_parts(meta, parts)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DimensionError("DIMENSION_UNREADABLE", f"the stored dimensions cannot be read: {error!r}") from error
    try:
        table, snapshot = replace(state, records={}).weigh(state.records)
    except Fault as fault:
        raise DimensionError("DIMENSION_UNREADABLE", fault.message) from None
    return replace(state, table=table, snapshot=snapshot)


def _read_parts(meta: Mapping[str, Any], parts: Parts) -> State:
    texts = [meta["locale"], *(meta[name] for name in ("worldId", "provider", "lastTurn") if meta[name] is not None)]
    if not all(isinstance(text, str) for text in texts) or type(meta["completed"]) is not int:
        raise ValueError("the head has a part of the wrong form")
    records = {key: read_record(key, data) for key, data in _whole(meta["records"], parts, "record")}
    receipts = {key: Receipt.from_json(data) for key, data in _named(parts, "receipt").items()}
    clock = parts.get("clock")
    return State(
        locale=meta["locale"],
        world_id=meta["worldId"],
        provider=meta["provider"],
        records=records,
        receipts=dict(sorted(receipts.items(), key=lambda item: item[1].order)),
        ledger={key: LedgerRow.from_json(data) for key, data in _named(parts, "ledger").items()},
        clock=None if clock is None else Clock.from_json(clock),
        frozen=_read_frozen(meta["frozen"], parts, records),
        texts=_named(parts, "text"),
        completed=meta["completed"],
        last_turn=meta["lastTurn"],
    )


def _read_frozen(turns: list[str], parts: Parts, current: Records) -> dict[str, Records]:
    frozen: dict[str, Records] = {}
    base: dict[str, Record] = {}
    for turn_id, part in _whole(turns, parts, "frozen"):
        base = {key: record for key, record in base.items() if key not in part["removed"]}
        for key, data in part["set"].items():
            now = current.get(key)
            # The same content is the same object, so later differences stay small.
            base[key] = now if now is not None and same(now.to_json(), data) else read_record(key, data)
        frozen[turn_id] = base
    return frozen
