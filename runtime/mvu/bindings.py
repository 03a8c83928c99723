"""Card bindings: a rendered execution writes to one scope through its capability (spec/mvu.md §7.2, §7.3).

Bindings live with the deployment. The state machine is absent -> creating -> live -> removed; every write re-checks
binding, grant, evidence and revision inside the transaction that commits it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.mvu import engine, resources
from runtime.mvu.edits import check_operation, check_revision, compare_revision, idempotency_conflict
from runtime.mvu.facts import Fact, Facts
from runtime.mvu.grants import Grant, RenderingGrants, check_identity, is_uuid
from runtime.mvu.scopes import CardScope, Evidence, find_evidence, read_card_scope
from runtime.mvu.service_limits import BINDINGS
from runtime.mvu.snapshot import matching, reply_view
from runtime.mvu.storage import append_version
from runtime.values.bounds import check_json
from runtime.values.canonical import canonical_json, sha
from runtime.values.rows import InnkeeperError

CAUSES = ("user-interaction", "interval", "script")
OPERATIONS = ("patch", "replace")


@dataclass(frozen=True, slots=True)
class Binding:
    """A live binding; ``lease`` are the counters of its evidence (only openings compare them on writing)."""

    capability: str
    fingerprint: str
    scope: CardScope
    grant_id: str
    identity: str
    source_identity: dict[str, Any]
    resource_id: str
    lease: tuple[Any, ...]


@dataclass(slots=True)
class _Creation:
    fingerprint: str
    count: int = 1
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A checked card write."""

    operation: str
    value: Any
    expected: int
    operation_id: str
    cause: str


def _denied(message: str) -> InnkeeperError:
    return InnkeeperError("MVU_WRITE_DENIED", message)


