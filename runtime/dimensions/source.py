"""Dimensions as a state source of the session host: turns, forks, swipes, automatic recovery (§0.2, §0.6, §5.5)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from runtime.dimensions import domain, views
from runtime.dimensions.binding import discover_provider
from runtime.dimensions.domain import Result
from runtime.dimensions.limits import TURN_WORKERS
from runtime.dimensions.service import DimensionsService
from runtime.dimensions.settlement import check_barrier, pending_receipts
from runtime.dimensions.state import State
from runtime.dimensions.storage import SOURCE
from runtime.dimensions.tracker import LOG, Tracker, TrackerFailed, TrackerTask, recoverable
from runtime.ledger.contract import Row, Transaction
from runtime.sessions import events as kinds
from runtime.sessions import store as sessions
from runtime.sessions.events import Event
from runtime.sessions.sources import Cut, EndedTurn, Receipt, Unprepared
from runtime.values.rows import InnkeeperError


def turn_name(turn: int | None) -> str:
    """The turn id of a host session's turn: its number as text."""
    return str(turn or 0)


class DimensionsSource:
    """The state source ``dimensions``; ``tracker`` runs after a turn and before the next one, when there is one."""

    name = SOURCE

    def __init__(self, service: DimensionsService, tracker: Tracker | None = None) -> None:
        self.service = service
        self.tracker = tracker
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._running: dict[str, threading.Lock] = {}
        self._recovery: dict[str, Literal["wanted", "tried"]] = {}
        service.runner = self

    # -- the tracker ------------------------------------------------------------------------------------------------

    def use_tracker(self, tracker: Tracker | None) -> None:
        """Have this tracker from now on."""
        self.tracker = tracker

    def settle_pending(self, session_id: str, *, adopt: bool) -> None:
        """Run the tracker for every debt of a session, oldest first; failures stay in the receipts, nothing raises."""
        if self.tracker is None:
            return
        with self._lock_of(session_id):
            try:
                state = self.service.read_state(session_id)
                owed = [receipt.source.result_id for receipt in pending_receipts(state.receipts)]
            except InnkeeperError as error:
                LOG.warning("[dimension-settlement] session=%s unreadable: %s", session_id, error)
                return
            for result_id in owed:
                outcome = self._settle_one(session_id, result_id, adopt=adopt)
                LOG.info("[dimension-settlement] session=%s source=%s outcome=%s", session_id, result_id, outcome)

    def _lock_of(self, session_id: str) -> threading.Lock:
        with self._lock:
            return self._running.setdefault(session_id, threading.Lock())

    def _settle_one(self, session_id: str, result_id: str, *, adopt: bool) -> str:
        assert self.tracker is not None
        try:
            if adopt:
                self.service.retry(session_id, result_id)
            arguments = self.tracker.run(self._task(session_id, result_id))
            answer = self.service.settle(session_id, result_id, arguments)
            return str(answer["settlement"]["status"])
        except Exception as error:
            # Whatever a model client or plug-in raises, a turn must not break on it: the debt keeps the reason.
            reason = (
                str(error) if isinstance(error, TrackerFailed | InnkeeperError) else f"the tracker failed: {error!r}"
            )
            return self._note_failure(session_id, result_id, reason)

    def _note_failure(self, session_id: str, result_id: str, reason: str) -> str:
        try:
            self.service.fail(session_id, result_id, reason)
        except InnkeeperError as error:
            return f"failed ({reason}; not recorded: {error})"
        return f"failed ({reason})"

    def _task(self, session_id: str, result_id: str) -> TrackerTask:
        prompt = self.service.tracker_prompt(session_id, result_id)

        def attempt(arguments: Any) -> str | None:
            return domain.try_settlement(self.service.read_state(session_id), result_id, arguments)

        def read(tool: str, arguments: Any) -> str:
            return read_tool(self.service.read_state(session_id), result_id, tool, arguments)

        return TrackerTask(
            session_id,
            result_id,
            self.service.narrative_text(session_id, result_id),
            prompt["rules"],
            prompt["values"],
            prompt["clock"],
            prompt["tools"],
            attempt,
            read,
        )

    def retry(self, session_id: str, result_id: str, *, operation_id: str | None = None) -> dict[str, Any]:
        """``POST …/retry``: adopt the current versions, then run the tracker for this debt when there is one."""
        answer = self.service.retry(session_id, result_id, operation_id=operation_id)
        if self.tracker is None or not answer.get("retried"):
            return answer
        with self._lock_of(session_id):
            self._settle_one(session_id, result_id, adopt=False)
        state = self.service.read_state(session_id)
        return {**answer, "settlement": domain.receipt_of(state, result_id).summary()}

    def _later(self, task: Callable[[], None]) -> None:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(TURN_WORKERS.default, thread_name_prefix="dimension-tracker")
            self._pool.submit(task)

    def close(self) -> None:
        """Wait for running trackers."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)

    # -- the host's calls -------------------------------------------------------------------------------------------

    def prepare(self, session_id: str, replies: Sequence[tuple[int, Event, str]]) -> Any:
        """Automatic recovery happens here, outside of any transaction, once a turn asked for it (§5.5)."""
        del replies
        with self._lock:
            wanted = self._recovery.get(session_id) == "wanted"
        if wanted:
            self.settle_pending(session_id, adopt=True)
            with self._lock:
                self._recovery[session_id] = "tried"

    def selected(self, tx: Transaction, session: Row, selection: Row, *, fresh: bool) -> None:
        """A card's selection does not concern dimensions."""

    def before_turn(self, tx: Transaction, session: Row, start: Event, user_text: str) -> None:
        """The barrier: one recovery is tried first, then a standing debt refuses the turn (§0.2)."""
        state = self.service.states.load(tx, session["id"]).state
        if state.provider is not None:
            discover_provider([self.service.provider], state.provider)
        owed = any(receipt.pending for receipt in state.receipts.values())
        with self._lock:
            tried = self._recovery.pop(session["id"], None) == "tried"
            if owed and not tried and recoverable(self.tracker, state.provider):
                self._recovery[session["id"]] = "wanted"
                raise Unprepared
        check_barrier(state.receipts)

    def turn_started(self, tx: Transaction, session: Row, start: Event) -> None:
        """Freeze the values that the turn reads (§6.1)."""
        name = turn_name(start.turn)
        # A repeated turn number (after a swipe) begins anew from what stands now.
        self.service.change(tx, session, lambda state: Result(domain.restart_turn(state, name), {}))

    def turn_ended(self, tx: Transaction, session: Row, ended: EndedTurn, prepared: Any) -> list[Receipt]:
        """Register the debt of the reply in the reply's own transaction; the tracker runs once it is stored (§5.2)."""
        reply = ended.reply
        if reply is None or reply.message_id is None or ended.end.reason != "completed":
            return []
        result_id, turn_id = reply.message_id, turn_name(ended.turn)
        result = self.service.change(tx, session, lambda state: domain.register_narrative(state, result_id, turn_id))
        summary = result.answer["settlement"]
        if summary is None:
            return []
        if self.tracker is not None:
            session_id = session["id"]
            tx.after_commit(lambda: self._later(lambda: self.settle_pending(session_id, adopt=False)))
        # A receipt's source is the state source that speaks; the narrative that it settles stands beside it.
        return [{**summary, "source": SOURCE, "narrative": summary["source"], "resultId": result_id}]

    def capture(self, tx: Transaction, session: Row, cut: Cut) -> Any | None:
        """The state at a cut: everything up to the next turn's start belongs to the reply before it (§0.6)."""
        following = sessions.read_events(tx, session, cut.inherited)
        boundary = next((event.seq for event in following if event.type == kinds.TURN_START), None)
        state = self.service.states.at(tx, session, boundary)
        return None if state is None else {"content": tx.store_content(state.to_json()).key}

    def install(self, tx: Transaction, parent: Row, child: Row, cut: Cut, item: Any) -> None:
        """Give a child what was captured: records, receipts, ledger and clock, never the declarations anew."""
        del parent, cut
        self.service.states.install(tx, child, item["content"])

    def describe(self, tx: Transaction, session: Row) -> Mapping[str, Any]:
        """The header's entry."""
        return {"dimensions": views.describe(self.service.states.load(tx, session["id"]).state)}


def read_tool(state: State, result_id: str, tool: str, arguments: Any) -> str:
    """The text of one of the tracker's reading tools; a refusal is text for the model too."""
    try:
        given = arguments if isinstance(arguments, dict) else {}
        if tool == "world-dimension-get":
            return str(views.query(state, given.get("queries"))["text"])
        if tool == "world-dimension-list":
            return str(views.listing(state)["dimensions"])
        if tool == "dimension-rule-get":
            return str(views.rule(state, {**given, "resultId": result_id}))
        return f"unknown tool {tool}"
    except InnkeeperError as error:
        return str(error)
