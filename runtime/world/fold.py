"""Folding events into a State: resolved patches are applied, nothing is judged again (§00.1, §5).

So an edited pack never changes history, and replay equals what was shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtime.world.kernel import count_check
from runtime.world.patching import apply_patch, apply_resolved
from runtime.world.pointers import State, is_number

TURNS: frozenset[str] = frozenset({"check", "fact", "correct", "gm"})


def apply_event(state: State, event: Mapping[str, Any]) -> State:
    """The State after one event. An event of an unknown type changes nothing."""
    kind = event.get("type")
    if kind not in TURNS and kind not in ("apply", "stage"):
        return state
    resolved = event.get("resolved")
    if isinstance(resolved, Mapping):
        state = apply_resolved(state, resolved)
    elif isinstance(event.get("patch"), Mapping):
        # Only an event written by another program lacks the resolved patch.
        state = apply_patch(state, event["patch"]).state
    if kind == "check":
        state = count_check(state)
    if kind in TURNS:
        turn = state.get("turn", 0)
        state = {**state, "turn": (int(turn) if is_number(turn) else 0) + 1}
    return state


def fold(opening: State, events: Iterable[Mapping[str, Any]]) -> State:
    """The State after all events, from the opening or from a snapshot."""
    state = opening
    for event in events:
        state = apply_event(state, event)
    return state
