"""The tracker's tool ``update-dimensions``: repairs, changes by path, clock followers (``spec/dimensions.md`` §6.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from interpreter.javascript import utf16_length
from runtime.dimensions import limits
from runtime.dimensions.derive import keep_derived
from runtime.dimensions.values import Json, quoted

View = Mapping[str, Mapping[str, Any]]
_UNSAFE: Final = frozenset({"__proto__", "constructor", "prototype"})
_ENTRY_KEYS: Final = frozenset({"id", "value", "changes", "reason"})


class ToolRefused(Exception):
    """A refused call; ``reason`` is a stable name, ``message`` is for the model that called."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


# --- repairs --------------------------------------------------------------------------------------------------------


def normalise(call: Json) -> Json:
    """Repair harmless deviations; everything else is left for the checks."""
    if not isinstance(call, dict):
        return call
    repaired = {key: part for key, part in call.items() if key != "reason"}
    followers = repaired.get("followsClock", [])
    if isinstance(followers, str):
        followers = [followers]
    if isinstance(followers, list):
        followers = [name for name in followers if isinstance(name, str)]
    result: dict[str, Json] = {"followsClock": followers, **{k: v for k, v in repaired.items() if k != "followsClock"}}
    if isinstance(result.get("updates"), list):
        result["updates"] = _joined([_repaired_entry(entry) for entry in result["updates"]])
    return result


def _repaired_entry(entry: Json) -> Json:
    if not isinstance(entry, dict):
        return entry
    result = {key: part for key, part in entry.items() if key != "expectedVersion"}
    if result.get("updates") == []:
        del result["updates"]
    changes = result.get("changes")
    if isinstance(changes, list):
        clean = [
            {key: part for key, part in change.items() if key != "reason"} if isinstance(change, dict) else change
            for change in changes
        ]
        result["changes"] = clean
        only = clean[0] if len(clean) == 1 else None
        if isinstance(only, dict) and only.get("path") == "" and "value" in only and "value" not in result:
            del result["changes"]
            result["value"] = only["value"]
    return result


def _change_only(entry: Json) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("id"), str)
        and "value" not in entry
        and (isinstance(entry.get("changes"), list))
    )


def _joined(entries: list[Json]) -> list[Json]:
    """Join change-only entries of one id, their reasons with a space; an entry with a value is never joined."""
    result: list[Json] = []
    places: dict[str, int] = {}
    for entry in entries:
        if not _change_only(entry):
            result.append(entry)
            continue
        place = places.get(entry["id"])
        if place is None:
            places[entry["id"]] = len(result)
            result.append(entry)
            continue
        first = result[place]
        merged = {**first, **entry, "changes": [*first["changes"], *entry["changes"]]}
        reasons = [part["reason"] for part in (first, entry) if isinstance(part.get("reason"), str)]
        if reasons:
            merged["reason"] = " ".join(reasons)
        result[place] = merged
    return result


# --- shape ----------------------------------------------------------------------------------------------------------


def check_call(call: Json) -> tuple[list[dict[str, Json]], list[str]]:
    """Check a repaired call; the updates and the followers."""
    if not isinstance(call, dict):
        raise ToolRefused("payload", f"expected {{updates, followsClock}}, found {quoted(call)}")
    for key in call:
        if key not in ("updates", "followsClock"):
            raise ToolRefused("payload", f"unknown argument {quoted(key)}; the tool takes updates and followsClock")
    updates, followers = call.get("updates"), call["followsClock"]
    if not isinstance(updates, list) or len(updates) > limits.UPDATES.default:
        raise ToolRefused(
            "payload", f"expected a list of at most {limits.UPDATES.default} updates, found {quoted(updates)}"
        )
    if not isinstance(followers, list) or len(followers) > limits.FOLLOWERS.default:
        raise ToolRefused("payload", f"expected at most {limits.FOLLOWERS.default} names in followsClock")
    for index, entry in enumerate(updates):
        _check_entry(f"updates[{index}]", entry)
    return updates, followers


