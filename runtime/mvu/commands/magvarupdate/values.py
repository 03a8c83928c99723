"""JavaScript values of the dialect ``magvarupdate``: what JSON cannot hold, texts for display, comparison.

While a reply is worked through, values are the upstream's: NaN, infinities and ``undefined`` may stand in the state,
arrays may have holes and named members. ``as_json`` is the one way back to JSON; it does what ``JSON.stringify`` does
when the upstream's host saves the state.
"""

from __future__ import annotations

import math
from typing import Any, Final

from interpreter.javascript import UNDEFINED, js_json_text, js_key_order, js_number_text

HOLE: Final[Any] = type("Hole", (), {"__repr__": lambda self: "HOLE", "__bool__": lambda self: False})()
"""An array slot that was never written (only in display and delta texts)."""

_ENDS = "\"'`\\ "


class NamedList(list[Any]):
    """An array with named members beside its items (spec/magvarupdate.md §5, insert)."""

    def __init__(self, items: list[Any], named: dict[str, Any]) -> None:
        super().__init__(items)
        self.named = named


def trim_ends(text: str) -> str:
    """``text`` without quotes, backticks, backslashes and spaces at both ends (spec/magvarupdate.md §3, §4)."""
    return text.strip(_ENDS)


def _other(value: object) -> object:
    return UNDEFINED if value is HOLE else value


def json_text(value: Any) -> str:
    """The text of a value inside display texts: ``JSON.stringify``, with the word for ``undefined``."""
    return "undefined" if value is UNDEFINED or value is HOLE else js_json_text(value, "", _other)


def is_number(value: object) -> bool:
    """Whether a value is a JavaScript number: booleans are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_container(value: object) -> bool:
    """Whether a value is an object or an array."""
    return isinstance(value, dict | list)


def ordered_keys(value: dict[str, Any]) -> list[str]:
    """The keys of an object in JavaScript's order."""
    return list(js_key_order(value.keys()))


def equal(left: Any, right: Any) -> bool:
    """Deep equality as lodash sees it: NaN equals itself, booleans are no numbers, named members do not count."""
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if one is other:
            continue
        if isinstance(one, dict):
            if not isinstance(other, dict) or len(one) != len(other):
                return False
            for key, value in one.items():
                if key not in other:
                    return False
                if value is not other[key]:
                    stack.append((value, other[key]))
        elif isinstance(one, list):
            if not isinstance(other, list) or len(one) != len(other):
                return False
            stack.extend(pair for pair in zip(one, other, strict=True) if pair[0] is not pair[1])
        elif not _equal_scalars(one, other):
            return False
    return True


def _equal_scalars(one: Any, other: Any) -> bool:
    if is_number(one) and is_number(other):
        return bool(one == other or (math.isnan(one) and math.isnan(other)))
    return isinstance(one, str) and isinstance(other, str) and one == other


def key_text(value: Any) -> str:
    """A value used as an object key."""
    if isinstance(value, str):
        return value
    if is_number(value):
        return js_number_text(value)
    return json_text(value)


def _plain_scalar(value: Any) -> bool:
    return value is None or isinstance(value, bool | str | int) or (isinstance(value, float) and math.isfinite(value))


def is_exotic(value: Any) -> bool:
    """Whether a value holds anything that JSON cannot."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, NamedList):
            return True
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif not _plain_scalar(item):
            return True
    return False


def as_json(value: Any) -> tuple[Any, bool]:
    """``value`` as JSON holds it, and whether that lost something: NaN becomes null, ``undefined`` members go.

    A value that is JSON already comes back itself. The depth of ``value`` must have been bounded before.
    """
    if not is_exotic(value):
        return value, False
    return _cleaned(value), True


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cleaned(item) for key, item in value.items() if item is not UNDEFINED}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value if _plain_scalar(value) else None
