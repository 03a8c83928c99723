"""What callers read of a session's dimensions (``spec/dimensions.md`` §6, §9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtime.dimensions import clock as clocks
from runtime.dimensions import limits
from runtime.dimensions.domain import receipt_of
from runtime.dimensions.errors import VERSION_CONFLICT, DimensionError
from runtime.dimensions.localise import localise, resolve_labels
from runtime.dimensions.prompts import rule_page, story_prompt, tracker_prompt
from runtime.dimensions.query import list_dimensions, result_text, run_queries
from runtime.dimensions.records import Record, Records
from runtime.dimensions.state import State
from runtime.dimensions.values import Json, is_integer, quoted

EDITOR: Final = "dimension-editor"
TRACKER: Final = "dimension-tracker"


def records_at(state: State, turn_id: str | None) -> Records:
    """The committed records, or those frozen at a turn's start (§0.4)."""
    return state.records if turn_id is None else state.base(turn_id)


def public_entries(records: Records, locale: str | None = None) -> dict[str, dict[str, Any]]:
    """The public table; with ``locale`` the labels are in that language (§6.1)."""
    return {key: _entry(record, locale) for key, record in records.items()}


def _entry(record: Record, locale: str | None) -> dict[str, Any]:
    entry = record.public()
    if locale is None:
        return entry
    entry["name"] = localise(entry["name"], locale) or ""
    if "description" in entry:
        entry["description"] = localise(entry["description"], locale) or ""
    entry["schema"] = resolve_labels(entry["schema"], locale)
    return entry


def snapshot(state: State, *, locale: str | None = None, turn_id: str | None = None) -> dict[str, Any]:
    """The public snapshot: always there, empty when nothing is bound (§0.11, §9)."""
    bound = state.provider is not None
    return {
        "worldId": state.world_id,
        "locale": state.locale,
        "dimensions": public_entries(records_at(state, turn_id), locale),
        "dimensionSettlements": [receipt.summary() for receipt in state.receipts.values()],
        "dimensionProviderPluginId": state.provider,
        "dimensionRecovery": {"editorRuntimeId": EDITOR, "trackerRuntimeId": TRACKER} if bound else None,
        "clock": None if state.clock is None else clocks.output(state.clock, None, locale or state.locale),
    }


class PublicTable(Mapping[str, Mapping[str, Any]]):
    """The public table read one entry at a time: a query costs what it asks for."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def __getitem__(self, key: str) -> Mapping[str, Any]:
        return self._records[key].public()

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


def query(state: State, queries: Json, *, turn_id: str | None = None, locale: str | None = None) -> dict[str, Any]:
    """``world-dimension-get`` over the frozen base or the committed values (§6.3)."""
    entries = PublicTable(records_at(state, turn_id))
    results = run_queries(entries, queries, locale or state.locale)
    return {"results": results, "text": result_text(results)}


def listing(state: State, *, turn_id: str | None = None) -> dict[str, Any]:
    """``world-dimension-list`` (§6.3)."""
    return {"dimensions": list_dimensions(PublicTable(records_at(state, turn_id)))}


def story(state: State, *, turn_id: str | None = None) -> dict[str, Any]:
    """The story projection of the frozen base (§6.4)."""
    return story_prompt(records_at(state, turn_id), state.locale)


def prompt_blocks(state: State, turn: int | None) -> list[dict[str, Any]]:
    """The story segments as blocks of one model request; a turn that has begun reads its frozen base (§6.4)."""
    base = state.frozen.get(str(turn)) if turn is not None else None
    prompt = story_prompt(state.records if base is None else base, state.locale)
    diagnostics = {"cut": prompt["cut"], "leftOut": prompt["leftOut"]}
    return [
        {
            "id": f"dimensions:{part}",
            "role": "system",
            "lifetime": "request",
            "text": prompt[part],
            "diagnostics": diagnostics,
        }
        for part in ("stable", "turn")
        if prompt[part]
    ]


def tracker(state: State, result_id: str | None = None, turn_id: str | None = None) -> dict[str, Any]:
    """The tracker's prompt; with a narrative, its clock and where its debt stands (§6.4)."""
    answer = tracker_prompt(records_at(state, turn_id), state.locale)
    if result_id is None:
        return answer
    receipt = receipt_of(state, result_id)
    clock = None if state.clock is None else clocks.summary(state.clock, receipt.turn_id, state.locale)
    return {**answer, "settlement": receipt.summary(), "clock": clock, "narrative": state.texts.get(result_id)}


def read_clock(state: State, turn_id: str | None = None) -> dict[str, Any]:
    """``GET …/clock``: the clock after the last turn, or after ``turn_id``."""
    if state.clock is None:
        raise DimensionError("DIMENSION_NO_CLOCK", "this session has no world clock: its world declares none")
    return clocks.output(state.clock, turn_id, state.locale)


def rule(state: State, request: Mapping[str, Json]) -> dict[str, Any]:
    """``dimension-rule-get``: a page of a frozen rule or schema (§6.4)."""
    receipt = receipt_of(state, request["resultId"])
    key, part = request.get("id"), request.get("part")
    record = state.records.get(key) if isinstance(key, str) else None
    if record is None or not isinstance(key, str):
        known = ", ".join(state.records) or "none"
        raise DimensionError("DIMENSION_NOT_FOUND", f"unknown dimension {quoted(key)}; known are {known}")
    if part not in ("rule", "schema"):
        raise DimensionError("DIMENSION_QUERY", f"expected rule or schema, found {quoted(part)} at part")
    offset, limit = request.get("offset", 0), request.get("limit", limits.RULE_PAGE.default)
    if not is_integer(offset) or offset < 0:
        raise DimensionError("DIMENSION_QUERY", f"expected an integer of 0 or more, found {quoted(offset)} at offset")
    most = limits.RULE_PAGE.default
    if not is_integer(limit) or not 1 <= limit <= most:
        raise DimensionError("DIMENSION_QUERY", f"expected an integer of 1 to {most}, found {quoted(limit)} at limit")
    seen = receipt.read_versions.get(key, record.version)
    if seen != record.version:
        message = f"{VERSION_CONFLICT}: {quoted(key)} was read at version {seen} and is at {record.version}: retry"
        raise DimensionError(VERSION_CONFLICT, message, {"currentVersions": {key: record.version}})
    definition = receipt.definitions.get(key, record.definition)
    page = rule_page(definition, str(part), int(offset), int(limit), state.locale)
    return {"id": key, "version": record.version, **page}


def describe(state: State) -> dict[str, Any]:
    """What a session's header shows of its dimensions."""
    if state.provider is None:
        return {"worldId": None, "pending": 0}
    pending = sum(receipt.pending for receipt in state.receipts.values())
    return {"worldId": state.world_id, "provider": state.provider, "locale": state.locale, "pending": pending}
