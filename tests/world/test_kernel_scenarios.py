"""Scenarios 1-22 of the world kernel (spec/worldkernel.md §8)."""

from __future__ import annotations

import copy

import pytest

from runtime.world.kernel import WorldKernel
from tests.world.support import A_VS_C, canon, check, document, opened, turn, with_check

BROOK = canon()
EDGE = {"brook.mill": {"edges": {"brook.ford": {"beats": 4, "need": "mobility>=1"}}}}


def test_scenario_001_weaker_attacker_fails() -> None:
    state = opened(BROOK)
    before = copy.deepcopy(state)
    result = turn(BROOK, state, check("contest", A_VS_C), u=0.81)
    assert result.ok
    assert result.receipt["outcome"] == "failure"
    assert result.receipt["p"] == pytest.approx(0.339, abs=0.001)
    assert result.state["characters"]["ada"]["pressure"] == 0.15
    assert result.receipt["resolved"]["characters.ada.pressure"] == 0.15
    assert result.state["facts"]["last_contest"] == "defender"
    assert state == before


def test_scenario_002_look_has_no_events() -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, {"type": "look"})
    assert (result.ok, result.events, result.state) == (True, (), state)


def test_scenario_003_gm_scene_without_places() -> None:
    result = turn(BROOK, opened(BROOK), {"type": "gm", "patch": {"scene": "brook.ford"}, "reason": "walk"})
    assert result.state["scene"] == "brook.ford"


def test_scenario_004_edge_with_beats_and_need() -> None:
    gated = canon(places=EDGE)
    state = opened(gated)
    go = check("travel", {}, patch={"scene": "brook.ford"})
    blocked = turn(gated, state, go)
    assert (blocked.code, blocked.state["scene"]) == ("TRAVEL_BLOCKED", "brook.mill")
    trained = turn(gated, state, {"type": "gm", "patch": {"characters.ada.mobility": 1}, "reason": "trained"}).state
    result = turn(gated, trained, go)
    assert (result.state["scene"], trained["clock"]["beat"], result.state["clock"]["beat"]) == ("brook.ford", 0, 4)


def test_scenario_005_stage_only_by_rules() -> None:
    state = opened(BROOK)
    assert turn(BROOK, state, {"type": "fact", "pointer": "present", "value": []}).code == "CHANNEL_VIOLATION"
    result = turn(BROOK, state, check("contest", A_VS_C), u=0.81)
    assert result.state["present"] == ["ada"]


@pytest.mark.parametrize("pointer", ["present.0", "present.1"])
def test_scenario_006_stage_places(pointer: str) -> None:
    result = turn(BROOK, opened(BROOK), {"type": "fact", "pointer": pointer, "value": "bel"})
    assert result.code == "CHANNEL_VIOLATION"


@pytest.mark.parametrize("pointer", ["present", "present.0"])
def test_scenario_007_extra_stage(pointer: str) -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, check("contest", A_VS_C, patch={pointer: "-ada"}), u=0.1)
    assert (result.code, result.state, result.events) == ("EXTRA_GUARDED", state, ())


def test_scenario_008_fact_scene() -> None:
    result = turn(BROOK, opened(BROOK), {"type": "fact", "pointer": "scene", "value": "brook.ford"})
    assert result.code == "CHANNEL_VIOLATION"


def test_scenario_009_fact_on_pressure() -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, {"type": "fact", "pointer": "characters.ada.pressure", "value": 0})
    assert (result.code, result.events, result.state) == ("CHANNEL_VIOLATION", (), state)


def test_scenario_010_explicit_contest_off_stage() -> None:
    result = turn(BROOK, opened(BROOK), check("contest", {"attacker": "ada", "defender": "bel"}))
    assert result.code == "INVALID_CONDITION"


def test_scenario_011_contest_never_collapses() -> None:
    lone = canon(opening={"present": ["ada"], "roster": ["bel", "cyr"]})
    state = opened(lone)
    assert WorldKernel(lone).match(state, ["contest"], {"attacker": "ada"}) == []
    assert turn(lone, state, check("contest", {"attacker": "ada"})).code == "INVALID_CONDITION"


def test_scenario_012_explicit_check_needs_no_tag() -> None:
    assert turn(BROOK, opened(BROOK), check("steady", {"actor": "ada"}), u=0.1).ok


def test_scenario_013_forced_check_runs() -> None:
    state = opened(BROOK)
    hits = WorldKernel(BROOK).match(state, ["contest"], A_VS_C)
    assert [hit.to_json() for hit in hits] == [{"checkId": "contest", "actors": A_VS_C}]
    result = turn(BROOK, state, check(hits[0].check_id, hits[0].actors))
    assert [event["type"] for event in result.events] == ["check"]


def test_scenario_014_gm_without_reason() -> None:
    result = turn(BROOK, opened(BROOK), {"type": "gm", "patch": {"facts.a": 1}, "reason": ""})
    assert result.code == "MISSING_REASON"


def test_scenario_015_same_seed_same_draw() -> None:
    results = [turn(BROOK, opened(BROOK), check("contest", A_VS_C)) for _ in range(2)]
    assert results[0].receipt == results[1].receipt


def test_scenario_016_fact_weather() -> None:
    result = turn(BROOK, opened(BROOK), {"type": "fact", "pointer": "facts.weather", "value": "fog"})
    assert result.state["facts"]["weather"] == "fog"
    assert [event["type"] for event in result.events] == ["fact"]


def test_scenario_017_clones_of_guarded_roots() -> None:
    state = opened(BROOK)
    for name in ("scene", "present", "clock"):
        refused = turn(BROOK, state, {"type": "fact", "pointer": f"facts.{name}", "value": "x"})
        assert refused.code == "CHANNEL_VIOLATION"
        assert name not in refused.state["facts"]
    assert turn(BROOK, state, {"type": "fact", "pointer": "facts.weather", "value": "rain"}).ok


def test_scenario_018_unknown_check() -> None:
    assert turn(BROOK, opened(BROOK), check("juggle")).code == "UNKNOWN_CHECK"


def test_scenario_019_lore() -> None:
    state = opened(BROOK)
    result = turn(BROOK, state, {"type": "lore", "key": "axioms"})
    assert (result.receipt["body"], result.events, result.state) == ("Water runs down.", (), state)


def test_scenario_020_a_fact_does_not_change_the_draw() -> None:
    state = opened(BROOK)
    direct = turn(BROOK, state, check("contest", A_VS_C)).receipt["xi"]
    noted = turn(BROOK, state, {"type": "fact", "pointer": "facts.note", "value": "x"}).state
    assert turn(BROOK, noted, check("contest", A_VS_C)).receipt["xi"] == direct


def test_scenario_021_formula_of_three_parts() -> None:
    # 0.35 + 0.2 x 0.25 + 0.1 x 0.3 = 0.43
    asked = with_check(
        {
            "id": "see",
            "kind": "insight",
            "inputs": {"insight": "facts.insight", "light": "facts.light"},
            "formula": "p = clamp(0.35 + 0.25 * insight + 0.3 * light)",
            "outcomes": {},
        },
        opening={"present": ["ada"], "facts": {"insight": 0.2, "light": 0.1}},
    )
    assert turn(asked, opened(asked), check("see")).receipt["p"] == pytest.approx(0.43)


def test_scenario_022_lore_over_budget() -> None:
    short = canon(loreBudgetChars=8)
    assert turn(short, opened(short), {"type": "lore", "key": "axioms"}).code == "BUDGET"
    assert document()["lore"]["axioms"]["body"] == "Water runs down."
