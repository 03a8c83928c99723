"""A stand-in for the server: static files with the server's own headers, and the renderer routes over one small state."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from server import pages

STATIC = Path(pages.__file__).parent / "static"
HERE = Path(__file__).resolve().parent
_PREFIX = "/api/v1"


class World:
    """One state behind the stub; tests read and change it under ``lock``."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.revision = 1
        self.data: dict[str, Any] = {"hp": 10, "name": "Wren"}
        self.extra: dict[str, Any] = {}
        self.grants: set[str] = set()
        self.bindings: set[str] = set()
        self.writes: list[dict[str, Any]] = []
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.answers: dict[tuple[str, str], Any] = {}
        self.broken = False

    def snapshot(self, scope: Any) -> dict[str, Any]:
        variables = {"stat_data": self.data, "schema": {"type": "object"}, **self.extra.get("variables", {})}
        more = {key: value for key, value in self.extra.items() if key != "variables"}
        head = {"version": 1, "status": "available", "scope": scope, "resourceId": "mvu:instance-1"}
        return {**head, "revision": self.revision, "currentRevision": self.revision, "variables": variables, **more}

    def restart(self) -> None:
        """Grants and bindings never outlive a deployment."""
        self.grants.clear()
        self.bindings.clear()

    def write(self, body: dict[str, Any]) -> tuple[int, Any]:
        if body["capability"] not in self.bindings:
            return 403, {"ok": False, "code": "MVU_WRITE_DENIED", "error": "no binding"}
        self.writes.append(body)
        if body["expectedRevision"] != self.revision:
            details = {"currentRevision": self.revision}
            return 409, {"ok": False, "code": "REVISION_CONFLICT", "error": "stale", "details": details}
        if body["operation"] == "replace":
            self.data = body["value"]["stat_data"]
        else:
            for step in body["value"]:
                path = step["path"].strip("/").split("/")
                target = self.data
                for key in path[:-1]:
                    target = target[key]
                target[path[-1]] = target[path[-1]] + step["value"] if step["op"] == "delta" else step["value"]
        self.revision += 1
        return 200, self.snapshot(None)


class _Handler(BaseHTTPRequestHandler):
    world: World
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are silent."""

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _json(self, status: int, value: Any) -> None:
        self._send(
            status, json.dumps(value).encode(), {"content-type": "application/json", "cache-control": "no-store"}
        )

    def _file(self, path: Path, policy: str | None) -> None:
        kinds = {
            ".html": "text/html; charset=utf-8",
            ".js": "text/javascript; charset=utf-8",
            ".css": "text/css; charset=utf-8",
        }
        headers = {
            "content-type": kinds.get(path.suffix, "application/octet-stream"),
            "access-control-allow-origin": "*",
        }
        if policy is not None:
            headers["content-security-policy"] = policy
        self._send(200, path.read_bytes(), headers)

    def do_GET(self) -> None:
        """Files, snapshots and canned answers."""
        url = urlsplit(self.path)
        with self.world.lock:
            self.world.seen.append(("GET", self.path, {key.lower(): value for key, value in self.headers.items()}))
            if ("GET", url.path) in self.world.answers:
                return self._json(200, self.world.answers["GET", url.path])
            if url.path == f"{_PREFIX}/mvu/snapshot":
                if self.world.broken:
                    return self._json(503, {"ok": False, "code": "STORAGE_UNAVAILABLE", "error": "away"})
                return self._json(200, self.world.snapshot(json.loads(parse_qs(url.query)["scope"][0])))
        name = pages.PAGES.get(url.path, url.path.removeprefix("/static/"))
        for folder in (STATIC, HERE):
            file = folder / name.lstrip("/")
            if file.is_file():
                policy = pages.FRAME_POLICY if name == pages.FRAME else pages.POLICY
                return self._file(file, policy if file.suffix == ".html" else None)
        return self._json(404, {"ok": False, "code": "NOT_FOUND", "error": f"no {url.path}"})

    def do_DELETE(self) -> None:
        """Grants end."""
        with self.world.lock:
            self.world.grants.discard(self.path.rsplit("/", 1)[1])
        self._json(200, {"ok": True})

    def do_POST(self) -> None:
        """Grants, bindings, writes and canned answers."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = urlsplit(self.path).path.removeprefix(_PREFIX)
        with self.world.lock:
            self.world.seen.append(("POST", self.path, {key.lower(): value for key, value in self.headers.items()}))
            answer = self.world.answers.get(("POST", path))
            if answer is not None:
                result = answer(raw) if callable(answer) else answer
                return self._json(*(result if isinstance(result, tuple) else (200, result)))
            body = json.loads(raw)
            if path == "/rendering-write-grants":
                self.world.grants.add(body["executionId"])
                return self._json(
                    200, {"ok": True, "grantId": body["executionId"], "sourceIdentity": body["sourceIdentity"]}
                )
            if path == "/mvu/card-binding":
                if body["grantId"] not in self.world.grants:
                    return self._json(403, {"ok": False, "code": "MVU_WRITE_DENIED", "error": "no grant"})
                self.world.bindings.add(body["bindingId"])
                return self._json(
                    200, {"capability": body["bindingId"], "snapshot": self.world.snapshot(body["scope"])}
                )
            if path == "/mvu/card-binding/revoke":
                self.world.bindings.discard(body["capability"])
                return self._json(200, {"ok": True})
            if path == "/mvu/card-write":
                status, result = self.world.write(body)
                if status == 200:
                    result["scope"] = SCOPE
                return self._json(status, result)
        return self._json(404, {"ok": False, "code": "NOT_FOUND", "error": f"no {path}"})


SCOPE = {"playthroughId": "p", "sessionId": "s", "nodeId": "n", "variantId": "v", "endEventId": 5}


@contextmanager
def stub_server() -> Iterator[tuple[str, World]]:
    """``(base address, world)`` of a running stub."""
    world = World()
    handler = type("Handler", (_Handler,), {"world": world})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", world
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
