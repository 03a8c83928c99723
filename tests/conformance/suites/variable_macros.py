"""Recorded variable macros of the host, byte for byte (spec/magvarupdate.md §17).

The first entry of a file carries the floors and tables that the later entries read too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime.mvu.variable_macros import Scope, expand, message_table
from tests.conformance.runner import Case, Options

_WORLD: dict[str, Any] = {}


def _check(entry: dict[str, Any], world: dict[str, Any]) -> str | None:
    message_id = entry["context"].get("message_id")

    def lookup(scope: Scope) -> Any:
        if scope == "message":
            return message_table(world.get("floors", []), message_id)
        return world.get(f"{scope}_variables", {})

    found = expand(entry["text"], lookup)
    return None if found == entry["result"] else f"expected {entry['result']!r}, found {found!r}"


def cases(entry: dict[str, Any], options: Options) -> Iterable[Case]:
    """One case per entry; an entry with floors sets the scene for itself and those after it."""
    if "floors" in entry:
        _WORLD.clear()
        _WORLD.update(entry)
    world = dict(_WORLD)
    yield Case(entry["id"], lambda: _check(entry, world))
