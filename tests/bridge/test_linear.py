"""Compare-and-set writes over a lossy network are linear: every acknowledged write counts once, none is lost.

``INNKEEPER_LINEAR_WRITES`` makes the run longer (writes per client).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.bridge.real import RealServer

NODE = shutil.which("node")
HERE = Path(__file__).resolve().parent
CLIENTS = 8
WRITES = int(os.environ.get("INNKEEPER_LINEAR_WRITES", "12"))

pytestmark = [pytest.mark.node, pytest.mark.skipif(NODE is None, reason="Node.js is not installed on this machine")]


def test_writes_of_many_clients_form_one_line(real: RealServer) -> None:
    assert NODE is not None
    body = {"characterId": real.card("wayhouse"), "operationId": "linear-begin"}
    begun = real.call("POST", "/host/playthroughs", body)
    said = {"user": {"text": "Hm."}, "reply": {"text": "_.set('house.hour', 17)"}, "operationId": "linear-turn"}
    answer = real.call("POST", f"/host/sessions/{begun['sessionId']}/turns", said)
    scope = {key: begun[key] for key in ("playthroughId", "sessionId")}
    scope |= {key: answer[key] for key in ("nodeId", "variantId", "endEventId")}
    plan = {"base": real.base, "scope": scope, "clients": CLIENTS, "writes": WRITES, "seed": 20261201}
    run = subprocess.run(
        [NODE, str(HERE / "linear.mjs"), json.dumps(plan)],
        capture_output=True,
        text=True,
        timeout=60 + WRITES * 5,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    told = json.loads(run.stdout)
    pairs = sorted((revision, coin) for client in told for revision, coin in client["acknowledged"])
    revisions = [revision for revision, _ in pairs]
    assert len(pairs) == CLIENTS * WRITES
    assert len(set(revisions)) == len(revisions), "two acknowledged writes claim one revision"
    # One coin per revision, in order: no write was lost under another, none was counted twice.
    assert {coin - revision for revision, coin in pairs} == {pairs[0][1] - pairs[0][0]}
    for client in told:
        own = [revision for revision, _ in client["acknowledged"]]
        assert own == sorted(own), "a client saw its own writes out of order"
    resource = begun["resources"][0]["id"]
    query = f"id={resource}&scope=" + json.dumps({"authority": "local", "sessionId": begun["sessionId"]}).replace(
        " ", ""
    ).replace('"', "%22")
    record = real.call("GET", f"/mvu/resource?{query}")["record"]
    written = record["content"]["stat_data"]["keeper"]["coin"] - 9
    unknown = sum(client["unknown"] for client in told)
    assert len(pairs) <= written <= len(pairs) + unknown
    assert sum(client["lost"]["answers"] for client in told) > 0, "the network lost no answer: nothing was proved"
