"""MVU variables: envelopes, commands, resources, history, checkpoints, seeds, policy, bindings.

The public face (spec/mvu.md §0.16): ``MvuService``, ``install``, ``parse_commands``, ``apply_commands``,
``character_mvu_id``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.mvu.apply import apply_commands
    from runtime.mvu.commands import parse_commands
    from runtime.mvu.install import install
    from runtime.mvu.resources import character_template_id as character_mvu_id
    from runtime.mvu.service import MvuService

__all__ = ["MvuService", "apply_commands", "character_mvu_id", "install", "parse_commands"]

_HOMES = {
    "MvuService": ("runtime.mvu.service", "MvuService"),
    "apply_commands": ("runtime.mvu.apply", "apply_commands"),
    "character_mvu_id": ("runtime.mvu.resources", "character_template_id"),
    "install": ("runtime.mvu.install", "install"),
    "parse_commands": ("runtime.mvu.commands", "parse_commands"),
}


def __getattr__(name: str) -> object:
    # The rooms below import one another through this package: the face is loaded on first use.
    import importlib

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'runtime.mvu' has no attribute {name!r}")
    return getattr(importlib.import_module(home[0]), home[1])