def _check_entry(where: str, entry: Json) -> None:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or not entry["id"]:
        raise ToolRefused("payload", f"expected an object with an id, found {quoted(entry)} at {where}")
    for key in entry:
        if key not in _ENTRY_KEYS:
            raise ToolRefused(
                "payload", f"unknown key {quoted(key)} at {where}; an update has id, value, changes, reason"
            )
    reason = entry.get("reason", "")
    if not isinstance(reason, str) or utf16_length(reason) > limits.REASON.default:
        raise ToolRefused(
            "payload", f"expected a reason of at most {limits.REASON.default} characters at {where}.reason"
        )
    changes = entry.get("changes", [])
    if not isinstance(changes, list) or len(changes) > limits.CHANGES.default:
        raise ToolRefused("payload", f"expected at most {limits.CHANGES.default} changes at {where}.changes")
    for index, change in enumerate(changes):
        place = f"{where}.changes[{index}]"
        if not isinstance(change, dict) or set(change) != {"path", "value"}:
            raise ToolRefused("payload", f"expected {{path, value}}, found {quoted(change)} at {place}")
        if not isinstance(change["path"], str):
            raise ToolRefused("payload", f"expected a path text, found {quoted(change['path'])} at {place}.path")
        if not change["path"]:
            raise ToolRefused(
                "empty-path", f"an empty path stands for the whole value: use value instead at {place}.path"
            )


# --- changes by path ------------------------------------------------------------------------------------------------


def _segments(value: Json, path: str) -> list[str]:
    """The path's segments over ``value``: an existing key stays whole, other parts split at '/' too."""
    segments: list[str] = []
    current = value
    for part in path.split("."):
        if not part:
            continue
        whole = isinstance(current, dict) and part in current
        for segment in [part] if whole else part.split("/"):
            if segment:
                segments.append(segment)
                current = _child(current, segment)
    return segments


def _child(value: Json, segment: str) -> Json:
    if isinstance(value, dict):
        return value.get(segment)
    if isinstance(value, list):
        index = _index(segment)
        return value[index] if index is not None and index < len(value) else None
    return None


def _index(segment: str) -> int | None:
    plain = segment.isascii() and segment.isdecimal() and len(segment) <= 9
    return int(segment) if plain and (segment == "0" or segment[0] != "0") else None


def apply_change(value: Json, path: str, leaf: Json) -> Json:
    """A copy of ``value`` with ``leaf`` at ``path``; missing steps are created, the base is not mutated."""
    segments = _segments(value, path)
    if not segments:
        raise ToolRefused("empty-path", f"the path {quoted(path)} names nothing: use value for the whole value")
    for segment in segments:
        if segment in _UNSAFE:
            raise ToolRefused("unsafe-path", f"the path {quoted(path)} uses the reserved name {segment}")
    if len(segments) > limits.JSON_DEPTH.default:
        raise ToolRefused("json-depth", f"the path {quoted(path)} is deeper than {limits.JSON_DEPTH.default} levels")
    return _set(value, segments, leaf, path)


def _set(value: Json, segments: list[str], leaf: Json, path: str) -> Json:
    if not segments:
        return leaf
    head, rest = segments[0], segments[1:]
    if not isinstance(value, dict | list):
        value = [] if head.isascii() and head.isdecimal() else {}
    if isinstance(value, dict):
        return {**value, head: _set(value.get(head), rest, leaf, path)}
    index = _index(head)
    if index is None or index > len(value):
        message = f"{quoted(head)} in {quoted(path)} is no place of a list with {len(value)} entries"
        raise ToolRefused("bad-index", message)
    copy = list(value)
    child = _set(copy[index] if index < len(copy) else None, rest, leaf, path)
    copy[index : index + 1] = [child]
    return copy


# --- the call -------------------------------------------------------------------------------------------------------


