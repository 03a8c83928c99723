"""Dimensions on the ledger and under the session host: turns, forks, swipes, restarts, recovery (§0.2, §0.6, §5)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.dimensions.events import Event
from runtime.dimensions.limits import KEYFRAME
from runtime.dimensions.service import DimensionsService
from runtime.dimensions.source import DimensionsSource
from runtime.dimensions.tracker import Tracker, TrackerFailed, TrackerTask
from runtime.dimensions.turn import Proposal, Unit
from runtime.ledger.sqlite import SqliteLedger
from runtime.sessions.branches import Branches
from runtime.sessions.host import SessionHost
from runtime.values.rows import InnkeeperError
from tests.dimensions.worlds import MINUTE_CLOCK, STORM, STUDY, storm


class Inn:
    """A whole host with dimensions in it."""

    def __init__(self, path: Path | None = None, tracker: Tracker | None = None) -> None:
        counter = itertools.count(1)
        self.ledger = SqliteLedger(path)
        self.host = SessionHost(
            self.ledger, deployment="d", new_id=lambda: f"id-{next(counter)}-{id(self)}", now=lambda: 1_000
        )
        self.branches = Branches(self.host)
        self.service = DimensionsService(self.ledger, now=lambda: 1_000)
        self.source = DimensionsSource(self.service, tracker)
        self.host.sources.append(self.source)
        self.events: list[tuple[str, Event]] = []
        self.service.listen(lambda session, event: self.events.append((session, event)))
        self._operation = itertools.count(1)

    def operation(self) -> str:
        """A fresh operation id."""
        return f"op-{next(self._operation)}-{id(self)}"

    def open(self, definitions: dict[str, Any], session_id: str = "s") -> str:
        """A bound session."""
        self.service.declare_world(world_id="reed", definitions=definitions, clock=MINUTE_CLOCK)
        self.ledger.write(lambda tx: self.host.insert_session(tx, session_id))
        self.service.bind(session_id, "reed", locale="en-US", operation_id=self.operation())
        return session_id

    def turn(self, session_id: str, reply: str) -> dict[str, Any]:
        """One whole turn."""
        return self.host.turn(session_id, {"text": "go"}, {"id": reply, "text": f"tale of {reply}"}, self.operation())

    def value(self, session_id: str, key: str) -> Any:
        """The committed value of a dimension."""
        return self.service.snapshot(session_id)["dimensions"][key]["value"]

    def status(self, session_id: str, reply: str) -> str:
        """Where the debt of a reply stands."""
        found = {item["source"]["resultId"]: item for item in self.service.snapshot(session_id)["dimensionSettlements"]}
        return str(found[reply]["status"])

    def close(self) -> None:
        """Release everything."""
        self.source.close()
        self.ledger.close()


@pytest.fixture
def inn() -> Iterator[Inn]:
    """A host without a tracker."""
    found = Inn()
    yield found
    found.close()


def points(value: int) -> dict[str, Any]:
    """A tracker's arguments."""
    return {"updates": [{"id": "study", "value": value}], "followsClock": []}


def test_scenario_050_settling_on_sqlite(inn: Inn) -> None:
    session = inn.open({"study": STUDY})
    receipts = inn.turn(session, "r1")["receipts"]
    assert [(item["source"], item["narrative"], item["status"]) for item in receipts] == [
        ("dimensions", {"resultId": "r1", "turnNumber": 1}, "pending-settlement")
    ]
    answer = inn.service.settle(session, "r1", points(5), operation_id="op")
    assert answer["settlement"]["status"] == "settled"
    assert inn.service.settle(session, "r1", points(5), operation_id="op") == answer
    with pytest.raises(InnkeeperError) as refused:
        inn.service.settle(session, "r1", points(6), operation_id="op")
    assert refused.value.code == "DIMENSION_IDEMPOTENCY_CONFLICT"
    assert inn.value(session, "study") == 5
    assert [event.type for _session, event in inn.events] == [
        "dimensions.changed",
        "dimensions.settlement.changed",
        "dimensions.changed",
    ]


def test_a_standing_debt_refuses_the_next_turn(inn: Inn) -> None:
    session = inn.open({"study": STUDY})
    inn.turn(session, "r1")
    with pytest.raises(InnkeeperError) as refused:
        inn.turn(session, "r2")
    assert refused.value.code == "DIMENSION_SETTLEMENT_PENDING"
    inn.service.edit(session, {"updates": [], "resultId": "r1", "resolution": "skipped"})
    assert inn.turn(session, "r2")["turn"] == 2


