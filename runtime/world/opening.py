"""The first State of a session, and seats: who the player is and where (§6.4, §6.5)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from runtime.values.rows import InnkeeperError
from runtime.world.canon import Canon, Card, texts
from runtime.world.dice import FNV, RECIPES
from runtime.world.pointers import State

DEFAULT_SCENE = "start"
WANDERER = "wanderer"
_SEAT_KEYS = ("mode", "scene", "character", "name", "age", "vocation", "origin", "birthplace", "ties")
_PASSER_BY = {"zh": "过客", "en": "a passer-by"}


def character_fields(canon: Canon, card: Card | None) -> dict[str, Any]:
    """The State fields of a character: the pack's stats, then pathway, declared sequence and the card's own stats."""
    fields: dict[str, Any] = dict(canon.stats)
    if card is not None:
        if card.pathway is not None:
            fields["pathway"] = card.pathway
        if card.sequence_declared is not None:
            fields["sequence"] = card.sequence_declared
        fields |= card.stats
    return copy.deepcopy(fields)


def entry_for(canon: Canon, state: State, actor: str) -> dict[str, Any] | None:
    """The entry that a character with a card needs before coming on stage (§00.8), or ``None`` when it is complete.

    An entry may stand there in part, when a fact noted something about somebody who was not in play yet.
    """
    card = canon.cards.get(actor)
    if card is None or "." in actor:
        return None
    known = state["characters"].get(actor)
    fields = character_fields(canon, card)
    if known is not None and all(key in known for key in fields):
        return None
    return fields | (known or {})


def opening_state(canon: Canon, seed: str, recipe: str = FNV) -> State:
    """The opening State of §6.4. The recipe is stored unless it is the one that a State without a recipe means."""
    if recipe not in RECIPES:
        raise InnkeeperError("WORLD_REQUEST", f"expected a recipe out of {', '.join(RECIPES)}, found {recipe!r}")
    opening = canon.opening
    indexed = [key for key in canon.index.get("characters", ()) if key in canon.cards]
    settled = [key for key in indexed if not canon.cards[key].provisional]
    present = list(texts(opening["present"])) if isinstance(opening.get("present"), list) else settled
    playable = list(texts(opening["playable"])) if isinstance(opening.get("playable"), list) else settled
    everybody = dict.fromkeys((*present, *texts(opening.get("roster")), *playable))
    revealed = opening.get("revealed")
    state: State = {
        "turn": 0,
        "scene": canon.entry_scene or DEFAULT_SCENE,
        "rng_seed": seed,
        "revealed": list(texts(revealed)) if isinstance(revealed, list) else list(canon.index.get("lore", ())[:2]),
        "present": present,
        "characters": {key: character_fields(canon, canon.cards[key]) for key in everybody if key in canon.cards},
        "facts": copy.deepcopy(opening["facts"]) if isinstance(opening.get("facts"), dict) else {},
    }
    if canon.places is not None:
        state["clock"] = {"beat": 0}
    if recipe != FNV:
        state["recipe"] = recipe
    return state


def scene_lore_key(canon: Canon, scene: str) -> str | None:
    """The lore document of a scene: the scene itself or its nearest parent, dots or hyphens (§6.3)."""
    return next((key for key in scene_lore_candidates(scene) if key in canon.lore), None)


def scene_lore_candidates(scene: str) -> list[str]:
    """The keys under which a scene's lore may stand, nearest first."""
    parts = scene.split(".")
    forms: list[str] = []
    for length in range(len(parts), 0, -1):
        forms += ["-".join(parts[:length]), ".".join(parts[:length])]
    return forms


def take_seat(canon: Canon, state: State, seat: Mapping[str, Any] | None) -> State:
    """The opening State with the player's seat taken (§6.5); no seat leaves it as it is."""
    if seat is None:
        return state
    _check_seat(seat)
    facts = dict(state["facts"])
    chosen = {key: value for key, value in seat.items() if value not in (None, "")}
    if chosen.get("mode") == "easy" or not chosen:
        return {**state, "facts": facts | {"play_mode": "easy"}}
    if "scene" in chosen:
        state = _at_scene(canon, state, str(chosen["scene"]))
    if chosen.get("mode") == "custom" or "name" in chosen:
        return _as_wanderer(canon, state, chosen)
    facts["play_mode"] = chosen.get("mode", "cast")
    present = state["present"]
    if "character" in chosen:
        hero = chosen["character"]
        if hero not in state["characters"]:
            have = ", ".join(state["characters"])
            raise InnkeeperError("WORLD_REQUEST", f"expected a playable character ({have}), found {hero!r} at seat")
        present = [hero, *(actor for actor in present if actor != hero)]
    return {**state, "facts": facts, "present": present}


def _check_seat(seat: Mapping[str, Any]) -> None:
    for key, value in seat.items():
        if key not in _SEAT_KEYS:
            raise InnkeeperError("WORLD_REQUEST", f"expected a seat with {', '.join(_SEAT_KEYS)}; found {key!r}")
        if value is not None and not isinstance(value, (str, int)):
            raise InnkeeperError("WORLD_REQUEST", f"expected text, found {type(value).__name__} at seat.{key}")


def _at_scene(canon: Canon, state: State, scene: str) -> State:
    playable = dict.fromkeys((*canon.index.get("scenes", ()), *((canon.entry_scene,) if canon.entry_scene else ())))
    key = scene_lore_key(canon, scene)
    if scene not in playable or key is None:
        have = ", ".join(name for name in playable if scene_lore_key(canon, name) is not None)
        raise InnkeeperError("WORLD_REQUEST", f"expected a playable scene ({have}), found {scene!r} at seat.scene")
    revealed = state["revealed"] if key in state["revealed"] else [*state["revealed"], key]
    return {**state, "scene": scene, "revealed": revealed}


def _as_wanderer(canon: Canon, state: State, chosen: Mapping[str, Any]) -> State:
    """A hero without a card, alone on stage."""
    name = str(chosen.get("name") or _PASSER_BY["zh" if canon.locale.startswith("zh") else "en"])
    facts = {**state["facts"], "play_mode": "custom", "pc_name": name}
    facts |= {f"pc_{key}": chosen[key] for key in ("age", "vocation", "origin", "birthplace", "ties") if key in chosen}
    hero = {**character_fields(canon, None), "display_name": name}
    return {
        **state,
        "facts": facts,
        "present": [WANDERER],
        "characters": {**state["characters"], WANDERER: hero},
    }
