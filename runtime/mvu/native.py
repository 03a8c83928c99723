"""Path rules of native states and of declarations of version 1 (spec/mvu.md §4.5, §4.6)."""

from __future__ import annotations

import math
from typing import Any

from interpreter.javascript import to_number
from runtime.mvu import metadata
from runtime.mvu.commands.model import Command
from runtime.mvu.errors import fatal, refuse_schema
from runtime.mvu.metadata import FREE, Node, Zone
from runtime.mvu.steps import (
    Edit,
    Hint,
    Owned,
    check_move,
    element_to_delete,
    gain,
    insert_index,
    loss,
    merged,
    missing,
    plus,
    rebuild,
    sum_of,
    swap,
    templated,
)
from runtime.values.copying import MISSING, child
from runtime.values.numbers import normal_number
from runtime.values.paths import pointer_text


class NativeRules:
    """Applies commands to data under a metadata tree; ``free``: version 1, where the declaration guards everything."""

    def __init__(self, free: bool = False, owned: Owned | None = None) -> None:
        self.free = free
        self.owned = owned

    def apply(self, root: Any, meta: Node, command: Command, hint: Hint) -> Edit:
        """The candidate after ``command``; raises ``Refused`` or a fatal error."""
        if command.type == "set":
            return self._set(root, meta, command, hint)
        if command.type == "add":
            return self._add(root, meta, command, hint)
        if command.type == "insert":
            return self._insert(root, meta, command.path, command.key, command.value, hint)
        if command.type == "move":
            return self._move(root, meta, command, hint)
        return self._delete(root, meta, command.path, command.key, hint)

    # --- walking -----------------------------------------------------------------------------------------------

    def _zone(self, meta: Node) -> Zone:
        return FREE if self.free else metadata.root_zone(meta)

    def _descend(self, root: Any, meta: Node, path: tuple[str, ...]) -> tuple[list[Any], Zone, Any]:
        """The containers along ``path``, the zone of what stands there, and that value; the path must exist."""
        parents: list[Any] = []
        node: Node | None
        node, extensible, recursive, free = self._zone(meta)
        here = root
        for depth, part in enumerate(path):
            parents.append(here)
            if type(here) is dict:
                found = here.get(part, MISSING)
            else:
                found = child(here, part)
                free = True  # inside arrays everything is free
            if found is MISSING:
                raise missing(root, path, depth)
            here = found
            if node is not None and not free:
                node = metadata.property_of(node, part)
                if node is not None:
                    recursive = recursive or node.get("recursiveExtensible") is True
                    extensible = recursive or node.get("extensible") is True
                    continue
            extensible = recursive
        if free:
            return parents, FREE, here
        return parents, Zone(node, extensible, recursive, False), here

    def _place(self, root: Any, meta: Node, path: tuple[str, ...], value: Any, hint: Hint) -> Edit:
        """``value`` in the place of what stands at ``path``: validated against the metadata, cleaned, derived."""
        parents, zone, here = self._descend(root, meta, path)
        return self._put(root, meta, path, parents, zone, here, value, hint)

    def _put(
        self, root: Any, meta: Node, path: tuple[str, ...], parents: list[Any], zone: Zone, here: Any, value: Any,
        hint: Hint,
    ) -> Edit:  # fmt: skip
        new_meta = meta
        if not zone.free:
            metadata.validate_change(here, value, zone, path)
            if isinstance(value, dict | list) or isinstance(here, dict | list):
                value, new_meta = self._derive(root, meta, path, zone, here, value)
        return Edit(rebuild(parents, path, value, hint, self.owned), new_meta, swap(here, value, len(path) + 1))

    def _derive(
        self, root: Any, meta: Node, path: tuple[str, ...], zone: Zone, old: Any, value: Any
    ) -> tuple[Any, Node]:
        if zone.node is None and not metadata.has_metadata(value):
            return value, meta
        above = self._descend(root, meta, path[:-1])[1] if path else metadata.CLOSED
        clean, node = metadata.derive(value, zone.node, old, above)
        if path and zone.node is not None and "required" in zone.node:
            node = {**(node or {"type": metadata.type_name(clean)}), "required": zone.node["required"]}
        elif not path:
            switches = {name: meta[name] for name in metadata.ROOT_SWITCHES if name in meta}
            node = {**switches, **(node or {"type": "object"})}
        return clean, metadata.replace_node(meta, path, node)

    # --- commands ----------------------------------------------------------------------------------------------

    def _is_pair(self, value: Any, meta: Node) -> bool:
        """Whether ``value`` is ``[value, "description"]`` and the state lets commands act on its first element."""
        return (
            type(value) is list
            and not self.free
            and len(value) == 2
            and isinstance(value[1], str)
            and not isinstance(value[0], list)
            and meta.get("strictSet") is not True
        )

    def _set(self, root: Any, meta: Node, command: Command, hint: Hint) -> Edit:
        path, value = command.path, command.value
        parents, zone, old = self._descend(root, meta, path)
        if not path and not isinstance(value, dict):
            raise refuse_schema(
                f"expected an object as the whole data, found {metadata.type_name(value)}", path="", expected="object"
            )
        if path and self._is_pair(old, meta):
            parents, zone, path, old = [*parents, old], FREE, (*path, "0"), old[0]
        if type(value) is str and isinstance(old, int | float) and not isinstance(old, bool):
            number = to_number(value)
            if not math.isfinite(number):
                raise fatal(
                    "MVU_JSON",
                    f"expected a number, found the text {value[:80]!r} at '{pointer_text(path)}'",
                    {"path": pointer_text(path)},
                )
            value = normal_number(number)
        return self._put(root, meta, path, parents, zone, old, value, hint)

    def _add(self, root: Any, meta: Node, command: Command, hint: Hint) -> Edit:
        path = command.path
        parents, _, old = self._descend(root, meta, path)
        if path and self._is_pair(old, meta):
            parents, path, old = [*parents, old], (*path, "0"), old[0]
        total = sum_of(old, command.value, path)
        return Edit(rebuild(parents, path, total, hint, self.owned), meta, swap(old, total, len(path) + 1))

    def _insert(self, root: Any, meta: Node, path: tuple[str, ...], key: Any, value: Any, hint: Hint) -> Edit:
        parents, zone, target = self._descend(root, meta, path)
        if not isinstance(target, dict | list):
            raise refuse_schema(
                f"expected an object or array to insert into, found {metadata.type_name(target)} "
                f"at '{pointer_text(path)}'",
                path=pointer_text(path),
                expected="object or array",
                found=metadata.type_name(target),
            )
        template = zone.node.get("template") if zone.node is not None else None
        if key is MISSING:
            return self._insert_all(root, meta, path, target, value, template, hint)
        value = templated(template, value, meta) if template is not None else value
        if isinstance(target, list):
            return self._insert_item(root, meta, path, insert_index(target, key), value, hint)
        name = str(key) if isinstance(key, str) else _number_key(key)
        old = target.get(name, MISSING)
        if old is not MISSING:
            return self._place(root, meta, (*path, name), value, hint)
        if not zone.extensible:
            raise _closed(path, name)
        return self._add_key(root, meta, path, parents, target, zone, name, value, hint)

    def _add_key(
        self, root: Any, meta: Node, path: tuple[str, ...], parents: list[Any], target: Any, zone: Zone,
        name: str, value: Any, hint: Hint,
    ) -> Edit:  # fmt: skip
        if not zone.free and metadata.has_metadata(value):
            value, node = metadata.derive(value, None, MISSING, zone._replace(node=None))
            meta = metadata.replace_node(meta, (*path, name), node)
        fresh = rebuild([*parents, target], (*path, name), value, hint, self.owned)
        return Edit(fresh, meta, gain(value, name, len(path) + 2))

    def _insert_item(self, root: Any, meta: Node, path: tuple[str, ...], index: int, value: Any, hint: Hint) -> Edit:
        parents, zone, target = self._descend(root, meta, path)
        items = [*target[:index], value, *target[index:]]
        if not zone.free and metadata.has_metadata(items):
            return self._place(root, meta, path, items, hint)
        return Edit(rebuild(parents, path, items, hint, self.owned), meta, gain(value, None, len(path) + 2))

    def _insert_all(
        self, root: Any, meta: Node, path: tuple[str, ...], target: Any, value: Any, template: Any, hint: Hint
    ) -> Edit:
        if isinstance(target, list):
            value = templated(template, value, meta) if template is not None else value
            return self._insert_item(root, meta, path, len(target), value, hint)
        if not isinstance(value, dict):
            raise refuse_schema(
                f"expected an object to merge into the object at '{pointer_text(path)}', "
                f"found {metadata.type_name(value)}",
                path=pointer_text(path),
                expected="object",
                found=metadata.type_name(value),
            )
        return self._place(root, meta, path, merged(target, value), hint)

    def _delete(self, root: Any, meta: Node, path: tuple[str, ...], target: Any, hint: Hint) -> Edit:
        if target is not MISSING:
            _, _, container = self._descend(root, meta, path)
            path = (*path, element_to_delete(container, target, path))
        if not path:
            raise fatal("MVU_UNSUPPORTED", "the root cannot be deleted")
        self._descend(root, meta, path)
        parents, zone, container = self._descend(root, meta, path[:-1])
        part = path[-1]
        if not zone.free:
            self._check_removable(zone, container, path)
        fresh, weight = without(container, part)
        new_meta = meta
        if not zone.free and isinstance(container, dict):
            new_meta = metadata.replace_node(meta, path, None)
        hint(fresh, container, part if isinstance(container, dict) else int(part))
        return Edit(rebuild(parents, path[:-1], fresh, hint, self.owned), new_meta, weight)

    def _check_removable(self, zone: Zone, container: Any, path: tuple[str, ...]) -> None:
        pointer = pointer_text(path)
        if isinstance(container, dict) and zone.required(path[-1]):
            raise refuse_schema(f"the key at '{pointer}' is required and may not go", path=pointer, expected="a value")
        if isinstance(container, list) and not zone.extensible:
            raise refuse_schema(
                f"the array takes no deletion (it is not extensible), at '{pointer}'", path=pointer, expected="a value"
            )

    def _move(self, root: Any, meta: Node, command: Command, hint: Hint) -> Edit:
        destination = command.to or ()
        _, _, value = self._descend(root, meta, command.path)
        check_move(command.path, destination)
        self.owned = None if self.owned is None else {}  # a move may fail half way: nothing may change in place
        gone = self._delete(root, meta, command.path, MISSING, hint)
        owned, self.owned = self.owned, None
        try:
            placed = self._insert(gone.root, gone.meta, destination[:-1], destination[-1], value, hint)
        finally:
            self.owned = owned
        return Edit(placed.root, placed.meta, plus(gone.weight, placed.weight))


def _number_key(key: float) -> str:
    from interpreter.javascript import js_number_text

    return js_number_text(key)


def without(container: Any, part: str) -> tuple[Any, Any]:
    """The container without ``part``, and the weight that went."""
    if isinstance(container, dict):
        fresh = dict(container)
        return fresh, loss(fresh.pop(part), part)
    items = list(container)
    return items, loss(items.pop(int(part)), None)


def _closed(path: tuple[str, ...], name: str) -> Exception:
    pointer = pointer_text((*path, name))
    return refuse_schema(
        f"the object takes no new keys (it is not extensible), found {name[:80]!r} at '{pointer}'",
        path=pointer,
        expected="one of the existing keys",
        found=name[:80],
    )
