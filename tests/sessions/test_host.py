"""The session host: identity, events, turns, timelines, branches (design §8, spec/http.md)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.ledger.sqlite import SqliteLedger
from runtime.ledger.tables import CARDS
from runtime.sessions.branches import Branches
from runtime.sessions.host import SessionHost
from runtime.sessions.playthroughs import Playthroughs
from runtime.values.rows import InnkeeperError


class World:
    """A host with counted ids, a counted clock and one card of three greetings."""

    def __init__(self) -> None:
        numbers = itertools.count(1)
        self.ledger = SqliteLedger(None)
        self.host = SessionHost(
            self.ledger, deployment="deployment-1", new_id=lambda: f"id-{next(numbers)}", now=lambda: 1_700_000_000_000
        )
        self.playthroughs = Playthroughs(self.host)
        self.branches = Branches(self.host)
        card = {"id": "card", "sha": "0", "name": "Card", "generation": 1, "raw": b"", "summary": {"greetings": 3}}
        self.ledger.write(lambda tx: tx.insert(CARDS, card))
        self._operations = itertools.count(1)

    def operation(self) -> str:
        """A fresh operation id."""
        return f"op-{next(self._operations)}"

    def begin(self, **more: Any) -> dict[str, Any]:
        """A playthrough of the card."""
        return self.playthroughs.create("card", self.operation(), **more)

    def turn(self, session: str, text: str = "fine") -> dict[str, Any]:
        """One completed turn."""
        return self.host.turn(session, {"text": "hello"}, {"text": text}, self.operation())


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.ledger.close()


def code_of(error: pytest.ExceptionInfo[InnkeeperError]) -> str:
    return error.value.code


def test_a_playthrough_has_a_root_session_and_a_selection(world: World) -> None:
    begun = world.begin(greeting_index=2, session_id="mine", created_at=5)
    assert begun["sessionId"] == "mine"
    assert begun["greetingIndex"] == 2
    assert len(begun["selectionToken"]) == 64
    header = world.host.session("mine")
    assert header == {
        "sessionId": "mine",
        "createdAt": 5,
        "formatVersion": 1,
        "nextSeq": 0,
        "lastTurn": None,
        "running": False,
        "playthroughId": begun["playthroughId"],
    }
    assert world.playthroughs.read(begun["playthroughId"])["timeline"] == []


def test_the_same_operation_answers_the_same_and_another_request_conflicts(world: World) -> None:
    first = world.playthroughs.create("card", "once")
    assert world.playthroughs.create("card", "once") == first
    with pytest.raises(InnkeeperError) as error:
        world.playthroughs.create("card", "once", greeting_index=1)
    assert code_of(error) == "HOST_IDEMPOTENCY_CONFLICT"


@pytest.mark.parametrize(
    ("index", "code"),
    [(3, "HOST_REQUEST"), (-1, "HOST_REQUEST"), (True, "HOST_REQUEST"), ("0", "HOST_REQUEST"), (0.5, "HOST_REQUEST")],
)
def test_a_greeting_that_the_card_does_not_have_is_refused(world: World, index: object, code: str) -> None:
    with pytest.raises(InnkeeperError) as error:
        world.begin(greeting_index=index)
    assert code_of(error) == code


def test_another_creation_time_under_a_known_id_is_refused(world: World) -> None:
    world.branches.create_session(world.operation(), session_id="s", created_at=1)
    assert world.branches.create_session(world.operation(), session_id="s", created_at=1)["createdAt"] == 1
    with pytest.raises(InnkeeperError) as error:
        world.branches.create_session(world.operation(), session_id="s", created_at=2)
    assert code_of(error) == "MVU_SESSION_IDENTITY"


def test_turns_append_events_and_grow_the_timeline(world: World) -> None:
    begun = world.begin()
    first, second = world.turn(begun["sessionId"]), world.turn(begun["sessionId"])
    assert (first["turn"], second["turn"]) == (1, 2)
    assert (first["endEventId"], second["endEventId"]) == (2, 6)
    found = world.host.events(begun["sessionId"])
    assert [event["type"] for event in found["events"]][:4] == [
        "turn/start",
        "user/message",
        "assistant/message",
        "turn/end",
    ]
    assert found["nextSeq"] == 8
    timeline = world.playthroughs.read(begun["playthroughId"])["timeline"]
    assert [node["turn"] for node in timeline] == [1, 2]
    assert [node["active"] for node in timeline] == [first["variantId"], second["variantId"]]


def test_events_are_appended_at_the_expected_place_only(world: World) -> None:
    session = world.begin()["sessionId"]
    events = [{"type": "model/selection", "data": {"provider": "p", "model": "m"}}]
    assert world.host.append(session, 0, events, "a")["nextSeq"] == 1
    assert world.host.append(session, 0, events, "a")["nextSeq"] == 1
    with pytest.raises(InnkeeperError) as error:
        world.host.append(session, 0, events, "b")
    assert (code_of(error), error.value.details) == ("SEQUENCE_CONFLICT", {"nextSeq": 1})


BAD_EVENTS: list[Any] = [
    "text",
    {},
    {"type": 3},
    {"type": "turn/start"},
    {"type": "turn/start", "turn": True},
    {"type": "turn/start", "turn": -1},
    {"type": "turn/end", "turn": 1},
    {"type": "assistant/message", "id": "x"},
    {"type": "assistant/message", "id": 3, "text": "x"},
    {"type": "user/message", "text": 5},
    {"type": "turn/end", "turn": 1, "reason": {"kind": "completed"}},
]


@pytest.mark.parametrize("event", BAD_EVENTS, ids=[json.dumps(event) for event in BAD_EVENTS])
def test_malformed_events_append_nothing(world: World, event: object) -> None:
    session = world.begin()["sessionId"]
    with pytest.raises(InnkeeperError) as error:
        world.host.append(session, 0, [{"type": "note", "data": 1}, event], world.operation())
    assert code_of(error) == "HOST_EVENT"
    assert world.host.session(session)["nextSeq"] == 0


def test_a_message_id_is_used_once(world: World) -> None:
    session = world.begin()["sessionId"]
    world.host.turn(session, {"text": "a"}, {"id": "r1", "text": "b"}, world.operation())
    with pytest.raises(InnkeeperError) as error:
        world.host.turn(session, {"text": "a"}, {"id": "r1", "text": "b"}, world.operation())
    assert code_of(error) == "HOST_EVENT"


def test_a_running_turn_refuses_another(world: World) -> None:
    session = world.begin()["sessionId"]
    world.host.append(session, 0, [{"type": "turn/start", "turn": 1}], world.operation())
    assert world.host.session(session)["running"] is True
    with pytest.raises(InnkeeperError) as error:
        world.turn(session)
    assert code_of(error) == "SESSION_RUNNING"


def test_a_swipe_is_another_variant_of_the_same_node(world: World) -> None:
    begun = world.begin()
    first = world.turn(begun["sessionId"])
    second = world.turn(begun["sessionId"])
    child = world.branches.branch(begun["sessionId"], "reply-swipe", second["endEventId"], world.operation())
    assert world.host.session(child["sessionId"])["nextSeq"] == 4
    again = world.turn(child["sessionId"], "otherwise")
    assert again["turn"] == 2
    timeline = world.playthroughs.read(begun["playthroughId"])["timeline"]
    assert [len(node["variants"]) for node in timeline] == [1, 2]
    assert timeline[1]["active"] == again["variantId"]
    back = world.playthroughs.activate(begun["playthroughId"], second["nodeId"], second["variantId"], world.operation())
    assert back["timeline"][1]["active"] == second["variantId"]
    assert back["timeline"][0]["active"] == first["variantId"]


def test_a_swipe_of_the_first_reply_starts_empty(world: World) -> None:
    begun = world.begin()
    first = world.turn(begun["sessionId"])
    child = world.branches.branch(begun["sessionId"], "reply-swipe", first["endEventId"], world.operation())
    header = world.host.session(child["sessionId"])
    assert (header["nextSeq"], header.get("parent")) == (0, None)
    assert header["playthroughId"] == begun["playthroughId"]


def test_a_fork_refers_to_its_ancestors_nodes(world: World) -> None:
    begun = world.begin()
    first = world.turn(begun["sessionId"])
    world.turn(begun["sessionId"])
    child = world.branches.branch(begun["sessionId"], "fork", first["endEventId"], world.operation())
    assert child["playthroughId"] != begun["playthroughId"]
    assert world.host.events(child["sessionId"])["events"] == world.host.events(begun["sessionId"])["events"][:4]
    timeline = world.playthroughs.read(child["playthroughId"])["timeline"]
    assert [node["nodeId"] for node in timeline] == [first["nodeId"]]
    assert timeline[0]["variants"][0]["sessionId"] == begun["sessionId"]
    after = world.turn(child["sessionId"])
    assert after["turn"] == 2
    assert len(world.playthroughs.read(child["playthroughId"])["timeline"]) == 2
    assert len(world.playthroughs.read(begun["playthroughId"])["timeline"]) == 2


def test_a_fork_of_a_fork_reads_through_both(world: World) -> None:
    begun = world.begin()
    first = world.turn(begun["sessionId"], "one")
    child = world.branches.branch(begun["sessionId"], "fork", first["endEventId"], world.operation())
    second = world.turn(child["sessionId"], "two")
    grandchild = world.branches.branch(child["sessionId"], "fork", second["endEventId"], world.operation())
    texts = [
        e["text"] for e in world.host.events(grandchild["sessionId"])["events"] if e["type"] == "assistant/message"
    ]
    assert texts == ["one", "two"]
    third = world.turn(grandchild["sessionId"], "three")
    assert (third["turn"], third["endEventId"]) == (3, 10)


def test_a_deleted_parent_leaves_its_children_whole(world: World) -> None:
    begun = world.begin()
    first = world.turn(begun["sessionId"], "one")
    child = world.branches.branch(begun["sessionId"], "fork", first["endEventId"], world.operation())
    assert world.host.delete_session(begun["sessionId"], world.operation()) == {"ok": True}
    with pytest.raises(InnkeeperError) as error:
        world.host.session(begun["sessionId"])
    assert code_of(error) == "SESSION_DELETED"
    assert len(world.host.events(child["sessionId"])["events"]) == 4


def test_a_retry_needs_an_aborted_last_turn(world: World) -> None:
    session = world.begin()["sessionId"]
    aborted = [
        {"type": "turn/start", "turn": 1},
        {"type": "user/message", "id": "u1", "turn": 1, "text": "hello", "source": {"kind": "user"}},
        {"type": "turn/end", "turn": 1, "reason": {"kind": "aborted"}},
    ]
    world.host.append(session, 0, aborted, world.operation())
    child = world.branches.branch(session, "request-retry", 1, world.operation())
    assert world.host.session(child["sessionId"])["nextSeq"] == 0
    for at in (0, 2, 9):
        with pytest.raises(InnkeeperError) as error:
            world.branches.branch(session, "request-retry", at, world.operation())
        assert code_of(error) == "MVU_SEED"


@pytest.mark.parametrize("at", [0, 1, 3, 99, -1, True, "2", None])
def test_a_fork_needs_a_reply(world: World, at: object) -> None:
    begun = world.begin()
    world.turn(begun["sessionId"])
    with pytest.raises(InnkeeperError) as error:
        world.branches.branch(begun["sessionId"], "fork", at, world.operation())
    assert code_of(error) == "MVU_SEED"


def test_selections_count_generations_and_tokens_never_come_back(world: World) -> None:
    begun = world.begin()
    tokens = {begun["selectionToken"]}
    for index in (1, 0, 1):
        answer = world.playthroughs.select_greeting(
            begun["playthroughId"], begun["sessionId"], index, world.operation()
        )
        assert answer["selectionToken"] not in tokens
        tokens.add(answer["selectionToken"])
    world.turn(begun["sessionId"])
    with pytest.raises(InnkeeperError) as error:
        world.playthroughs.select_greeting(begun["playthroughId"], begun["sessionId"], 0, world.operation())
    assert code_of(error) == "MVU_READ_ONLY"


def test_listeners_hear_of_commits_only(world: World) -> None:
    heard: list[tuple[str, str]] = []
    session = world.begin()["sessionId"]
    dispose = world.host.listen(lambda name, notice: heard.append((name, notice["kind"])))
    world.turn(session)
    with pytest.raises(InnkeeperError):
        world.host.append(session, 0, [{"type": "note"}], world.operation())
    assert heard == [(session, "events")]
    dispose()
    world.turn(session)
    assert len(heard) == 1


def test_the_way_visited_last_leads_on_where_a_stopped_turn_left_two(world: World) -> None:
    begun = world.begin()
    session = begun["sessionId"]
    aborted = [
        {"type": "turn/start", "turn": 1},
        {"type": "user/message", "id": "u1", "turn": 1, "text": "hello", "source": {"kind": "user"}},
        {"type": "turn/end", "turn": 1, "reason": {"kind": "aborted"}},
    ]
    world.host.append(session, 0, aborted, world.operation())
    retried = world.branches.branch(session, "request-retry", 1, world.operation())["sessionId"]
    first, second = world.turn(session), world.turn(retried)

    def active() -> list[str]:
        timeline = world.playthroughs.read(begun["playthroughId"])["timeline"]
        return [node["nodeId"] for node in timeline if node["active"] is not None]

    assert active() == [second["nodeId"]]
    world.playthroughs.activate(begun["playthroughId"], first["nodeId"], first["variantId"], world.operation())
    assert active() == [first["nodeId"]]
