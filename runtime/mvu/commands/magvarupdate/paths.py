"""Paths of the dialect ``magvarupdate``: repair, lodash's reading of a path text, reading and writing along a path.

Rules: spec/magvarupdate.md §4. Trees are never mutated: a write copies the containers along the path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from interpreter.javascript import UNDEFINED, utf16_char_at, utf16_length
from runtime.mvu.commands.magvarupdate.limits import SPARSE_INDEX
from runtime.mvu.commands.magvarupdate.values import HOLE, NamedList, is_container, trim_ends

_BRACKET = re.compile(r"\[([^\]]*)\]")
_QUOTED_SEGMENT = re.compile(r"""(?:^|(?<=\.))(["'])((?:(?!\1)[^\\]|\\.)*)\1(?=[.\[]|\Z)""")
_SPACE = re.compile(r"\s")
_AWKWARD = re.compile(r"[\s.\[\]]")
_DIGITS = re.compile(r"[0-9]+")

_PROPERTY = re.compile(
    r"""[^.\[\]]+|\[(?:(-?[0-9]+(?:\.[0-9]+)?)|(["'])((?:(?!\2)[^\\]|\\.)*)\2)\]|(?=(?:\.|\[\])(?:\.|\[\]|\Z))""",
    re.DOTALL,
)
_DEEP = re.compile(r"""\.|\[(?:[^\[\]]*|(["'])(?:(?!\1)[^\\]|\\.)*\1)\]""", re.DOTALL)
_ESCAPED = re.compile(r"\\(\\)?")
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_UNWRITABLE = frozenset({"__proto__", "constructor", "prototype"})


def repair(text: str) -> str:
    """The path text after the upstream's repairs: ends trimmed, brackets and quoted segments tidied."""
    return _QUOTED_SEGMENT.sub(_tidy_segment, _BRACKET.sub(_tidy_bracket, trim_ends(text)))


def _tidy_bracket(match: re.Match[str]) -> str:
    inner = match.group(1).strip()
    quoted = len(inner) >= 2 and inner[0] == inner[-1] and inner[0] in "\"'`"
    if quoted:
        inner = inner[1:-1]
    if _SPACE.search(inner) or (quoted and _DIGITS.fullmatch(inner)):
        return f'["{inner}"]'
    return f"[{inner}]"


def _tidy_segment(match: re.Match[str]) -> str:
    inner = match.group(2)
    return f'["{inner}"]' if _AWKWARD.search(inner) else inner


@lru_cache(maxsize=1_024)
def parts_of(text: str) -> tuple[str, ...]:
    """The keys that lodash reads in a path text."""
    if not text:
        return ("",)
    parts = [""] if text.startswith(".") else []
    for match in _PROPERTY.finditer(text):
        if match.group(2) is not None:
            parts.append(_ESCAPED.sub(lambda found: found.group(1) or "", match.group(3)))
        else:
            parts.append(match.group(1) or match.group())
    return tuple(parts)


def keys_of(text: str, root: Any) -> tuple[str, ...]:
    """The keys of a path text on ``root``: the whole text is one key when the root has it or nothing splits it."""
    if isinstance(root, dict) and text in root:
        return (text,)
    return _split(text)


@lru_cache(maxsize=1_024)
def _split(text: str) -> tuple[str, ...]:
    return (parts_of(text) if _DEEP.search(text) else ()) or (text,)


def pointer_keys(pointer: str) -> tuple[str, ...]:
    """The keys of a patch pointer; a missing first slash is forgiven, the empty pointer is the root."""
    if not pointer:
        return ()
    text = pointer[1:] if pointer.startswith("/") else pointer
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/"))


def bracket_text(keys: Sequence[str]) -> str:
    """Keys as a path text that reads back as the same keys."""
    return "".join(f"[{json.dumps(key, ensure_ascii=False)}]" for key in keys)


def index_of(key: str) -> int | None:
    """The array index that a key stands for."""
    return int(key) if _INDEX.fullmatch(key) else None


def has_own(container: Any, key: str) -> bool:
    """Whether a value has a member of its own under ``key``."""
    if isinstance(container, dict):
        return key in container
    if isinstance(container, list):
        index = index_of(key)
        if index is not None:
            return index < len(container)
        return isinstance(container, NamedList) and key in container.named
    if isinstance(container, str):
        index = index_of(key)
        return key == "length" or (index is not None and index < utf16_length(container))
    return False


def member(container: Any, key: str) -> Any:
    """The member under ``key``, or ``UNDEFINED``."""
    if isinstance(container, dict):
        return container.get(key, UNDEFINED)
    if not has_own(container, key):
        return UNDEFINED
    index = index_of(key)
    if isinstance(container, str):
        return utf16_length(container) if index is None else utf16_char_at(container, index)
    if index is not None:
        return container[index]
    return container.named[key]


def has(root: Any, keys: Sequence[str]) -> bool:
    """Whether every key leads to a member of its own."""
    for key in keys:
        if not has_own(root, key):
            return False
        root = member(root, key)
    return True


def get(root: Any, keys: Sequence[str]) -> Any:
    """What stands at ``keys``, or ``UNDEFINED``."""
    for key in keys:
        root = member(root, key)
    return root


def put(container: Any, key: str, value: Any, gap: Any = HOLE) -> Any:
    """A copy of a container with ``value`` under ``key``; arrays grow with ``gap`` in between, up to a bound."""
    if isinstance(container, dict):
        copied = dict(container)
        copied[key] = value
        return copied
    named = dict(container.named) if isinstance(container, NamedList) else {}
    items = list(container)
    index = index_of(key)
    if index is None:
        named[key] = value
        return NamedList(items, named)
    if index < len(items):
        items[index] = value
    elif index - len(items) > SPARSE_INDEX.default:
        return {**{str(at): item for at, item in enumerate(items) if item is not HOLE}, key: value}
    else:
        items.extend([gap] * (index - len(items)))
        items.append(value)
    return NamedList(items, named) if named else items


def drop(container: Any, key: str) -> Any:
    """A copy of an object or array without its member ``key``."""
    if isinstance(container, dict):
        return {name: item for name, item in container.items() if name != key}
    index = index_of(key)
    if isinstance(container, NamedList):
        named = {name: item for name, item in container.named.items() if name != key}
        return NamedList(list(container), named)
    items = list(container)
    if index is not None and index < len(items):
        items[index] = HOLE
    return items


Hint = Callable[[Any, Any, Any], None]
"""``hint(new, old, key)``: ``new`` is ``old`` but for what stands under ``key`` (the interpreter's memory)."""


def write(root: Any, keys: Sequence[str], value: Any, hint: Hint | None = None, gap: Any = HOLE) -> Any:
    """A root with ``value`` at ``keys``; scalars and gaps on the way become containers, as lodash has it."""
    if not _UNWRITABLE.isdisjoint(keys):
        return root
    trail: list[Any] = []
    for position, key in enumerate(keys):
        if not is_container(root):
            root = [] if index_of(key) is not None and position else {}
        trail.append(root)
        root = member(root, key)
    for container, key in zip(reversed(trail), reversed(keys), strict=True):
        value = _hinted(container, key, value, hint, gap)
    return value


def _hinted(container: Any, key: str, value: Any, hint: Hint | None, gap: Any = HOLE) -> Any:
    fresh = put(container, key, value, gap)
    if hint is not None and len(fresh) == len(container):
        index = index_of(key) if isinstance(container, list) else None
        if isinstance(container, dict) or index is not None:
            hint(fresh, container, key if index is None else index)
    return fresh


def remove(root: Any, keys: Sequence[str], hint: Hint | None = None) -> Any:
    """A root without the member at ``keys``, which must exist."""
    trail: list[Any] = []
    for key in keys:
        trail.append(root)
        root = member(root, key)
    value = drop(trail[-1], keys[-1])
    for container, key in zip(reversed(trail[:-1]), reversed(keys[:-1]), strict=True):
        value = _hinted(container, key, value, hint)
    return value
