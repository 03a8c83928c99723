"""Reading records, history and facts (spec/mvu.md, service table)."""

from __future__ import annotations

from typing import Any

from runtime.ledger.cancellation import Signal
from runtime.ledger.contract import Transaction
from runtime.ledger.tables import RESOURCES
from runtime.mvu import prompts, records, resources
from runtime.mvu.scopes import read_trace_scope
from runtime.mvu.service_base import Records, ServiceBase
from runtime.mvu.service_limits import FACT_RECORDS
from runtime.sessions import store
from runtime.values.canonical import sha
from runtime.values.rows import InnkeeperError


class Reading(ServiceBase):
    """The reads of the service; each is one consistent snapshot."""

    def list(self, scope: object = None, signal: Signal | None = None) -> Records:
        """The records that a scope may read; ``{}`` or authority only: all of the deployment."""
        wanted = read_trace_scope({} if scope is None else scope, need_session=False)

        def job(tx: Transaction) -> Records:
            session = self._session(tx, wanted)
            if session is None:
                rows = tx.select(RESOURCES, order=("id",))
            else:
                self._require_seed(tx, session)
                rows = resources.session_resources(tx, session, active=False)
            return [records.record(tx, row, wanted, self.policy.mode, self._processor(tx), session) for row in rows]

        return self.ledger.read(job)

    def read(self, resource_id: object, scope: object = None, signal: Signal | None = None) -> dict[str, Any] | None:
        """One record, or ``None``; the scope may name a place in the past."""
        wanted = read_trace_scope({} if scope is None else scope, current_only=False, need_session=False)

        def job(tx: Transaction) -> dict[str, Any] | None:
            resource, session = self._bound(tx, resource_id, wanted)
            if resource is None:
                return None
            return records.record(tx, resource, wanted, self.policy.mode, self._processor(tx), session)

        return self.ledger.read(job)

    def history(self, resource_id: object, scope: object, *, include_before: bool = False) -> Records:
        """The versions of a resource that a session can see."""
        wanted = read_trace_scope({} if scope is None else scope, need_session=False)

        def job(tx: Transaction) -> Records:
            resource, session = self._bound(tx, resource_id, wanted)
            return [] if resource is None else records.history(tx, resource, session, include_before=include_before)

        return self.ledger.read(job)

    def facts(self, resource_id: object, scope: object) -> dict[str, Any]:
        """``{records, unavailable, maxRecords}`` of one resource in one session."""
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

    def has_module(self, session_id: str) -> bool:
        """Whether an active, healthy resource is bound to the session."""

        def job(tx: Transaction) -> bool:
            session = store.session_row(tx, session_id)
            rows = resources.session_resources(tx, session)
            return any(row["source_error"] is None and not row["definition"].get("legacy") for row in rows)

        return self.ledger.read(job)

    def list_bound(self, scope: object) -> dict[str, Any]:
        """``{items, revision, checkCurrent}`` of a session's resources, without their contents."""
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
