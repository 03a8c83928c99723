"""Scenarios 39-44 on the two example packs (spec/worldkernel.md §8, §00.10)."""

from __future__ import annotations

import pytest

from runtime.world.fold import fold
from runtime.world.host import Answer, Line
from runtime.world.host.act import run_command_text, run_intent, run_tool
from runtime.world.host.message import MessageRun, run_message
from runtime.world.pack.load import load_pack
from tests.world.support import CLOCKHOUSE, FERRY, canon_of, check, files_of, line_of

HERO_AGAINST_THIEF = {"attacker": "shenyan", "defender": "ruansangeng"}


def does(line: Line, answer: Answer) -> Line:
    assert answer.body["ok"], answer.body
    return line.after(answer.events)


def says(line: Line, text: str, u: float | None = None) -> tuple[Line, MessageRun]:
    run = run_message(line, text, u=u)
    return line.after(run.events), run


def back(line: Line, command: str) -> Line:
    fork = run_command_text(line, command).fork
    assert fork is not None
    kept = line.events[: fork.index]
    return Line(fork.session_id, line.canon, line.role, line.opening, kept, fold(line.opening, kept))


def test_scenario_039_the_clockhouse_opens_and_the_weaker_hand_fails() -> None:
    line = line_of(canon_of(CLOCKHOUSE))
    assert line.state["revealed"] == ["axioms", "wuqiao"]
    line, run = says(line, "沈砚伸手去抢回钟舌，阮三更不让。", 0.81)
    receipt = run.forced[0].receipt
    assert run.staged == ["ruansangeng"]
    assert receipt is not None
    assert (receipt["outcome"], receipt["p"] < 0.5) == ("failure", True)
    assert line.state["characters"]["shenyan"]["echo"] > 0


def test_scenario_040_the_commission_from_end_to_end() -> None:
    line = line_of(canon_of(CLOCKHOUSE))
    assert run_intent(line, {"type": "look"}).events == ()
    line = does(line, run_tool(line, "state_propose_fact", {"pointer": "facts.commission", "value": "accepted"}))
    refused = run_tool(line, "state_propose_fact", {"pointer": "characters.shenyan.rank", "value": 1})
    assert refused.body["code"] == "CHANNEL_VIOLATION"
    before = line.state
    line, run = says(line, "动手，把钟舌从阮三更手里夺下来", 0.81)
    assert [(forced.check_id, forced.status, forced.actors) for forced in run.forced] == [
        ("contest", "ran", HERO_AGAINST_THIEF)
    ]
    line = does(line, run_tool(line, "check_propose", {"checkId": "attune", "actors": {"listener": "shenyan"}}, u=0.1))
    assert line.state["characters"]["shenyan"]["attune"] == 0.15
    line = back(line, "/retry contest")
    assert line.state["facts"]["commission"] == "accepted"
    assert line.state["characters"]["shenyan"]["echo"] == 0
    assert line.state["characters"] == before["characters"]


def test_scenario_040_an_edited_formula_is_for_new_sessions_only() -> None:
    old = line_of(canon_of(CLOCKHOUSE))
    files = files_of(CLOCKHOUSE)
    text = files["checks/contest.yaml"]
    start = text.index("formula: |")
    files["checks/contest.yaml"] = text[:start] + "formula: p = 0.01\n" + text[text.index("outcomes:") :]
    edited = load_pack(files)
    assert edited.ok
    assert edited.canon is not None
    chances = []
    for line in (old, line_of(edited.canon)):
        line, _ = says(line, "阮三更来了")
        chances.append(run_intent(line, check("contest", HERO_AGAINST_THIEF), u=0.5).body["receipt"]["p"])
    assert chances == [pytest.approx(0.339, abs=0.001), 0.01]


def test_scenario_041_the_ferry_opens_with_the_hero_alone() -> None:
    line = line_of(canon_of(FERRY))
    assert line.state["present"] == ["wren"]
    assert set(line.state["characters"]) == {"wren", "magda", "osk", "pip", "harrow", "ines", "tam"}
    line = does(line, run_tool(line, "state_propose_fact", {"pointer": "facts.commission", "value": "accepted"}))
    _, nobody = says(line, "I stand against whatever comes.")
    assert (nobody.forced, nobody.events) == ([], ())
    lost, run = says(line, "I bar the way and grapple with Harrow.", 0.81)
    assert run.forced[0].receipt is not None
    assert (run.forced[0].receipt["outcome"], lost.state["present"]) == ("failure", ["wren", "harrow"])
    won, run = says(line, "I bar the way and grapple with Harrow.", 0.0)
    assert run.forced[0].receipt is not None
    assert (run.forced[0].receipt["outcome"], won.state["present"]) == ("success", ["wren"])
    tired = does(won, run_tool(won, "check_propose", {"checkId": "cost", "actors": {"bearer": "wren"}}, u=0.9))
    assert back(tired, "/retry").state["facts"]["commission"] == "accepted"


@pytest.mark.parametrize("pointer", ["present", "present.0"])
def test_scenario_042_extra_stage_through_the_tool(pointer: str) -> None:
    line = line_of(canon_of(FERRY))
    call = {"checkId": "travel", "actors": {}, "patch": {pointer: "+harrow"}}
    answer = run_tool(line, "check_propose", call)
    assert (answer.body["code"], answer.events) == ("EXTRA_GUARDED", ())


def test_scenario_043_travel_by_check() -> None:
    line = line_of(canon_of(FERRY))
    gone = does(line, run_tool(line, "check_propose", {"checkId": "travel", "patch": {"scene": "ferry.lighthouse"}}))
    assert (gone.state["scene"], gone.state["clock"]) == ("ferry.lighthouse", {"beat": 2})
    lost = run_tool(line, "check_propose", {"checkId": "travel", "patch": {"scene": "ferry.moon"}})
    assert (lost.body["code"], line.state["scene"]) == ("TRAVEL_BLOCKED", "ferry.landing")


def test_scenario_043_the_night_closes_the_chapel() -> None:
    line = line_of(canon_of(FERRY))
    dark = does(line, run_tool(line, "state_propose_fact", {"pointer": "facts.watch", "value": "dark"}))
    answer = run_tool(dark, "check_propose", {"checkId": "travel", "patch": {"scene": "ferry.saltchapel"}})
    assert answer.body["code"] == "TRAVEL_BLOCKED"


def test_scenario_044_insight() -> None:
    line = line_of(canon_of(FERRY))
    line, run = says(line, "I examine the footprints.", 0.1)
    receipt = run.forced[0].receipt
    assert receipt is not None
    assert (receipt["p"] > 0.3, receipt["outcome"]) == (True, "success")
    assert line.state["facts"]["truth_known"] is True


@pytest.mark.parametrize("path", [CLOCKHOUSE, FERRY])
def test_every_check_of_an_example_can_be_reached_and_run(path: object) -> None:
    assert path in (CLOCKHOUSE, FERRY)
    chosen = canon_of(CLOCKHOUSE if path == CLOCKHOUSE else FERRY)
    everybody = {**chosen.opening, "present": list(chosen.cards)}
    line = line_of(chosen)
    state = {**line.state, "present": list(everybody["present"])}
    for one in chosen.checks.values():
        actors = dict(zip(one.slots, state["present"], strict=False))
        for u in (0.0, 0.999):
            assert line.kernel.turn(state, check(one.id, actors), u=u).ok
