"""Compare-and-set under pressure: clients that lose answers and ask again; the history stays linear (spec/mvu.md §7.3)."""

from __future__ import annotations

import os
import random
import threading
from typing import Any

import pytest

from tests.mvu.stage import card_bytes, delta
from tests.server.stage import API, TOKEN, Client
from tests.server.test_http import bind, message_scope, turn

CLIENTS = 8
WRITES = int(os.environ.get("INNKEEPER_WRITES", "60"))


@pytest.mark.slow
def test_every_acknowledged_write_counts_once(client: Client) -> None:
    client.card(card_bytes("n: 0\nlog: {}\n"), "linear")
    begun = client.post("/host/playthroughs", {"characterId": "linear"})
    first = turn(client, begun["sessionId"], delta("n", 0))
    scope = message_scope(begun, first)
    bound = bind(client, scope)
    done: list[tuple[int, str]] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        import httpx

        source = random.Random(number)
        with httpx.Client(
            base_url=client.address + API, headers={"authorization": f"Bearer {TOKEN}"}, timeout=60, trust_env=False
        ) as host:
            revision = bound["snapshot"]["revision"]
            for step in range(WRITES):
                operation = f"linear-{number}-{step}"
                while True:
                    body: dict[str, Any] = {
                        "capability": bound["capability"],
                        "operation": "patch",
                        "value": [{"op": "delta", "path": "/n", "value": 1}],
                        "expectedRevision": revision,
                        "operationId": operation,
                        "cause": "script",
                    }
                    answer = host.post("/mvu/card-write", json=body)
                    if answer.status_code == 200 and source.random() < 0.2:
                        answer = host.post("/mvu/card-write", json=body)  # the answer was lost: the same request again
                    if answer.status_code == 200:
                        with lock:
                            done.append((answer.json()["revision"], operation))
                        revision = answer.json()["revision"]
                        break
                    assert answer.json()["code"] == "REVISION_CONFLICT", answer.text
                    revision = answer.json()["details"]["currentRevision"]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    revisions = sorted(revision for revision, _ in done)
    assert revisions == list(range(2, 2 + CLIENTS * WRITES))
    snapshot = client.get("/mvu/snapshot", scope=scope)
    assert snapshot["variables"]["stat_data"]["n"] == CLIENTS * WRITES
