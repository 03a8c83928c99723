"""What every part of the MVU service stands on: its rooms, and finding a resource in a scope."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from runtime.ledger.cancellation import Cancelled, Signal
from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.mvu import engine, resources
from runtime.mvu.bindings import Bindings
from runtime.mvu.cards import CardShelf
from runtime.mvu.configured import install_configured
from runtime.mvu.edits import Edits
from runtime.mvu.facts import Facts
from runtime.mvu.grants import RenderingGrants
from runtime.mvu.ingest import Ingest
from runtime.mvu.instances import Instances
from runtime.mvu.policy import UsagePolicy
from runtime.mvu.processors import Processors
from runtime.mvu.scopes import TraceScope
from runtime.sessions import store
from runtime.sessions.host import SessionHost
from runtime.sessions.sources import EndedTurn, Receipt, StateSource
from runtime.values.rows import InnkeeperError
from sandbox import Sandbox

Records = list[dict[str, Any]]
Receipts = list[Receipt]
EndedTurns = list[EndedTurn]


class ServiceBase:
    """The rooms of one service and the rules of finding a resource."""

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
        self.processors = Processors(sandbox, self.shelf, self.deployment, self._exists)
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
            sessions.sources.append(cast(StateSource, self))

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
        if own is None and self.instances.parent_has(tx, session, template_id):
            raise InnkeeperError(
                "MVU_SEED_REQUIRED", f"session {session['id']!r} was forked without a seed: capture and install one"
            )

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

    def _exists(self, resource_id: str) -> bool:
        return self.ledger.read(lambda tx: resources.resource_row(tx, resource_id)) is not None

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