class Bindings:
    """The bindings of one deployment; thread-safe."""

    def __init__(
        self,
        ledger: Ledger,
        grants: RenderingGrants,
        facts: Facts,
        *,
        deployment: str,
        new_id: Callable[[], str],
        clock: Callable[[], int],
        notify: Callable[[Transaction, Row, str], None],
    ) -> None:
        self._ledger = ledger
        self._grants = grants
        self._facts = facts
        self._deployment = deployment
        self._new_id = new_id
        self._clock = clock
        self._notify = notify
        self._lock = threading.Lock()
        self._live: dict[str, Binding] = {}
        self._creating: dict[str, _Creation] = {}
        self._disposed = False

    # -- creating -----------------------------------------------------------------------------------------------

    def create(
        self, request: dict[str, Any], snapshot: Callable[[Transaction, CardScope, Evidence], dict[str, Any]]
    ) -> dict[str, Any]:
        """``{capability, snapshot}`` of a new binding, or of the live one with the same id and request."""
        scope = read_card_scope(request.get("scope"))
        if scope.mode == "initial" and scope.get("greetingIndex") is not None and scope.get("selectionToken") is None:
            raise InnkeeperError("MVU_SCOPE", "expected selectionToken beside greetingIndex in an initial scope")
        if scope.mode == "greeting":
            raise InnkeeperError("MVU_READ_ONLY", "a greeting scope is never writable: bind the initial scope")
        grant_id, identity = _read_grant(request, scope)
        binding_id = request.get("bindingId")
        if binding_id is not None and not is_uuid(binding_id):
            raise InnkeeperError("MVU_SCOPE", f"expected bindingId as a UUID, found {binding_id!r:.80}")
        capability = binding_id or self._new_id()
        fingerprint = sha({"scope": dict(scope.raw), "grantId": grant_id, "sourceIdentity": identity})
        self._reserve(capability, fingerprint)
        try:
            found, answer = self._ledger.read(lambda tx: self._check(tx, scope, grant_id, identity, snapshot))
            resource, evidence = found
            self._enter(
                Binding(
                    capability,
                    fingerprint,
                    scope,
                    grant_id,
                    canonical_json(identity),
                    identity,
                    resource["id"],
                    evidence.lease,
                )
            )
        finally:
            self._release(capability)
        return {"capability": capability, "snapshot": answer}

    def _reserve(self, capability: str, fingerprint: str) -> None:
        with self._lock:
            if self._disposed:
                raise InnkeeperError("MVU_DISPOSED", "the service has ended")
            for dead in [
                b.capability for b in self._live.values() if not self._grants.is_current(b.grant_id, b.identity)
            ]:
                del self._live[dead]
            live, creation = self._live.get(capability), self._creating.get(capability)
            known = live.fingerprint if live is not None else creation.fingerprint if creation is not None else None
            if known is not None and known != fingerprint:
                raise InnkeeperError(
                    "MVU_IDEMPOTENCY_CONFLICT", "this bindingId was used for another scope, grant or source"
                )
            if creation is not None:
                creation.count += 1
                return
            if live is None and len(self._live) + len(self._creating) >= BINDINGS.default:
                raise InnkeeperError("MVU_LIMIT", f"expected at most {BINDINGS.default} bindings; revoke one first")
            self._creating[capability] = _Creation(fingerprint)

    def _release(self, capability: str) -> None:
        with self._lock:
            creation = self._creating.get(capability)
            if creation is None:
                return
            creation.count -= 1
            if creation.count == 0:
                del self._creating[capability]

    def _enter(self, binding: Binding) -> None:
        """The last look, without any wait in between: grant, cancellation, disposal (spec/mvu.md §7.2)."""
        with self._lock:
            creation = self._creating.get(binding.capability)
            if self._disposed:
                raise InnkeeperError("MVU_DISPOSED", "the service has ended")
            if creation is None or creation.cancelled:
                raise _denied("the binding was revoked while it was being created")
            if not self._grants.is_current(binding.grant_id, binding.identity):
                raise _denied("the grant was revoked while the binding was being created")
            self._live.setdefault(binding.capability, binding)

    def _check(
        self,
        tx: Transaction,
        scope: CardScope,
        grant_id: str,
        identity: dict[str, Any],
        snapshot: Callable[[Transaction, CardScope, Evidence], dict[str, Any]],
    ) -> tuple[tuple[Row, Evidence], dict[str, Any]]:
        granted = self._grants.resolve(grant_id, identity)
        if granted is None or not granted["write"]:
            raise _denied("no live grant with this id and source identity")
        if canonical_json(granted["scope"]) != canonical_json(dict(scope.raw)):
            raise _denied("the grant was given for another scope")
        evidence = find_evidence(tx, scope, self._deployment)
        resource = self._writable(tx, evidence)
        return (resource, evidence), snapshot(tx, scope, evidence)

    def _writable(self, tx: Transaction, evidence: Evidence) -> Row:
        """The one resource that the evidence lets write, its current version on the evidence's reply."""
        if not evidence.writable:
            raise InnkeeperError(
                "MVU_READ_ONLY", f"this view cannot be written: {evidence.why_read_only or 'it is no writable head'}"
            )
        found = matching(tx, evidence)
        if len(found) != 1:
            raise InnkeeperError("MVU_READ_ONLY", f"expected exactly one active resource, found {len(found)}")
        resource = found[0][0]
        if resource["source_error"] is not None or resource["current_content"] is None:
            raise InnkeeperError("MVU_READ_ONLY", f"the resource has the source error {resource['source_error']}")
        if evidence.reply is not None:
            view = reply_view(tx, resource, evidence)
            if view is None or not _is_current(tx, resource, view.version_key, evidence):
                raise InnkeeperError("MVU_READ_ONLY", "the state has moved on from this reply")
        return resource

    # -- revoking -----------------------------------------------------------------------------------------------

    def revoke(self, capability: object) -> dict[str, Any]:
        """End a binding or cancel its creation; unknown ids are fine."""
        with self._lock:
            if isinstance(capability, str):
                self._live.pop(capability, None)
                creation = self._creating.get(capability)
                if creation is not None:
                    creation.cancelled = True
        return {"ok": True}

    def grant_ended(self, grant: Grant) -> None:
        """Remove the bindings of a revoked grant."""
        with self._lock:
            for binding in [b for b in self._live.values() if b.grant_id == grant.id]:
                del self._live[binding.capability]

    def dispose(self) -> None:
        """End all bindings."""
        with self._lock:
            self._disposed = True
            self._live.clear()
            for creation in self._creating.values():
                creation.cancelled = True

    def live(self, capability: object) -> Binding:
        """The live binding of a capability, or ``MVU_WRITE_DENIED``."""
        with self._lock:
            binding = self._live.get(capability) if isinstance(capability, str) else None
        if binding is None:
            raise _denied("no live binding with this capability: bind again")
        return binding

    # -- writing ------------------------------------------------------------------------------------------------

    def write(self, request: dict[str, Any]) -> dict[str, Any]:
        """``POST /mvu/card-write`` (spec/mvu.md §7.3): the card receipt, or a refusal that changed nothing."""
        binding = self.live(request.get("capability"))
        write = _read_write(request)
        base: Fact = {
            "id": binding.resource_id,
            "eventId": write.operation_id,
            "on": "card_variable_update",
            "cause": write.cause,
            "sessionId": binding.scope.get("sessionId"),
            "operationId": write.operation_id,
            "configRevision": None,
        }
        try:
            return self._ledger.write(lambda tx: self._write(tx, binding, write, base))
        except InnkeeperError as error:
            phase = "skipped" if error.code in ("MVU_WRITE_DENIED", "MVU_READ_ONLY", "MVU_USAGE_DENIED") else "failed"
            if error.code != "STORAGE_UNAVAILABLE":
                ended = {**base, "phase": phase, "reason": error.code}
                self._facts.keep_alone([{**base, "phase": "started"}, ended])
            raise

    def _write(self, tx: Transaction, binding: Binding, write: WriteRequest, base: Fact) -> dict[str, Any]:
        evidence, resource = self._recheck(tx, binding)
        turn = evidence.session["last_turn"]
        base = {**base, "turn": turn}
        check_json(write.value)
        fingerprint = sha(
            {
                "operation": write.operation,
                "value": write.value,
                "expectedRevision": write.expected,
                "operationId": write.operation_id,
                "cause": write.cause,
                "scope": dict(binding.scope.raw),
                "sourceIdentity": binding.source_identity,
            }
        )
        known = resources.by_operation(tx, resource["id"], write.operation_id)
        if known is not None:
            if known["fingerprint"] != fingerprint:
                raise idempotency_conflict(write.operation_id)
            replay = {**base, "phase": "completed", "detail": "idempotent-replay", "revision": known["revision"]}
            self._facts.keep(tx, [{**base, "phase": "started"}, replay])
            return _receipt(tx, binding, known)
        compare_revision(resource, write.expected)
        facts: list[Fact] = [{**base, "phase": "started"}, {**base, "phase": "triggered"}]
        before = tx.load_content(resource["current_content"])
        if write.operation == "patch":
            candidate = engine.card_patch(before, write.value, clock=self._clock(), state=resource["id"])
        else:
            candidate = engine.card_replace(before, write.value, clock=self._clock())
        answer = self._store(tx, binding, write, evidence, resource, candidate, fingerprint)
        with self._lock:  # the very last look: revocation and commit cannot pass each other unnoticed
            if binding.capability not in self._live or not self._grants.is_current(binding.grant_id, binding.identity):
                raise _denied("the binding was revoked while the write was on its way")
        done = {"revision": answer["revision"]}
        if engine.stat_changed(before, candidate):
            facts.append({**base, "phase": "applied", "detail": "state-committed", **done})
        facts.append({**base, "phase": "completed", "detail": "state-committed", **done})
        self._facts.keep(tx, facts)
        self._notify(tx, evidence.session, resource["id"])
        return answer

    def _recheck(self, tx: Transaction, binding: Binding) -> tuple[Evidence, Row]:
        if not self._grants.is_current(binding.grant_id, binding.identity):
            raise _denied("the grant of this binding was revoked")
        try:
            evidence = find_evidence(tx, binding.scope, self._deployment)
        except InnkeeperError as error:
            raise InnkeeperError("MVU_READ_ONLY", error.message) from None
        if evidence.session["running"]:
            raise InnkeeperError("MVU_READ_ONLY", "a turn of the session is running")
        if evidence.lease != binding.lease:
            raise InnkeeperError(
                "MVU_READ_ONLY", "the session, its selection or its timeline has changed since the binding: bind again"
            )
        resource = self._writable(tx, evidence)
        if resource["id"] != binding.resource_id:
            raise InnkeeperError("MVU_READ_ONLY", "another resource has become active")
        return evidence, resource

    def _store(
        self,
        tx: Transaction,
        binding: Binding,
        write: WriteRequest,
        evidence: Evidence,
        resource: Row,
        candidate: Any,
        fingerprint: str,
    ) -> dict[str, Any]:
        session, reply = evidence.session, evidence.reply
        before = resource["current_content"]
        key = tx.store_content(candidate, near=before).key
        source: dict[str, Any]
        if reply is not None:
            current = resources.version_by_key(tx, resource["id"], resource["current_key"])
            source = {**((current or {}).get("data", {}).get("source") or {}), "manual": True, "card": True}
            source.update(sessionId=session["id"], messageId=reply.message_id, messageSeq=reply.seq)
            message: tuple[str | None, int, int | None] = (reply.message_id, reply.seq, reply.turn)
        else:
            source = {
                "sessionId": session["id"],
                "playthroughId": evidence.playthrough["id"],
                "characterId": binding.scope.get("characterId"),
                "sessionFormatVersion": session["format_version"],
                "sessionCreatedAt": session["created_at"],
                "manual": True,
                "card": True,
                "initial": True,
            }
            message = (None, -1, None)
        data: dict[str, Any] = {"configRevision": None}
        if write.operation == "patch":
            data["before"] = before
        version = append_version(
            tx,
            resource,
            session,
            kind="card",
            content=key,
            data=data,
            source=source,
            version_key=sha({"id": resource["id"], "operationId": write.operation_id}),
            message=message,
            fingerprint=fingerprint,
            operation_id=write.operation_id,
        )
        return _receipt(tx, binding, version)


