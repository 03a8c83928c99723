"""Remembered results between parses (design §4).

Only fix points are remembered: containers whose parse is themselves, for each node of the schema, with the steps that
the parse cost. A parse is a pure function of node, value and clock, so this guesses nothing; what read the clock is not
remembered. Nobody may mutate a container that was parsed.
"""

from __future__ import annotations

from typing import Any

from interpreter import limits
from interpreter.budget import Run


class Memory:
    """The memory of one state under one schema; not to be shared between threads.

    ``hint`` tells that a new container is an old one with one changed key, so that only this key is parsed; ``accept``
    and ``reject`` end a candidate.
    """

    __slots__ = ("_count", "_fresh", "_hints", "_owner", "_retired", "_tables")

    def __init__(self) -> None:
        self._owner: Any = None
        self._tables: list[dict[int, tuple[Any, int]]] = []
        self._hints: dict[int, tuple[Any, Any, Any]] = {}
        self._retired: list[tuple[int, int]] = []
        self._fresh: list[tuple[int, int]] = []
        self._count = 0

    def attach(self, owner: Any) -> None:
        """Belong to a compiled schema; another one's results are forgotten."""
        if self._owner is not owner:
            self._owner = owner
            self._tables = []
            self._count = 0

    def hint(self, new: Any, old: Any, key: Any) -> None:
        """Tell that ``new`` is ``old`` with the value of one key replaced."""
        self._hints[id(new)] = (new, old, key)

    def accept(self) -> None:
        """The candidate became the state: what it replaced is forgotten."""
        for slot, old in self._retired:
            if self._tables[slot].pop(old, None) is not None:
                self._count -= 1
        self._clear()

    def reject(self) -> None:
        """The candidate was refused: it is forgotten, the state before it is not."""
        for slot, new in self._fresh:
            if new in self._hints and self._tables[slot].pop(new, None) is not None:
                self._count -= 1
        self._clear()

    def _clear(self) -> None:
        self._hints.clear()
        self._retired.clear()
        self._fresh.clear()

    def __len__(self) -> int:
        return self._count

    # --- for the generated parser ----------------------------------------------------------------------------------

    def recall(self, slot: int, value: Any, run: Run) -> Any:
        """What a node makes of a container, if that is known; None if it has to be parsed."""
        tables = self._tables
        if slot >= len(tables):
            return None
        table = tables[slot]
        entry = table.get(id(value))
        if entry is not None and entry[0] is value:
            run.steps += entry[1]
            return value
        hint = self._hints.get(id(value))
        if hint is None or hint[0] is not value:
            return None
        _new, old, key = hint
        entry = table.get(id(old))
        if entry is None or entry[0] is not old:
            return None
        self._retired.append((slot, id(old)))
        return self._derive(slot, value, old, key, entry[1], run)

    def _derive(self, slot: int, value: Any, old: Any, key: Any, cost: int, run: Run) -> Any:
        """The parse of a container that differs from a fix point in one key."""
        kind = type(value)
        if kind is not type(old) or len(value) != len(old):
            return None
        if kind is dict:
            if key not in value or key not in old or key == "__proto__":
                return None
        elif type(key) is not int or not 0 <= key < len(value):
            return None
        parse = self._owner.child(slot, key)
        if parse is None:
            return None
        start, clock = run.steps, run.clock_reads
        parse(old[key], run, self)
        before = run.steps - start
        run.steps = start
        child = parse(value[key], run, self)
        after = run.steps - start
        run.steps = start + cost - before + after
        if run.clock_reads != clock:
            run.steps = start
            return None
        if child is value[key]:
            self.remember(slot, value, run.steps - start)
            return value
        if child is self._owner.absent:
            run.steps = start
            return None
        made = value.copy()
        made[key] = child
        self._settle(slot, made, child, parse, run, run.steps - start - after)
        return made

    def _settle(self, slot: int, made: Any, child: Any, parse: Any, run: Run, rest: int) -> None:
        """What a transform changed is usually a fix point from then on: see at once, at no cost for this parse."""
        steps = run.steps
        try:
            again = parse(child, run, self)
            if again is child or (
                again == child and type(again) is type(child) and not isinstance(child, (dict, list))
            ):
                self.remember(slot, made, rest + run.steps - steps)
        except self._owner.failure:
            pass
        finally:
            run.steps = steps

    def remember(self, slot: int, value: Any, steps: int) -> None:
        """Keep a fix point."""
        tables = self._tables
        while slot >= len(tables):
            tables.append({})
        if self._count >= limits.MEMORY.default:
            self._tables = [{} for _ in tables]
            tables = self._tables
            self._count = 0
        if id(value) not in tables[slot]:
            self._count += 1
        tables[slot][id(value)] = (value, steps)
        self._fresh.append((slot, id(value)))
