"""Command processors: one helper per resource, from its card or from a trusted host (spec/mvu.md §6, §0.13, §0.14).

Helpers run outside of transactions; what they answered is used only while their registration is still the current one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.mvu import resources
from runtime.mvu.cards import CardShelf
from runtime.mvu.commands import Command, CommandError, Parsed, parse_commands
from runtime.mvu.helper.detect import Helper, detect_helper, find_helper, sha256_of
from runtime.mvu.helper.errors import from_sandbox
from runtime.mvu.helper.process import process_reply, read_for_helper
from runtime.values.rows import InnkeeperError
from sandbox import Sandbox
from sandbox.errors import SandboxError

PROTOCOL_VERSION = 1


@dataclass(frozen=True, slots=True)
class Registration:
    """One registration; ``error`` is set when the helper could not be registered."""

    id: str
    source: str
    helper: Helper | None
    listeners: int = 0
    error: InnkeeperError | None = None
    by_host: bool = False

    def view(self) -> dict[str, Any]:
        """What records and snapshots show: the receipt, or why there is none (spec/mvu.md §0.14)."""
        shown: dict[str, Any] = {"protocolVersion": PROTOCOL_VERSION, "registered": self.error is None}
        if self.error is not None:
            shown.update(source=self.source, sha256=sha256_of(self.source))
            shown["error"] = {"code": self.error.code, "message": self.error.message}
            return shown
        shown.update(
            registrationId=self.id, source=self.source, sha256=sha256_of(self.source), listenerCount=self.listeners
        )
        return shown


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """What a helper made of one reply: ``parsed`` is what the reply held, ``kept`` what is to be applied."""

    resource_id: str
    registration_id: str
    kept: tuple[Command, ...] = ()
    dropped: tuple[Any, ...] = ()
    restored: str | None = None
    parsed: Parsed | None = None
    error: Exception | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Processors:
    """The registrations of one service; thread-safe."""

    def __init__(self, sandbox: Sandbox | None, shelf: CardShelf, new_id: Callable[[], str]) -> None:
        self._sandbox = sandbox
        self._shelf = shelf
        self._new_id = new_id
        self._lock = threading.Lock()
        self._current: dict[str, Registration] = {}
        self._found: dict[str, Helper | InnkeeperError | None] = {}

    # -- registration -------------------------------------------------------------------------------------------

    def ensure(self, tx: Transaction, resource: Row) -> Registration | None:
        """The registration of a resource: a host's own, else that of its card's helper, made once and reused."""
        with self._lock:
            known = self._current.get(resource["id"])
        if known is not None and known.by_host:
            return known
        wanted = self._card_helper(tx, resource)
        if wanted is None:
            with self._lock:
                if self._current.get(resource["id"]) is known and known is not None:
                    del self._current[resource["id"]]
            return None
        if isinstance(wanted, InnkeeperError):
            return Registration("", "", None, error=wanted)
        retry = known is not None and known.error is not None and bool(getattr(known.error, "retryable", False))
        if known is not None and known.source == wanted.source and not retry:
            return known
        return self._keep(resource["id"], self._load(resource["id"], wanted), replaces=known)

    def _card_helper(self, tx: Transaction, resource: Row) -> Helper | InnkeeperError | None:
        template = resources.template_row(tx, resource["template_id"])
        sha = None if template is None else self._shelf.sha(tx, template["character_id"])
        if template is None or sha is None:
            return None
        with self._lock:
            if sha in self._found:
                return self._found[sha]
        card = self._shelf.card(tx, template["character_id"])
        found: Helper | InnkeeperError | None
        try:
            found = None if card is None else find_helper(card.helper_texts)
        except InnkeeperError as error:
            found = error
        with self._lock:
            self._found[sha] = found
        return found

    def _load(self, owner: str, helper: Helper, *, by_host: bool = False) -> Registration:
        if self._sandbox is None:
            missing = InnkeeperError(
                "MVU_COMMAND_HOOK_DISPOSED", "this service runs without a sandbox: helpers cannot run"
            )
            return Registration("", helper.source, helper, error=missing, by_host=by_host)
        try:
            count = self._sandbox.register(owner, helper.source, helper.gate)
        except SandboxError as error:
            return Registration("", helper.source, helper, error=from_sandbox(error), by_host=by_host)
        return Registration(self._new_id(), helper.source, helper, count, by_host=by_host)

    def _keep(self, resource_id: str, made: Registration, replaces: Registration | None) -> Registration:
        with self._lock:
            current = self._current.get(resource_id)
            if current is not replaces and current is not None:
                return current
            self._current[resource_id] = made
            return made

    def register(self, resource_id: str, source: object) -> tuple[dict[str, Any], Callable[[], None]]:
        """A trusted host's registration: ``(receipt, disposer)``; it replaces what was registered before."""
        if not isinstance(source, str):
            raise InnkeeperError("MVU_COMMAND_HOOK_DECLARATION", "expected the helper's source as a string")
        helper = detect_helper(source)
        if helper is None:
            raise InnkeeperError("MVU_COMMAND_HOOK_DECLARATION", "the source registers no COMMAND_PARSED listener")
        made = self._load(resource_id, helper, by_host=True)
        if made.error is not None:
            raise made.error
        with self._lock:
            self._current[resource_id] = made

        def dispose() -> None:
            with self._lock:
                if self._current.get(resource_id) is made:
                    del self._current[resource_id]

        return made.view(), dispose

    def view(self, tx: Transaction, resource: Row) -> Mapping[str, Any] | None:
        """``commandProcessor`` of a record; a read never fails because of a helper."""
        try:
            found = self.ensure(tx, resource)
        except InnkeeperError as error:
            return {
                "protocolVersion": PROTOCOL_VERSION,
                "registered": False,
                "error": {"code": error.code, "message": error.message},
            }
        return None if found is None else found.view()

    # -- running ------------------------------------------------------------------------------------------------

    def filter(
        self, tx: Transaction, resource: Row, variables: Any, text: str, user_text: str, *, dialect: str = "strict"
    ) -> FilterOutcome | None:
        """Run the resource's helper over a reply, or ``None`` without one; errors come back inside the outcome."""
        found = self.ensure(tx, resource)
        if found is None:
            return None
        if found.error is not None or found.helper is None or self._sandbox is None:
            return FilterOutcome(resource["id"], found.id, error=found.error)
        parsed: list[Parsed] = []

        def parse(reply: str) -> Parsed:
            parsed.append(parse_commands(reply, dialect=dialect))
            return parsed[-1]

        try:
            readable = read_for_helper(text, parse)
            outcome = process_reply(
                self._sandbox,
                resource["id"],
                found.helper,
                text,
                variables,
                parse,
                user_text=user_text,
                readable=readable,
            )
        except (InnkeeperError, CommandError) as error:
            return FilterOutcome(resource["id"], found.id, error=error)
        return FilterOutcome(
            resource["id"],
            found.id,
            outcome.commands,
            outcome.dropped,
            outcome.restored,
            parsed[-1] if parsed else None,
        )

    def is_current(self, outcome: FilterOutcome) -> bool:
        """Whether the registration that made ``outcome`` is still the resource's."""
        with self._lock:
            current = self._current.get(outcome.resource_id)
        return (current.id if current is not None else "") == outcome.registration_id

    def has(self, resource_id: str) -> bool:
        """Whether the resource has a registration now."""
        with self._lock:
            return resource_id in self._current

    def dispose(self) -> None:
        """Forget all registrations."""
        with self._lock:
            self._current.clear()
