"""JavaScript values in recorded cases: the marks of the data files, and a comparison that respects them."""

from __future__ import annotations

import math
from typing import Any

from interpreter.javascript import UNDEFINED, js_key_order, js_number
from runtime.mvu.commands.magvarupdate.values import HOLE, NamedList

_MARKS: dict[str, Any] = {
    "undefined": UNDEFINED,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "-0": -0.0,
    "hole": HOLE,
}


def from_marked(value: Any) -> Any:
    """A recorded value with its ``$js`` marks put in."""
    if isinstance(value, list):
        return [from_marked(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return js_number(value)
    if not isinstance(value, dict):
        return value
    mark = value.get("$js")
    if mark == "array":
        return NamedList(from_marked(value["items"]), from_marked(value["props"]))
    if isinstance(mark, str) and mark in _MARKS:
        return _MARKS[mark]
    return {key: from_marked(item) for key, item in value.items()}


def shown(value: Any) -> str:
    """A value for a failure line."""
    text = repr(value)
    return text if len(text) <= 160 else text[:157] + "..."


def difference(found: Any, wanted: Any, where: str) -> str | None:
    """One line about the first difference, None without one; the order of keys counts as JavaScript has it."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        ours, theirs = list(js_key_order(found.keys())), list(js_key_order(wanted.keys()))
        if ours != theirs:
            return f"{where}: expected the keys {shown(theirs)}, found {shown(ours)}"
        pairs = [(f"{where}.{key}", found[key], wanted[key]) for key in theirs]
    elif isinstance(wanted, list) and isinstance(found, list):
        if len(found) != len(wanted):
            return f"{where}: expected {len(wanted)} items, found {len(found)}: {shown(found)} for {shown(wanted)}"
        pairs = [(f"{where}[{at}]", one, other) for at, (one, other) in enumerate(zip(found, wanted, strict=True))]
        named, recorded = getattr(found, "named", {}), getattr(wanted, "named", {})
        if named != recorded:
            return f"{where}: expected the named members {shown(recorded)}, found {shown(named)}"
    else:
        return None if _same_scalar(found, wanted) else f"{where}: expected {shown(wanted)}, found {shown(found)}"
    for place, one, other in pairs:
        line = difference(one, other, place)
        if line:
            return line
    return None


def _same_scalar(found: Any, wanted: Any) -> bool:
    numbers = [isinstance(item, int | float) and not isinstance(item, bool) for item in (found, wanted)]
    if all(numbers):
        if math.isnan(found) or math.isnan(wanted):
            return math.isnan(found) and math.isnan(wanted)
        return bool(found == wanted and math.copysign(1, found) == math.copysign(1, wanted))
    return not any(numbers) and type(found) is type(wanted) and bool(found == wanted)
