"""The deep module: ``match`` and ``turn``, pure functions of Canon, State and intent (§1-§4).

No disk, clock, random source or host object. A State is never mutated: an accepted intent yields a new one that
shares what did not change, a refused one yields the same one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.values.rows import InnkeeperError
from runtime.world.canon import Canon, Check, SamePaths
from runtime.world.channels import fact_refusal, ruling_refusal
from runtime.world.dice import FNV, RECIPES, derive_u, draw
from runtime.world.formula import evaluate_formula
from runtime.world.intents import Intent, check_actors, check_intent
from runtime.world.patching import Patch, apply_patch, bind_patch
from runtime.world.pointers import (
    MISSING,
    PointerError,
    State,
    is_number,
    read,
    segments_of,
    utf16_length,
    write,
)
from runtime.world.predicate import holds, scalar_equal
from runtime.world.travel import travel

Event = dict[str, Any]
Receipt = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ForcedCheck:
    """One hit of ``match``: the check must be run with these actors."""

    check_id: str
    actors: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The form of §2."""
        return {"checkId": self.check_id, "actors": self.actors}


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The answer of ``turn``: accepted with a new State and events, or refused with a code and the same State."""

    ok: bool
    state: State
    receipt: Receipt
    events: tuple[Event, ...] = ()
    code: str | None = None
    message: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The form of §1.3."""
        answer: dict[str, Any] = {"ok": self.ok}
        if not self.ok:
            answer |= {"code": self.code, "message": self.message}
        return answer | {"state": self.state, "receipt": self.receipt, "events": list(self.events)}


