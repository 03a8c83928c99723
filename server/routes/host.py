"""Cards, sessions, playthroughs and turns (spec/http.md); long because each handler stands beside its row of the table."""

from __future__ import annotations

import time
from typing import Any

from runtime.archive import export_playthrough, import_playthrough
from runtime.sessions.host import check_identifier
from runtime.sessions.operations import check_operation_id, once
from runtime.values.rows import InnkeeperError
from server.context import Context
from server.limits import CARD_BODY, IMPORT_BODY, RENDERER_TOKEN
from server.routing import ARRAY, BOOLEAN, INTEGER, NULLABLE_STRING, OBJECT, STRING, Call, Endpoint, obj


def add_card(context: Context, call: Call) -> dict[str, Any]:
    """Import a card."""
    return context.runtime.cards.add(call.body, call.query.get("id"), dialect=call.query.get("dialect", "strict"))


def list_cards(context: Context, call: Call) -> dict[str, Any]:
    """The imported cards."""
    return context.runtime.cards.list()


def read_card(context: Context, call: Call) -> dict[str, Any]:
    """One imported card."""
    return context.runtime.cards.read(call.params["id"])


def card_content(context: Context, call: Call) -> dict[str, Any]:
    """The texts of an imported card."""
    return context.runtime.cards.content(call.params["id"])


def remove_card(context: Context, call: Call) -> dict[str, Any]:
    """Forget a card."""
    return context.runtime.cards.remove(call.params["id"])


def create_playthrough(context: Context, call: Call) -> dict[str, Any]:
    """A playthrough with its root session."""
    body = call.body
    return context.runtime.playthroughs.create(
        body["characterId"],
        body["operationId"],
        greeting_index=body.get("greetingIndex", 0),
        playthrough_id=body.get("playthroughId"),
        session_id=body.get("sessionId"),
        created_at=body.get("createdAt"),
        user_name=body.get("userName"),
    )


def list_playthroughs(context: Context, call: Call) -> dict[str, Any]:
    """All playthroughs."""
    return context.runtime.playthroughs.list()


def read_playthrough(context: Context, call: Call) -> dict[str, Any]:
    """One playthrough with its timeline."""
    return context.runtime.playthroughs.read(call.params["id"])


def select_character(context: Context, call: Call) -> dict[str, Any]:
    """Select another card in a session."""
    body = call.body
    return context.runtime.playthroughs.select_character(
        call.params["id"], body["sessionId"], body["characterId"], body["operationId"]
    )


def select_greeting(context: Context, call: Call) -> dict[str, Any]:
    """Choose another opening."""
    body = call.body
    return context.runtime.playthroughs.select_greeting(
        call.params["id"], body["sessionId"], body["greetingIndex"], body["operationId"]
    )


def reset_greeting(context: Context, call: Call) -> dict[str, Any]:
    """Rebuild the current opening's values."""
    context.runtime.playthroughs.read(call.params["id"])
    session_id = check_identifier(call.body["sessionId"], "sessionId")
    return context.runtime.mvu.reset_greeting(session_id, call.body["operationId"])


def activate(context: Context, call: Call) -> dict[str, Any]:
    """Walk the timeline."""
    body = call.body
    return context.runtime.playthroughs.activate(
        call.params["id"], body["nodeId"], body["variantId"], body["operationId"]
    )


def create_session(context: Context, call: Call) -> dict[str, Any]:
    """A session of a host that keeps its own timelines."""
    body = call.body
    return context.runtime.branches.create_session(
        body["operationId"],
        session_id=body.get("sessionId"),
        created_at=body.get("createdAt"),
        format_version=body.get("formatVersion"),
        parent=body.get("parent"),
        seed_ticket=body.get("seedTicket"),
        origin=body.get("origin"),
    )


def read_session(context: Context, call: Call) -> dict[str, Any]:
    """A session's header."""
    return context.runtime.sessions.session(call.params["id"])


def delete_session(context: Context, call: Call) -> dict[str, Any]:
    """Delete a session."""
    operation = call.body.get("operationId") if call.body else None
    return context.runtime.sessions.delete_session(call.params["id"], check_operation_id(operation))


