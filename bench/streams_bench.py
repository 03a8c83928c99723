"""Idle event streams: how much memory thousands of them cost one server (goal: 5,000 below 500 MB).

``python -m bench streams``; reads the server's resident size from ``/proc``, so it runs on Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import httpx

ROOT = Path(__file__).resolve().parents[1]
BATCH = 50
CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Streams",
        "first_mes": "Hello.",
        "character_book": {"entries": [{"keys": [], "comment": "[initvar]", "content": "hp: 1\n", "enabled": False}]},
    },
}


def resident(pid: int) -> int:
    """The resident size of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0


def begin(address: str) -> str:
    """A playthrough's opening scope, as it stands in a query."""
    headers = {"authorization": "Bearer bench"}
    with httpx.Client(base_url=f"{address}/api/v1", headers=headers, trust_env=False, timeout=60) as host:
        host.post("/host/cards?id=streams", content=json.dumps(CARD)).raise_for_status()
        begun = host.post("/host/playthroughs", json={"characterId": "streams", "operationId": "begin"}).json()
    names = ("playthroughId", "sessionId", "characterId")
    return quote(json.dumps({"mode": "initial", **{name: begun[name] for name in names}}))


async def open_streams(port: int, scope: str, count: int) -> list[asyncio.StreamWriter]:
    """``count`` streams, each past its first snapshot."""
    request = f"GET /api/v1/mvu/events?scope={scope} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    kept: list[asyncio.StreamWriter] = []
    for _ in range(0, count, BATCH):
        pairs = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(BATCH)))
        for _, writer in pairs:
            writer.write(request)
        for reader, writer in pairs:
            await reader.readuntil(b"event: snapshot")
            kept.append(writer)
    return kept


def main() -> None:
    """Measure and print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=5_000)
    count = parser.parse_args().streams
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "server", "--data-dir", folder, "--port", "0"]
        environment = {**os.environ, "INNKEEPER_HOST_TOKEN": "bench"}
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            address = server.stdout.readline().split()[-1]
            scope = begin(address)
            before, started = resident(server.pid), time.perf_counter()

            async def run() -> None:
                writers = await open_streams(int(address.rsplit(":", 1)[1]), scope, count)
                seconds = time.perf_counter() - started
                after = resident(server.pid)
                print(
                    f"{len(writers):,} idle streams   {before} MB -> {after} MB (goal 500 MB)   opened in {seconds:.1f} s"
                )

            asyncio.run(run())
        finally:
            server.terminate()
            server.wait(timeout=60)


if __name__ == "__main__":
    main()