class _Refusal(Exception):
    """A refused intent; becomes a ``TurnResult``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class WorldKernel:
    """Rules over one Canon. Everything a caller may do is ``match`` and ``turn``."""

    def __init__(self, canon: Canon) -> None:
        self._canon = canon

    def match(self, state: State, tags: Collection[str], actors: Mapping[str, str] | None = None) -> list[ForcedCheck]:
        """The forced checks in Canon order (§2)."""
        given = check_actors(actors or {})
        chosen = frozenset(tags)
        hits: list[ForcedCheck] = []
        for check in self._canon.checks.values():
            bound = match_check(check, state, chosen, given)
            if bound is not None:
                hits.append(ForcedCheck(check.id, bound))
        return hits

    def turn(self, state: State, intent: Intent, *, u: float | None = None, rng: str | None = None) -> TurnResult:
        """Carry out one intent. ``u`` injects a draw and ``rng`` replaces the pack's kind for this call (§1.2)."""
        check_intent(intent)
        if u is not None and not (is_number(u) and 0 <= u <= 1):
            raise InnkeeperError("WORLD_INTENT", f"expected a draw from 0 to 1, found {u!r} at u")
        try:
            kind = intent["type"]
            if kind == "check":
                return self._check(state, intent, u, rng)
            if kind == "gm":
                return self._ruling(state, intent)
            if kind in ("fact", "correct"):
                return self._fact(state, intent)
            if kind == "lore":
                return TurnResult(
                    True, state, {"kind": "lore", "key": intent["key"], "body": self._lore(intent["key"])}
                )
            return self._look(state, intent)
        except _Refusal as refusal:
            return TurnResult(False, state, {"kind": "empty"}, (), refusal.code, refusal.message)

    def _look(self, state: State, intent: Intent) -> TurnResult:
        value = read(state, segments_of(intent.get("pointer") or ""))
        return TurnResult(True, state, {"kind": "look", "value": None if value is MISSING else value})

    def _lore(self, key: str) -> str:
        canon = self._canon
        body = canon.lore.get(key, "")
        if key not in canon.lore and key in canon.cards:
            body = canon.cards[key].body
        if not body:
            raise _Refusal("UNKNOWN_LORE", f"expected the key of a lore document or a card, found {key!r}")
        length = utf16_length(body)
        if canon.lore_budget is not None and length > canon.lore_budget:
            raise _Refusal("BUDGET", f"expected at most {canon.lore_budget} characters, found {length} in {key}")
        return body

    def _fact(self, state: State, intent: Intent) -> TurnResult:
        pointer, value, kind = intent["pointer"] or "", intent["value"], intent["type"]
        refusal = fact_refusal(pointer, self._canon.guards)
        if refusal is not None:
            raise _Refusal("CHANNEL_VIOLATION", refusal)
        patch = {pointer: value}
        try:
            # Facts are literal: "+5" is a text (§4.2), so nothing is resolved.
            after = write(state, tuple(pointer.split(".")), value)
            apply_patch(after, {})
        except PointerError as error:
            raise _Refusal("CHANNEL_VIOLATION", str(error)) from None
        event = self._event(state, kind, {"pointer": pointer, "value": value, "resolved": patch})
        receipt = {"kind": kind, "pointer": pointer, "patch": patch, "resolved": patch}
        return TurnResult(True, _next_turn(after), receipt, (event,))

    def _ruling(self, state: State, intent: Intent) -> TurnResult:
        reason = intent["reason"].strip()
        if not reason:
            raise _Refusal("MISSING_REASON", "expected a reason behind '::', found none")
        patch = self._travelled(state, dict(intent["patch"]))
        after, resolved = self._applied(state, patch)
        event = self._event(state, "gm", {"patch": patch, "reason": reason, "resolved": resolved})
        return TurnResult(True, _next_turn(after), {"kind": "gm", "patch": patch, "resolved": resolved}, (event,))

    def _check(self, state: State, intent: Intent, u: float | None, rng: str | None) -> TurnResult:
        check = self._canon.checks.get(intent["checkId"])
        if check is None:
            raise _Refusal("UNKNOWN_CHECK", f"expected a check of the pack, found {intent['checkId']!r}")
        actors = check_actors(intent.get("actors") or {})
        inputs = self._inputs(check, state, actors)
        evaluation = evaluate_formula(check.formula, inputs)
        inputs["p"] = evaluation.p
        kind = rng or self._canon.rng
        if u is None:
            u = 0 if kind == "none" else derive_u(recipe_of(state), state["rng_seed"], check.id, ordinal_of(state))
        drawn = draw(kind, u, evaluation.p)
        patch = self._outcome(check, state, actors, intent.get("patch") or {}, drawn.success)
        after, resolved = self._applied(state, patch)
        after = count_check(after)
        body = {
            "check_id": check.id,
            "actors": actors,
            "inputs": inputs,
            "p": evaluation.p,
            "xi": drawn.xi,
            "outcome": "success" if drawn.success else "failure",
            "patch": patch,
            "resolved": resolved,
        }
        receipt: Receipt = {"kind": "check", **body}
        if evaluation.notes:
            receipt["notes"] = evaluation.notes
        return TurnResult(True, _next_turn(after), receipt, (self._event(state, "check", body),))

    def _inputs(self, check: Check, state: State, actors: dict[str, str]) -> dict[str, Any]:
        """Gate a check and resolve its inputs (§1.6: unknown actor, condition, inputs, in this order)."""
        for slot, actor in actors.items():
            if actor not in state["characters"]:
                raise _Refusal("UNKNOWN_ACTOR", f"expected a character of this world, found {actor!r} for {slot}")
        if check.fault is not None:
            raise _Refusal("INVALID_CONDITION", f"the check {check.id} is not usable: {check.fault}")
        if check.condition is not None and not holds(check.condition, state, None, actors):
            raise _Refusal("INVALID_CONDITION", f"the condition of {check.id} does not hold for {actors}")
        resolved: dict[str, Any] = {}
        for name, source in check.inputs:
            if isinstance(source, SamePaths):
                resolved[name] = _same(state, source, actors)
                continue
            segments = source.segments(actors)
            value = read(state, segments)
            if value is MISSING:
                raise _Refusal(
                    "INVALID_CONDITION", f"the input {name} of {check.id} has no value: {'.'.join(segments)}"
                )
            resolved[name] = value
        return resolved

    def _outcome(
        self, check: Check, state: State, actors: dict[str, str], extra: Mapping[str, Any], success: bool
    ) -> Patch:
        """The bound patch of an outcome with the extra patch laid over it and the way checked (§3.6, §4.3, §4.4)."""
        patch = bind_patch(check.success if success else check.failure, actors)
        requested = bind_patch(extra, actors)
        for pointer in requested:
            refusal = None if pointer == "scene" else fact_refusal(pointer, self._canon.guards)
            if refusal is not None:
                raise _Refusal("EXTRA_GUARDED", refusal)
        if "scene" in requested and not success:
            # A closed way is refused whatever the dice say; an open one is only taken on success.
            self._travelled(state, {"scene": requested.pop("scene")})
        return self._travelled(state, patch | requested)

    def _travelled(self, state: State, patch: Patch) -> Patch:
        if "scene" not in patch:
            return patch
        trip = travel(self._canon.places, state, patch["scene"])
        if trip.refusal is not None:
            raise _Refusal("TRAVEL_BLOCKED", trip.refusal)
        return patch if trip.beat is None else patch | {"clock.beat": trip.beat}

    def _applied(self, state: State, patch: Patch) -> tuple[State, Patch]:
        for pointer in patch:
            refusal = ruling_refusal(pointer)
            if refusal is not None:
                raise _Refusal("CHANNEL_VIOLATION", refusal)
        try:
            applied = apply_patch(state, patch, self._canon.bounds)
        except PointerError as error:
            raise _Refusal("CHANNEL_VIOLATION", str(error)) from None
        return applied.state, applied.resolved

    def _event(self, state: State, kind: str, body: dict[str, Any]) -> Event:
        return {"type": kind, **body, "recipe": recipe_of(state), "canonHash": self._canon.hash}


