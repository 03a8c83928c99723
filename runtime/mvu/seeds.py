"""Seeds of MVU instances: what a fork, swipe or retry freezes and gives to the child (spec/mvu.md §9.4)."""

from __future__ import annotations

from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import CHECKPOINTS, DISCOVERIES, RESOURCES
from runtime.mvu import resources
from runtime.mvu.records import version_view
from runtime.mvu.storage import charge
from runtime.sessions import store
from runtime.sessions.sources import Cut
from runtime.values.canonical import sha
from runtime.values.rows import InnkeeperError


def capture(tx: Transaction, session: Row, cut: Cut) -> list[dict[str, Any]] | None:
    """One item for each active instance of the session; ``None`` without any."""
    items = []
    for resource in resources.session_resources(tx, session):
        if resources.is_shared(resource) or resource["current_content"] is None:
            continue
        items.append(
            _fork_item(tx, session, resource, cut) if cut.kind == "fork" else _swipe_item(tx, session, resource, cut)
        )
    return items or None


def _item(
    session: Row, resource: Row, content: str, version_key: str | None, revision: int, cut: Cut
) -> dict[str, Any]:
    return {
        "templateId": resource["template_id"],
        "resourceId": resource["id"],
        "managementMode": resource["management"],
        "content": content,
        "kind": cut.kind,
        "greeting": resource["definition"].get("greeting", 0),
        "source": {
            "id": resource["id"],
            "identity": store.identity(session),
            "versionKey": version_key,
            "revision": revision,
            "contentHash": content,
            "atEventId": cut.at_event,
        },
    }


def _fork_item(tx: Transaction, session: Row, resource: Row, cut: Cut) -> dict[str, Any]:
    if resource["source_error"] is not None:
        raise InnkeeperError(
            resource["source_error"], f"the resource {resource['id']} has a source error: repair the card"
        )
    found = resources.version_at(tx, resource, cut.at_event, session_id=session["id"], exact=True)
    if found is None:
        if cut.at_event < resources.activation(tx, resource, session["id"]):
            return _item(session, resource, resource["initial_content"], None, 0, cut) | {
                "historyOwner": resource["id"],
                "historyEnd": cut.at_event,
                "historyRevision": 0,
            }
        raise InnkeeperError(
            "MVU_SEED_REQUIRED", f"the reply at event {cut.at_event} has no stored version of {resource['id']}"
        )
    version, owner = found
    view = version_view(version, owner, resource, session)
    item = _item(session, resource, version["content"], view.version_key, version["revision"], cut)
    # What is edited in the parent from now on is no part of the child's history.
    limit = resources.inherited_revision(tx, resource, owner["id"])
    return item | {"historyOwner": owner["id"], "historyEnd": cut.at_event, "historyRevision": limit}


def _swipe_item(tx: Transaction, session: Row, resource: Row, cut: Cut) -> dict[str, Any]:
    found = resources.checkpoint_at(tx, resource, session, cut.turn)
    if found is None:
        raise InnkeeperError("MVU_BASELINE_REQUIRED", f"turn {cut.turn} has no checkpoint of {resource['id']}")
    item = _item(session, resource, found["content"], found["version_key"], found["revision"], cut)
    # The checkpoint's own resource holds the history before it; what came between is no part of it.
    return item | {
        "historyOwner": found["resource_id"],
        "historyEnd": cut.inherited - 1,
        "historyRevision": found["revision"],
    }


def install(tx: Transaction, child: Row, cut: Cut, items: list[dict[str, Any]]) -> None:
    """Create the child's instances at revision 0 with read-only, inherited history."""
    for item in items:
        resource_id = resources.instance_id(item["templateId"], store.identity(child))
        if resources.resource_row(tx, resource_id) is not None:
            existing = resources.resource_row(tx, resource_id)
            if existing is not None and (existing["revision"] > 0 or existing["origin"]):
                raise InnkeeperError("MVU_SEED_CONFLICT", f"session {child['id']!r} has state of its own already")
            tx.delete(RESOURCES, {"id": resource_id})
            tx.delete(CHECKPOINTS, {"resource_id": resource_id})
        origin = {
            "id": item["historyOwner"],
            "kind": cut.kind,
            "historyEnd": item["historyEnd"],
            "historyRevision": item["historyRevision"],
            "source": item["source"],
        }
        fork = cut.kind == "fork"
        anchor = sha(["inherited", store.identity(child), item["source"]["versionKey"]]) if fork else None
        charge(tx, child, item["content"], resource_id)
        tx.insert(
            RESOURCES,
            {
                "id": resource_id,
                "template_id": item["templateId"],
                "session_id": child["id"],
                "revision": 0,
                "current_key": anchor,
                "current_content": item["content"],
                "initial_content": item["content"],
                "management": item["managementMode"],
                "definition": {"instance": store.identity(child), "greeting": item.get("greeting", 0)},
                "source_error": None,
                "recovery_error": None,
                "origin": origin,
            },
        )
        # What the child inherits is below its boundary; everything that it adds itself counts.
        tx.put(
            DISCOVERIES,
            {"session_id": child["id"], "template_id": item["templateId"], "activation": child["inherited"]},
        )
