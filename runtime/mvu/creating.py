"""Path rules of states under a declaration of version 2 or 3: missing places are created (spec/mvu.md §4.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interpreter.javascript import js_number_text
from runtime.mvu.commands.model import Command
from runtime.mvu.errors import fatal, refuse_schema
from runtime.mvu.metadata import Node, type_name
from runtime.mvu.native import without
from runtime.mvu.steps import (
    Edit,
    Hint,
    check_move,
    element_to_delete,
    gain,
    insert_index,
    missing,
    plus,
    rebuild,
    sum_of,
    swap,
)
from runtime.mvu.weigh import NOTHING, Weight, change
from runtime.values.copying import MISSING, child, index_of
from runtime.values.limits import PATH_PARTS
from runtime.values.paths import array_index, pointer_text


class CreatingRules:
    """Applies commands; ``insert`` may offer several candidates, and the declaration chooses the first it accepts."""

    def candidates(self, root: Any, meta: Node, command: Command, hint: Hint) -> Iterator[Edit]:
        """The candidates in order; a later one counts only when the declaration refuses the earlier."""
        if command.type == "set":
            yield self._set(root, meta, command.path, command.value, hint)
        elif command.type == "add":
            yield self._add(root, meta, command, hint)
        elif command.type == "insert":
            yield from self._insert(root, meta, command.path, command.key, command.value, hint)
        elif command.type == "delete":
            yield self._delete(root, meta, command.path, command.key, hint)
        else:
            yield from self._move(root, meta, command, hint)

    def _existing(self, root: Any, path: tuple[str, ...]) -> tuple[list[Any], Any]:
        """The containers along ``path`` and what stands there; it must exist."""
        parents: list[Any] = []
        here = root
        for depth, part in enumerate(path):
            found = child(here, part)
            if found is MISSING:
                raise missing(root, path, depth)
            parents.append(here)
            here = found
        return parents, here

    def _set(self, root: Any, meta: Node, path: tuple[str, ...], value: Any, hint: Hint) -> Edit:
        """Set with creation: containers are made on the way, scalars and nulls there are replaced."""
        if not path:
            if not isinstance(value, dict):
                raise refuse_schema(
                    f"expected an object as the whole data, found {type_name(value)}", path="", expected="object"
                )
            return Edit(value, meta, change(root, value))
        if len(path) > PATH_PARTS.default:
            raise fatal("MVU_LIMIT", f"expected a path of at most {PATH_PARTS.default} parts, found {len(path)}")
        parents: list[Any] = []
        here: Any = root
        for depth, part in enumerate(path):
            if not isinstance(here, dict | list):
                return self._graft(path, parents, depth, here, value, meta, hint)
            _check_room(here, part)
            parents.append(here)
            here = child(here, part)
        holder = parents[-1]
        weight = (
            gain(value, path[-1] if isinstance(holder, dict) else None, len(path) + 1)
            if here is MISSING
            else swap(here, value, len(path) + 1)
        )
        return Edit(rebuild(parents, path, value, hint), meta, weight)

    def _graft(
        self, path: tuple[str, ...], parents: list[Any], depth: int, old: Any, value: Any, meta: Node, hint: Hint
    ) -> Edit:
        """New containers for ``path[depth:]`` in the place of ``old`` (missing, scalar or null)."""
        for part in reversed(path[depth:]):
            if array_index(part) is None:
                value = {part: value}
            elif array_index(part) == 0:
                value = [value]
            else:
                raise fatal("MVU_PATH", f"expected the index 0 in a new array, found {part} in '{pointer_text(path)}'")
        spot = path[:depth]
        holder = parents[-1]
        if old is MISSING:
            weight = gain(value, spot[-1] if isinstance(holder, dict) else None, depth + 1)
        else:
            weight = swap(old, value, depth + 1)
        return Edit(rebuild(parents, spot, value, hint), meta, weight)

    def _add(self, root: Any, meta: Node, command: Command, hint: Hint) -> Edit:
        parents, old = self._existing(root, command.path)
        total = sum_of(old, command.value, command.path)
        return Edit(rebuild(parents, command.path, total, hint), meta, swap(old, total, len(command.path) + 1))

    def _insert(self, root: Any, meta: Node, path: tuple[str, ...], key: Any, value: Any, hint: Hint) -> Iterator[Edit]:
        target = root
        for part in path:
            target = child(target, part)
        if target is MISSING or target is None:
            yield from self._insert_new(root, meta, path, key, value, hint)
        elif isinstance(target, list):
            yield self._insert_item(root, meta, path, target, key, value, hint)
        elif isinstance(target, dict):
            yield self._insert_entries(root, meta, path, target, key, value, hint)
        else:
            raise refuse_schema(
                f"expected an object or array to insert into, found {type_name(target)} at '{pointer_text(path)}'",
                path=pointer_text(path),
                expected="object or array",
                found=type_name(target),
            )

    def _insert_new(
        self, root: Any, meta: Node, path: tuple[str, ...], key: Any, value: Any, hint: Hint
    ) -> Iterator[Edit]:
        if key is MISSING:
            if isinstance(value, dict):
                yield self._set(root, meta, path, dict(value), hint)
            yield self._set(root, meta, path, [value], hint)
            return
        yield self._set(root, meta, path, {_key_text(key): value}, hint)
        if key == "-" or array_index(_key_text(key)) == 0:
            yield self._set(root, meta, path, [value], hint)

    def _insert_item(
        self, root: Any, meta: Node, path: tuple[str, ...], target: list[Any], key: Any, value: Any, hint: Hint
    ) -> Edit:
        index = len(target) if key is MISSING else insert_index(target, key)
        parents, _ = self._existing(root, path)
        items = [*target[:index], value, *target[index:]]
        return Edit(rebuild(parents, path, items, hint), meta, gain(value, None, len(path) + 2))

    def _insert_entries(
        self, root: Any, meta: Node, path: tuple[str, ...], target: dict[str, Any], key: Any, value: Any, hint: Hint
    ) -> Edit:
        if key is not MISSING:
            return self._set(root, meta, (*path, _key_text(key)), value, hint)
        if not isinstance(value, dict):
            raise refuse_schema(
                f"expected an object to assign into the object at '{pointer_text(path)}', found {type_name(value)}",
                path=pointer_text(path),
                expected="object",
                found=type_name(value),
            )
        parents, _ = self._existing(root, path)
        fresh = {**target, **value}
        weight: Weight = NOTHING
        for name, item in value.items():
            level = len(path) + 2
            weight = plus(weight, swap(target[name], item, level) if name in target else gain(item, name, level))
        return Edit(rebuild(parents, path, fresh, hint), meta, weight)

    def _delete(self, root: Any, meta: Node, path: tuple[str, ...], target: Any, hint: Hint) -> Edit:
        if target is not MISSING:
            _, container = self._existing(root, path)
            path = (*path, element_to_delete(container, target, path))
        if not path:
            raise fatal("MVU_UNSUPPORTED", "the root cannot be deleted")
        parents, _ = self._existing(root, path)
        container = parents.pop()
        fresh, weight = without(container, path[-1])
        hint(fresh, container, path[-1] if isinstance(container, dict) else int(path[-1]))
        return Edit(rebuild(parents, path[:-1], fresh, hint), meta, weight)

    def _move(self, root: Any, meta: Node, command: Command, hint: Hint) -> Iterator[Edit]:
        destination = command.to or ()
        _, value = self._existing(root, command.path)
        check_move(command.path, destination)
        gone = self._delete(root, meta, command.path, MISSING, hint)
        for placed in self._insert(gone.root, meta, destination[:-1], destination[-1], value, hint):
            yield Edit(placed.root, meta, plus(gone.weight, placed.weight))


def _key_text(key: Any) -> str:
    return key if isinstance(key, str) else js_number_text(key)


def _check_room(container: Any, part: str) -> None:
    if isinstance(container, list):
        index = index_of(part)
        if index > len(container):
            raise fatal("MVU_PATH", f"expected an index of at most {len(container)}, found {index}")
