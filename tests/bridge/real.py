"""The real server as a process of its own: started, stopped and started again on the same port and data."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CARDS = ROOT / "examples" / "cards"
START_SECONDS = 60


class RealServer:
    """``python -m server`` on a free port over one data directory."""

    def __init__(self, data: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.data = data
        self.base = f"http://127.0.0.1:{self.port}"
        self.token = "token-of-the-tests"
        self.link = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start and wait for the line that says ready."""
        command = [sys.executable, "-m", "server", "--data-dir", str(self.data), "--port", str(self.port)]
        environment = {**os.environ, "INNKEEPER_HOST_TOKEN": self.token}
        log = self.data / "server.log"
        self.data.mkdir(parents=True, exist_ok=True)
        with log.open("w", encoding="utf-8") as stream:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=stream, stderr=subprocess.STDOUT, text=True
            )
        end = time.monotonic() + START_SECONDS
        while True:
            found = re.search(r"open once in a browser: (\S+)", log.read_text("utf-8"))
            if found is not None:
                self.link = found[1]
                return
            assert self._process.poll() is None and time.monotonic() < end, log.read_text("utf-8")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def call(self, method: str, path: str, body: Any = None, raw: bytes | None = None) -> Any:
        """A host call."""
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.base}/api/v1{path}", data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)

    def card(self, name: str) -> str:
        """Import an example card; its id."""
        return str(self.call("POST", "/host/cards", raw=(CARDS / f"{name}.png").read_bytes())["characterId"])

    def story(self, name: str) -> dict[str, Any]:
        """The demo story of an example card."""
        story: dict[str, Any] = json.loads((CARDS / name / "story.json").read_text("utf-8"))
        return story
