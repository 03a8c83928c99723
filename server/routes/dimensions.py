"""World dimensions and the world clock over HTTP (spec/http.md, Dimensions)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from runtime.dimensions.domain import check_identifier
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.events import Event
from runtime.values.jsontext import dumps
from runtime.values.rows import InnkeeperError
from server.context import Context
from server.http import SECURITY_HEADERS, error_response, facts_of
from server.limits import HEARTBEAT
from server.routing import ARRAY, BOOLEAN, INTEGER, NULLABLE_STRING, OBJECT, STRING, Call, Endpoint, obj
from server.streams import Subscriber


def _text(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise DimensionError("DIMENSION_PAYLOAD", f"expected a text, found {type(value).__name__} at {name}")
    return value


def _flag(body: Mapping[str, Any], name: str, default: bool) -> bool:
    value = body.get(name, default)
    if not isinstance(value, bool):
        raise DimensionError("DIMENSION_PAYLOAD", f"expected true or false, found {value!r:.80} at {name}")
    return value


def _payload(call: Call) -> dict[str, Any]:
    """The domain's own request: the body without the idempotency key."""
    return {key: part for key, part in call.body.items() if key != "operationId"}


def declare_world(context: Context, call: Call) -> dict[str, Any]:
    """Declare a world."""
    body = call.body
    if ("files" in body) == ("definitions" in body):
        raise DimensionError("DIMENSION_PAYLOAD", "expected either files (a package) or definitions (a table)")
    return context.runtime.dimensions.declare_world(
        world_id=None if body.get("worldId") is None else check_identifier(body["worldId"], "worldId"),
        files=body.get("files"),
        definitions=body.get("definitions"),
        clock=body.get("clock"),
    )


def read_world(context: Context, call: Call) -> dict[str, Any]:
    """A declared world."""
    return context.runtime.dimensions.world(call.params["id"])


def bind(context: Context, call: Call) -> dict[str, Any]:
    """Create a session's records."""
    body = call.body
    return context.runtime.dimensions.bind(
        call.params["id"],
        check_identifier(body["worldId"], "worldId"),
        locale=_text(body, "locale"),
        operation_id=body["operationId"],
    )


def snapshot(context: Context, call: Call) -> dict[str, Any]:
    """The public snapshot."""
    query = call.query
    return context.runtime.dimensions.snapshot(
        call.params["id"], locale=query.get("locale"), turn_id=query.get("turnId")
    )


def query(context: Context, call: Call) -> dict[str, Any]:
    """Answer queries."""
    body = call.body
    return context.runtime.dimensions.query(
        call.params["id"], body["queries"], turn_id=_text(body, "turnId"), locale=_text(body, "locale")
    )


def listing(context: Context, call: Call) -> dict[str, Any]:
    """List the dimensions."""
    return context.runtime.dimensions.listing(call.params["id"], turn_id=call.query.get("turnId"))


def initialize(context: Context, call: Call) -> dict[str, Any]:
    """Create dimensions in play."""
    service = context.runtime.dimensions
    return service.initialize(call.params["id"], _payload(call), operation_id=call.body.get("operationId"))


def update(context: Context, call: Call) -> dict[str, Any]:
    """Write a batch."""
    service = context.runtime.dimensions
    return service.update(call.params["id"], _payload(call), operation_id=call.body.get("operationId"))


def edit(context: Context, call: Call) -> dict[str, Any]:
    """A player's edit, manual settlement or skip."""
    service = context.runtime.dimensions
    return service.edit(call.params["id"], _payload(call), operation_id=call.body.get("operationId"))


def narrative(context: Context, call: Call) -> dict[str, Any]:
    """Register a narrative's debt."""
    body = call.body
    return context.runtime.dimensions.narrative(
        call.params["id"],
        check_identifier(body["resultId"], "resultId"),
        check_identifier(body["turnId"], "turnId"),
        text=_text(body, "text"),
        operation_id=body["operationId"],
    )


def settle(context: Context, call: Call) -> dict[str, Any]:
    """Settle with a tracker's arguments."""
    body = call.body
    return context.runtime.dimensions.settle(
        call.params["id"],
        check_identifier(body["resultId"], "resultId"),
        body["arguments"],
        operation_id=body.get("operationId"),
    )


def retry(context: Context, call: Call) -> dict[str, Any]:
    """Retry a debt."""
    body = call.body
    result_id = check_identifier(body["resultId"], "resultId")
    return context.runtime.dimensions.retry_now(call.params["id"], result_id, operation_id=body["operationId"])