def test_scenario_056_after_a_restart(tmp_path: Path) -> None:
    first = Inn(tmp_path / "ledger.sqlite")
    session = first.open({"study": STUDY, "storm": STORM})
    first.turn(session, "r1")
    first.service.move_clock(session, "1", {"amount": 75})
    first.close()
    second = Inn(tmp_path / "ledger.sqlite")
    assert second.value(session, "storm") == storm(105, "approaching")
    assert second.status(session, "r1") == "pending-settlement"
    second.service.settle(session, "r1", points(2))
    assert second.status(session, "r1") == "settled"
    second.close()


def test_long_histories_read_back_cold(tmp_path: Path) -> None:
    first = Inn(tmp_path / "ledger.sqlite")
    session = first.open({"study": STUDY})
    for number in range(KEYFRAME.default * 2 + 5):
        update = {"id": "study", "expectedVersion": number + 1, "value": (number + 1) % 90}
        first.service.update(session, {"updates": [update]})
        first.service.states._states.clear()
    expected = first.service.read_state(session).to_json()
    first.close()
    second = Inn(tmp_path / "ledger.sqlite")
    assert second.service.read_state(session).to_json() == expected
    second.close()


def test_forks_and_swipes_cut_where_they_should(inn: Inn) -> None:
    session = inn.open({"study": STUDY, "storm": STORM})
    first = inn.turn(session, "r1")
    inn.service.settle(session, "r1", points(1))
    inn.service.move_clock(session, "1", {"amount": 75})
    second = inn.turn(session, "r2")
    inn.service.settle(session, "r2", points(2))
    at_first, at_second = _reply(inn, session, "r1"), _reply(inn, session, "r2")
    assert first["turn"] + 1 == second["turn"]
    fork = inn.branches.branch(session, "fork", at_first, inn.operation(), "fork")["sessionId"]
    assert inn.value(fork, "study") == 1
    assert inn.value(fork, "storm") == storm(105, "approaching")
    swipe = inn.branches.branch(session, "reply-swipe", at_second, inn.operation(), "swipe")["sessionId"]
    assert inn.value(swipe, "study") == 1
    assert inn.service.snapshot(swipe)["clock"]["summary"]["elapsedSinceStart"] == 75
    opening = inn.branches.branch(session, "reply-swipe", at_first, inn.operation(), "opening")["sessionId"]
    assert (inn.value(opening, "study"), inn.value(opening, "storm")) == (0, storm(180, "distant"))
    late = inn.branches.branch(session, "fork", at_second, inn.operation(), "late")["sessionId"]
    assert (inn.value(late, "study"), inn.status(late, "r2")) == (2, "settled")
    # A grandchild of a place that its parent inherited.
    deep = inn.branches.branch(late, "reply-swipe", at_first, inn.operation(), "deep")["sessionId"]
    assert inn.value(deep, "study") == 0
    inn.turn(swipe, "r2b")
    inn.service.settle(swipe, "r2b", points(9))
    assert (inn.value(swipe, "study"), inn.value(session, "study")) == (9, 2)
    assert inn.service.query(swipe, [{"dimension": "study"}], turn_id="2")["results"][0]["value"] == 1


def _reply(inn: Inn, session: str, message: str) -> int:
    events = inn.host.events(session)["events"]
    return int(next(event["seq"] for event in events if event.get("id") == message))


def test_a_pending_fork_stays_pending(inn: Inn) -> None:
    session = inn.open({"study": STUDY})
    inn.turn(session, "r1")
    fork = inn.branches.branch(session, "fork", _reply(inn, session, "r1"), inn.operation(), "fork")["sessionId"]
    inn.service.settle(session, "r1", points(5))
    assert inn.status(fork, "r1") == "pending-settlement"
    inn.service.settle(fork, "r1", points(3))
    assert (inn.value(fork, "study"), inn.value(session, "study")) == (3, 5)


class Scripted:
    """A tracker that answers what the test says."""

    provider = "innkeeper"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.tasks: list[TrackerTask] = []

    def run(self, task: TrackerTask) -> Any:
        """The next answer of the script."""
        self.tasks.append(task)
        answer = self.answers.pop(0) if self.answers else TrackerFailed("the script is over")
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_the_tracker_runs_after_the_turn() -> None:
    tracker = Scripted(points(4))
    inn = Inn(tracker=tracker)
    session = inn.open({"study": STUDY})
    inn.turn(session, "r1")
    inn.source.close()
    assert inn.status(session, "r1") == "settled"
    assert tracker.tasks[0].narrative == "tale of r1"
    assert tracker.tasks[0].attempt(points(400)) is None
    inn.close()


