"""Every way in that the original left open (spec/worldkernel.md §4.3) is closed, in all three channels."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world.support import A_VS_C, canon, check, opened, turn

BROOK = canon(places={"brook.mill": {"edges": {"brook.ford": {"beats": 2}}}})

# (hole of §4.3, pointer, value): accepted by the original, each changes something that only rules may move.
FACTS: tuple[tuple[int, str, Any], ...] = (
    (2, "characters.ada", {"rank": 1}),
    (2, "characters", {}),
    (2, "clock", {"beat": 99}),
    (2, "facts", {}),
    (3, ".scene", "brook.ford"),
    (3, "characters..ada.rank", 1),
    (3, "characters.ada..rank", 1),
    (3, "characters.ada.rank.", 1),
    (3, "scene.", "brook.ford"),
    (4, "rng_seed", "lucky"),
    (4, "turn", 0),
    (4, "recipe", "fnv1a-v1"),
    (4, "weather", "fog"),
    (4, "facts.__check_ordinal", 0),
    (4, "facts.__private", 0),
    (4, "facts.a.__b", 0),
    (5, "", 1),
    (5, ".", 1),
    (0, "characters.ada.rank", 1),
    (0, "characters.ghost.rank", 1),
    (0, "characters.ada.rank.note", 1),
    (0, "clock.beat", 0),
    (0, "facts.last_contest", "ada"),
    (0, "facts.characters.ada.rank", 1),
    (0, "revealed", "axioms"),
    (0, "revealed.0", 7),
    (0, "revealed.9", "far"),
)


@pytest.mark.parametrize("kind", ["fact", "correct"])
@pytest.mark.parametrize(("hole", "pointer", "value"), FACTS)
def test_facts_cannot_reach_what_rules_move(kind: str, hole: int, pointer: str, value: object) -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, {"type": kind, "pointer": pointer, "value": value})
    assert (result.ok, result.code) == (False, "CHANNEL_VIOLATION"), f"hole {hole}"
    assert result.state is state
    assert result.events == ()
    assert result.receipt == {"kind": "empty"}


@pytest.mark.parametrize(
    ("hole", "pointer", "value"), [row for row in FACTS if row[1] not in ("revealed", "revealed.0")]
)
def test_the_extra_patch_obeys_the_same_rule(hole: int, pointer: str, value: object) -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, check("contest", A_VS_C, patch={pointer: value}), u=0.1)
    assert result.code in ("EXTRA_GUARDED", "CHANNEL_VIOLATION"), f"hole {hole}"
    assert result.state is state


def test_the_extra_patch_is_checked_after_its_slots_are_bound() -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, check("contest", A_VS_C, patch={"characters.{attacker}.rank": 1}), u=0.1)
    assert result.code == "EXTRA_GUARDED"


def test_the_extra_patch_may_note_facts_and_ask_for_a_scene() -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, check("travel", {}, patch={"scene": "brook.ford", "facts.note": "dry"}))
    assert (result.state["scene"], result.state["clock"]["beat"], result.state["facts"]["note"]) == (
        "brook.ford",
        2,
        "dry",
    )


def test_a_requested_scene_is_only_taken_on_success() -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, check("contest", A_VS_C, patch={"scene": "brook.ford"}), u=0.99)
    assert (result.receipt["outcome"], result.state["scene"], result.state["clock"]) == (
        "failure",
        "brook.mill",
        {"beat": 0},
    )


def test_a_closed_way_is_refused_whatever_the_dice_say() -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, check("contest", A_VS_C, patch={"scene": "brook.moon"}), u=0.99)
    assert result.code == "TRAVEL_BLOCKED"


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("present.0", "bel"),
        ("scene.x", "y"),
        ("", 1),
        ("facts..a", 1),
        ("turn", 5),
        ("rng_seed", "x"),
        ("characters", 5),
        ("characters.ada", "x"),
        ("facts", []),
        ("clock", 3),
        ("clock.beat", "soon"),
        ("facts.__check_ordinal", -1),
        ("facts.__check_ordinal", "x"),
        ("facts.list.3", 1),
        ("facts.list.00", 1),
        ("facts.list.name", 1),
    ],
)
def test_a_ruling_cannot_break_the_shape_of_a_state(pointer: str, value: object) -> None:
    state = opened(BROOK)
    state = turn(BROOK, state, {"type": "fact", "pointer": "facts.list", "value": [1, 2]}).state
    result = turn(BROOK, state, {"type": "gm", "patch": {pointer: value}, "reason": "test"})
    assert (result.code, result.state is state) == ("CHANNEL_VIOLATION", True)


def test_a_pack_adds_guards_and_never_removes_built_in_ones() -> None:
    chosen = canon()
    state = opened(chosen)
    for pointer in ("characters.ada.rank", "characters.ada.mobility", "scene", "facts.last_contest"):
        assert turn(chosen, state, {"type": "fact", "pointer": pointer, "value": 1}).code == "CHANNEL_VIOLATION"
    assert turn(chosen, state, {"type": "fact", "pointer": "characters.ada.mood", "value": "calm"}).ok
    assert turn(chosen, state, {"type": "fact", "pointer": "facts.scenery", "value": "grey"}).ok


def test_bounds_clamp_after_a_delta_and_only_then() -> None:
    bounded = canon(bounds={"pressure": [0, 1], "facts.coins": [0, None]})
    state = opened(bounded)
    ruled = turn(
        bounded,
        state,
        {"type": "gm", "patch": {"characters.ada.pressure": "+9", "facts.coins": "-5"}, "reason": "test"},
    )
    assert ruled.state["characters"]["ada"]["pressure"] == 1
    assert ruled.state["facts"]["coins"] == 0
    assert ruled.receipt["resolved"] == {"characters.ada.pressure": 1, "facts.coins": 0}
    absolute = turn(bounded, state, {"type": "gm", "patch": {"characters.ada.pressure": 9}, "reason": "test"})
    assert absolute.state["characters"]["ada"]["pressure"] == 9
    free = canon()
    unbounded = turn(free, opened(free), {"type": "gm", "patch": {"characters.ada.pressure": "+9"}, "reason": "test"})
    assert unbounded.state["characters"]["ada"]["pressure"] == 9.1
