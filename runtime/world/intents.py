"""The intents of ``turn`` (§1.2) and the check that a request is one of them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from runtime.values.rows import InnkeeperError
from runtime.world.bounds import check_value, too_large
from runtime.world.limits import ACTORS, PATCH_KEYS, REASON_CHARS

Intent = Mapping[str, Any]

# type -> (required fields, optional fields)
_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "look": ((), ("pointer",)),
    "lore": (("key",), ()),
    "check": (("checkId",), ("actors", "patch")),
    "fact": (("pointer", "value"), ()),
    "correct": (("pointer", "value"), ()),
    "gm": (("patch", "reason"), ()),
}
INTENT_TYPES: tuple[str, ...] = tuple(_FIELDS)
_TEXTS = ("pointer", "key", "checkId", "reason")


def check_intent(intent: Any) -> Intent:
    """Return the intent when it is well formed; raise ``WORLD_INTENT`` or ``WORLD_LIMIT`` otherwise."""
    if not isinstance(intent, Mapping):
        raise InnkeeperError("WORLD_INTENT", f"expected an intent object, found {type(intent).__name__}")
    kind = intent.get("type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise InnkeeperError("WORLD_INTENT", f"expected a type out of {', '.join(INTENT_TYPES)}, found {kind!r}")
    required, optional = _FIELDS[kind]
    for name in required:
        if name not in intent:
            raise InnkeeperError("WORLD_INTENT", f"expected the field {name!r} in a {kind} intent, found none")
    for name in intent:
        if name != "type" and name not in required and name not in optional:
            near = difflib.get_close_matches(str(name), (*required, *optional), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InnkeeperError("WORLD_INTENT", f"a {kind} intent has no field {name!r}{hint}")
    _check_fields(intent)
    return intent


def _check_fields(intent: Intent) -> None:
    for name in _TEXTS:
        value = intent.get(name)
        if name in intent and not isinstance(value, str) and not (name == "pointer" and value is None):
            raise InnkeeperError("WORLD_INTENT", f"expected text, found {type(value).__name__} at {name}")
    if len(intent.get("reason") or "") > REASON_CHARS.default:
        raise too_large(REASON_CHARS, len(intent["reason"]), "reason")
    if "value" in intent:
        check_value(intent["value"], "value")
    patch = intent.get("patch")
    if patch is not None or intent["type"] == "gm":
        if not isinstance(patch, dict):
            raise InnkeeperError("WORLD_INTENT", f"expected an object, found {type(patch).__name__} at patch")
        if len(patch) > PATCH_KEYS.default:
            raise too_large(PATCH_KEYS, len(patch), "patch")
        check_value(patch, "patch")
    if intent.get("actors") is not None:
        check_actors(intent["actors"])


def check_actors(actors: Any) -> dict[str, str]:
    """Return a copy of the map slot -> character id, or raise."""
    if not isinstance(actors, Mapping) or not all(
        isinstance(slot, str) and isinstance(actor, str) for slot, actor in actors.items()
    ):
        raise InnkeeperError("WORLD_INTENT", "expected a map from slot to character id at actors")
    if len(actors) > ACTORS.default:
        raise too_large(ACTORS, len(actors), "actors")
    return dict(actors)
