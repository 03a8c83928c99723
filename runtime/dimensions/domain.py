"""The operations on a session's dimensions: ``(state, request) -> (state', answer, events)`` (``spec/dimensions.md``).

Pure: no clock, no disk, no ids made here. A refusal is an exception and leaves the caller's state as it was; a refusal
that concerns a receipt is stored in it and is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from interpreter.javascript import utf16_length
from runtime.dimensions import clock as clocks
from runtime.dimensions import limits
from runtime.dimensions.derive import apply_derived, derived_fields, field_value, has_derived
from runtime.dimensions.errors import VERSION_CONFLICT, DimensionError
from runtime.dimensions.events import Event, change_events, settlement_event
from runtime.dimensions.issues import issues_json
from runtime.dimensions.records import (
    Fault,
    Record,
    Records,
    Source,
    evaluate,
    initialise,
    read_batch,
    read_updates,
    versions,
)
from runtime.dimensions.settlement import (
    Receipt,
    adopt,
    check_barrier,
    follow_derived,
    pending_receipts,
    register,
    settle,
)
from runtime.dimensions.state import State
from runtime.dimensions.tool import ToolRefused, read_call
from runtime.dimensions.values import Json, quoted, same

BUILT_IN: Final = "innkeeper"


@dataclass(frozen=True, slots=True)
class Result:
    """What an operation did: the new state, the answer for the caller, the notifications to send once it is stored."""

    state: State
    answer: dict[str, Any]
    events: tuple[Event, ...] = field(default=())


def check_identifier(value: Json, name: str) -> str:
    """A narrative's or turn's id: 1 to 200 characters."""
    if not isinstance(value, str) or not 1 <= utf16_length(value) <= limits.RESULT_ID.default:
        most = limits.RESULT_ID.default
        raise DimensionError("DIMENSION_PAYLOAD", f"expected 1 to {most} characters, found {quoted(value)} at {name}")
    return value


def check_writer(state: State, writer: str | None) -> None:
    """Only the bound provider writes (§4.4)."""
    if state.provider is None:
        raise DimensionError("DIMENSION_NOT_BOUND", "the session has no provider of dimensions: bind a world first")
    if writer is not None and writer != state.provider:
        raise DimensionError(
            "DIMENSION_PROVIDER", f"{quoted(writer)} may not write: this session's provider is {quoted(state.provider)}"
        )


# --- the two write operations ---------------------------------------------------------------------------------------


def initialize(state: State, payload: Json, *, writer: str | None = None) -> Result:
    """``dimension.initialize`` (§4.2)."""
    check_writer(state, writer)
    try:
        records = initialise(state.records, payload, state.locale)
        created = {key: record for key, record in records.items() if key not in state.records}
        after = state.with_records(created)
    except Fault as fault:
        raise fault.as_error(state.records) from None
    answer = {"created": list(created), "versions": versions(after.records)}
    return Result(after, answer, change_events(after, created, state) if created else ())


def update(state: State, payload: Json, *, writer: str | None = None) -> Result:
    """``dimension.update`` (§4.3): with a source it settles a receipt, without one it only writes."""
    check_writer(state, writer)
    if isinstance(payload, dict) and "source" in payload:
        return commit_settlement(state, payload)
    try:
        changed = evaluate(state.records, read_batch(payload))
        return _written(state, changed)
    except Fault as fault:
        raise fault.as_error(state.records) from None


def _written(state: State, changed: Mapping[str, Record]) -> Result:
    after = state.with_records(changed)
    if any(receipt.pending for receipt in state.receipts.values()):
        after = after.with_receipts(follow_derived(state.receipts, state.records, changed))
    answer = {"applied": True, "versions": {key: record.version for key, record in changed.items()}}
    return Result(after, answer, change_events(after, changed, state) if changed else ())


def commit_settlement(state: State, payload: Json, *, turn_id: str | None = None) -> Result:
    """Settle a receipt; a refusal stays in it as its error (§5.3)."""
    try:
        outcome = settle(state.records, state.receipts, payload, turn_id=turn_id, guard=state.guard)
    except Fault as fault:
        raise fault.as_error(state.records) from None
    receipt = outcome.receipt
    if not outcome.touched:
        return Result(state, {"applied": False, "alreadySettled": True, "settlement": receipt.summary()})
    after = state.with_records(outcome.changed).with_receipt(receipt)
    answer: dict[str, Any] = {
        "applied": outcome.fault is None,
        "settlement": receipt.summary(),
        "versions": {key: record.version for key, record in outcome.changed.items()},
    }
    if outcome.fault is not None:
        answer["refusal"] = _refusal(outcome.fault, state.records)
    return Result(after, answer, change_events(after, outcome.changed, state, receipt))


def _refusal(fault: Fault, records: Records) -> dict[str, Any]:
    error = fault.as_error(records)
    return {"code": error.code, "error": error.message, "details": error.details}


# --- turns and narratives -------------------------------------------------------------------------------------------


def begin_turn(state: State, turn_id: str) -> State:
    """Start a turn: the barrier, then the frozen base (§5.5, §6.1)."""
    check_barrier(state.receipts)
    return freeze_turn(state, turn_id)


def freeze_turn(state: State, turn_id: str) -> State:
    """Freeze the base of a turn without asking the barrier (hosts that begin turns elsewhere)."""
    if state.provider is None:
        return state
    return state.with_frozen(check_identifier(turn_id, "turnId"))


def restart_turn(state: State, turn_id: str) -> State:
    """Freeze a turn's base from what stands now, also when a turn of this id was begun before (swipe, retry)."""
    if state.provider is None:
        return state
    if turn_id in state.frozen:
        # The bases after a dropped one were stored as differences from it, so all of them are written anew.
        kept = {turn: base for turn, base in state.frozen.items() if turn != turn_id}
        state = state.touched({f"frozen/{turn}" for turn in state.frozen}, frozen=kept)
    return state.with_frozen(check_identifier(turn_id, "turnId"))


