"""Playthroughs and their timelines: nodes (places in the story) and variants (versions of the reply there).

A node hangs on one variant of its parent. The active path starts at a root node and follows the active variants; where
several nodes hang on one variant (a turn that was stopped and retried), the one visited last, by its ``stamp``, leads on.
Every write moves the playthrough's ``epoch``, so that a binding taken before it ends (spec/mvu.md §0.9).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import NODES, PLAYTHROUGHS, SESSIONS, VARIANTS
from runtime.sessions.store import change_session
from runtime.values.rows import InnkeeperError


def playthrough_row(tx: Transaction, playthrough_id: str) -> Row:
    """The row of a playthrough, or ``PLAYTHROUGH_NOT_FOUND``."""
    row = tx.get(PLAYTHROUGHS, playthrough_id)
    if row is None:
        raise InnkeeperError(
            "PLAYTHROUGH_NOT_FOUND", f"expected the id of a playthrough, found {playthrough_id!r:.100}"
        )
    return row


def touch(tx: Transaction, playthrough: Row, **changes: Any) -> None:
    """Write a playthrough and move its epoch."""
    changes["epoch"] = playthrough["epoch"] + 1
    tx.update(PLAYTHROUGHS, (playthrough["id"],), changes)
    playthrough.update(changes)


def active_path(tx: Transaction, playthrough_id: str) -> list[Row]:
    """The nodes of the active path, first to last."""
    by_parent: dict[tuple[str | None, str | None], list[Row]] = {}
    for node in tx.select(NODES, {"playthrough_id": playthrough_id}, order=("ordinal",)):
        by_parent.setdefault((node["parent_node"], node["parent_variant"]), []).append(node)
    path: list[Row] = []
    place: tuple[str | None, str | None] = (None, None)
    while by_parent.get(place):
        node = max(by_parent[place], key=lambda row: row["stamp"])
        path.append(node)
        place = (node["node_id"], node["active_variant"])
    return path


def head_variant(tx: Transaction, playthrough: Row) -> Row | None:
    """The variant at the end of the active path: the writable head of the timeline."""
    if playthrough["head_node"] is None:
        return None
    node = tx.get(NODES, playthrough["id"], playthrough["head_node"])
    return None if node is None else tx.get(VARIANTS, playthrough["id"], node["node_id"], node["active_variant"])


def timeline_json(tx: Transaction, playthrough_id: str) -> list[dict[str, Any]]:
    """The timeline as the HTTP contract shows it; ``active`` is the active variant of a node on the active path."""
    active = {node["node_id"]: node["active_variant"] for node in active_path(tx, playthrough_id)}
    variants: dict[str, list[dict[str, Any]]] = {}
    for row in tx.select(VARIANTS, {"playthrough_id": playthrough_id}, order=("ordinal",)):
        variants.setdefault(row["node_id"], []).append(
            {
                "variantId": row["variant_id"],
                "sessionId": row["session_id"],
                "messageId": row["message_id"],
                "endEventId": row["end_event"],
            }
        )
    nodes = tx.select(NODES, {"playthrough_id": playthrough_id}, order=("ordinal",))
    return [
        {
            "nodeId": node["node_id"],
            "turn": node["turn"],
            "active": active.get(node["node_id"]),
            "variants": variants.get(node["node_id"], []),
        }
        for node in nodes
    ]


def add_reply(
    tx: Transaction, session: Row, turn: int, message_id: str, end_event: int, new_id: Callable[[], str]
) -> tuple[str, str] | None:
    """Enter a completed reply into the session's timeline: ``(node id, variant id)``, or ``None`` without a timeline."""
    if session["playthrough_id"] is None:
        return None
    playthrough = playthrough_row(tx, session["playthrough_id"])
    attach = session["attach"] or {}
    node_id = attach.get("node")
    ordinal = attach.get("ordinal", turn)
    variant_id = new_id()
    if node_id is None:
        node_id = new_id()
        tx.insert(
            NODES,
            {
                "playthrough_id": playthrough["id"],
                "node_id": node_id,
                "turn": turn,
                "parent_node": attach.get("parentNode"),
                "parent_variant": attach.get("parentVariant"),
                "active_variant": variant_id,
                "ordinal": ordinal,
                "stamp": playthrough["epoch"] + 1,
            },
        )
    else:
        tx.update(NODES, (playthrough["id"], node_id), {"active_variant": variant_id})
    siblings = tx.select(VARIANTS, {"playthrough_id": playthrough["id"], "node_id": node_id})
    tx.insert(
        VARIANTS,
        {
            "playthrough_id": playthrough["id"],
            "node_id": node_id,
            "variant_id": variant_id,
            "session_id": session["id"],
            "message_id": message_id,
            "end_event": end_event,
            "ordinal": len(siblings),
        },
    )
    change_session(tx, session, attach={"parentNode": node_id, "parentVariant": variant_id, "ordinal": ordinal + 1})
    if attach.get("node") is not None or not _extends_head(tx, playthrough, attach):
        _follow(tx, playthrough, node_id, variant_id)
    touch(tx, playthrough, head_node=node_id)
    return node_id, variant_id


