"""Trusted edits: update, copy, stored management mode (spec/mvu.md §11b)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import OPERATIONS, RESOURCES
from runtime.mvu import engine, resources
from runtime.mvu.facts import Facts
from runtime.mvu.scopes import TraceScope
from runtime.mvu.service_limits import OPERATION_ID
from runtime.mvu.storage import append_version
from runtime.sessions import store
from runtime.values.canonical import sha
from runtime.values.rows import InnkeeperError


def check_operation(value: object, code: str = "MVU_OPERATION") -> str:
    """An operation id of 1 to 200 characters."""
    if not isinstance(value, str) or not 1 <= len(value) <= OPERATION_ID.default:
        raise InnkeeperError(
            code, f"expected an operationId of 1 to {OPERATION_ID.default} characters, found {value!r:.80}"
        )
    return value


def check_revision(value: object) -> int:
    """An expected revision: a non-negative whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InnkeeperError(
            "MVU_OPERATION", f"expected expectedRevision as a non-negative whole number, found {value!r:.80}"
        )
    return value


def compare_revision(resource: Row, expected: int) -> None:
    """``REVISION_CONFLICT`` with the current revision when the caller saw another one."""
    if resource["revision"] != expected:
        raise InnkeeperError(
            "REVISION_CONFLICT",
            f"expected revision {expected}, found {resource['revision']}: read the state again and decide anew",
            {"currentRevision": resource["revision"]},
        )


def idempotency_conflict(operation_id: str) -> InnkeeperError:
    """The same operation id with another request."""
    return InnkeeperError(
        "MVU_IDEMPOTENCY_CONFLICT", f"operation {operation_id!r:.80} was used for another request; choose a new id"
    )


def editable_session(tx: Transaction, resource: Row, scope: TraceScope) -> Row | None:
    """The session an edit runs in: the instance's own, the scope's for shared states."""
    session_id = resource["session_id"] or scope.session_id
    if session_id is None:
        return None
    session = store.session_row(tx, session_id)
    if session["seed_ticket"] is not None:
        raise InnkeeperError("MVU_SEED_PENDING", f"session {session_id!r} waits for its seed")
    if session["running"] and not resources.is_shared(resource):
        raise InnkeeperError("MVU_READ_ONLY", f"a turn of session {session_id!r} is running; wait for its end")
    return session


def manual_source(
    tx: Transaction, resource: Row, session: Row | None, operation_id: str
) -> tuple[dict[str, Any], tuple[str | None, int, int | None]]:
    """The source of a manual version and the place it stands on (spec/mvu.md §1.4)."""
    current = resources.version_by_key(tx, resource["id"], resource["current_key"])
    if current is None and resource["origin"] and resource["current_key"] is not None:
        found = resources.version_at(
            tx, resource, resource["origin"]["historyEnd"], session_id=str(resource["session_id"]), exact=False
        )
        current = found[0] if found else None
    if not resources.is_shared(resource) and current is not None and current["message_seq"] >= 0:
        source = {**(current["data"].get("source") or {}), "manual": True, "card": False}
        if session is not None:
            source["sessionId"] = session["id"]
        return source, (current["message_id"], current["message_seq"], current["turn"])
    seq = -1
    if session is not None and (reply := store.last_reply(tx, session)) is not None:
        seq = reply.seq
    source = {"messageId": f"manual:{operation_id}", "messageSeq": seq, "manual": True}
    if session is not None:
        source["sessionId"] = session["id"]
    return source, (f"manual:{operation_id}", seq, None)


def _receipt(tx: Transaction, resource: Row, revision: int, content: str, scope: TraceScope) -> dict[str, Any]:
    """The receipt of a manual update (spec/mvu.md §1.4); made anew for a replay, so that states are stored once."""
    return {
        "id": resource["id"],
        "type": "mvu-state",
        "content": engine.served(tx.load_content(content), None),
        "revision": revision,
        "scope": scope.to_json(),
        "authority": "local",
    }