def register_narrative(
    state: State, result_id: str, turn_id: str, *, text: str | None = None, turn_number: int | None = None
) -> Result:
    """Register the debt of a committed narrative, in the narrative's own transaction (§5.2)."""
    result_id, turn_id = check_identifier(result_id, "resultId"), check_identifier(turn_id, "turnId")
    if text is not None and utf16_length(text) > limits.NARRATIVE.default:
        raise DimensionError(
            "DIMENSION_PAYLOAD", f"a narrative has at most {limits.NARRATIVE.default} characters at text"
        )
    if state.provider is None:
        return Result(state, {"settlement": None})
    after = freeze_turn(state, turn_id)
    known = after.receipts.get(result_id)
    if known is not None:
        return Result(state, {"settlement": known.summary()})
    if after.last_turn != turn_id:
        after = after.touched({"meta"}, completed=after.completed + 1, last_turn=turn_id)
    number = after.completed if turn_number is None else turn_number
    receipts, receipt = register(after.records, after.receipts, Source(result_id, number), turn_id)
    if receipt is None:
        return Result(after, {"settlement": None})
    after = after.with_receipts(receipts)
    if text is not None:
        after = after.touched({f"text/{result_id}"}, texts={**after.texts, result_id: text})
    return Result(after, {"settlement": receipt.summary()}, (settlement_event(after, receipt),))


def receipt_of(state: State, result_id: str) -> Receipt:
    """The receipt of a narrative."""
    receipt = state.receipts.get(check_identifier(result_id, "resultId"))
    if receipt is None:
        known = [receipt.source.result_id for receipt in pending_receipts(state.receipts)]
        raise DimensionError(
            "DIMENSION_RECEIPT_NOT_FOUND",
            f"no settlement receipt exists for {quoted(result_id)}; pending are {', '.join(known) or 'none'}",
            {"resultId": result_id},
        )
    return receipt


# --- settling by a tracker ------------------------------------------------------------------------------------------


def tracker_view(records: Records) -> dict[str, dict[str, Any]]:
    """What the tool reads of the dimensions: schema, value and version."""
    return {
        key: {"schema": record.definition["schema"], "value": record.value, "version": record.version}
        for key, record in records.items()
    }


