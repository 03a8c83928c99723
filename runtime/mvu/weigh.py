"""Sizes of what a command changes, so that the budget of a whole state follows the size of the change (spec/mvu.md §1.7)."""

from __future__ import annotations

from typing import Any, NamedTuple

from runtime.values.bounds import measure, text_charge
from runtime.values.limits import DEFAULT

_NUMBER = 32
_WORD = 5
_ENTRY = 2


class Weight(NamedTuple):
    """Nodes and charge, also as a difference."""

    nodes: int
    charge: int


NOTHING = Weight(0, 0)
_A_NUMBER = Weight(1, _NUMBER)
_A_WORD = Weight(1, _WORD)


def weigh(value: Any, level: int = 0) -> Weight:
    """The exact weight of a value that stands at ``level``; raises what ``bounds.measure`` raises."""
    kind = type(value)
    if kind is int:
        if -(2**53) <= value <= 2**53:
            return _A_NUMBER
    elif kind is str:
        charge = 2 + len(value) if value.isalnum() and value.isascii() else text_charge(value)
        if charge <= DEFAULT.charge:
            return Weight(1, charge)
    elif value is None or kind is bool:
        return _A_WORD
    size = measure(value, depth=level)
    return Weight(size.nodes, size.charge)


def entry(key: str | None) -> int:
    """What a container pays for one entry: with ``key`` in an object, without in an array."""
    return _ENTRY if key is None else _ENTRY + text_charge(key)


def change(before: Any, after: Any) -> Weight:
    """How much heavier ``after`` is than ``before``; shared containers cost nothing."""
    nodes = charge = 0
    stack = [(before, after)]
    while stack:
        old, new = stack.pop()
        if old is new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            for key, value in new.items():
                if key in old:
                    if old[key] is not value:
                        stack.append((old[key], value))
                else:
                    more = weigh(value)
                    nodes += more.nodes
                    charge += more.charge + entry(key)
            for key, value in old.items():
                if key not in new:
                    less = weigh(value)
                    nodes -= less.nodes
                    charge -= less.charge + entry(key)
        elif isinstance(old, list) and isinstance(new, list):
            shared = min(len(old), len(new))
            stack.extend(zip(old[:shared], new[:shared], strict=True))
            for value in new[shared:]:
                more = weigh(value)
                nodes += more.nodes
                charge += more.charge + _ENTRY
            for value in old[shared:]:
                less = weigh(value)
                nodes -= less.nodes
                charge -= less.charge + _ENTRY
        else:
            more, less = weigh(new), weigh(old)
            nodes += more.nodes - less.nodes
            charge += more.charge - less.charge
    return Weight(nodes, charge)
