"""The world kernel's calls (spec/http.md, World kernel)."""

from __future__ import annotations

from typing import Any

from runtime.values.rows import InnkeeperError
from runtime.world import api
from runtime.world.limits import PACK_BYTES
from server.context import Context
from server.routing import ARRAY, BOOLEAN, INTEGER, NULLABLE_STRING, OBJECT, STRING, Call, Endpoint, obj


def add_pack(context: Context, call: Call) -> dict[str, Any]:
    """Load and judge a pack."""
    return context.runtime.world.write(lambda service: api.post_pack(service, call.body))


def read_pack(context: Context, call: Call) -> dict[str, Any]:
    """A stored pack with its diagnostics."""
    return context.runtime.world.read(lambda service: api.get_pack(service, call.params["id"]))


def open_session(context: Context, call: Call) -> dict[str, Any]:
    """The opening State of a session."""
    return context.runtime.world.write(lambda service: api.post_session(service, call.body))


def read_session(context: Context, call: Call) -> dict[str, Any]:
    """The State as the session's role may see it."""
    return context.runtime.world.read(lambda service: api.get_session(service, call.params["id"]))


def read_events(context: Context, call: Call) -> dict[str, Any]:
    """A page of the log."""
    start, limit = _number(call, "from", 0), _number(call, "limit", None)
    return context.runtime.world.read(lambda service: api.get_events(service, call.params["id"], start or 0, limit))


def read_context(context: Context, call: Call) -> dict[str, Any]:
    """What a model should know."""
    return context.runtime.world.read(lambda service: api.get_context(service, call.params["id"]))


def match(context: Context, call: Call) -> dict[str, Any]:
    """The forced checks."""
    return context.runtime.world.read(lambda service: api.post_match(service, call.params["id"], call.body))


def turn(context: Context, call: Call) -> dict[str, Any]:
    """One intent."""
    return context.runtime.world.write(lambda service: api.post_turn(service, call.params["id"], call.body))


def message(context: Context, call: Call) -> dict[str, Any]:
    """A player's message, before the model."""
    return context.runtime.world.write(lambda service: api.post_message(service, call.params["id"], call.body))


def command(context: Context, call: Call) -> dict[str, Any]:
    """A slash command."""
    return context.runtime.world.write(lambda service: api.post_command(service, call.params["id"], call.body))


def list_tools(context: Context, call: Call) -> dict[str, Any]:
    """The function-calling schemas of a role."""
    return context.runtime.world.read(lambda service: api.get_tools(service, call.query.get("role", "play")))


def run_tool(context: Context, call: Call) -> dict[str, Any]:
    """One tool call."""
    params = call.params
    return context.runtime.world.write(lambda service: api.post_tool(service, params["id"], params["name"], call.body))


def _number(call: Call, name: str, default: int | None) -> int | None:
    text = call.query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise InnkeeperError("WORLD_REQUEST", f"expected a whole number from 0, found {text!r:.40} at {name}")
    return int(text)


_PACK = obj(
    "ok packId canonHash diagnostics",
    "title rng checks characters lore scenes",
    ok=BOOLEAN,
    packId=NULLABLE_STRING,
    canonHash=NULLABLE_STRING,
    diagnostics=ARRAY,
    title=STRING,
    rng=STRING,
    checks=ARRAY,
    characters=ARRAY,
    lore=ARRAY,
    scenes=ARRAY,
)
_STATE = obj(
    "sessionId packId canonHash role turn state events",
    "title context scene revealed present characters facts clock rng_seed recipe",
    packId=STRING,
    canonHash=STRING,
    role=STRING,
    turn=INTEGER,
    state=OBJECT,
    events=INTEGER,
    title=STRING,
    context=STRING,
)
_RESULT = obj(
    "ok sessionId turn state events",
    "receipt code message fork tags staged forced receipts context pages files notes valid findings open note commission scene",
    ok=BOOLEAN,
    turn=INTEGER,
    state=OBJECT,
    events=ARRAY,
    receipt=OBJECT,
    code=STRING,
    message=STRING,
    fork=OBJECT,
)
_SESSION = "/world/sessions/{id}"

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/world/packs",
        "pages",
        add_pack,
        "Load and judge a pack: files, or a folder below the packs folder.",
        body=obj("", "files directory", files=OBJECT, directory=STRING),
        answer=_PACK,
        limit=PACK_BYTES.default,
    ),
    Endpoint("GET", "/world/packs/{id}", "pages", read_pack, "A stored pack with its diagnostics.", answer=_PACK),
    Endpoint(
        "POST",
        "/world/sessions",
        "pages",
        open_session,
        "The opening State under the pack's current rules; the role is fixed here.",
        body=obj(
            "packId role operationId", "sessionId seed seat", packId=STRING, role=STRING, seed=STRING, seat=OBJECT
        ),
        answer=_STATE,
    ),
    Endpoint("GET", _SESSION, "pages", read_session, "The State as the session's role may see it.", answer=_STATE),
    Endpoint(
        "GET",
        f"{_SESSION}/events",
        "pages",
        read_events,
        "A page of the world's events.",
        query={"from": INTEGER, "limit": INTEGER},
        answer=obj("sessionId events next total", next=INTEGER, total=INTEGER, events=ARRAY),
    ),
    Endpoint(
        "GET",
        f"{_SESSION}/context",
        "pages",
        read_context,
        "What a model should know, as text and as data.",
        answer=obj("text context data", text=STRING, context=STRING, data=OBJECT),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/match",
        "pages",
        match,
        "The checks that the rules force for these tags.",
        body=obj("tags", "actors", tags=ARRAY, actors=OBJECT),
        answer=obj("forced", forced=ARRAY),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/turn",
        "pages",
        turn,
        "One intent; a refusal is an answer with ok false.",
        body=obj("intent expectedTurn operationId", "u", intent=OBJECT, expectedTurn=INTEGER, u={"type": "number"}),
        answer=_RESULT,
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/message",
        "host",
        message,
        "Tags, staging and forced checks of a player's message, and the context, before the model is called.",
        body=obj("text expectedTurn operationId", text=STRING, expectedTurn=INTEGER),
        answer=_RESULT,
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/command",
        "pages",
        command,
        "A slash command; its result never enters a prompt.",
        body=obj("text expectedTurn operationId", text=STRING, expectedTurn=INTEGER),
        answer=_RESULT,
    ),
    Endpoint(
        "GET",
        "/world/tools",
        "pages",
        list_tools,
        "The function-calling schemas of a role.",
        query={"role": STRING},
        answer=obj("role tools", role=STRING, tools=ARRAY),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/tools/{{name}}",
        "host",
        run_tool,
        "One tool call of a model.",
        body=obj("operationId", "arguments expectedTurn", arguments={}, expectedTurn=INTEGER),
        answer=_RESULT,
    ),
)
