"""The values of the evaluator that are not JSON data: functions, sets, maps, regular expressions, errors, chains.

JSON data are plain ``dict``, ``list`` and scalars; everything here is opaque to JSON and may never reach an output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from interpreter.budget import Run

NativeFunction = Callable[[Run, list[Any]], Any]


class Thrown(Exception):
    """A JavaScript exception on its way to a ``catch``; ``value`` is what was thrown."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class ErrorValue:
    """``new Error(message)`` and its kin, and what the evaluator itself throws."""

    __slots__ = ("extra", "message", "name")

    def __init__(self, name: str, message: str, extra: dict[str, Any] | None = None) -> None:
        self.name = name
        self.message = message
        self.extra = extra or {}

    def text(self) -> str:
        """``String(error)``."""
        if not self.name:
            return self.message
        return f"{self.name}: {self.message}" if self.message else self.name


def type_error(message: str) -> Thrown:
    """A ``TypeError`` to raise."""
    return Thrown(ErrorValue("TypeError", message))


def range_error(message: str) -> Thrown:
    """A ``RangeError`` to raise."""
    return Thrown(ErrorValue("RangeError", message))


class Native:
    """A built-in function: ``call(run, arguments)``. ``members`` are its static members (``Number.isFinite``)."""

    __slots__ = ("constructor", "function", "members", "name")

    def __init__(
        self,
        name: str,
        function: NativeFunction,
        members: dict[str, Any] | None = None,
        constructor: NativeFunction | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.members = members or {}
        self.constructor = constructor

    def call(self, run: Run, arguments: list[Any]) -> Any:
        """Apply the function."""
        try:
            return self.function(run, arguments)
        except (ArithmeticError, ValueError) as error:
            # A number that no Python function takes (an infinite count, a date far away) is out of range here too.
            raise range_error(f"{self.name}: {error}") from None


class Namespace:
    """An object of built-ins that is no function: ``Math``, ``JSON``, ``z``."""

    __slots__ = ("members", "name")

    def __init__(self, name: str, members: dict[str, Any]) -> None:
        self.name = name
        self.members = members


class Getter:
    """An accessor of an object literal: ``{ get name() {…} }``."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function


def key_of(value: Any) -> Any:
    """A hashable stand-in by SameValueZero: what a ``Set`` or ``Map`` compares by."""
    kind = type(value)
    if kind is bool:
        return (bool, value)
    if kind is float and value != value:
        return (float, "NaN")
    if kind in (int, float, str):
        return value
    if value is None:
        return (None,)
    return (id, id(value))


class SetValue:
    """``Set``: insertion order, SameValueZero."""

    __slots__ = ("items",)

    def __init__(self, values: list[Any] | None = None) -> None:
        self.items: dict[Any, Any] = {}
        for value in values or ():
            self.add(value)

    def add(self, value: Any) -> None:
        """Add a value at the end, unless it is in."""
        self.items.setdefault(key_of(value), 0 if type(value) is float and value == 0 else value)

    def has(self, value: Any) -> bool:
        """Whether the value is in."""
        return key_of(value) in self.items

    def values(self) -> list[Any]:
        """The values in insertion order."""
        return list(self.items.values())

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.items.values()))


class MapValue:
    """``Map``: insertion order, SameValueZero on keys."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: dict[Any, tuple[Any, Any]] = {}

    def set(self, key: Any, value: Any) -> None:
        """Set the value of a key; a new key goes to the end."""
        slot = key_of(key)
        old = self.items.get(slot)
        self.items[slot] = (old[0] if old else key, value)

    def entries(self) -> list[Any]:
        """The pairs in insertion order."""
        return [[key, value] for key, value in self.items.values()]

    def __len__(self) -> int:
        return len(self.items)


class Chain:
    """A lodash chain ``_(value)``: methods answer chains until a method that ends the chain."""

    __slots__ = ("explicit", "value")

    def __init__(self, value: Any, explicit: bool = False) -> None:
        self.value = value
        self.explicit = explicit


class Iterated:
    """The result of ``entries()``, ``keys()``, ``values()`` of arrays, sets and maps: an iterator over a list."""

    __slots__ = ("items", "position")

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.position = 0

    def rest(self) -> list[Any]:
        """What has not been taken yet; the iterator is at its end afterwards."""
        items = self.items[self.position :]
        self.position = len(self.items)
        return items


class HostObject:
    """An object of the parser that author code may read and call: the context of ``superRefine``, a parse result."""

    __slots__ = ("members", "on_set")

    def __init__(self, members: dict[str, Any], on_set: Callable[[str, Any], None] | None = None) -> None:
        self.members = members
        self.on_set = on_set


@dataclass(frozen=True, slots=True)
class DateValue:
    """``new Date(milliseconds)``; only what a declaration can read without a time zone."""

    milliseconds: float
