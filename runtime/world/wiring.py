"""Putting the world kernel onto a session host: the ports it needs, and its place among the state sources."""

from __future__ import annotations

from typing import Any

from runtime.ledger.contract import Ledger, Row, Transaction
from runtime.sessions.branches import Branches
from runtime.sessions.host import SessionHost
from runtime.sessions.sources import Cut
from runtime.world.ledger_store import HostPorts
from runtime.world.service import WorldSettings
from runtime.world.source import WorldSource


def attach_world(ledger: Ledger, sessions: SessionHost, branches: Branches, settings: WorldSettings) -> WorldSource:
    """Make the world a source of ``sessions`` and return it; call once per host."""

    def append(tx: Transaction, row: Row, events: list[tuple[str, dict[str, Any]]]) -> object:
        return sessions._append_all(tx, row, events, [])

    def branch(tx: Transaction, parent: Row, cut: Cut, child_id: str) -> Row:
        items = branches._capture(tx, parent, cut)
        child = branches._create_child(tx, parent, cut, child_id, None)
        branches._install(tx, parent, child, cut, items)
        return child

    source = WorldSource(ledger, HostPorts(sessions.insert_session, append, branch), settings)
    sessions.sources.append(source)
    return source
