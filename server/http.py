"""From a request to an answer: body limits, strict JSON, access, the thread pool, the one error body (design §4, §9)."""

from __future__ import annotations

import difflib
import logging
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from runtime.values.jsontext import JsonTextError, dumps, loads_strict
from runtime.values.rows import InnkeeperError
from server.errors import error_body, status_of
from server.limits import JSON_DEPTH
from server.routing import Answer, Call, Endpoint
from server.security import Facts

if TYPE_CHECKING:
    from server.context import Context

log = logging.getLogger("innkeeper.http")
SECURITY_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


def facts_of(request: Request) -> Facts:
    """What the access rules look at."""
    headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in request.scope["headers"]}
    client = request.scope.get("client")
    return Facts(request.method, client[0] if client else None, headers)


def cors_headers(context: Context, facts: Facts) -> dict[str, str]:
    """What lets a page of an allowed origin (``[server] allowedOrigins``) read an answer; none for others.

    Such a page holds a renderer token of its own; cookies are never taken from another origin.
    """
    origin = facts.headers.get("origin")
    allowed = (context.config.section("server") or {}).get("allowedOrigins", ())
    if origin is None or origin not in allowed:
        return {}
    return {"access-control-allow-origin": origin, "vary": "origin", "access-control-expose-headers": "etag"}


def preflight(context: Context, facts: Facts, methods: str) -> Response | None:
    """The answer to a browser that asks before it calls from an allowed origin."""
    headers = cors_headers(context, facts)
    if facts.method != "OPTIONS" or not headers or "access-control-request-method" not in facts.headers:
        return None
    headers["access-control-allow-methods"] = methods
    headers["access-control-allow-headers"] = "authorization, content-type, if-none-match, last-event-id"
    headers["access-control-max-age"] = "600"
    return Response(status_code=204, headers={**SECURITY_HEADERS, **headers})


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer with the security headers."""
    merged = {**SECURITY_HEADERS, **(headers or {})}
    return Response(dumps(value), status, merged, "application/json")


def error_response(error: InnkeeperError, headers: dict[str, str] | None = None) -> Response:
    """The one error body with its code's status."""
    return json_response(error_body(error), status_of(error.code), headers)


async def read_body(request: Request, limit: int) -> bytes:
    """The body, refused as soon as it is larger than ``limit``."""
    declared = request.headers.get("content-length")
    if declared is not None and declared.isdigit() and int(declared) > limit:
        raise InnkeeperError("BODY_TOO_LARGE", f"expected at most {limit} bytes, found {declared} announced")
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise InnkeeperError("BODY_TOO_LARGE", f"expected at most {limit} bytes, found more")
        chunks.append(chunk)
    return b"".join(chunks)


def read_json(raw: bytes) -> dict[str, Any]:
    """A strict JSON object; the error says where the text goes wrong."""
    try:
        value = loads_strict(raw, depth=JSON_DEPTH.default)
    except JsonTextError as error:
        raise InnkeeperError("INVALID_JSON", error.message, error.details) from None
    if not isinstance(value, dict):
        raise InnkeeperError("INVALID_JSON", f"expected a JSON object as the body, found {type(value).__name__}")
    return value


def check_keys(endpoint: Endpoint, body: dict[str, Any]) -> None:
    """Our own routes refuse unknown keys and name the nearest known one."""
    known = endpoint.body.get("properties")
    if endpoint.seed or known is None:
        return
    for key in body:
        if key not in known:
            near = difflib.get_close_matches(key, list(known), 1, 0.6)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
            raise InnkeeperError("UNKNOWN_KEY", f"the body has an unknown key {key!r:.80}{hint}", {"key": key[:200]})
    for key in endpoint.body.get("required", ()):
        if key not in body:
            raise InnkeeperError("HOST_REQUEST", f"expected the key {key!r} in the body", {"key": key})


class Dispatcher:
    """Runs endpoints in the thread pool and renders what they answer."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def __call__(self, endpoint: Endpoint, request: Request) -> Response:
        """Admit, read, run, render."""
        started = time.perf_counter()
        status = 500
        try:
            response = await self._run(endpoint, request)
            status = response.status_code
            return response
        except InnkeeperError as error:
            response = error_response(error)
            status = response.status_code
            return response
        except ClientDisconnect:
            status = 499
            return Response(status_code=400)
        except sqlite3.Error:
            log.exception("storage fault in %s", endpoint.path)
            return error_response(
                InnkeeperError("STORAGE_UNAVAILABLE", "the storage did not answer; nothing was written")
            )
        except Exception:
            log.exception("fault in %s %s", endpoint.method, endpoint.path)
            return error_response(InnkeeperError("INTERNAL", "a fault of the server; its log holds the details"))
        finally:
            self._context.metrics.observe(endpoint.method, endpoint.path, status, time.perf_counter() - started)

    async def _run(self, endpoint: Endpoint, request: Request) -> Response:
        facts = facts_of(request)
        caller = self._context.security.admit(endpoint.access, facts, time.time(), raw=endpoint.raw)
        body: Any = {}
        if endpoint.method != "GET":
            raw = await read_body(request, endpoint.limit)
            if endpoint.raw:
                body = raw
            elif raw or endpoint.method == "POST":
                body = await self._parse(raw)
                check_keys(endpoint, body)
        gone = threading.Event()
        call = Call(request.path_params, dict(request.query_params), body, facts, caller, gone.is_set)
        if endpoint.method == "GET":
            answer = await anyio.to_thread.run_sync(endpoint.handler, self._context, call)
        else:
            answer = await self._watched(endpoint, request, call, gone)
        if isinstance(answer, Answer):
            headers = {**SECURITY_HEADERS, **answer.headers}
            return Response(answer.body, answer.status, headers, answer.media_type)
        return json_response(answer)

    @staticmethod
    async def _parse(raw: bytes) -> dict[str, Any]:
        if len(raw) < 65_536:
            return read_json(raw)
        return await anyio.to_thread.run_sync(read_json, raw)

    async def _watched(self, endpoint: Endpoint, request: Request, call: Call, gone: threading.Event) -> Any:
        """Run a mutation; a client that goes away sets its signal, which counts until the commit begins."""
        result: list[Any] = []

        async def watch() -> None:
            while True:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    gone.set()
                    return

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            try:
                result.append(await anyio.to_thread.run_sync(endpoint.handler, self._context, call))
            except Exception as error:
                result.append(error)
            group.cancel_scope.cancel()
        if isinstance(result[0], Exception):
            raise result[0]
        return result[0]
