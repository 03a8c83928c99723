"""The HTTP contract from outside (spec/http.md): the whole way, bad input on every route, access, streams."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from typing import Any

import httpx
import pytest

from server.app import endpoints
from server.errors import ERRORS
from server.routing import Endpoint
from tests.mvu.stage import card_bytes, delta
from tests.server.stage import API, TOKEN, Client

SCHEMA = "z.object({ hp: z.number().min(0) })"


def begin(client: Client, **parts: Any) -> dict[str, Any]:
    """A card and a playthrough of it."""
    name = f"card-{client.op()}"
    client.card(card_bytes(**{"initvar": "hp: 10\n", **parts}), name)
    return client.post("/host/playthroughs", {"characterId": name})


def message_scope(begun: dict[str, Any], turn: dict[str, Any]) -> dict[str, Any]:
    names = ("nodeId", "variantId", "endEventId")
    return {
        "playthroughId": begun["playthroughId"],
        "sessionId": begun["sessionId"],
        **{name: turn[name] for name in names},
    }


def bind(client: Client, scope: dict[str, Any]) -> dict[str, Any]:
    source = json.dumps({"version": 1, "scope": scope, "runs": [], "modules": {}, "html": ""})
    identity = {"version": 1, "sha256": hashlib.sha256(source.encode()).hexdigest(), "scope": scope}
    grant = client.call(
        "POST",
        "/rendering-write-grants",
        json={"source": source, "sourceIdentity": identity, "downloaded": True, "enabled": True},
    ).json()
    body = {"scope": scope, "grantId": grant["grantId"], "sourceIdentity": identity}
    answer = client.call("POST", "/mvu/card-binding", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def turn(client: Client, session: str, reply: str) -> dict[str, Any]:
    return client.post(f"/host/sessions/{session}/turns", {"user": {"text": "go"}, "reply": {"text": reply}})


def test_the_whole_way(client: Client) -> None:
    begun = begin(client, schema=SCHEMA)
    session = begun["sessionId"]
    first = turn(client, session, delta("hp", -1) + " _.set('missing.path', 'x'); _.set('hp', 'a');")
    receipt = first["receipts"][0]
    assert (receipt["source"], receipt["status"], receipt["revision"]) == ("mvu", "applied", 1)
    assert receipt["changes"][0] == {"path": "/hp", "op": "replace", "before": 10, "after": 9}
    snapshot = client.get("/mvu/snapshot", scope=message_scope(begun, first))
    assert (snapshot["status"], snapshot["variables"]["stat_data"]["hp"]) == ("available", 9)
    bound = bind(client, message_scope(begun, first))
    write = {
        "capability": bound["capability"],
        "operation": "patch",
        "value": [{"op": "delta", "path": "/hp", "value": -2}],
        "expectedRevision": 1,
        "operationId": client.op(),
        "cause": "user-interaction",
    }
    done = client.call("POST", "/mvu/card-write", json=write)
    assert (done.status_code, done.json()["revision"]) == (200, 2)
    assert client.call("POST", "/mvu/card-write", json=write).json() == done.json()
    stale = client.send("/mvu/card-write", {**write, "operationId": client.op()}, 409, "REVISION_CONFLICT")
    assert stale["details"]["currentRevision"] == 2
    assert client.call("POST", "/mvu/card-binding/revoke", json={"capability": bound["capability"]}).json() == {
        "ok": True
    }
    client.send("/mvu/card-write", {**write, "operationId": client.op()}, 403, "MVU_WRITE_DENIED")
    scope = {"authority": "local", "sessionId": session}
    records = client.get("/mvu/resources", scope=scope)["records"]
    assert [record["content"]["stat_data"]["hp"] for record in records] == [7]
    history = client.get("/mvu/history", id=records[0]["id"], scope=scope)["versions"]
    assert [version["kind"] for version in history] == ["reply", "card"]
    assert client.get("/mvu/facts", id=records[0]["id"], scope=scope)["maxRecords"] == 2048
    edit = {
        "id": records[0]["id"],
        "scope": scope,
        "content": {"stat_data": {"hp": 5}},
        "expectedRevision": 2,
        "operationId": client.op(),
    }
    assert client.call("POST", "/mvu/update", json=edit).json()["content"]["stat_data"] == {"hp": 5}
    swipe = client.post(f"/host/sessions/{session}/swipe", {"atEventId": first["endEventId"]})
    turn(client, swipe["sessionId"], delta("hp", -3))
    timeline = client.get(f"/host/playthroughs/{begun['playthroughId']}")["timeline"]
    assert len(timeline[0]["variants"]) == 2


def test_the_seeds_prefix_answers_the_same(client: Client) -> None:
    begun = begin(client)
    first = turn(client, begun["sessionId"], delta("hp", -1))
    query = {"scope": json.dumps(message_scope(begun, first))}
    ours = client.raw.get(f"{API}/mvu/snapshot", params=query)
    seeds = client.raw.get("/pmp-dsh-tavern/api/v1/mvu/snapshot", params=query)
    assert ours.status_code == 200
    assert ours.json() == seeds.json()


def test_a_snapshot_has_a_tag(client: Client) -> None:
    begun = begin(client)
    first = turn(client, begun["sessionId"], delta("hp", -1))
    query = {"scope": json.dumps(message_scope(begun, first))}
    tag = client.raw.get(f"{API}/mvu/snapshot", params=query).headers["etag"]
    again = client.raw.get(f"{API}/mvu/snapshot", params=query, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")


def test_apply_explains_without_storing(client: Client) -> None:
    body = {
        "initvar": "hp: 10\nname: Ada\n",
        "declaration": f"const Schema = {SCHEMA};",
        "reply": "_.add('hp', -4); _.set('hp', -1); _.set('hp', 3",
    }
    answer = client.call("POST", "/mvu/apply", json=body)
    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == "MVU_PARSE"
    assert answer.json()["after"]["stat_data"] == answer.json()["before"]["stat_data"]
    body["reply"] = "_.add('hp', -4); _.set('hp', -1);"
    found = client.call("POST", "/mvu/apply", json=body).json()
    assert [command["status"] for command in found["commands"]] == ["applied", "refused"]
    assert found["commands"][0]["span"] == [0, 15]
    assert found["after"]["stat_data"]["hp"] == 6
    assert found["issues"][0]["code"] == "too_small"


def test_a_declaration_is_described_or_refused_with_its_place(client: Client) -> None:
    good = client.call("POST", "/mvu/declaration", json={"source": f"const Schema = {SCHEMA};"}).json()
    assert good["interpreterVersion"] in (2, 3)
    assert good["jsonSchema"]["type"] == "object"
    bad = client.call("POST", "/mvu/declaration", json={"source": "const Schema = z.object({\n  hp: fetch('x'),\n});"})
    assert (bad.status_code, bad.json()["code"]) == (400, "MVU_SCHEMA_CODE")
    assert bad.json()["details"]["line"] == 2


def test_a_prompt_holds_its_lease(client: Client) -> None:
    begun = begin(
        client, entries=[{"id": 7, "comment": "state", "content": "State:\n  {{format_message_variable::stat_data}}"}]
    )
    session = begun["sessionId"]
    found = client.call("POST", f"/host/sessions/{session}/prompt", json={"include": ["mvu"], "activated": [7]}).json()
    assert '"hp":10' in found["blocks"][0]["text"]
    assert "hp: 10" in found["worldBook"][0]["text"]
    check = f"/host/sessions/{session}/prompt/check"
    assert client.call("POST", check, json={"lease": found["lease"]}).json() == {"current": True}
    turn(client, session, delta("hp", -1))
    assert client.call("POST", check, json={"lease": found["lease"]}).json() == {"current": False}


def test_an_export_is_stable_and_comes_back_elsewhere(client: Client, tmp_path: Any) -> None:
    from tests.server.stage import serving

    begun = begin(client)
    first = turn(client, begun["sessionId"], delta("hp", -1))
    client.post(f"/host/sessions/{begun['sessionId']}/swipe", {"atEventId": first["endEventId"]})
    path = f"/host/export/{begun['playthroughId']}"
    document = client.call("GET", path).content
    assert client.call("GET", path).content == document
    with serving(tmp_path / "other") as other:
        assert other.call("POST", "/host/import", content=document).status_code == 200
        assert other.call("GET", path).content == document
        snapshot = other.get("/mvu/snapshot", scope=message_scope(begun, first))
        assert snapshot["variables"]["stat_data"] == {"hp": 9}
        assert other.call("POST", "/host/import", content=document).json()["code"] == "PLAYTHROUGH_EXISTS"
    broken = json.loads(document)
    broken["contents"][0]["value"] = {"stat_data": {"hp": 1}}
    assert client.call("POST", "/host/import", json=broken).json()["ok"] is False


# -- access --------------------------------------------------------------------------------------------------------


def test_host_calls_need_the_token(client: Client) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}):
        answer = client.raw.post(f"{API}/host/sessions", json={"operationId": "x"}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "HOST_UNAUTHORIZED")


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"host": "evil.example"}, 403, "TAVERN_API_HOST_FORBIDDEN"),
        ({"origin": "http://evil.example"}, 403, "TAVERN_API_ORIGIN_FORBIDDEN"),
        ({"sec-fetch-site": "cross-site"}, 403, "TAVERN_API_ORIGIN_FORBIDDEN"),
        ({}, 403, "TAVERN_API_ORIGIN_FORBIDDEN"),
        ({"x-tavern-request-token": "0" * 64}, 403, "TAVERN_API_ORIGIN_FORBIDDEN"),
        ({"TOKEN": "yes", "content-type": "text/plain"}, 415, "TAVERN_API_CONTENT_TYPE_REQUIRED"),
        ({"TOKEN": "yes"}, 200, None),
    ],
)
def test_the_wrapper_guards_renderer_calls(
    client: Client, headers: dict[str, str], status: int, code: str | None
) -> None:
    given = dict(headers)
    if given.pop("TOKEN", None):
        token = client.raw.get(f"{API}/request-token", headers={"x-tavern-client": "embedded"}).json()["token"]
        given["x-tavern-request-token"] = token
    given.setdefault("content-type", "application/json")
    answer = client.raw.post(f"{API}/mvu/card-binding/revoke", content=b'{"capability":"x"}', headers=given)
    assert (answer.status_code, answer.json().get("code")) == (status, code)


def test_the_pages_cookie_opens_the_inspector(client: Client) -> None:
    key = client.context.security.new_link_key()
    with httpx.Client(base_url=client.address, trust_env=False) as browser:
        assert browser.post(f"{API}/mvu/declaration", json={"source": "1"}).json()["code"] == "SESSION_COOKIE_REQUIRED"
        opened = browser.get("/", params={"key": key})
        assert opened.status_code == 303
        assert "HttpOnly" in opened.headers["set-cookie"]
        assert "samesite=strict" in opened.headers["set-cookie"].lower()
        page = browser.get("/")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        origin = {"origin": client.address}
        answer = browser.post(f"{API}/mvu/declaration", json={"source": f"const Schema = {SCHEMA};"}, headers=origin)
        assert answer.status_code == 200
        assert (
            browser.post(f"{API}/mvu/declaration", json={"source": "1"}).json()["code"] == "TAVERN_API_ORIGIN_FORBIDDEN"
        )
        assert browser.get("/", params={"key": key}).status_code == 403


def test_a_renderer_token_opens_its_playthroughs_only(client: Client) -> None:
    begun, other = begin(client), begin(client)
    token = client.post("/host/renderer-tokens", {"playthroughIds": [begun["playthroughId"]], "expiresInS": 60})[
        "token"
    ]
    headers = {"authorization": f"Bearer {token}"}

    def look(found: dict[str, Any]) -> httpx.Response:
        scope = {"mode": "initial", **{name: found[name] for name in ("playthroughId", "sessionId", "characterId")}}
        return client.raw.get(f"{API}/mvu/snapshot", params={"scope": json.dumps(scope)}, headers=headers)

    assert look(begun).status_code == 200
    assert (look(other).status_code, look(other).json()["code"]) == (403, "RENDERER_FORBIDDEN")
    inspector = client.raw.get(f"{API}/mvu/resources", params={"scope": "{}"}, headers=headers)
    assert inspector.status_code == 401


# -- bad input -----------------------------------------------------------------------------------------------------

BODIES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "a string": b'"x"',
    "null": b"null",
    "NaN": b'{"a":NaN}',
    "infinity": b'{"a":Infinity}',
    "twice": b'{"a":1,"a":2}',
    "surrogate": b'{"a":"\\ud800"}',
    "no UTF-8": b'{"a":"\xff"}',
    "deep": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "unknown keys": b'{"zzz":1}',
    "wrong types": json.dumps(
        {
            name: {"x": []}
            for name in [
                "operationId",
                "characterId",
                "sessionId",
                "expectedSeq",
                "events",
                "user",
                "reply",
                "atEventId",
                "kind",
                "lease",
                "source",
                "id",
                "scope",
                "content",
                "expectedRevision",
                "capability",
                "operation",
                "value",
                "cause",
                "grantId",
                "sourceIdentity",
                "files",
                "definitions",
                "worldId",
                "arguments",
                "resultId",
                "turnId",
                "packId",
                "role",
                "intent",
                "expectedTurn",
                "text",
                "tags",
                "queries",
                "updates",
            ]
        }
    ).encode(),
}


def routes() -> list[tuple[str, Endpoint]]:
    return [(path, endpoint) for path, endpoint in endpoints() if path.startswith(API) or endpoint.method == "GET"]


@pytest.mark.parametrize(("path", "endpoint"), routes(), ids=[f"{e.method} {p}" for p, e in routes()])
def test_bad_bodies_answer_the_one_error_body(client: Client, path: str, endpoint: Endpoint) -> None:
    concrete = re.sub(r"\{\w+\}", "unknown", path)
    for name, body in BODIES.items():
        answer = client.raw.request(
            endpoint.method,
            concrete,
            content=None if endpoint.method == "GET" else body,
            headers={"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
        )
        assert answer.status_code < 500, f"{name}: {answer.text}"
        if answer.status_code != 200 and answer.headers["content-type"].startswith("application/json"):
            found = answer.json()
            assert found["ok"] is False, name
            assert found["code"] in ERRORS, f"{name}: {found}"
            assert found["error"], name
    assert client.get("/healthz") == {"ok": True}


def test_large_bodies_are_refused(client: Client) -> None:
    answer = client.call("POST", "/mvu/apply", content=b"x" * (64 * 1024 * 1024))
    assert (answer.status_code, answer.json()["code"]) == (413, "BODY_TOO_LARGE")


def test_unknown_routes_and_wrong_verbs(client: Client) -> None:
    answer = client.raw.get(f"{API}/nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    answer = client.raw.delete(f"{API}/mvu/snapshot")
    assert (answer.status_code, answer.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET"


def test_a_misspelt_key_is_named(client: Client) -> None:
    found = client.send("/host/playthroughs", {"characterID": "x", "operationId": "o"}, 400, "UNKNOWN_KEY")
    assert "characterId" in found["error"]


# -- streams -------------------------------------------------------------------------------------------------------


class Listener:
    """Reads a stream in a thread; ``wait`` answers the next event's name, id and data."""

    def __init__(self, client: Client, scope: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self.events: list[tuple[str, str | None, Any, float]] = []
        self._arrived = threading.Condition()
        self._client = httpx.Client(base_url=client.address, trust_env=False, timeout=30)
        self._stream = self._client.stream(
            "GET", f"{API}/mvu/events", params={"scope": json.dumps(scope)}, headers=headers or {}
        )
        self.response = self._stream.__enter__()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self.response.iter_lines():
                if not line:
                    if "data" in fields:
                        with self._arrived:
                            event = (
                                fields.get("event", ""),
                                fields.get("id"),
                                json.loads(fields["data"]),
                                time.perf_counter(),
                            )
                            self.events.append(event)
                            self._arrived.notify_all()
                    fields = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    fields[name] = value
        except (httpx.HTTPError, RuntimeError):
            return

    def wait(self, count: int) -> list[tuple[str, str | None, Any, float]]:
        """At least ``count`` events, or what came within ten seconds."""
        with self._arrived:
            self._arrived.wait_for(lambda: len(self.events) >= count, 10)
            return list(self.events)

    def close(self) -> None:
        """End the stream."""
        self._client.close()


def test_a_stream_tells_of_replies_writes_and_swipes(client: Client) -> None:
    begun = begin(client)
    first = turn(client, begun["sessionId"], delta("hp", -1))
    scope = message_scope(begun, first)
    listener = Listener(client, scope)
    try:
        name, identifier, data, _ = listener.wait(1)[0]
        assert (name, identifier, data["variables"]["stat_data"]) == ("snapshot", "1", {"hp": 9})
        bound = bind(client, scope)
        body = {
            "capability": bound["capability"],
            "operation": "patch",
            "value": [{"op": "delta", "path": "/hp", "value": -1}],
            "expectedRevision": 1,
            "operationId": client.op(),
            "cause": "script",
        }
        client.call("POST", "/mvu/card-write", json=body)
        name, identifier, data, _ = listener.wait(2)[1]
        assert (name, identifier, data["variables"]["stat_data"]) == ("snapshot", "2", {"hp": 8})
    finally:
        listener.close()
    resumed = Listener(client, scope, {"last-event-id": "2"})
    try:
        record = client.get("/mvu/resources", scope={"authority": "local", "sessionId": begun["sessionId"]})["records"][
            0
        ]
        edit = {
            "id": record["id"],
            "scope": {"authority": "local", "sessionId": begun["sessionId"]},
            "content": {"stat_data": {"hp": 3}},
            "expectedRevision": 2,
            "operationId": client.op(),
        }
        client.call("POST", "/mvu/update", json=edit)
        events = resumed.wait(1)
        assert [(name, identifier) for name, identifier, _, _ in events] == [("snapshot", "3")]
    finally:
        resumed.close()


def test_a_stream_needs_a_good_scope(client: Client) -> None:
    answer = client.raw.get(f"{API}/mvu/events", params={"scope": "{}"})
    assert (answer.status_code, answer.json()["code"]) == (400, "MVU_SCOPE")


def test_the_openapi_document_names_every_route(client: Client) -> None:
    document = client.raw.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, endpoint in endpoints():
        assert endpoint.method.lower() in document["paths"][path]


def test_an_allowed_origin_may_use_a_renderer_token(tmp_path: Any) -> None:
    from tests.server.stage import serving

    config = tmp_path / "innkeeper.toml"
    config.write_text('[server]\nallowedOrigins = ["https://chat.example"]\n')
    with serving(tmp_path / "data", config_file=config) as other:
        begun = begin(other)
        token = other.post("/host/renderer-tokens", {"playthroughIds": [begun["playthroughId"]], "expiresInS": 60})[
            "token"
        ]
        scope = {"mode": "initial", **{name: begun[name] for name in ("playthroughId", "sessionId", "characterId")}}
        asked = {"origin": "https://chat.example", "access-control-request-method": "GET"}
        before = other.raw.options(f"{API}/mvu/snapshot", headers=asked)
        assert (before.status_code, before.headers["access-control-allow-origin"]) == (204, "https://chat.example")
        for origin, expected in (("https://chat.example", "https://chat.example"), ("https://evil.example", None)):
            headers = {"authorization": f"Bearer {token}", "origin": origin}
            answer = other.raw.get(f"{API}/mvu/snapshot", params={"scope": json.dumps(scope)}, headers=headers)
            assert answer.status_code == 200
            assert answer.headers.get("access-control-allow-origin") == expected
        refused = other.raw.options(f"{API}/mvu/snapshot", headers={**asked, "origin": "https://evil.example"})
        assert refused.status_code == 405
