"""Routes as data: one row drives dispatch, access, unknown-key checks and the OpenAPI document (design §9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from server.limits import JSON_BODY
from server.security import Access, Caller, Facts

if TYPE_CHECKING:
    from server.context import Context

JsonSchema = Mapping[str, Any]
NO_BODY: JsonSchema = {}


@dataclass(frozen=True, slots=True)
class Call:
    """One admitted request: path parameters, query, body (JSON object, or bytes for raw routes) and headers."""

    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    facts: Facts
    caller: Caller
    disconnected: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is more than a JSON object with status 200."""

    body: bytes
    media_type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[["Context", Call], "dict[str, Any] | Answer"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One call: ``body`` and ``answer`` are JSON Schemas; ``seed`` marks the routes that ignore unknown keys."""

    method: str
    path: str
    access: Access
    handler: Handler
    summary: str
    body: JsonSchema = field(default_factory=dict)
    query: Mapping[str, JsonSchema] = field(default_factory=dict)
    answer: JsonSchema = field(default_factory=dict)
    seed: bool = False
    raw: bool = False
    limit: int = JSON_BODY.default
    stream: bool = False


def obj(required: str = "", optional: str = "", **kinds: JsonSchema) -> dict[str, Any]:
    """A JSON Schema of an object from names; ``kinds`` gives the schema of a name (default: any value)."""
    names = [*required.split(), *optional.split()]
    properties = {name: dict(kinds.get(name, _default(name))) for name in names}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required.split()
    return schema


STRING: JsonSchema = {"type": "string"}
INTEGER: JsonSchema = {"type": "integer"}
BOOLEAN: JsonSchema = {"type": "boolean"}
OBJECT: JsonSchema = {"type": "object"}
ARRAY: JsonSchema = {"type": "array"}
NULLABLE_STRING: JsonSchema = {"type": ["string", "null"]}

_KNOWN: Mapping[str, JsonSchema] = {
    "operationId": {"type": "string", "minLength": 1, "maxLength": 200},
    "sessionId": STRING,
    "playthroughId": STRING,
    "characterId": STRING,
    "greetingIndex": {"type": "integer", "minimum": 0},
    "atEventId": {"type": "integer", "minimum": 0},
    "expectedRevision": {"type": "integer", "minimum": 0},
    "expectedSeq": {"type": "integer", "minimum": 0},
    "events": {"type": "array", "items": {"type": "object"}},
    "receipts": ARRAY,
    "resources": ARRAY,
    "scope": OBJECT,
    "ok": BOOLEAN,
    "revision": INTEGER,
}


def _default(name: str) -> JsonSchema:
    return _KNOWN.get(name, {})
