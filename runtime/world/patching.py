"""Patches: binding slots, and applying authored text to a State (§3.6).

Applying yields two things: the new State and the *resolved* patch (pointer to final value), which is what an event
stores and what fold applies, so that history never has to be judged again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.world.channels import covers
from runtime.world.pointers import MISSING, PointerError, Segments, State, bind_text, is_number, read, tidy, write

Patch = dict[str, Any]

_DELTA = re.compile(r"[+-][0-9]+(?:\.[0-9]+)?\Z", re.ASCII)
_DECIMALS = 10_000


@dataclass(frozen=True, slots=True)
class Bound:
    """The range that a delta on a pattern may end in; ``None`` is open."""

    pattern: Segments
    low: float | None
    high: float | None


Bounds = tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """A patched State and the resolved patch."""

    state: State
    resolved: Patch


def is_delta(value: Any) -> bool:
    """Whether a value is a relative number such as ``+0.05`` (text: sign, digits, optional fraction)."""
    return isinstance(value, str) and _DELTA.match(value) is not None


def bind_patch(patch: Mapping[str, Any], actors: dict[str, str]) -> Patch:
    """Fill slots in keys, in text values and inside lists; not inside objects. A later equal key wins (§3.6)."""
    return {bind_text(key, actors): _bound(value, actors) for key, value in patch.items()}


def _bound(value: Any, actors: dict[str, str]) -> Any:
    if isinstance(value, str):
        return bind_text(value, actors)
    if isinstance(value, list):  # depth is bounded by the limits on packs and values
        return [_bound(item, actors) for item in value]
    return value


def add_delta(base: Any, delta: str) -> int | float:
    """A delta on a current value: no number counts as 0, four decimals, half rounds up (§1.7)."""
    total = (float(base) if is_number(base) else 0.0) + float(delta)
    scaled = total * _DECIMALS
    if not math.isfinite(scaled):
        raise PointerError(f"expected a number of ordinary size, found {delta} on {base}")
    return tidy(math.floor(scaled + 0.5) / _DECIMALS)


def change_stage(stage: list[str], value: Any) -> list[str]:
    """The stage after ``present`` was written: ``+id``, ``-id``, one id, or a list of ids; else unchanged."""
    if isinstance(value, list):
        return list(value) if all(isinstance(item, str) for item in value) else stage
    if not isinstance(value, str) or not value.strip():
        return stage
    text = value.strip()
    if text.startswith("-"):
        return [actor for actor in stage if actor != text[1:]]
    if text.startswith("+"):
        return stage if text[1:] in stage else [*stage, text[1:]]
    return [text]


def apply_patch(state: State, patch: Mapping[str, Any], bounds: Bounds = ()) -> Applied:
    """Apply a bound patch in order. Raises ``PointerError`` for a pointer that cannot be written."""
    resolved: Patch = {}
    for pointer, value in patch.items():
        segments = tuple(pointer.split("."))
        final = _final(state, segments, value, bounds)
        state = write(state, segments, final)
        resolved[pointer] = final
    fault = shape_fault(state)
    if fault is not None:
        raise PointerError(fault)
    return Applied(state, resolved)


def _final(state: State, segments: Segments, value: Any, bounds: Bounds) -> Any:
    if segments == ("present",):
        return change_stage(state["present"], value)
    if not is_delta(value):
        return value
    current = read(state, segments)
    number = add_delta(None if current is MISSING else current, value)
    for bound in bounds:
        if len(bound.pattern) == len(segments) and covers(bound.pattern, segments):
            if bound.low is not None and number < bound.low:
                number = tidy(bound.low)
            if bound.high is not None and number > bound.high:
                number = tidy(bound.high)
    return number


def apply_resolved(state: State, resolved: Mapping[str, Any]) -> State:
    """Write final values; nothing is judged."""
    for pointer, value in resolved.items():
        state = write(state, tuple(pointer.split(".")), value)
    return state


def shape_fault(state: State) -> str | None:
    """What is wrong with a State's shape, if anything; the engine reads these fields without asking again."""
    for key in ("characters", "facts"):
        if not isinstance(state.get(key), dict):
            return f"expected an object, found {type(state.get(key)).__name__} at {key}"
    for key in ("present", "revealed"):
        value = state.get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return f"expected a list of texts at {key}"
    for name, character in state["characters"].items():
        if not isinstance(character, dict):
            return f"expected an object, found {type(character).__name__} at characters.{name}"
    if not isinstance(state.get("scene"), str):
        return "expected the id of a scene at scene"
    clock = state.get("clock", {})
    if not isinstance(clock, dict) or ("beat" in clock and not is_number(clock["beat"])):
        return "expected an object with a number 'beat' at clock"
    ordinal = state["facts"].get("__check_ordinal", 0)
    if not is_number(ordinal) or ordinal < 0 or ordinal != int(ordinal):
        return "expected a whole number from 0 at facts.__check_ordinal"
    return None
