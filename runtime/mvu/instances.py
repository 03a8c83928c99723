"""Templates and instances: discovery of a card, allocation per session, greeting copies, checkpoints (spec/mvu.md §9)."""

from __future__ import annotations

from typing import Any

from runtime.cards import Card
from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import CHECKPOINTS, DISCOVERIES, GREETING_COPIES, RESOURCES, TEMPLATES
from runtime.mvu import engine, resources
from runtime.mvu.cards import CardShelf
from runtime.mvu.legacy import refuse_legacy
from runtime.mvu.storage import append_version, charge
from runtime.sessions import store
from runtime.sessions.events import Event
from runtime.values.rows import InnkeeperError


class Instances:
    """What a session's selection allocates, and what each turn freezes."""

    def __init__(self, shelf: CardShelf, clock: Any) -> None:
        self.shelf = shelf
        self.clock = clock

    # -- templates ------------------------------------------------------------------------------------------------

    def discover(self, tx: Transaction, character_id: str, card: Card, dialect: str = "strict") -> Row | None:
        """Keep a template for a card; an existing one stays, but for repair and the v1 to v2 rule (spec/mvu.md §9.1).

        ``None`` when the card has neither InitVar nor declaration.
        """
        template_id = resources.character_template_id(character_id)
        built, error = self._build(card)
        if built is None and error is None:
            return resources.template_row(tx, template_id)
        known = resources.template_row(tx, template_id)
        if known is not None:
            return self._revisit(tx, known, built, error)
        content = None if built is None else tx.store_content(built)
        row: Row = {
            "id": template_id,
            "definition": {"name": card.name, "managementMode": "native", "dialect": dialect},
            "initial_content": None if content is None else content.key,
            "character_id": character_id,
            "source_error": error,
            "discovered": 1,
        }
        tx.insert(TEMPLATES, row)
        return row

    def _build(self, card: Card) -> tuple[Any, str | None]:
        try:
            return engine.initial_envelope(card, self.clock()), None
        except InnkeeperError as error:
            if error.code == "MVU_INITIALIZATION_MISSING":
                return None, None
            return None, error.code

    def _revisit(self, tx: Transaction, known: Row, built: Any, error: str | None) -> Row:
        if built is None or error is not None:
            return known
        repaired = known["source_error"] is not None and not self._has_versions(tx, known)
        if not repaired and not self._recompiles(tx, known, built):
            return known
        content = tx.store_content(built)
        changes = {"initial_content": content.key, "source_error": None}
        tx.update(TEMPLATES, (known["id"],), changes)
        known.update(changes)
        if repaired:
            self._repair_instances(tx, known)
        return known

    @staticmethod
    def _has_versions(tx: Transaction, template: Row) -> bool:
        rows = tx.select(RESOURCES, {"template_id": template["id"]})
        return any(version["kind"] == "reply" for row in rows for version in resources.own_versions(tx, row))

    @staticmethod
    def _recompiles(tx: Transaction, template: Row, built: Any) -> bool:
        """A stored version-1 descriptor of the same text is compiled anew for future instances (spec/mvu.md §5.7)."""
        if template["initial_content"] is None:
            return False
        old = tx.load_content(template["initial_content"]).get("mvu_schema") or {}
        new = built.get("mvu_schema") or {}
        return (
            old.get("interpreterVersion") == 1
            and old.get("source") == new.get("source")
            and new.get("interpreterVersion") != 1
        )

    def _repair_instances(self, tx: Transaction, template: Row) -> None:
        for row in tx.select(RESOURCES, {"template_id": template["id"]}):
            if row["session_id"] is None or row["source_error"] is None:
                continue
            session = store.session_row(tx, row["session_id"], deleted=True)
            tx.put(
                DISCOVERIES,
                {"session_id": session["id"], "template_id": template["id"], "activation": session["next_seq"]},
            )
            tx.delete(GREETING_COPIES, {"resource_id": row["id"]})
            content, error = self._opening(tx, row, template, session)
            resources.change_resource(
                tx,
                row,
                current_content=content,
                initial_content=content,
                source_error=error,
                revision=row["revision"] + 1,
                current_key=None,
            )

    # -- allocation -----------------------------------------------------------------------------------------------

    def selected(self, tx: Transaction, session: Row, selection: Row) -> None:
        """Follow a selection: allocate or wake the card's instance, show the chosen greeting's copy."""
        character_id = selection["character_id"]
        if character_id is None:
            return
        template_id = resources.character_template_id(character_id)
        template = resources.template_row(tx, template_id)
        if template is None:
            return
        resource_id = resources.instance_id(template_id, store.identity(session))
        known = resources.resource_row(tx, resource_id)
        if known is None:
            if (
                session["parent_id"] is not None
                and session["inherited"] > 0
                and self.parent_has(tx, session, template_id)
            ):
                return  # a fork without its seed: reads answer MVU_SEED_REQUIRED
            self._activate(tx, session, template_id)
            self.allocate(tx, session, template, greeting=selection["greeting_index"])
            return
        self._activate(tx, session, template_id)
        self._show_greeting(tx, known, template, session, selection["greeting_index"])

    @staticmethod
    def parent_has(tx: Transaction, session: Row, template_id: str) -> bool:
        """Whether the session's parent has an instance of the template."""
        return bool(tx.select(RESOURCES, {"session_id": session["parent_id"], "template_id": template_id}, limit=1))

    @staticmethod
    def _activate(tx: Transaction, session: Row, template_id: str) -> None:
        tx.put(
            DISCOVERIES, {"session_id": session["id"], "template_id": template_id, "activation": session["next_seq"]}
        )

    def allocate(self, tx: Transaction, session: Row, template: Row, *, greeting: int = 0) -> Row:
        """Give ``session`` its own instance of ``template`` at revision 0."""
        refuse_legacy(tx, session)
        row: Row = {
            "id": resources.instance_id(template["id"], store.identity(session)),
            "template_id": template["id"],
            "session_id": session["id"],
            "revision": 0,
            "current_key": None,
            "current_content": None,
            "initial_content": None,
            "management": template["definition"].get("managementMode", "native"),
            "definition": {"instance": store.identity(session), "greeting": greeting},
            "source_error": template["source_error"],
            "recovery_error": None,
            "origin": None,
        }
        if template["initial_content"] is not None:
            content, error = self._opening(tx, row, template, session)
            row.update(current_content=content, initial_content=content, source_error=error)
            charge(tx, session, content)
        tx.insert(RESOURCES, row)
        return row

    def _opening(self, tx: Transaction, resource: Row, template: Row, session: Row) -> tuple[str, str | None]:
        """The content of the chosen greeting: its stored copy, else built from the template (spec/mvu.md §0.11)."""
        index = int(resource["definition"].get("greeting", 0))
        copy = tx.get(GREETING_COPIES, resource["id"], index)
        if copy is not None:
            return copy["content"], copy["error"]
        content, error, sha = template["initial_content"], None, None
        text, sha = self.shelf.greeting(tx, template["character_id"], index)
        if text is not None:
            try:
                variables = tx.load_content(content)
                built = engine.greeting_envelope(variables, text, self.clock())
                if built is not variables:
                    content = tx.store_content(built, near=content).key
            except InnkeeperError as refused:
                error = refused.code
        tx.put(
            GREETING_COPIES,
            {
                "resource_id": resource["id"],
                "greeting_index": index,
                "content": content,
                "card_sha": sha,
                "error": error,
            },
        )
        return content, error

    def _show_greeting(self, tx: Transaction, resource: Row, template: Row, session: Row, index: int) -> None:
        """Switch the opening: one version, the old greeting keeps what was edited (spec/mvu.md §0.11)."""
        before = int(resource["definition"].get("greeting", 0))
        if before == index or session["last_turn"] is not None or template["initial_content"] is None:
            return
        self._keep_copy(tx, resource, template, before)
        resource["definition"] = {**resource["definition"], "greeting": index}
        content, error = self._opening(tx, resource, template, session)
        resources.change_resource(tx, resource, definition=resource["definition"], source_error=error)
        append_version(tx, resource, session, kind="greeting", content=content, data={"greeting": index})

    def _keep_copy(self, tx: Transaction, resource: Row, template: Row, index: int) -> None:
        if resource["source_error"] is not None:
            return
        _, sha = self.shelf.greeting(tx, template["character_id"], index)
        tx.put(
            GREETING_COPIES,
            {
                "resource_id": resource["id"],
                "greeting_index": index,
                "content": resource["current_content"],
                "card_sha": sha,
                "error": None,
            },
        )

    def reset_greeting(self, tx: Transaction, session: Row, greeting: int) -> list[Row]:
        """Build the current greeting's values anew; a changed card drops all copies (spec/http.md, greeting/reset)."""
        changed = []
        for resource in resources.session_resources(tx, session):
            template = resources.template_row(tx, resource["template_id"])
            if template is None or template["character_id"] is None or resources.is_shared(resource):
                continue
            _, sha = self.shelf.greeting(tx, template["character_id"], greeting)
            copies = tx.select(GREETING_COPIES, {"resource_id": resource["id"]})
            if any(copy["card_sha"] != sha for copy in copies):
                tx.delete(GREETING_COPIES, {"resource_id": resource["id"]})
                self._rebuild_template(tx, template)
            tx.delete(GREETING_COPIES, {"resource_id": resource["id"], "greeting_index": greeting})
            if template["initial_content"] is None:
                continue
            content, error = self._opening(tx, resource, template, session)
            resources.change_resource(tx, resource, source_error=error)
            append_version(
                tx, resource, session, kind="greeting", content=content, data={"greeting": greeting, "reset": True}
            )
            changed.append(resource)
        return changed

    def _rebuild_template(self, tx: Transaction, template: Row) -> None:
        card = self.shelf.card(tx, template["character_id"])
        if card is None:
            return
        built, error = self._build(card)
        if built is not None and error is None:
            content = tx.store_content(built)
            tx.update(TEMPLATES, (template["id"],), {"initial_content": content.key, "source_error": None})
            template.update(initial_content=content.key, source_error=None)

    # -- checkpoints ----------------------------------------------------------------------------------------------

    def checkpoint(self, tx: Transaction, session: Row, start: Event) -> None:
        """Freeze every active resource once per turn (spec/mvu.md §9.2)."""
        for resource in resources.session_resources(tx, session):
            if resource["current_content"] is None:
                continue
            if tx.get(CHECKPOINTS, resource["id"], session["id"], start.turn) is not None:
                continue
            tx.insert(
                CHECKPOINTS,
                {
                    "resource_id": resource["id"],
                    "session_id": session["id"],
                    "turn": start.turn,
                    "seq": start.seq,
                    "revision": resource["revision"],
                    "version_key": resource["current_key"],
                    "content": resource["current_content"],
                    "inherited": None,
                },
            )
