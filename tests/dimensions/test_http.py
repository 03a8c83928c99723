"""The dimension routes as a caller sees them (``spec/http.md``, Dimensions)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.testclient import TestClient

from server.app import PREFIX, open_context
from server.config import Config
from server.context import Context
from server.http import Dispatcher
from server.routes import dimensions, host
from server.routing import Endpoint
from tests.dimensions.worlds import MINUTE_CLOCK, STORM, STUDY, storm

_operations = itertools.count(1)


def _app(context: Context) -> Starlette:
    """The endpoints of this room and of the host, by path and verb."""
    dispatch = Dispatcher(context)
    routes: list[BaseRoute] = list(dimensions.stream_routes(context, PREFIX, time.time))

    def serve(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            return await dispatch(endpoint, request)

        return handle

    rows = (*dimensions.ENDPOINTS, *host.ENDPOINTS)
    routes.extend(Route(PREFIX + row.path, serve(row), methods=[row.method]) for row in rows)
    return Starlette(routes=routes)


class Client:
    """A host that talks JSON."""

    def __init__(self, context: Context) -> None:
        self.http = TestClient(_app(context), base_url="http://127.0.0.1:8377")

    def send(self, method: str, path: str, body: Any = None, *, status: int = 200, token: str | None = "t") -> Any:
        """One call; an operation id is filled in."""
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        answer = self.http.request(method, PREFIX + path, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, path: str, status: int = 200, **body: Any) -> Any:
        """A mutation."""
        body.setdefault("operationId", f"op-{next(_operations)}")
        return self.send("POST", path, body, status=status)

    def dims(self, path: str, status: int = 200, **body: Any) -> Any:
        """A mutation of the session's dimensions."""
        return self.post(f"/dimensions/sessions/s/{path}", status, **body)

    def get(self, path: str, status: int = 200) -> Any:
        """A read of the session's dimensions."""
        return self.send("GET", f"/dimensions/sessions/s{path}", status=status)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """A bound session ``s`` with a study and a storm."""
    context = open_context(Config(tmp_path, host_token="t"))
    found = Client(context)
    found.post("/dimensions/worlds", worldId="w", definitions={"study": STUDY, "storm": STORM}, clock=MINUTE_CLOCK)
    found.post("/host/sessions", sessionId="s")
    found.dims("bind", worldId="w", locale="en-US")
    yield found
    context.runtime.close()


def test_a_whole_evening(client: Client) -> None:
    turn = client.post("/host/sessions/s/turns", user={"text": "go"}, reply={"id": "r1", "text": "tale"})
    assert turn["receipts"][-1]["narrative"] == {"resultId": "r1", "turnNumber": 1}
    blocked = client.post("/host/sessions/s/turns", 409, user={"text": "on"}, reply={"text": "more"})
    assert blocked["code"] == "DIMENSION_SETTLEMENT_PENDING"
    assert blocked["details"]["source"]["resultId"] == "r1"
    clock = client.dims("clock", turnId="1", move={"amount": 75})
    assert (clock["tick"] - 480, clock["summary"]["elapsedThisTurn"], clock["updated"]) == (75, 75, ["storm"])
    prompt = client.get("/tracker-prompt?resultId=r1")
    assert "<dimension-rules>" in prompt["rules"]
    assert prompt["clock"]["elapsedThisTurn"] == 75
    call = {
        "updates": [{"id": "study", "value": 3}, {"id": "storm", "changes": [{"path": "frontPassed", "value": True}]}]
    }
    settled = client.dims("settle", resultId="r1", arguments=call)
    assert settled["settlement"]["status"] == "settled"
    snapshot = client.get("")
    assert snapshot["dimensions"]["storm"]["value"] == storm(105, "approaching", True)
    assert client.get("?locale=zh-CN")["dimensions"]["study"]["name"] == "学习进度"
    read = client.send("POST", "/dimensions/sessions/s/query", {"queries": [{"dimension": "study"}], "turnId": "1"})
    assert read["results"][0]["value"] == 0
    assert client.post("/host/sessions/s/turns", user={"text": "on"}, reply={"text": "more"})["turn"] == 2
    assert client.get("/clock")["summary"]["elapsedSinceStart"] == 75


