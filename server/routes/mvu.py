"""The seed's MVU routes, and ours beside them (spec/mvu.md §3, spec/http.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from runtime.mvu import playground
from runtime.mvu.scopes import read_trace_scope
from runtime.mvu.service_limits import SCOPE_QUERY
from runtime.values.jsontext import JsonTextError, dumps, loads_strict
from runtime.values.rows import InnkeeperError
from server.context import Context
from server.limits import GRANT_BODY
from server.routing import ARRAY, INTEGER, OBJECT, STRING, Answer, Call, Endpoint, obj


def read_scope(call: Call) -> Any:
    """The JSON text of ``scope`` in the query."""
    raw = call.query.get("scope")
    if raw is None or not 1 <= len(raw) <= SCOPE_QUERY.default:
        raise InnkeeperError("MVU_SCOPE", f"expected scope in the query, 1 to {SCOPE_QUERY.default} characters of JSON")
    try:
        return loads_strict(raw, depth=8)
    except JsonTextError as error:
        raise InnkeeperError("MVU_SCOPE", f"expected scope as JSON text: {error.message}") from None


def allow_scope(call: Call, scope: Any) -> None:
    """A renderer token opens its own playthroughs only."""
    allowed = call.caller.playthroughs
    if allowed is None:
        return
    named = scope.get("playthroughId") if isinstance(scope, Mapping) else None
    if named not in allowed:
        raise InnkeeperError("RENDERER_FORBIDDEN", "the renderer token does not open this playthrough")


def snapshot(context: Context, call: Call) -> Answer:
    """The state of a card scope, with an ETag."""
    scope = read_scope(call)
    allow_scope(call, scope)
    body = dumps(context.runtime.mvu.card_snapshot(scope))
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"etag": tag}
    wanted = [item.strip().removeprefix("W/") for item in call.facts.headers.get("if-none-match", "").split(",")]
    if tag in wanted or "*" in wanted:
        return Answer(b"", "application/json", 304, headers)
    return Answer(body, "application/json", 200, headers)


def list_resources(context: Context, call: Call) -> dict[str, Any]:
    """The records of a session."""
    scope = read_scope(call)
    read_trace_scope(scope)
    return {"ok": True, "records": context.runtime.mvu.list(scope)}


def read_resource(context: Context, call: Call) -> dict[str, Any]:
    """One record, current or historical."""
    scope = read_scope(call)
    read_trace_scope(scope, current_only=False)
    return {"ok": True, "record": context.runtime.mvu.read(_id(call), scope)}


def history(context: Context, call: Call) -> dict[str, Any]:
    """The versions of a resource."""
    scope = read_scope(call)
    read_trace_scope(scope)
    return {"ok": True, "versions": context.runtime.mvu.history(_id(call), scope, include_before=True)}


def facts(context: Context, call: Call) -> dict[str, Any]:
    """The kept observations of a resource."""
    return {"ok": True, **context.runtime.mvu.facts(_id(call), read_scope(call))}


def _id(call: Call) -> str:
    found = call.query.get("id")
    if found is None:
        raise InnkeeperError("MVU_SCOPE", "expected id in the query")
    return found


def update(context: Context, call: Call) -> dict[str, Any]:
    """A trusted edit of the current content."""
    body = call.body
    scope = body.get("scope")
    read_trace_scope(scope)
    record = context.runtime.mvu.read(body.get("id"), scope)
    if record is None or record.get("legacy") or record.get("sourceError"):
        raise InnkeeperError(
            "MVU_READ_ONLY", "the resource is missing, legacy or has a source error: it cannot be edited"
        )
    return context.runtime.mvu.update(
        body.get("id"),
        body.get("content"),
        body.get("expectedRevision"),
        body.get("operationId"),
        scope,
        call.disconnected,
    )


def create_binding(context: Context, call: Call) -> dict[str, Any]:
    """Bind a rendered execution to a scope."""
    allow_scope(call, call.body.get("scope"))
    return context.runtime.mvu.create_card_binding(call.body)


def card_write(context: Context, call: Call) -> dict[str, Any]:
    """Write through a binding."""
    if call.caller.playthroughs is not None:
        allow_scope(call, context.runtime.mvu.bindings.live(call.body.get("capability")).scope.raw)
    return context.runtime.mvu.card_write(call.body)


def revoke_binding(context: Context, call: Call) -> dict[str, Any]:
    """End a binding."""
    return context.runtime.mvu.revoke_card_binding(call.body.get("capability"))


def grant(context: Context, call: Call) -> dict[str, Any]:
    """Grant writing to a rendered execution."""
    identity = call.body.get("sourceIdentity")
    if call.caller.playthroughs is not None:
        allow_scope(call, identity.get("scope") if isinstance(identity, Mapping) else None)
    return context.runtime.mvu.grants.grant(call.body)


def revoke_grant(context: Context, call: Call) -> dict[str, Any]:
    """End a grant."""
    return context.runtime.mvu.grants.revoke(call.params["grant"])


def apply_stateless(context: Context, call: Call) -> dict[str, Any]:
    """Apply a reply without storing anything."""
    runtime = context.runtime
    return playground.apply_reply(
        call.body, clock=runtime.sessions.now(), sandbox=runtime.sandbox, owner=runtime.sessions.new_id()
    )


def describe_declaration(context: Context, call: Call) -> dict[str, Any]:
    """What a declaration declares."""
    return playground.describe_declaration(call.body, clock=context.runtime.sessions.now())


_SCOPE_QUERY = {"scope": STRING}
_ID_QUERY = {"id": STRING, "scope": STRING}
_SNAPSHOT = obj(
    "version scope revision status variables",
    "viewIdentity currentRevision resourceId commandProcessor firstMessage",
    version=INTEGER,
    variables=OBJECT,
    status=STRING,
)

SEED_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        "/mvu/resources",
        "inspector",
        list_resources,
        "The records of a session.",
        query=_SCOPE_QUERY,
        answer=obj("ok records", records=ARRAY),
        seed=True,
    ),
    Endpoint(
        "GET",
        "/mvu/resource",
        "inspector",
        read_resource,
        "One record, current or historical.",
        query=_ID_QUERY,
        answer=obj("ok record"),
        seed=True,
    ),
    Endpoint(
        "GET",
        "/mvu/history",
        "inspector",
        history,
        "The versions of a resource.",
        query=_ID_QUERY,
        answer=obj("ok versions", versions=ARRAY),
        seed=True,
    ),
    Endpoint(
        "GET",
        "/mvu/facts",
        "inspector",
        facts,
        "The kept observations of a resource.",
        query=_ID_QUERY,
        answer=obj("ok records unavailable maxRecords"),
        seed=True,
    ),
    Endpoint(
        "POST",
        "/mvu/update",
        "inspector",
        update,
        "A trusted edit with compare-and-set.",
        body=obj("id scope content expectedRevision operationId", id=STRING, content=OBJECT),
        answer=obj("id type content revision scope authority"),
        seed=True,
    ),
    Endpoint(
        "GET",
        "/mvu/snapshot",
        "renderer",
        snapshot,
        "The state of a card scope.",
        query=_SCOPE_QUERY,
        answer=_SNAPSHOT,
        seed=True,
    ),
    Endpoint(
        "POST",
        "/mvu/card-binding",
        "renderer",
        create_binding,
        "Bind a rendered execution to a scope.",
        body=obj("scope grantId sourceIdentity", "bindingId", grantId=STRING, sourceIdentity=OBJECT, bindingId=STRING),
        answer=obj("capability snapshot", capability=STRING, snapshot=OBJECT),
        seed=True,
    ),
    Endpoint(
        "POST",
        "/mvu/card-write",
        "renderer",
        card_write,
        "Write through a binding.",
        body=obj(
            "capability operation value expectedRevision operationId cause",
            capability=STRING,
            operation={"enum": ["patch", "replace"]},
            cause={"enum": ["user-interaction", "interval", "script"]},
        ),
        answer=_SNAPSHOT,
        seed=True,
    ),
    Endpoint(
        "POST",
        "/mvu/card-binding/revoke",
        "renderer",
        revoke_binding,
        "End a binding.",
        body=obj("capability", capability=STRING),
        answer=obj("ok"),
        seed=True,
    ),
    Endpoint(
        "POST",
        "/rendering-write-grants",
        "renderer",
        grant,
        "Grant writing to a rendered execution.",
        body=obj(
            "source sourceIdentity downloaded enabled",
            "executionId",
            source=STRING,
            sourceIdentity=OBJECT,
            executionId=STRING,
        ),
        answer=obj("ok grantId sourceIdentity", grantId=STRING, sourceIdentity=OBJECT),
        seed=True,
        limit=GRANT_BODY.default,
    ),
    Endpoint(
        "DELETE",
        "/rendering-write-grants/{grant}",
        "renderer",
        revoke_grant,
        "End a grant.",
        answer=obj("ok"),
        seed=True,
    ),
)
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/mvu/apply",
        "inspector",
        apply_stateless,
        "Apply a reply without storing anything.",
        body=obj(
            "reply",
            "initvar variables declaration helper userText dialect greeting",
            reply=STRING,
            declaration=STRING,
            helper=STRING,
            userText=STRING,
            dialect={"enum": ["strict", "magvarupdate"]},
            variables=OBJECT,
        ),
        answer=obj(
            "commands before after changes issues",
            "interpreterVersion ignored error",
            commands=ARRAY,
            changes=ARRAY,
            issues=ARRAY,
        ),
    ),
    Endpoint(
        "POST",
        "/mvu/declaration",
        "inspector",
        describe_declaration,
        "What a declaration declares.",
        body=obj("source", source=STRING),
        answer=obj("interpreterVersion fields jsonSchema sample warnings", "skipped"),
    ),
)
