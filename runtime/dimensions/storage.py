"""Dimension states on the ledger: a chain of differences with a whole document now and then (design §8).

A row of ``documents`` (source ``dimensions``) holds the parts that one commit moved, and the number of events that the
session had then; that number is what a fork or swipe cuts by. A commit costs what it changes, a cold read at most
``KEYFRAME`` rows.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from runtime.dimensions.binding import World
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.limits import KEYFRAME, STATES_CACHED
from runtime.dimensions.state import State, read_state
from runtime.dimensions.values import quoted
from runtime.ledger.contract import Row, Transaction
from runtime.ledger.tables import DOCUMENTS, LIBRARY, SESSIONS
from runtime.values.canonical import text_sha

SOURCE: Final = "dimensions"
WORLD_KIND: Final = "dimension-world"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session's state and the place of its newest row; ``ordinal`` is 0 before the first."""

    state: State
    ordinal: int
    chain: str = ""


class StateStore:
    """Reads and appends states; remembers decoded ones by their chain, which names the whole content."""

    def __init__(self, limit: int = STATES_CACHED.default) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._states: OrderedDict[str, State] = OrderedDict()

    # -- reading ----------------------------------------------------------------------------------------------------

    def load(self, tx: Transaction, session_id: str) -> Loaded:
        """The current state of a session; an unbound one is empty."""
        row = self._newest(tx, session_id)
        return (
            Loaded(State(), 0) if row is None else Loaded(self._state_of(tx, row), row["ordinal"], row["data"]["chain"])
        )

    def at(self, tx: Transaction, session: Row, boundary: int | None) -> State | None:
        """The newest state written while the session had at most ``boundary`` events, ancestors included."""
        owner: Row | None = session
        while owner is not None:
            row = self._newest(tx, owner["id"], boundary)
            if row is not None:
                return self._state_of(tx, row)
            owner = None if owner["parent_id"] is None else tx.get(SESSIONS, owner["parent_id"])
        return None

    def _newest(self, tx: Transaction, session_id: str, boundary: int | None = None) -> Row | None:
        rows = tx.select(
            DOCUMENTS,
            {"source": SOURCE, "session_id": session_id},
            below=None if boundary is None else ("seq", boundary),
            order=("ordinal",),
            descending=True,
            limit=1,
        )
        return rows[0] if rows else None

    def _state_of(self, tx: Transaction, row: Row) -> State:
        key = row["data"]["chain"]
        with self._lock:
            known = self._states.get(key)
            if known is not None:
                self._states.move_to_end(key)
                return known
        state = read_state(self._parts(tx, row))
        self._remember(key, state)
        return state

    def _parts(self, tx: Transaction, row: Row) -> dict[str, Any]:
        """The parts at a row: its keyframe and every difference up to it."""
        first = int(row["data"]["keyframe"])
        rows = tx.select(
            DOCUMENTS,
            {"source": SOURCE, "session_id": row["session_id"]},
            above=("ordinal", first),
            below=("ordinal", row["ordinal"]),
            order=("ordinal",),
        )
        if [entry["ordinal"] for entry in rows] != list(range(first, row["ordinal"] + 1)):
            raise DimensionError(
                "DIMENSION_UNREADABLE", f"the stored dimensions of session {quoted(row['session_id'])} have a gap"
            )
        parts: dict[str, Any] = {}
        for entry in rows:
            parts.update(tx.load_content(entry["content"]))
        return {key: part for key, part in parts.items() if part is not None}

    def _remember(self, key: str, state: State) -> None:
        with self._lock:
            self._states[key] = state
            while len(self._states) > self._limit:
                self._states.popitem(last=False)

    # -- writing ----------------------------------------------------------------------------------------------------

    def save(self, tx: Transaction, session: Row, before: Loaded, state: State) -> None:
        """Append the parts that ``state`` moved; nothing moved, nothing written."""
        if not state.dirty:
            return
        ordinal = before.ordinal + 1
        keyframe = ordinal - before.ordinal % KEYFRAME.default
        whole = keyframe == ordinal
        content = tx.store_content(state.to_json() if whole else state.changes())
        # The chain names everything up to this row, so a state remembered under it is right whatever was rolled back.
        chain = content.key if whole else text_sha(f"{before.chain} {content.key}")
        row = {
            "source": SOURCE,
            "session_id": session["id"],
            "ordinal": ordinal,
            "seq": session["next_seq"],
            "content": content.key,
            "data": {"keyframe": keyframe, "chain": chain},
        }
        tx.insert(DOCUMENTS, row)
        self._remember(chain, state.clean())

    def install(self, tx: Transaction, child: Row, content_key: str) -> None:
        """Give a child session the state that was captured for it."""
        if self._newest(tx, child["id"]) is not None:
            raise DimensionError("DIMENSION_ALREADY_BOUND", f"session {quoted(child['id'])} has dimensions already")
        row = {
            "source": SOURCE,
            "session_id": child["id"],
            "ordinal": 1,
            "seq": child["next_seq"],
            "content": content_key,
            "data": {"keyframe": 1, "chain": content_key},
        }
        tx.insert(DOCUMENTS, row)


# --- worlds ---------------------------------------------------------------------------------------------------------


def put_world(tx: Transaction, world: World) -> None:
    """Keep a declared world; a new declaration under the same id replaces the old one and changes no session."""
    content = tx.store_content(world.to_json())
    tx.put(LIBRARY, {"kind": WORLD_KIND, "id": world.id, "content": content.key, "data": None})


def get_world(tx: Transaction, world_id: str) -> World:
    """A declared world, or ``DIMENSION_WORLD_NOT_FOUND``."""
    row = tx.get(LIBRARY, WORLD_KIND, world_id)
    if row is None:
        message = f"expected the id of a declared world, found {quoted(world_id)}"
        raise DimensionError("DIMENSION_WORLD_NOT_FOUND", message, {"worldId": world_id})
    return World.from_json(tx.load_content(row["content"]))
