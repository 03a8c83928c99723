"""The application: the table of endpoints under both prefixes, the event streams, the pages (design §9)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from runtime.assembly import open_runtime
from runtime.mvu.legacy import load_legacy
from runtime.values.rows import InnkeeperError
from sandbox import create_sandbox
from server import events, pages
from server.adjust import adjust_limits
from server.config import Config
from server.context import Context
from server.http import Dispatcher, cors_headers, error_response, facts_of, json_response, preflight
from server.limits import WORKERS
from server.metrics import Metrics
from server.openapi import openapi_document
from server.plugins import load_plugins
from server.routes import dimensions, host, meta, mvu, world
from server.routing import Endpoint
from server.security import Security, load_host_token
from server.streams import Streams
from server.tracker_client import ChatTracker, read_settings

PREFIX = "/api/v1"
SEED_PREFIX = "/pmp-dsh-tavern/api"


def endpoints() -> list[tuple[str, Endpoint]]:
    """Every endpoint with its whole path."""
    found: list[tuple[str, Endpoint]] = []
    for endpoint in meta.ROOT_ENDPOINTS:
        found.append((endpoint.path, endpoint))
        found.append((PREFIX + endpoint.path, endpoint))
    found.extend(
        (PREFIX + e.path, e) for e in (*host.ENDPOINTS, *mvu.ENDPOINTS, *dimensions.ENDPOINTS, *world.ENDPOINTS)
    )
    for endpoint in mvu.SEED_ENDPOINTS:
        found.append((PREFIX + endpoint.path, endpoint))
        found.append((f"{SEED_PREFIX}/v1{endpoint.path}", endpoint))
    found.append((PREFIX + meta.TOKEN_ENDPOINT.path, meta.TOKEN_ENDPOINT))
    found.append((SEED_PREFIX + meta.TOKEN_ENDPOINT.path, meta.TOKEN_ENDPOINT))
    return found


def open_context(config: Config) -> Context:
    """Open everything that a server holds; the data directory is made when it is missing."""
    try:
        config.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InnkeeperError(
            "CONFIG_INVALID", f"the data directory cannot be made: {error.strerror}: {config.data_dir.name}"
        ) from None
    # Everything that can be refused comes first, so that nothing is left open.
    adjust_limits(config.section("limits"))
    settings = read_settings(config.section("tracker"))
    token, _ = load_host_token(config.data_dir, config.host_token)
    configured = config.section("mvu", "resources") or []
    engine = config.section("sandbox", "engine")
    runtime = open_runtime(
        config.data_dir / "innkeeper.sqlite",
        configured=configured,
        packs_dir=config.packs_dir,
        test_mode=config.test_mode,
        sandbox=None if engine is None else create_sandbox(str(engine)),
    )
    legacy = config.section("mvu", "legacyLedger")
    if legacy is not None:
        load_legacy(runtime.ledger, Path(str(legacy)))
    server = config.section("server") or {}
    security = Security(
        token,
        loopback=config.loopback,
        allowed_hosts=frozenset(server.get("allowedHosts", ())),
        allow_remote=bool(server.get("allowRemote", False)),
    )
    streams = Streams()
    runtime.sessions.listen(streams.publish)
    context = Context(config, runtime, security, Metrics(), streams)
    context.extras["world"] = runtime.world
    if settings is not None:
        runtime.dimensions.use_tracker(ChatTracker(settings))
    load_plugins(context)
    return context


def _route(context: Context, dispatch: Dispatcher, path: str, by_method: dict[str, Endpoint]) -> Route:
    allowed = ", ".join(sorted(by_method))
    renderer = any(endpoint.access == "renderer" for endpoint in by_method.values())

    async def handle(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = by_method.get(method)
        facts = facts_of(request)
        if endpoint is None and renderer and (answer := preflight(context, facts, allowed)) is not None:
            return answer
        if endpoint is None:
            error = InnkeeperError("METHOD_NOT_ALLOWED", f"expected {allowed} here, found {request.method}")
            return error_response(error, {"allow": allowed})
        response = await dispatch(endpoint, request)
        if endpoint.access == "renderer":
            response.headers.update(cors_headers(context, facts))
        return response

    return Route(path, handle, methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])


def _routes(context: Context) -> list[BaseRoute]:
    dispatch = Dispatcher(context)
    by_path: dict[str, dict[str, Endpoint]] = {}
    for path, endpoint in endpoints():
        by_path.setdefault(path, {})[endpoint.method] = endpoint
    routes: list[BaseRoute] = []
    document = openapi_document(endpoints())

    async def openapi(request: Request) -> Response:
        return json_response(document)

    routes.extend(Route(path, openapi, methods=["GET"]) for path in ("/openapi.json", PREFIX + "/openapi.json"))
    routes.extend(events.routes(context, (PREFIX, f"{SEED_PREFIX}/v1")))
    routes.extend(dimensions.stream_routes(context, PREFIX, time.time))
    # Fixed paths before those with parameters, so that neither hides the other.
    ordered = sorted(by_path, key=lambda text: (text.count("{"), text))
    routes.extend(_route(context, dispatch, path, by_path[path]) for path in ordered)
    routes.extend(pages.routes(context))
    return routes


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        return error_response(
            InnkeeperError("METHOD_NOT_ALLOWED", f"this route takes another verb than {request.method}")
        )
    if status == 404:
        return error_response(InnkeeperError("NOT_FOUND", "there is no such route"))
    return error_response(InnkeeperError("INTERNAL", "a fault of the server; its log holds the details"))


def create_app(config: Config, context: Context | None = None) -> Starlette:
    """The ASGI application; ``app.state.context`` is what it works with."""
    opened = context or open_context(config)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> Any:
        anyio.to_thread.current_default_thread_limiter().total_tokens = WORKERS.default
        try:
            yield
        finally:
            opened.streams.close()
            await anyio.to_thread.run_sync(opened.runtime.close)

    handlers: dict[Any, Callable[[Request, Exception], Response | Awaitable[Response]]] = {
        HTTPException: _http_error,
        404: _http_error,
        405: _http_error,
    }
    app = Starlette(routes=_routes(opened), exception_handlers=handlers, lifespan=lifespan)
    app.state.context = opened
    return app


def static_directory() -> Path:
    """Where the bridge and the pages' scripts lie."""
    return Path(__file__).parent / "static"
