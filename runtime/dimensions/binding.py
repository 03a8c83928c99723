"""Binding a session to a world, and keeping it in step with the world's declarations (``spec/dimensions.md`` §7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from runtime.dimensions import clock as clocks
from runtime.dimensions.declaration import check_table
from runtime.dimensions.domain import BUILT_IN, Result
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.events import change_events
from runtime.dimensions.issues import issues_json, issues_text
from runtime.dimensions.localise import resolve_definition
from runtime.dimensions.records import Fault, Record, new_record, versions
from runtime.dimensions.settlement import pending_receipts
from runtime.dimensions.state import State
from runtime.dimensions.sync import LedgerRow, decide
from runtime.dimensions.values import Json, quoted, same
from runtime.values.canonical import sha

TARGET: Final = "world.dimensions@1"


@dataclass(frozen=True, slots=True)
class World:
    """A declared world: its effective table, default locale and clock; ``sources`` says where an entry stands."""

    id: str
    definitions: Mapping[str, dict[str, Json]]
    locale: str = ""
    clock: dict[str, Json] | None = None
    sources: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "worldId": self.id,
            "definitions": dict(self.definitions),
            "locale": self.locale,
            "clock": self.clock,
            "sources": dict(self.sources),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> World:
        """Read the stored form."""
        return cls(data["worldId"], data["definitions"], data["locale"], data["clock"], data["sources"])


def check_world_table(definitions: Json, clock: Json) -> None:
    """Refuse a world whole, with every issue."""
    issues = check_table(definitions)
    if clock is not None:
        issues.extend(issue.under("clock") for issue in clocks.check_clock(clock))
    if issues:
        raise DimensionError(
            "DIMENSION_WORLD_INVALID", f"the world has errors: {issues_text(issues)}", {"issues": issues_json(issues)}
        )


def discover_provider(active: list[str], bound: str | None) -> str:
    """The one active provider of a session; a bound one cannot change (§4.4)."""
    if len(active) > 1:
        raise DimensionError("DIMENSION_PROVIDER_CONFLICT", f"conflicting providers: {', '.join(sorted(active))}")
    if not active:
        raise DimensionError("DIMENSION_NOT_BOUND", "the world declares dimensions, but no provider is active")
    if bound is not None and bound != active[0]:
        raise DimensionError(
            "DIMENSION_PROVIDER_CONFLICT",
            f"the session is bound to provider {quoted(bound)}, which is not the active {quoted(active[0])}",
        )
    return active[0]


def bind(
    state: State, world: World, *, locale: str | None = None, provider: str = BUILT_IN, imported_at: str | None = None
) -> Result:
    """Create a session's records from its world, then bind the provider (§7.2)."""
    if state.provider is not None:
        raise DimensionError(
            "DIMENSION_ALREADY_BOUND",
            f"the session is already bound to world {quoted(state.world_id)}: sync it instead",
            {"worldId": state.world_id},
        )
    chosen = locale or world.locale
    fresh = replace(state, locale=chosen, world_id=world.id)
    try:
        created = {key: _imported(key, definition, chosen) for key, definition in world.definitions.items()}
        after = fresh.with_records(created)
    except Fault as fault:
        raise fault.as_error(state.records) from None
    ledger = {key: _row(world, key, record.definition, record, imported_at) for key, record in created.items()}
    after = after.touched({"meta", *(f"ledger/{key}" for key in ledger)}, ledger=ledger, provider=provider)
    if world.clock is not None:
        after = after.touched({"clock"}, clock=clocks.new_clock(world.clock))
    answer = {"worldId": world.id, "locale": chosen, "provider": provider, "versions": versions(after.records)}
    return Result(after, answer, change_events(after, created, state))


def _imported(key: str, definition: dict[str, Json], locale: str, version: int = 1) -> Record:
    return new_record(key, resolve_definition(definition, locale), version)


def _row(world: World, key: str, resolved: dict[str, Json], record: Record, at: str | None) -> LedgerRow:
    source = world.sources.get(key, "world.yaml")
    return LedgerRow(key, world.id, source, sha(resolved), sha(record.to_json()), at)


# --- sync -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """What a sync does with one dimension."""

    key: str
    outcome: str
    resolved: dict[str, Json] | None
    digest: str | None


