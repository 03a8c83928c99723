"""Ingest: a completed turn's reply becomes a version and a receipt, whatever the outcome (spec/mvu.md §9.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.ledger.contract import Row, Transaction
from runtime.mvu import engine, resources
from runtime.mvu.commands import contains_update
from runtime.mvu.facts import Fact, Facts
from runtime.mvu.policy import Decision, UsagePolicy
from runtime.mvu.processors import FilterOutcome, Processors
from runtime.mvu.storage import append_version
from runtime.sessions import store
from runtime.sessions.events import Event
from runtime.sessions.sources import EndedTurn, Receipt
from runtime.values.canonical import sha, text_sha
from runtime.values.rows import InnkeeperError


@dataclass(slots=True)
class Prepared:
    """What was done outside of the transaction: helper calls and policy decisions by resource and reply."""

    filtered: dict[tuple[str, str, str], FilterOutcome] = field(default_factory=dict)
    decisions: dict[tuple[str, str], Decision | InnkeeperError] = field(default_factory=dict)


def reply_source(session: Row, reply: Event, turn: int, end_seq: int) -> dict[str, Any]:
    """The source of a reply's version (spec/mvu.md §1.4)."""
    return {
        "sessionId": session["id"],
        "sessionFormatVersion": session["format_version"],
        "sessionCreatedAt": session["created_at"],
        "eventType": "assistant/message",
        "messageId": reply.message_id,
        "messageSeq": reply.seq,
        "turn": turn,
        "step": reply.fields.get("step"),
        "endSeq": end_seq,
    }