def append_events(context: Context, call: Call) -> dict[str, Any]:
    """Append events."""
    body = call.body
    return context.runtime.sessions.append(call.params["id"], body["expectedSeq"], body["events"], body["operationId"])


def read_events(context: Context, call: Call) -> dict[str, Any]:
    """A page of events."""
    return context.runtime.sessions.events(
        call.params["id"], _number(call, "from", 0) or 0, _number(call, "limit", None)
    )


def _number(call: Call, name: str, default: int | None) -> int | None:
    raw = call.query.get(name)
    if raw is None:
        return default
    if not raw.isascii() or not raw.isdigit() or len(raw) > 15:
        raise InnkeeperError(
            "HOST_REQUEST", f"expected {name} as a non-negative whole number in the query, found {raw!r:.80}"
        )
    return int(raw)


def turn(context: Context, call: Call) -> dict[str, Any]:
    """One whole turn."""
    body = call.body
    return context.runtime.sessions.turn(call.params["id"], body["user"], body["reply"], body["operationId"])


def _branch(kind: str) -> Any:
    def handler(context: Context, call: Call) -> dict[str, Any]:
        body = call.body
        return context.runtime.branches.branch(
            call.params["id"], kind, body["atEventId"], body["operationId"], body.get("sessionId")
        )

    return handler


def capture_seed(context: Context, call: Call) -> dict[str, Any]:
    """A ticket for a host that creates the child itself."""
    body = call.body
    return context.runtime.branches.capture_seed(
        call.params["id"],
        body["kind"],
        body["atEventId"],
        body["operationId"],
        prefix_end=body.get("prefixEndEventId"),
        target=body.get("targetSessionId"),
    )


def apply_reply(context: Context, call: Call) -> dict[str, Any]:
    """Apply a stored reply again."""
    return context.runtime.mvu.apply_reply(call.params["id"], call.params["message"], call.body["operationId"])


def prompt(context: Context, call: Call) -> dict[str, Any]:
    """What a model request carries."""
    return context.runtime.requests.prompt(call.params["id"], call.body)


def check_prompt(context: Context, call: Call) -> dict[str, Any]:
    """Whether a prompt's parts are still current."""
    return context.runtime.requests.check(call.params["id"], call.body["lease"])


def export(context: Context, call: Call) -> dict[str, Any]:
    """A playthrough as one document."""
    return export_playthrough(context.runtime.ledger, call.params["playthrough"])


def import_document(context: Context, call: Call) -> dict[str, Any]:
    """Store an exported playthrough."""
    return import_playthrough(context.runtime.ledger, call.body)


def migrate(context: Context, call: Call) -> dict[str, Any]:
    """Show or apply a new declaration for one state of a session."""
    body = call.body
    if body.get("dryRun", False):
        return context.runtime.mvu.plan_migration(call.params["id"], body["resourceId"], body.get("source"))
    return context.runtime.mvu.migrate(
        call.params["id"],
        body["resourceId"],
        body.get("source"),
        body.get("expectedRevision"),
        body.get("operationId"),
        undo=body.get("undo") is True,
    )


def renderer_token(context: Context, call: Call) -> dict[str, Any]:
    """A token for remote renderers of some playthroughs."""
    body = call.body
    ids = body["playthroughIds"]
    if not isinstance(ids, list) or not ids or not all(isinstance(item, str) for item in ids):
        raise InnkeeperError("HOST_REQUEST", "expected playthroughIds as a non-empty list of strings")
    seconds = body["expiresInS"]
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 < seconds <= RENDERER_TOKEN.default:
        raise InnkeeperError(
            "HOST_REQUEST", f"expected expiresInS between 0 and {RENDERER_TOKEN.default}, found {seconds!r:.80}"
        )
    operation = check_operation_id(body["operationId"])

    def produce() -> dict[str, Any]:
        return {"token": context.security.new_renderer_token(frozenset(ids), time.time() + seconds)}

    scope = f"renderer:{context.runtime.deployment}"
    return context.runtime.ledger.write(lambda tx: once(tx, scope, operation, [ids, seconds], produce))


