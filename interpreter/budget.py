"""The deterministic budget of one build or one parse: same input, same steps, same outcome everywhere (design §6).

A step is a unit of work, not of time: a parsed node, an author function's nodes each time its body runs, an item that
a built-in touches. Only counts decide, never a clock.
"""

from __future__ import annotations

from typing import Any, NoReturn

from interpreter import limits
from interpreter.errors import BudgetExceeded


class Run:
    """One build or one parse: its steps, its depth, its ``clock`` (what ``Date.now()`` gives) and what is frozen."""

    __slots__ = (
        "clock",
        "clock_reads",
        "depth",
        "frozen",
        "frozen_here",
        "limit",
        "loop_items",
        "parsers",
        "profile",
        "quick",
        "regexes",
        "restricted",
        "row",
        "steps",
        "strict_numbers",
        "string",
        "unclean",
        "version",
        "weight",
    )

    def __init__(self, profile: str, row: limits.Limit, clock: int | None, *, version: int = 3) -> None:
        self.profile = profile
        self.row = row
        self.limit = row.under(profile)
        self.steps = 0
        self.depth = 0
        self.weight = 0
        self.clock = clock
        self.clock_reads = 0
        self.string = limits.STRING.under(profile)
        self.loop_items = limits.LOOP_ITEMS.under(profile)
        self.version = version
        self.restricted = version < 3
        # What the reference implementation refused although Zod does not: version 1 and the profile keep it.
        self.strict_numbers = version < 3 and (profile == "reference" or version == 1)
        self.frozen: dict[int, Any] = {}  # shared by every run of a declaration
        self.frozen_here: dict[int, Any] = {}
        self.regexes: dict[int, Any] = {}
        self.unclean = False
        self.quick: Any = None
        self.parsers: dict[int, Any] = {}

    def charge(self, steps: int) -> None:
        """Count steps; refuse when there are more than the budget."""
        self.steps += steps
        if self.steps > self.limit:
            self.exhausted()

    def exhausted(self) -> NoReturn:
        """Raise the refusal of the step budget."""
        raise BudgetExceeded(self.row.name, self.limit, self.row.unit)

    def check_string(self, length: int) -> None:
        """Refuse a string about to be built that is longer than the limit; charge its length."""
        if length > self.string:
            raise BudgetExceeded(limits.STRING.name, self.string, limits.STRING.unit, str(length))
        self.charge(length >> 5)
