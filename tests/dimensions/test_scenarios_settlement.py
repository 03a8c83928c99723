"""Scenarios 32 and 50-65 of ``spec/dimensions.md`` §11 on the pure state; the SQLite runs are in test_host."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.dimensions.domain import (
    begin_turn,
    edit,
    initialize,
    record_failure,
    register_narrative,
    retry,
    settle_by_tool,
    update,
)
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.events import merge
from runtime.dimensions.settlement import pending_receipts
from runtime.dimensions.state import State, read_state
from runtime.dimensions.turn import Proposal, TurnResult, Unit, commit_turn, overlay, start_turn
from runtime.dimensions.views import query, snapshot
from tests.dimensions.worlds import STUDY, WALL, held, receipt, session, told

PROVIDER = "innkeeper"
NO_CHANGE: dict[str, Any] = {"updates": []}


def points(value: int) -> dict[str, Any]:
    """A tracker's arguments."""
    return {"updates": [{"id": "study", "value": value}], "followsClock": []}


def settlement(value: int | None, *, version: int = 1, number: int = 1) -> Proposal:
    """A tracker's proposal as an update with a source; ``None`` says that nothing changed."""
    payload: dict[str, Any] = {
        "updates": [] if value is None else [{"id": "study", "expectedVersion": version, "value": value}],
        "source": {"resultId": f"tale-{number}", "turnNumber": number},
        "readVersions": {"study": version},
    }
    if value is None:
        payload["settlement"] = "no-change"
    return Proposal("dimension.update", payload)


def turn(state: State, *units: Unit, policy: Any = None) -> TurnResult:
    """One execution with a story of its own."""
    return commit_turn(state, "turn-1", units, narratives=["tale-1"], policy=policy, tracker="tracker")


def tracker(*proposals: Proposal, **more: Any) -> Unit:
    """The tracker's outcome."""
    return Unit("tracker", PROVIDER, proposals, **more)


@pytest.fixture
def study() -> State:
    """A session with one tracked dimension."""
    return session({"study": STUDY})


def test_scenario_032_reads_see_the_frozen_base(study: State) -> None:
    state = begin_turn(study, "turn-1")
    state = edit(state, {"updates": [{"id": "study", "expectedVersion": 1, "value": 9}]}).state
    ask = [{"dimension": "study"}]
    assert query(state, ask, turn_id="turn-1")["results"][0]["value"] == 0
    assert query(state, ask)["results"][0]["value"] == 9
    with pytest.raises(DimensionError) as refused:
        query(state, ask, turn_id="turn-7")
    assert refused.value.code == "DIMENSION_TURN_NOT_FOUND"


def test_scenario_050_a_tracked_update_settles(study: State) -> None:
    done = turn(study, tracker(settlement(5)))
    assert held(done.state, "study") == (5, 2)
    stored = receipt(done.state).to_json()
    assert (stored["status"], stored["version"]) == ("settled", 2)
    assert (stored["readVersions"], stored["definitions"]) == ({}, {})
    again = update(done.state, settlement(5).payload)
    assert again.state is done.state
    assert again.events == ()


def test_scenario_051_one_event_per_registration(study: State) -> None:
    first = register_narrative(study, "tale-1", "turn-1")
    assert [event.type for event in first.events] == ["dimensions.settlement.changed"]
    assert register_narrative(first.state, "tale-1", "turn-1").events == ()
    both = register_narrative(first.state, "tale-2", "turn-1")
    assert both.answer["settlement"]["source"] == {"resultId": "tale-2", "turnNumber": 1}


def test_scenario_052_initialised_and_settled_in_one_commit() -> None:
    opening = Proposal("dimension.initialize", {"definitions": {"study": STUDY}})
    done = turn(session({"cityWall": WALL}), Unit("opening", PROVIDER, (opening,)), tracker(_reading(settlement(5))))
    assert held(done.state, "study") == (5, 2)
    assert receipt(done.state).status == "settled"


def _reading(proposal: Proposal) -> Proposal:
    """The same settlement, which also read the city wall."""
    reads = {"cityWall": 1, **proposal.payload["readVersions"]}
    return Proposal("dimension.update", {**proposal.payload, "readVersions": reads})


def test_scenario_053_an_explicit_no_change(study: State) -> None:
    done = turn(study, tracker(settlement(None)))
    assert receipt(done.state).status == "no-change"
    assert held(done.state, "study") == (0, 1)


@pytest.mark.parametrize("unit", [tracker(status="failed"), tracker(status="skipped"), tracker(), None])
def test_scenario_054_a_silent_tracker_leaves_the_debt(study: State, unit: Unit | None) -> None:
    done = turn(study, *([] if unit is None else [unit]))
    assert receipt(done.state).pending
    with pytest.raises(DimensionError) as refused:
        start_turn(done.state, "turn-2", publish=None)
    assert refused.value.code == "DIMENSION_SETTLEMENT_PENDING"
    assert refused.value.details["source"] == {"resultId": "tale-1", "turnNumber": 1}
    start_turn(done.state, "turn-2", publish=None, narrates=False)


