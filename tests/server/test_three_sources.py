"""All three kinds of state move together with the session (design §1, §8)."""

from __future__ import annotations

from typing import Any

import pytest

from server.bundled import example_packs
from tests.mvu.stage import card_bytes, delta
from tests.server.stage import Client

DEFINITIONS = {
    "oil": {
        "name": "Lamp oil",
        "schema": {"type": "integer", "minimum": 0, "maximum": 40},
        "initialValue": 12,
        "updateRule": "Falls as the lamp burns.",
    }
}


def pack_files() -> dict[str, str]:
    folder = next(path for path in example_packs() if path.name == "lantern-ferry")
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()
    }


def turn(client: Client, session: str, reply: str) -> dict[str, Any]:
    return client.post(f"/host/sessions/{session}/turns", {"user": {"text": "I wait."}, "reply": {"text": reply}})


def oil(client: Client, session: str) -> Any:
    return client.get(f"/dimensions/sessions/{session}")["dimensions"]["oil"]["value"]


def settle(client: Client, session: str, turn_: dict[str, Any], value: int) -> None:
    pending = next(receipt for receipt in turn_["receipts"] if receipt["source"] == "dimensions")
    arguments = {"updates": [{"id": "oil", "value": value}], "followsClock": []}
    body = {"resultId": pending["resultId"], "arguments": arguments}
    answer = client.call("POST", f"/dimensions/sessions/{session}/settle", json=body)
    assert (answer.status_code, answer.json()["settlement"]["status"]) == (200, "settled"), answer.text


@pytest.fixture
def begun(client: Client) -> dict[str, Any]:
    """A playthrough with variables, dimensions and a world."""
    client.card(card_bytes("hp: 100\n"), "three")
    found = client.post("/host/playthroughs", {"characterId": "three"})
    world = client.call("POST", "/dimensions/worlds", json={"worldId": "lamp", "definitions": DEFINITIONS})
    assert world.status_code == 200, world.text
    client.post(f"/dimensions/sessions/{found['sessionId']}/bind", {"worldId": "lamp"})
    pack = client.call("POST", "/world/packs", json={"files": pack_files()})
    assert pack.json()["ok"] is True, pack.text
    client.post(
        "/world/sessions",
        {"packId": pack.json()["packId"], "role": "author", "sessionId": found["sessionId"], "seed": "s"},
    )
    return found


def test_a_fork_and_a_swipe_carry_all_three(client: Client, begun: dict[str, Any]) -> None:
    session = begun["sessionId"]
    first = turn(client, session, delta("hp", -10))
    assert {receipt["source"] for receipt in first["receipts"]} == {"mvu", "dimensions", "world"}
    settle(client, session, first, 9)
    state = client.get(f"/world/sessions/{session}")
    second = turn(client, session, delta("hp", -10))
    settle(client, session, second, 5)
    fork = client.post(f"/host/sessions/{session}/fork", {"atEventId": first["endEventId"]})["sessionId"]
    swipe = client.post(f"/host/sessions/{session}/swipe", {"atEventId": second["endEventId"]})["sessionId"]
    for child in (fork, swipe):
        record = client.get("/mvu/resources", scope={"authority": "local", "sessionId": child})["records"][0]
        assert record["content"]["stat_data"] == {"hp": 90}
        assert oil(client, child) == 9
        assert client.get(f"/world/sessions/{child}")["turn"] == state["turn"]
    assert oil(client, session) == 5
    header = client.get(f"/host/sessions/{fork}")
    assert header["dimensions"]
    assert header["world"]


def test_an_unsettled_narrative_blocks_the_next_turn(client: Client, begun: dict[str, Any]) -> None:
    session = begun["sessionId"]
    turn(client, session, "The lamp burns.")
    body = {"user": {"text": "x"}, "reply": {"text": "y"}, "operationId": client.op()}
    answer = client.send(f"/host/sessions/{session}/turns", body, 409, "DIMENSION_SETTLEMENT_PENDING")
    assert answer["error"]
    assert client.get(f"/host/sessions/{session}")["lastTurn"] == 1


def test_a_prompt_holds_the_blocks_of_all_three(client: Client, begun: dict[str, Any]) -> None:
    body = {"include": ["mvu", "dimensions", "world"]}
    found = client.call("POST", f"/host/sessions/{begun['sessionId']}/prompt", json=body).json()
    assert len(found["blocks"]) >= 3
    assert {block["role"] for block in found["blocks"]} == {"system"}
