"""The endpoints of ``spec/http.md`` (World kernel) as plain functions: a body in, a JSON object out.

Each checks the body (unknown keys name the nearest known one) and calls the service; no rule stands here.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from runtime.values.rows import InnkeeperError
from runtime.world.service import WorldService

Body = Mapping[str, Any]

_OPERATION = 200


def _checked(body: Any, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Body:
    """The body when it is an object with the required keys and no unknown one."""
    if not isinstance(body, Mapping):
        raise InnkeeperError("WORLD_REQUEST", f"expected a JSON object, found {type(body).__name__}")
    known = (*required, *optional)
    for key in body:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
            raise InnkeeperError("WORLD_REQUEST", f"unknown key {key!r}{hint}", {"key": key})
    for key in required:
        if key not in body:
            raise InnkeeperError("WORLD_REQUEST", f"expected the key {key!r}, found none", {"key": key})
    return body


def _text(body: Body, key: str) -> str:
    value = body[key]
    if not isinstance(value, str):
        raise InnkeeperError("WORLD_REQUEST", f"expected text, found {type(value).__name__} at {key}")
    return value


def _optional_text(body: Body, key: str) -> str | None:
    value = body.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise InnkeeperError("WORLD_REQUEST", f"expected text that is not empty, found {value!r:.80} at {key}")
    return value


def _operation_id(body: Body) -> str:
    value = body["operationId"]
    if not isinstance(value, str) or not 1 <= len(value) <= _OPERATION:
        raise InnkeeperError("WORLD_REQUEST", f"expected an operationId of 1 to {_OPERATION} characters")
    return value


def _turn(body: Body) -> int:
    value = body["expectedTurn"]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InnkeeperError("WORLD_REQUEST", f"expected a turn from 0, found {value!r:.80} at expectedTurn")
    return value


def post_pack(service: WorldService, body: Any) -> dict[str, Any]:
    """``POST /world/packs`` ``{files}`` or ``{directory}``."""
    body = _checked(body, (), ("files", "directory"))
    if ("files" in body) == ("directory" in body):
        raise InnkeeperError("WORLD_REQUEST", "expected either files or directory")
    if "directory" in body:
        return service.add_directory(_text(body, "directory"))
    files = body["files"]
    if not isinstance(files, Mapping) or not all(isinstance(text, str) for text in files.values()):
        raise InnkeeperError("WORLD_REQUEST", "expected a map from path to text at files")
    return service.add_pack(files)


def get_pack(service: WorldService, pack_id: str) -> dict[str, Any]:
    """``GET /world/packs/{id}``."""
    return service.pack(pack_id)


def post_session(service: WorldService, body: Any) -> dict[str, Any]:
    """``POST /world/sessions``."""
    body = _checked(body, ("packId", "role", "operationId"), ("sessionId", "seed", "seat"))
    seat = body.get("seat")
    if seat is not None and not isinstance(seat, Mapping):
        raise InnkeeperError("WORLD_REQUEST", f"expected an object, found {type(seat).__name__} at seat")
    return service.open_session(
        _text(body, "packId"),
        _text(body, "role"),
        _operation_id(body),
        session_id=_optional_text(body, "sessionId"),
        seed=_optional_text(body, "seed"),
        seat=seat,
    )


def get_session(service: WorldService, session_id: str) -> dict[str, Any]:
    """``GET /world/sessions/{id}``."""
    return service.session(session_id)


def get_events(service: WorldService, session_id: str, start: int = 0, limit: int | None = None) -> dict[str, Any]:
    """``GET /world/sessions/{id}/events?from=&limit=``."""
    return service.events(session_id, start, limit)


def get_context(service: WorldService, session_id: str) -> dict[str, Any]:
    """``GET /world/sessions/{id}/context``."""
    return service.context(session_id)


def post_match(service: WorldService, session_id: str, body: Any) -> dict[str, Any]:
    """``POST /world/sessions/{id}/match``."""
    body = _checked(body, ("tags",), ("actors",))
    tags = body["tags"]
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InnkeeperError("WORLD_REQUEST", "expected a list of texts at tags")
    return service.match(session_id, tags, body.get("actors"))


def post_turn(service: WorldService, session_id: str, body: Any) -> dict[str, Any]:
    """``POST /world/sessions/{id}/turn``."""
    body = _checked(body, ("intent", "expectedTurn", "operationId"), ("u",))
    return service.turn(session_id, body["intent"], _turn(body), _operation_id(body), u=body.get("u"))


def post_message(service: WorldService, session_id: str, body: Any) -> dict[str, Any]:
    """``POST /world/sessions/{id}/message``."""
    body = _checked(body, ("text", "expectedTurn", "operationId"))
    return service.message(session_id, _text(body, "text"), _turn(body), _operation_id(body))


def post_command(service: WorldService, session_id: str, body: Any) -> dict[str, Any]:
    """``POST /world/sessions/{id}/command``."""
    body = _checked(body, ("text", "expectedTurn", "operationId"))
    return service.command(session_id, _text(body, "text"), _turn(body), _operation_id(body))


def get_tools(service: WorldService, role: str) -> dict[str, Any]:
    """``GET /world/tools?role=``."""
    return service.tools(role)


def post_tool(service: WorldService, session_id: str, name: str, body: Any) -> dict[str, Any]:
    """``POST /world/sessions/{id}/tools/{name}``; arguments may be the JSON text that a model sent."""
    body = _checked(body, ("operationId",), ("arguments", "expectedTurn"))
    arguments = body.get("arguments") or {}
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    if not isinstance(arguments, Mapping):
        raise InnkeeperError("WORLD_REQUEST", "expected an object at arguments")
    expected = _turn(body) if "expectedTurn" in body else None
    return service.tool(session_id, name, arguments, _operation_id(body), expected_turn=expected)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InnkeeperError("WORLD_REQUEST", "expected JSON at arguments, found text that is none") from None
