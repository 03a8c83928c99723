"""What the service gives to model requests (spec/mvu.md §10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.mvu import engine, prompts, resources
from runtime.mvu.scopes import read_trace_scope
from runtime.mvu.service_base import Records, ServiceBase
from runtime.sessions import store
from runtime.values.rows import InnkeeperError


class Prompting(ServiceBase):
    """Prompt blocks, dependencies and management defaults."""

    def resolve_request(
        self, session_id: str, *, preview: bool = False, turn: int | None = None, step: int | None = None
    ) -> Records:
        """The state blocks of a request: one per enabled resource, each with its diagnostics (spec/mvu.md §10)."""

        def job(tx: Transaction) -> Records:
            session = store.session_row(tx, session_id)
            self._require_seed(tx, session)
            return self._blocks(tx, session, preview, turn, step)

        return self.ledger.read(job)

    def _blocks(self, tx: Transaction, session: Row, preview: bool, turn: int | None, step: int | None) -> Records:
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
        wanted = read_trace_scope({} if scope is None else scope, need_session=False)

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
