"""One session's world as the host side sees it, and what acting on it answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from runtime.world.canon import Canon
from runtime.world.fold import apply_event
from runtime.world.kernel import Event, TurnResult, WorldKernel
from runtime.world.pointers import State

RETRY_SUFFIX = "~retry"


@dataclass(frozen=True, slots=True)
class Line:
    """Canon, role, opening and log of one session, with the State that the log folds to."""

    session_id: str
    canon: Canon
    role: str
    opening: State
    events: tuple[Event, ...]
    state: State

    @property
    def kernel(self) -> WorldKernel:
        """The rules of this session's own Canon."""
        return WorldKernel(self.canon)

    def after(self, events: tuple[Event, ...]) -> Line:
        """The line with more events."""
        state = self.state
        for event in events:
            state = apply_event(state, event)
        return replace(self, events=(*self.events, *events), state=state)


@dataclass(frozen=True, slots=True)
class Fork:
    """A rewind: the new session ends before the event at ``index``."""

    index: int
    check_id: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command, tool or message did: a JSON ``body``, new ``events``, perhaps a ``fork``."""

    body: dict[str, Any]
    events: tuple[Event, ...] = ()
    fork: Fork | None = None
    state: State | None = field(default=None)


def of_result(result: TurnResult) -> Answer:
    """An answer that carries a turn's result; the State is added by whoever knows the role."""
    body: dict[str, Any] = {"ok": result.ok, "receipt": result.receipt}
    if not result.ok:
        body |= {"code": result.code, "message": result.message}
    return Answer(body, result.events, None, result.state)


def refused(code: str, message: str) -> Answer:
    """An answer that refuses."""
    return Answer({"ok": False, "code": code, "message": message, "receipt": {"kind": "empty"}})
