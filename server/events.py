"""Server-sent events of one card scope: a snapshot first, then one event per visible change (spec/http.md, MVU)."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from runtime.values.jsontext import dumps
from runtime.values.rows import InnkeeperError
from server.context import Context
from server.errors import error_body
from server.http import SECURITY_HEADERS, cors_headers, error_response, facts_of, preflight
from server.limits import HEARTBEAT
from server.routes.mvu import allow_scope, read_scope
from server.routing import Call
from server.streams import Subscriber

Event = tuple[str, int | None, bytes]


def _render(name: str, identifier: int | None, data: bytes) -> bytes:
    head = f"event: {name}\n" + (f"id: {identifier}\n" if identifier is not None else "")
    return head.encode() + b"data: " + data + b"\n\n"


class _Stream:
    """The state of one stream: what the reader saw last."""

    def __init__(self, context: Context, scope: Any, last_id: str | None) -> None:
        self._context = context
        self._scope = scope
        self._last_id = last_id
        self._seen: str | None = None

    def first(self) -> list[Event]:
        """The first event, left out when ``Last-Event-ID`` says that the reader has it already."""
        snapshot = self._context.runtime.mvu.card_snapshot(self._scope)
        body = dumps(snapshot)
        self._seen = hashlib.sha256(body).hexdigest()
        if self._last_id is not None and self._last_id == str(snapshot["revision"]):
            return []
        return [("snapshot", snapshot["revision"], body)]

    def next(self) -> list[Event]:
        """What changed for the reader since the last look."""
        try:
            snapshot = self._context.runtime.mvu.card_snapshot(self._scope)
        except InnkeeperError as error:
            body, name, identifier = dumps(error_body(error)), "unavailable", None
        else:
            body, name, identifier = dumps(snapshot), "snapshot", snapshot["revision"]
        digest = hashlib.sha256(body).hexdigest()
        if digest == self._seen:
            return []
        self._seen = digest
        return [(name, identifier, body)]


async def _follow(
    context: Context, stream: _Stream, subscriber: Subscriber, first: list[Event]
) -> AsyncIterator[bytes]:
    context.metrics.streams.inc()
    try:
        yield b": innkeeper\nretry: 1000\n\n"
        for event in first:
            yield _render(*event)
        while not subscriber.dropped and not context.streams.closed:
            try:
                notice = await asyncio.wait_for(subscriber.queue.get(), HEARTBEAT.default)
            except TimeoutError:
                yield b": heartbeat\n\n"
                continue
            if notice is None:
                return
            pending = [notice]
            while not subscriber.queue.empty():
                more = subscriber.queue.get_nowait()
                if more is None:
                    return
                pending.append(more)
            for item in pending:
                if item.get("kind") == "revoked":
                    yield _render("revoked", None, dumps({"sha256": item["sha256"]}))
            for event in await anyio.to_thread.run_sync(stream.next):
                yield _render(*event)
    finally:
        context.streams.unsubscribe(subscriber)
        context.metrics.streams.dec()


def _endpoint(context: Context) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        facts = facts_of(request)
        if (answer := preflight(context, facts, "GET")) is not None:
            return answer
        if request.method not in ("GET", "HEAD"):
            return error_response(
                InnkeeperError("METHOD_NOT_ALLOWED", f"expected GET here, found {request.method}"), {"allow": "GET"}
            )
        try:
            caller = context.security.admit("renderer", facts, time.time())
            call = Call({}, dict(request.query_params), {}, facts, caller, lambda: False)
            scope = read_scope(call)
            allow_scope(call, scope)
            stream = _Stream(context, scope, facts.headers.get("last-event-id"))
            # Subscribe before the first look: what is committed in between is then seen as a change.
            session_id = scope.get("sessionId") if isinstance(scope, dict) else None
            subscriber = context.streams.subscribe(session_id if isinstance(session_id, str) else "")
            try:
                first = await anyio.to_thread.run_sync(stream.first)
            except BaseException:
                context.streams.unsubscribe(subscriber)
                raise
        except InnkeeperError as error:
            return error_response(error)
        headers = {**SECURITY_HEADERS, "x-accel-buffering": "no", **cors_headers(context, facts)}
        return StreamingResponse(_follow(context, stream, subscriber, first), 200, headers, "text/event-stream")

    return handle


def routes(context: Context, prefixes: tuple[str, ...]) -> list[Route]:
    """The stream under each prefix."""

    def revoked(grant: Any) -> None:
        session_id = grant.scope.get("sessionId")
        if isinstance(session_id, str):
            digest = hashlib.sha256(grant.identity.encode()).hexdigest()
            context.streams.publish(session_id, {"kind": "revoked", "sha256": digest})

    context.runtime.mvu.grants.on_revoked(revoked)
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    return [Route(f"{prefix}/mvu/events", _endpoint(context), methods=methods) for prefix in prefixes]