def _extends_head(tx: Transaction, playthrough: Row, attach: dict[str, Any]) -> bool:
    """Whether the new node hangs on the active head, so that no ancestor needs a look."""
    parent = attach.get("parentNode")
    if playthrough["head_node"] != parent:
        return False
    node = tx.get(NODES, playthrough["id"], parent) if parent is not None else None
    return node is None or node["active_variant"] == attach.get("parentVariant")


def _follow(tx: Transaction, playthrough: Row, node_id: str, variant_id: str) -> None:
    """Make ``variant_id`` of ``node_id`` active, and every ancestor that it hangs on."""
    place: str | None = node_id
    active: str | None = variant_id
    while place is not None:
        node = tx.get(NODES, playthrough["id"], place)
        if node is None:
            return
        tx.update(NODES, (playthrough["id"], place), {"active_variant": active, "stamp": playthrough["epoch"] + 1})
        place, active = node["parent_node"], node["parent_variant"]


def activate(tx: Transaction, playthrough: Row, node_id: str, variant_id: str) -> None:
    """Make one variant the active one of its node; what hangs on other variants leaves the active path."""
    variant = tx.get(VARIANTS, playthrough["id"], node_id, variant_id)
    if variant is None:
        raise InnkeeperError(
            "HOST_REQUEST",
            f"the playthrough has no variant {variant_id!r:.80} at node {node_id!r:.80}: read its timeline",
        )
    _follow(tx, playthrough, node_id, variant_id)
    path = active_path(tx, playthrough["id"])
    touch(tx, playthrough, head_node=path[-1]["node_id"] if path else None)


def place_of(tx: Transaction, playthrough_id: str, session_id: str, message_id: str) -> Row | None:
    """The variant that stands for a reply of ``session_id``."""
    rows = tx.select(VARIANTS, {"session_id": session_id})
    for row in rows:
        if row["playthrough_id"] == playthrough_id and row["message_id"] == message_id:
            return row
    return None


def copy_path(tx: Transaction, source: str, target: str, node_id: str, variant_id: str) -> None:
    """Let playthrough ``target`` refer to the nodes of ``source`` up to one variant."""
    place: str | None = node_id
    active: str | None = variant_id
    while place is not None:
        node = tx.get(NODES, source, place)
        if node is None:
            return
        variant = tx.get(VARIANTS, source, place, active)
        tx.put(NODES, {**node, "playthrough_id": target, "active_variant": active})
        if variant is not None:
            tx.put(VARIANTS, {**variant, "playthrough_id": target, "ordinal": 0})
        place, active = node["parent_node"], node["parent_variant"]


def member_sessions(tx: Transaction, playthrough: Row) -> list[str]:
    """The sessions that belong to a playthrough, the root first."""
    rows = tx.select(SESSIONS, {"playthrough_id": playthrough["id"]})
    others = [row["id"] for row in rows if row["id"] != playthrough["root_session_id"] and not row["deleted"]]
    return [playthrough["root_session_id"], *sorted(others)]


def is_member(tx: Transaction, playthrough: Row, session_id: str) -> bool:
    """Whether a session is the root or stands in the timeline (spec/mvu.md §7.4, greeting)."""
    if session_id == playthrough["root_session_id"]:
        return True
    return any(row["playthrough_id"] == playthrough["id"] for row in tx.select(VARIANTS, {"session_id": session_id}))