def settlement_payload(state: State, receipt: Receipt, arguments: Json) -> dict[str, Any]:
    """The update behind a tracker's arguments; raises ``Fault`` with what the model has to correct (§6.5)."""
    turn_clock = None if state.clock is None else clocks.summary(state.clock, receipt.turn_id, state.locale)
    try:
        updates = read_call(tracker_view(state.records), arguments, turn_clock)
    except ToolRefused as refusal:
        raise Fault("payload", refusal.message) from None
    payload: dict[str, Any] = {
        "updates": updates,
        "source": receipt.source.to_json(),
        "readVersions": versions(state.records),
    }
    if not updates:
        payload["settlement"] = "no-change"
    return payload


def settle_by_tool(state: State, result_id: str, arguments: Json) -> Result:
    """Settle a narrative with a tracker's ``update-dimensions`` arguments; refusals stay in the receipt."""
    receipt = receipt_of(state, result_id)
    if not receipt.pending:
        return Result(state, {"applied": False, "alreadySettled": True, "settlement": receipt.summary()})
    try:
        payload = settlement_payload(state, receipt, arguments)
    except Fault as fault:
        failed = receipt.failed(fault.message)
        after = state.with_receipt(failed)
        refusal = _refusal(fault, state.records)
        refusal["code"] = "DIMENSION_ARGUMENTS"
        answer = {"applied": False, "settlement": failed.summary(), "versions": {}, "refusal": refusal}
        return Result(after, answer, (settlement_event(after, failed),))
    return commit_settlement(state, payload)


def try_settlement(state: State, result_id: str, arguments: Json) -> str | None:
    """What is wrong with a tracker's arguments, for the model to correct at once; nothing is stored (§6.5 step 7)."""
    result = settle_by_tool(state, result_id, arguments)
    refusal = result.answer.get("refusal")
    return None if refusal is None else str(refusal["error"])


def record_failure(state: State, result_id: str, error: str) -> Result:
    """A tracker that failed, was late or stayed silent: the debt stands with the reason (§5.1)."""
    receipt = receipt_of(state, result_id)
    if not receipt.pending:
        return Result(state, {"applied": False, "alreadySettled": True, "settlement": receipt.summary()})
    failed = receipt.failed(error)
    after = state.with_receipt(failed)
    return Result(after, {"applied": False, "settlement": failed.summary()}, (settlement_event(after, failed),))


def retry(state: State, result_id: str) -> Result:
    """Open a retry: the pending receipt adopts the current versions; a finished one stays (§5.4)."""
    receipt = receipt_of(state, result_id)
    if not receipt.pending:
        return Result(state, {"retried": False, "alreadySettled": True, "settlement": receipt.summary()})
    adopted = adopt(state.records, receipt)
    after = state.with_receipt(adopted)
    answer = {"retried": True, "settlement": adopted.summary()}
    return Result(after, answer, (settlement_event(after, adopted),))


# --- the player -----------------------------------------------------------------------------------------------------


def edit(state: State, request: Json) -> Result:
    """A player's edit, manual settlement or skip (§5.6)."""
    check_writer(state, None)
    receipt, resolution = _edit_target(state, request)
    updates = request.get("updates", [])
    try:
        checked = read_updates(updates, reasons=False)
    except Fault as fault:
        raise fault.as_error(state.records) from None
    if receipt is not None and not receipt.pending:
        return Result(state, {"applied": False, "alreadySettled": True, "settlement": receipt.summary()})
    for entry in checked:
        known = state.records.get(entry.id)
        if known is not None and known.version != entry.expected:
            answer = {
                "applied": False,
                "code": VERSION_CONFLICT,
                "currentVersions": versions(state.records),
            }
            return Result(state, answer)
    payload: dict[str, Any] = {"updates": updates}
    if receipt is not None:
        payload |= {
            "source": receipt.source.to_json(),
            "settlement": resolution,
            "readVersions": versions(state.records),
        }
    try:
        changed = evaluate(state.records, read_batch(payload))
    except Fault as fault:
        raise fault.as_error(state.records) from None
    result = _written(state, changed) if receipt is None else commit_settlement(state, payload)
    answer = {**result.answer, "submitted": True, "warnings": overwritten(state.records, changed)}
    return Result(result.state, answer, result.events)