def plan_sync(state: State, world: World, *, force: bool) -> list[Step]:
    """One step per dimension that the world declares or the ledger knows (§7.3)."""
    pending = bool(pending_receipts(state.receipts))
    steps = []
    for key in dict.fromkeys((*world.definitions, *state.ledger)):
        authored = world.definitions.get(key)
        resolved = None if authored is None else resolve_definition(authored, state.locale)
        wanted = None if resolved is None else sha(resolved)
        row = state.ledger.get(key)
        outcome = decide(
            _declared(resolved, wanted, row, state.records.get(key)),
            ledger=row is not None,
            standing=_standing(row, state.records.get(key)),
            pending=pending,
            force=force,
        )
        steps.append(Step(key, outcome, resolved, wanted))
    return steps


def _declared(resolved: Json, wanted: str | None, row: LedgerRow | None, record: Record | None) -> str:
    if wanted is None:
        return "deleted"
    if row is not None:
        return "same" if row.source_digest == wanted else "changed"
    if record is None:
        return "added"
    return "same" if same(record.definition, resolved) else "changed"


def _standing(row: LedgerRow | None, record: Record | None) -> str:
    if record is None:
        return "missing"
    if row is not None:
        return "untouched" if sha(record.to_json()) == row.value_hash else "evolved"
    moved = record.source is not None or not same(record.value, record.definition["initialValue"])
    return "evolved" if moved else "untouched"


_UPSERTS: Final = ("replace", "create", "adopt")
_REMOVALS: Final = ("delete", "drop-ledger")


def sync(state: State, world: World, *, dry_run: bool, force: bool, imported_at: str | None = None) -> Result:
    """Write what can be written, report conflicts for the rest; a dry run writes nothing (§0.5, §7.3)."""
    if state.provider is None:
        raise DimensionError("DIMENSION_NOT_BOUND", "the session is bound to no world: bind it first")
    if state.world_id != world.id:
        raise DimensionError(
            "DIMENSION_ALREADY_BOUND",
            f"the session belongs to world {quoted(state.world_id)}, not to {quoted(world.id)}",
            {"worldId": state.world_id},
        )
    steps = plan_sync(state, world, force=force)
    after = state if dry_run else _carry_out(state, world, steps, imported_at)
    changed = {
        step.key: after.records[step.key]
        for step in steps
        if step.key in after.records and after.records[step.key] is not state.records.get(step.key)
    }
    events = change_events(after, changed, state) if changed else ()
    return Result(after, _report(world, steps, dry_run=dry_run), events)


def _report(world: World, steps: list[Step], *, dry_run: bool) -> dict[str, Any]:
    upserts = [step for step in steps if step.outcome in _UPSERTS]
    removals = [step for step in steps if step.outcome in _REMOVALS]
    conflicts = [
        {
            "target": TARGET,
            "key": step.key,
            "sourceId": world.sources.get(step.key, "world.yaml"),
            "reason": step.outcome.removeprefix("conflict:"),
        }
        for step in steps
        if step.outcome.startswith("conflict:")
    ]
    return {
        "dryRun": dry_run,
        "planned": len(upserts) + len(removals),
        "upserted": 0 if dry_run else len(upserts),
        "deleted": 0 if dry_run else len(removals),
        "unchanged": sum(step.outcome == "unchanged" for step in steps),
        "conflicts": conflicts,
        "outcomes": {step.key: step.outcome for step in steps},
    }


def _carry_out(state: State, world: World, steps: list[Step], at: str | None) -> State:
    changed: dict[str, Record] = {}
    ledger = dict(state.ledger)
    removed: list[str] = []
    for step in steps:
        known = state.records.get(step.key)
        if step.outcome in ("replace", "create"):
            assert step.resolved is not None
            changed[step.key] = new_record(step.key, step.resolved, known.version + 1 if known else 1)
        elif step.outcome == "delete":
            removed.append(step.key)
        if step.outcome in _REMOVALS:
            del ledger[step.key]
        elif step.outcome in _UPSERTS:
            assert step.resolved is not None
            record = changed.get(step.key, known)
            assert record is not None
            ledger[step.key] = _row(world, step.key, step.resolved, record, at)
    try:
        after = state.with_records(changed, removed)
    except Fault as fault:
        raise fault.as_error(state.records) from None
    moved = {f"ledger/{step.key}" for step in steps if step.outcome in (*_UPSERTS, *_REMOVALS)}
    return after.touched(moved, ledger=ledger) if moved else after
