"""Moving a running session to a new declaration: shown first, applied as one version that can be undone (design §12)."""

from __future__ import annotations

from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.mvu import engine, resources
from runtime.mvu.edits import (
    check_operation,
    check_revision,
    compare_revision,
    editable_session,
    idempotency_conflict,
    manual_source,
)
from runtime.mvu.playground import compiled
from runtime.mvu.scopes import TraceScope
from runtime.mvu.storage import append_version
from runtime.values.canonical import sha
from runtime.values.patch import diff
from runtime.values.rows import InnkeeperError


def plan(current: dict[str, Any], source: str, clock: int) -> dict[str, Any]:
    """What a new declaration makes of a state: kept, defaulted, dropped, changed, refused; nothing is stored."""
    schema = compiled(source)
    before = current["stat_data"]
    result = schema.parse(before, clock=clock)
    answer: dict[str, Any] = {"interpreterVersion": schema.version, "accepted": result.ok, "refused": []}
    if not result.ok:
        answer["refused"] = [issue.to_json() for issue in result.issues]
        answer.update(kept=0, defaulted=[], dropped=[], changed=[])
        return answer
    changes = diff(before, result.value)
    answer["defaulted"] = [change for change in changes if change["op"] == "add"]
    answer["dropped"] = [change for change in changes if change["op"] == "remove"]
    answer["changed"] = [change for change in changes if change["op"] == "replace"]
    answer["kept"] = _leaves(before) - len(answer["dropped"]) - len(answer["changed"])
    answer["after"] = result.value
    return answer


def _leaves(value: Any) -> int:
    count, stack = 0, [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict) and item:
            stack.extend(item.values())
        elif isinstance(item, list) and item:
            stack.extend(item)
        else:
            count += 1
    return count


def migrate(
    tx: Transaction, resource: Row, source: str, expected: object, operation_id: object, scope: TraceScope, clock: int
) -> dict[str, Any]:
    """Give a state a new declaration as one version with source ``migration``; the version before stays in the history."""
    session = editable_session(tx, resource, scope)
    operation = check_operation(operation_id)
    revision = check_revision(expected)
    fingerprint = sha({"migration": source, "expectedRevision": revision})
    known = resources.by_operation(tx, resource["id"], operation)
    if known is not None:
        if known["fingerprint"] != fingerprint:
            raise idempotency_conflict(operation)
        return _answer(resource["id"], known["revision"], known["data"]["plan"])
    compare_revision(resource, revision)
    if resource["current_content"] is None:
        raise InnkeeperError("MVU_READ_ONLY", "the resource has no content to migrate")
    current = tx.load_content(resource["current_content"])
    found = plan(current, source, clock)
    if not found["accepted"]:
        raise InnkeeperError(
            "MVU_SCHEMA", "the new declaration refuses the current values", {"issues": found["refused"]}
        )
    content = {
        key: value for key, value in current.items() if key not in ("schema", "mvu_schema", "update_diagnostics")
    }
    content.update(stat_data=found.pop("after"), mvu_schema=compiled(source).descriptor())
    candidate = engine.normalise_fresh(content)
    key = tx.store_content(candidate, near=resource["current_content"]).key
    manual, message = manual_source(tx, resource, session, operation)
    append_version(
        tx,
        resource,
        session,
        kind="migration",
        content=key,
        data={"plan": found, "before": resource["current_content"]},
        source={**manual, "migration": True},
        message=message,
        fingerprint=fingerprint,
        operation_id=operation,
    )
    return _answer(resource["id"], resource["revision"], found)


def undo(tx: Transaction, resource: Row, expected: object, operation_id: object, scope: TraceScope) -> dict[str, Any]:
    """Take the newest migration back, as one version more; only while nothing followed it."""
    session = editable_session(tx, resource, scope)
    operation = check_operation(operation_id)
    revision = check_revision(expected)
    known = resources.by_operation(tx, resource["id"], operation)
    if known is not None:
        return _answer(resource["id"], known["revision"], known["data"]["plan"])
    compare_revision(resource, revision)
    current = resources.version_by_key(tx, resource["id"], resource["current_key"])
    if current is None or current["kind"] != "migration":
        raise InnkeeperError("MVU_READ_ONLY", "the current version is no migration: there is nothing to undo")
    manual, message = manual_source(tx, resource, session, operation)
    found = {"undone": current["version_key"]}
    append_version(
        tx,
        resource,
        session,
        kind="manual",
        content=current["data"]["before"],
        data={"plan": found},
        source={**manual, "migration": True},
        message=message,
        operation_id=operation,
    )
    return _answer(resource["id"], resource["revision"], found)


def _answer(resource_id: str, revision: int, found: dict[str, Any]) -> dict[str, Any]:
    return {"resourceId": resource_id, "revision": revision, "plan": found}
