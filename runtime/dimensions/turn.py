"""One turn of several runtimes: overlay view, savepoints, policy hooks (``spec/dimensions.md`` §4.4, §6.1, §6.2).

A host that runs its story, its tracker and its clock in one execution hands their proposals over together. Each
runtime is a savepoint: a refused proposal drops that runtime's writes and its hard dependants, never the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from runtime.dimensions.domain import (
    Result,
    begin_turn,
    commit_settlement,
    freeze_turn,
    initialize,
    record_failure,
    register_narrative,
    update,
)
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.events import Event
from runtime.dimensions.records import Fault, Record, Records, Source, evaluate, initialise, read_batch, source_fault
from runtime.dimensions.state import State
from runtime.dimensions.values import Json, quoted

PROTECTED: Final = ("_dimensions", "_dimension-settlements")
ProposalType = Literal["dimension.initialize", "dimension.update", "plugin.data"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One wanted write; for ``plugin.data`` the payload names its namespace."""

    type: ProposalType
    payload: Json


@dataclass(frozen=True, slots=True)
class Unit:
    """One runtime's outcome in an execution: who wrote, what it proposes, what it hangs on."""

    runtime: str
    writer: str
    proposals: tuple[Proposal, ...] = ()
    status: Literal["success", "skipped", "failed"] = "success"
    needs: tuple[str, ...] = ()


Policy = Callable[[Proposal], Proposal | None]


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The state after a turn, what was refused by runtime, and the notifications."""

    state: State
    refused: dict[str, DimensionError]
    events: tuple[Event, ...] = field(default=())


def check_plugin_data(namespace: Json) -> None:
    """Generic plugin data never reaches the protected namespaces (§4.1)."""
    if namespace in PROTECTED:
        message = f"the namespace {quoted(namespace)} is written by dimension operations only"
        raise DimensionError("DIMENSION_PROVIDER", message)


def overlay(base: Records, locale: str, provider: str | None, units: Iterable[Unit]) -> Records:
    """The frozen base plus the valid proposals of completed upstream runtimes, a projection only (§6.2)."""
    view = base
    for unit in units:
        if unit.status == "failed" or unit.writer != provider:
            continue
        for proposal in unit.proposals:
            try:
                view = _overlaid(view, locale, proposal)
            except Fault:
                continue
    return view


def _overlaid(view: Records, locale: str, proposal: Proposal) -> Records:
    if proposal.type == "dimension.update":
        return {**view, **evaluate(view, read_batch(proposal.payload))}
    if proposal.type != "dimension.initialize" or not isinstance(proposal.payload, dict):
        return view
    definitions = proposal.payload.get("definitions")
    if not isinstance(definitions, dict):
        return view
    # An id that exists already is ignored here; only the commit compares definitions.
    fresh = {key: part for key, part in definitions.items() if key not in view}
    created: Records = initialise({}, {"definitions": fresh}, locale)
    merged: dict[str, Record] = {**view, **created}
    return merged


def start_turn(
    state: State, turn_id: str, *, publish: Callable[[Records], None] | None, narrates: bool = True
) -> State:
    """Begin an execution: the barrier for narratives, then the publisher over the frozen base (§5.5, §6.1)."""
    frozen = begin_turn(state, turn_id) if narrates else freeze_turn(state, turn_id)
    if publish is not None:
        try:
            publish(frozen.base(turn_id) if frozen.provider is not None else frozen.records)
        except Exception as error:
            raise DimensionError(
                "dimension-snapshot-unavailable", f"the frozen values of this turn could not be published: {error}"
            ) from error
    return frozen


def commit_turn(
    state: State,
    turn_id: str,
    units: Iterable[Unit],
    *,
    narratives: Iterable[str] = (),
    policy: Policy | None = None,
    tracker: str | None = None,
) -> TurnResult:
    """Commit one execution: initialisations, the receipts of its narratives, settlements, everything else.

    ``tracker`` names the runtime that owes the settlements; when it failed, was skipped or dropped, the debts stand
    with the reason.
    """
    run = _Run(state, turn_id, tuple(narratives), policy)
    for unit in units:
        run.commit(unit)
    run.register()
    if tracker is not None:
        run.close(tracker)
    return TurnResult(run.state, run.refused, tuple(run.events))


class _Run:
    """The growing result of one commit; each unit starts from the state before it and may be dropped whole."""

    def __init__(self, state: State, turn_id: str, narratives: tuple[str, ...], policy: Policy | None) -> None:
        self.state = state
        self.turn_id = turn_id
        self.narratives = narratives
        self.policy = policy
        self.refused: dict[str, DimensionError] = {}
        self.events: list[Event] = []
        self.done: set[str] = set()

    def register(self) -> None:
        """Register the debts of this turn's narratives, as what really stands now (§5.2)."""
        for result_id in self.narratives:
            self.take(register_narrative(self.state, result_id, self.turn_id))

    def take(self, result: Result) -> None:
        """Keep one result."""
        self.state = result.state
        self.events.extend(result.events)

    def commit(self, unit: Unit) -> None:
        """Commit one runtime as a savepoint."""
        missing = [name for name in unit.needs if name not in self.done]
        if unit.status == "failed":
            self.refused[unit.runtime] = DimensionError("DIMENSION_TRACKER", f"the runtime {unit.runtime} failed")
            return
        if missing:
            message = f"the runtime {unit.runtime} hangs on {', '.join(missing)}, which kept nothing"
            self.refused[unit.runtime] = DimensionError("DIMENSION_PAYLOAD", message)
            return
        before, events = self.state, len(self.events)
        try:
            for proposal in unit.proposals:
                self.propose(unit, proposal)
        except DimensionError as error:
            self.state = before
            del self.events[events:]
            self.refused[unit.runtime] = error
            return
        self.done.add(unit.runtime)

    def propose(self, unit: Unit, proposal: Proposal) -> None:
        """One proposal after the policy had its say: a veto writes nothing, a rewrite is what is written."""
        allowed = proposal if self.policy is None else self.policy(proposal)
        if allowed is None:
            return
        if allowed.type == "plugin.data":
            check_plugin_data(allowed.payload.get("namespace") if isinstance(allowed.payload, dict) else None)
        elif allowed.type == "dimension.initialize":
            self.take(initialize(self.state, allowed.payload, writer=unit.writer))
        elif source_fault(allowed.payload.get("source") if isinstance(allowed.payload, dict) else None) is None:
            self.settle(unit, allowed.payload)
        else:
            self.take(update(self.state, allowed.payload, writer=unit.writer))

    def settle(self, unit: Unit, payload: Json) -> None:
        """A settlement first needs its receipt."""
        if Source.from_json(payload["source"]).result_id in self.narratives:
            self.register()
        if unit.writer != self.state.provider:
            update(self.state, payload, writer=unit.writer)
        self.take(commit_settlement(self.state, payload, turn_id=self.turn_id))

    def close(self, tracker: str) -> None:
        """A tracker that kept nothing leaves the reason in every debt of this turn."""
        if tracker in self.done:
            return
        error = self.refused.get(tracker)
        reason = error.message if error is not None else f"the tracker {tracker} did not run"
        for result_id in self.narratives:
            receipt = self.state.receipts.get(result_id)
            if receipt is not None and receipt.pending and receipt.error is None:
                self.take(record_failure(self.state, result_id, reason))
