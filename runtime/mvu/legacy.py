"""Legacy ledgers ``mvu-state.json``: shown read-only, never written, never inherited (spec/mvu.md §11).

Their states appear with ``MVU_MIGRATION_REQUIRED``; a session that such a state belongs to gets no state of its own
until its values are restored into a new session by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.ledger.limits import PLAY_STORAGE
from runtime.ledger.tables import RESOURCES
from runtime.mvu import envelope, resources
from runtime.sessions import events as kinds
from runtime.sessions import store
from runtime.values.jsontext import loads_strict
from runtime.values.rows import InnkeeperError

REQUIRED = "MVU_MIGRATION_REQUIRED"
_DEPTH = 128
_ACTIVITY = (kinds.USER_MESSAGE, kinds.ASSISTANT_MESSAGE, kinds.TURN_START)


def load_legacy(ledger: Ledger, path: Path) -> list[str]:
    """Show the states of a legacy ledger; answers their ids. The file is only read."""
    raw = path.read_bytes()
    if len(raw) > PLAY_STORAGE.default:
        raise InnkeeperError(
            "PLAY_STORAGE_LIMIT", f"expected a legacy ledger of at most {PLAY_STORAGE.default} bytes, found {len(raw)}"
        )
    document = loads_strict(raw, depth=_DEPTH)
    if (
        not isinstance(document, dict)
        or document.get("version") != 1
        or not isinstance(document.get("resources"), dict)
    ):
        raise InnkeeperError("MVU_VERSION", f"expected a legacy ledger of version 1 with resources: {path.name}")
    found: dict[str, Any] = document["resources"]

    def job(tx: Transaction) -> None:
        for resource_id, record in found.items():
            _show(tx, resource_id, record)

    ledger.write(job)
    return list(found)


def _show(tx: Transaction, resource_id: str, record: Any) -> None:
    identifier = resources.check_resource_id(resource_id, "MVU_VERSION")
    if not isinstance(record, Mapping) or not isinstance(record.get("definition"), Mapping):
        raise InnkeeperError("MVU_VERSION", f"the legacy state {identifier} has no definition")
    known = resources.resource_row(tx, identifier)
    if known is not None and not known["definition"].get("legacy"):
        raise InnkeeperError(REQUIRED, f"the legacy state {identifier} has the id of a live one: rename one of them")
    versions = [item for item in record.get("versions", []) if isinstance(item, Mapping)]
    content = envelope.normalise(_current(record, versions))
    definition = record["definition"]
    sessions = [item for item in definition.get("sessionIds", []) if isinstance(item, str)]
    recorded = sorted(
        {
            str((item.get("source") or {}).get("sessionId"))
            for item in versions
            if isinstance(item.get("source"), Mapping)
        }
    )
    key = tx.store_content(content).key
    row: Row = {
        "id": identifier,
        "template_id": None,
        "session_id": None,
        "revision": int(record.get("revision") or 0),
        "current_key": None,
        "current_content": key,
        "initial_content": key,
        "management": "native",
        "definition": {"legacy": True, "name": definition.get("name"), "sessionIds": sessions, "recorded": recorded},
        "source_error": REQUIRED,
        "recovery_error": None,
        "origin": None,
    }
    tx.put(RESOURCES, row)


def _current(record: Mapping[str, Any], versions: list[Mapping[str, Any]]) -> Any:
    key = record.get("currentKey")
    found = next((item["variables"] for item in reversed(versions) if key is not None and item.get("key") == key), None)
    return found if found is not None else record["definition"].get("initial")


def refuse_legacy(tx: Transaction, session: Row) -> None:
    """``MVU_MIGRATION_REQUIRED`` for a session that a legacy state belongs to (spec/mvu.md §9.1)."""
    for row in resources.shared_rows(tx):
        definition = row["definition"]
        if not definition.get("legacy"):
            continue
        named = session["id"] in definition["sessionIds"] or session["id"] in definition["recorded"]
        if named or ("*" in definition["sessionIds"] and _has_activity(tx, session)):
            raise InnkeeperError(
                REQUIRED,
                f"session {session['id']!r} holds the legacy state {row['id']}: begin a new session and restore its values",
            )


def _has_activity(tx: Transaction, session: Row) -> bool:
    return any(event.type in _ACTIVITY for event in store.read_events(tx, session))
