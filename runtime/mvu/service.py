"""The public face of MVU variables: the seed's service table, and the state source of the session host (spec/mvu.md).

Every method is one transaction. Errors are :class:`InnkeeperError` with the codes of ``spec/mvu.md`` §2.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.mvu import engine, prompts, records, resources, seeds
from runtime.mvu.bindings import Bindings
from runtime.mvu.cards import CardShelf
from runtime.mvu.configured import install_configured
from runtime.mvu.edits import Edits
from runtime.mvu.facts import Facts
from runtime.mvu.grants import RenderingGrants
from runtime.mvu.ingest import Ingest, Prepared
from runtime.mvu.instances import Instances
from runtime.mvu.policy import Handler, UsagePolicy, validate_config
from runtime.mvu.processors import Processors
from runtime.mvu.scopes import CardScope, Evidence, TraceScope, find_evidence, read_card_scope, read_trace_scope
from runtime.mvu.snapshot import snapshot
from runtime.sessions import store
from runtime.sessions.events import Event
from runtime.sessions.host import SessionHost
from runtime.sessions.sources import Cut, EndedTurn, Receipt
from runtime.values.rows import InnkeeperError
from sandbox import Sandbox

Signal = Callable[[], bool]
"""Answers ``True`` once the caller has given up; asked right before a commit."""


class Cancelled(Exception):
    """The caller's signal was set before the commit; nothing was changed."""


