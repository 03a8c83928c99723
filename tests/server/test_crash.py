"""SIGKILL in the middle of writes: every acknowledged receipt is there, nothing is torn (design §11)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.mvu.stage import card_bytes, delta
from tests.server.stage import API, TOKEN

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("INNKEEPER_KILLS", "8"))


@contextmanager
def process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process over ``folder``: ``(process, address)``."""
    command = [sys.executable, "-m", "server", "--data-dir", str(folder), "--port", "0"]
    environment = {**os.environ, "INNKEEPER_HOST_TOKEN": TOKEN}
    started = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert started.stdout is not None
    try:
        line = started.stdout.readline()
        assert line.startswith("innkeeper ready on http://"), line
        yield started, line.split()[-1]
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def client(address: str) -> httpx.Client:
    return httpx.Client(
        base_url=address + API, headers={"authorization": f"Bearer {TOKEN}"}, timeout=30, trust_env=False
    )


def begin(folder: Path) -> str:
    with process(folder) as (_, address), client(address) as host:
        raw = card_bytes("hp: 1000000\n")
        host.post("/host/cards?id=hero", content=raw).raise_for_status()
        answer = host.post("/host/playthroughs", json={"characterId": "hero", "operationId": "begin"})
        session: str = answer.json()["sessionId"]
        return session


def stream(address: str, session: str, run: int, acknowledged: list[tuple[str, int]]) -> None:
    """Turn after turn until the server is gone; keep what it acknowledged."""
    with client(address) as host:
        for number in range(10_000):
            operation = f"turn-{run}-{number}"
            body = {"user": {"text": "go"}, "reply": {"text": delta("hp", -1)}, "operationId": operation}
            try:
                answer = host.post(f"/host/sessions/{session}/turns", json=body)
            except httpx.HTTPError:
                return
            if answer.status_code == 200:
                acknowledged.append((operation, answer.json()["receipts"][0]["revision"]))


def hp_of(host: httpx.Client, session: str) -> tuple[int, int]:
    scope = json.dumps({"authority": "local", "sessionId": session})
    record = host.get("/mvu/resources", params={"scope": scope}).json()["records"][0]
    return record["content"]["stat_data"]["hp"], record["revision"]


@pytest.mark.slow
def test_killed_servers_keep_every_acknowledged_receipt(tmp_path: Path) -> None:
    session = begin(tmp_path)
    source = random.Random(5)
    acknowledged: list[tuple[str, int]] = []
    for run in range(KILLS):
        with process(tmp_path) as (server, address):
            with client(address) as host:
                hp, revision = hp_of(host, session)
                assert 1_000_000 - hp == revision
                assert revision >= len(acknowledged), "an acknowledged receipt is missing"
                for operation, stood in acknowledged[-5:]:
                    body: dict[str, Any] = {
                        "user": {"text": "go"},
                        "reply": {"text": delta("hp", -1)},
                        "operationId": operation,
                    }
                    again = host.post(f"/host/sessions/{session}/turns", json=body)
                    assert again.json()["receipts"][0]["revision"] == stood
            thread = threading.Thread(target=stream, args=(address, session, run, acknowledged))
            thread.start()
            time.sleep(0.2 + source.random() * 0.5)
            server.send_signal(signal.SIGKILL)
            thread.join()
    with process(tmp_path) as (_, address), client(address) as host:
        hp, revision = hp_of(host, session)
        assert 1_000_000 - hp == revision >= len(acknowledged) > 0
        events = host.get(f"/host/sessions/{session}").json()
        assert events["nextSeq"] == revision * 4


def test_sigterm_drains_and_exits_0(tmp_path: Path) -> None:
    with process(tmp_path) as (server, address), client(address) as host:
        assert host.get("/healthz").json() == {"ok": True}
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=20) == 0


def test_the_first_line_names_the_address_and_the_token_file_is_private(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "server", "--data-dir", str(tmp_path), "--port", "0"]
    environment = {key: value for key, value in os.environ.items() if key != "INNKEEPER_HOST_TOKEN"}
    started = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert started.stdout is not None
    try:
        address = started.stdout.readline().split()[-1]
        token_file = tmp_path / "host-token"
        assert token_file.stat().st_mode & 0o777 == 0o600
        token = token_file.read_text().strip()
        answer = httpx.get(f"{address}{API}/host/cards", headers={"authorization": f"Bearer {token}"}, trust_env=False)
        assert answer.status_code == 200
    finally:
        started.kill()
        started.wait()
        started.stdout.close()
