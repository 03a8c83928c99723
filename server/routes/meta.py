"""Health, limits, errors, metrics, the request token."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from runtime.values.rows import InnkeeperError
from server.context import Context
from server.errors import ERRORS
from server.limits import LIMITS
from server.routing import ARRAY, BOOLEAN, OBJECT, STRING, Answer, Call, Endpoint, obj


def healthz(context: Context, call: Call) -> dict[str, Any]:
    """The process answers."""
    return {"ok": True}


def readyz(context: Context, call: Call) -> dict[str, Any]:
    """Storage and sandbox answer."""
    context.runtime.mvu.flush()
    sandbox = None if context.runtime.sandbox is None else context.runtime.sandbox.status()
    if context.streams.closed:
        raise InnkeeperError("STORAGE_UNAVAILABLE", "the server is stopping")
    return {"ok": True, "storage": {"ok": True}, "sandbox": sandbox, "deployment": context.runtime.deployment}


def limits(context: Context, call: Call) -> dict[str, Any]:
    """The limits table."""
    return {"limits": [asdict(limit) for limit in LIMITS]}


def errors(context: Context, call: Call) -> dict[str, Any]:
    """The error table."""
    return {"errors": [asdict(row) for row in sorted(ERRORS.values(), key=lambda row: row.code)]}


def metrics(context: Context, call: Call) -> Answer:
    """Prometheus text."""
    return Answer(context.metrics.text(), "text/plain; version=0.0.4; charset=utf-8")


def request_token(context: Context, call: Call) -> dict[str, Any]:
    """The request token for embedded clients of the same origin."""
    return context.security.give_request_token(call.facts)


ROOT_ENDPOINTS = (
    Endpoint("GET", "/healthz", "open", healthz, "The process answers.", answer=obj("ok")),
    Endpoint(
        "GET",
        "/readyz",
        "open",
        readyz,
        "Storage and sandbox answer.",
        answer=obj("ok storage sandbox", "deployment", storage=OBJECT),
    ),
    Endpoint("GET", "/metrics", "open", metrics, "Counters as Prometheus text."),
    Endpoint("GET", "/limits", "open", limits, "The limits table.", answer=obj("limits", limits=ARRAY)),
    Endpoint("GET", "/errors", "open", errors, "The error table.", answer=obj("errors", errors=ARRAY)),
)
TOKEN_ENDPOINT = Endpoint(
    "GET",
    "/request-token",
    "open",
    request_token,
    "The request token of this process.",
    answer=obj("ok token", ok=BOOLEAN, token=STRING),
)