def missing_followers(
    clock: Mapping[str, Any] | None, dimensions: Iterable[str], followers: Iterable[str], updated: Iterable[str]
) -> list[str]:
    """The dimensions that follow the clock, moved with it this turn, and were left out (step 1)."""
    if clock is None or not clock["elapsedThisTurn"]:
        return []
    known, present = set(dimensions), set(updated)
    return [name for name in dict.fromkeys(followers) if name in known and name not in present]


def _check_followers(
    view: View, updates: list[dict[str, Json]], followers: list[str], clock: Mapping[str, Any] | None
) -> None:
    missing = missing_followers(clock, view, followers, (entry["id"] for entry in updates))
    if missing and clock is not None:
        unit = clock["unit"]
        raise ToolRefused(
            "followers",
            f"the clock moved: it is {clock['display']}, {clock['elapsedThisTurn']} {unit}s this turn and "
            f"{clock['elapsedSinceStart']} {unit}s since the start. Say for each of these what it does to them, "
            f"with a value, changes, or a reason why nothing changed: {', '.join(missing)}",
        )


def _unknown(view: View, key: str) -> ToolRefused:
    homes = [name for name, entry in view.items() if isinstance(entry["value"], dict) and key in entry["value"]]
    if len(homes) == 1:
        hint = f"it is an entry of {homes[0]}: update {homes[0]} with a change at the path {key}"
    else:
        hint = f"known are {', '.join(view) or 'none'}"
    return ToolRefused("unknown-dimension", f"unknown dimension {quoted(key)}; {hint}")


def resolve_updates(view: View, updates: Iterable[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """The batch that the entries ask for, over the frozen values of ``view`` (steps 2 to 6)."""
    result: dict[str, dict[str, Json]] = {}
    for entry in updates:
        changes = entry.get("changes") or []
        if "value" not in entry and not changes:
            continue
        known = view.get(entry["id"])
        if known is None:
            raise _unknown(view, entry["id"])
        if "value" in entry and changes:
            raise ToolRefused(
                "value-and-changes", f"{quoted(entry['id'])} has both value and changes: give one of them"
            )
        if entry["id"] in result:
            raise ToolRefused("duplicate", f"{quoted(entry['id'])} occurs twice: give one entry for it")
        value = entry["value"] if "value" in entry else known["value"]
        for change in changes:
            value = apply_change(value, change["path"], change["value"])
        value = keep_derived(known["schema"], value, known["value"])
        result[entry["id"]] = {"id": entry["id"], "expectedVersion": known["version"], "value": value}
        if entry.get("reason"):
            result[entry["id"]]["reason"] = entry["reason"]
    return list(result.values())


def read_call(view: View, arguments: Json, clock: Mapping[str, Any] | None) -> list[dict[str, Json]]:
    """The batch behind a tracker's arguments: repaired, checked, resolved; empty means nothing changed."""
    updates, followers = check_call(normalise(arguments))
    _check_followers(view, updates, followers, clock)
    return resolve_updates(view, updates)


def tool_schema() -> dict[str, Any]:
    """The function-calling description of ``update-dimensions``."""
    change = {
        "type": "object",
        "properties": {"path": {"type": "string", "minLength": 1}, "value": {}},
        "required": ["path", "value"],
    }
    entry = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "minLength": 1},
            "value": {"description": "The whole new value. Give either value or changes."},
            "changes": {"type": "array", "maxItems": limits.CHANGES.default, "items": change},
            "reason": {"type": "string", "maxLength": limits.REASON.default},
        },
        "required": ["id"],
    }
    parameters = {
        "type": "object",
        "properties": {
            "updates": {"type": "array", "maxItems": limits.UPDATES.default, "items": entry},
            "followsClock": {
                "type": "array",
                "maxItems": limits.FOLLOWERS.default,
                "items": {"type": "string"},
                "description": "Ids of the dimensions whose rule depends on how much time passed.",
            },
        },
        "required": ["updates", "followsClock"],
    }
    return {
        "name": "update-dimensions",
        "description": "Record what this turn's narrative changed, by the rules. An empty list means: nothing changed.",
        "parameters": parameters,
    }
