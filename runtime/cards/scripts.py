"""The scripts of a card: the walk through ``extensions.tavern_helper`` (``spec/mvu.md`` §6 Card lookup)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.cards.limits import SCRIPT_FOLDERS, SCRIPTS_PER_LIST

_FOLDER_KEYS = ("scripts", "children")
_SETTINGS_KEYS = ("tavern_helper", "TavernHelper_scripts")  # today's key, and the list that older versions wrote


@dataclass(frozen=True, slots=True)
class ScriptEntry:
    """One script: its text as the card has it, and whether it and all folders around it are switched on."""

    name: str
    content: str
    enabled: bool
    path: str


def walk_scripts(extensions: Mapping[str, Any]) -> tuple[ScriptEntry, ...]:
    """Every script of a card in order; lists and folders beyond the limits are ignored (``spec/mvu.md`` §1.7)."""
    found: list[ScriptEntry] = []
    for key in _SETTINGS_KEYS:
        if key in extensions:
            scripts, path = _script_list(extensions[key], f"extensions.{key}")
            found.extend(_walk(scripts, path, True, 0))
    return tuple(found)


def _script_list(settings: Any, path: str) -> tuple[Any, str]:
    """The list of scripts: ``{"scripts": […]}``, ``[["scripts", […]], …]``, or a bare list of scripts."""
    if isinstance(settings, Mapping):
        return settings.get("scripts"), f"{path}.scripts"
    if isinstance(settings, list):
        for index, pair in enumerate(settings[: SCRIPTS_PER_LIST.default]):
            if isinstance(pair, list) and len(pair) == 2 and pair[0] == "scripts":
                return pair[1], f"{path}[{index}][1]"
        return settings, path
    return None, path


def _walk(items: Any, path: str, enabled: bool, depth: int) -> Iterator[ScriptEntry]:
    if depth > SCRIPT_FOLDERS.default:
        return
    if isinstance(items, Mapping):
        items = list(items.values())
    if not isinstance(items, list):
        return
    for index, item in enumerate(items[: SCRIPTS_PER_LIST.default]):
        if isinstance(item, Mapping):
            yield from _entry(item, f"{path}[{index}]", enabled, depth)


def _entry(item: Mapping[str, Any], path: str, enabled: bool, depth: int, name: str = "") -> Iterator[ScriptEntry]:
    """One entry: a script, a wrapper ``{value: …}`` or a folder; being switched off is inherited."""
    if depth > SCRIPT_FOLDERS.default:
        return
    own_name = item.get("name")
    name = own_name if isinstance(own_name, str) and own_name else name
    enabled = enabled and item.get("enabled") is not False and item.get("disabled") is not True
    content = item.get("content")
    if isinstance(content, str):
        yield ScriptEntry(name, content, enabled, path)
    value = item.get("value")
    if isinstance(value, Mapping):
        yield from _entry(value, f"{path}.value", enabled, depth + 1, name)
    elif isinstance(value, list):
        yield from _walk(value, f"{path}.value", enabled, depth + 1)
    for key in _FOLDER_KEYS:
        if key in item:
            yield from _walk(item[key], f"{path}.{key}", enabled, depth + 1)
