"""Properties of the kernel and the statistics of its draws (spec/worldkernel.md §5, §3.5, §00.5)."""

from __future__ import annotations

import copy
import json
import math
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.world.canon import Canon
from runtime.world.channels import is_guarded
from runtime.world.dice import FNV, SHA, derive_u
from runtime.world.fold import apply_event, fold
from runtime.world.kernel import TurnResult, WorldKernel
from runtime.world.pointers import State
from tests.world.support import canon, opened

PLACES: dict[str, dict[str, Any]] = {
    "brook.mill": {"edges": {"brook.ford": {"beats": 3}, "brook.hill": {"beats": 1, "need": "mobility>=1"}}},
    "brook.ford": {"edges": {"brook.mill": {"beats": 1}}},
}
WORLD = canon(places=PLACES, bounds={"pressure": [0, 1]})
KERNEL = WorldKernel(WORLD)

_PARTS = ("facts", "characters", "ada", "bel", "cyr", "rank", "pressure", "house", "scene", "present", "clock", "beat")
_SEGMENT = st.sampled_from(
    (*_PARTS, "last_contest", "__check_ordinal", "rng_seed", "turn", "revealed", "", "0", "*", "x")
)
_POINTER = st.one_of(
    st.lists(_SEGMENT, min_size=0, max_size=5).map(".".join),
    st.sampled_from(("characters.{who}.rank", "{who}.rank", "facts.note", "characters.ada", "present", ".scene")),
    st.text(max_size=12),
)
_VALUE = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(("+1", "-1", "+ada", "-cyr", "brook.ford"))
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_PARTS), inner, max_size=3)),
    max_leaves=6,
)
_WHO = st.sampled_from(("ada", "bel", "cyr", "ghost"))
_PROPOSAL = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(("fact", "correct")), "pointer": _POINTER, "value": _VALUE}),
    st.fixed_dictionaries(
        {
            "type": st.just("check"),
            "checkId": st.just("travel"),
            "actors": st.dictionaries(st.sampled_from(("who", "facts")), _WHO, max_size=2),
            "patch": st.dictionaries(_POINTER, _VALUE, max_size=3),
        }
    ),
)
_ACT = st.one_of(
    _PROPOSAL,
    st.fixed_dictionaries(
        {
            "type": st.just("check"),
            "checkId": st.sampled_from(("contest", "steady", "travel", "none")),
            "actors": st.dictionaries(st.sampled_from(("attacker", "defender", "actor")), _WHO, max_size=3),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("gm"),
            "patch": st.dictionaries(_POINTER, _VALUE, max_size=3),
            "reason": st.sampled_from(("", "table")),
        }
    ),
    st.fixed_dictionaries({"type": st.just("look"), "pointer": _POINTER}),
)


def guarded_values(chosen: Canon, state: State) -> dict[str, Any]:
    """Every guarded leaf of a State with its value, and what else only rules move."""
    found: dict[str, Any] = {"rng_seed": state["rng_seed"], "present": state["present"]}
    stack: list[tuple[tuple[str, ...], Any]] = [((), state)]
    while stack:
        path, node = stack.pop()
        if path and is_guarded(chosen.guards, path):
            found[".".join(path)] = node
        elif isinstance(node, dict):
            stack.extend(((*path, key), child) for key, child in node.items())
    return found


@settings(max_examples=120, deadline=None)
@given(st.lists(_PROPOSAL, max_size=12))
def test_no_proposal_moves_a_guarded_value(proposals: list[dict[str, Any]]) -> None:
    state = opened(WORLD)
    for proposal in proposals:
        before = guarded_values(WORLD, state)
        result = KERNEL.turn(state, proposal)
        after = guarded_values(WORLD, result.state)
        for values in (before, after):
            values.pop("facts.__check_ordinal", None)
        if result.ok and proposal["type"] == "check" and after["scene"] != before["scene"]:
            edge = PLACES[before["scene"]]["edges"][after["scene"]]
            assert after["clock.beat"] - before["clock.beat"] == edge["beats"]
            for values in (before, after):
                values.pop("scene")
                values.pop("clock.beat")
        assert after == before
        state = result.state


def played(acts: list[dict[str, Any]], state: State) -> list[TurnResult]:
    results = []
    for act in acts:
        results.append(KERNEL.turn(state, act))
        state = results[-1].state
    return results


