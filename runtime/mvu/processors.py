"""Command processors of resources: from their cards, from plug-ins, from a trusted host (spec/mvu.md §6, §0.13, §0.14).

Helpers run outside of transactions; what they answered is used only while their registration is still the current one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.mvu import resources
from runtime.mvu.cards import CardShelf
from runtime.mvu.commands import Command, Parsed, parse_commands
from runtime.mvu.helper.detect import Helper, find_helper
from runtime.mvu.helper.errors import HelperError
from runtime.mvu.helper.plugins import ProcessorHost
from runtime.mvu.helper.process import process_reply, read_for_helper
from runtime.mvu.helper.registry import HelperRegistry, Registered, failure_record
from runtime.values.rows import InnkeeperError
from sandbox import Sandbox

DISPOSED = "MVU_COMMAND_HOOK_DISPOSED"


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """What a helper made of one reply: ``parsed`` is what the reply held, ``kept`` what is to be applied."""

    resource_id: str
    generation: int
    kept: tuple[Command, ...] = ()
    dropped: tuple[Any, ...] = ()
    restored: str | None = None
    parsed: Parsed | None = None
    error: Exception | None = None


class Processors:
    """The registrations of one service; thread-safe. Without a sandbox every helper answers with an error."""

    def __init__(
        self, sandbox: Sandbox | None, shelf: CardShelf, deployment: str, exists: Callable[[str], bool]
    ) -> None:
        self._sandbox = sandbox
        self._shelf = shelf
        self._registry = None if sandbox is None else HelperRegistry(sandbox, deployment, exists=exists)
        self.plugins = None if self._registry is None else ProcessorHost(self._registry)
        self._lock = threading.Lock()
        self._found: dict[str, Helper | HelperError | None] = {}

    # -- which helper ---------------------------------------------------------------------------------------------

    def _wanted(self, tx: Transaction, resource: Row) -> Helper | None:
        """The helper of a resource: a plug-in's choice, else its card's own; ``HelperError`` when the card is ambiguous."""
        template = resources.template_row(tx, resource["template_id"])
        character = None if template is None else template["character_id"]
        own = self._of_card(tx, character)
        if self.plugins is None:
            return own
        name = (template or resource)["definition"].get("name")
        return self.plugins.helper_for({"id": resource["id"], "characterId": character, "name": name}, own)

    def _of_card(self, tx: Transaction, character: str | None) -> Helper | None:
        sha = self._shelf.sha(tx, character)
        if sha is None:
            return None
        with self._lock:
            known = sha in self._found
            found = self._found.get(sha)
        if not known:
            card = self._shelf.card(tx, character)
            try:
                found = None if card is None else find_helper(card.helper_texts)
            except HelperError as error:
                found = error
            with self._lock:
                self._found[sha] = found
        if isinstance(found, HelperError):
            raise found
        return found

    # -- registration ---------------------------------------------------------------------------------------------

    def register(self, resource_id: str, source: str) -> Registered:
        """A trusted host's registration: receipt and disposer; it replaces what was registered before."""
        if self._registry is None:
            raise HelperError(DISPOSED, "this service runs without a sandbox: helpers cannot run")
        return self._registry.register_command_processor(resource_id, source)

    def view(self, tx: Transaction, resource: Row) -> Mapping[str, Any] | None:
        """``commandProcessor`` of a record; a read never fails because of a helper (spec/mvu.md §0.14)."""
        try:
            helper = self._wanted(tx, resource)
        except InnkeeperError as error:
            return {"protocolVersion": 1, "registered": False, "error": {"code": error.code, "message": error.message}}
        if self._registry is not None:
            if (
                helper is None
                and (current := self._registry.current(resource["id"])) is not None
                and not current.explicit
            ):
                self._registry.forget(resource["id"])
            return self._registry.command_processor(resource["id"], helper)
        if helper is None:
            return None
        return failure_record(helper, HelperError(DISPOSED, "this service runs without a sandbox: helpers cannot run"))

    # -- running --------------------------------------------------------------------------------------------------

    def filter(
        self, tx: Transaction, resource: Row, variables: Any, text: str, user_text: str, *, dialect: str = "strict"
    ) -> FilterOutcome | None:
        """Run the resource's helper over a reply, or ``None`` without one; errors come back inside the outcome."""
        identifier = resource["id"]
        parsed: list[Parsed] = []

        def parse(reply: str) -> Parsed:
            parsed.append(parse_commands(reply, dialect=dialect))
            return parsed[-1]

        try:
            helper = self._current_helper(tx, resource)
            if helper is None:
                return None
            if self._sandbox is None or self._registry is None:
                raise HelperError(DISPOSED, "this service runs without a sandbox: helpers cannot run")
            readable = read_for_helper(text, parse)
            outcome = process_reply(
                self._sandbox, identifier, helper, text, variables, parse, user_text=user_text, readable=readable
            )
        except InnkeeperError as error:
            return FilterOutcome(identifier, self._generation(identifier), error=error)
        reading = parsed[-1] if parsed else None
        generation = self._generation(identifier)
        return FilterOutcome(identifier, generation, outcome.commands, outcome.dropped, outcome.restored, reading)

    def _current_helper(self, tx: Transaction, resource: Row) -> Helper | None:
        """The registered helper; a card's own is registered when it is met first."""
        current = None if self._registry is None else self._registry.current(resource["id"])
        if current is not None and current.explicit:
            return current.helper
        wanted = self._wanted(tx, resource)
        if wanted is not None and self._registry is not None:
            return self._registry.ensure(resource["id"], wanted).helper
        return wanted

    def _generation(self, resource_id: str) -> int:
        return 0 if self._registry is None else self._registry.generation(resource_id)

    def is_current(self, outcome: FilterOutcome) -> bool:
        """Whether the registration that made ``outcome`` is still the resource's."""
        return self._generation(outcome.resource_id) == outcome.generation

    def dispose(self) -> None:
        """End all registrations."""
        if self._registry is not None:
            self._registry.close()
