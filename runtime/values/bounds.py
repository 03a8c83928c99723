"""Bounds of JSON values: what one value may hold, measured without recursion (spec/mvu.md §1.7).

``check_json`` is the gate for values from outside. ``quick_size`` gives an upper bound of a value that passed the gate
before, at the speed of the C encoder; whoever keeps totals adds and subtracts exact measures of what changed.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

from runtime.values.limits import DEFAULT, ValueLimits
from runtime.values.rows import InnkeeperError

FORBIDDEN_KEYS = frozenset({"__proto__", "prototype", "constructor"})
"""Keys that no MVU value may carry anywhere (spec/mvu.md §1.7)."""

_NUMBER_CHARGE = 32
_WORD_CHARGE = 5
_PER_CONTAINER = 2
_PER_ENTRY = 2
_SPECIAL = re.compile('["\\\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_MAX_DOUBLE_INT = int(1.7976931348623157e308)
_ESCAPE_EXTRA = 4
_ASTRAL_EXTRA = 8


class Size(NamedTuple):
    """How large a value is: ``nodes`` visited, ``charge`` of spec/mvu.md §1.7, ``depth`` below its root."""

    nodes: int
    charge: int
    depth: int


def text_charge(text: str) -> int:
    """Charge of one string or key: 2 and its characters (spec/mvu.md §1.7)."""
    special = _SPECIAL.search(text)
    if special is None:
        return 2 + (len(text) if text.isascii() else len(text.encode("utf-8")))
    charge = 2
    for char in text:
        code = ord(char)
        if code > 0xFFFF:
            charge += 12
        elif code < 0x20 or 0xD800 <= code <= 0xDFFF:
            charge += 6
        elif char in '"\\':
            charge += 2
        elif code < 0x80:
            charge += 1
        else:
            charge += 2 if code < 0x800 else 3
    return charge


def _pointer(trail: tuple[Any, ...] | None) -> str:
    """JSON pointer of a trail ``(parent trail, key)``; built only for messages."""
    parts: list[str] = []
    while trail is not None:
        trail, key = trail
        parts.append(str(key).replace("~", "~0").replace("/", "~1"))
    return "".join("/" + part for part in reversed(parts))


def _limit(what: str, limit: int, found: object, trail: tuple[Any, ...] | None) -> InnkeeperError:
    pointer = _pointer(trail)
    return InnkeeperError(
        "MVU_LIMIT",
        f"expected at most {limit} {what}, found {found} at '{pointer}'",
        {"limit": limit, "path": pointer},
    )


def _check_key(key: object, trail: tuple[Any, ...] | None) -> str:
    if type(key) is not str:
        if not isinstance(key, str):
            raise InnkeeperError(
                "MVU_JSON",
                f"expected text as object key, found {type(key).__name__} at '{_pointer(trail)}'",
                {"path": _pointer(trail)},
            )
        key = str(key)
    if key in FORBIDDEN_KEYS:
        pointer = _pointer((trail, key))
        raise InnkeeperError(
            "MVU_PATH", f"the key {key!r} is not allowed in variables; rename it, at '{pointer}'", {"path": pointer}
        )
    return key


def _number(value: object, trail: tuple[Any, ...] | None) -> bool:
    """Whether ``value`` is a number; raises for one that JSON cannot hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(value, float):
        finite = math.isfinite(value)
    else:
        finite = -_MAX_DOUBLE_INT <= value <= _MAX_DOUBLE_INT
    if not finite:
        found = value if isinstance(value, float) else "an integer beyond the largest double"
        raise InnkeeperError(
            "MVU_JSON", f"expected a finite number, found {found} at '{_pointer(trail)}'", {"path": _pointer(trail)}
        )
    return True


def measure(value: object, limits: ValueLimits = DEFAULT, *, depth: int = 0) -> Size:
    """Check ``value`` and return its exact size; ``depth`` is the level at which its root stands.

    Raises ``MVU_JSON`` for what is not JSON, ``MVU_PATH`` for a forbidden key, ``MVU_LIMIT`` beyond ``limits``.
    """
    nodes = charge = 0
    deepest = depth
    max_nodes, max_charge, max_depth = limits.nodes, limits.charge, limits.depth
    stack: list[tuple[object, int, tuple[Any, ...] | None]] = [(value, depth, None)]
    keys: dict[str, int] = {}
    while stack:
        item, level, trail = stack.pop()
        nodes += 1
        kind = type(item)
        if kind is str:
            charge += text_charge(item)  # type: ignore[arg-type]
        elif kind is int or kind is float:
            _number(item, trail)
            charge += _NUMBER_CHARGE
        elif item is None or item is True or item is False:
            charge += _WORD_CHARGE
        elif isinstance(item, dict):
            charge += _PER_CONTAINER
            for key, child in item.items():
                known = keys.get(key)
                if known is None:
                    name = _check_key(key, trail)
                    known = keys[name] = _PER_ENTRY + text_charge(name)
                charge += known
                stack.append((child, level + 1, (trail, key)))
        elif isinstance(item, list):
            if len(item) > limits.array:
                raise _limit("items in an array", limits.array, len(item), trail)
            charge += _PER_CONTAINER + _PER_ENTRY * len(item)
            stack.extend((child, level + 1, (trail, index)) for index, child in enumerate(item))
        elif isinstance(item, str):
            charge += text_charge(str(item))
        elif _number(item, trail):
            charge += _NUMBER_CHARGE
        else:
            raise InnkeeperError(
                "MVU_JSON",
                f"expected a JSON value, found {kind.__name__} at '{_pointer(trail)}'",
                {"path": _pointer(trail)},
            )
        if level > deepest:
            deepest = level
            if level > max_depth:
                raise _limit("levels of nesting", max_depth, level, trail)
        if charge > max_charge:
            raise _limit("charged bytes", max_charge, "more", trail)
        if nodes + len(stack) > max_nodes:
            raise _limit("values", max_nodes, "more", trail)
    return Size(nodes, charge, deepest - depth)


def check_json(value: object, limits: ValueLimits = DEFAULT) -> Size:
    """Gate for one JSON value from outside: raises what ``measure`` raises, returns the size."""
    return measure(value, limits)


_plain_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_ASTRAL_LEADS = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")


def quick_size(value: Any) -> Size:
    """An upper bound of the size of a value that passed ``check_json`` before; exact only in ``depth`` being 0.

    One pass of the C encoder and a few byte counts: every comma and bracket of the text may stand for a value, every
    value may be a number, every backslash may be a six-byte control character. What is counted inside strings only
    makes the bound larger.
    """
    if type(value) is str:
        return Size(1, text_charge(value), 0)
    if type(value) is not dict and type(value) is not list:
        return Size(1, _NUMBER_CHARGE, 0)
    try:
        raw = _plain_text(value).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: rare, so the exact walk is good enough
        exact = measure(value, ValueLimits(nodes=1 << 62, charge=1 << 62, depth=1 << 30, array=1 << 62))
        return Size(exact.nodes, exact.charge, 0)
    containers = raw.count(b"[") + raw.count(b"{")
    nodes = raw.count(b",") + containers + 1
    astral = sum(map(raw.count, _ASTRAL_LEADS))
    charge = (
        len(raw)
        + nodes * (_NUMBER_CHARGE - 1)
        + containers * _PER_CONTAINER
        + nodes
        + raw.count(b"\\") * _ESCAPE_EXTRA
        + astral * _ASTRAL_EXTRA
    )
    return Size(nodes, charge, 0)
