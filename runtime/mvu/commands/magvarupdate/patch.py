"""Patch operations as commands (spec/magvarupdate.md §2.3, §4, §6)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from interpreter.javascript import UNDEFINED
from runtime.mvu.commands.magvarupdate.paths import bracket_text, pointer_keys
from runtime.mvu.commands.magvarupdate.values import json_text

_DIGITS = re.compile(r"[0-9]+")


class PatchFault(ValueError):
    """A block whose value is no list of operations; the whole block is dropped."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One item: ``name`` is the command (None: the operation is not known), ``keys`` are the pointers it carries."""

    name: str | None
    args: tuple[Any, ...]
    keys: tuple[tuple[str, ...], ...]
    text: str
    message: str = ""


def _check(items: Any) -> list[dict[str, Any]]:
    if not isinstance(items, list):
        raise PatchFault("expected a list of patch operations, found something else")
    for position, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get("op"), str):
            raise PatchFault(f"expected an object with a text 'op' as item {position} of the patch; block dropped")
        moved = item["op"] == "move" and isinstance(item.get("to"), str)
        if not isinstance(item.get("path"), str) and not moved:
            raise PatchFault(f"expected a text 'path' in item {position} of the patch; block dropped")
    return items


def _value_text(item: dict[str, Any]) -> Any:
    value = item.get("value", UNDEFINED)
    return UNDEFINED if value is UNDEFINED else json_text(value)


def _operation(item: dict[str, Any]) -> Operation:
    text = json_text(item)
    op = item["op"]
    keys = pointer_keys(item["path"]) if isinstance(item.get("path"), str) else ()
    path = bracket_text(keys)
    if op == "replace":
        return Operation("set", (path, _value_text(item)), (keys,), text)
    if op == "delta":
        return Operation("add", (path, _value_text(item)), (keys,), text)
    if op in ("add", "insert"):
        *parent, last = keys or ("",)
        key = last if _DIGITS.fullmatch(last) else json.dumps(last, ensure_ascii=False)
        return Operation("insert", (bracket_text(parent), key, _value_text(item)), (tuple(parent),), text)
    if op == "remove":
        return Operation("delete", (path,), (keys,), text)
    if op == "move" and isinstance(item.get("from"), str):
        source = pointer_keys(item["from"])
        target = keys if isinstance(item.get("path"), str) else pointer_keys(item["to"])
        return Operation("move", (bracket_text(source), bracket_text(target)), (source, target), text)
    return Operation(None, (), (), text, f"expected replace, delta, add, insert, remove or move, found {op[:40]!r}")


def operation_commands(items: Any) -> Iterator[Operation]:
    """The operations of a patch, all checked before the first is given."""
    for item in _check(items):
        yield _operation(item)
