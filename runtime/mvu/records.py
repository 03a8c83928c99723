"""What readers see of a resource: records, history, historical coordinates (spec/mvu.md §3, §8, §11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.mvu import engine, resources
from runtime.mvu.scopes import TraceScope
from runtime.sessions import store
from runtime.sessions.events import ASSISTANT_MESSAGE
from runtime.values.canonical import sha
from runtime.values.rows import InnkeeperError

ProcessorView = Callable[[Row], Mapping[str, Any] | None]


class View:
    """One content of a resource: the current one, or the one at a place in the past."""

    def __init__(self, content: str | None, before: str | None, revision: int, version_key: str | None) -> None:
        self.content = content
        self.before = before
        self.revision = revision
        self.version_key = version_key


def version_view(version: Row, owner: Row, resource: Row, session: Row | None) -> View:
    """The view of one stored version; an inherited one carries its inherited key."""
    key = version["version_key"]
    if owner["id"] != resource["id"] and session is not None:
        key = sha(["inherited", store.identity(session), key])
    return View(version["content"], version["data"].get("before"), version["revision"], key)


def current_view(tx: Transaction, resource: Row) -> View:
    """The current content."""
    version = resources.version_by_key(tx, resource["id"], resource["current_key"])
    before = None if version is None else version["data"].get("before")
    return View(resource["current_content"], before, resource["revision"], resource["current_key"])


def variables_of(tx: Transaction, view: View) -> dict[str, Any]:
    """The whole envelope as served: ``display_data`` and ``delta_data`` derived (design §12)."""
    if view.content is None:
        return {}
    before = None if view.before is None else tx.load_content(view.before)
    return engine.served(tx.load_content(view.content), before)


def historical_view(tx: Transaction, resource: Row, session: Row, scope: TraceScope) -> View:
    """The content at a reply of the past (spec/mvu.md §8): initial content at revision 0 before the first version."""
    seq = scope.end_event
    if scope.message_id is not None:
        place = _message_seq(tx, resource, session, scope)
        if isinstance(place, View):
            return place
        seq = place
    if seq is None:
        raise InnkeeperError("MVU_SCOPE", "expected messageId or endEventId in a historical scope")
    found = resources.version_at(tx, resource, seq, session_id=session["id"], exact=False)
    if found is None and resources.is_shared(resource):
        found = _ancestor_version(tx, resource, session, seq)
    if found is None:
        return View(_first_content(resource), None, 0, None)
    return version_view(found[0], found[1], resource, session)


def _message_seq(tx: Transaction, resource: Row, session: Row, scope: TraceScope) -> int | View:
    message_id = scope.message_id or ""
    event = store.find_message(tx, session, message_id)
    if event is not None and event.type == ASSISTANT_MESSAGE:
        if scope.end_event is not None and scope.end_event != event.seq:
            raise InnkeeperError(
                "MVU_SCOPE", f"messageId stands at event {event.seq}, endEventId names {scope.end_event}"
            )
        return event.seq
    for version, owner in resources.all_versions(tx, resource):
        source = version["data"].get("source") or {}
        if source.get("messageId") == message_id and source.get("sessionId") in (None, session["id"]):
            if scope.end_event is not None and scope.end_event != version["message_seq"]:
                raise InnkeeperError("MVU_SCOPE", "messageId and endEventId name different places")
            return version_view(version, owner, resource, session)
    raise InnkeeperError("MVU_SCOPE", f"the session has no message {message_id!r:.80}")


def _ancestor_version(tx: Transaction, resource: Row, session: Row, seq: int) -> tuple[Row, Row] | None:
    """For shared states: the version on the same reply in the session that it was inherited from."""
    current = session
    while current["parent_id"] is not None:
        upto = min(seq, current["inherited"] - 1)
        current = store.session_row(tx, current["parent_id"], deleted=True)
        found = resources.version_at(tx, resource, upto, session_id=current["id"], exact=False)
        if found is not None:
            return found
    return None


def _first_content(resource: Row) -> str | None:
    content: str | None = resource["initial_content"]
    return content


def record(
    tx: Transaction,
    resource: Row,
    scope: TraceScope,
    mode: str,
    processor: ProcessorView,
    session: Row | None = None,
) -> dict[str, Any]:
    """The record of a resource in a scope (spec/mvu.md §3)."""
    historical = scope.historical and session is not None
    view = (
        historical_view(tx, resource, session, scope)
        if historical and session is not None
        else current_view(tx, resource)
    )
    template = resources.template_row(tx, resource["template_id"])
    definition = resource["definition"] if template is None else {**template["definition"], **resource["definition"]}
    answer: dict[str, Any] = {}
    helper = processor(resource)
    if helper is not None:
        answer["commandProcessor"] = dict(helper)
    answer.update(
        {
            "id": resource["id"],
            "name": definition.get("name") or resource["id"],
            "type": "mvu-state",
            "authority": "local",
            "managementMode": mode,
            "storedManagementMode": resource["management"],
        }
    )
    error = resource["source_error"] or (resource["recovery_error"] or {}).get("code")
    if error is not None:
        answer["sourceError"] = error
    if definition.get("legacy"):
        answer["legacy"] = True
        answer["capabilities"] = {"edit": False, "copy": False, "management": False}
    if resource["template_id"] is not None:
        answer["templateId"] = resource["template_id"]
        answer["instance"] = definition.get("instance")
    if resource["origin"]:
        answer["inheritedFrom"] = resource["origin"]["source"]
    if template is not None and template["discovered"]:
        answer["source"] = {"kind": "character", "characterId": template["character_id"], "discovered": True}
    answer.update(
        {
            "scope": scope.to_json(),
            "content": variables_of(tx, view),
            "revision": view.revision,
            "currentRevision": resource["revision"],
            "historical": historical,
            "versionKey": view.version_key,
        }
    )
    return answer


def summary(tx: Transaction, resource: Row) -> dict[str, Any]:
    """One line of a session's ``resources``."""
    found: dict[str, Any] = {
        "id": resource["id"],
        "templateId": resource["template_id"],
        "revision": resource["revision"],
    }
    error = resource["source_error"] or (resource["recovery_error"] or {}).get("code")
    if error is not None:
        found["sourceError"] = error
    return found


