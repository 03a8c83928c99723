"""Putting MVU variables on a session host (spec/mvu.md §0.16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.mvu.service import MvuService
from runtime.sessions.host import SessionHost
from sandbox import Sandbox


def install(
    sessions: SessionHost, *, sandbox: Sandbox | None = None, configured: Sequence[Mapping[str, Any]] = ()
) -> MvuService:
    """A service that takes part in the host's turns, forks and swipes; it shares the host's ledger, ids and clock."""
    return MvuService(sessions.ledger, sessions, sandbox=sandbox, configured=configured)
