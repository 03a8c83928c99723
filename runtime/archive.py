"""A playthrough as one document: everything that its states rest on, byte-stable and versioned (spec/http.md, export).

The document names rows by table and contents by key; importing it elsewhere gives the same ids, revisions and hashes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runtime.ledger import tables
from runtime.ledger.contents import CONTENTS, QUOTA_ITEMS, QUOTAS
from runtime.ledger.contract import Ledger, Row, Table, Transaction
from runtime.sessions import store, timelines
from runtime.values.rows import InnkeeperError

FORMAT = "innkeeper-playthrough"
VERSION = 1
_BY_PLAYTHROUGH = (tables.NODES, tables.VARIANTS)
_BY_RESOURCE = (tables.VERSIONS, tables.CHECKPOINTS, tables.GREETING_COPIES)
_CONTENT_COLUMNS = ("content", "initial_content", "current_content")
_ORDER: tuple[Table, ...] = (
    tables.CARDS,
    tables.TEMPLATES,
    tables.PLAYTHROUGHS,
    tables.SESSIONS,
    tables.SELECTIONS,
    tables.EVENTS,
    tables.NODES,
    tables.VARIANTS,
    tables.DISCOVERIES,
    tables.RESOURCES,
    tables.VERSIONS,
    tables.CHECKPOINTS,
    tables.GREETING_COPIES,
    tables.SEEDS,
    tables.OPERATIONS,
    tables.DOCUMENTS,
)


def export_playthrough(ledger: Ledger, playthrough_id: str) -> dict[str, Any]:
    """The document of a playthrough; ``PLAYTHROUGH_NOT_FOUND`` for an unknown id."""
    return ledger.read(lambda tx: _export(tx, playthrough_id))


def _export(tx: Transaction, playthrough_id: str) -> dict[str, Any]:
    playthrough = timelines.playthrough_row(tx, playthrough_id)
    sessions = _sessions(tx, playthrough_id)
    rows: dict[str, list[Row]] = {table.name: [] for table in _ORDER}
    rows["sessions"] = sessions
    playthroughs = {s["playthrough_id"] for s in sessions if s["playthrough_id"] is not None} | {playthrough_id}
    for found in sorted(playthroughs):
        row = timelines.playthrough_row(tx, found)
        rows["playthroughs"].append(row)
        for table in _BY_PLAYTHROUGH:
            rows[table.name].extend(tx.select(table, {"playthrough_id": found}, order=table.key))
        rows["operations"].extend(
            tx.select(tables.OPERATIONS, {"scope": f"playthrough:{found}"}, order=("operation_id",))
        )
    for session in sessions:
        for table in (tables.EVENTS, tables.SELECTIONS, tables.DISCOVERIES, tables.DOCUMENTS):
            rows[table.name].extend(tx.select(table, {"session_id": session["id"]}, order=table.key))
        rows["resources"].extend(tx.select(tables.RESOURCES, {"session_id": session["id"]}, order=("id",)))
        rows["operations"].extend(
            tx.select(tables.OPERATIONS, {"scope": f"session:{session['id']}"}, order=("operation_id",))
        )
        rows["seeds"].extend(tx.select(tables.SEEDS, {"source_session": session["id"]}, order=("ticket",)))
    for resource in rows["resources"]:
        for table in _BY_RESOURCE:
            rows[table.name].extend(tx.select(table, {"resource_id": resource["id"]}, order=table.key))
    _templates_and_cards(tx, playthrough, rows)
    keys = sorted(set(_content_keys(rows)))
    contents = [{"key": key, "value": tx.load_content(key)} for key in keys]
    return {
        "format": FORMAT,
        "version": VERSION,
        "playthroughId": playthrough_id,
        "tables": {table.name: [_outward(table, row) for row in rows[table.name]] for table in _ORDER},
        "contents": contents,
    }


def _sessions(tx: Transaction, playthrough_id: str) -> list[Row]:
    """The sessions of the playthrough and every ancestor that they inherit from."""
    found = {row["id"]: row for row in tx.select(tables.SESSIONS, {"playthrough_id": playthrough_id})}
    for row in tx.select(tables.VARIANTS, {"playthrough_id": playthrough_id}):
        found.setdefault(row["session_id"], store.session_row(tx, row["session_id"], deleted=True))
    pending = list(found.values())
    while pending:
        parent_id = pending.pop()["parent_id"]
        if parent_id is not None and parent_id not in found:
            parent = store.session_row(tx, parent_id, deleted=True)
            found[parent_id] = parent
            pending.append(parent)
    return [found[key] for key in sorted(found)]


def _templates_and_cards(tx: Transaction, playthrough: Row, rows: dict[str, list[Row]]) -> None:
    template_ids = sorted({r["template_id"] for r in rows["resources"] if r["template_id"] is not None})
    for template_id in template_ids:
        template = tx.get(tables.TEMPLATES, template_id)
        if template is not None:
            rows["templates"].append(template)
    characters = {playthrough["character_id"]} | {t["character_id"] for t in rows["templates"]}
    characters |= {s["character_id"] for s in rows["selections"]}
    for character in sorted(item for item in characters if item is not None):
        card = tx.get(tables.CARDS, character)
        if card is not None:
            rows["cards"].append(card)


def _content_keys(rows: Mapping[str, Iterable[Row]]) -> Iterator[str]:
    for group in rows.values():
        for row in group:
            for column in _CONTENT_COLUMNS:
                if isinstance(row.get(column), str):
                    yield row[column]
            data = row.get("data")
            if isinstance(data, dict):
                if isinstance(data.get("before"), str):
                    yield data["before"]
                yield from _seed_contents(data.get("items"))


def _seed_contents(items: object) -> Iterator[str]:
    """The contents that a captured seed holds for each source."""
    if not isinstance(items, dict):
        return
    for item in items.get("mvu") or []:
        yield item["content"]
    for name in ("dimensions", "world"):
        content = (items.get(name) or {}).get("content")
        if isinstance(content, str):
            yield content


def _outward(table: Table, row: Row) -> dict[str, Any]:
    return {
        name: {"base64": base64.b64encode(row[name]).decode("ascii")}
        if kind == "blob" and row[name] is not None
        else row[name]
        for name, kind in table.columns.items()
    }


def _inward(table: Table, raw: object) -> Row:
    if not isinstance(raw, dict) or set(raw) != set(table.columns):
        raise _invalid(f"a row of {table.name} does not have the columns {', '.join(table.columns)}")
    row = dict(raw)
    for name, kind in table.columns.items():
        value = row[name]
        if kind == "blob" and value is not None:
            try:
                row[name] = base64.b64decode(value["base64"], validate=True)
            except (TypeError, KeyError, ValueError):
                raise _invalid(f"the column {name} of a row of {table.name} is no base64 text") from None
        elif kind == "text" and value is not None and not isinstance(value, str):
            raise _invalid(f"the column {name} of a row of {table.name} is no text")
        elif kind == "integer" and value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise _invalid(f"the column {name} of a row of {table.name} is no whole number")
    return row


def _invalid(message: str) -> InnkeeperError:
    return InnkeeperError("IMPORT_INVALID", message)


def import_playthrough(ledger: Ledger, document: object) -> dict[str, Any]:
    """Store an exported playthrough; nothing is stored when any part is malformed or an id is taken."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _invalid(f"expected a document of format {FORMAT}")
    if document.get("version") != VERSION:
        raise _invalid(f"expected version {VERSION}, found {document.get('version')!r:.40}: use a matching release")
    found = document.get("tables")
    if not isinstance(found, dict) or not isinstance(document.get("contents"), list):
        raise _invalid("expected tables and contents")
    rows = {table.name: [_inward(table, raw) for raw in found.get(table.name, [])] for table in _ORDER}
    return ledger.write(lambda tx: _import(tx, document, rows))


