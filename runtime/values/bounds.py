"""Bounds of JSON values: what one value may hold, measured without recursion (spec/mvu.md §1.7).

``check_json`` is the gate for values from outside. ``quick_size`` gives an upper bound of a value that passed the gate
before, at the speed of the C encoder; whoever keeps totals adds and subtracts exact measures of what changed.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import orjson

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
_SAFE = 2**53
_NO_LIMIT = 1 << 62
# A bound below this share of the budget need not be close.
_LOOSE_ENOUGH = DEFAULT.charge // 6


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
    walk = _Walk(limits, depth)
    stack: list[_Frame] = []
    walk.item(value, depth, None, None, stack)
    while stack:
        container, level, trail = stack.pop()
        walk.container(container, level, trail, stack)
    return Size(walk.nodes, walk.charge, walk.deepest - depth)


_Frame = tuple[Any, int, tuple[Any, ...] | None]


class _Walk:
    """The running totals of one measurement."""

    __slots__ = ("charge", "deepest", "keys", "limits", "nodes")

    def __init__(self, limits: ValueLimits, depth: int) -> None:
        self.limits = limits
        self.nodes = self.charge = 0
        self.deepest = depth
        self.keys: dict[str, int] = {}

    def container(self, container: Any, level: int, trail: tuple[Any, ...] | None, stack: list[_Frame]) -> None:
        """Count a container and its scalars; its containers go on the stack."""
        nodes, charge, keys = 1, _PER_CONTAINER + _PER_ENTRY * len(container), self.keys
        is_dict = isinstance(container, dict)
        pairs: Any = container.items() if is_dict else enumerate(container)
        for key, child in pairs:
            if is_dict:
                known = keys.get(key)
                if known is None:
                    name = _check_key(key, trail)
                    known = keys[name] = text_charge(name)
                charge += known
            kind = type(child)
            if kind is str:
                nodes += 1
                if child.isascii() and child.isalnum():
                    charge += 2 + len(child)
                else:
                    charge += text_charge(child)
            elif kind is int and -_SAFE <= child <= _SAFE:
                nodes += 1
                charge += _NUMBER_CHARGE
            elif kind is dict or kind is list:
                stack.append((child, level + 1, (trail, key)))
            else:
                self.item(child, level + 1, trail, key, stack)
        self.nodes += nodes
        self.charge += charge
        self._check(level, trail, len(stack), bool(container))
        if not is_dict and len(container) > self.limits.array:
            raise _limit("items in an array", self.limits.array, len(container), trail)

    def item(self, item: Any, level: int, trail: Any, key: Any, stack: list[_Frame]) -> None:
        """Count one scalar of any kind, or put a container on the stack."""
        where = (trail, key) if key is not None else None
        if isinstance(item, dict | list):
            stack.append((item, level, where))
            return
        self.nodes += 1
        if item is None or item is True or item is False:
            self.charge += _WORD_CHARGE
        elif isinstance(item, str):
            self.charge += text_charge(str(item))
            self._check(level - 1, where, 0, False)
        elif _number(item, where):
            self.charge += _NUMBER_CHARGE
        else:
            raise InnkeeperError(
                "MVU_JSON",
                f"expected a JSON value, found {type(item).__name__} at '{_pointer(where)}'",
                {"path": _pointer(where)},
            )

    def _check(self, level: int, trail: tuple[Any, ...] | None, waiting: int, filled: bool) -> None:
        level += filled
        if level > self.deepest:
            self.deepest = level
            if level > self.limits.depth:
                raise _limit("levels of nesting", self.limits.depth, level, trail)
        if self.charge > self.limits.charge:
            raise _limit("charged bytes", self.limits.charge, "more", trail)
        if self.nodes + waiting > self.limits.nodes:
            raise _limit("values", self.limits.nodes, "more", trail)


def check_json(value: object, limits: ValueLimits = DEFAULT) -> Size:
    """Gate for one JSON value from outside: raises what ``measure`` raises, returns the size."""
    return measure(value, limits)


_ASTRAL_LEADS = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
_NUMBER_STARTS = bytes.maketrans(b"-123456789[:", b"0000000000,,")


def quick_size(value: Any) -> Size:
    """An upper bound of the size of a value that passed ``check_json`` before; its ``depth`` is 0 and means nothing.

    One pass of a C encoder and a few byte counts: every comma and bracket of the text may stand for a value, every
    backslash for a six-byte control character. What is counted inside strings only makes the bound larger.
    """
    if not isinstance(value, dict | list):
        return Size(1, text_charge(value) if isinstance(value, str) else _NUMBER_CHARGE, 0)
    try:
        raw = orjson.dumps(value)
    except (orjson.JSONEncodeError, TypeError):  # a lone surrogate or a huge integer: the exact walk is good enough
        exact = measure(value, ValueLimits(nodes=_NO_LIMIT, charge=_NO_LIMIT, depth=_NO_LIMIT, array=_NO_LIMIT))
        return Size(exact.nodes, exact.charge, 0)
    containers = raw.count(b"[") + raw.count(b"{")
    entries = raw.count(b",") + containers
    loose = (1 if raw.isascii() else 3) * len(raw) + entries * (_NUMBER_CHARGE + 1) + containers
    loose += raw.count(b"\\") * _ESCAPE_EXTRA
    if loose < _LOOSE_ENOUGH:
        return Size(entries + 1, loose, 0)
    numbers = raw.translate(_NUMBER_STARTS).count(b",0")
    charge = len(raw) + entries + containers + numbers * (_NUMBER_CHARGE - 1)
    charge += raw.count(b"null") + raw.count(b"true") + raw.count(b"\\") * _ESCAPE_EXTRA
    if not raw.isascii():
        charge += sum(map(raw.count, _ASTRAL_LEADS)) * _ASTRAL_EXTRA
    return Size(entries + 1, charge, 0)


def container_bound(value: Any) -> int:
    """At least as many as there are objects and arrays in a value that passed ``check_json`` before."""
    try:
        raw = orjson.dumps(value)
    except (orjson.JSONEncodeError, TypeError):
        return quick_size(value).nodes
    return raw.count(b"[") + raw.count(b"{")