@pytest.mark.parametrize("call", [points(7), NO_CHANGE])
def test_scenario_055_a_player_was_faster(study: State, call: dict[str, Any]) -> None:
    state = edit(told(study), {"updates": [{"id": "study", "expectedVersion": 1, "value": 42}]}).state
    after = settle_by_tool(state, "tale-1", call).state
    assert held(after, "study") == (42, 2)
    assert receipt(after).pending
    assert receipt(after).error
    settled = settle_by_tool(retry(after, "tale-1").state, "tale-1", call).state
    assert not receipt(settled).pending


@pytest.mark.parametrize("resolution", ["manual", "skipped"])
def test_scenario_056_resolutions_survive_a_restart(study: State, resolution: str) -> None:
    restarted = read_state(told(study).to_json())
    after = edit(restarted, {"updates": [], "resultId": "tale-1", "resolution": resolution}).state
    assert receipt(after).status == resolution
    begin_turn(after, "turn-2")


def test_scenario_057_a_value_outside_its_limits(study: State) -> None:
    done = turn(study, tracker(settlement(101)))
    assert receipt(done.state).pending
    assert held(done.state, "study") == (0, 1)
    assert "at most 100" in str(receipt(done.state).error)


def test_scenario_058_protected_plugin_data(study: State) -> None:
    stray = Proposal("plugin.data", {"namespace": "_dimensions", "key": "study", "value": {}})
    other = Unit("diary", "diary", (Proposal("plugin.data", {"namespace": "notes"}),))
    done = turn(study, other, tracker(settlement(5), stray))
    assert list(done.refused) == ["tracker"]
    assert held(done.state, "study") == (0, 1)
    assert receipt(done.state).pending


def test_only_the_provider_writes(study: State) -> None:
    edit_by_other = Unit(
        "other",
        "stranger",
        (Proposal("dimension.update", {"updates": [{"id": "study", "expectedVersion": 1, "value": 5}]}),),
    )
    settle_by_other = Unit("thief", "stranger", (settlement(5),))
    done = turn(study, edit_by_other, settle_by_other)
    assert {error.code for error in done.refused.values()} == {"DIMENSION_PROVIDER"}
    assert held(done.state, "study") == (0, 1)
    assert receipt(done.state).pending


def test_scenario_059_initialising_again_keeps_progress(study: State) -> None:
    done = turn(study, tracker(settlement(5)))
    again = initialize(done.state, {"definitions": {"study": STUDY}})
    assert held(again.state, "study") == (5, 2)


OPENING = Proposal("dimension.initialize", {"definitions": {"study": STUDY}})


def test_scenario_060_an_optional_initialiser() -> None:
    bare = session({"cityWall": WALL})
    done = turn(bare, Unit("opening", PROVIDER, (OPENING,)))
    assert held(done.state, "study") == (0, 1)
    assert list(receipt(done.state).definitions) == ["study"]


def test_scenario_060_policies_and_a_later_refusal() -> None:
    bare = session({"cityWall": WALL})
    vetoed = turn(bare, Unit("opening", PROVIDER, (OPENING,)), policy=lambda _proposal: None)
    assert "study" not in vetoed.state.records
    assert vetoed.state.receipts == {}
    seven = Proposal("dimension.initialize", {"definitions": {"study": {**STUDY, "initialValue": 7}}})
    rewritten = turn(bare, Unit("opening", PROVIDER, (OPENING,)), policy=lambda _proposal: seven)
    assert held(rewritten.state, "study") == (7, 1)
    bad = Proposal("dimension.update", {"updates": [{"id": "study", "expectedVersion": 1, "value": -1}]})
    taken_back = turn(bare, Unit("opening", PROVIDER, (OPENING, bad)), Unit("next", PROVIDER, (), needs=("opening",)))
    assert "study" not in taken_back.state.records
    assert taken_back.state.receipts == {}
    assert list(taken_back.refused) == ["opening", "next"]


def test_scenario_061_retry_by_narrative(study: State) -> None:
    state = record_failure(told(study), "tale-1", "the model was silent").state
    assert receipt(state).error == "the model was silent"
    opened = retry(state, "tale-1").state
    assert receipt(opened).error is None
    settled = settle_by_tool(opened, "tale-1", points(7)).state
    assert held(settled, "study") == (7, 2)
    assert retry(settled, "tale-1").state is settled
    assert settle_by_tool(settled, "tale-1", points(9)).state is settled


def test_scenario_062_views_are_projections(study: State) -> None:
    state = begin_turn(study, "turn-1")
    done = commit_turn(state, "turn-1", [tracker(settlement(5))], narratives=["tale-1"])
    assert done.state.base("turn-1")["study"].value == 0
    assert begin_turn(done.state, "turn-2").base("turn-2")["study"].value == 5
    upstream = [
        tracker(Proposal("dimension.update", {"updates": [{"id": "study", "expectedVersion": 1, "value": 8}]})),
        Unit("x", "stranger", (OPENING,)),
    ]
    view = overlay(state.base("turn-1"), "en-US", PROVIDER, upstream)
    assert (view["study"].value, view["study"].version) == (8, 2)
    assert state.records["study"].value == 0
    again = Unit(
        "opening",
        PROVIDER,
        (Proposal("dimension.initialize", {"definitions": {"study": {**STUDY, "initialValue": 3}, "cityWall": WALL}}),),
    )
    view = overlay(state.base("turn-1"), "en-US", PROVIDER, [again])
    assert (view["study"].value, view["cityWall"].value) == (0, 100)