def _import(tx: Transaction, document: dict[str, Any], rows: dict[str, list[Row]]) -> dict[str, Any]:
    for row in rows["playthroughs"]:
        if tx.get(tables.PLAYTHROUGHS, row["id"]) is not None:
            raise InnkeeperError("PLAYTHROUGH_EXISTS", f"the playthrough {row['id']!r} is here already")
    for row in rows["sessions"]:
        if tx.get(tables.SESSIONS, row["id"]) is not None:
            raise InnkeeperError("SESSION_EXISTS", f"the session {row['id']!r} is here already")
    for content in document["contents"]:
        if not isinstance(content, dict) or set(content) != {"key", "value"}:
            raise _invalid("expected contents as {key, value}")
        stored = tx.store_content(content["value"])
        if stored.key != content["key"]:
            raise _invalid(
                f"the content {content['key']!r:.80} does not have the hash that names it: the document was changed"
            )
    for key in _content_keys(rows):
        if tx.get(CONTENTS, key) is None:
            raise _invalid(f"the content {key!r:.80} is missing from the document")
    for table in _ORDER:
        for row in rows[table.name]:
            if table in (tables.CARDS, tables.TEMPLATES) and tx.get(table, row["id"]) is not None:
                continue
            if tx.get(table, *(row[name] for name in table.key)) is not None:
                raise _invalid(f"a row of {table.name} is here already")
            tx.insert(table, row)
    _charge(tx, rows)
    return {
        "playthroughId": document.get("playthroughId"),
        "sessions": [row["id"] for row in rows["sessions"]],
        "resources": [{"id": row["id"], "revision": row["revision"]} for row in rows["resources"]],
    }


def _charge(tx: Transaction, rows: dict[str, list[Row]]) -> None:
    """Count the imported contents for their playthroughs, so that the quota goes on from there."""
    owners = {
        row["id"]: f"playthrough:{row['playthrough_id']}" if row["playthrough_id"] else f"session:{row['id']}"
        for row in rows["sessions"]
    }
    holders = {row["id"]: owners.get(row["session_id"]) for row in rows["resources"]}
    for row in (*rows["resources"], *rows["versions"]):
        owner = holders.get(row.get("resource_id") or row["id"])
        key = row.get("content") or row.get("current_content")
        content = tx.get(CONTENTS, key) if key is not None else None
        if owner is None or content is None or tx.get(QUOTA_ITEMS, owner, content["hash"]) is not None:
            continue
        quota = tx.get(QUOTAS, owner)
        tx.insert(QUOTA_ITEMS, {"owner": owner, "hash": content["hash"], "size": content["size"]})
        tx.put(QUOTAS, {"owner": owner, "bytes": (0 if quota is None else quota["bytes"]) + content["size"]})
