"""Insertion into and deletion from one collection, with the texts that tell of it (spec/magvarupdate.md §5, §9)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from interpreter.javascript import UNDEFINED, js_number_text
from runtime.mvu.commands.magvarupdate.display import Text
from runtime.mvu.commands.magvarupdate.paths import put
from runtime.mvu.commands.magvarupdate.refusal import Refusal
from runtime.mvu.commands.magvarupdate.schema import fill, merge
from runtime.mvu.commands.magvarupdate.values import (
    NamedList,
    equal,
    is_container,
    is_number,
    json_text,
    key_text,
    ordered_keys,
)
from runtime.values.limits import DEPTH

_UNSAFE = ("__proto__", "prototype", "constructor")


def guard(value: Any, level: int, keys: tuple[str, ...] = ()) -> None:
    """Refuse what no state may hold (design §5): unsafe keys, more levels than a value may have."""
    stack = [(value, level)]
    while stack:
        item, depth = stack.pop()
        if depth > DEPTH.default:
            raise Refusal("MVU_LIMIT", f"expected at most {DEPTH.default} levels of nesting, found more", keys)
        if isinstance(item, dict):
            for key in _UNSAFE:
                if key in item:
                    raise Refusal("MVU_PATH", f"the key {key!r} is not allowed in variables; rename it", keys)
            stack.extend((child, depth + 1) for child in item.values() if is_container(child))
        elif isinstance(item, list):
            stack.extend((child, depth + 1) for child in item if is_container(child))


class Insertion(NamedTuple):
    """One insert: ``values`` are the value, or key and value."""

    path: str
    keys: tuple[str, ...]
    target: Any
    node: Any
    schema: Any
    values: list[Any]


def _check_schema(insertion: Insertion) -> None:
    node = insertion.node
    if not isinstance(node, dict) or node.get("extensible") is not False:
        return
    if node.get("type") == "array":
        raise Refusal("insert.schema_closed_array", "the list is closed by the schema", insertion.keys)
    if node.get("type") == "object":
        if len(insertion.values) == 1:
            message = "the object is closed by the schema, nothing can be merged into it"
            raise Refusal("insert.schema_merge_into_closed_object", message, insertion.keys)
        key = key_text(insertion.values[0])
        if key not in node.get("properties", {}):
            message = f"the object is closed by the schema and has no key {key!r}"
            raise Refusal("insert.schema_new_key_in_closed_object", message, insertion.keys)


def insert_into(insertion: Insertion, warnings: list[str]) -> tuple[Any, Text]:
    """The new collection and the text about it."""
    _check_schema(insertion)
    if len(insertion.values) == 1:
        return _insert_value(insertion, warnings)
    return _insert_at(insertion, warnings)


def _filled(insertion: Insertion, value: Any, warnings: list[str]) -> Any:
    template = insertion.node.get("template") if isinstance(insertion.node, dict) else None
    filled = fill(value, template, insertion.schema, warnings)
    guard(filled, len(insertion.keys) + 1, insertion.keys)
    return filled


def _with_items(target: list[Any], items: list[Any]) -> list[Any]:
    return NamedList(items, target.named) if isinstance(target, NamedList) else items


def _insert_value(insertion: Insertion, warnings: list[str]) -> tuple[Any, Text]:
    target, value = insertion.target, insertion.values[0]
    if target is None:
        target = [] if isinstance(value, list) else {}
    if isinstance(target, list):
        value = _filled(insertion, value, warnings)
        items = _with_items(target, [*target, value])
        return items, lambda: f"ASSIGNED {json_text(value)} into array '{insertion.path}'"
    if not isinstance(value, dict):
        message = "expected an object to merge into an object"
        raise Refusal("insert.value_not_mergeable_into_object", message, insertion.keys)
    guard(value, len(insertion.keys), insertion.keys)
    return merge(target, value), lambda: f"MERGED object {json_text(value)} into object '{insertion.path}'"


def _insert_at(insertion: Insertion, warnings: list[str]) -> tuple[Any, Text]:
    target, key = insertion.target, insertion.values[0]
    name = key_text(key)
    if name in _UNSAFE:
        raise Refusal("MVU_PATH", f"the key {name!r} is not allowed in variables; rename it", insertion.keys)
    value = _filled(insertion, insertion.values[1], warnings)
    if isinstance(target, list) and (is_number(key) or key == "-"):
        tail = key == "-" or key == -1
        items = list(target)
        items.insert(len(items) if key == "-" else _whole(key), value)
        place = "tail" if tail else js_number_text(key)
        text = f"into '{insertion.path}' at index {place}"
        return _with_items(target, items), lambda: f"ASSIGNED {json_text(value)} {text}"
    if target is None:
        return {name: value}, f"CREATED object at '{insertion.path}' and ASSIGNED key '{name}'"
    new = put(target, name, value)
    return new, lambda: f"ASSIGNED key '{name}' with value {json_text(value)} into object '{insertion.path}'"


def _whole(key: int | float) -> int:
    """A place in a list as JavaScript's ``splice`` takes it."""
    if math.isnan(key):
        return 0
    return int(max(min(key, 2.0**53), -(2.0**53)))


def delete_from(collection: Any, target: Any, path: str, keys: tuple[str, ...], node: Any) -> tuple[Any, str]:
    """The collection without one member, and the text about it."""
    if target is UNDEFINED:
        raise Refusal("delete.target_undetermined", "expected a key, an index or a value to delete", keys)
    if isinstance(collection, list):
        return _delete_item(collection, target, path, keys, node)
    if not isinstance(collection, dict):
        raise Refusal("delete.target_not_collection", "expected an object or a list at the path", keys)
    text = ""
    if is_number(target):
        names = ordered_keys(collection)
        if not 0 <= target < len(names) or target != int(target):
            raise Refusal("delete.no_match", f"expected an entry number below {len(names)}", keys)
        name = names[int(target)]
        text = f"REMOVED {int(target) + 1}th entry ('{name}') from object '{path}'"
    else:
        name = key_text(target)
        text = f"REMOVED key '{name}' from object '{path}'"
    if name not in collection:
        raise Refusal("delete.no_match", f"the object has no key {name!r}", keys)
    known = node.get("properties", {}).get(name) if isinstance(node, dict) and node.get("type") == "object" else None
    if isinstance(known, dict) and known.get("required") is True:
        raise Refusal("delete.schema_required_key", f"the key {name!r} is required by the schema", keys)
    return {key: value for key, value in collection.items() if key != name}, text


def _delete_item(items: list[Any], target: Any, path: str, keys: tuple[str, ...], node: Any) -> tuple[list[Any], str]:
    if isinstance(node, dict) and node.get("type") == "array" and node.get("extensible") is False:
        raise Refusal("delete.schema_closed_array", "the list is closed by the schema", keys)
    if is_number(target):
        found = int(target) if 0 <= target < len(items) and target == int(target) else None
    else:
        found = next((at for at, item in enumerate(items) if equal(item, target)), None)
    if found is None:
        raise Refusal("delete.no_match", "the list holds no such item", keys)
    return _with_items(items, items[:found] + items[found + 1 :]), f"REMOVED item from '{path}'"
