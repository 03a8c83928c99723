"""Dotted pointers into a State: reading, and writing by path copying (``spec/worldkernel.md`` §2.2, §3.6)."""

from __future__ import annotations

import re
from typing import Any, Final, TypeGuard

State = dict[str, Any]
Segments = tuple[str, ...]


class _Missing:
    """The answer of a path that leads nowhere; ``null`` is a value, this is none."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()

_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,8})\Z", re.ASCII)
_SLOT = re.compile(r"\{([A-Za-z0-9_]+)\}", re.ASCII)
_WHOLE_SLOT = re.compile(r"\{[A-Za-z0-9_]+\}\Z", re.ASCII)


class PointerError(Exception):
    """A pointer that no writer accepts; the text says why."""


def segments_of(pointer: str) -> Segments:
    """Split a pointer for reading: empty segments are dropped (§2.2)."""
    return tuple(part for part in pointer.split(".") if part)


def strict_segments(pointer: str) -> Segments:
    """Split a pointer for writing: an empty pointer or segment is refused (§4.3)."""
    parts = tuple(pointer.split("."))
    if "" in parts:
        what = "is empty" if not pointer else "has an empty segment"
        raise PointerError(f"expected names joined by single dots; the pointer {what}: {pointer!r}")
    return parts


def index_of(segment: str) -> int | None:
    """The list index that a segment names; only the canonical spelling counts (``0``, ``12``, not ``00``)."""
    return int(segment) if _INDEX.match(segment) else None


def read(state: Any, segments: Segments) -> Any:
    """The value at ``segments`` or ``MISSING``; a list also answers ``length``; no segments name the whole."""
    node = state
    for segment in segments:
        if isinstance(node, dict):
            if segment not in node:
                return MISSING
            node = node[segment]
        elif isinstance(node, list):
            if segment == "length":
                node = len(node)
                continue
            index = index_of(segment)
            if index is None or index >= len(node):
                return MISSING
            node = node[index]
        else:
            return MISSING
    return node


def write(root: State, segments: Segments, value: Any) -> State:
    """A new root with ``value`` at ``segments``; containers off the path are shared with the old one.

    Missing objects are created, a scalar on the way is replaced by an object, list elements are addressed by index;
    the index right behind the last element appends.
    """
    head, rest = segments[0], segments[1:]
    copy = dict(root)
    copy[head] = value if not rest else _written(copy.get(head), rest, value, segments)
    return copy


def _written(node: Any, segments: Segments, value: Any, whole: Segments) -> Any:
    """The container that replaces ``node``; ``segments`` is short (a limit), so recursion is too."""
    head, rest = segments[0], segments[1:]
    if isinstance(node, list):
        index = index_of(head)
        if index is None or index > len(node):
            raise PointerError(
                f"expected an index from 0 to {len(node)} of the list, found {head!r} at {'.'.join(whole)}"
            )
        old = node[index] if index < len(node) else None
        items = list(node)
        items[index : index + 1] = [value if not rest else _written(old, rest, value, whole)]
        return items
    copy = dict(node) if isinstance(node, dict) else {}
    copy[head] = value if not rest else _written(copy.get(head), rest, value, whole)
    return copy


def bind_text(text: str, actors: dict[str, str]) -> str:
    """Replace every bound ``{slot}``; an unbound one stays as it is (§3.2)."""
    if "{" not in text:
        return text
    return _SLOT.sub(lambda found: actors.get(found[1], found[0]), text)


def slots_in(text: str) -> list[str]:
    """The slot names written ``{slot}`` in ``text``, in order."""
    return _SLOT.findall(text)


def is_slot(segment: str) -> bool:
    """Whether a whole segment is one ``{slot}``."""
    return _WHOLE_SLOT.match(segment) is not None


def is_number(value: Any) -> TypeGuard[int | float]:
    """A JSON number; booleans are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def utf16_length(text: str) -> int:
    """The length that every text limit of a pack counts: UTF-16 code units (§1.7)."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def tidy(number: float) -> int | float:
    """The same number without a needless fraction: whole numbers up to 2^53 are integers, minus zero is zero."""
    if number == int(number) and abs(number) <= 2**53:
        return int(number)
    return number