def _edit_target(state: State, request: Json) -> tuple[Receipt | None, str | None]:
    if not isinstance(request, dict):
        raise DimensionError("DIMENSION_PAYLOAD", f"expected an object with updates, found {quoted(request)}")
    for key in request:
        if key not in ("updates", "resultId", "resolution"):
            raise DimensionError(
                "DIMENSION_PAYLOAD", f"unknown key {quoted(key)}; an edit has updates, resultId, resolution"
            )
    if ("resultId" in request) != ("resolution" in request):
        raise DimensionError("DIMENSION_PAYLOAD", "resultId and resolution come together or not at all")
    if "resolution" not in request:
        return None, None
    resolution = request["resolution"]
    if resolution not in ("manual", "skipped"):
        raise DimensionError(
            "DIMENSION_PAYLOAD", f"expected manual or skipped, found {quoted(resolution)} at resolution"
        )
    return receipt_of(state, request["resultId"]), resolution


def overwritten(before: Records, changed: Mapping[str, Record]) -> list[dict[str, Any]]:
    """Hand edits of derived fields: accepted, and lost at the next clock move (§12 item 7)."""
    found = []
    for key, record in changed.items():
        for path, _node in derived_fields(record.definition["schema"]):
            if not same(_peek(before[key].value, path), _peek(record.value, path)):
                message = "this field is computed from the clock: the edit will be overwritten when the clock moves"
                found.append({"dimension": key, "path": list(path), "message": message})
    return found


def _peek(value: Json, path: tuple[str, ...]) -> Json:
    try:
        return field_value(value, path)
    except LookupError:
        return None


# --- the clock ------------------------------------------------------------------------------------------------------


def derived_batch(records: Records, elapsed: Json) -> dict[str, Any] | None:
    """The update that brings derived fields to the clock; ``None`` when nothing differs (§2.5)."""
    updates = []
    for key, record in records.items():
        schema = record.definition["schema"]
        value = apply_derived(schema, record.value, elapsed) if has_derived(schema) else record.value
        if not same(value, record.value):
            updates.append({"id": key, "expectedVersion": record.version, "value": value})
    return {"updates": updates} if updates else None


def _follow_clock(state: State) -> tuple[State, dict[str, Record], list[dict[str, Any]]]:
    """Derived fields at the clock's reading; a result that its field refuses stays behind and is reported."""
    assert state.clock is not None
    batch = derived_batch(state.records, state.clock.elapsed)
    changed: dict[str, Record] = {}
    refused: list[dict[str, Any]] = []
    after = state
    for entry in batch["updates"] if batch else ():
        try:
            one = evaluate(after.records, read_batch({"updates": [entry]}))
            after = after.with_records(one)
            changed |= one
        except Fault as fault:
            refused.append({"dimension": entry["id"], "message": fault.message, "issues": issues_json(fault.issues)})
    if changed:
        after = after.with_receipts(follow_derived(after.receipts, state.records, changed))
    return after, changed, refused


def move(state: State, turn_id: str, request: Json) -> Result:
    """Move the world clock for a turn; derived fields follow in the same step (§8, §0.1)."""
    turn_id = check_identifier(turn_id, "turnId")
    if state.clock is None:
        raise DimensionError("DIMENSION_NO_CLOCK", "this session has no world clock: its world declares none")
    repeated = turn_id in state.clock.moves
    try:
        clock = clocks.move_clock(state.clock, turn_id, request)
    except clocks.MoveRefused as refusal:
        raise DimensionError("DIMENSION_CLOCK_MOVE", refusal.message, {"reason": refusal.reason}) from None
    frozen = freeze_turn(state, turn_id)
    moved = frozen if repeated else frozen.touched({"clock"}, clock=clock)
    after, changed, refused = _follow_clock(moved)
    answer = {
        "clock": clocks.output(clock, turn_id, state.locale),
        "repeated": repeated,
        "updated": list(changed),
        "refused": refused,
    }
    events = change_events(after, changed, state) if changed else ()
    return Result(after, answer, events)
