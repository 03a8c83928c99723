"""Reading and applying replies as multiples of J: one ``json.loads(json.dumps(state))`` of the same state, same process.

``python -m bench.commands_bench`` prints COLD (fresh objects, empty memory) and WARM (the state of the previous reply)
with the goals, the cost of one command by the size of the state, and the memory of what is remembered. Machines
drift; read the ratios.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interpreter import CompiledSchema, Memory, compile_declaration
from runtime.mvu import envelope
from runtime.mvu.apply import Applied, apply_commands
from runtime.mvu.commands import parse_commands

DATA = Path(__file__).parent / "data"
ROUNDS = 9


def load(name: str) -> Any:
    """A workload."""
    text = (DATA / name).read_text("utf-8")
    return json.loads(text) if name.endswith(".json") else text


def clock(work: Callable[[], Any]) -> float:
    """Processor seconds of one run: other processes do not count."""
    started = time.process_time()
    work()
    return time.process_time() - started


def prepared(data: Any, schema: CompiledSchema | None, open_: bool) -> dict[str, Any]:
    """A stored envelope, as an ingest finds it: under a declaration it has passed it once."""
    content: dict[str, Any] = {"stat_data": data}
    if schema is not None:
        result = schema.parse(data, clock=0)
        content = {"stat_data": result.value, "mvu_schema": schema.descriptor()}
    elif open_:
        content["stat_data"] = {"$meta": {"extensible": True, "recursiveExtensible": True}, **data}
    return envelope.normalise(content)


def ratio(data: Any, text: str, schema: CompiledSchema | None, warm: bool, open_: bool = True) -> tuple[float, int]:
    """The median of read + apply over J, and how many commands were accepted."""
    stored = json.dumps(prepared(data, schema, open_))
    ratios: list[float] = []
    accepted = 0
    for _ in range(ROUNDS):
        variables = json.loads(stored)
        memory = Memory() if schema is not None else None
        if warm:
            variables = update(variables, text, schema, memory).variables
        jay = statistics.median(clock(lambda: json.loads(json.dumps(data))) for _ in range(5))
        results: list[Applied] = []
        gc.collect()
        spent = clock(lambda: results.append(update(variables, text, schema, memory)))  # noqa: B023
        ratios.append(spent / jay)
        accepted = sum(receipt.status == "applied" for receipt in results[0].receipts)
    return statistics.median(ratios), accepted


def update(variables: dict[str, Any], text: str, schema: CompiledSchema | None, memory: Any) -> Applied:
    """One reply."""
    return apply_commands(variables, parse_commands(text).commands, schema, clock=0, memory=memory)


def per_command(data: Any, text: str) -> float:
    """Seconds of one command, read and applied, in the middle of a long reply without a declaration."""
    variables = prepared(data, None, True)
    whole = text * 10

    def run(reply: str) -> float:
        return min(clock(lambda: update(variables, reply, None, None)) for _ in range(7))

    return (run(whole) - run(text)) / (len(parse_commands(whole).commands) - len(parse_commands(text).commands))


def wide(count: int) -> dict[str, Any]:
    """A state with a record of ``count`` entries."""
    return {"record": {f"entry{number}": {"hp": number, "name": "x"} for number in range(count)}, "hp": 1}


def growth() -> list[tuple[str, float, float]]:
    """The cost of a command against the same one on the small state, with its goal."""
    plain = "".join(f"_.set('世界.回合', {number});" for number in range(100))
    entries = "".join(f"_.set('record.entry7.hp', {number});" for number in range(100))
    small = per_command(load("state-2k.json"), plain)
    return [
        ("one command, 500 KB against 2 KB", per_command(load("state-500k.json"), plain) / small, 1.2),
        (
            "one command into a record of 1,000",
            per_command(wide(1000), entries) / per_command(wide(10), entries),
            1.6,
        ),
    ]


def remembered(schema: CompiledSchema) -> tuple[float, float]:
    """Memory that is remembered, as a share of the state: after one reply, and after 10,000 commands."""
    data = load("zod-data-50k.json")
    text = load("messages-zod.json")["100"]
    commands = parse_commands(text).commands
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    variables = json.loads(json.dumps(prepared(data, schema, False)))
    state = tracemalloc.get_traced_memory()[0] - before
    shares: list[float] = []
    for rounds in (1, 100):
        memory = Memory()
        current = variables
        for _ in range(rounds):
            current = apply_commands(current, commands, schema, clock=0, memory=memory).variables
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        del memory  # what this frees is what was remembered and is no part of the state
        gc.collect()
        shares.append((held - tracemalloc.get_traced_memory()[0]) / state)
    tracemalloc.stop()
    return shares[0], shares[1]


def main() -> int:
    """Print everything; the exit code says whether every COLD goal was met."""
    declaration = compile_declaration(load("zod-schema-60.txt"))
    zod, plain = load("messages-zod.json"), load("messages.json")
    rows: list[tuple[str, Any, str, CompiledSchema | None, float, bool]] = [
        ("declaration, 2 KB, 10 commands", load("zod-data-2k.json"), zod["10"], declaration, 9, True),
        ("declaration, 50 KB, 100 commands", load("zod-data-50k.json"), zod["100"], declaration, 8, True),
        ("no declaration, 50 KB, 100 commands", load("state-50k.json"), plain["commands-100"], None, 2, True),
        ("no declaration, 50 KB, 100 patches", load("state-50k.json"), plain["jsonpatch-100"], None, 2, True),
        ("no declaration, 50 KB, 100, closed", load("state-50k.json"), plain["commands-100"], None, 2, False),
        ("no declaration, 500 KB, 100 commands", load("state-500k.json"), plain["commands-100"], None, 0.8, True),
    ]
    met = True
    for name, data, text, schema, goal, open_ in rows:
        cold, accepted = ratio(data, text, schema, False, open_)
        warm, _ = ratio(data, text, schema, True, open_)
        met = met and cold <= goal
        print(f"{name:40s} COLD {cold:6.2f} J (goal {goal:g})  WARM {warm:6.2f} J  accepted {accepted}")
    for name, found, goal in growth():
        print(f"{name:40s} {found:6.2f} x (goal {goal:g})")
    first, last = remembered(declaration)
    print(
        f"{'remembered, share of the state':40s} {first:6.2f} after 100 commands, {last:6.2f} after 10,000 (goal 0.25)"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
