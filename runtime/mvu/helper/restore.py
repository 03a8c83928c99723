"""The two repairs that a helper may make, and nothing else: a patch whose ``value`` name is missing, and a bare array in
``<UpdateVariable>`` (spec/mvu.md §6 Restoration).

This package restores the operations itself. A helper only says which of them it wants, by pushing the command in the
literal form that such helpers use; what is applied is read from the restored text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from runtime.values.canonical import ordered_json
from runtime.values.equal import json_equal
from runtime.values.jsontext import JsonTextError, loads_strict
from runtime.values.rows import InnkeeperError

_PATCH_TAG = re.compile(r"<(/?)(json_?patch)>", re.IGNORECASE)
_CALL = re.compile(r"_\.\w+\s*\(", re.ASCII)
_OPEN, _CLOSE = "<UpdateVariable>", "</UpdateVariable>"
_FENCE_START = re.compile(r"```(?:json)?[ \t]*\r?\n?", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]|[^\s"\[\]{}:,]++', re.DOTALL)
_STRUCTURE = 2  # operations are objects (depth 2) of the array (depth 1)
_FORMS: Mapping[str, frozenset[str]] = {
    "add": frozenset({"op", "path", "value"}),
    "replace": frozenset({"op", "path", "value"}),
    "remove": frozenset({"op", "path"}),
}

Kind = Literal["separator", "array"]


@dataclass(frozen=True, slots=True)
class Restoration:
    """A repairable text: the ``kind`` of repair, the ``operations`` it yields, their place in the reply."""

    kind: Kind
    operations: tuple[dict[str, Any], ...]
    start: int
    end: int

    def text(self) -> str:
        """The operations as an update text that the parser of replies reads."""
        body = ordered_json(list(self.operations)).replace("<", "\\u003c")
        return f"<JSONPatch>{body}</JSONPatch>"

    def views(self) -> list[dict[str, Any]]:
        """The operations as the helper must push them."""
        return [_factory(operation) for operation in self.operations]


def find_restoration(text: str) -> Restoration | None:
    """The one repair that ``text`` allows, if it yields no command as it stands."""
    tags = list(_PATCH_TAG.finditer(text))
    if tags:
        return _separator(text, tags)
    return _array(text)


def _separator(text: str, tags: list[re.Match[str]]) -> Restoration | None:
    if len(tags) != _STRUCTURE or tags[0].group(1) or not tags[1].group(1):
        return None
    first, last = tags
    if (
        first.group(2).lower() != last.group(2).lower()
        or _CALL.search(text, 0, first.start())
        or _CALL.search(text, last.end())
    ):
        return None
    repaired = insert_value_names(_unfence(text[first.end() : last.start()]))
    if repaired is None:
        return None
    return _restoration("separator", repaired, first.start(), last.end())


def _array(text: str) -> Restoration | None:
    if text.count(_OPEN) != 1 or text.count(_CLOSE) != 1 or _CALL.search(text):
        return None
    start = text.index(_OPEN)
    end = text.index(_CLOSE)
    body = text[start + len(_OPEN) : end]
    if end < start or "<" in body or ">" in body:
        return None
    return _restoration("array", _unfence(body), start, end + len(_CLOSE))


def _restoration(kind: Kind, text: str, start: int, end: int) -> Restoration | None:
    try:
        operations = loads_strict(text)
    except JsonTextError:
        return None
    except InnkeeperError as error:
        if error.code == "MVU_JSON":
            return None
        raise
    if not isinstance(operations, list) or not operations:
        return None
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            return None
        if _FORMS.get(str(operation.get("op"))) != operation.keys():
            return None
    return Restoration(kind, tuple(operations), start, end)


def _unfence(body: str) -> str:
    body = body.strip()
    opening = _FENCE_START.match(body)
    if opening is not None:
        body = body[opening.end() :]
    return body.removesuffix("```").strip()


def insert_value_names(text: str) -> str | None:
    """``text`` with ``,"value"`` put before each second colon after a path; ``None`` when there is none to put."""
    inserts: list[int] = []
    depth = 0
    tokens = list(_TOKEN.finditer(text))
    for place, token in enumerate(tokens):
        word = token.group()
        if word in "[{":
            depth += 1
        elif word in "]}":
            depth -= 1
        elif word == ":" and depth == _STRUCTURE and _is_second_colon(tokens, place):
            inserts.append(token.start())
    if not inserts:
        return None
    parts: list[str] = []
    at = 0
    for insert in inserts:
        parts += [text[at:insert], ',"value"']
        at = insert
    return "".join([*parts, text[at:]])


def _is_second_colon(tokens: Sequence[re.Match[str]], place: int) -> bool:
    """Whether the colon at ``place`` follows ``"path":"…"`` and stands before an object or array."""
    if place < 3 or place + 1 >= len(tokens):
        return False
    name, colon, value = (token.group() for token in tokens[place - 3 : place])
    return name == '"path"' and colon == ":" and value[:1] == '"' and tokens[place + 1].group() in "[{"


def _dotted(pointer: str) -> str:
    return pointer.removeprefix("/").replace("/", ".")


def _factory(operation: Mapping[str, Any]) -> dict[str, Any]:
    """The literal command that a helper makes of an operation."""
    pointer: str = operation["path"]
    match = ordered_json(operation)
    if operation["op"] == "remove":
        return {"type": "delete", "args": [_dotted(pointer)], "full_match": match, "reason": "json_patch"}
    value = ordered_json(operation["value"])
    if operation["op"] == "replace":
        return {"type": "set", "args": [_dotted(pointer), value], "full_match": match, "reason": "json_patch"}
    parent, _slash, key = pointer.rpartition("/")
    quoted = key if key.isascii() and key.isdigit() else f"'{key}'"
    return {"type": "insert", "args": [_dotted(parent), quoted, value], "full_match": match, "reason": "json_patch"}


def same_factory(expected: Mapping[str, Any], pushed: Mapping[str, Any]) -> bool:
    """Whether a pushed command is the literal form of an operation; JSON texts are compared as values."""
    if expected["type"] != pushed.get("type") or len(expected["args"]) != len(pushed.get("args", ())):
        return False
    values = 0 if expected["type"] == "delete" else 1
    paths = len(expected["args"]) - values
    if list(expected["args"][:paths]) != list(pushed["args"][:paths]):
        return False
    pairs = [(expected["full_match"], pushed.get("full_match"))]
    pairs += zip(expected["args"][paths:], pushed["args"][paths:], strict=True)
    return all(_same_json(left, right) for left, right in pairs)


def _same_json(expected: str, found: object) -> bool:
    if not isinstance(found, str):
        return False
    if expected == found:
        return True
    try:
        return json_equal(loads_strict(expected), loads_strict(found))
    except InnkeeperError:
        return False
