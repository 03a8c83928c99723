"""Scenes as a graph: which way is open, what it needs, and how many beats it takes (§4.4)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from interpreter.javascript import js_number_text
from runtime.world.pointers import State, is_number, tidy

_MOBILITY = re.compile(r"mobility\s*(>=|<=|>|<|=)\s*([+-]?[0-9]+(?:\.[0-9]+)?)\Z", re.ASCII)
_FACT = re.compile(r"(?:facts\.)?([A-Za-z_][A-Za-z0-9_]*)\s*(!=|=)\s*(?![=<>!])(.*\S)\s*\Z", re.ASCII | re.DOTALL)
_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


@dataclass(frozen=True, slots=True)
class MobilityNeed:
    """A comparison with the mobility of whoever stands first on stage."""

    test: Callable[[Any, Any], bool]
    number: float


@dataclass(frozen=True, slots=True)
class FactNeed:
    """Equality (or not) of one fact's text form with a text."""

    name: str
    equal: bool
    text: str


Need = MobilityNeed | FactNeed


@dataclass(frozen=True, slots=True)
class Edge:
    """One way: its beats and its need; ``readable`` is false when the need could not be understood."""

    beats: float
    need: Need | None
    readable: bool
    need_text: str


Places = Mapping[str, Mapping[str, Edge]]


@dataclass(frozen=True, slots=True)
class Trip:
    """The answer about a requested scene: ``refusal`` or the new ``beat`` (``None``: the clock does not move)."""

    refusal: str | None = None
    beat: int | float | None = None


def parse_need(text: str) -> Need | None:
    """Read a need, or ``None`` when it is neither of the two forms."""
    trimmed = text.strip()
    if found := _MOBILITY.match(trimmed):
        return MobilityNeed(_TESTS[found[1]], float(found[2]))
    if found := _FACT.match(trimmed):
        return FactNeed(found[1], found[2] == "=", found[3].strip())
    return None


def compile_places(source: Any) -> Places | None:
    """The graph of a pack; ``None`` when the pack has no ``places`` key at all."""
    if source is None:
        return None
    places: dict[str, dict[str, Edge]] = {}
    for scene, place in source.items() if isinstance(source, dict) else ():
        edges = place.get("edges") if isinstance(place, dict) else None
        places[str(scene)] = {
            str(target): _edge(edge) for target, edge in (edges.items() if isinstance(edges, dict) else ())
        }
    return places


def _edge(source: Any) -> Edge:
    body = source if isinstance(source, dict) else {}
    beats = body.get("beats")
    raw = body.get("need")
    text = raw.strip() if isinstance(raw, str) else ""
    need = parse_need(text) if text else None
    readable = raw is None or raw == "" or (isinstance(raw, str) and (not text or need is not None))
    return Edge(float(beats) if is_number(beats) else 0.0, need, readable, text)


def text_form(value: Any) -> str:
    """A fact as text, the way needs compare it: booleans, whole numbers without a fraction, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_number(value):
        return js_number_text(value)
    if isinstance(value, list):
        return ",".join(text_form(item) for item in value)
    return value if isinstance(value, str) else "[object Object]"


def need_holds(need: Need, state: State) -> bool:
    """Whether the way is open for the current State."""
    if isinstance(need, MobilityNeed):
        stage = state["present"]
        hero = state["characters"].get(stage[0]) if stage else None
        value = hero.get("mobility") if isinstance(hero, dict) else None
        return need.test(value if is_number(value) else 0, need.number)
    return (text_form(state["facts"].get(need.name)) == need.text) == need.equal


def travel(places: Places | None, state: State, destination: Any) -> Trip:
    """Ask for a scene: refused, free, or with a new beat."""
    if not isinstance(destination, str):
        return Trip(f"expected the id of a scene, found {destination!r}")
    current = state["scene"]
    if not places or destination == current:
        return Trip()
    edge = places.get(current, {}).get(destination)
    if edge is None:
        ways = ", ".join(places.get(current, {})) or "none"
        return Trip(f"there is no way from {current} to {destination}; open ways: {ways}")
    if not edge.readable or (edge.need is not None and not need_holds(edge.need, state)):
        return Trip(f"the way from {current} to {destination} needs {edge.need_text or 'something unreadable'}")
    if not edge.beats:
        return Trip()
    clock = state.get("clock")
    beat = clock.get("beat") if isinstance(clock, dict) else None
    return Trip(beat=tidy((beat if is_number(beat) else 0) + edge.beats))
