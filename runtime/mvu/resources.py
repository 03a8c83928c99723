"""Resources: templates, instances and shared states as rows, and the records that readers see (spec/mvu.md §1, §9)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import CHECKPOINTS, DISCOVERIES, RESOURCES, TEMPLATES, VERSIONS
from runtime.sessions import store
from runtime.values.canonical import sha, text_sha
from runtime.values.rows import InnkeeperError

ID_FORM = re.compile(r"mvu:[A-Za-z0-9_.-]{1,160}\Z")
NEVER = 2**53 - 1
"""An activation boundary that no event reaches."""


def check_resource_id(value: object, code: str = "MVU_SCOPE") -> str:
    """A resource id: ``mvu:`` and 1 to 160 of ``[A-Za-z0-9_.-]`` (spec/mvu.md §1.3)."""
    if not isinstance(value, str) or ID_FORM.match(value) is None:
        raise InnkeeperError(code, f"expected a resource id such as mvu:campaign, found {value!r:.80}")
    return value


def character_template_id(character_id: str) -> str:
    """The template id of a card (spec/mvu.md §1.6)."""
    return "mvu:character-" + text_sha(character_id)[:32]


def instance_id(template_id: str, identity: dict[str, Any]) -> str:
    """The id of a template's instance in one session (spec/mvu.md §1.6)."""
    return "mvu:instance-" + sha([template_id, identity])[:48]


def is_shared(resource: Row) -> bool:
    """Whether the resource is a declared shared state."""
    return resource["session_id"] is None


def bound_sessions(resource: Row) -> list[str]:
    """The sessions a shared resource names; ``*`` stands for all."""
    found = resource["definition"].get("sessionIds", [])
    return [item for item in found if isinstance(item, str)]


def binds(resource: Row, session_id: str) -> bool:
    """Whether a session may see the resource."""
    if not is_shared(resource):
        return bool(resource["session_id"] == session_id)
    named = bound_sessions(resource)
    return "*" in named or session_id in named


def resource_row(tx: Transaction, resource_id: str) -> Row | None:
    """The row of a resource, or ``None``."""
    return tx.get(RESOURCES, resource_id)


def template_row(tx: Transaction, template_id: str | None) -> Row | None:
    """The row of a template, or ``None``."""
    return None if template_id is None else tx.get(TEMPLATES, template_id)


def change_resource(tx: Transaction, resource: Row, **changes: Any) -> None:
    """Change columns of a resource, in the store and in the row."""
    tx.update(RESOURCES, (resource["id"],), changes)
    resource.update(changes)


def shared_rows(tx: Transaction) -> list[Row]:
    """All shared resources, by id."""
    return tx.select(RESOURCES, {"session_id": None}, order=("id",))


def is_active(tx: Transaction, resource: Row, session: Row) -> bool:
    """Whether the session's selection lets this resource take part in turns and prompts (spec/mvu.md §9.1)."""
    if is_shared(resource):
        return not resource["definition"].get("legacy")
    template = template_row(tx, resource["template_id"])
    if template is None or template["character_id"] is None:
        return True
    return bool(store.selection_row(tx, session["id"])["character_id"] == template["character_id"])


def session_resources(tx: Transaction, session: Row, *, active: bool = True) -> list[Row]:
    """The resources of a session: its instances and the shared ones that name it."""
    own = tx.select(RESOURCES, {"session_id": session["id"]}, order=("id",))
    shared = [row for row in shared_rows(tx) if binds(row, session["id"])]
    rows = [*own, *shared]
    return [row for row in rows if is_active(tx, row, session)] if active else rows


def dialect_of(tx: Transaction, resource: Row) -> str:
    """The dialect that the resource's replies are read in: its template's choice, ``strict`` without one."""
    template = template_row(tx, resource["template_id"])
    definition = resource["definition"] if template is None else {**template["definition"], **resource["definition"]}
    return str(definition.get("dialect", "strict"))


def activation(tx: Transaction, resource: Row, session_id: str) -> int:
    """The first event of the session that the resource may apply."""
    if resource["template_id"] is None:
        found = resource["definition"].get("activationSeqs", {}).get(session_id, 0)
        return int(found)
    row = tx.get(DISCOVERIES, session_id, resource["template_id"])
    return 0 if row is None else int(row["activation"])