def test_conflicts_and_refusals(client: Client) -> None:
    stale = client.dims("update", 409, updates=[{"id": "study", "expectedVersion": 2, "value": 5}])
    assert (stale["code"], stale["details"]["currentVersions"]) == (
        "dimension-version-conflict",
        {"study": 1, "storm": 1},
    )
    bad = client.dims("update", 400, updates=[{"id": "study", "expectedVersion": 1, "value": 101}])
    assert bad["details"]["issues"][0]["reason"] == "maximum"
    late = client.dims("edit", updates=[{"id": "study", "expectedVersion": 2, "value": 5}])
    assert (late["applied"], late["currentVersions"]["study"]) == (False, 1)
    assert client.dims("settle", 404, resultId="r9", arguments={"updates": []})["code"] == "DIMENSION_RECEIPT_NOT_FOUND"
    assert client.dims("edit", 400, updates=[], speed=1)["code"] == "UNKNOWN_KEY"
    assert client.dims("bind", 409, worldId="w")["code"] == "DIMENSION_ALREADY_BOUND"
    assert client.dims("clock", 400, turnId="t", move={"amount": 99_999})["details"]["reason"] == "over-max-step"
    assert client.get("/list?turnId=9", 404)["code"] == "DIMENSION_TURN_NOT_FOUND"
    assert client.send("GET", "/dimensions/sessions/ghost", status=404)["code"] == "SESSION_NOT_FOUND"
    assert client.send("GET", "/dimensions/worlds/ghost", status=404)["code"] == "DIMENSION_WORLD_NOT_FOUND"


def test_idempotency(client: Client) -> None:
    update: dict[str, Any] = {"updates": [{"id": "study", "expectedVersion": 1, "value": 5}]}
    first = client.dims("update", operationId="same", **update)
    assert client.dims("update", operationId="same", **update) == first
    other = client.dims("update", 409, operationId="same", updates=[])
    assert other["code"] == "DIMENSION_IDEMPOTENCY_CONFLICT"


def test_scenario_075_only_the_owner_syncs(client: Client) -> None:
    body = {"worldId": "w", "dryRun": False}
    refused = client.send("POST", "/dimensions/sessions/s/sync", body, status=401, token=None)
    assert refused["ok"] is False
    client.send("POST", "/dimensions/sessions/s/sync", body, status=401, token="wrong")
    client.post("/dimensions/worlds", worldId="w", definitions={"study": {**STUDY, "initialValue": 4}, "storm": STORM})
    assert client.dims("sync", worldId="w")["upserted"] == 0
    assert client.dims("sync", worldId="w", dryRun=False)["outcomes"] == {"study": "replace", "storm": "unchanged"}
    assert client.get("")["dimensions"]["study"]["value"] == 4


def test_hosts_that_keep_their_own_turns(client: Client) -> None:
    told = client.dims("narratives", resultId="n1", turnId="t1", text="a tale")
    assert told["settlement"]["status"] == "pending-settlement"
    assert client.get("/tracker-prompt?resultId=n1")["narrative"] == "a tale"
    client.dims("edit", updates=[{"id": "study", "expectedVersion": 1, "value": 9}])
    refused = client.dims("settle", resultId="n1", arguments={"updates": []})
    assert (refused["applied"], refused["settlement"]["status"]) == (False, "pending-settlement")
    assert refused["refusal"]["code"] == "dimension-version-conflict"
    assert client.dims("retry", resultId="n1")["settlement"].get("error") is None
    page = client.send("POST", "/dimensions/sessions/s/rule", {"resultId": "n1", "id": "study", "part": "rule"})
    assert page["complete"] is True
    assert client.dims("settle", resultId="n1", arguments={"updates": []})["settlement"]["status"] == "no-change"
    assert client.dims("settle", resultId="n1", arguments={"updates": []})["alreadySettled"] is True


def test_worlds(client: Client) -> None:
    files = {"world.yaml": "dimensions:\n  a: { name: A, schema: { type: integer }, initialValue: x }\n"}
    refused = client.post("/dimensions/worlds", 400, files=files)
    issue = refused["details"]["issues"][0]
    assert (issue["file"], issue["line"], issue["path"]) == ("world.yaml", 2, "dimensions.a.initialValue")
    assert client.post("/dimensions/worlds", 400)["code"] == "DIMENSION_PAYLOAD"
    good = client.post("/dimensions/worlds", files={"world.yaml": files["world.yaml"].replace("x }", "1 }")})
    assert client.send("GET", f"/dimensions/worlds/{good['worldId']}")["definitions"]["a"]["initialValue"] == 1


def test_every_answer_has_the_declared_keys(client: Client) -> None:
    rows = {row.path: row for row in dimensions.ENDPOINTS if row.method == "GET"}
    for path, row in rows.items():
        if "{id}" in path and "worlds" not in path:
            answer = client.send("GET", path.replace("{id}", "s"))
            assert set(row.answer["required"]) <= set(answer)
            assert set(answer) <= set(row.answer["properties"])
