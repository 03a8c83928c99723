"""Parsing under the 64-key declaration: ours against real zod in the same run, and an incremental parse.

``python bench/zod_parse.py --peer FOLDER`` takes a folder where ``npm install zod@4.4.3 lodash`` was run; without one,
only our own figures are printed. Medians in microseconds; machines drift, so read the ratios.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from interpreter import Memory, compile_declaration

HERE = Path(__file__).parent
DATA = HERE / "data"
FILES = ("zod-data-2k.json", "zod-data-50k.json")


def median_us(action: Callable[[], Any], rounds: int = 60) -> float:
    """The median time of an action in microseconds."""
    for _ in range(10):
        action()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def incremental_us(schema: Any, data: Any, rounds: int = 300) -> float:
    """The median time of a parse after one changed leaf, four levels deep."""
    memory = Memory()
    state = schema.parse(data, memory=memory).value
    memory.accept()
    schema.parse(state, memory=memory)
    memory.accept()
    people = list(state["人物"])
    times = []
    for turn in range(rounds):
        name = people[turn % len(people)]
        person = state["人物"][name]
        status = {**person["状态"], "生命": (turn * 7) % 100}
        person_after = {**person, "状态": status}
        everyone = {**state["人物"], name: person_after}
        after = {**state, "人物": everyone}
        memory.hint(status, person["状态"], "生命")
        memory.hint(person_after, person, "状态")
        memory.hint(everyone, state["人物"], name)
        memory.hint(after, state, "人物")
        start = time.perf_counter()
        result = schema.parse(after, memory=memory)
        times.append(time.perf_counter() - start)
        assert result.ok and result.value is after
        memory.accept()
        state = after
    return statistics.median(times) * 1e6


def peer(folder: str | None) -> dict[str, Any]:
    """What real zod needs, by data file."""
    if folder is None:
        return {}
    script = HERE / "peers" / "zod_parse.mjs"
    command = ["node", str(script), str(DATA / "zod-schema-60.txt"), *(str(DATA / name) for name in FILES)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    """Print one line per figure; the status is 1 where a ratio misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", metavar="FOLDER", help="folder with zod and lodash installed")
    chosen = parser.parse_args()
    schema = compile_declaration((DATA / "zod-schema-60.txt").read_text(encoding="utf-8"))
    theirs = peer(chosen.peer)
    missed = 0
    for name in FILES:
        data = json.loads((DATA / name).read_text(encoding="utf-8"))
        broken = copy.deepcopy(data)
        broken["世界"]["天气"] = 1
        ours = {
            "valid": median_us(partial(schema.parse, data)),
            "invalid": median_us(partial(schema.parse, broken)),
            "incremental": incremental_us(schema, data),
        }
        line = "  ".join(f"{key} {value:.1f}" for key, value in ours.items())
        print(f"{name}: {line}")
        zod = theirs.get(str(DATA / name))
        if zod is None:
            continue
        goals = {
            "valid/zod": (ours["valid"] / zod["valid"], 1.5),
            "invalid/zod": (ours["invalid"] / zod["invalid"], 5.0),
        }
        if "50k" in name:
            goals["incremental*20/zod"] = (ours["incremental"] * 20 / zod["valid"], 1.0)
        for label, (ratio, goal) in goals.items():
            missed += ratio > goal
            print(f"    {label} {ratio:.2f} (goal {goal})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
