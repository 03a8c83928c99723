"""Appending versions, and the quota that every new content is counted against (spec/mvu.md §0.8, §1.4)."""

from __future__ import annotations

from typing import Any

from runtime.ledger.contents import CONTENTS, QUOTA_ITEMS, QUOTAS
from runtime.ledger.contract import Row, Transaction
from runtime.ledger.limits import PLAY_STORAGE
from runtime.ledger.tables import COUNTERS, VERSIONS
from runtime.mvu import resources
from runtime.values.canonical import sha
from runtime.values.rows import InnkeeperError


def quota_owner(session: Row | None, resource_id: str) -> str:
    """Whose quota a content counts against: the playthrough, else the session, else the shared resource."""
    if session is None:
        return f"resource:{resource_id}"
    if session["playthrough_id"] is not None:
        return f"playthrough:{session['playthrough_id']}"
    return f"session:{session['id']}"


def charge(
    tx: Transaction, session: Row | None, content_key: str, resource_id: str = "", limit: int | None = None
) -> None:
    """Count a content once for its owner; ``PLAY_STORAGE_LIMIT`` when the quota would be exceeded."""
    owner = quota_owner(session, resource_id)
    row = tx.get(CONTENTS, content_key)
    if row is None or tx.get(QUOTA_ITEMS, owner, row["hash"]) is not None:
        return
    quota = tx.get(QUOTAS, owner)
    used = 0 if quota is None else quota["bytes"]
    allowed = limit if limit is not None else _quota_limit(tx)
    if used + row["size"] > allowed:
        raise InnkeeperError(
            "PLAY_STORAGE_LIMIT",
            f"expected at most {allowed} bytes of history, found {used} stored and {row['size']} more: prune the history or fork",
            {"limit": allowed, "used": used, "needed": row["size"]},
        )
    tx.insert(QUOTA_ITEMS, {"owner": owner, "hash": row["hash"], "size": row["size"]})
    tx.put(QUOTAS, {"owner": owner, "bytes": used + row["size"]})


def _quota_limit(tx: Transaction) -> int:
    row = tx.get(COUNTERS, PLAY_STORAGE.name)
    return PLAY_STORAGE.default if row is None else int(row["value"])


def append_version(
    tx: Transaction,
    resource: Row,
    session: Row | None,
    *,
    kind: str,
    content: str,
    data: dict[str, Any],
    source: dict[str, Any] | None = None,
    version_key: str | None = None,
    message: tuple[str | None, int, int | None] | None = None,
    fingerprint: str | None = None,
    operation_id: str | None = None,
    error: str | None = None,
) -> Row:
    """Append one version and move the resource's revision; a failed one keeps the current content.

    ``message`` is ``(id, seq, turn)`` of the reply that the version stands on.
    """
    charge(tx, session, content, resource["id"])
    revision = resource["revision"] + 1
    counter = tx.select(VERSIONS, {"resource_id": resource["id"]}, order=("ordinal",), descending=True, limit=1)
    ordinal = counter[0]["ordinal"] + 1 if counter else 0
    key = version_key or sha({"id": resource["id"], "operationId": operation_id or f"{kind}:{ordinal}"})
    message_id, message_seq, turn = message or (None, -1, None)
    row: Row = {
        "resource_id": resource["id"],
        "ordinal": ordinal,
        "version_key": key,
        "revision": revision,
        "kind": kind,
        "session_id": None if session is None else session["id"],
        "message_id": message_id,
        "message_seq": message_seq,
        "turn": turn,
        "fingerprint": fingerprint,
        "content": content,
        "parent_key": resource["current_key"],
        "operation_id": operation_id,
        "error": error,
        "data": {**data, **({"source": source} if source is not None else {})},
    }
    tx.insert(VERSIONS, row)
    if error is None:
        resources.change_resource(tx, resource, revision=revision, current_key=key, current_content=content)
    else:
        resources.change_resource(tx, resource, revision=revision)
    return row
