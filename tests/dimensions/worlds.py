"""The worlds that the tests play in."""

from __future__ import annotations

from typing import Any

from runtime.dimensions.binding import World, bind
from runtime.dimensions.domain import register_narrative
from runtime.dimensions.settlement import Receipt
from runtime.dimensions.state import State

Definition = dict[str, Any]

MINUTES: Definition = {
    "type": "integer",
    "minimum": 0,
    "maximum": 180,
    "x-derive": {"source": "clock.elapsedSinceStart", "start": 180, "perUnit": -1, "min": 0, "max": 180},
}
STAGE: Definition = {
    "type": "string",
    "enum": ["distant", "approaching", "imminent", "overhead"],
    "x-derive": {
        "source": "clock.elapsedSinceStart",
        "start": 180,
        "perUnit": -1,
        "min": 0,
        "ranges": [
            {"from": 121, "value": "distant"},
            {"from": 31, "value": "approaching"},
            {"from": 1, "value": "imminent"},
            {"value": "overhead"},
        ],
    },
}
STORM_SCHEMA: Definition = {
    "type": "object",
    "properties": {"minutesRemaining": MINUTES, "stage": STAGE, "frontPassed": {"type": "boolean"}},
    "required": ["minutesRemaining", "stage", "frontPassed"],
    "additionalProperties": False,
}
STORM: Definition = {
    "name": "Storm front",
    "schema": STORM_SCHEMA,
    "initialValue": {"minutesRemaining": 180, "stage": "distant", "frontPassed": False},
    "updateRule": "Set frontPassed once the narrative says that the front has moved on.",
}
STUDY: Definition = {
    "name": {"en-US": "Study", "zh-CN": "学习进度"},
    "schema": {"type": "integer", "minimum": 0, "maximum": 100},
    "initialValue": 0,
    "updateRule": "Add one for each finished lesson.",
}
WALL: Definition = {
    "name": "City wall",
    "schema": {"type": "integer", "minimum": 0, "maximum": 100},
    "initialValue": 100,
}
HARBOUR: Definition = {
    "name": "Harbour",
    "schema": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": True},
    "initialValue": {"name": "North quay"},
}
BOARD: Definition = {
    "name": "Notice board",
    "schema": {"type": "object", "additionalProperties": {"type": "object"}},
    "initialValue": {"pier/7": {"note": "old"}, "tower": {"note": "dim"}},
    "updateRule": "Keep the notes as the narrative pins them.",
}
MINUTE_CLOCK: Definition = {
    "kind": "calendar",
    "calendar": {
        "era": "Reed",
        "months": [{"name": "Thaw", "days": 30}, {"name": "Reap", "days": 30}],
        "hoursPerDay": 24,
        "minutesPerHour": 60,
    },
    "initial": {"year": 1, "month": 1, "day": 1, "hour": 8, "minute": 0},
    "evolution": {"mode": "bidirectional", "defaultStep": 10, "maxStep": 10_000},
}


def world(
    definitions: dict[str, Definition], *, clock: Definition | None = MINUTE_CLOCK, locale: str = "en-US"
) -> World:
    """A world of these dimensions."""
    return World("reed", definitions, locale, clock)


def session(
    definitions: dict[str, Definition], *, clock: Definition | None = MINUTE_CLOCK, locale: str = "en-US"
) -> State:
    """A freshly bound session."""
    return bind(State(), world(definitions, clock=clock, locale=locale)).state.clean()


def told(state: State, number: int = 1) -> State:
    """The state after narrative ``number`` was committed."""
    return register_narrative(state, f"tale-{number}", f"turn-{number}").state


def receipt(state: State, number: int = 1) -> Receipt:
    """The receipt of narrative ``number``."""
    return state.receipts[f"tale-{number}"]


def held(state: State, key: str) -> tuple[Any, int]:
    """Value and version of a record."""
    record = state.records[key]
    return record.value, record.version


def storm(minutes: int, stage: str, passed: bool = False) -> dict[str, Any]:
    """A value of the storm."""
    return {"minutesRemaining": minutes, "stage": stage, "frontPassed": passed}


PHASES: Definition = {
    "kind": "phases",
    "phases": ["dawn", "day", "dusk"],
    "cycleLabel": "Day",
    "initial": {"cycle": 0, "phase": 0},
    "evolution": {"mode": "bidirectional", "defaultStep": 1, "maxStep": 9},
}
