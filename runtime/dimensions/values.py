"""JSON values as dimensions see them: numbers, equality, types and bounds (``spec/dimensions.md`` §1.3, §1.5)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeGuard

import orjson

from interpreter.javascript import js_number_text, utf16_length
from runtime.dimensions import limits
from runtime.dimensions.issues import Issue

Json = Any

_EXACT = 2**53
# How much of a value a message shows.
_PREVIEW_CHARS, _PREVIEW_PARTS, _PREVIEW_DEPTH = 80, 8, 3


def is_number(value: Json) -> TypeGuard[int | float]:
    """Whether ``value`` is a JSON number; a boolean never is."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: Json) -> TypeGuard[int | float]:
    """Whether ``value`` is a number without fractional part (``3.0`` counts)."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def is_finite(value: Json) -> TypeGuard[int | float]:
    """Whether ``value`` is a number that a double holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_text(value: Json) -> TypeGuard[str | dict[str, str]]:
    """Whether ``value`` is a text: a string, or a locale map of strings (§1.1)."""
    if isinstance(value, str):
        return True
    return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())


def same(left: Json, right: Json) -> bool:
    """Structural equality: key order does not matter, element order does, booleans are no numbers (§1.3)."""
    if left is right:
        return True
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if is_number(left) and is_number(right):
        return as_double(left) == as_double(right)
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(key in right and same(part, right[key]) for key, part in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def as_double(value: int | float) -> int | float:
    """The number as JavaScript holds it: integers beyond 2^53 behave as doubles."""
    if isinstance(value, int) and abs(value) > _EXACT:
        return float(value)
    return value


def scalar_text(value: Json) -> str | None:
    """The text form of a scalar ``enum`` member; lists and objects have none (§1.3 ``x-enumLabels``)."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return js_number_text(value) if is_number(value) else None


TYPE_TESTS: dict[str, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}


def has_type(value: Json, name: str) -> bool:
    """Whether ``value`` has the schema type ``name``."""
    return TYPE_TESTS[name](value)


def json_text(value: Json) -> str:
    """Compact JSON text, non-ASCII kept; numbers in JavaScript's form (used in prompts)."""
    return orjson.dumps(plain(value)).decode()


def plain(value: Json) -> Json:
    """A copy in which integral floats are integers; prompts, hashes and stored rows then agree on numbers."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _EXACT else value
    if isinstance(value, int) and not isinstance(value, bool):
        return as_double(value)
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


def text_bytes(text: str) -> int:
    """UTF-8 length of the JSON form of a string; a lone surrogate counts as its six-character escape."""
    try:
        return len(orjson.dumps(text))
    except (TypeError, ValueError):
        clean = "".join(char for char in text if not "\ud800" <= char <= "\udfff")
        return len(orjson.dumps(clean)) + 6 * (len(text) - len(clean))


@dataclass(frozen=True, slots=True)
class Size:
    """What a value weighs: ``nodes`` (keys not counted), ``size`` in bytes of JSON, ``depth`` (one value only)."""

    nodes: int
    size: int
    depth: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.nodes + other.nodes, self.size + other.size)

    def __sub__(self, other: Size) -> Size:
        return Size(self.nodes - other.nodes, self.size - other.size)


class BoundsError(Exception):
    """The first violation of the JSON bounds; carries its issue."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.issue = Issue((), reason, message)


class _Measure:
    """One walk; depth is checked before descending, so no input reaches the recursion limit."""

    def __init__(self) -> None:
        self.nodes = 0
        self.deepest = 0

    def walk(self, value: Json, depth: int) -> int:
        self.nodes += 1
        self.deepest = max(self.deepest, depth)
        if depth > limits.JSON_DEPTH.default:
            raise BoundsError("json-depth", f"nested deeper than {limits.JSON_DEPTH.default} levels")
        if self.nodes > limits.JSON_NODES.default:
            raise BoundsError("json-nodes", f"more than {limits.JSON_NODES.default} values")
        if isinstance(value, str):
            if utf16_length(value) > limits.JSON_BYTES.default:
                raise BoundsError("json-size", f"a text longer than {limits.JSON_BYTES.default} characters")
            return text_bytes(value)
        if value is None or value is True:
            return 4
        if value is False:
            return 5
        if isinstance(value, int | float):
            if not is_finite(value):
                raise BoundsError("json-number", "a number that JSON cannot hold")
            return len(js_number_text(value))
        return self.container(value, depth + 1)

    def container(self, value: Json, depth: int) -> int:
        if isinstance(value, list):
            return 2 + max(len(value) - 1, 0) + sum(self.walk(part, depth) for part in value)
        if not isinstance(value, dict):
            raise BoundsError("json-value", f"expected a JSON value, found {type(value).__name__}")
        size = 2 + max(len(value) - 1, 0)
        for key, part in value.items():
            if not isinstance(key, str):
                raise BoundsError("json-value", f"expected text keys, found {type(key).__name__}")
            size += text_bytes(key) + 1 + self.walk(part, depth)
        return size


_LITERALS = {None: Size(1, 4), True: Size(1, 4), False: Size(1, 5)}


def measure(value: Json) -> Size:
    """Weigh a value; raises ``BoundsError`` at the first violation (§1.5)."""
    if value is None or isinstance(value, bool):
        return _LITERALS[value]
    if type(value) is int and -_EXACT <= value <= _EXACT:
        return Size(1, len(str(value)))
    walk = _Measure()
    size = walk.walk(value, 0)
    if size > limits.JSON_BYTES.default:
        raise BoundsError("json-size", f"{size} bytes of JSON, at most {limits.JSON_BYTES.default} are allowed")
    return Size(walk.nodes, size, walk.deepest)


def bounds_issue(value: Json) -> Issue | None:
    """The one issue of a value outside the JSON bounds, or ``None`` (§1.5)."""
    try:
        measure(value)
    except BoundsError as error:
        return error.issue
    return None


def quoted(value: Json) -> str:
    """A value in a message: JSON-like, cut in length and depth, whatever it is."""
    text = _preview(value, _PREVIEW_DEPTH)
    return text if len(text) <= _PREVIEW_CHARS else text[: _PREVIEW_CHARS - 1] + "…"


def _preview(value: Json, depth: int) -> str:
    if isinstance(value, str):
        return json.dumps(value[:_PREVIEW_CHARS], ensure_ascii=False)
    if is_finite(value):
        return js_number_text(value)
    if value is None or isinstance(value, bool):
        return str(scalar_text(value))
    if not isinstance(value, list | dict):
        return f"a {type(value).__name__}"
    opening, closing = "[]" if isinstance(value, list) else "{}"
    if not value or not depth:
        return f"{opening}…{closing}" if value else opening + closing
    parts = list(islice(value.items() if isinstance(value, dict) else enumerate(value), _PREVIEW_PARTS))
    shown = [
        f"{_preview(key, 0)}: {_preview(part, depth - 1)}" if isinstance(value, dict) else _preview(part, depth - 1)
        for key, part in parts
    ]
    return opening + ", ".join([*shown, *(["…"] if len(value) > len(parts) else [])]) + closing
