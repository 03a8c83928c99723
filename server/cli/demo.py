"""Play an example through the HTTP API and print each receipt."""

from __future__ import annotations

import argparse
import hashlib
import json
import secrets
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from runtime.values.rows import InnkeeperError
from server import config as configuration
from server.app import create_app, open_context
from server.bundled import examples_directory
from server.cli.apply import print_changes
from server.cli.serve import listen

API = "/api/v1"
MARKS = {"applied": "✓", "refused": "✗", "ignored": "·"}


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper demo``."""
    parser.add_argument("--card", default="wayhouse", choices=stories(), help="which example to play")
    parser.add_argument("--url", help="a running server (with INNKEEPER_HOST_TOKEN); by default one of its own")


def stories() -> list[str]:
    """The names of the examples that have a story."""
    try:
        cards = examples_directory() / "cards"
    except InnkeeperError:
        return []
    return sorted(path.parent.name for path in cards.glob("*/story.json"))


@contextmanager
def own_server() -> Iterator[tuple[str, str]]:
    """A server on a free port with a data directory that ends with it: ``(address, host token)``."""
    token = secrets.token_urlsafe(16)
    with tempfile.TemporaryDirectory(prefix="innkeeper-demo-") as folder:
        chosen = configuration.load(
            data_dir=Path(folder), host="127.0.0.1", port=0, environment={"INNKEEPER_HOST_TOKEN": token}
        )
        bound = listen(chosen.host, 0)
        server = uvicorn.Server(
            uvicorn.Config(create_app(chosen, open_context(chosen)), log_level="error", access_log=False, ws="none")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}", token
        finally:
            server.should_exit = True
            thread.join()


class Story:
    """One run of a story against a server."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def call(self, method: str, path: str, **more: Any) -> tuple[int, dict[str, Any]]:
        """``(status, body)`` of one call."""
        response = self._client.request(method, API + path, **more)
        return response.status_code, response.json()

    def need(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """The body of a call that has to succeed."""
        status, body = self.call(method, path, **more)
        if status != 200:
            raise InnkeeperError(
                body.get("code", "INTERNAL"), f"{method} {path} answered {status}: {body.get('error')}"
            )
        return body

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A mutation with an operation id of its own."""
        return self.need("POST", path, json={**body, "operationId": str(uuid.uuid4())})

    def play(self, folder: Path) -> None:
        """Greeting, turns, a card write and a stale write that conflicts."""
        story = json.loads((folder / "story.json").read_text(encoding="utf-8"))
        card = self.need(
            "POST",
            "/host/cards",
            content=(folder.parent / story["card"]).read_bytes(),
            headers={"content-type": "image/png"},
        )
        print(
            f"card      {card['name']} ({card['spec']}), declaration {card['declaration']['status']}, helper {card['helper']['status']}"
        )
        begun = self.post(
            "/host/playthroughs",
            {
                "characterId": card["characterId"],
                "greetingIndex": story.get("greetingIndex", 0),
                "userName": story.get("userName", "Player"),
            },
        )
        session = begun["sessionId"]
        opening = {
            "mode": "initial",
            "playthroughId": begun["playthroughId"],
            "sessionId": session,
            "characterId": card["characterId"],
        }
        first = self.snapshot(opening)
        print(f"session   {session}")
        print(f"greeting  {_short(first['firstMessage']['text'], 96)}")
        print(
            f"state     revision {first['revision']}, {len(json.dumps(first['variables']['stat_data'], ensure_ascii=False))} characters of values\n"
        )
        turn: dict[str, Any] = {}
        for number, step in enumerate(story["turns"], 1):
            print(f"── turn {number} " + "─" * 60)
            print(f"you       {_short(step['user'], 96)}")
            print(f"reply     {_short(step['reply'].split('<')[0], 96)}")
            turn = self.post(
                f"/host/sessions/{session}/turns", {"user": {"text": step["user"]}, "reply": {"text": step["reply"]}}
            )
            for receipt in turn["receipts"]:
                print_receipt(receipt)
            if step.get("note"):
                print(f"note      {step['note']}")
            print()
        self.card_writes(story, begun["playthroughId"], session, turn)

    def snapshot(self, scope: dict[str, Any]) -> dict[str, Any]:
        """The snapshot of a scope."""
        return self.need("GET", "/mvu/snapshot", params={"scope": json.dumps(scope)})

    def card_writes(self, story: dict[str, Any], playthrough: str, session: str, turn: dict[str, Any]) -> None:
        """A write through a binding, then one that still holds the old revision."""
        scope = {
            "playthroughId": playthrough,
            "sessionId": session,
            "nodeId": turn["nodeId"],
            "variantId": turn["variantId"],
            "endEventId": turn["endEventId"],
        }
        source = json.dumps({"version": 1, "scope": scope, "runs": [], "modules": {}, "html": "<p>demo</p>"})
        identity = {"version": 1, "sha256": hashlib.sha256(source.encode()).hexdigest(), "scope": scope}
        grant = self.need(
            "POST",
            "/rendering-write-grants",
            json={
                "source": source,
                "sourceIdentity": identity,
                "downloaded": True,
                "enabled": True,
                "executionId": str(uuid.uuid4()),
            },
        )
        bound = self.need(
            "POST", "/mvu/card-binding", json={"scope": scope, "grantId": grant["grantId"], "sourceIdentity": identity}
        )
        seen = bound["snapshot"]
        print("── the card writes " + "─" * 51)
        write = dict(story["cardWrite"])
        note = write.pop("note", None)
        body = {
            **write,
            "capability": bound["capability"],
            "expectedRevision": seen["revision"],
            "operationId": str(uuid.uuid4()),
        }
        receipt = self.need("POST", "/mvu/card-write", json=body)
        print(f"write     {json.dumps(write['value'], ensure_ascii=False)}")
        print(f"receipt   revision {seen['revision']} → {receipt['revision']}")
        changes = receipt["variables"]["delta_data"]
        print_changes([{"path": path, **change} for path, change in changes.items()])
        if note:
            print(f"note      {note}")
        stale = dict(story["staleWrite"])
        note = stale.pop("note", None)
        body = {
            **stale,
            "capability": bound["capability"],
            "expectedRevision": seen["revision"],
            "operationId": str(uuid.uuid4()),
        }
        status, refused = self.call("POST", "/mvu/card-write", json=body)
        print(f"\nstale     {json.dumps(stale['value'], ensure_ascii=False)} at revision {seen['revision']}")
        print(f"receipt   {status} {refused.get('code')}: {refused.get('error')}")
        if note:
            print(f"note      {note}")


def print_receipt(receipt: dict[str, Any]) -> None:
    """A receipt as a person reads it."""
    print(f"receipt   {receipt['source']}: {receipt['status']}, revision {receipt.get('revision')}")
    for command in receipt.get("commands", []):
        print(f"  {MARKS[command['status']]} {_short(command['source'], 90)}")
        if command["status"] == "refused":
            print(f"      {command['code']}: {command['message']}")
    for item in receipt.get("ignored", []):
        print(f"  {MARKS['ignored']} {_short(item['source'], 90)}\n      {item['reason']}: {item['message']}")
    if receipt.get("error"):
        print(f"  nothing was kept: {receipt['error']}: {receipt.get('message', '')}")
    print_changes(receipt.get("changes", []))


def _short(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def run(arguments: argparse.Namespace) -> int:
    """Play the story."""
    import os

    folder = examples_directory() / "cards" / arguments.card
    if arguments.url:
        token = os.environ.get("INNKEEPER_HOST_TOKEN", "")
        with httpx.Client(base_url=arguments.url, headers={"authorization": f"Bearer {token}"}, timeout=60) as client:
            Story(client).play(folder)
        return 0
    with (
        own_server() as (address, token),
        httpx.Client(
            base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=60, trust_env=False
        ) as client,
    ):
        Story(client).play(folder)
    return 0
