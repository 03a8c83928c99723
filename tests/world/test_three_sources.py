"""A world beside MVU variables in one session: /retry and forks move both (spec/worldkernel.md §00.7)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.assembly import Runtime, open_runtime
from runtime.world import api
from tests.world.support import FERRY, files_of

CARD = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        "name": "Wren",
        "first_mes": "The ferry waits.",
        "character_book": {
            "entries": [{"id": 1, "keys": [], "comment": "[InitVar]", "content": "coins: 3\n", "enabled": True}]
        },
    },
}


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    numbers = itertools.count(1)
    opened = open_runtime(
        tmp_path / "inn.sqlite", with_sandbox=False, new_id=lambda: f"id-{next(numbers)}", now=lambda: next(numbers)
    )
    yield opened
    opened.close()


def post(runtime: Runtime, endpoint: str, *arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = runtime.world.write(lambda service: getattr(api, endpoint)(service, *arguments))
    return answer


def world(runtime: Runtime, session_id: str) -> dict[str, Any]:
    state: dict[str, Any] = runtime.world.read(lambda service: api.get_session(service, session_id))["state"]
    return state


def begun(runtime: Runtime) -> tuple[str, int]:
    """A session of a card with a world bound to it, and how many variables it has."""
    runtime.cards.add(json.dumps(CARD).encode(), "wren")
    session_id = str(runtime.playthroughs.create("wren", "begin")["sessionId"])
    post(runtime, "post_pack", {"files": files_of(FERRY)})
    body = {"packId": "lantern-ferry", "role": "play", "sessionId": session_id, "operationId": "open", "seed": "x"}
    post(runtime, "post_session", body)
    return session_id, len(runtime.sessions.session(session_id)["resources"])


def plays(runtime: Runtime, session_id: str, number: int, reply: str) -> dict[str, Any]:
    """A whole turn: the message for the world, then the model's reply."""
    turn = world(runtime, session_id)["turn"]
    body = {"text": "I examine it", "expectedTurn": turn, "operationId": f"m{number}"}
    post(runtime, "post_message", session_id, body)
    return runtime.sessions.turn(session_id, {"text": "I examine it"}, {"text": reply}, f"t{number}")


def test_one_turn_gives_receipts_of_both(runtime: Runtime) -> None:
    session_id, count = begun(runtime)
    assert count == 1
    receipts = plays(runtime, session_id, 1, "_.set('coins', 3, 4);")["receipts"]
    assert {(receipt["source"], receipt["status"]) for receipt in receipts} == {
        ("mvu", "applied"),
        ("world", "applied"),
    }
    header = runtime.sessions.session(session_id)
    assert (header["world"]["turn"], header["world"]["packId"]) == (1, "lantern-ferry")


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_retry_carries_both_sources(runtime: Runtime, turns: int) -> None:
    session_id, count = begun(runtime)
    for number in range(1, turns + 1):
        plays(runtime, session_id, number, f"_.set('coins', {3 + number});")
    before = runtime.sessions.session(session_id)
    back = post(runtime, "post_command", session_id, {"text": "/retry", "expectedTurn": turns, "operationId": "r"})
    child = back["sessionId"]
    assert world(runtime, child)["turn"] == turns - 1
    header = runtime.sessions.session(child)
    assert len(header["resources"]) == count
    assert plays(runtime, child, 9, "_.set('coins', 40);")["receipts"][0]["status"] == "applied"
    assert runtime.sessions.session(session_id) == before
    check = [event for event in runtime.sessions.events(child)["events"] if event["type"] == "world/check"][-1]
    first = [event for event in runtime.sessions.events(session_id)["events"] if event["type"] == "world/check"][-1]
    assert check["xi"] == first["xi"]


def test_retry_after_the_last_turn(runtime: Runtime) -> None:
    session_id, count = begun(runtime)
    plays(runtime, session_id, 1, "_.set('coins', 4);")
    intent = {"type": "check", "checkId": "cost", "actors": {"bearer": "wren"}}
    post(runtime, "post_turn", session_id, {"intent": intent, "expectedTurn": 1, "operationId": "c"})
    back = post(runtime, "post_command", session_id, {"text": "/retry cost", "expectedTurn": 2, "operationId": "r"})
    assert world(runtime, back["sessionId"])["turn"] == 1
    assert len(runtime.sessions.session(back["sessionId"])["resources"]) == count


def test_retry_before_the_first_turn(runtime: Runtime) -> None:
    session_id, count = begun(runtime)
    intent = {"type": "check", "checkId": "cost", "actors": {"bearer": "wren"}}
    post(runtime, "post_turn", session_id, {"intent": intent, "expectedTurn": 0, "operationId": "c"})
    back = post(runtime, "post_command", session_id, {"text": "/retry", "expectedTurn": 1, "operationId": "r"})
    assert world(runtime, back["sessionId"])["turn"] == 0
    assert len(runtime.sessions.session(back["sessionId"])["resources"]) == count
    assert plays(runtime, back["sessionId"], 1, "_.set('coins', 9);")["turn"] == 1
