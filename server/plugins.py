"""Plug-ins: modules of a host that bring processors, policies or trackers (design §3)."""

from __future__ import annotations

import importlib
import logging
from importlib.metadata import entry_points
from typing import Any

from runtime.values.rows import InnkeeperError
from server.context import Context

log = logging.getLogger("innkeeper.plugins")
GROUPS = ("innkeeper.processors", "innkeeper.policies", "innkeeper.trackers")


def load_plugins(context: Context) -> None:
    """Call ``install(runtime)`` of every named module and of every entry point of our groups."""
    for name in context.config.plugins:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise InnkeeperError("CONFIG_INVALID", f"the plug-in {name!r} cannot be imported: {error}") from None
        _install(name, getattr(module, "install", None), context)
    for group in GROUPS:
        for entry in entry_points(group=group):
            _install(entry.name, entry.load(), context)


def _install(name: str, install: Any, context: Context) -> None:
    if not callable(install):
        raise InnkeeperError("CONFIG_INVALID", f"the plug-in {name!r} offers no install(runtime)")
    install(context.runtime)
    log.info("plug-in %s is installed", name)
