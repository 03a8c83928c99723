"""What a state source (MVU variables, dimensions, world kernel) offers to the session host.

The host calls these inside its own transaction, so that a turn, a fork or a swipe moves all sources together or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.ledger.contract import Row, Transaction
from runtime.sessions.events import Event

Receipt = dict[str, Any]


class Unprepared(Exception):
    """A source needs :meth:`StateSource.prepare` again: what it prepared for has changed meanwhile."""


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that ended: its events, the counting reply (if any) and why it ended."""

    turn: int
    end: Event
    reply: Event | None
    user_text: str


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a child session leaves its parent.

    ``kind`` is ``fork``, ``reply-swipe`` or ``request-retry``; ``at_event`` the event it was asked for; ``inherited``
    the number of events that the child shares; ``turn`` the turn of ``at_event``.
    """

    kind: str
    at_event: int
    inherited: int
    turn: int


class StateSource(Protocol):
    """One state source on the shared ledger."""

    name: str

    def prepare(self, session_id: str, replies: Sequence[tuple[int, Event, str]]) -> Any:
        """Do the slow work for ``(turn, reply, user text)`` outside of any transaction."""
        ...

    def selected(self, tx: Transaction, session: Row, selection: Row, *, fresh: bool) -> None:
        """A card or greeting was selected in ``session``."""
        ...

    def before_turn(self, tx: Transaction, session: Row, start: Event, user_text: str) -> None:
        """Refuse a turn that a rule blocks, by raising."""
        ...

    def turn_started(self, tx: Transaction, session: Row, start: Event) -> None:
        """Freeze the content that the turn starts from."""
        ...

    def turn_ended(self, tx: Transaction, session: Row, ended: EndedTurn, prepared: Any) -> list[Receipt]:
        """Apply a finished turn; one receipt for each state that it could change."""
        ...

    def capture(self, tx: Transaction, session: Row, cut: Cut) -> Any | None:
        """Freeze what a child at ``cut`` starts with: a JSON value, or ``None`` without state."""
        ...

    def install(self, tx: Transaction, parent: Row, child: Row, cut: Cut, item: Any) -> None:
        """Give ``child`` what was captured."""
        ...

    def describe(self, tx: Transaction, session: Row) -> Mapping[str, Any]:
        """What the session's header shows of this source."""
        ...