def test_automatic_recovery_before_the_next_turn() -> None:
    tracker = Scripted(TrackerFailed("no answer within 120 s"), points(4))
    inn = Inn(tracker=tracker)
    session = inn.open({"study": STUDY})
    inn.turn(session, "r1")
    inn.source.close()
    pending = inn.service.snapshot(session)["dimensionSettlements"][0]
    assert (pending["status"], pending["error"]) == ("pending-settlement", "no answer within 120 s")
    assert inn.turn(session, "r2")["turn"] == 2
    assert inn.status(session, "r1") == "settled"
    inn.close()


@pytest.mark.parametrize(
    "crash", [TrackerFailed("late"), RuntimeError("broken plug-in"), {"updates": [{"id": "study", "value": -1}]}]
)
def test_a_recovery_that_fails_refuses_the_turn(crash: Any) -> None:
    inn = Inn(tracker=Scripted(crash, crash, crash))
    session = inn.open({"study": STUDY})
    inn.turn(session, "r1")
    inn.source.close()
    with pytest.raises(InnkeeperError) as refused:
        inn.turn(session, "r2")
    assert refused.value.code == "DIMENSION_SETTLEMENT_PENDING"
    assert refused.value.details["error"]
    assert inn.service.snapshot(session)["dimensions"]["study"]["value"] == 0
    inn.close()


def test_a_plug_in_is_not_retried_by_itself() -> None:
    tracker = Scripted(TrackerFailed("x"), points(1))
    tracker.provider = "guild"
    inn = Inn(tracker=tracker)
    inn.service.provider = "guild"
    session = inn.open({"study": STUDY})
    inn.turn(session, "r1")
    inn.source.close()
    with pytest.raises(InnkeeperError):
        inn.turn(session, "r2")
    assert len(tracker.tasks) == 1
    assert inn.source.retry(session, "r1")["settlement"]["status"] == "settled"
    inn.close()


def test_an_unbound_session_is_empty_not_broken(inn: Inn) -> None:
    inn.ledger.write(lambda tx: inn.host.insert_session(tx, "bare"))
    snapshot = inn.service.snapshot("bare")
    assert (snapshot["dimensions"], snapshot["dimensionProviderPluginId"]) == ({}, None)
    assert inn.turn("bare", "r1")["receipts"] == []
    with pytest.raises(InnkeeperError) as refused:
        inn.service.update("bare", {"updates": []})
    assert refused.value.code == "DIMENSION_NOT_BOUND"
    with pytest.raises(InnkeeperError) as refused:
        inn.service.snapshot("ghost")
    assert refused.value.code == "SESSION_NOT_FOUND"


def test_a_bound_provider_that_is_not_active_blocks() -> None:
    inn = Inn()
    session = inn.open({"study": STUDY})
    guild = Scripted()
    guild.provider = "guild"
    inn.service.use_tracker(guild)
    with pytest.raises(InnkeeperError) as refused:
        inn.turn(session, "r1")
    assert refused.value.code == "DIMENSION_PROVIDER_CONFLICT"
    rival = Scripted()
    rival.provider = "rival"
    with pytest.raises(InnkeeperError, match="guild, rival"):
        inn.service.use_tracker(rival)
    inn.close()


def test_prompt_blocks_read_the_frozen_base(inn: Inn) -> None:
    session = inn.open({"study": STUDY})
    inn.turn(session, "r1")
    inn.service.settle(session, "r1", points(7))
    now, then = inn.service.prompt_blocks(session, 2), inn.service.prompt_blocks(session, 1)
    assert [block["id"] for block in now] == ["dimensions:turn"]
    assert "v2: 7" in now[0]["text"]
    assert "v1: 0" in then[0]["text"]
    assert inn.service.prompt_blocks(session)[0]["text"] == now[0]["text"]


def test_an_in_process_host_commits_its_runtimes_together(inn: Inn) -> None:
    session = inn.open({"study": STUDY})
    payload = {
        "updates": [{"id": "study", "expectedVersion": 1, "value": 5}],
        "source": {"resultId": "tale", "turnNumber": 1},
        "readVersions": {"study": 1},
    }
    units = [
        Unit("diary", "diary", (Proposal("plugin.data", {"namespace": "_dimensions"}),)),
        Unit("tracker", "innkeeper", (Proposal("dimension.update", payload),)),
    ]
    done = inn.service.execute(session, "turn-1", units, narratives=["tale"], tracker="tracker")
    assert list(done.refused) == ["diary"]
    assert (inn.value(session, "study"), inn.status(session, "tale")) == (5, "settled")
