"""The public face of MVU variables: the seed's service table, and the state source of the session host (spec/mvu.md).

Every method is one transaction. Errors are :class:`InnkeeperError` with the codes of ``spec/mvu.md`` §2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.ledger.cancellation import Signal
from runtime.ledger.contract import Row, Transaction
from runtime.mvu import migration, records, resources, seeds
from runtime.mvu.configured import allocate_explicit
from runtime.mvu.helper.registry import Registered
from runtime.mvu.ingest import Prepared
from runtime.mvu.policy import Handler, validate_config
from runtime.mvu.scopes import CardScope, Evidence, TraceScope, find_evidence, read_card_scope, read_trace_scope
from runtime.mvu.service_base import EndedTurns, Receipts
from runtime.mvu.service_prompts import Prompting
from runtime.mvu.service_reading import Reading
from runtime.mvu.snapshot import snapshot
from runtime.sessions import store
from runtime.sessions.branches import Branches
from runtime.sessions.events import Event
from runtime.sessions.host import SessionHost
from runtime.sessions.operations import check_operation_id, once
from runtime.sessions.sources import Cut, EndedTurn
from runtime.values.rows import InnkeeperError


class MvuService(Reading, Prompting):
    """MVU variables on a ledger; ``sessions=None`` refuses instance writes with ``MVU_SESSION_LEASE``."""

    name = "mvu"

    def prepare(self, session_id: str, replies: Sequence[tuple[int, Event, str]]) -> Prepared:
        """Policies and helpers, outside of the transaction."""
        return self._ingest.prepare(self.ledger.read, session_id, replies)

    def selected(self, tx: Transaction, session: Row, selection: Row, *, fresh: bool) -> None:
        """Allocate or wake the selected card's instance."""
        self.instances.selected(tx, session, selection)

    def before_turn(self, tx: Transaction, session: Row, start: Event, user_text: str) -> None:
        """Variables never refuse a turn."""

    def turn_started(self, tx: Transaction, session: Row, start: Event) -> None:
        """Freeze the baseline of the turn."""
        self._allocate_explicit(tx, session)
        self.instances.checkpoint(tx, session, start)

    def turn_ended(self, tx: Transaction, session: Row, ended: EndedTurn, prepared: Prepared) -> Receipts:
        """Apply the turn's reply."""
        return self._ingest.turn_ended(tx, session, ended, prepared)

    def capture(self, tx: Transaction, session: Row, cut: Cut) -> Any | None:
        """Freeze what a child starts with."""
        return seeds.capture(tx, session, cut)

    def install(self, tx: Transaction, parent: Row, child: Row, cut: Cut, item: Any) -> None:
        """Give a child its instances."""
        seeds.install(tx, child, cut, item)

    def describe(self, tx: Transaction, session: Row) -> Mapping[str, Any]:
        """The session's active resources."""
        return {"resources": [records.summary(tx, row) for row in resources.session_resources(tx, session)]}

    def update(
        self,
        resource_id: object,
        content: object,
        expected_revision: object,
        operation_id: object,
        scope: object,
        signal: Signal | None = None,
    ) -> dict[str, Any]:
        """Replace the current content with compare-and-set (spec/mvu.md §11b)."""
        wanted = read_trace_scope({} if scope is None else scope, current_only=True, need_session=False)

        def job(tx: Transaction) -> dict[str, Any]:
            resource = self._resource(tx, resource_id, wanted)
            answer = self._edits.update(tx, resource, content, expected_revision, operation_id, wanted)
            self._notify_resource(tx, resource, wanted)
            return answer

        answer: dict[str, Any] = self._write(job, signal)
        return answer

    def copy(self, resource_id: object, new_id: object, scope: object, signal: Signal | None = None) -> dict[str, Any]:
        """A new shared resource with the current content; answers its record."""
        wanted = read_trace_scope({} if scope is None else scope, need_session=False)

        def job(tx: Transaction) -> dict[str, Any]:
            row = self._edits.copy(tx, self._resource(tx, resource_id, wanted), new_id)
            return records.record(tx, row, wanted, self.policy.mode, lambda _: None)

        answer: dict[str, Any] = self._write(job, signal)
        return answer

    def set_management_mode(
        self,
        resource_id: object,
        mode: object,
        expected_revision: object,
        operation_id: object,
        scope: object,
        signal: Signal | None = None,
    ) -> dict[str, Any]:
        """Store a management preference with compare-and-set."""
        wanted = read_trace_scope({} if scope is None else scope, need_session=False)

        def job(tx: Transaction) -> dict[str, Any]:
            resource = self._resource(tx, resource_id, wanted)
            return self._edits.set_management_mode(tx, resource, mode, expected_revision, operation_id, wanted)

        answer: dict[str, Any] = self._write(job, signal)
        return answer

    def plan_migration(self, session_id: str, resource_id: object, source: object) -> dict[str, Any]:
        """What a new declaration would make of a state; nothing is stored (design §12)."""
        scope = TraceScope(session_id)

        def job(tx: Transaction) -> dict[str, Any]:
            resource = self._resource(tx, resource_id, scope)
            if resource["current_content"] is None or not isinstance(source, str):
                raise InnkeeperError(
                    "MVU_SCHEMA_CODE", "expected source as the text of a declaration, and a state with content"
                )
            found = migration.plan(tx.load_content(resource["current_content"]), source, self._clock())
            return {"resourceId": resource["id"], "revision": resource["revision"], "plan": found}

        return self.ledger.read(job)

    def migrate(
        self,
        session_id: str,
        resource_id: object,
        source: object,
        expected_revision: object,
        operation_id: object,
        *,
        undo: bool = False,
    ) -> dict[str, Any]:
        """Give a state a new declaration as one version, or take the newest migration back (design §12)."""
        scope = TraceScope(session_id)

        def job(tx: Transaction) -> dict[str, Any]:
            resource = self._resource(tx, resource_id, scope)
            if undo:
                answer = migration.undo(tx, resource, expected_revision, operation_id, scope)
            else:
                if not isinstance(source, str):
                    raise InnkeeperError("MVU_SCHEMA_CODE", "expected source as the text of the new declaration")
                answer = migration.migrate(tx, resource, source, expected_revision, operation_id, scope, self._clock())
            self._notify_resource(tx, resource, scope)
            return answer

        answer: dict[str, Any] = self._write(job, None)
        return answer

    def capture_session_seed(
        self,
        session_id: str,
        kind: str,
        at_event_id: int,
        *,
        prefix_end_event_id: int | None = None,
        target_session_id: str | None = None,
    ) -> str | None:
        """Freeze a session for a child that the host creates itself: a ticket, or ``None`` without state (spec/mvu.md §9.4)."""
        branches = Branches(self._host())
        answer = branches.capture_seed(
            session_id, kind, at_event_id, self._new_id(), prefix_end=prefix_end_event_id, target=target_session_id
        )
        ticket: str | None = answer["ticket"]
        return ticket

    def install_session_seed(self, ticket: str, session_id: str) -> list[str]:
        """Install a captured seed into a created child; the same ticket and target again answers the same ids."""
        branches = Branches(self._host())

        def job(tx: Transaction) -> list[str]:
            child = store.session_row(tx, session_id)
            branches.install_seed(tx, ticket, child)
            return [
                row["id"]
                for row in resources.session_resources(tx, child, active=False)
                if not resources.is_shared(row)
            ]

        found: list[str] = self._write(job, None)
        return found

    def _host(self) -> SessionHost:
        if self.sessions is None:
            raise InnkeeperError("MVU_SESSION_LEASE", "this service has no session host: nothing can be inherited")
        return self.sessions

    def reset_greeting(self, session_id: str, operation_id: str) -> dict[str, Any]:
        """Build the values of the current greeting anew; ``MVU_READ_ONLY`` after the first turn (spec/mvu.md §0.11)."""
        check_operation_id(operation_id)

        def job(tx: Transaction) -> dict[str, Any]:
            def produce() -> dict[str, Any]:
                session = store.session_row(tx, session_id)
                if session["last_turn"] is not None:
                    raise InnkeeperError(
                        "MVU_READ_ONLY", f"the opening of session {session_id!r} is over: its first turn has begun"
                    )
                greeting = store.selection_row(tx, session_id)["greeting_index"]
                changed = self.instances.reset_greeting(tx, session, greeting)
                if self.sessions is not None:
                    self.sessions.notify(tx, session_id, "write")
                return {"greetingIndex": greeting, "resources": [records.summary(tx, row) for row in changed]}

            return once(tx, f"session:{session_id}", operation_id, ["greeting/reset"], produce)

        answer: dict[str, Any] = self._write(job, None)
        return answer

    def apply_reply(self, session_id: str, message_id: str, operation_id: str) -> dict[str, Any]:
        """Apply a stored reply again that had failed and was retryable (spec/mvu.md §0.13)."""
        check_operation_id(operation_id)
        receipts = self.ingest(session_id, message_id=message_id)
        return {"messageId": message_id, "receipts": receipts}

    def ingest(self, session_id: str, *, message_id: str | None = None) -> Receipts:
        """Apply every completed reply that no version stands for; replies that were applied answer their receipt."""
        pending = self.ledger.read(lambda tx: self._completed(tx, session_id, message_id))
        receipts: Receipts = []
        for ended in pending:
            assert ended.reply is not None
            prepared = self.prepare(session_id, [(ended.turn, ended.reply, ended.user_text)])

            def job(tx: Transaction, ended: EndedTurn = ended, prepared: Prepared = prepared) -> Receipts:
                session = store.session_row(tx, session_id)
                found = self._ingest.turn_ended(tx, session, ended, prepared)
                if self.sessions is not None:
                    self.sessions.notify(tx, session_id, "write")
                return found

            receipts.extend(self._write(job, None))
        return receipts

    def _completed(self, tx: Transaction, session_id: str, message_id: str | None) -> EndedTurns:
        session = store.session_row(tx, session_id)
        found: EndedTurns = []
        for event in store.read_events(tx, session, session["inherited"]):
            if event.type != "turn/end" or event.reason != "completed":
                continue
            events = store.turn_events(tx, session, event)
            reply = next((e for e in reversed(events) if e.counts()), None)
            if reply is None or (message_id is not None and reply.message_id != message_id):
                continue
            user = next((e.text for e in reversed(events) if e.type == "user/message"), "")
            found.append(EndedTurn(event.turn or 0, event, reply, user))
        if message_id is not None and not found:
            raise InnkeeperError(
                "MESSAGE_NOT_FOUND", f"the session has no completed reply {message_id!r:.80} of its own"
            )
        return found

    def register_usage(self, handler: Handler, provider_id: str | None = None) -> Callable[[], None]:
        """Register a usage policy; returns a disposer (spec/mvu.md §10)."""
        return self.policy.register(handler, provider_id)

    def register_command_processor(self, resource_id: str, source: object) -> Registered:
        """Register a helper for a resource: its receipt and a disposer (spec/mvu.md §6)."""
        if not isinstance(source, str):
            raise InnkeeperError("MVU_COMMAND_HOOK_DECLARATION", "expected the helper's source as a string")
        return self.processors.register(resource_id, source)

    def observe(self, listener: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        """Call ``listener`` with every fact; returns a disposer."""
        return self.observations.observe(listener)

    @staticmethod
    def validate_config(config: object) -> None:
        """Check a manager's configuration; ``MVU_CONFIG`` when it is none of ours."""
        validate_config(config)

    def discover(self, character_id: str) -> dict[str, Any] | None:
        """Keep or repair the template of an imported card; ``None`` when the card declares no variables."""

        def job(tx: Transaction) -> dict[str, Any] | None:
            card = self.shelf.card(tx, character_id)
            if card is None:
                raise InnkeeperError(
                    "CARD_NOT_FOUND", f"expected the id of an imported card, found {character_id!r:.80}"
                )
            template = self.instances.discover(tx, character_id, card)
            if template is None:
                return None
            found = {"templateId": template["id"], "characterId": character_id}
            if template["source_error"] is not None:
                found["sourceError"] = template["source_error"]
            return found

        found: dict[str, Any] | None = self._write(job, None)
        return found

    def checkpoint(self, session_id: str) -> None:
        """Freeze the running turn's baseline again; a second time changes nothing (spec/mvu.md §9.2)."""

        def job(tx: Transaction) -> None:
            session = store.session_row(tx, session_id)
            start = store.last_turn_start(tx, session)
            if start is None or not session["running"]:
                raise InnkeeperError("MVU_BASELINE_REQUIRED", f"session {session_id!r} has no running turn")
            self.turn_started(tx, session, start)

        self._write(job, None)

    def _allocate_explicit(self, tx: Transaction, session: Row) -> None:
        allocate_explicit(tx, self.instances, session)

    def _snapshot(self, tx: Transaction, scope: CardScope, evidence: Evidence) -> dict[str, Any]:
        return snapshot(tx, scope, evidence, self._processor(tx), self.shelf)

    def card_snapshot(self, scope: object) -> dict[str, Any]:
        """``GET /mvu/snapshot``."""
        wanted = read_card_scope(scope)

        def job(tx: Transaction) -> dict[str, Any]:
            evidence = find_evidence(tx, wanted, self.deployment)
            self._require_seed(tx, evidence.session)
            return self._snapshot(tx, wanted, evidence)

        return self.ledger.read(job)

    def create_card_binding(self, request: dict[str, Any]) -> dict[str, Any]:
        """``POST /mvu/card-binding``: ``{capability, snapshot}``."""
        return self.bindings.create(request, self._snapshot)

    def card_write(self, request: dict[str, Any]) -> dict[str, Any]:
        """``POST /mvu/card-write``: the card receipt."""
        return self.bindings.write(request)

    def revoke_card_binding(self, capability: object) -> dict[str, Any]:
        """``POST /mvu/card-binding/revoke``."""
        return self.bindings.revoke(capability)

    def flush(self) -> None:
        """Wait until everything that was queued before is durable."""
        self.ledger.write(lambda tx: None)

    def dispose(self) -> None:
        """End bindings, grants, processors, policies and observers; later writes answer ``MVU_DISPOSED``."""
        self._disposed = True
        self.bindings.dispose()
        self.grants.dispose()
        self.processors.dispose()
        self.policy.end()