class MvuService:
    """MVU variables on a ledger; ``sessions=None`` refuses instance writes with ``MVU_SESSION_LEASE``."""

    name = "mvu"

    def __init__(
        self,
        ledger: Ledger,
        sessions: SessionHost | None = None,
        *,
        sandbox: Sandbox | None = None,
        deployment: str | None = None,
        new_id: Callable[[], str] | None = None,
        clock: Callable[[], int] | None = None,
        configured: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.ledger = ledger
        self.sessions = sessions
        self.deployment = deployment or (sessions.deployment if sessions is not None else str(uuid.uuid4()))
        self._new_id = new_id or (sessions.new_id if sessions is not None else lambda: str(uuid.uuid4()))
        self._clock = clock or (sessions.now if sessions is not None else engine.system_clock)
        self.shelf = CardShelf()
        self.policy = UsagePolicy()
        self.observations = Facts(ledger, self._clock)
        self.processors = Processors(sandbox, self.shelf, self._new_id)
        self.instances = Instances(self.shelf, self._clock)
        self.grants = RenderingGrants(self._new_id)
        self._ingest = Ingest(self.processors, self.policy, self.observations, self._clock)
        self._edits = Edits(self.observations, self._clock, lambda: self.policy.mode)
        self.bindings = Bindings(
            ledger,
            self.grants,
            self.observations,
            deployment=self.deployment,
            new_id=self._new_id,
            clock=self._clock,
            notify=self._notify_write,
        )
        self.grants.on_revoked(self.bindings.grant_ended)
        self._disposed = False
        if configured:
            install_configured(ledger, self.shelf, configured, self._clock)
        if sessions is not None:
            sessions.sources.append(self)

    # -- state source of the session host --------------------------------------------------------------------------

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

    def turn_ended(self, tx: Transaction, session: Row, ended: EndedTurn, prepared: Prepared) -> list[Receipt]:
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

    # -- reading ----------------------------------------------------------------------------------------------------

    def _processor(self, tx: Transaction) -> Callable[[Row], Mapping[str, Any] | None]:
        return lambda resource: self.processors.view(tx, resource)

    def _session(self, tx: Transaction, scope: TraceScope) -> Row | None:
        if scope.session_id is None:
            return None
        session = store.session_row(tx, scope.session_id)
        if session["seed_ticket"] is not None:
            raise InnkeeperError(
                "MVU_SEED_PENDING", f"session {scope.session_id!r} waits for its seed; install it first"
            )
        return session

    def _bound(self, tx: Transaction, resource_id: object, scope: TraceScope) -> tuple[Row | None, Row | None]:
        """``(resource, session)``; a resource of another session is ``SCOPE_MISMATCH``."""
        identifier = resources.check_resource_id(resource_id)
        session = self._session(tx, scope)
        if session is not None:
            self._require_seed(tx, session)
        resource = resources.resource_row(tx, identifier)
        if resource is not None and session is not None and not resources.binds(resource, session["id"]):
            raise InnkeeperError(
                "SCOPE_MISMATCH", f"the resource {identifier} is not bound to session {session['id']!r}"
            )
        return resource, session

    def _require_seed(self, tx: Transaction, session: Row) -> None:
        """A forked session whose card has state needs an installed seed (spec/mvu.md §9.1)."""
        if session["parent_id"] is None or session["inherited"] == 0:
            return
        character = store.selection_row(tx, session["id"])["character_id"]
        if character is None:
            return
        template_id = resources.character_template_id(character)
        own = resources.resource_row(tx, resources.instance_id(template_id, store.identity(session)))
        if own is None and self.instances._parent_has(tx, session, template_id):
            raise InnkeeperError(
                "MVU_SEED_REQUIRED", f"session {session['id']!r} was forked without a seed: capture and install one"
            )

    def list(self, scope: object = None, signal: Signal | None = None) -> list[dict[str, Any]]:
        """The records that a scope may read; ``{}`` or authority only: all of the deployment."""
        wanted = read_trace_scope(scope or {}, need_session=False)

        def job(tx: Transaction) -> list[dict[str, Any]]:
            session = self._session(tx, wanted)
            if session is None:
                from runtime.ledger.tables import RESOURCES

                rows = tx.select(RESOURCES, order=("id",))
            else:
                self._require_seed(tx, session)
                rows = resources.session_resources(tx, session, active=False)
            return [records.record(tx, row, wanted, self.policy.mode, self._processor(tx), session) for row in rows]

        return self.ledger.read(job)

    def read(self, resource_id: object, scope: object = None, signal: Signal | None = None) -> dict[str, Any] | None:
        """One record, or ``None``; the scope may name a place in the past."""
        wanted = read_trace_scope(scope or {}, current_only=False, need_session=False)

        def job(tx: Transaction) -> dict[str, Any] | None:
            resource, session = self._bound(tx, resource_id, wanted)
            if resource is None:
                return None
            return records.record(tx, resource, wanted, self.policy.mode, self._processor(tx), session)

        return self.ledger.read(job)

    def history(self, resource_id: object, scope: object, *, include_before: bool = False) -> list[dict[str, Any]]:
        """The versions of a resource that a session can see."""
        wanted = read_trace_scope(scope or {}, need_session=False)

        def job(tx: Transaction) -> list[dict[str, Any]]:
            resource, session = self._bound(tx, resource_id, wanted)
            return [] if resource is None else records.history(tx, resource, session, include_before=include_before)

        return self.ledger.read(job)

    def facts(self, resource_id: object, scope: object) -> dict[str, Any]:
        """``{records, unavailable, maxRecords}`` of one resource in one session."""
        from runtime.mvu.service_limits import FACT_RECORDS

        wanted = read_trace_scope(scope)

        def job(tx: Transaction) -> dict[str, Any]:
            resource, session = self._bound(tx, resource_id, wanted)
            found = (
                []
                if resource is None or session is None
                else self.observations.of_session(tx, resource["id"], session["id"])
            )
            return {"records": found, "unavailable": False, "maxRecords": FACT_RECORDS.default}

        return self.ledger.read(job)

    # -- trusted edits ----------------------------------------------------------------------------------------------

    def _write(self, job: Callable[[Transaction], Any], signal: Signal | None) -> Any:
        if self._disposed:
            raise InnkeeperError("MVU_DISPOSED", "the service has ended")

        def guarded(tx: Transaction) -> Any:
            answer = job(tx)
            if self._disposed:
                raise InnkeeperError("MVU_DISPOSED", "the service has ended")
            if signal is not None and signal():
                raise Cancelled
            return answer

        return self.ledger.write(guarded)

    def _resource(self, tx: Transaction, resource_id: object, scope: TraceScope) -> Row:
        resource, _ = self._bound(tx, resource_id, scope)
        if resource is None:
            raise InnkeeperError("MVU_MISSING", f"no resource has the id {resource_id!r:.80}")
        if not resources.is_shared(resource) and self.sessions is None:
            raise InnkeeperError("MVU_SESSION_LEASE", "this service has no session host: instances cannot be written")
        return resource

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
        wanted = read_trace_scope(scope or {}, current_only=True, need_session=False)

        def job(tx: Transaction) -> dict[str, Any]:
            resource = self._resource(tx, resource_id, wanted)
            answer = self._edits.update(tx, resource, content, expected_revision, operation_id, wanted)
            self._notify_resource(tx, resource, wanted)
            return answer

        answer: dict[str, Any] = self._write(job, signal)
        return answer

    def copy(self, resource_id: object, new_id: object, scope: object, signal: Signal | None = None) -> dict[str, Any]:
        """A new shared resource with the current content; answers its record."""
        wanted = read_trace_scope(scope or {}, need_session=False)

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
        wanted = read_trace_scope(scope or {}, need_session=False)

        def job(tx: Transaction) -> dict[str, Any]:
            resource = self._resource(tx, resource_id, wanted)
            return self._edits.set_management_mode(tx, resource, mode, expected_revision, operation_id, wanted)

        answer: dict[str, Any] = self._write(job, signal)
        return answer

    def reset_greeting(self, session_id: str, operation_id: str) -> dict[str, Any]:
        """Build the values of the current greeting anew; ``MVU_READ_ONLY`` after the first turn (spec/mvu.md §0.11)."""
        from runtime.sessions.operations import check_operation_id, once

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
        from runtime.sessions.operations import check_operation_id

        check_operation_id(operation_id)
        receipts = self.ingest(session_id, message_id=message_id)
        return {"messageId": message_id, "receipts": receipts}

    def ingest(self, session_id: str, *, message_id: str | None = None) -> list[Receipt]:
        """Apply every completed reply that no version stands for; replies that were applied answer their receipt."""
        pending = self.ledger.read(lambda tx: self._completed(tx, session_id, message_id))
        receipts: list[Receipt] = []
        for ended in pending:
            assert ended.reply is not None
            prepared = self.prepare(session_id, [(ended.turn, ended.reply, ended.user_text)])

            def job(tx: Transaction, ended: EndedTurn = ended, prepared: Prepared = prepared) -> list[Receipt]:
                session = store.session_row(tx, session_id)
                found = self._ingest.turn_ended(tx, session, ended, prepared)
                if self.sessions is not None:
                    self.sessions.notify(tx, session_id, "write")
                return found

            receipts.extend(self._write(job, None))
        return receipts

    def _completed(self, tx: Transaction, session_id: str, message_id: str | None) -> list[EndedTurn]:
        session = store.session_row(tx, session_id)
        found: list[EndedTurn] = []
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

    # -- policies, processors, observation ----------------------------------------------------------------------------

    def register_usage(self, handler: Handler, provider_id: str | None = None) -> Callable[[], None]:
        """Register a usage policy; returns a disposer (spec/mvu.md §10)."""
        return self.policy.register(handler, provider_id)

    def register_command_processor(self, resource_id: str, source: object) -> tuple[dict[str, Any], Callable[[], None]]:
        """Register a helper for a resource: ``(receipt, disposer)`` (spec/mvu.md §6)."""
        known = self.ledger.read(lambda tx: resources.resource_row(tx, resource_id))
        if known is None:
            raise InnkeeperError("MVU_MISSING", f"no resource has the id {resource_id!r:.80}")
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
        from runtime.mvu.configured import allocate_explicit

        allocate_explicit(tx, self.instances, session)

    # -- snapshots and card writes ------------------------------------------------------------------------------------

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

    def _notify_write(self, tx: Transaction, session: Row, resource_id: str) -> None:
        if self.sessions is not None:
            self.sessions.notify(tx, session["id"], "write", resourceId=resource_id)

    def _notify_resource(self, tx: Transaction, resource: Row, scope: TraceScope) -> None:
        if self.sessions is None:
            return
        if resource["session_id"] is not None:
            self.sessions.notify(tx, resource["session_id"], "write", resourceId=resource["id"])
        else:
            self.sessions.notify(tx, scope.session_id or "*", "write", resourceId=resource["id"])

    # -- prompts ------------------------------------------------------------------------------------------------------

    def resolve_request(
        self, session_id: str, *, preview: bool = False, turn: int | None = None, step: int | None = None
    ) -> list[dict[str, Any]]:
        """The state blocks of a request: one per enabled resource, each with its diagnostics (spec/mvu.md §10)."""

        def job(tx: Transaction) -> list[dict[str, Any]]:
            session = store.session_row(tx, session_id)
            self._require_seed(tx, session)
            return self._blocks(tx, session, preview, turn, step)

        return self.ledger.read(job)

    def _blocks(
        self, tx: Transaction, session: Row, preview: bool, turn: int | None, step: int | None
    ) -> list[dict[str, Any]]:
        blocks = []
        for resource in resources.session_resources(tx, session):
            if resource["source_error"] is not None:
                raise InnkeeperError(
                    resource["source_error"], f"the resource {resource['id']} has a source error: repair the card"
                )
            variables = tx.load_content(resource["current_content"])
            event = {"preview": preview, "turn": turn, "step": step}
            decision = prompts.decide_request(self.policy, resource, session["id"], event, variables)
            if decision.enabled:
                blocks.append(prompts.state_block(resource, variables, resource["revision"], decision.config_revision))
        return blocks

    def resolve_prompt_dependency(
        self, scope: object, event: object, resource_id: str | None = None
    ) -> dict[str, Any] | None:
        """The variables that a template or world-book entry may read, with a lease; ``None`` when denied (spec/mvu.md §10)."""
        wanted = read_trace_scope(scope)
        if not isinstance(scope, Mapping) or set(scope) != {"authority", "sessionId"}:
            raise InnkeeperError("MVU_SCOPE", "expected exactly authority and sessionId in the scope of a dependency")
        checked = prompts.check_dependency_event(event)
        if resource_id is None and checked["usage"] != "world-book-variable":
            raise InnkeeperError("MVU_SCOPE", "expected the id of the resource that the template reads")

        def job(tx: Transaction) -> tuple[Any, ...] | None:
            session = store.session_row(tx, wanted.session_id or "")
            if resource_id is not None:
                known, _ = self._bound(tx, resource_id, wanted)
                if known is None:
                    return None
            rows = [r for r in resources.session_resources(tx, session) if resource_id in (None, r["id"])]
            if (
                len(rows) != 1
                or rows[0]["source_error"] is not None
                or not prompts.same_character(tx, rows[0], session)
            ):
                return None
            turn = checked.get("turn") if checked["usage"] == "world-book-variable" and not checked["preview"] else None
            content, revision = prompts.prompt_content(tx, rows[0], session, turn)
            variables = tx.load_content(content)
            decision = prompts.decide_request(self.policy, rows[0], session["id"], checked, variables, strict=True)
            if not decision.enabled:
                return None
            return rows[0], variables, revision, decision, prompts.request_counters(tx, session)

        found = self.ledger.read(job)
        if found is None:
            return None
        resource, variables, revision, decision, counters = found

        def current() -> bool:
            if self._disposed or not decision.current(self.policy):
                return False
            now = self.ledger.read(
                lambda tx: prompts.request_counters(tx, store.session_row(tx, wanted.session_id or ""))
            )
            return bool(now == counters)

        if not current():
            return None
        return {
            "id": resource["id"],
            "adapterId": "tavern.mvu",
            "content": engine.served(variables, None),
            "revision": revision,
            "configRevision": decision.config_revision,
            "checkCurrent": current,
        }

    def get_management_defaults(self, resource_id: str, scope: object = None) -> dict[str, Any] | None:
        """The source's defaults for a manager, or ``None`` (spec/mvu.md §10)."""
        wanted = read_trace_scope(scope or {}, need_session=False)

        def job(tx: Transaction) -> tuple[Row, list[Any] | None] | None:
            resource, session = self._bound(tx, resource_id, wanted)
            if resource is None:
                return None
            if session is not None and not prompts.same_character(tx, resource, session):
                return None
            return resource, None if session is None else prompts.request_counters(tx, session)

        found = self.ledger.read(job)
        if found is None:
            return None
        resource, counters = found
        epoch = self.policy.epoch

        def current() -> bool:
            if self._disposed or self.policy.epoch != epoch:
                return False
            again = self.ledger.read(job)
            return again is not None and again[1] == counters

        return prompts.management_defaults(resource, wanted, current)

    def list_bound(self, scope: object) -> dict[str, Any]:
        """``{items, revision, checkCurrent}`` of a session's resources, without their contents."""
        from runtime.values.canonical import sha

        try:
            wanted = read_trace_scope(scope)
        except InnkeeperError as error:
            raise InnkeeperError("SOURCE_BOUND_SCOPE", error.message) from None

        def job(tx: Transaction) -> tuple[Any, ...]:
            session = store.session_row(tx, wanted.session_id or "")
            items = tuple(records.summary(tx, row) for row in resources.session_resources(tx, session))
            return items, prompts.request_counters(tx, session)

        items, counters = self.ledger.read(job)

        def current() -> bool:
            return not self._disposed and bool(self.ledger.read(job)[1] == counters)

        return {"items": items, "revision": sha(counters), "checkCurrent": current}

    def has_module(self, session_id: str) -> bool:
        """Whether an active, healthy resource is bound to the session."""

        def job(tx: Transaction) -> bool:
            session = store.session_row(tx, session_id)
            rows = resources.session_resources(tx, session)
            return any(row["source_error"] is None and not row["definition"].get("legacy") for row in rows)

        return self.ledger.read(job)

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