def rule(context: Context, call: Call) -> dict[str, Any]:
    """A page of a rule or schema."""
    return context.runtime.dimensions.rule(call.params["id"], call.body)


def tracker_prompt(context: Context, call: Call) -> dict[str, Any]:
    """What a tracker's model reads."""
    return context.runtime.dimensions.tracker_prompt(
        call.params["id"], call.query.get("resultId"), turn_id=call.query.get("turnId")
    )


def move_clock(context: Context, call: Call) -> dict[str, Any]:
    """Move the clock."""
    body = call.body
    return context.runtime.dimensions.move_clock(
        call.params["id"],
        check_identifier(body["turnId"], "turnId"),
        body.get("move"),
        operation_id=body.get("operationId"),
    )


def read_clock(context: Context, call: Call) -> dict[str, Any]:
    """Read the clock."""
    return context.runtime.dimensions.clock(call.params["id"], call.query.get("turnId"))


def sync(context: Context, call: Call) -> dict[str, Any]:
    """Bring a session in step with its world."""
    body = call.body
    return context.runtime.dimensions.sync(
        call.params["id"],
        check_identifier(body["worldId"], "worldId"),
        dry_run=_flag(body, "dryRun", True),
        force=_flag(body, "force", False),
        operation_id=body.get("operationId"),
    )


_SESSION = "/dimensions/sessions/{id}"
_WORLD = obj("worldId locale definitions clock digest", "warnings", worldId=STRING, locale=STRING, definitions=OBJECT)
_SETTLED = obj(
    "applied",
    "versions settlement refusal alreadySettled submitted warnings code currentVersions",
    applied=BOOLEAN,
    versions=OBJECT,
    settlement=OBJECT,
)
_CLOCK = obj(
    "schemaVersion definition tick display shown lastDelta reason summary",
    "repeated updated refused",
    schemaVersion=INTEGER,
    tick=INTEGER,
    display=STRING,
    summary=OBJECT,
)
_UPDATES = {"updates": ARRAY}

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/dimensions/worlds",
        "pages",
        declare_world,
        "Declare a world package or a table; refused whole, with every issue.",
        body=obj("", "worldId files definitions clock operationId", worldId=STRING, files=OBJECT, definitions=OBJECT),
        answer=_WORLD,
    ),
    Endpoint("GET", "/dimensions/worlds/{id}", "pages", read_world, "A declared world.", answer=_WORLD),
    Endpoint(
        "POST",
        f"{_SESSION}/bind",
        "pages",
        bind,
        "Create the session's records from a world.",
        body=obj("worldId operationId", "locale", worldId=STRING, locale=NULLABLE_STRING),
        answer=obj("worldId locale provider versions", worldId=STRING, versions=OBJECT),
    ),
    Endpoint(
        "GET",
        _SESSION,
        "pages",
        snapshot,
        "The public snapshot: values, versions, settlements, recovery.",
        query={"locale": STRING, "turnId": STRING},
        answer=obj(
            "dimensions dimensionSettlements dimensionProviderPluginId dimensionRecovery",
            "worldId locale clock",
            dimensions=OBJECT,
            dimensionSettlements=ARRAY,
            dimensionProviderPluginId=NULLABLE_STRING,
        ),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/query",
        "pages",
        query,
        "Query values by path and page; turnId reads that turn's frozen base.",
        body=obj("queries", "turnId locale operationId", queries=ARRAY, turnId=STRING, locale=STRING),
        answer=obj("results text", results=ARRAY, text=STRING),
    ),
    Endpoint(
        "GET",
        f"{_SESSION}/list",
        "pages",
        listing,
        "Ids, names, types and versions.",
        query={"turnId": STRING},
        answer=obj("dimensions", dimensions=ARRAY),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/initialize",
        "pages",
        initialize,
        "Create dimensions that do not exist yet.",
        body=obj("definitions", "operationId", definitions=OBJECT),
        answer=obj("created versions", created=ARRAY, versions=OBJECT),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/update",
        "pages",
        update,
        "Write a batch with expected versions; with a source it settles.",
        body=obj("updates", "source readVersions settlement operationId", **_UPDATES),
        answer=_SETTLED,
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/edit",
        "pages",
        edit,
        "A player's edit, manual settlement or skip.",
        body=obj("", "updates resultId resolution operationId", **_UPDATES),
        answer=_SETTLED,
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/narratives",
        "pages",
        narrative,
        "Register the debt of a committed narrative.",
        body=obj("resultId turnId operationId", "text", resultId=STRING, turnId=STRING, text=NULLABLE_STRING),
        answer=obj("settlement"),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/settle",
        "pages",
        settle,
        "Settle with a tracker's update-dimensions arguments.",
        body=obj("resultId arguments", "operationId", resultId=STRING),
        answer=_SETTLED,
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/retry",
        "pages",
        retry,
        "Retry a debt: it adopts the current versions, and the tracker runs when there is one.",
        body=obj("resultId operationId", resultId=STRING),
        answer=obj("retried settlement", "alreadySettled", retried=BOOLEAN, settlement=OBJECT),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/rule",
        "pages",
        rule,
        "A page of a frozen rule or schema.",
        body=obj("resultId id part", "offset limit operationId", resultId=STRING, id=STRING, part=STRING),
        answer=obj("id version content complete", "nextOffset", content=STRING, complete=BOOLEAN),
    ),
    Endpoint(
        "GET",
        f"{_SESSION}/tracker-prompt",
        "pages",
        tracker_prompt,
        "Rules part, values part and tool schemas for a tracker's model.",
        query={"resultId": STRING, "turnId": STRING},
        answer=obj(
            "needed rules values truncated tools",
            "settlement clock narrative",
            rules=STRING,
            values=STRING,
            tools=ARRAY,
        ),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/clock",
        "pages",
        move_clock,
        "Move the world clock for a turn; derived fields follow in the same transaction.",
        body=obj("turnId", "move operationId", turnId=STRING, move={"type": ["object", "null"]}),
        answer=_CLOCK,
    ),
    Endpoint(
        "GET",
        f"{_SESSION}/clock",
        "pages",
        read_clock,
        "The world clock after the last turn, or after one turn.",
        query={"turnId": STRING},
        answer=_CLOCK,
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/sync",
        "pages",
        sync,
        "Bring the session in step with its world's declarations.",
        body=obj("worldId", "dryRun force operationId", worldId=STRING, dryRun=BOOLEAN, force=BOOLEAN),
        answer=obj(
            "dryRun planned upserted deleted unchanged conflicts outcomes",
            dryRun=BOOLEAN,
            conflicts=ARRAY,
            outcomes=OBJECT,
        ),
    ),
)


