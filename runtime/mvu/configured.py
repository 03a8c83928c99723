"""Explicit resources of the configuration: templates by default, shared states where declared (spec/mvu.md §1.3, §0.12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.ledger.tables import RESOURCES, TEMPLATES
from runtime.mvu import engine, envelope, resources
from runtime.mvu.cards import CardShelf
from runtime.mvu.commands import DIALECTS
from runtime.mvu.storage import charge
from runtime.sessions import store
from runtime.values import yaml12
from runtime.values.rows import InnkeeperError

if TYPE_CHECKING:
    from runtime.mvu.instances import Instances

_KEYS = {
    "id",
    "name",
    "sessionIds",
    "initial",
    "managementMode",
    "sharing",
    "characterId",
    "instructions",
    "commandSource",
    "schemaSource",
    "activationSeqs",
    "instance",
    "dialect",
}


def _wrong(message: str) -> InnkeeperError:
    return InnkeeperError("MVU_CONFIG", message)


def check_definition(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A configured resource; ``MVU_CONFIG`` names what is wrong."""
    unknown = set(raw) - _KEYS
    if unknown:
        raise _wrong(f"a configured resource has the unknown key {sorted(unknown)[0]!r}")
    resources.check_resource_id(raw.get("id"), "MVU_CONFIG")
    if "instance" in raw:
        raise _wrong("a configured resource cannot carry instance: instances are allocated per session")
    sessions = raw.get("sessionIds")
    if (
        not isinstance(sessions, Sequence)
        or isinstance(sessions, str)
        or not all(isinstance(s, str) and s for s in sessions)
    ):
        raise _wrong("expected sessionIds as a list of non-empty strings ('*' for any session)")
    if raw.get("sharing") not in (None, "shared"):
        raise _wrong(f"expected sharing to be 'shared' or absent, found {raw['sharing']!r:.80}")
    if raw.get("managementMode") not in (None, "native", "managed"):
        raise _wrong(f"expected managementMode native or managed, found {raw['managementMode']!r:.80}")
    if raw.get("dialect", "strict") not in DIALECTS:
        raise _wrong(f"expected dialect as one of {', '.join(DIALECTS)}, found {raw['dialect']!r:.80}")
    if "initial" not in raw and "characterId" not in raw and "schemaSource" not in raw:
        raise _wrong("expected initial, characterId or schemaSource: a resource needs something to begin with")
    return dict(raw)


def _initial(tx: Transaction, shelf: CardShelf, definition: Mapping[str, Any], clock: int) -> Any:
    initial = definition.get("initial")
    if isinstance(initial, str):
        data = yaml12.load(initial)
        if not isinstance(data, dict):
            raise _wrong("expected the YAML text of initial to be an object")
        initial = {"stat_data": data}
    if initial is None and definition.get("characterId") is not None:
        card = shelf.card(tx, definition["characterId"])
        if card is None:
            raise _wrong(f"the configured card {definition['characterId']!r} is not imported")
        return engine.initial_envelope(card, clock)
    source = definition.get("schemaSource")
    if source is not None:
        data = None if initial is None else initial.get("stat_data")
        return engine.build_envelope(data, source, clock)
    content = envelope.normalise(initial)
    return engine.validate_edit(content, clock) if "mvu_schema" in content else content


def install_configured(
    ledger: Ledger, shelf: CardShelf, configured: Sequence[Mapping[str, Any]], clock: Callable[[], int]
) -> None:
    """Store configured resources that are not stored yet; a later change of configuration changes no state."""
    definitions = [check_definition(raw) for raw in configured]
    ids = [definition["id"] for definition in definitions]
    if len(set(ids)) != len(ids):
        raise _wrong("two configured resources have the same id")

    def job(tx: Transaction) -> None:
        for definition in definitions:
            if definition.get("sharing") == "shared":
                _install_shared(tx, shelf, definition, clock())
            else:
                _install_template(tx, shelf, definition, clock())

    ledger.write(job)


def _install_shared(tx: Transaction, shelf: CardShelf, definition: dict[str, Any], clock: int) -> None:
    known = resources.resource_row(tx, definition["id"])
    kept = {
        key: definition[key]
        for key in ("name", "sessionIds", "instructions", "activationSeqs", "dialect")
        if key in definition
    }
    if known is not None:
        if resources.is_shared(known):
            resources.change_resource(tx, known, definition={**known["definition"], **kept})
        return
    content = tx.store_content(_initial(tx, shelf, definition, clock))
    charge(tx, None, content.key, definition["id"])
    row: Row = {
        "id": definition["id"],
        "template_id": None,
        "session_id": None,
        "revision": 0,
        "current_key": None,
        "current_content": content.key,
        "initial_content": content.key,
        "management": definition.get("managementMode", "native"),
        "definition": {**kept, "sharing": "shared"},
        "source_error": None,
        "recovery_error": None,
        "origin": None,
    }
    tx.insert(RESOURCES, row)


def _install_template(tx: Transaction, shelf: CardShelf, definition: dict[str, Any], clock: int) -> None:
    known = resources.template_row(tx, definition["id"])
    if known is not None:
        if known["discovered"]:
            raise InnkeeperError("MVU_ID_CONFLICT", f"{definition['id']} is the id of a card's own template")
        return
    error = None
    content = None
    try:
        content = tx.store_content(_initial(tx, shelf, definition, clock)).key
    except InnkeeperError as refused:
        if refused.code in ("MVU_CONFIG", "MVU_INITIALIZATION_MISSING"):
            raise
        error = refused.code
    kept = {
        key: definition[key]
        for key in ("name", "sessionIds", "instructions", "managementMode", "dialect")
        if key in definition
    }
    tx.insert(
        TEMPLATES,
        {
            "id": definition["id"],
            "definition": kept,
            "initial_content": content,
            "character_id": definition.get("characterId"),
            "source_error": error,
            "discovered": 0,
        },
    )


def missing_explicit(tx: Transaction, session: Row) -> list[Row]:
    """The configured templates that name the session and have no instance there yet."""
    found = []
    for template in tx.select(TEMPLATES, {"discovered": 0}):
        named = template["definition"].get("sessionIds", [])
        if "*" not in named and session["id"] not in named:
            continue
        character = template["character_id"]
        if character is not None and store.selection_row(tx, session["id"])["character_id"] != character:
            continue
        resource_id = resources.instance_id(template["id"], store.identity(session))
        if resources.resource_row(tx, resource_id) is None:
            found.append(template)
    return found


def allocate_explicit(tx: Transaction, instances: Instances, session: Row) -> None:
    """Give the session its instances of the configured templates (spec/mvu.md §9.1)."""
    if session["parent_id"] is not None and session["inherited"] > 0:
        return  # a fork's instances come with its seed
    for template in missing_explicit(tx, session):
        instances.allocate(tx, session, template)
