"""What one command does to a state: the values and small steps that both path rules share (spec/mvu.md §4.6)."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from interpreter.javascript import js_key_order, round12
from runtime.mvu.errors import Refused, fatal, refuse_missing, refuse_schema
from runtime.mvu.limits import MERGE_DEPTH
from runtime.mvu.metadata import Node
from runtime.mvu.weigh import NOTHING, Weight, entry, weigh
from runtime.values.copying import child, index_of, with_child
from runtime.values.equal import json_equal
from runtime.values.numbers import normal_number
from runtime.values.paths import pointer_text

Hint = Callable[[Any, Any, Any], None]
"""``hint(new, old, key)``: ``new`` is ``old`` but for what stands under ``key`` (the interpreter's memory)."""

Owned = dict[int, Any]
"""Containers by their id, which the dictionary keeps alive."""

_SUGGESTIONS = 200  # keys that are compared at most
_SHOWN = 64
_LIKENESS = 0.5
_EXACT = 10**12


class Edit(NamedTuple):
    """A candidate: the new data, its metadata tree, and how much heavier the data became."""

    root: Any
    meta: Node
    weight: Weight


def no_hint(new: Any, old: Any, key: Any) -> None:
    """A hint that nobody wants."""


def rebuild(parents: list[Any], path: tuple[str, ...], value: Any, hint: Hint, owned: Owned | None = None) -> Any:
    """The new root with ``value`` at ``path``; ``parents`` are the containers that hold each part.

    ``owned`` are containers that this batch made itself and nobody else has seen: those are changed in place, so that
    a batch copies a wide record once and not for each of its commands.
    """
    for depth in range(len(path) - 1, -1, -1):
        container, part = parents[depth], path[depth]
        if owned is not None and id(container) in owned:
            if type(container) is dict:
                container[part] = value
            else:
                container[int(part)] = value
            return parents[0]
        if type(container) is dict:
            fresh: Any = container.copy()
            fresh[part] = value
            if hint is not no_hint:
                hint(fresh, container, part)
        else:
            fresh = with_child(container, part, value)
            hint(fresh, container, int(part))
        if owned is not None:
            owned[id(fresh)] = fresh
        value = fresh
    return value


def swap(old: Any, new: Any, level: int) -> Weight:
    """The weight of ``new`` in the place of ``old``; ``level`` is where it stands."""
    if type(new) is int and type(old) is int and -_EXACT < new < _EXACT:
        return NOTHING
    more, less = weigh(new, level), weigh(old)
    return Weight(more.nodes - less.nodes, more.charge - less.charge)


def gain(value: Any, key: str | None, level: int) -> Weight:
    """The weight of a new entry."""
    more = weigh(value, level)
    return Weight(more.nodes, more.charge + entry(key))


def loss(value: Any, key: str | None) -> Weight:
    """The weight of an entry that goes."""
    less = weigh(value)
    return Weight(-less.nodes, -less.charge - entry(key))


def plus(one: Weight, other: Weight) -> Weight:
    """Both changes."""
    return Weight(one.nodes + other.nodes, one.charge + other.charge)


class Missing(Refused):
    """Nothing stands at a path; the nearest path that exists is looked for only when somebody reads the refusal."""

    def __init__(self, root: Any, path: tuple[str, ...], depth: int) -> None:
        super().__init__("MVU_PATH_MISSING", "")
        here = root
        for part in path[:depth]:
            here = child(here, part)
        self._siblings = list(islice(here, _SUGGESTIONS)) if isinstance(here, dict) else []
        self._path, self._depth = path, depth
        self._said: tuple[str, dict[str, Any]] | None = None

    def _say(self) -> tuple[str, dict[str, Any]]:
        if self._said is None:
            near = pointer_text(self._path[: self._depth])
            wanted = pointer_text(self._path[: self._depth + 1])
            close = difflib.get_close_matches(self._path[self._depth][:_SHOWN], self._siblings, n=1, cutoff=_LIKENESS)
            if close:
                near = pointer_text((*self._path[: self._depth], close[0]))
            self._said = (
                f"nothing stands at '{wanted}'; the nearest existing path is '{near}'",
                {"path": wanted, "expected": "an existing path", "found": "nothing", "nearest": near},
            )
        return self._said

    @property
    def message(self) -> str:
        """What was looked for, and the nearest existing path."""
        return self._say()[0]

    @message.setter
    def message(self, value: str) -> None:
        pass  # the base class sets it; here it is made when it is read

    @property
    def details(self) -> dict[str, Any]:
        """Path, nearest path, what was expected and found."""
        return self._say()[1]

    @details.setter
    def details(self, value: dict[str, Any]) -> None:
        pass


def missing(root: Any, path: tuple[str, ...], depth: int) -> Refused:
    """The refusal of a path at whose part ``depth`` nothing stands."""
    return Missing(root, path, depth)


def sum_of(old: Any, delta: Any, path: tuple[str, ...]) -> int | float:
    """The rounded sum of ``add``; both must be numbers (``MVU_UNSUPPORTED``)."""
    if type(old) is int and type(delta) is int and -_EXACT < old + delta < _EXACT:
        return old + delta
    for name, value in (("the value", old), ("the delta", delta)):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise fatal(
                "MVU_UNSUPPORTED",
                f"expected two numbers for an add, {name} is none, at '{pointer_text(path)}'",
                {"path": pointer_text(path)},
            )
    total = float(old) + float(delta)
    if not math.isfinite(total):
        raise fatal("MVU_JSON", f"expected a finite sum at '{pointer_text(path)}', found {total}")
    return rounded12(total)


def rounded12(number: float) -> int | float:
    """``number`` to 12 significant digits; only a tie needs the exact arithmetic of ``round12``."""
    if f"{number:.14e}".partition("e")[0][-3:] != "500":
        return normal_number(float(f"{number:.12g}"))
    return normal_number(round12(number))


def insert_index(items: list[Any], key: Any) -> int:
    """Where a keyed insert puts its value in an array: ``-`` or 0 up to the length (``MVU_PATH``)."""
    if key == "-":
        return len(items)
    if isinstance(key, float):
        key = normal_number(key)
    index = index_of(key if isinstance(key, int | str) else str(key))
    if index > len(items):
        raise fatal("MVU_PATH", f"expected an index from 0 to {len(items)} or '-', found {index}")
    return index


def _index_number(number: float) -> int:
    return index_of(int(number) if float(number).is_integer() else str(number))


def element_to_delete(container: Any, target: Any, path: tuple[str, ...]) -> str:
    """The key or index that the second argument of ``delete`` names."""
    number = isinstance(target, int | float) and not isinstance(target, bool)
    if isinstance(container, list):
        if number:
            index = _index_number(target)
            if index < len(container):
                return str(index)
        else:
            for position, item in enumerate(container):
                if json_equal(item, target):
                    return str(position)
    elif isinstance(container, dict):
        if number:
            index = _index_number(target)
            keys = list(js_key_order(container.keys()))
            if index < len(keys):
                return keys[index]
        elif isinstance(target, str) and target in container:
            return target
    else:
        raise refuse_schema(
            f"expected an object or array to delete from at '{pointer_text(path)}'", path=pointer_text(path)
        )
    raise refuse_missing(
        f"found nothing in '{pointer_text(path)}' that is {target!r:.80}",
        path=pointer_text(path),
        expected="an existing element",
        found="nothing",
        nearest=pointer_text(path),
    )


def merged(base: Any, value: Any, depth: int = 0) -> Any:
    """Objects merged deeply, ``value`` wins; anything else is ``value``."""
    if not (isinstance(base, dict) and isinstance(value, dict)):
        return value
    if depth >= MERGE_DEPTH.default:
        raise fatal("MVU_LIMIT", f"expected at most {MERGE_DEPTH.default} levels to merge, found more")
    result = dict(base)
    for key, item in value.items():
        result[key] = merged(base[key], item, depth + 1) if key in base else item
    return result


def templated(template: Any, value: Any, root: Node) -> Any:
    """``value`` as the template of its collection completes it (spec/mvu.md §4.5)."""
    if isinstance(template, dict) and isinstance(value, dict):
        return merged(template, value)
    if not isinstance(template, list) or isinstance(value, dict):
        return value
    if not isinstance(value, list):
        if root.get("strictTemplate") is True:
            return value
        value = [value]
    if root.get("concatTemplateArray") is not False:
        return [*value, *template]
    longest = max(len(value), len(template))
    return [
        merged(template[index], value[index])
        if index < len(value) and index < len(template)
        else (value[index] if index < len(value) else template[index])
        for index in range(longest)
    ]


def check_move(source: tuple[str, ...], destination: tuple[str, ...]) -> None:
    """Refuse a move into its own child (``MVU_PATH``) and a move of or to the root (``MVU_UNSUPPORTED``)."""
    if not source or not destination:
        raise fatal("MVU_UNSUPPORTED", "the root can neither be moved nor be the destination of a move")
    if len(destination) > len(source) and destination[: len(source)] == source:
        raise fatal(
            "MVU_PATH",
            f"'{pointer_text(source)}' cannot move into itself, found the destination '{pointer_text(destination)}'",
        )
