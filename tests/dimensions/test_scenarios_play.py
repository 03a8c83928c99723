"""Scenarios 10-15, 35-49 and 66-73 of ``spec/dimensions.md`` §11: clock, projections, tracker tool, player edits."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from runtime.dimensions import clock as clocks
from runtime.dimensions.clock import MoveRefused, check_clock, move_clock, new_clock, shown
from runtime.dimensions.domain import derived_batch, edit, move, settle_by_tool, try_settlement, update
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.prompts import lower_limits, project, story_prompt, tracker_prompt
from runtime.dimensions.tool import ToolRefused, apply_change, normalise, read_call, resolve_updates
from runtime.dimensions.views import rule
from tests.dimensions.worlds import (
    BOARD,
    HARBOUR,
    MINUTE_CLOCK,
    STORM,
    STUDY,
    WALL,
    held,
    receipt,
    session,
    storm,
    told,
)


def _move(delta: int) -> dict[str, Any]:
    return {"amount": abs(delta), "direction": "backward" if delta < 0 else "forward"}


def test_scenario_010_one_update_for_what_changed() -> None:
    state = session({"storm": STORM, "cityWall": WALL})
    batch = derived_batch(state.records, 75)
    assert batch == {"updates": [{"id": "storm", "expectedVersion": 1, "value": storm(105, "approaching")}]}
    after = update(state, batch).state
    assert held(after, "storm") == (storm(105, "approaching"), 2)
    assert after.records["cityWall"] is state.records["cityWall"]
    assert after.records["storm"].source is None


def test_scenario_011_nothing_to_propose() -> None:
    state = session({"storm": STORM})
    assert derived_batch(state.records, 0) is None
    assert derived_batch(state.records, None) is None
    moved = update(state, derived_batch(state.records, 75)).state
    assert derived_batch(moved.records, 75) is None


def test_scenario_012_values_follow_the_clock_and_back() -> None:
    state = session({"storm": STORM})
    expected = {
        10: (170, "distant"),
        70: (110, "approaching"),
        150: (30, "imminent"),
        185: (0, "overhead"),
        20: (160, "distant"),
    }
    for elapsed, (minutes, stage) in expected.items():
        assert state.clock is not None
        state = move(state, f"turn-{elapsed}", _move(elapsed - state.clock.elapsed)).state
        assert state.records["storm"].value == storm(minutes, stage)


@pytest.mark.parametrize(
    "entry",
    [
        {"changes": [{"path": "frontPassed", "value": True}]},
        {"value": {"frontPassed": True}},
        {"value": storm(90, "distant", True)},
    ],
)
def test_scenario_013_the_tracker_cannot_write_derived_fields(entry: dict[str, Any]) -> None:
    state = told(session({"storm": STORM}))
    state = move(state, "turn-1", {"amount": 185}).state
    assert held(state, "storm") == (storm(0, "overhead"), 2)
    result = settle_by_tool(state, "tale-1", {"updates": [{"id": "storm", **entry}], "followsClock": []})
    assert held(result.state, "storm") == (storm(0, "overhead", True), 3)
    assert receipt(result.state).status == "settled"


def test_narrative_clock_and_settlement_settle_in_any_order() -> None:
    start = session({"storm": STORM})
    call = {"updates": [{"id": "storm", "changes": [{"path": "frontPassed", "value": True}]}], "followsClock": []}
    orders = [
        settle_by_tool(move(told(start), "turn-1", {"amount": 75}).state, "tale-1", call).state,
        settle_by_tool(told(move(start, "turn-1", {"amount": 75}).state), "tale-1", call).state,
        move(settle_by_tool(told(start), "tale-1", call).state, "turn-1", {"amount": 75}).state,
    ]
    for state in orders:
        assert receipt(state).status == "settled"
        assert state.records["storm"].value == storm(105, "approaching", True)


def test_scenario_014_prompts_of_derived_fields() -> None:
    state = move(session({"storm": STORM}), "turn-1", {"amount": 75}).state
    prompt = tracker_prompt(state.records, "en-US")
    assert 'storm: {"frontPassed":false}' in prompt["values"]
    assert "minutesRemaining" not in prompt["rules"]
    assert "105" in story_prompt(state.records, "en-US")["turn"]


def test_scenario_015_a_derived_dimension_belongs_to_the_turn() -> None:
    age = {
        "name": "Age",
        "schema": {"type": "integer", "x-derive": {"source": "clock.elapsedSinceStart"}},
        "initialValue": 0,
    }
    prompt = story_prompt(session({"age": age, "cityWall": WALL}).records, "en-US")
    assert "- age" in prompt["turn"]
    assert "- cityWall" in prompt["stable"]
    assert "- age" not in prompt["stable"]
    assert tracker_prompt(session({"age": age}).records, "en-US")["needed"] is False


def test_scenario_035_and_036_projection() -> None:
    assert project({"a": ("a: ", "x" * 900)}, 12_000).lines == {"a": "a: " + "x" * 900}
    entries = {"a": ("a: ", "x" * 3000), "b": ("b: ", "y" * 1500), "c": ("c: ", "z" * 300)}
    projection = project(entries, 2_400)
    assert projection.lines["a"] == "a: " + "x" * 240 + "…"
    assert projection.lines["b"] == "b: " + "y" * 1500
    assert projection.cut == {"a"}
    crowded = project({str(number): (f"{number}: ", "x" * 200) for number in range(100)}, 12_000)
    assert crowded.left_out == 100 - len(crowded.lines)
    assert crowded.left_out > 0


def test_scenario_037_empty_updates_are_no_change() -> None:
    state = told(session({"reputation": STUDY}))
    result = settle_by_tool(state, "tale-1", {"updates": [], "followsClock": []})
    assert receipt(result.state).status == "no-change"
    forged = settle_by_tool(state, "tale-1", {"updates": [], "source": {"resultId": "x", "turnNumber": 1}})
    assert receipt(forged.state).pending
    assert "source" in str(receipt(forged.state).error)


VIEW = {
    "reputation": {"schema": {"type": "integer"}, "value": 3, "version": 4},
    "note": {"schema": {}, "value": "a", "version": 2},
}


@pytest.mark.parametrize("extra", [{}, {"expectedVersion": 1}])
def test_scenario_038_versions_are_filled_in(extra: dict[str, Any]) -> None:
    call = {"updates": [{"id": "reputation", "value": 5, **extra}], "followsClock": []}
    assert read_call(VIEW, call, None) == [{"id": "reputation", "expectedVersion": 4, "value": 5}]


def test_scenario_038_reasons_alone_and_empty_paths() -> None:
    assert read_call(VIEW, {"updates": [{"id": "note", "reason": "same"}]}, None) == []
    whole = {"updates": [{"id": "note", "changes": [{"path": "", "value": "b"}]}]}
    assert read_call(VIEW, whole, None)[0]["value"] == "b"
    two = {"updates": [{"id": "note", "changes": [{"path": "", "value": "b"}, {"path": "x", "value": 1}]}]}
    with pytest.raises(ToolRefused) as refused:
        read_call(VIEW, two, None)
    assert refused.value.reason == "empty-path"


def test_scenario_039_unknown_ids() -> None:
    view = {**VIEW, "board": {"schema": {}, "value": {"tower": {}}, "version": 1}}
    with pytest.raises(ToolRefused, match="entry of board"):
        resolve_updates(view, [{"id": "tower", "value": {}}])
    with pytest.raises(ToolRefused, match="reputation, note, board"):
        resolve_updates(view, [{"id": "ghost", "value": {}}])


def test_scenario_040_patches_of_a_board() -> None:
    base = deepcopy(BOARD["initialValue"])
    view = {"board": {"schema": BOARD["schema"], "value": base, "version": 1}}
    changes = [{"path": "tower.note", "value": "lit"}, {"path": "cave", "value": {"note": "new"}}]
    found = read_call(view, {"updates": [{"id": "board", "changes": changes}]}, None)[0]["value"]
    assert found == {"pier/7": {"note": "old"}, "tower": {"note": "lit"}, "cave": {"note": "new"}}
    assert base == BOARD["initialValue"]
    assert apply_change(base, "tower/note", "lit")["tower"] == {"note": "lit"}
    assert apply_change(base, "pier/7.note", "new")["pier/7"] == {"note": "new"}
    assert apply_change(base, "new.rows.0.a", 1)["new"] == {"rows": [{"a": 1}]}
    state = told(session({"board": BOARD}))
    same = settle_by_tool(
        state, "tale-1", {"updates": [{"id": "board", "changes": [{"path": "tower.note", "value": "dim"}]}]}
    )
    assert receipt(same.state).status == "no-change"


def test_scenario_040_repairs() -> None:
    call = {
        "reason": "stray",
        "followsClock": ["board", 7],
        "updates": [
            {"id": "board", "updates": [], "expectedVersion": 3, "changes": [{"path": "a", "value": 1, "reason": "x"}], "reason": "one"},
            {"id": "board", "value": {}},
            {"id": "board", "changes": [{"path": "b", "value": 2}], "reason": "two"},
        ],
    }  # fmt: skip
    assert normalise(call) == {
        "followsClock": ["board"],
        "updates": [
            {"id": "board", "changes": [{"path": "a", "value": 1}, {"path": "b", "value": 2}], "reason": "one two"},
            {"id": "board", "value": {}},
        ],
    }


@pytest.mark.parametrize("path", ["__proto__.polluted", "a.constructor.prototype.x"])
def test_scenario_041_reserved_names(path: str) -> None:
    with pytest.raises(ToolRefused) as refused:
        apply_change({"a": {}}, path, 1)
    assert refused.value.reason == "unsafe-path"


def test_scenario_042_who_is_tracked() -> None:
    with pytest.raises(DimensionError) as refused:
        settle_by_tool(session({"study": STUDY}), "tale-1", {"updates": []})
    assert refused.value.code == "DIMENSION_RECEIPT_NOT_FOUND"
    blank = {**STUDY, "updateRule": "  "}
    assert tracker_prompt(session({"study": blank}).records, "en-US")["needed"] is False
    assert told(session({"study": blank})).receipts == {}
    assert tracker_prompt(session({"study": STUDY}).records, "en-US")["needed"] is True


@pytest.mark.parametrize(
    ("node", "shown_limit"),
    [
        ({"maxLength": 200}, 160),
        ({"maxLength": 121}, 96),
        ({"minLength": 4, "maxLength": 4}, 4),
        ({"minLength": 9, "maxLength": 10}, 9),
        ({"maxLength": 10, "enum": ["a"]}, 10),
        ({"maxLength": 10, "const": "a"}, 10),
        ({"maxLength": 1}, 1),
    ],
)
def test_scenario_043_shown_limits(node: dict[str, Any], shown_limit: int) -> None:
    assert lower_limits({"items": {"type": "string", "maxItems": 9, **node}})["items"] == {
        "type": "string",
        "maxItems": 9,
        **node,
        "maxLength": shown_limit,
    }


def test_scenario_044_tools_offered() -> None:
    small = tracker_prompt(session({"study": STUDY}).records, "en-US")
    assert [tool["name"] for tool in small["tools"]] == ["update-dimensions"]
    long = {**STUDY, "updateRule": "x" * 24_000}
    state = session({"long": long, "study": STUDY})
    prompt = tracker_prompt(state.records, "en-US")
    assert [tool["name"] for tool in prompt["tools"]] == [
        "update-dimensions",
        "world-dimension-get",
        "world-dimension-list",
        "dimension-rule-get",
    ]
    assert f"- long: {'x' * 80}…" in prompt["rules"]
    assert "## study" in prompt["rules"]
    assert "long:" not in prompt["values"]


def test_scenario_045_stable_parts() -> None:
    state = told(session({"study": STUDY, "cityWall": WALL}))
    after = settle_by_tool(state, "tale-1", {"updates": [{"id": "study", "value": 5}]}).state
    first, second = tracker_prompt(state.records, "en-US"), tracker_prompt(after.records, "en-US")
    assert first["rules"] == second["rules"]
    assert first["values"] != second["values"]
    assert story_prompt(state.records, "en-US")["stable"] == story_prompt(after.records, "en-US")["stable"]
    assert "v1" not in first["rules"] + first["values"]


@pytest.mark.parametrize(
    ("locale", "chinese"), [("zh-CN", True), ("zh", True), ("en-US", False), ("zh-Hant-TW", False)]
)
def test_scenario_046_language_of_sentences(locale: str, chinese: bool) -> None:
    state = session({"study": STUDY}, locale=locale)
    assert ("叙事" in tracker_prompt(state.records, locale)["rules"]) is chinese
    assert ("指令" in story_prompt(state.records, locale)["turn"]) is chinese


def test_scenario_047_rule_pages() -> None:
    text = "ab🛶" * 3_000
    state = told(session({"study": {**STUDY, "updateRule": text}}))
    pages, offset = "", 0
    while True:
        page = rule(state, {"resultId": "tale-1", "id": "study", "part": "rule", "offset": offset})
        pages += page["content"]
        if page["complete"]:
            assert "nextOffset" not in page
            break
        offset = page["nextOffset"]
    assert pages == text
    assert page["version"] == 1
    schema = rule(state, {"resultId": "tale-1", "id": "study", "part": "schema"})
    assert json.loads(schema["content"])["maximum"] == 100


def test_clock_followers_are_asked_for() -> None:
    hunger = {**STUDY, "updateRule": "One more for each hour."}
    state = move(told(session({"hunger": hunger})), "turn-1", {"amount": 60}).state
    forgotten = {"updates": [], "followsClock": ["hunger", "ghost"]}
    message = str(try_settlement(state, "tale-1", forgotten))
    assert "60 minutes this turn" in message
    assert "hunger" in message
    assert "ghost" not in message
    excused = {"updates": [{"id": "hunger", "reason": "fed"}], "followsClock": ["hunger"]}
    assert try_settlement(state, "tale-1", excused) is None
    still = told(session({"hunger": hunger}))
    assert try_settlement(still, "tale-1", forgotten) is None


def test_scenario_048_a_stale_edit_proposes_nothing() -> None:
    state = session({"reputation": STUDY})
    result = edit(state, {"updates": [{"id": "reputation", "expectedVersion": 2, "value": 5}]})
    assert result.answer == {
        "applied": False,
        "code": "dimension-version-conflict",
        "currentVersions": {"reputation": 1},
    }
    assert result.state is state
    assert result.events == ()


def test_scenario_049_the_requests_of_the_panel() -> None:
    town = {
        "name": "Town",
        "schema": {
            "type": "object",
            "properties": {"wealth": {"type": "integer", "minimum": 0}, "places": {"type": "object", "additionalProperties": {}}},
        },
        "initialValue": {"wealth": 1, "places": {}},
        "updateRule": "r",
    }  # fmt: skip
    state = told(session({"town": town}))
    value = {"wealth": 4, "places": {"lake": {}}}
    after = edit(state, {"updates": [{"id": "town", "expectedVersion": 1, "value": value}]}).state
    assert held(after, "town") == (value, 2)
    with pytest.raises(DimensionError) as refused:
        edit(after, {"updates": [{"id": "town", "expectedVersion": 2, "value": {"wealth": -1}}]})
    assert refused.value.details["issues"][0]["path"] == ["wealth"]
    skipped = edit(after, {"updates": [], "resultId": "tale-1", "resolution": "skipped"})
    assert receipt(skipped.state).status == "skipped"


def test_an_edit_of_a_derived_field_warns() -> None:
    state = session({"storm": STORM})
    result = edit(state, {"updates": [{"id": "storm", "expectedVersion": 1, "value": storm(5, "distant")}]})
    assert [warning["path"] for warning in result.answer["warnings"]] == [["minutesRemaining"]]
    moved = move(result.state, "turn-1", {"amount": 10}).state
    assert moved.records["storm"].value == storm(170, "distant")


# --- the clock ------------------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {
    "kind": "calendar",
    "calendar": {
        "era": "Reef",
        "months": [{"name": "Kelp", "days": 2}, {"name": "Salt", "days": 3}],
        "hoursPerDay": 10,
        "minutesPerHour": 6,
        "weekdays": ["a", "b", "c"],
    },
    "initial": {"year": 3, "month": 1, "day": 2, "hour": 9, "minute": 5, "weekday": 2},
    "evolution": {"mode": "bidirectional", "defaultStep": 1, "maxStep": 1000},
}
PHASES: dict[str, Any] = {
    "kind": "phases",
    "phases": ["dawn", "day", "dusk"],
    "cycleLabel": "Day",
    "initial": {"cycle": 0, "phase": 0},
    "evolution": {"mode": "bidirectional", "defaultStep": 1, "maxStep": 9},
}


def moved(definition: dict[str, Any], request: Any, turn: str = "t") -> clocks.Clock:
    """A fresh clock after one move."""
    return move_clock(new_clock(definition), turn, request)


def face(clock: clocks.Clock) -> tuple[Any, ...]:
    """The date and time shown."""
    parts = shown(clock.definition, clock.tick)
    return tuple(parts[key] for key in ("year", "month", "day", "hour", "minute"))


def test_scenario_066_weekdays() -> None:
    for days, index in ((0, 2), (1, 0), (2, 1)):
        assert shown(SMALL, moved(SMALL, {"amount": days, "unit": "day"}).tick)["weekdayIndex"] == index
    back = moved(SMALL, {"amount": 4, "unit": "day", "direction": "backward"})
    assert shown(SMALL, back.tick)["weekdayIndex"] == 1


def test_scenario_067_a_minute_over_the_month() -> None:
    assert face(moved(SMALL, {"amount": 1})) == (3, 2, 1, 0, 0)


def test_scenario_068_before_tick_zero() -> None:
    first = {**SMALL, "initial": {"year": 1, "month": 1, "day": 1, "hour": 0, "minute": 0, "weekday": 0}}
    back = moved(first, {"amount": 1, "direction": "backward"})
    assert back.tick == -1
    assert face(back) == (0, 2, 3, 9, 5)


def test_scenario_069_phases_wrap() -> None:
    back = moved(PHASES, {"amount": 1, "direction": "backward"})
    assert (shown(PHASES, back.tick)["cycle"], shown(PHASES, back.tick)["phase"]) == (-1, 2)


def test_scenario_070_cycles_and_zero() -> None:
    later = {**PHASES, "initial": {"cycle": 1, "phase": 2}}
    assert new_clock(later).tick == 5
    assert moved(later, {"amount": 2, "unit": "cycle", "direction": "backward"}).tick == -1
    assert moved(later, {"amount": 0}).tick == 5


def test_scenario_071_random() -> None:
    definition = {
        **PHASES,
        "evolution": {"mode": "random", "defaultStep": 1, "maxStep": 9, "randomRange": {"min": -4, "max": 5}},
    }
    deltas = [moved(definition, {}, f"turn-{number}").tick for number in range(200)]
    assert -4 <= min(deltas) < 0 < max(deltas) <= 5
    assert clocks.fnv1a("a") == 0xE40C292C
    assert deltas == [moved(definition, None, f"turn-{number}").tick for number in range(200)]
    with pytest.raises(MoveRefused) as refused:
        moved(definition, {"amount": 1})
    assert refused.value.reason == "random-args"


@pytest.mark.parametrize(
    ("definition", "request_", "reason"),
    [
        (PHASES, {"amount": 1, "unit": "hour"}, "bad-unit"),
        (PHASES, {"amount": 1, "unit": ["cycle"]}, "bad-unit"),
        (PHASES, {"unit": "cycle"}, "bad-unit"),
        ({**PHASES, "evolution": {"mode": "forward", "defaultStep": 1, "maxStep": 9}}, {"direction": "backward"}, "direction-policy"),
        ({**PHASES, "evolution": {"mode": "forward", "defaultStep": 1, "maxStep": 12}}, {"amount": 13}, "over-max-step"),
        (PHASES, {"amount": -1}, "bad-amount"),
        (PHASES, {"amount": 1, "speed": 2}, "bad-move"),
        (PHASES, {"amount": 1, "reason": ""}, "bad-reason"),
    ],
)  # fmt: skip
def test_scenario_072_refused_moves(definition: dict[str, Any], request_: Any, reason: str) -> None:
    with pytest.raises(MoveRefused) as refused:
        moved(definition, request_)
    assert refused.value.reason == reason


def test_scenario_072_overflow() -> None:
    end = clocks.Clock(PHASES, 2**53 - 1, {})
    with pytest.raises(MoveRefused) as refused:
        move_clock(end, "t", {"amount": 1})
    assert refused.value.reason == "overflow"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"initial": {"cycle": 0, "phase": 3}}, "initial.phase"),
        ({"evolution": {"mode": "random", "defaultStep": 1, "maxStep": 9}}, "evolution.randomRange"),
        ({"evolution": {"mode": "forward", "defaultStep": 10, "maxStep": 9}}, "evolution.defaultStep"),
    ],
)
def test_scenario_073_refused_definitions(change: dict[str, Any], place: str) -> None:
    assert place in [issue.at for issue in check_clock({**PHASES, **change})]


def test_scenario_073_unordered_periods() -> None:
    periods = [{"name": "flow", "startHour": 5}, {"name": "ebb", "startHour": 1}]
    definition = {**SMALL, "calendar": {**SMALL["calendar"], "periods": periods}}
    assert "calendar.periods.1.startHour" in [issue.at for issue in check_clock(definition)]


def test_the_default_clock_is_a_clock() -> None:
    assert check_clock(clocks.DEFAULT_CLOCK) == []
    assert check_clock(MINUTE_CLOCK) == []
    assert face(new_clock(clocks.DEFAULT_CLOCK)) == (1, 1, 1, 8, 0)


def test_the_same_turn_moves_the_clock_once() -> None:
    state = session({"storm": STORM, "harbour": HARBOUR})
    first = move(state, "turn-1", {"amount": 75})
    again = move(first.state, "turn-1", {"amount": 30})
    assert again.answer["repeated"] is True
    assert again.state.clock is first.state.clock
    assert again.events == ()
