"""What the tests of dialect ``strict`` share: one way from data and text to an outcome."""

from __future__ import annotations

import json
from typing import Any

from runtime.mvu import envelope
from runtime.mvu.apply import Applied, apply_commands
from runtime.mvu.commands import parse_commands

OPEN: dict[str, Any] = {"extensible": True, "recursiveExtensible": True}
"""A ``$meta`` that opens everything."""


def state(data: dict[str, Any], **content: Any) -> dict[str, Any]:
    """A normalised envelope."""
    return envelope.normalise({"stat_data": data, **content})


def apply_text(data: dict[str, Any], text: str, **content: Any) -> Applied:
    """The outcome of a reply on a fresh state."""
    return apply_commands(state(data, **content), parse_commands(text).commands)


def patch_text(*operations: dict[str, Any]) -> str:
    """A reply that holds one patch block."""
    return f"<JSONPatch>{json.dumps(list(operations), ensure_ascii=False)}</JSONPatch>"


def data_after(applied: Applied) -> dict[str, Any]:
    """The data after an update."""
    data = applied.variables["stat_data"]
    assert isinstance(data, dict)
    return data


def codes(applied: Applied) -> list[tuple[int, str]]:
    """The diagnostics as pairs."""
    return [(entry["command"], entry["code"]) for entry in applied.diagnostics]
