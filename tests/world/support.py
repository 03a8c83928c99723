"""A small world for tests, and a service over a store in memory."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path
from typing import Any

from runtime.world.canon import Canon, compile_canon
from runtime.world.dice import FNV
from runtime.world.host import Line
from runtime.world.kernel import TurnResult, WorldKernel
from runtime.world.opening import opening_state
from runtime.world.pack.load import load_pack, read_directory
from runtime.world.pointers import State
from runtime.world.service import WorldService, WorldSettings
from runtime.world.store import MemoryStore

PACKS = Path(__file__).resolve().parents[2] / "examples" / "packs"
CLOCKHOUSE = PACKS / "wuqiao-clockhouse"
FERRY = PACKS / "lantern-ferry"

CONTEST: dict[str, Any] = {
    "id": "contest",
    "kind": "contest",
    "condition": {"all": [{"tag": "contest"}, {"present": ["$attacker", "$defender"]}]},
    "inputs": {
        "atk": "characters.{attacker}.rank",
        "def": "characters.{defender}.rank",
        "same": "eq(characters.{attacker}.house, characters.{defender}.house)",
    },
    "formula": "p = sigmoid(-(atk - def) / 1.5)\nif same: p = clamp(p + 0.05)",
    "outcomes": {
        "success": {"apply": {"facts.last_contest": "attacker", "present": "-{defender}"}},
        "failure": {
            "apply": {
                "facts.last_contest": "defender",
                "characters.{attacker}.pressure": "+0.05",
                "present": "-{defender}",
            }
        },
    },
}
TRAVEL: dict[str, Any] = {"id": "travel", "kind": "generic", "inputs": {}, "formula": "p = 1", "outcomes": {}}
STEADY: dict[str, Any] = {
    "id": "steady",
    "kind": "generic",
    "condition": {"all": [{"tag": "steady"}, {"present": ["$actor"]}]},
    "inputs": {"pressure": "characters.{actor}.pressure"},
    "formula": "p = clamp(1 - pressure)",
    "outcomes": {"success": {"apply": {"facts.held": True}}, "failure": {"apply": {"facts.held": False}}},
}
DOCUMENT: dict[str, Any] = {
    "meta": {
        "id": "brook",
        "title": "Brook",
        "entry_scene": "brook.mill",
        "stats": {"rank": 9, "pressure": 0.1, "house": "none", "mobility": 0},
        "opening": {"present": ["ada", "cyr"], "roster": ["bel"], "facts": {"weather": "clear"}},
        "tags": {"contest": ["fight"], "steady": ["breathe"]},
    },
    "index": {"checks": ["contest", "steady", "travel"], "characters": ["ada", "bel", "cyr"], "lore": ["axioms"]},
    "checks": {"contest": CONTEST, "steady": STEADY, "travel": TRAVEL},
    "characters": {
        "ada": {"id": "ada", "name": "Ada", "keys": [], "stats": {"rank": 9, "house": "mill"}, "body": "Quick."},
        "bel": {
            "id": "bel",
            "name": "Bel",
            "keys": ["the smith"],
            "stats": {"rank": 7, "house": "mill"},
            "body": "Slow.",
        },
        "cyr": {"id": "cyr", "name": "Cyr", "keys": [], "stats": {"rank": 8, "house": "ford"}, "body": "Loud."},
    },
    "lore": {"axioms": {"key": "axioms", "body": "Water runs down."}},
    "guarded": ["characters.*.rank", "characters.*.pressure"],
}
A_VS_C = {"attacker": "ada", "defender": "cyr"}


def document(**meta: Any) -> dict[str, Any]:
    """A copy of the small pack with other ``meta`` fields."""
    copied = copy.deepcopy(DOCUMENT)
    copied["meta"] |= meta
    return copied


def canon(**meta: Any) -> Canon:
    """The small pack, compiled."""
    return compile_canon(document(**meta))


def with_check(check: dict[str, Any], **meta: Any) -> Canon:
    """The small pack with one more check."""
    changed = document(**meta)
    changed["checks"][check["id"]] = check
    return compile_canon(changed)


def opened(chosen: Canon, seed: str = "brook:1", recipe: str = FNV) -> State:
    """The opening State."""
    return opening_state(chosen, seed, recipe)


def turn(chosen: Canon, state: State, intent: dict[str, Any], **options: Any) -> TurnResult:
    """One turn of a Canon."""
    return WorldKernel(chosen).turn(state, intent, **options)


def check(check_id: str, actors: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """A check intent."""
    return {"type": "check", "checkId": check_id, "actors": actors or {}, **fields}


def line_of(chosen: Canon, role: str = "play", session_id: str = "s1", recipe: str = FNV) -> Line:
    """A fresh line."""
    state = opened(chosen, f"{chosen.id}:{session_id}", recipe)
    return Line(session_id, chosen, role, state, (), state)


def files_of(path: Path) -> dict[str, str]:
    """The texts of a pack on disk."""
    return read_directory(path)


def canon_of(path: Path) -> Canon:
    """A pack on disk, compiled; it must have no error."""
    loaded = load_pack(read_directory(path))
    assert loaded.ok
    assert loaded.canon is not None
    return loaded.canon


def service(store: MemoryStore | None = None, **settings: Any) -> WorldService:
    """A service with counted ids and seeds."""
    numbers = itertools.count(1)
    chosen = {"new_seed": lambda: f"seed-{next(numbers)}", "new_id": lambda: f"world-{next(numbers)}", **settings}
    return WorldService(store if store is not None else MemoryStore(), WorldSettings(**chosen))
