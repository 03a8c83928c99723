"""Command processors that a host ships as a plug-in (design §3): entry points of the group ``innkeeper.processors``, and
modules named on the command line.

A plug-in is a function ``install(host)``, or a module with a function of that name. ``host`` is a ``ProcessorHost``: it
registers a helper for a resource that is known, or offers a function that chooses a helper when a resource is met.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from runtime.mvu.helper.detect import Helper, detect_helper
from runtime.mvu.helper.errors import HelperError
from runtime.mvu.helper.registry import HelperRegistry, Registered
from runtime.values.rows import InnkeeperError

GROUP = "innkeeper.processors"
_INSTALL = "install"

Chooser = Callable[[Mapping[str, Any]], str | None]
"""Given a resource (``id``, ``characterId``, ``name``…), the text of the helper for it, or ``None``."""


class ProcessorHost:
    """What a plug-in may do: nothing but name helpers. It sees no state and writes none."""

    def __init__(self, registry: HelperRegistry) -> None:
        self._registry = registry
        self._choosers: list[Chooser] = []

    def register_command_processor(self, resource_id: str, source: str) -> Registered:
        """Register ``source`` for one resource; the answer has the receipt and takes the registration back."""
        return self._registry.register_command_processor(resource_id, source)

    def choose_command_processor(self, chooser: Chooser) -> Callable[[], None]:
        """Ask ``chooser`` for every resource that is met, before its card's own helper; returns a disposer."""
        self._choosers.append(chooser)

        def dispose() -> None:
            if chooser in self._choosers:
                self._choosers.remove(chooser)

        return dispose

    def helper_for(self, resource: Mapping[str, Any], own: Helper | None) -> Helper | None:
        """The helper of a resource: the first that a plug-in chooses, else the card's ``own``."""
        for chooser in tuple(self._choosers):
            source = chooser(resource)
            if source is None:
                continue
            helper = detect_helper(source)
            if helper is not None:
                return helper
            raise _not_a_helper(resource)
        return own


def _not_a_helper(resource: Mapping[str, Any]) -> HelperError:
    return HelperError(
        "MVU_COMMAND_HOOK_DECLARATION",
        f"expected a command helper from the plug-in for {resource.get('id')}, found another script",
    )


def load_processors(
    host: ProcessorHost, modules: Iterable[str] = (), *, points: Iterable[EntryPoint] | None = None
) -> list[str]:
    """Install every plug-in of the group and of ``modules``; the names of what was installed, in order.

    A plug-in that cannot be loaded stops the start with ``MVU_CONFIG``: a host that ships rules wants to know.
    """
    installed: list[str] = []
    for point in sorted(entry_points(group=GROUP) if points is None else points, key=lambda found: found.name):
        _install(host, f"entry point {point.name}", point.load)
        installed.append(point.name)
    for module in modules:
        _install(host, f"module {module}", partial(importlib.import_module, module))
        installed.append(module)
    return installed


def _install(host: ProcessorHost, name: str, load: Callable[[], Any]) -> None:
    try:
        found = load()
        install = found if callable(found) else getattr(found, _INSTALL)
        install(host)
    except InnkeeperError:
        raise
    except Exception as error:
        raise InnkeeperError(
            "MVU_CONFIG", f"expected a plug-in with a function install(host), {name} failed: {error}"
        ) from error