def match_check(
    check: Check, state: State, tags: Collection[str] | None, given: dict[str, str]
) -> dict[str, str] | None:
    """The actors with which one check is forced, or ``None`` (§2.3: a lone free slot takes a lone character)."""
    if check.condition is None or check.fault is not None:
        return None
    actors = dict(given)
    slots, stage = check.forced_slots, state["present"]
    if len(slots) == 1 and not actors.get(slots[0]) and len(stage) == 1:
        actors[slots[0]] = stage[0]
    return actors if holds(check.condition, state, tags, actors) else None


def _same(state: State, source: SamePaths, actors: dict[str, str]) -> bool:
    left, right = source.left.segments(actors), source.right.segments(actors)
    a, b = read(state, left), read(state, right)
    if a is MISSING or b is MISSING:
        return a is b
    # Containers are the same only as the same node, which for stored States means the same path.
    return scalar_equal(a, b) or (isinstance(a, (dict, list)) and left == right)


def recipe_of(state: State) -> str:
    """The recipe that a State was opened with; none means the first one (§00.2)."""
    recipe = state.get("recipe", FNV)
    if recipe not in RECIPES:
        raise InnkeeperError("WORLD_REQUEST", f"expected a recipe out of {', '.join(RECIPES)}, found {recipe!r}")
    return str(recipe)


def ordinal_of(state: State) -> int:
    """How many checks were accepted so far."""
    value = state["facts"].get("__check_ordinal", 0)
    return int(value) if is_number(value) else 0


def count_check(state: State) -> State:
    """The State after one more accepted check."""
    return {**state, "facts": {**state["facts"], "__check_ordinal": ordinal_of(state) + 1}}


def _next_turn(state: State) -> State:
    turn = state.get("turn", 0)
    return {**state, "turn": (int(turn) if is_number(turn) else 0) + 1}