def test_scenario_063_publisher(study: State) -> None:
    published: list[Any] = []
    state = start_turn(study, "turn-1", publish=published.append)
    assert published == [study.records]

    def broken(_records: Any) -> None:
        raise OSError("no pipe")

    with pytest.raises(DimensionError) as refused:
        start_turn(study, "turn-1", publish=broken)
    assert refused.value.code == "dimension-snapshot-unavailable"
    manual = start_turn(state, "turn-1", publish=None)
    assert manual.base("turn-1") is study.records


def test_scenario_064_retention(study: State) -> None:
    state = told(study, 0)
    for number in range(1, 26):
        state = settle_by_tool(told(state, number), f"tale-{number}", NO_CHANGE).state
    state = told(state, 26)
    pending = [item.source.result_id for item in pending_receipts(state.receipts)]
    assert pending == ["tale-0", "tale-26"]
    assert len(state.receipts) == 22
    assert "tale-6" in state.receipts
    assert "tale-5" not in state.receipts


def test_scenario_065_end_to_end(study: State) -> None:
    first = register_narrative(begin_turn(study, "turn-1"), "tale-1", "turn-1")
    assert [event.type for event in first.events] == ["dimensions.settlement.changed"]
    with pytest.raises(DimensionError):
        begin_turn(first.state, "turn-2")
    opened = retry(first.state, "tale-1").state
    done = settle_by_tool(opened, "tale-1", points(1))
    assert held(done.state, "study") == (1, 2)
    assert done.state.completed == 1
    assert [event.type for event in done.events] == ["dimensions.changed"]
    assert done.events[0].data["settlement"]["status"] == "settled"
    assert retry(done.state, "tale-1").state is done.state
    stale = edit(done.state, {"updates": [{"id": "study", "expectedVersion": 1, "value": 9}]})
    assert stale.answer["currentVersions"] == {"study": 2}
    recovery = snapshot(done.state)["dimensionRecovery"]
    assert recovery == {"editorRuntimeId": "dimension-editor", "trackerRuntimeId": "dimension-tracker"}


def test_clients_merge_forwards_only(study: State) -> None:
    start = snapshot(told(study))
    done = settle_by_tool(told(study), "tale-1", points(3))
    events = [event.to_json() for event in done.events]
    merged = merge(start, [*events, {"type": "dimensions.changed", "data": None}])
    assert merged["dimensions"] == snapshot(done.state)["dimensions"]
    assert merged["dimensionSettlements"] == snapshot(done.state)["dimensionSettlements"]
    stranger = {"type": "dimensions.changed", "data": {**done.events[0].data, "providerPluginId": "other"}}
    assert merge(start, [stranger])["dimensions"] == start["dimensions"]
    old = merge(merged, [event.to_json() for event in register_narrative(study, "tale-1", "turn-1").events])
    assert old["dimensionSettlements"] == merged["dimensionSettlements"]


def test_states_read_back_as_they_were(study: State) -> None:
    state = begin_turn(study, "turn-1")
    state = register_narrative(state, "tale-1", "turn-1", text="a tale").state
    state = begin_turn(settle_by_tool(state, "tale-1", points(3)).state, "turn-2")
    state = register_narrative(state, "tale/2", "turn-2", text="more").state
    again = read_state(state.to_json())
    assert again.to_json() == state.to_json()
    assert again.base("turn-1")["study"].value == 0
    assert again.base("turn-2")["study"].value == 3
    assert again.texts == {"tale/2": "more"}
    assert (again.table, again.snapshot) == (state.table, state.snapshot)


def test_the_public_snapshot_is_bounded_at_commit() -> None:
    text = {"name": "Long", "schema": {"type": "string"}, "initialValue": "", "updateRule": "r"}
    state = session({"a": text, "b": text})
    long = "x" * 200_000
    state = update(state, {"updates": [{"id": "a", "expectedVersion": 1, "value": long}]}).state
    with pytest.raises(DimensionError) as refused:
        update(state, {"updates": [{"id": "b", "expectedVersion": 1, "value": long}]})
    assert "snapshot" in refused.value.message
    settled = settle_by_tool(told(state), "tale-1", {"updates": [{"id": "b", "value": long}]}).state
    assert receipt(settled).pending
    assert "snapshot" in str(receipt(settled).error)
    short = update(state, {"updates": [{"id": "a", "expectedVersion": 2, "value": ""}]}).state
    update(short, {"updates": [{"id": "b", "expectedVersion": 1, "value": long}]})


def test_a_receipt_of_another_turn_is_not_touched(study: State) -> None:
    payload = {**settlement(5).payload, "source": {"resultId": "tale-1", "turnNumber": 9}}
    with pytest.raises(DimensionError) as refused:
        update(told(study), payload)
    assert refused.value.code == "DIMENSION_RECEIPT_MISMATCH"
