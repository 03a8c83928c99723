"""The one public face of world dimensions: every operation as one transaction on the ledger (``spec/http.md``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.dimensions import binding, domain, views
from runtime.dimensions.binding import World
from runtime.dimensions.domain import Result
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.events import Event
from runtime.dimensions.package import read_world
from runtime.dimensions.state import State
from runtime.dimensions.storage import StateStore, get_world, put_world
from runtime.dimensions.tracker import Tracker
from runtime.dimensions.turn import Policy, TurnResult, Unit, commit_turn
from runtime.dimensions.values import Json
from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.sessions import store as sessions
from runtime.sessions.operations import check_operation_id, once
from runtime.values.canonical import sha

Listener = Callable[[str, Event], None]
CONFLICT = "DIMENSION_IDEMPOTENCY_CONFLICT"


@dataclass(frozen=True, slots=True)
class Request:
    """Who asks for what: the session, the idempotency key (or ``None``) and the request it stands for."""

    session_id: str
    operation_id: str | None
    fingerprint: Any


class Runner(Protocol):
    """Who runs trackers for a service: the state source of the session host."""

    def use_tracker(self, tracker: Tracker | None) -> None:
        """Have this tracker from now on."""
        ...

    def retry(self, session_id: str, result_id: str, *, operation_id: str | None = None) -> dict[str, Any]:
        """Retry one debt now."""
        ...

    def close(self) -> None:
        """Wait for running trackers."""
        ...


class DimensionsService:
    """World dimensions of all sessions of one ledger; thread-safe.

    ``now`` tells milliseconds; ``provider`` is the one active provider (the built-in one, or a plug-in's).
    """

    def __init__(self, ledger: Ledger, *, now: Callable[[], int], provider: str = domain.BUILT_IN) -> None:
        self.ledger = ledger
        self.provider = provider
        self.runner: Runner | None = None
        self._trackers: set[str] = set()
        self.states = StateStore()
        self._now = now
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []

    # -- trackers ---------------------------------------------------------------------------------------------------

    def use_tracker(self, tracker: Tracker) -> None:
        """Have a tracker: the configured model's, or the one plug-in that is the provider then (§0.3)."""
        if self._trackers - {tracker.provider}:
            binding.discover_provider(sorted({*self._trackers, tracker.provider}), None)
        self._trackers.add(tracker.provider)
        self.provider = tracker.provider
        if self.runner is not None:
            self.runner.use_tracker(tracker)

    def retry_now(self, session_id: str, result_id: str, *, operation_id: str | None = None) -> dict[str, Any]:
        """``POST …/retry``: adopt the current versions and run the tracker, when there is one."""
        if self.runner is None:
            return self.retry(session_id, result_id, operation_id=operation_id)
        return self.runner.retry(session_id, result_id, operation_id=operation_id)

    def close(self) -> None:
        """Wait for running trackers."""
        if self.runner is not None:
            self.runner.close()

    # -- notices ----------------------------------------------------------------------------------------------------

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(session id, event)`` after each commit; returns a disposer (§9)."""
        with self._lock:
            self._listeners.append(listener)

        def dispose() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return dispose

    def announce(self, tx: Transaction, session_id: str, result: Result) -> None:
        """Send the notifications of ``result`` once its transaction is stored."""
        if not result.events:
            return

        def send() -> None:
            for listener in list(self._listeners):
                for event in result.events:
                    listener(session_id, event)

        tx.after_commit(send)

    # -- worlds -----------------------------------------------------------------------------------------------------

    def declare_world(
        self, *, world_id: str | None = None, files: Json = None, definitions: Json = None, clock: Json = None
    ) -> dict[str, Any]:
        """``POST /dimensions/worlds``: a package or a bare table; refused whole, with every issue."""
        if files is not None:
            world, warnings = read_world(world_id, files)
        else:
            binding.check_world_table(definitions, clock)
            key = world_id or f"world-{sha([definitions, clock])[:16]}"
            world, warnings = World(domain.check_identifier(key, "worldId"), definitions, "", clock), []
        self.ledger.write(lambda tx: put_world(tx, world))
        return {**self._world_answer(world), "warnings": [finding.to_json() for finding in warnings]}

    def world(self, world_id: str) -> dict[str, Any]:
        """``GET /dimensions/worlds/{id}``."""
        return self._world_answer(self.ledger.read(lambda tx: get_world(tx, world_id)))

    @staticmethod
    def _world_answer(world: World) -> dict[str, Any]:
        return {
            "worldId": world.id,
            "locale": world.locale,
            "definitions": dict(world.definitions),
            "clock": world.clock,
            "digest": sha(world.to_json()),
        }

    # -- transactions -----------------------------------------------------------------------------------------------

    def read_state(self, session_id: str) -> State:
        """The current state of a session."""

        def job(tx: Transaction) -> State:
            sessions.session_row(tx, session_id)
            return self.states.load(tx, session_id).state

        return self.ledger.read(job)

    def change(self, tx: Transaction, session: Row, operation: Callable[[State], Result]) -> Result:
        """Run a pure operation inside the caller's transaction and store what it moved."""
        loaded = self.states.load(tx, session["id"])
        result = operation(loaded.state)
        self.states.save(tx, session, loaded, result.state)
        self.announce(tx, session["id"], result)
        return result

    def _write(self, request: Request, operation: Callable[[Transaction, State], Result]) -> dict[str, Any]:
        """One idempotent transaction; without an operation id the request simply runs."""
        if request.operation_id is not None:
            check_operation_id(request.operation_id, "DIMENSION_PAYLOAD")

        def produce(tx: Transaction) -> dict[str, Any]:
            session = sessions.session_row(tx, request.session_id)
            return self.change(tx, session, lambda state: operation(tx, state)).answer

        def job(tx: Transaction) -> dict[str, Any]:
            if request.operation_id is None:
                return produce(tx)
            scope = f"dimensions:{request.session_id}"
            return once(tx, scope, request.operation_id, request.fingerprint, lambda: produce(tx), CONFLICT)

        return self.ledger.write(job)

    # -- operations -------------------------------------------------------------------------------------------------

    def bind(self, session_id: str, world_id: str, *, locale: str | None, operation_id: str) -> dict[str, Any]:
        """``POST …/bind``: create the session's records from a world."""

        def operation(tx: Transaction, state: State) -> Result:
            world = get_world(tx, world_id)
            provider = binding.discover_provider([self.provider], state.provider)
            return binding.bind(state, world, locale=locale, provider=provider, imported_at=str(self._now()))

        return self._write(Request(session_id, operation_id, ["bind", world_id, locale]), operation)

    def initialize(self, session_id: str, payload: Json, *, operation_id: str | None = None) -> dict[str, Any]:
        """``POST …/initialize``."""
        request = Request(session_id, operation_id, ["initialize", payload])
        return self._write(request, lambda _tx, state: domain.initialize(state, payload))

    def update(
        self, session_id: str, payload: Json, *, operation_id: str | None = None, writer: str | None = None
    ) -> dict[str, Any]:
        """``POST …/update``."""
        request = Request(session_id, operation_id, ["update", payload])
        return self._write(request, lambda _tx, state: domain.update(state, payload, writer=writer))

    def edit(self, session_id: str, payload: Json, *, operation_id: str | None = None) -> dict[str, Any]:
        """``POST …/edit``: a player's edit, manual settlement or skip."""
        request = Request(session_id, operation_id, ["edit", payload])
        return self._write(request, lambda _tx, state: domain.edit(state, payload))

    def narrative(
        self, session_id: str, result_id: str, turn_id: str, *, text: str | None = None, operation_id: str | None = None
    ) -> dict[str, Any]:
        """``POST …/narratives``: register the debt of a narrative that the host committed elsewhere."""
        request = Request(session_id, operation_id, ["narrative", result_id, turn_id, text])
        return self._write(request, lambda _tx, state: domain.register_narrative(state, result_id, turn_id, text=text))

    def settle(
        self, session_id: str, result_id: str, arguments: Json, *, operation_id: str | None = None
    ) -> dict[str, Any]:
        """``POST …/settle``: what a tracker said, repaired, checked, committed."""
        request = Request(session_id, operation_id, ["settle", result_id, arguments])
        return self._write(request, lambda _tx, state: domain.settle_by_tool(state, result_id, arguments))

    def fail(self, session_id: str, result_id: str, error: str) -> dict[str, Any]:
        """A tracker's failure: the debt stands, with the reason."""
        request = Request(session_id, None, None)
        return self._write(request, lambda _tx, state: domain.record_failure(state, result_id, error))

    def retry(self, session_id: str, result_id: str, *, operation_id: str | None = None) -> dict[str, Any]:
        """``POST …/retry`` without a tracker: the debt adopts the current versions and waits for ``settle``."""
        request = Request(session_id, operation_id, ["retry", result_id])
        return self._write(request, lambda _tx, state: domain.retry(state, result_id))

    def move_clock(
        self, session_id: str, turn_id: str, move: Json = None, *, operation_id: str | None = None
    ) -> dict[str, Any]:
        """``POST …/clock``: move the clock for a turn; derived fields follow in the same transaction."""
        request = Request(session_id, operation_id, ["clock", turn_id, move])
        answer = self._write(request, lambda _tx, state: domain.move(state, turn_id, move))
        return {**answer["clock"], **{key: part for key, part in answer.items() if key != "clock"}}

    def sync(
        self,
        session_id: str,
        world_id: str,
        *,
        dry_run: bool = True,
        force: bool = False,
        operation_id: str | None = None,
    ) -> dict[str, Any]:
        """``POST …/sync``: bring a session in step with its world's declarations."""

        def operation(tx: Transaction, state: State) -> Result:
            world = get_world(tx, world_id)
            return binding.sync(state, world, dry_run=dry_run, force=force, imported_at=str(self._now()))

        return self._write(Request(session_id, operation_id, ["sync", world_id, dry_run, force]), operation)

    def execute(
        self,
        session_id: str,
        turn_id: str,
        units: Sequence[Unit],
        *,
        narratives: Sequence[str] = (),
        policy: Policy | None = None,
        tracker: str | None = None,
    ) -> TurnResult:
        """Commit the proposals of several runtimes of an in-process host in one transaction (§4.4)."""

        def job(tx: Transaction) -> TurnResult:
            session = sessions.session_row(tx, session_id)
            done: list[TurnResult] = []

            def operation(state: State) -> Result:
                done.append(commit_turn(state, turn_id, units, narratives=narratives, policy=policy, tracker=tracker))
                return Result(done[0].state, {}, done[0].events)

            self.change(tx, session, operation)
            return done[0]

        return self.ledger.write(job)

    # -- reads ------------------------------------------------------------------------------------------------------

    def snapshot(self, session_id: str, *, locale: str | None = None, turn_id: str | None = None) -> dict[str, Any]:
        """``GET /dimensions/sessions/{id}``."""
        return views.snapshot(self.read_state(session_id), locale=locale, turn_id=turn_id)

    def query(
        self, session_id: str, queries: Json, *, turn_id: str | None = None, locale: str | None = None
    ) -> dict[str, Any]:
        """``POST …/query``."""
        return views.query(self.read_state(session_id), queries, turn_id=turn_id, locale=locale)

    def listing(self, session_id: str, *, turn_id: str | None = None) -> dict[str, Any]:
        """``GET …/list``."""
        return views.listing(self.read_state(session_id), turn_id=turn_id)

    def story(self, session_id: str, *, turn_id: str | None = None) -> dict[str, Any]:
        """The story projection, for ``POST /host/sessions/{id}/prompt``."""
        return views.story(self.read_state(session_id), turn_id=turn_id)

    def prompt_blocks(self, session_id: str, turn: int | None = None) -> list[dict[str, Any]]:
        """The story segments as blocks of ``POST /host/sessions/{id}/prompt``."""
        return views.prompt_blocks(self.read_state(session_id), turn)

    def revision(self, tx: Transaction, session_id: str) -> str:
        """A name of everything that a session's dimensions hold now; it changes with every commit."""
        return self.states.load(tx, session_id).chain

    def tracker_prompt(
        self, session_id: str, result_id: str | None = None, *, turn_id: str | None = None
    ) -> dict[str, Any]:
        """``GET …/tracker-prompt``."""
        return views.tracker(self.read_state(session_id), result_id, turn_id)

    def rule(self, session_id: str, request: Mapping[str, Json]) -> dict[str, Any]:
        """``POST …/rule``."""
        return views.rule(self.read_state(session_id), request)

    def clock(self, session_id: str, turn_id: str | None = None) -> dict[str, Any]:
        """``GET …/clock``."""
        return views.read_clock(self.read_state(session_id), turn_id)

    def narrative_text(self, session_id: str, result_id: str) -> str:
        """The narrative of a debt: the text registered with it, else the reply of that id in the session."""

        def job(tx: Transaction) -> str:
            session = sessions.session_row(tx, session_id)
            text = self.states.load(tx, session_id).state.texts.get(result_id)
            if text is not None:
                return text
            event = sessions.find_message(tx, session, result_id)
            if event is None:
                raise DimensionError(
                    "DIMENSION_RECEIPT_NOT_FOUND", f"the narrative {result_id!r:.100} is not stored in this session"
                )
            return event.text

        return self.ledger.read(job)