# --- the event stream -----------------------------------------------------------------------------------------------


def _render(name: str, data: Any) -> bytes:
    return f"event: {name}\n".encode() + b"data: " + dumps(data) + b"\n\n"


async def _follow(context: Context, subscriber: Subscriber, first: dict[str, Any]) -> AsyncIterator[bytes]:
    context.metrics.streams.inc()
    try:
        yield b": innkeeper\nretry: 1000\n\n"
        yield _render("snapshot", first)
        while not subscriber.dropped and not context.streams.closed:
            try:
                notice = await asyncio.wait_for(subscriber.queue.get(), HEARTBEAT.default)
            except TimeoutError:
                yield b": heartbeat\n\n"
                continue
            if notice is None:
                return
            yield _render(notice["type"], notice["data"])
    finally:
        context.streams.unsubscribe(subscriber)
        context.metrics.streams.dec()


def _key(session_id: str) -> str:
    return f"dimensions:{session_id}"


def _stream(context: Context, clock: Callable[[], float]) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            error = InnkeeperError("METHOD_NOT_ALLOWED", f"expected GET here, found {request.method}")
            return error_response(error, {"allow": "GET"})
        session_id = request.path_params["id"]
        try:
            context.security.admit("pages", facts_of(request), clock())
            # Subscribed before the snapshot is read: what commits in between is then seen twice, never missed.
            subscriber = context.streams.subscribe(_key(session_id))
            try:
                first = await anyio.to_thread.run_sync(context.runtime.dimensions.snapshot, session_id)
            except BaseException:
                context.streams.unsubscribe(subscriber)
                raise
        except InnkeeperError as error:
            return error_response(error)
        headers = {**SECURITY_HEADERS, "x-accel-buffering": "no"}
        return StreamingResponse(_follow(context, subscriber, first), 200, headers, "text/event-stream")

    return handle


def stream_routes(context: Context, prefix: str, clock: Callable[[], float]) -> list[Route]:
    """``GET …/events`` of a session: the snapshot first, then every change as it is committed."""

    def publish(session_id: str, event: Event) -> None:
        context.streams.publish(_key(session_id), event.to_json())

    context.runtime.dimensions.listen(publish)
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    return [Route(f"{prefix}{_SESSION}/events", _stream(context, clock), methods=methods)]