def history(tx: Transaction, resource: Row, session: Row | None, *, include_before: bool) -> list[dict[str, Any]]:
    """The versions of a session, the inherited ones first; ``before`` only where it is known (spec/mvu.md §11)."""
    found: list[dict[str, Any]] = []
    for version, owner in resources.all_versions(tx, resource):
        if resources.is_shared(resource) and session is not None and version["session_id"] not in (None, session["id"]):
            continue
        inherited = owner["id"] != resource["id"]
        view = version_view(version, owner, resource, session)
        entry: dict[str, Any] = {
            "key": view.version_key,
            "revision": 0 if inherited else version["revision"],
            "kind": version["kind"],
            "source": _source_json(version, session if inherited else None),
            "fingerprint": version["fingerprint"],
            "parentKey": version["parent_key"],
            "variables": variables_of(tx, view),
        }
        if inherited:
            entry["inheritedFrom"] = {
                "versionKey": version["version_key"],
                "revision": version["revision"],
                "sessionId": owner["session_id"],
            }
        for name in ("operation_id", "error"):
            if version[name] is not None:
                entry["operationId" if name == "operation_id" else name] = version[name]
        for name in ("configRevision", "sourceRevision", "action", "receipt", "reason"):
            if name in version["data"]:
                entry[name] = version["data"][name]
        if include_before:
            before = version["data"].get("before")
            entry["beforeAvailable"] = before is not None and not inherited
            if entry["beforeAvailable"]:
                entry["before"] = tx.load_content(before).get("stat_data")
        found.append(entry)
    return found


def _source_json(version: Row, child: Row | None) -> dict[str, Any]:
    source = dict(version["data"].get("source") or {})
    if child is not None:
        source.update(
            sessionId=child["id"], sessionCreatedAt=child["created_at"], sessionFormatVersion=child["format_version"]
        )
        source.update(inherited=True, manual=False, card=False)
    return source
