"""Snapshots and batches of updates over 10, 100 and 1,000 tiny dimensions, as multiples of J in the same process.

J is one ``json.loads(json.dumps(snapshot))`` of the table in question: what merely moving it once would cost. ``one``
is a single update without a source; its time should not follow the number of the other dimensions. ``durable`` runs
through the service on a real SQLite file.

    python -m bench.dimensions_bench [--json]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runtime.dimensions.binding import World, bind
from runtime.dimensions.domain import register_narrative, settle_by_tool, update
from runtime.dimensions.service import DimensionsService
from runtime.dimensions.state import State
from runtime.dimensions.views import query, snapshot
from runtime.ledger.sqlite import SqliteLedger
from runtime.sessions.host import SessionHost

SIZES = (10, 100, 1_000)
BATCH = 64
ROUNDS = 60
TINY: dict[str, Any] = {"name": "D", "schema": {"type": "integer"}, "initialValue": 0, "updateRule": "r"}


def timed(job: Callable[[], object], repeat: int) -> float:
    """Seconds of one call: the best of some rounds of ``repeat`` calls, since other work on the machine only adds."""
    rounds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(repeat):
            job()
        rounds.append((time.perf_counter() - started) / repeat)
    return min(rounds)


def batch(state: State, count: int) -> dict[str, Any]:
    """An update of the first ``count`` dimensions."""
    keys = list(state.records)[:count]
    return {"updates": [{"id": key, "expectedVersion": state.records[key].version, "value": 7} for key in keys]}


def stored(state: State) -> object:
    """What a commit would write."""
    return state.changes()


def measure(size: int) -> dict[str, float]:
    """The figures of one table."""
    state = bind(State(), World("w", {f"d{number}": TINY for number in range(size)}, "en-US")).state.clean()
    told = register_narrative(state, "tale", "turn").state
    entries = snapshot(state)["dimensions"]
    many, one = batch(state, min(BATCH, size)), batch(state, 1)
    call = {"updates": [{"id": entry["id"], "value": 7} for entry in many["updates"]], "followsClock": []}
    queries = [{"dimension": "d0"}]
    repeat = max(1, 200 // size)
    return {
        "J us": 1e6 * timed(lambda: json.loads(json.dumps(entries)), repeat),
        "snapshot us": 1e6 * timed(lambda: snapshot(state), repeat),
        "query us": 1e6 * timed(lambda: query(state, queries), repeat),
        "one us": 1e6 * timed(lambda: stored(update(state, one).state), 20),
        "batch us": 1e6 * timed(lambda: stored(update(state, many).state), repeat),
        "settle us": 1e6 * timed(lambda: stored(settle_by_tool(told, "tale", call).state), repeat),
    }


def durable(size: int, folder: Path) -> float:
    """Median milliseconds of one durable update through the service."""
    ledger = SqliteLedger(folder / f"{size}.sqlite")
    host = SessionHost(ledger, deployment="d", new_id=lambda: "x", now=lambda: 0)
    service = DimensionsService(ledger, now=lambda: 0)
    service.declare_world(world_id="w", definitions={f"d{number}": TINY for number in range(size)})
    ledger.write(lambda tx: host.insert_session(tx, "s"))
    service.bind("s", "w", locale="en-US", operation_id="bind")
    times = []
    for number in range(60):
        entry = {"id": "d0", "expectedVersion": number + 1, "value": number + 1}
        started = time.perf_counter()
        service.update("s", {"updates": [entry]}, operation_id=f"op{number}")
        times.append(time.perf_counter() - started)
    ledger.close()
    return 1e3 * statistics.median(times)


def main() -> None:
    """Print one line per size, or JSON."""
    as_json = "--json" in sys.argv[1:]
    rows: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            row = measure(size)
            for name in ("snapshot", "query", "batch", "settle"):
                row[f"{name}/J"] = row[f"{name} us"] / row["J us"]
            row["durable one ms"] = durable(size, Path(folder))
            rows[size] = row
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for size, row in rows.items():
        print(f"{size:>5} dimensions: " + ", ".join(f"{name} {figure:.3g}" for name, figure in row.items()))


if __name__ == "__main__":
    main()
