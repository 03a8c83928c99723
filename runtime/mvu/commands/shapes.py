"""Command shapes: from argument lists and patch operations to commands (spec/mvu.md §4.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.mvu.commands.model import Command, CommandType
from runtime.mvu.errors import fatal
from runtime.values.bounds import FORBIDDEN_KEYS
from runtime.values.copying import MISSING
from runtime.values.paths import parse_path, parse_pointer
from runtime.values.rows import InnkeeperError

LEGACY_NAMES: dict[str, CommandType] = {
    "set": "set",
    "add": "add",
    "insert": "insert",
    "assign": "insert",
    "remove": "delete",
    "unset": "delete",
    "delete": "delete",
}
_ARITY: dict[CommandType, tuple[int, int]] = {"set": (2, 3), "add": (2, 2), "insert": (2, 3), "delete": (1, 2)}
PATCH_OPS = ("replace", "delta", "add", "insert", "remove", "move")


def _describe(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "text", dict: "an object", list: "an array", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def legacy_type(name: str) -> CommandType:
    """The internal command of a legacy name; ``MVU_UNSUPPORTED`` for any other."""
    known = LEGACY_NAMES.get(name)
    if known is None:
        raise fatal(
            "MVU_UNSUPPORTED", f"expected one of _.{', _.'.join(LEGACY_NAMES)}, found '_.{name[:40]}('", {"name": name}
        )
    return known


def check_arity(kind: CommandType, name: str, count: int) -> None:
    """Refuse a wrong number of arguments (``MVU_PARSE``)."""
    low, high = _ARITY[kind]
    if not low <= count <= high:
        wanted = str(low) if low == high else f"{low} or {high}"
        raise fatal("MVU_PARSE", f"expected {wanted} arguments for _.{name}, found {count}")


def key_of(value: Any) -> str | int | float:
    """A key of ``insert``: text or a finite number."""
    if isinstance(value, str):
        if value in FORBIDDEN_KEYS:
            raise fatal("MVU_PATH", f"the key {value!r} is not allowed in variables")
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise fatal("MVU_PATH", f"expected text or a number as the key of an insert, found {_describe(value)}")


def legacy_command(order: int, kind: CommandType, values: Sequence[Any], source: str, start: int, end: int) -> Command:
    """The command of a legacy call whose arguments were read."""
    path_value = values[0]
    if not isinstance(path_value, str):
        raise fatal("MVU_PATH", f"expected text as the path of a command, found {_describe(path_value)}")
    path = parse_path(path_value)
    value = key = old = MISSING
    if kind == "delete":
        if len(values) == 2:
            key = values[1]
    else:
        value = values[-1]
        if len(values) == 3:
            if kind == "set":
                old = values[1]
            else:
                key = key_of(values[1])
    return Command(order, kind, path, value, key, None, old, "legacy", source, start, end)


def _pointer(operation: Mapping[str, Any], name: str) -> tuple[str, ...]:
    pointer = operation.get(name)
    if name == "path" and "path" not in operation:
        pointer = operation.get("to")
    if not isinstance(pointer, str):
        raise fatal("MVU_PATH", f"expected a JSON pointer as '{name}' of a patch operation, found {_describe(pointer)}")
    return parse_pointer(pointer)


def _value(operation: Mapping[str, Any], op: str) -> Any:
    if "value" not in operation:
        raise fatal("MVU_PARSE", f"expected a 'value' in the patch operation '{op}', found none")
    return operation["value"]


def patch_command(order: int, operation: Any, source: str, start: int, end: int) -> Command:
    """The command of one patch operation (spec/mvu.md §4.3)."""
    if not isinstance(operation, dict):
        raise fatal("MVU_PARSE", f"expected an object as patch operation, found {_describe(operation)}")
    op = operation.get("op")
    if not isinstance(op, str) or op not in PATCH_OPS:
        found = repr(op[:40]) if isinstance(op, str) else _describe(op)
        raise fatal("MVU_UNSUPPORTED", f"expected one of {', '.join(PATCH_OPS)} as 'op', found {found}")
    kind: CommandType
    value = key = MISSING
    to: tuple[str, ...] | None = None
    if op == "move":
        kind = "move"
        path = _pointer(operation, "from")
        to = _pointer(operation, "path")
    else:
        path = _pointer(operation, "path")
        if op == "remove":
            kind = "delete"
        else:
            value = _value(operation, op)
            kind = "set" if op == "replace" else "add" if op == "delta" else "insert"
            if kind == "insert":
                if not path:
                    raise fatal("MVU_UNSUPPORTED", f"'{op}' cannot stand at the root; use 'replace'")
                path, key = path[:-1], path[-1]
    return Command(order, kind, path, value, key, to, MISSING, "patch", source, start, end, (), operation)


def place(error: InnkeeperError, **where: Any) -> InnkeeperError:
    """Add a place to an error's details, keeping what is there."""
    for name, value in where.items():
        error.details.setdefault(name, value)
    return error
