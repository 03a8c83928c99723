"""Snapshots for card renderers: exactly the state of the reply, opening or greeting that a scope names (spec/mvu.md §8)."""

from __future__ import annotations

from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.mvu import engine, resources
from runtime.mvu.cards import CardShelf
from runtime.mvu.records import ProcessorView, View, current_view, variables_of, version_view
from runtime.mvu.scopes import CardScope, Evidence
from runtime.sessions import store
from runtime.values.rows import InnkeeperError


def _answer(scope: CardScope, evidence: Evidence, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {"version": 1, "scope": dict(scope.raw)}
    if evidence.view is not None:
        answer["viewIdentity"] = evidence.view
    answer.update(more)
    return answer


def reply_view(tx: Transaction, resource: Row, evidence: Evidence) -> View | None:
    """The version that stands on exactly the evidence's reply."""
    if evidence.reply is None:
        return None
    owner = store.owner_of(tx, evidence.session, evidence.reply.seq)
    found = resources.version_at(tx, resource, evidence.reply.seq, session_id=owner["id"], exact=True)
    if found is None:
        return None
    version, holder = found
    return version_view(version, holder, resource, evidence.session)


def matching(tx: Transaction, evidence: Evidence) -> list[tuple[Row, View | None]]:
    """The resources that a scope can mean, each with its view; evidence narrows several down (spec/mvu.md §8)."""
    rows = resources.session_resources(tx, evidence.session)
    if evidence.reply is None:
        return [(row, None) for row in rows]
    found = [(row, reply_view(tx, row, evidence)) for row in rows]
    with_version = [pair for pair in found if pair[1] is not None]
    return with_version if len(found) > 1 and with_version else found


def snapshot(
    tx: Transaction, scope: CardScope, evidence: Evidence, processor: ProcessorView, shelf: CardShelf
) -> dict[str, Any]:
    """The snapshot of a card scope (spec/mvu.md §8; spec/http.md)."""
    found = matching(tx, evidence)
    first = {} if scope.mode == "message" else _first_message(tx, evidence, shelf)
    if len(found) > 1 or (scope.mode != "message" and len(found) != 1):
        if not found and scope.mode != "message":
            raise InnkeeperError("MVU_AMBIGUOUS", "expected exactly one active resource in the opening, found none")
        raise InnkeeperError("MVU_AMBIGUOUS", f"expected one resource for this scope, found {len(found)}")
    if not found:
        return _answer(scope, evidence, revision=0, currentRevision=0, status="unavailable", variables={}, **first)
    resource, view = found[0]
    if scope.mode != "message":
        view = _opening_view(tx, scope, resource, evidence)
    if resource["source_error"] is not None and view is not None and scope.mode != "message":
        raise InnkeeperError(
            resource["source_error"], f"the resource {resource['id']} cannot be initialised: repair the card"
        )
    if view is None or view.content is None:
        return _answer(
            scope,
            evidence,
            revision=resource["revision"],
            status="unavailable",
            variables={},
            resourceId=resource["id"],
            **first,
        )
    helper = processor(resource)
    more = {} if helper is None else {"commandProcessor": dict(helper)}
    return _answer(
        scope,
        evidence,
        revision=view.revision,
        currentRevision=resource["revision"],
        status="available",
        variables=variables_of(tx, view),
        resourceId=resource["id"],
        **more,
        **_skipped(tx, view),
        **first,
    )


def _skipped(tx: Transaction, view: View) -> dict[str, Any]:
    """``schemaSkipped``: the statements of the declaration that are not interpreted (spec/mvu.md §0.4)."""
    schema = engine.schema_of(tx.load_content(view.content or ""))
    found = [] if schema is None else list(schema.skipped)
    return {"schemaSkipped": found} if found else {}


def _opening_view(tx: Transaction, scope: CardScope, resource: Row, evidence: Evidence) -> View:
    """Before the first turn the current content, afterwards the frozen baseline of the first turn."""
    start = store.first_turn_start(tx, evidence.session)
    if scope.mode == "initial" or start is None:
        return current_view(tx, resource)
    checkpoint = resources.checkpoint_at(tx, resource, evidence.session, start.turn or 0)
    if checkpoint is None or checkpoint["seq"] != start.seq:
        raise InnkeeperError(
            "MVU_BASELINE_REQUIRED", "the first turn has no frozen baseline: the opening's values are unknown"
        )
    version = resources.version_by_key(tx, checkpoint["resource_id"], checkpoint["version_key"])
    before = None if version is None else version["data"].get("before")
    return View(checkpoint["content"], before, checkpoint["revision"], checkpoint["version_key"])


def _first_message(tx: Transaction, evidence: Evidence, shelf: CardShelf) -> dict[str, Any]:
    """``firstMessage`` of greeting and initial snapshots: the chosen opening after name macros (spec/http.md)."""
    selection = store.selection_row(tx, evidence.session["id"])
    card = shelf.card(tx, selection["character_id"])
    if card is None:
        return {}
    index = selection["greeting_index"]
    text = card.greetings[index] if index < len(card.greetings) else ""
    text = text.replace("{{char}}", card.name)
    user = evidence.playthrough["user_name"]
    if user:
        text = text.replace("{{user}}", user)
    count = 1 + store.message_count(tx, evidence.session)
    return {"firstMessage": {"greetingIndex": index, "text": text, "messageCount": count}}
