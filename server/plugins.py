"""Plug-ins of the command line and of installed packages (design §3)."""

from __future__ import annotations

from runtime.mvu.helper.plugins import load_processors
from server.context import Context


def load_plugins(context: Context) -> list[str]:
    """Install the named modules and every entry point of ``innkeeper.processors``; the names of what was installed."""
    host = context.runtime.mvu.processors.plugins
    return [] if host is None else load_processors(host, context.config.plugins)
