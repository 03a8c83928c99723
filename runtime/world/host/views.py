"""What a role may see (§00.2): no seed, no engine facts in play; draws only when the pack reveals them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.world.canon import Canon
from runtime.world.host.tools import PLAY
from runtime.world.pointers import State

FULL = "full"
OUTCOME = "outcome"
_HIDDEN_ROOTS = ("rng_seed",)
_DICE = ("p", "xi", "notes")


def reveal_of(canon: Canon, role: str) -> str:
    """How much of the dice a role sees: authors everything, players what the pack says."""
    return canon.reveal if role == PLAY else FULL


def state_view(state: State, role: str) -> State:
    """The State as a role may see it."""
    if role != PLAY:
        return state
    view = {key: value for key, value in state.items() if key not in _HIDDEN_ROOTS}
    return {**view, "facts": _facts_view(state["facts"])}


def _facts_view(facts: Any) -> Any:
    if not isinstance(facts, dict):
        return facts
    return {key: value for key, value in facts.items() if not key.startswith("__")}


def record_view(record: Mapping[str, Any], role: str, reveal: str) -> dict[str, Any]:
    """A receipt or an event as a role may see it."""
    body = dict(record)
    if role == PLAY:
        for name in ("patch", "resolved"):
            if isinstance(body.get(name), dict):
                body[name] = _patch_view(body[name])
    if reveal == OUTCOME and "outcome" in body:
        for name in _DICE:
            body.pop(name, None)
        if isinstance(body.get("inputs"), dict):
            body["inputs"] = {key: value for key, value in body["inputs"].items() if key != "p"}
    return body


def _patch_view(patch: dict[str, Any]) -> dict[str, Any]:
    return {
        pointer: _facts_view(value) if pointer == "facts" else value
        for pointer, value in patch.items()
        if pointer.split(".")[0] not in _HIDDEN_ROOTS and not pointer.startswith("facts.__")
    }