_OPERATION = "operationId"
_CARD = obj(
    "characterId name spec greetings initvar declaration helper worldBook",
    "templateId",
    templateId=NULLABLE_STRING,
    greetings=INTEGER,
    initvar=OBJECT,
    declaration=OBJECT,
    helper=OBJECT,
    worldBook=OBJECT,
    name=STRING,
    spec=STRING,
)
_CHILD = obj("sessionId resources", "playthroughId")

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/host/cards",
        "pages",
        add_card,
        "Import a card: PNG or JSON bytes.",
        raw=True,
        limit=CARD_BODY.default,
        query={"id": STRING, "dialect": {"enum": ["strict", "magvarupdate"]}},
        answer=_CARD,
    ),
    Endpoint("GET", "/host/cards", "pages", list_cards, "The imported cards.", answer=obj("cards", cards=ARRAY)),
    Endpoint("GET", "/host/cards/{id}", "pages", read_card, "One imported card.", answer=_CARD),
    Endpoint("GET", "/host/cards/{id}/content", "pages", card_content, "The texts of an imported card.", answer=OBJECT),
    Endpoint(
        "DELETE",
        "/host/cards/{id}",
        "host",
        remove_card,
        "Forget a card; sessions keep their states.",
        answer=obj("ok"),
    ),
    Endpoint(
        "POST",
        "/host/playthroughs",
        "pages",
        create_playthrough,
        "A playthrough with its root session and states.",
        body=obj(
            "characterId operationId", "greetingIndex playthroughId sessionId createdAt userName", userName=STRING
        ),
        answer=obj("playthroughId sessionId characterId greetingIndex selectionToken resources", selectionToken=STRING),
    ),
    Endpoint(
        "GET",
        "/host/playthroughs",
        "pages",
        list_playthroughs,
        "All playthroughs.",
        answer=obj("playthroughs", playthroughs=ARRAY),
    ),
    Endpoint(
        "GET",
        "/host/playthroughs/{id}",
        "pages",
        read_playthrough,
        "One playthrough with its timeline.",
        answer=obj(
            "playthroughId rootSessionId characterId timeline sessions",
            "userName",
            timeline=ARRAY,
            sessions=ARRAY,
            rootSessionId=STRING,
        ),
    ),
    Endpoint(
        "POST",
        "/host/playthroughs/{id}/character",
        "pages",
        select_character,
        "Select another card in a session, or none.",
        body=obj("sessionId characterId operationId", characterId=NULLABLE_STRING),
        answer=obj(
            "sessionId characterId generation",
            "greetingIndex selectionToken resources",
            characterId=NULLABLE_STRING,
            generation=INTEGER,
        ),
    ),
    Endpoint(
        "POST",
        "/host/playthroughs/{id}/greeting",
        "pages",
        select_greeting,
        "Choose another opening before the first turn.",
        body=obj("sessionId greetingIndex operationId"),
        answer=obj("greetingIndex selectionToken"),
    ),
    Endpoint(
        "POST",
        "/host/playthroughs/{id}/greeting/reset",
        "pages",
        reset_greeting,
        "Rebuild the current opening's values.",
        body=obj("sessionId operationId"),
        answer=obj("greetingIndex resources"),
    ),
    Endpoint(
        "POST",
        "/host/playthroughs/{id}/activate",
        "pages",
        activate,
        "Walk the timeline to another variant.",
        body=obj("nodeId variantId operationId", nodeId=STRING, variantId=STRING),
        answer=obj("timeline", timeline=ARRAY),
    ),
    Endpoint(
        "POST",
        "/host/sessions",
        "host",
        create_session,
        "A session of a host with its own timelines.",
        body=obj(
            _OPERATION,
            "sessionId createdAt formatVersion parent seedTicket origin",
            parent=OBJECT,
            formatVersion=INTEGER,
            seedTicket=STRING,
            origin=STRING,
        ),
        answer=obj(
            "sessionId createdAt formatVersion nextSeq lastTurn running",
            "parent playthroughId origin resources dimensions world",
        ),
    ),
    Endpoint(
        "GET",
        "/host/sessions/{id}",
        "pages",
        read_session,
        "A session's header.",
        answer=obj(
            "sessionId createdAt formatVersion nextSeq lastTurn running",
            "parent playthroughId origin resources dimensions world",
        ),
    ),
    Endpoint(
        "DELETE",
        "/host/sessions/{id}",
        "host",
        delete_session,
        "Delete a session; children keep what they inherited.",
        body=obj(_OPERATION),
        answer=obj("ok"),
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/events",
        "host",
        append_events,
        "Append events to a session.",
        body=obj("expectedSeq events operationId"),
        answer=obj("nextSeq receipts", nextSeq=INTEGER),
    ),
    Endpoint(
        "GET",
        "/host/sessions/{id}/events",
        "pages",
        read_events,
        "A page of events.",
        query={"from": INTEGER, "limit": INTEGER},
        answer=obj("events nextSeq", nextSeq=INTEGER),
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/turns",
        "pages",
        turn,
        "One whole turn in one transaction.",
        body=obj("user reply operationId", user=OBJECT, reply=OBJECT),
        answer=obj(
            "turn messageId endEventId receipts", "nodeId variantId", turn=INTEGER, messageId=STRING, endEventId=INTEGER
        ),
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/fork",
        "pages",
        _branch("fork"),
        "A child with the three sources of a reply.",
        body=obj("atEventId operationId", "sessionId"),
        answer=_CHILD,
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/swipe",
        "pages",
        _branch("reply-swipe"),
        "A child standing before a reply.",
        body=obj("atEventId operationId", "sessionId"),
        answer=_CHILD,
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/retry",
        "pages",
        _branch("request-retry"),
        "A child standing before an aborted turn.",
        body=obj("atEventId operationId", "sessionId"),
        answer=_CHILD,
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/seeds",
        "host",
        capture_seed,
        "A ticket for a host that creates the child itself.",
        body=obj(
            "kind atEventId operationId",
            "prefixEndEventId targetSessionId",
            kind=STRING,
            prefixEndEventId=INTEGER,
            targetSessionId=STRING,
        ),
        answer=obj("ticket", ticket=NULLABLE_STRING),
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/replies/{message}/apply",
        "pages",
        apply_reply,
        "Apply a stored reply again that failed and was retryable.",
        body=obj(_OPERATION),
        answer=obj("messageId receipts"),
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/prompt",
        "host",
        prompt,
        "What a model request carries of the included sources and activated entries.",
        body=obj("include", "activated turn preview", include=ARRAY, activated=ARRAY, turn=INTEGER, preview=BOOLEAN),
        answer=obj("blocks worldBook lease", blocks=ARRAY, worldBook=ARRAY, lease=STRING),
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/prompt/check",
        "host",
        check_prompt,
        "Whether a prompt's parts are still current right before sending.",
        body=obj("lease", lease=STRING),
        answer=obj("current", current=BOOLEAN),
    ),
    Endpoint(
        "POST",
        "/host/sessions/{id}/migrate",
        "pages",
        migrate,
        "Show (dryRun), apply or undo a new declaration for one state.",
        body=obj(
            "resourceId",
            "source expectedRevision operationId dryRun undo",
            resourceId=STRING,
            source=STRING,
            dryRun=BOOLEAN,
            undo=BOOLEAN,
        ),
        answer=OBJECT,
    ),
    Endpoint("GET", "/host/export/{playthrough}", "host", export, "A playthrough as one document.", answer=OBJECT),
    Endpoint(
        "POST",
        "/host/import",
        "host",
        import_document,
        "Store an exported playthrough.",
        body=OBJECT,
        answer=obj("playthroughId sessions resources", sessions=ARRAY),
        limit=IMPORT_BODY.default,
    ),
    Endpoint(
        "POST",
        "/host/renderer-tokens",
        "host",
        renderer_token,
        "A token for remote renderers of some playthroughs.",
        body=obj("playthroughIds expiresInS operationId", playthroughIds=ARRAY, expiresInS={"type": "number"}),
        answer=obj("token", token=STRING),
    ),
)