# -- versions and checkpoints, inherited ones included ------------------------------------------------------------


def lineage(tx: Transaction, resource: Row) -> Iterable[tuple[Row, int | None, int | None]]:
    """The resource and its ancestors, each with the last ``message_seq`` and ``revision`` that are inherited from it."""
    current: Row | None = resource
    seq_limit: int | None = None
    revision_limit: int | None = None
    while current is not None:
        yield current, seq_limit, revision_limit
        origin = current["origin"]
        if not origin:
            return
        cut = origin["historyEnd"]
        seq_limit = cut if seq_limit is None else min(seq_limit, cut)
        revision_limit = origin.get("historyRevision")
        current = resource_row(tx, origin["id"])


def inherited_revision(tx: Transaction, resource: Row, owner_id: str) -> int:
    """The newest revision of ``owner_id`` (the resource or an ancestor) that the resource's history holds now."""
    for owner, _, revision_limit in lineage(tx, resource):
        if owner["id"] == owner_id:
            return int(owner["revision"] if revision_limit is None else revision_limit)
    return 0


def own_versions(tx: Transaction, resource: Row) -> list[Row]:
    """The versions stored with this resource, in order."""
    return tx.select(VERSIONS, {"resource_id": resource["id"]}, order=("ordinal",))


def all_versions(tx: Transaction, resource: Row) -> list[tuple[Row, Row]]:
    """``(version, owner)`` of the whole history, the inherited part first."""
    found: list[tuple[Row, Row]] = []
    for owner, seq_limit, revision_limit in lineage(tx, resource):
        rows = own_versions(tx, owner)
        if seq_limit is not None:
            rows = [r for r in rows if 0 <= r["message_seq"] <= seq_limit]
        if revision_limit is not None:
            rows = [r for r in rows if r["revision"] <= revision_limit]
        found[:0] = [(row, owner) for row in rows]
    return found


def version_at(tx: Transaction, resource: Row, seq: int, *, session_id: str, exact: bool) -> tuple[Row, Row] | None:
    """The version that stands at reply ``seq``: on that reply, else (not ``exact``) the newest one before it.

    For instances manual edits on the reply count; for shared states only replies and card writes do (spec/mvu.md §8).
    """
    for owner, seq_limit, revision_limit in lineage(tx, resource):
        upto = seq if seq_limit is None else min(seq, seq_limit)
        equals: dict[str, Any] = {"resource_id": owner["id"]}
        if is_shared(owner):
            equals["session_id"] = session_id
        rows = tx.select(
            VERSIONS,
            equals,
            above=("message_seq", upto if exact else 0),
            below=("message_seq", upto),
            order=("message_seq", "revision") if not is_shared(owner) else ("ordinal",),
            descending=True,
            limit=64 if is_shared(owner) or revision_limit is not None else 1,
        )
        for row in rows:
            if revision_limit is not None and row["revision"] > revision_limit:
                continue
            if is_shared(owner) and row["kind"] == "manual":
                continue
            if exact and row["message_seq"] != seq:
                continue
            return row, owner
    return None


def checkpoint_at(tx: Transaction, resource: Row, session: Row, turn: int) -> Row | None:
    """The checkpoint of a turn, inherited ones included."""
    if is_shared(resource):
        found = tx.get(CHECKPOINTS, resource["id"], session["id"], turn)
        if found is not None or session["parent_id"] is None:
            return found
        return checkpoint_at(tx, resource, store.session_row(tx, session["parent_id"], deleted=True), turn)
    for owner, seq_limit, _ in lineage(tx, resource):
        found = tx.get(CHECKPOINTS, owner["id"], owner["session_id"], turn)
        if found is not None and (seq_limit is None or found["seq"] <= seq_limit):
            return found
    return None


def by_operation(tx: Transaction, resource_id: str, operation_id: str) -> Row | None:
    """The version that an operation stored."""
    rows = tx.select(VERSIONS, {"resource_id": resource_id, "operation_id": operation_id}, limit=1)
    return rows[0] if rows else None


def version_by_key(tx: Transaction, resource_id: str, key: str | None) -> Row | None:
    """The version with this key."""
    if key is None:
        return None
    rows = tx.select(VERSIONS, {"resource_id": resource_id, "version_key": key}, limit=1)
    return rows[0] if rows else None