@settings(max_examples=80, deadline=None)
@given(st.lists(_ACT, max_size=10), st.integers(0, 10))
def test_replay_equals_live_also_after_an_export_in_the_middle(acts: list[dict[str, Any]], middle: int) -> None:
    opening = opened(WORLD, recipe=SHA)
    kept = copy.deepcopy(opening)
    live = played(acts, opening)
    assert opening == kept
    assert [result.to_json() for result in played(acts, opening)] == [result.to_json() for result in live]
    events = [event for result in live for event in result.events]
    final = live[-1].state if live else opening
    stored = json.loads(json.dumps({"opening": opening, "events": events}))
    assert fold(stored["opening"], stored["events"]) == final
    cut = min(middle, len(acts))
    state = json.loads(json.dumps(live[cut - 1].state if cut else opening))
    rest = played(acts[cut:], state)
    assert (rest[-1].state if rest else state) == final


@settings(max_examples=60, deadline=None)
@given(st.lists(_ACT, min_size=1, max_size=8))
def test_a_refusal_changes_nothing_and_an_accepted_act_raises_the_turn(acts: list[dict[str, Any]]) -> None:
    state = opened(WORLD)
    for result in played(acts, state):
        if result.ok and result.events:
            assert result.state["turn"] == state["turn"] + 1
            assert len(result.events) == 1
        else:
            assert result.state is state
        state = result.state


@settings(max_examples=60, deadline=None)
@given(st.lists(_ACT, max_size=6), st.lists(_ACT, max_size=4), _WHO)
def test_a_retried_check_gives_the_same_draw(
    before: list[dict[str, Any]], after: list[dict[str, Any]], who: str
) -> None:
    opening = opened(WORLD, recipe=SHA)
    log = [event for result in played(before, opening) for event in result.events]
    state = fold(opening, log)
    intent = {"type": "check", "checkId": "steady", "actors": {"actor": who}}
    first = KERNEL.turn(state, intent)
    played(after, first.state)
    again = KERNEL.turn(fold(opening, log), intent)
    assert again.receipt == first.receipt


def test_events_of_unknown_type_and_foreign_apply_events() -> None:
    state = opened(WORLD)
    assert apply_event(state, {"type": "weather"}) is state
    moved = apply_event(state, {"type": "apply", "patch": {"facts.a": 1, "characters.ada.pressure": "+0.2"}})
    assert (moved["facts"]["a"], moved["characters"]["ada"]["pressure"], moved["turn"]) == (1, 0.3, 0)
    staged = apply_event(state, {"type": "stage", "ids": ["bel"], "resolved": {"present": ["ada", "cyr", "bel"]}})
    assert (staged["present"], staged["turn"]) == (["ada", "cyr", "bel"], 0)


def test_an_edited_pack_does_not_change_history() -> None:
    state = opened(WORLD)
    result = KERNEL.turn(state, {"type": "gm", "patch": {"characters.ada.pressure": "+0.3"}, "reason": "x"})
    # The log alone decides; no Canon is asked.
    assert fold(state, result.events) == result.state


SEEDS, CHECKS, ORDINALS = 1000, 20, 50
BINS = 1000


def test_draws_of_the_second_recipe_are_uniform_and_serially_independent() -> None:
    """10^6 triples: chi-square over 1000 bins, and over 30 x 30 pairs of successive ordinals, within six sigma."""
    counts = [0] * BINS
    width = 30
    pairs = [0] * (width * width)
    total = products = 0.0
    number = steps = 0
    for seed in range(SEEDS):
        for check in range(CHECKS):
            last = -1.0
            for ordinal in range(ORDINALS):
                u = derive_u(SHA, f"{seed:032x}", f"check-{check}", ordinal)
                counts[int(u * BINS)] += 1
                number += 1
                total += u
                if last >= 0:
                    pairs[int(last * width) * width + int(u * width)] += 1
                    products += (last - 0.5) * (u - 0.5)
                    steps += 1
                last = u
    assert number == 10**6
    for observed, size in ((counts, number), (pairs, steps)):
        expected = size / len(observed)
        chi = sum((count - expected) ** 2 for count in observed) / expected
        freedom = len(observed) - 1
        assert abs(chi - freedom) < 6 * math.sqrt(2 * freedom)
    assert abs(total / number - 0.5) < 6 * math.sqrt(1 / 12 / number)
    assert abs(products / steps * 12) < 6 / math.sqrt(steps)


def steps_to_the_next(recipe: str, count: int = 5000) -> float:
    """How often the step from one draw to the next, modulo one, is the single most common one (in 1000 bins)."""
    source = random.Random(7)
    bins: dict[int, int] = {}
    for _ in range(count):
        seed = f"{source.getrandbits(128):032x}"
        step = (derive_u(recipe, seed, "run", 1) - derive_u(recipe, seed, "run", 0)) % 1.0
        bins[int(step * 1000)] = bins.get(int(step * 1000), 0) + 1
    return sum(sorted(bins.values())[-2:]) / count


def test_one_draw_says_nothing_about_the_next_but_in_the_first_recipe() -> None:
    assert steps_to_the_next(FNV) > 0.9
    assert steps_to_the_next(SHA) < 0.02
