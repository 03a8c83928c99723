"""The world on the shared ledger: one log, forks and retries with the session (spec/worldkernel.md §00.7)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.archive import export_playthrough, import_playthrough
from runtime.ledger.contract import Row, Transaction
from runtime.ledger.sqlite import SqliteLedger
from runtime.ledger.tables import PLAYTHROUGHS, SESSIONS
from runtime.sessions.branches import Branches
from runtime.sessions.events import Event as SessionEvent
from runtime.sessions.host import SessionHost
from runtime.sessions.store import read_events
from runtime.values.rows import InnkeeperError
from runtime.world import api
from runtime.world.ledger_store import EventCache, HostPorts
from runtime.world.limits import SNAPSHOT_EVENTS
from runtime.world.service import WorldService, WorldSettings
from runtime.world.source import WorldSource
from tests.world.support import FERRY, files_of


@dataclass
class Inn:
    """A session host with the world as its only source."""

    host: SessionHost
    branches: Branches
    world: WorldSource

    def post(self, endpoint: str, *arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.world.write(lambda service: getattr(api, endpoint)(service, *arguments))
        return answer

    def state(self, session_id: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.world.read(lambda service: api.get_session(service, session_id))["state"]
        return answer


def inn_on(path: Path, first: int = 0) -> Inn:
    numbers = itertools.count(first + 1)
    ledger = SqliteLedger(path)
    host = SessionHost(ledger, deployment="test", new_id=lambda: f"id-{next(numbers)}", now=lambda: next(numbers))
    branches = Branches(host)

    settings = WorldSettings(lambda: f"seed-{next(numbers)}", lambda: f"world-{next(numbers)}", test_mode=True)
    ports = HostPorts(host.insert_session, host.add_events, branches.branch_at)
    world = WorldSource(ledger, ports, settings)
    host.sources.append(world)
    return Inn(host, branches, world)


@pytest.fixture
def inn(tmp_path: Path) -> Iterator[Inn]:
    opened = inn_on(tmp_path / "inn.sqlite")
    opened.post("post_pack", {"files": files_of(FERRY)})
    opened.post(
        "post_session",
        {"packId": "lantern-ferry", "role": "play", "sessionId": "s", "seed": "x", "operationId": "open"},
    )
    yield opened
    opened.host.ledger.close()


def fact(inn: Inn, session_id: str, name: str, value: Any, turn: int) -> dict[str, Any]:
    intent = {"type": "fact", "pointer": f"facts.{name}", "value": value}
    return inn.post("post_turn", session_id, {"intent": intent, "expectedTurn": turn, "operationId": f"{name}-{turn}"})


def told(inn: Inn, session_id: str, text: str, reply: str, operation_id: str) -> dict[str, Any]:
    return inn.host.turn(session_id, {"text": text}, {"text": reply}, operation_id)


def test_story_events_stand_in_the_log_of_the_session(inn: Inn) -> None:
    fact(inn, "s", "clue_one", "felt", 0)
    said = inn.post("post_message", "s", {"text": "I outrow Harrow", "expectedTurn": 1, "operationId": "m"})
    log = inn.host.events("s")["events"]
    assert [event["type"] for event in log] == ["world/fact", "world/stage", "world/check"]
    assert log[2]["check_id"] == "contest"
    assert inn.state("s") == said["state"]
    assert inn.host.session("s")["world"]["turn"] == 2


def test_a_turn_needs_its_forced_checks_and_gets_a_receipt(inn: Inn) -> None:
    text = "I examine the ledger"
    with pytest.raises(InnkeeperError) as caught:
        told(inn, "s", text, "Now I understand everything.", "t0")
    assert caught.value.code == "FORCED_CHECK_MISSING"
    assert inn.host.events("s")["events"] == []
    inn.post("post_message", "s", {"text": text, "expectedTurn": 0, "operationId": "m"})
    receipt = told(inn, "s", text, "The lantern flares.", "t1")["receipts"][0]
    assert (receipt["source"], receipt["status"], receipt["revision"]) == ("world", "applied", 1)
    assert {change["path"] for change in receipt["changes"]} == {"/facts/truth_known", "/facts/misjudged"}
    assert [item["code"] for item in receipt["diagnostics"]] == ["UNCAUSED_CLAIM"]
    quiet = told(inn, "s", "I hum", "Nothing happens.", "t2")["receipts"][0]
    assert (quiet["status"], quiet["changes"], quiet["diagnostics"]) == ("no-update", [], [])


def test_a_fork_and_a_swipe_carry_the_world(inn: Inn) -> None:
    fact(inn, "s", "one", 1, 0)
    first = told(inn, "s", "hello", "a reply", "t1")
    fact(inn, "s", "two", 2, 1)
    second = told(inn, "s", "again", "another reply", "t2")
    fact(inn, "s", "three", 3, 2)
    fork = inn.branches.branch("s", "fork", first["endEventId"], "f", "forked")["sessionId"]
    assert (inn.state(fork)["facts"].get("one"), inn.state(fork)["facts"].get("two")) == (1, None)
    swipe = inn.branches.branch("s", "reply-swipe", second["endEventId"], "w", "swiped")["sessionId"]
    facts = inn.state(swipe)["facts"]
    assert (facts.get("one"), facts.get("two"), facts.get("three")) == (1, 2, None)
    fact(inn, fork, "other", 9, 1)
    assert "other" not in inn.state("s")["facts"]
    assert inn.state("s")["facts"]["three"] == 3
    grandchild = inn.branches.branch(fork, "fork", first["endEventId"], "g", "grand")["sessionId"]
    assert "other" not in inn.state(grandchild)["facts"]


def test_a_ticket_without_inherited_events_carries_the_state(inn: Inn) -> None:
    fact(inn, "s", "one", 1, 0)
    reply = told(inn, "s", "hello", "a reply", "t1")
    fact(inn, "s", "two", 2, 1)
    seed = inn.branches.capture_seed("s", "reply-swipe", reply["endEventId"], "c", target="fresh")
    inn.branches.create_session("n", session_id="fresh", seed_ticket=seed["ticket"])
    facts = inn.state("fresh")["facts"]
    assert (facts.get("one"), facts.get("two")) == (1, None)
    assert inn.state("fresh")["turn"] == 1


def test_retry_forks_the_session_before_the_check(inn: Inn) -> None:
    fact(inn, "s", "one", 1, 0)
    first = inn.post("post_message", "s", {"text": "I outrow Harrow", "expectedTurn": 1, "operationId": "m"})
    fact(inn, "s", "two", 2, 2)
    back = inn.post("post_command", "s", {"text": "/retry", "expectedTurn": 3, "operationId": "r"})
    assert back["sessionId"] == "s~retry"
    child = inn.state("s~retry")
    assert (child["turn"], child["present"], child["facts"]["one"], "two" in child["facts"]) == (
        1,
        ["wren", "harrow"],
        1,
        False,
    )
    assert [event["type"] for event in inn.host.events("s~retry")["events"]] == ["world/fact", "world/stage"]
    intent = {"type": "check", "checkId": "contest", "actors": first["forced"][0]["actors"]}
    again = inn.post("post_turn", "s~retry", {"intent": intent, "expectedTurn": 1, "operationId": "t"})
    assert again["receipt"]["xi"] == first["receipts"][0]["xi"]
    repeated = inn.post("post_command", "s", {"text": "/retry", "expectedTurn": 3, "operationId": "r"})
    assert repeated == back
    assert inn.state("s")["facts"]["two"] == 2


def test_a_world_survives_a_restart_with_its_own_rules(inn: Inn, tmp_path: Path) -> None:
    fact(inn, "s", "one", 1, 0)
    files = files_of(FERRY)
    files["checks/insight.yaml"] = files["checks/insight.yaml"].replace("0.35 +", "0.99 +")
    inn.post("post_pack", {"files": files})
    before = inn.state("s")
    inn.host.ledger.close()
    again = inn_on(tmp_path / "inn.sqlite")
    assert again.state("s") == before
    intent = {"type": "check", "checkId": "insight", "actors": {"seer": "wren"}}
    answer = again.post("post_turn", "s", {"intent": intent, "expectedTurn": 1, "operationId": "t"})
    assert answer["receipt"]["p"] == pytest.approx(0.35 + 0.25 + 0.12)
    again.host.ledger.close()
    inn.host.ledger = again.host.ledger


def test_a_session_has_one_world(inn: Inn) -> None:
    body = {"packId": "lantern-ferry", "role": "author", "sessionId": "s", "operationId": "second"}
    with pytest.raises(InnkeeperError) as caught:
        inn.post("post_session", body)
    assert caught.value.code == "WORLD_SESSION_EXISTS"
    inn.branches.create_session("host", session_id="mine")
    inn.post("post_session", {**body, "sessionId": "mine"})
    assert inn.host.session("mine")["world"]["role"] == "author"
    with pytest.raises(InnkeeperError) as unknown:
        inn.state("none")
    assert unknown.value.code == "WORLD_SESSION_UNKNOWN"


def test_an_export_carries_the_world_and_its_rules(inn: Inn, tmp_path: Path) -> None:
    def as_playthrough(tx: Transaction) -> None:
        row = {"id": "p", "character_id": None, "root_session_id": "s", "user_name": None, "epoch": 0}
        tx.insert(PLAYTHROUGHS, {**row, "head_node": None, "created_at": 1})
        tx.update(SESSIONS, ("s",), {"playthrough_id": "p"})

    inn.host.ledger.write(as_playthrough)
    fact(inn, "s", "one", 1, 0)
    told(inn, "s", "hello", "a reply", "t1")
    before = inn.state("s")
    document = json.loads(json.dumps(export_playthrough(inn.host.ledger, "p")))
    elsewhere = inn_on(tmp_path / "elsewhere.sqlite")
    import_playthrough(elsewhere.host.ledger, document)
    assert elsewhere.state("s") == before
    intent = {"type": "check", "checkId": "insight", "actors": {"seer": "wren"}}
    body = {"intent": intent, "expectedTurn": 1, "operationId": "t"}
    assert elsewhere.post("post_turn", "s", body) == inn.post("post_turn", "s", body)
    assert json.loads(json.dumps(export_playthrough(elsewhere.host.ledger, "p"))) == json.loads(
        json.dumps(export_playthrough(inn.host.ledger, "p"))
    )
    elsewhere.host.ledger.close()


def test_a_failed_transaction_leaves_nothing_in_memory(inn: Inn) -> None:
    fact(inn, "s", "one", 1, 0)

    def fails(service: WorldService) -> None:
        intent = {"type": "fact", "pointer": "facts.two", "value": 2}
        api.post_turn(service, "s", {"intent": intent, "expectedTurn": 1, "operationId": "lost"})
        assert api.get_session(service, "s")["turn"] == 2
        raise RuntimeError("the power is gone")

    with pytest.raises(RuntimeError):
        inn.world.write(fails)
    assert "two" not in inn.state("s")["facts"]
    assert fact(inn, "s", "three", 3, 1)["turn"] == 2
    assert [event["type"] for event in inn.host.events("s")["events"]] == ["world/fact", "world/fact"]
    assert inn.state("s")["facts"]["three"] == 3


def test_a_log_is_read_once(inn: Inn, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        fact(inn, "s", "count", number, number)
    read: list[int] = []

    def counted(tx: Transaction, session: Row, start: int = 0, limit: int | None = None) -> list[SessionEvent]:
        found = read_events(tx, session, start, limit)
        read.append(len(found))
        return found

    monkeypatch.setattr("runtime.world.ledger_store.sessions.read_events", counted)
    assert inn.state("s")["facts"]["count"] == 4
    assert sum(read) <= 1


def test_the_memory_of_logs_is_bounded() -> None:
    cache = EventCache(most=2)
    for name in ("a", "b", "c"):
        cache.put(name, 3, ({"type": "fact"},))
    assert cache.get("a") == (0, ())
    cache.put("c", 2, ())
    assert cache.get("c") == (3, ({"type": "fact"},))


def test_snapshots_are_inherited(inn: Inn) -> None:
    for number in range(SNAPSHOT_EVENTS.default + 2):
        fact(inn, "s", "count", number, number)
    reply = told(inn, "s", "hello", "a reply", "t1")
    child = inn.branches.branch("s", "fork", reply["endEventId"], "f", "child")["sessionId"]
    assert inn.state(child) == inn.state("s")
    assert inn.state(child)["facts"]["count"] == SNAPSHOT_EVENTS.default + 1
