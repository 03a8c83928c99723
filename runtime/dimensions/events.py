"""Notifications of stored changes, and what a client does with them (``spec/dimensions.md`` §9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.dimensions.records import Record
from runtime.dimensions.settlement import Receipt
from runtime.dimensions.state import State
from runtime.dimensions.values import is_integer, same


@dataclass(frozen=True, slots=True)
class Event:
    """One notification; it is sent only after its transaction is stored."""

    type: str
    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The form on the stream."""
        return {"type": self.type, "data": dict(self.data)}


def settlement_event(state: State, receipt: Receipt) -> Event:
    """A receipt's state: at registration, at each failed attempt, at an end without a public change."""
    return Event("dimensions.settlement.changed", {"providerPluginId": state.provider, **receipt.summary()})


def change_events(
    state: State, changed: Mapping[str, Record], before: State, receipt: Receipt | None = None
) -> tuple[Event, ...]:
    """The public values that changed; a finished receipt rides along, or speaks for itself."""
    public = {key: record for key, record in changed.items() if _public_change(before.records.get(key), record)}
    if not public:
        return () if receipt is None else (settlement_event(state, receipt),)
    data: dict[str, Any] = {
        "providerPluginId": state.provider,
        "dimensions": {key: record.public() for key, record in public.items()},
    }
    if receipt is not None:
        data["settlement"] = receipt.summary()
    return (Event("dimensions.changed", data),)


def _public_change(old: Record | None, new: Record) -> bool:
    return old is None or old.version != new.version or not same(old.definition, new.definition)


def merge(view: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A client's view after some events: other providers, older versions and unreadable payloads change nothing."""
    dimensions = dict(view["dimensions"])
    settlements = {item["source"]["resultId"]: item for item in view["dimensionSettlements"]}
    for event in events:
        data = event.get("data")
        if not isinstance(data, Mapping) or data.get("providerPluginId") != view["dimensionProviderPluginId"]:
            continue
        if event.get("type") == "dimensions.changed" and isinstance(data.get("dimensions"), Mapping):
            for key, entry in data["dimensions"].items():
                if _newer(entry, dimensions.get(key)):
                    dimensions[key] = entry
            summary = data.get("settlement")
        else:
            summary = {key: part for key, part in data.items() if key != "providerPluginId"}
        _merge_summary(settlements, summary)
    return {**view, "dimensions": dimensions, "dimensionSettlements": list(settlements.values())}


def _newer(entry: Any, known: Any) -> bool:
    if not isinstance(entry, Mapping) or not is_integer(entry.get("version")):
        return False
    return known is None or entry["version"] > known["version"]


def _merge_summary(settlements: dict[str, Any], summary: Any) -> None:
    source = summary.get("source") if isinstance(summary, Mapping) else None
    key = source.get("resultId") if isinstance(source, Mapping) else None
    if isinstance(key, str) and _newer(summary, settlements.get(key)):
        settlements[key] = summary