class Edits:
    """The edits of trusted callers."""

    def __init__(self, facts: Facts, clock: Callable[[], int], mode: Callable[[], str]) -> None:
        self._facts = facts
        self._clock = clock
        self._mode = mode

    def update(
        self, tx: Transaction, resource: Row, content: object, expected: object, operation_id: object, scope: TraceScope
    ) -> dict[str, Any]:
        """Replace the current content: normalised, the source's schema restored, Zod applied once, compare-and-set."""
        session = editable_session(tx, resource, scope)
        operation = check_operation(operation_id)
        revision = check_revision(expected)
        if scope.historical:
            raise InnkeeperError("MVU_SCOPE", "a historical scope cannot be edited: use the current one")
        if resource["definition"].get("legacy"):
            raise InnkeeperError(
                "MVU_MIGRATION_REQUIRED", "a legacy state is read-only: restore its values into a new session"
            )
        if resource["source_error"] is not None or resource["current_content"] is None:
            raise InnkeeperError(
                "MVU_READ_ONLY", f"the resource has the source error {resource['source_error']}: repair the card"
            )
        current = tx.load_content(resource["current_content"])
        normalised = engine.normalise_edit(current, content)
        fingerprint = sha({"content": normalised, "scope": scope.to_json(), "expectedRevision": revision})
        known = resources.by_operation(tx, resource["id"], operation)
        if known is not None:
            if known["fingerprint"] != fingerprint:
                raise idempotency_conflict(operation)
            return _receipt(tx, resource, known["revision"], known["content"], scope)
        compare_revision(resource, revision)
        candidate = engine.validate_edit(normalised, self._clock())
        key = tx.store_content(candidate, near=resource["current_content"]).key
        source, message = manual_source(tx, resource, session, operation)
        last = None if session is None else session["last_turn"]
        append_version(
            tx,
            resource,
            session,
            kind="manual",
            content=key,
            data={"action": {"turn": last or 0}},
            source=source,
            version_key=sha({"id": resource["id"], "operationId": operation}),
            message=message,
            fingerprint=fingerprint,
            operation_id=operation,
        )
        fact = {
            "id": resource["id"],
            "eventId": operation,
            "on": "manual_update",
            "cause": "user-interaction",
            "phase": "completed",
        }
        fact.update(detail="manual-update", revision=resource["revision"], turn=last or 0)
        if scope.session_id is not None or session is not None:
            fact["sessionId"] = scope.session_id or (session or {}).get("id")
        self._facts.keep(tx, [fact])
        return _receipt(tx, resource, resource["revision"], key, scope)

    def copy(self, tx: Transaction, resource: Row, new_id: object) -> Row:
        """A new shared resource with the current content at revision 0 (spec/mvu.md §11b)."""
        if resource["definition"].get("legacy"):
            raise InnkeeperError("MVU_MIGRATION_REQUIRED", "a legacy state cannot be copied")
        if not isinstance(new_id, str) or resources.ID_FORM.match(new_id) is None:
            raise InnkeeperError("MVU_ID_CONFLICT", f"expected newId such as mvu:campaign-copy, found {new_id!r:.80}")
        if resources.resource_row(tx, new_id) is not None or resources.template_row(tx, new_id) is not None:
            raise InnkeeperError("MVU_ID_CONFLICT", f"a resource {new_id!r} exists already")
        template = resources.template_row(tx, resource["template_id"])
        discovered = template is not None and bool(template["discovered"])
        sessions = (
            [resource["session_id"]] if resource["session_id"] is not None else resources.bound_sessions(resource)
        )
        row: Row = {
            "id": new_id,
            "template_id": None,
            "session_id": None,
            "revision": 0,
            "current_key": None,
            "current_content": resource["current_content"],
            "initial_content": resource["current_content"],
            "management": "managed" if discovered else "native",
            "definition": {
                "name": resource["definition"].get("name") or new_id,
                "sharing": "shared",
                "sessionIds": sessions,
                "copiedFrom": {"id": resource["id"], "revision": resource["revision"]},
            },
            "source_error": None,
            "recovery_error": None,
            "origin": None,
        }
        tx.insert(RESOURCES, row)
        return row

    def set_management_mode(
        self, tx: Transaction, resource: Row, mode: object, expected: object, operation_id: object, scope: TraceScope
    ) -> dict[str, Any]:
        """Store a preference; what is in force depends on the registered manager (spec/mvu.md §11b)."""
        operation = check_operation(operation_id, "MVU_CONFIG")
        if mode not in ("managed", "native"):
            raise InnkeeperError("MVU_CONFIG", f"expected mode managed or native, found {mode!r:.80}")
        if resource["definition"].get("legacy"):
            raise InnkeeperError("MVU_MIGRATION_REQUIRED", "a legacy state has no management mode")
        revision = check_revision(expected)
        fingerprint = sha({"mode": mode, "expectedRevision": revision, "scope": scope.to_json()})
        known = tx.get(OPERATIONS, f"management:{resource['id']}", operation)
        if known is not None:
            if known["fingerprint"] != fingerprint:
                raise idempotency_conflict(operation)
            stored: dict[str, Any] = known["receipt"]
            return stored
        compare_revision(resource, revision)
        resources.change_resource(tx, resource, management=mode, revision=revision + 1)
        answer = {
            "id": resource["id"],
            "managementMode": self._mode(),
            "revision": revision + 1,
            "storedManagementMode": mode,
        }
        tx.insert(
            OPERATIONS,
            {
                "scope": f"management:{resource['id']}",
                "operation_id": operation,
                "fingerprint": fingerprint,
                "receipt": answer,
            },
        )
        return answer