def _receipt(tx: Transaction, binding: Binding, version: Row) -> dict[str, Any]:
    """The card receipt of a stored version; made anew for a replay, so that states are stored once (spec/mvu.md §1.4)."""
    before = version["data"].get("before")
    return {
        "version": 1,
        "scope": dict(binding.scope.raw),
        "revision": version["revision"],
        "currentRevision": version["revision"],
        "status": "available",
        "variables": engine.served(
            tx.load_content(version["content"]), None if before is None else tx.load_content(before)
        ),
        "resourceId": version["resource_id"],
    }


def _is_current(tx: Transaction, resource: Row, version_key: str | None, evidence: Evidence) -> bool:
    if resource["current_key"] == version_key:
        return True
    current = resources.version_by_key(tx, resource["id"], resource["current_key"])
    return current is not None and evidence.reply is not None and current["message_seq"] == evidence.reply.seq


def _read_grant(request: dict[str, Any], scope: CardScope) -> tuple[str, dict[str, Any]]:
    grant_id = request.get("grantId")
    if not isinstance(grant_id, str) or not grant_id:
        raise InnkeeperError("MVU_SCOPE", "expected grantId as a non-empty string")
    try:
        identity = check_identity(request.get("sourceIdentity"))
    except InnkeeperError as error:
        raise InnkeeperError("MVU_SCOPE", error.message) from None
    if canonical_json(identity["scope"]) != canonical_json(dict(scope.raw)):
        raise InnkeeperError("MVU_SCOPE", "the sourceIdentity was made for another scope")
    return grant_id, identity


def _read_write(request: dict[str, Any]) -> WriteRequest:
    operation, cause = request.get("operation"), request.get("cause")
    if operation not in OPERATIONS or not isinstance(operation, str):
        raise InnkeeperError("MVU_OPERATION", f"expected operation patch or replace, found {operation!r:.80}")
    if cause not in CAUSES or not isinstance(cause, str):
        raise InnkeeperError("MVU_OPERATION", f"expected cause as one of {', '.join(CAUSES)}, found {cause!r:.80}")
    if "value" not in request:
        raise InnkeeperError("MVU_OPERATION", "expected value in the write")
    expected = check_revision(request.get("expectedRevision"))
    return WriteRequest(operation, request["value"], expected, check_operation(request.get("operationId")), cause)
