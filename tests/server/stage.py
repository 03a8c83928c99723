"""A real server in a thread, and a client that holds its host token."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from server import config as configuration
from server.app import create_app, open_context
from server.cli.serve import listen
from server.context import Context

TOKEN = "test-host-token"
API = "/api/v1"


class Client:
    """Calls with the host token; ``raw`` sends exactly what it is given."""

    def __init__(self, address: str, context: Context) -> None:
        self.address = address
        self.context = context
        self._operations = itertools.count(1)
        self.raw = httpx.Client(base_url=address, timeout=60, trust_env=False)
        self._host = httpx.Client(
            base_url=address, timeout=60, trust_env=False, headers={"authorization": f"Bearer {TOKEN}"}
        )

    def op(self) -> str:
        """A fresh operation id."""
        return f"op-{next(self._operations)}"

    def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        """One call with the host token."""
        return self._host.request(method, API + path, **more)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """A read that has to succeed; a scope may be an object."""
        shown = {key: json.dumps(value) if isinstance(value, (dict, list)) else value for key, value in query.items()}
        response = self.call("GET", path, params=shown)
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def post(self, path: str, body: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """A mutation with a fresh operation id that has to succeed."""
        response = self.call("POST", path, json={"operationId": self.op(), **(body or {}), **more})
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def send(self, path: str, body: Any, status: int, code: str) -> dict[str, Any]:
        """A call that has to be refused with this status and code."""
        response = self.call("POST", path, json=body)
        found: dict[str, Any] = response.json()
        assert (response.status_code, found.get("code")) == (status, code), response.text
        return found

    def card(self, raw: bytes, character: str = "hero") -> dict[str, Any]:
        """Import a card."""
        response = self.call(
            "POST", f"/host/cards?id={character}", content=raw, headers={"content-type": "application/json"}
        )
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def close(self) -> None:
        """End both clients."""
        self.raw.close()
        self._host.close()


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[Client]:
    """A server on a free port over ``folder``."""
    chosen = configuration.load(
        data_dir=folder, host="127.0.0.1", port=0, environment={"INNKEEPER_HOST_TOKEN": TOKEN}, **options
    )
    context = open_context(chosen)
    bound = listen(chosen.host, 0)
    server = uvicorn.Server(uvicorn.Config(create_app(chosen, context), log_level="error", access_log=False, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    client = Client(f"http://127.0.0.1:{bound.getsockname()[1]}", context)
    try:
        yield client
    finally:
        client.close()
        server.should_exit = True
        thread.join()
        bound.close()
