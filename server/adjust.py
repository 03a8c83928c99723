"""Limits that an operator may set in the configuration file, section ``limits`` (design §10).

Only limits that protect the machine are adjustable; those that decide what a reply or a declaration means are not, so
that a story gives the same states everywhere.
"""

from __future__ import annotations

from typing import Any

from runtime.values.rows import InnkeeperError
from server.limits import LIMITS

ADJUSTABLE = (
    "ledger.playStorage",
    "mvu.bindings",
    "mvu.grants",
    "http.rendererToken",
    "http.threads",
    "http.heartbeat",
    "http.eventQueue",
)


def adjust_limits(section: Any) -> None:
    """Set the limits of a configuration section; ``CONFIG_INVALID`` names what cannot be set."""
    if section is None:
        return
    if not isinstance(section, dict):
        raise InnkeeperError("CONFIG_INVALID", f"expected limits as a table, found {type(section).__name__}")
    rows = {row.name: row for row in LIMITS}
    for name, value in section.items():
        if name not in ADJUSTABLE:
            raise InnkeeperError(
                "CONFIG_INVALID", f"the limit {name!r} cannot be set; these can: {', '.join(ADJUSTABLE)}"
            )
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InnkeeperError(
                "CONFIG_INVALID", f"expected the limit {name} as a positive whole number, found {value!r:.40}"
            )
        object.__setattr__(rows[name], "default", value)  # once, before the first call is answered
