"""The world kernel as multiples of J: one ``json.loads(json.dumps(state))`` of the same State in the same process.

``python -m bench.world_bench`` prints ``match`` over 1,000 checks, ``turn`` on a State of 50 KB, and a fold of 10,000
events. Machines drift; read the ratios.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runtime.world.canon import compile_canon
from runtime.world.dice import SHA
from runtime.world.fold import fold
from runtime.world.kernel import WorldKernel
from runtime.world.opening import opening_state

CHECKS = 1000
EVENTS = 10_000
ROUNDS = 15
STATE = Path(__file__).parent / "data" / "state-50k.json"


def world() -> tuple[WorldKernel, dict[str, Any]]:
    """A Canon of 1,000 checks and a State of about 50 KB."""
    checks = {
        f"check-{number}": {
            "id": f"check-{number}",
            "kind": "generic",
            "condition": {
                "all": [
                    {"tag": f"tag-{number % 50}"},
                    {"present": ["$actor"]},
                    {"any": [{"gte": ["characters.{actor}.skill", number % 7]}, {"eq": ["facts.alarm", True]}]},
                ]
            },
            "inputs": {"skill": "characters.{actor}.skill", "same": "eq(facts.alarm, facts.storm)"},
            "formula": "gap = skill - 3\np = sigmoid(gap / 1.5)\nif same: p = clamp(p + 0.05)",
            "outcomes": {
                "success": {"apply": {"facts.won": "{actor}", "characters.{actor}.skill": "+0.05"}},
                "failure": {"apply": {"characters.{actor}.skill": "-0.05"}},
            },
        }
        for number in range(CHECKS)
    }
    document = {
        "meta": {
            "id": "bench",
            "title": "Bench",
            "stats": {"skill": 3},
            "guarded": ["characters.*.skill"],
            "opening": {"present": ["ann"], "facts": {"alarm": False, "storm": False}},
        },
        "index": {"checks": list(checks), "characters": ["ann"], "lore": []},
        "checks": checks,
        "characters": {"ann": {"id": "ann", "name": "Ann", "keys": [], "body": "Ann."}},
        "lore": {},
        "guarded": ["characters.*.skill"],
    }
    canon = compile_canon(document)
    state = opening_state(canon, "bench", SHA)
    state["facts"]["archive"] = json.loads(STATE.read_text(encoding="utf-8"))
    return WorldKernel(canon), state


def median(work: Callable[[], Any], repeat: int) -> float:
    """The median time of one call, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeat):
            work()
        times.append((time.perf_counter() - start) / repeat)
    return statistics.median(times)


def measure() -> dict[str, float]:
    """Every figure, as a multiple of J or in seconds."""
    kernel, state = world()
    check = {"type": "check", "checkId": "check-3", "actors": {"actor": "ann"}}
    fact = {"type": "fact", "pointer": "facts.weather", "value": "fog"}
    j = median(lambda: json.loads(json.dumps(state)), 5)
    events = []
    current = state
    for number in range(EVENTS):
        intent = check if number % 2 else {**fact, "value": number}
        result = kernel.turn(current, intent)
        events.extend(result.events)
        current = result.state
    start = time.perf_counter()
    folded = fold(state, events)
    seconds = time.perf_counter() - start
    if folded != current:
        raise AssertionError("the fold does not equal the live State")
    return {
        "state characters": float(len(json.dumps(state))),
        "J (ms)": j * 1000,
        "match, 1,000 checks (J)": median(lambda: kernel.match(state, ["tag-3"], {}), 5) / j,
        "turn, check, 50 KB (J)": median(lambda: kernel.turn(state, check), 50) / j,
        "turn, fact, 50 KB (J)": median(lambda: kernel.turn(state, fact), 50) / j,
        "fold, 10,000 events (s)": seconds,
        "fold, one event (J)": seconds / EVENTS / j,
    }


def main() -> None:
    """Print the figures."""
    for name, value in measure().items():
        print(f"{name:28} {value:.4f}")


if __name__ == "__main__":
    main()
