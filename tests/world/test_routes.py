"""The world's routes over HTTP (spec/http.md, World kernel)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from server.app import PREFIX, _route, open_context
from server.config import Config
from server.http import Dispatcher
from server.routes.world import ENDPOINTS
from server.routing import Endpoint
from tests.world.support import FERRY, PACKS, files_of

TOKEN = "a-token-for-tests"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """A server with the world's routes."""
    context = open_context(Config(tmp_path, host_token=TOKEN, packs_dir=PACKS))
    dispatch = Dispatcher(context)
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(PREFIX + endpoint.path, {})[endpoint.method] = endpoint
    routes: list[Route] = [
        _route(context, dispatch, path, by_path[path]) for path in sorted(by_path, key=lambda p: p.count("{"))
    ]
    with TestClient(Starlette(routes=routes), headers={"authorization": f"Bearer {TOKEN}"}) as opened:
        yield opened
    context.runtime.close()


def post(client: TestClient, path: str, body: Any, status: int = 200) -> dict[str, Any]:
    response = client.post(PREFIX + path, json=body)
    assert response.status_code == status, response.text
    answer: dict[str, Any] = response.json()
    return answer


def get(client: TestClient, path: str, status: int = 200) -> dict[str, Any]:
    response = client.get(PREFIX + path)
    assert response.status_code == status, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_an_evening_over_http(client: TestClient) -> None:
    pack = post(client, "/world/packs", {"directory": "lantern-ferry"})
    assert (pack["ok"], pack["diagnostics"]) == (True, [])
    opened = post(client, "/world/sessions", {"packId": "lantern-ferry", "role": "play", "operationId": "o"})
    name = opened["sessionId"]
    where = f"/world/sessions/{name}"
    said = post(client, f"{where}/message", {"text": "I examine the crate", "expectedTurn": 0, "operationId": "m"})
    assert said["forced"][0]["status"] == "ran"
    body = {"text": "I examine the crate", "expectedTurn": 0, "operationId": "again"}
    conflict = post(client, f"{where}/message", body, 409)
    assert (conflict["code"], conflict["details"]) == ("WORLD_TURN_CONFLICT", {"turn": 1})
    intent = {"type": "fact", "pointer": "scene", "value": "x"}
    refused = post(client, f"{where}/turn", {"intent": intent, "expectedTurn": 1, "operationId": "t"})
    assert (refused["ok"], refused["code"]) == (False, "CHANNEL_VIOLATION")
    assert get(client, f"{where}/events?from=0&limit=10")["total"] == 1
    assert "Corrow" in get(client, f"{where}/context")["text"]
    assert len(get(client, "/world/tools?role=author")["tools"]) == 9
    assert post(client, f"{where}/match", {"tags": ["cost"]})["forced"][0]["checkId"] == "cost"
    tool = post(client, f"{where}/tools/lore_get", {"arguments": {"key": "pip"}, "operationId": "l"})
    assert tool["receipt"]["kind"] == "lore"
    back = post(client, f"{where}/command", {"text": "/retry", "expectedTurn": 1, "operationId": "r"})
    assert get(client, f"/world/sessions/{back['sessionId']}")["turn"] == 0
    assert get(client, where)["turn"] == 1
    assert get(client, "/world/packs/lantern-ferry")["title"] == "The Last Ferry to Corrow"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/world/packs", {"directory": "../.."}, 403, "WORLD_PACK_PATH"),
        ("/world/packs", {"file": {}}, 400, "UNKNOWN_KEY"),
        ("/world/sessions", {"packId": "none", "role": "play", "operationId": "x"}, 404, "WORLD_PACK_UNKNOWN"),
        ("/world/sessions/none/match", {"tags": []}, 404, "WORLD_SESSION_UNKNOWN"),
    ],
)
def test_refusals_have_their_status(client: TestClient, path: str, body: Any, status: int, code: str) -> None:
    answer = post(client, path, body, status)
    assert (answer["ok"], answer["code"]) == (False, code)
    assert answer["error"]


def test_the_wrong_token_opens_nothing(client: TestClient) -> None:
    response = client.get(PREFIX + "/world/tools", headers={"authorization": "Bearer wrong"})
    assert response.status_code == 401
    assert client.post(PREFIX + "/world/packs", json={"files": files_of(FERRY)}).json()["ok"]


def test_a_bad_page_of_events_is_refused(client: TestClient) -> None:
    assert get(client, "/world/sessions/x/events?from=-1", 400)["code"] == "WORLD_REQUEST"