class Ingest:
    """Applies replies to the resources of a session."""

    def __init__(self, processors: Processors, policy: UsagePolicy, facts: Facts, clock: Callable[[], int]) -> None:
        self._processors = processors
        self._policy = policy
        self._facts = facts
        self._clock = clock

    # -- outside of the transaction ---------------------------------------------------------------------------------

    def prepare(
        self,
        read: Callable[[Callable[[Transaction], Any]], Any],
        session_id: str,
        replies: Sequence[tuple[int, Event, str]],
    ) -> Prepared:
        """Ask the policies and run the helpers for the replies that are about to be applied."""
        prepared = Prepared()
        if not replies:
            return prepared

        def look(tx: Transaction) -> None:
            row = tx_session(tx, session_id)
            if row is None or row["seed_ticket"] is not None:
                return
            for resource in resources.session_resources(tx, row):
                if resource["current_content"] is not None and resource["source_error"] is None:
                    self._prepare_one(tx, row, resource, replies, prepared)

        read(look)
        return prepared

    def _prepare_one(
        self,
        tx: Transaction,
        session: Row,
        resource: Row,
        replies: Sequence[tuple[int, Event, str]],
        prepared: Prepared,
    ) -> None:
        for turn, reply, user_text in replies:
            checkpoint = None
            if not resources.is_shared(resource):
                checkpoint = resources.checkpoint_at(tx, resource, session, turn)
            content = resource["current_content"] if checkpoint is None else checkpoint["content"]
            variables = tx.load_content(content)
            decision = self._decide(resource, session["id"], turn, reply, variables)
            prepared.decisions[resource["id"], reply.message_id or ""] = decision
            if isinstance(decision, InnkeeperError) or not decision.enabled:
                continue
            dialect = resources.dialect_of(tx, resource)
            outcome = self._processors.filter(tx, resource, variables, reply.text, user_text, dialect=dialect)
            if outcome is not None:
                prepared.filtered[resource["id"], reply.message_id or "", content] = outcome

    def _decide(
        self, resource: Row, session_id: str, turn: int, reply: Event, variables: Any
    ) -> Decision | InnkeeperError:
        """What the policies say of a reply; a handler that fails or gives no decision is an error, not a decision."""
        if not self._policy.has_handlers:
            return Decision(True, epoch=self._policy.epoch)
        event = {
            "sessionId": session_id,
            "turn": turn,
            "messageId": reply.message_id,
            "messageSeq": reply.seq,
            "text": reply.text,
            "containsMvuUpdate": contains_update(reply.text),
        }
        scope = {"authority": "local", "sessionId": session_id}
        call = {
            "on": "assistant_message_committed",
            "id": resource["id"],
            "scope": scope,
            "event": event,
            "variables": variables,
        }
        try:
            return self._policy.decide(call)
        except InnkeeperError as error:
            return error
        except Exception as error:  # a host's handler: its fault must not take the turn with it
            return InnkeeperError("MVU_USAGE", f"a usage handler failed: {type(error).__name__}: {error}")

    # -- inside ---------------------------------------------------------------------------------------------------

    def turn_ended(self, tx: Transaction, session: Row, ended: EndedTurn, prepared: Prepared) -> list[Receipt]:
        """Apply one ended turn to every active resource of the session."""
        if session["origin"] == "subagent":
            return []
        active = resources.session_resources(tx, session)
        return [self._one(tx, session, resource, ended, prepared) for resource in active]

    def _one(self, tx: Transaction, session: Row, resource: Row, ended: EndedTurn, prepared: Prepared) -> Receipt:
        why = self._why_not(tx, session, resource, ended)
        if why is not None:
            return receipt(resource, "skipped", reason=why)
        reply = ended.reply
        assert reply is not None
        return self.apply(tx, session, resource, reply, ended.turn, ended.end.seq, ended.user_text, prepared)

    @staticmethod
    def _why_not(tx: Transaction, session: Row, resource: Row, ended: EndedTurn) -> str | None:
        """Why a turn cannot change a resource, or ``None`` (spec/mvu.md §9.3)."""
        if ended.reply is None:
            return "no-reply"
        if ended.end.reason != "completed":
            return f"turn-{ended.end.reason}"
        if ended.reply.seq < resources.activation(tx, resource, session["id"]):
            return "before-activation"
        return None

    def apply(
        self,
        tx: Transaction,
        session: Row,
        resource: Row,
        reply: Event,
        turn: int,
        end_seq: int,
        user_text: str,
        prepared: Prepared,
    ) -> Receipt:
        """Apply one reply to one resource; every outcome but a retryable one stores a version."""
        source = reply_source(session, reply, turn, end_seq)
        key = sha(source)
        known = resources.version_by_key(tx, resource["id"], key)
        if known is not None:
            stored: Receipt = known["data"]["receipt"]
            return stored
        base: Fact = {
            "id": resource["id"],
            "eventId": key,
            "on": "assistant_message_committed",
            "sessionId": session["id"],
            "turn": turn,
        }
        if resource["source_error"] is not None:
            refused = receipt(resource, "failed", error=resource["source_error"], retryable=False)
            self._facts.keep(tx, [{**base, "phase": "failed", "reason": resource["source_error"]}])
            return refused
        try:
            content = self._baseline(tx, session, resource, turn)
        except InnkeeperError as error:
            self._facts.keep(tx, [{**base, "phase": "failed", "reason": error.code}])
            return receipt(resource, "failed", error=error.code, retryable=False)
        decision = prepared.decisions.get((resource["id"], reply.message_id or ""))
        if decision is None:
            decision = self._decide(resource, session["id"], turn, reply, tx.load_content(content))
        if isinstance(decision, InnkeeperError) or not decision.current(self._policy):
            # Nothing is stored: the reply stays to be applied once somebody decides (spec/mvu.md §9.3).
            code = decision.code if isinstance(decision, InnkeeperError) else "MVU_USAGE_CANCELLED"
            self._facts.keep(tx, [{**base, "phase": "failed", "reason": code}])
            return receipt(resource, "failed", error=code, retryable=True)
        place = _Place(
            session,
            resource,
            reply,
            turn,
            content,
            source,
            key,
            base,
            decision,
            user_text,
            self._clock(),
            resources.dialect_of(tx, resource),
        )
        return self._commit(tx, place, prepared)

    @staticmethod
    def _baseline(tx: Transaction, session: Row, resource: Row, turn: int) -> str:
        if resources.is_shared(resource):  # replies apply to the current content of a shared state (spec/mvu.md §0.7)
            return str(resource["current_content"])
        found = resources.checkpoint_at(tx, resource, session, turn)
        if found is None:
            raise InnkeeperError("MVU_BASELINE_REQUIRED", f"turn {turn} has no checkpoint: its start was not recorded")
        return str(found["content"])

    def _commit(self, tx: Transaction, place: _Place, prepared: Prepared) -> Receipt:
        facts: list[Fact] = [{**place.base, "phase": "started"}]
        decision = place.decision
        if not decision.enabled:
            facts.append({**place.base, "phase": "skipped", "detail": "usage-policy", "reason": decision.reason})
            answer = receipt(place.resource, "skipped", reason=decision.reason)
            stored = self._store(tx, place, place.content, answer, {"reason": decision.reason})
            facts.append({**place.base, "phase": "completed", "detail": "usage-policy", "revision": stored["revision"]})
            self._facts.keep(tx, facts)
            return answer
        variables = tx.load_content(place.content)
        try:
            outcome = self._filtered(tx, place, variables, prepared)
            update = engine.update(
                variables,
                place.reply.text,
                clock=place.clock,
                outcome=outcome,
                dialect=place.dialect,
                state=place.resource["id"],
            )
        except Exception as error:
            return self._failed(tx, place, facts, error)
        if update.commands:
            facts.append({**place.base, "phase": "triggered"})
        candidate = (
            place.content
            if update.variables is variables
            else tx.store_content(update.variables, near=place.content).key
        )
        answer = receipt(
            place.resource,
            update.status,
            changes=update.changes,
            diagnostics=update.diagnostics,
            ignored=update.ignored,
            commands=update.commands,
        )
        if update.repairs:
            answer["repairs"] = update.repairs
        stored = self._store(tx, place, candidate, answer, {})
        done = {"revision": stored["revision"], "configRevision": decision.config_revision}
        if update.changes:
            facts.append({**place.base, "phase": "applied", "detail": "state-committed", **done})
        detail = "state-committed" if update.commands else "no-update"
        facts.append({**place.base, "phase": "completed", "detail": detail, **done})
        self._facts.keep(tx, facts)
        return answer

    def _filtered(self, tx: Transaction, place: _Place, variables: Any, prepared: Prepared) -> FilterOutcome | None:
        """The helper's answer for this reply: prepared, or run now when the baseline has moved since (several turns at once)."""
        outcome = prepared.filtered.get((place.resource["id"], place.reply.message_id or "", place.content))
        if outcome is not None and self._processors.is_current(outcome):
            return outcome
        text, user_text = place.reply.text, place.user_text
        return self._processors.filter(tx, place.resource, variables, text, user_text, dialect=place.dialect)

    def _store(
        self,
        tx: Transaction,
        place: _Place,
        content: str,
        answer: Receipt,
        extra: Mapping[str, Any],
        error: str | None = None,
    ) -> Row:
        answer["revision"] = place.resource["revision"] + 1
        data = {
            "before": place.content,
            "sourceRevision": place.resource["revision"],
            "clock": place.clock,
            "dialect": place.dialect,
            "configRevision": place.decision.config_revision,
            "receipt": answer,
            **extra,
        }
        return append_version(
            tx,
            place.resource,
            place.session,
            kind="reply",
            content=content,
            data=data,
            source=place.source,
            version_key=place.key,
            message=(place.reply.message_id, place.reply.seq, place.turn),
            fingerprint=text_sha(place.reply.text),
            error=error,
        )

    def _failed(self, tx: Transaction, place: _Place, facts: list[Fact], error: Exception) -> Receipt:
        """A fatal refusal: final ones store an unchanged version, retryable ones store nothing (spec/mvu.md §0.13)."""
        code = getattr(error, "code", None)
        if not isinstance(code, str):
            raise error
        retryable = bool(getattr(error, "retryable", False) or getattr(error.__cause__, "retryable", False))
        answer = receipt(place.resource, "failed", error=code, retryable=retryable)
        answer["message"] = getattr(error, "message", str(error))
        details = getattr(error, "details", None)
        if details:
            answer["details"] = dict(details)
        facts.append({**place.base, "phase": "failed", "reason": code, "detail": code})
        if not retryable:
            self._store(tx, place, place.content, answer, {}, error=code)
        self._facts.keep(tx, facts)
        return answer


@dataclass(slots=True)
class _Place:
    """One reply on one resource, on its way to a version."""

    session: Row
    resource: Row
    reply: Event
    turn: int
    content: str
    source: dict[str, Any]
    key: str
    base: Fact
    decision: Decision
    user_text: str
    clock: int
    dialect: str


def tx_session(tx: Transaction, session_id: str) -> Row | None:
    """The session's row, or ``None`` when it is unknown or deleted."""
    try:
        return store.session_row(tx, session_id)
    except InnkeeperError:
        return None


def receipt(resource: Row, status: str, **more: Any) -> Receipt:
    """A receipt of this source (spec/http.md)."""
    answer: Receipt = {
        "source": "mvu",
        "resourceId": resource["id"],
        "status": status,
        "revision": resource["revision"],
        "changes": [],
        "diagnostics": [],
        "ignored": [],
    }
    answer.update(more)
    return answer
