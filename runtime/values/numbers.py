"""The one form of a number inside a state tree (design §5).

An integral number within the safe range is an ``int`` (so ``-0`` is ``0``), every other number a ``float``.
"""

from __future__ import annotations

from typing import Any

from runtime.values.paths import MAX_SAFE_INTEGER

_MAX = float(MAX_SAFE_INTEGER)


def normal_number(value: float) -> int | float:
    """``value`` in its one form; integers beyond the doubles become infinite, which the bounds check refuses."""
    if isinstance(value, float):
        if -_MAX <= value <= _MAX and value.is_integer():
            return int(value)
        return value
    if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return value
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def normalise_numbers(value: Any) -> Any:
    """``value`` with every number in its one form; containers that hold nothing to change are shared.

    For values whose depth was checked.
    """
    if isinstance(value, dict):
        pairs = {key: normalise_numbers(child) for key, child in value.items()}
        return pairs if any(pairs[key] is not value[key] for key in pairs) else value
    if isinstance(value, list):
        items = [normalise_numbers(child) for child in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return normal_number(value)
