"""The one module that wires: ledger, session host, state sources, sandbox (design §4)."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.dimensions.service import DimensionsService
from runtime.dimensions.source import DimensionsSource
from runtime.ledger.contract import Row, Transaction
from runtime.ledger.sqlite import SqliteLedger
from runtime.mvu.library import CardLibrary
from runtime.mvu.service import MvuService
from runtime.requests import Requests
from runtime.sessions.branches import Branches
from runtime.sessions.host import SessionHost
from runtime.sessions.playthroughs import Playthroughs
from runtime.sessions.sources import Cut
from runtime.world.ledger_store import HostPorts
from runtime.world.service import WorldSettings
from runtime.world.source import WorldSource
from sandbox import ProcessSandbox, Sandbox


@dataclass(slots=True)
class Runtime:
    """Everything that a host needs in process; ``close`` ends it."""

    ledger: SqliteLedger
    sessions: SessionHost
    playthroughs: Playthroughs
    branches: Branches
    mvu: MvuService
    cards: CardLibrary
    dimensions: DimensionsService
    world: WorldSource
    requests: Requests
    sandbox: Sandbox | None
    deployment: str

    def close(self) -> None:
        """End the sources, the sandbox and the store, in this order."""
        self.mvu.dispose()
        self.dimensions.close()
        if self.sandbox is not None:
            self.sandbox.close()
        self.ledger.close()


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def new_uuid() -> str:
    """A random UUID."""
    return str(uuid.uuid4())


def _open_world(
    ledger: SqliteLedger, sessions: SessionHost, branches: Branches, packs_dir: Path | None, test_mode: bool
) -> WorldSource:
    """The world kernel with what the session host does for it."""

    def branch(tx: Transaction, parent: Row, cut: Cut, child_id: str) -> Row:
        return branches.branch_at(tx, parent, cut, child_id)

    ports = HostPorts(create=sessions.insert_session, append=sessions.add_events, branch=branch)
    settings = WorldSettings(
        new_seed=lambda: secrets.token_hex(16), new_id=sessions.new_id, packs_dir=packs_dir, test_mode=test_mode
    )
    return WorldSource(ledger, ports, settings)


def open_runtime(
    path: Path | None,
    *,
    configured: Sequence[Mapping[str, Any]] = (),
    sandbox: Sandbox | None = None,
    with_sandbox: bool = True,
    new_id: Callable[[], str] = new_uuid,
    now: Callable[[], int] = now_ms,
    deployment: str | None = None,
    packs_dir: Path | None = None,
    test_mode: bool = False,
) -> Runtime:
    """Open a runtime on a SQLite file (``None``: a temporary one); ids, time and sandbox may come from outside."""
    ledger = SqliteLedger(path)
    engine = sandbox if sandbox is not None or not with_sandbox else ProcessSandbox()
    token = deployment or new_uuid()
    sessions = SessionHost(ledger, deployment=token, new_id=new_id, now=now)
    mvu = MvuService(ledger, sessions, sandbox=engine, configured=configured)
    branches = Branches(sessions)
    dimensions = DimensionsService(ledger, now=now)
    sessions.sources.append(DimensionsSource(dimensions))
    world = _open_world(ledger, sessions, branches, packs_dir, test_mode)
    sessions.sources.append(world)
    return Runtime(
        ledger=ledger,
        sessions=sessions,
        playthroughs=Playthroughs(sessions),
        branches=branches,
        dimensions=dimensions,
        world=world,
        requests=Requests(
            mvu, {"dimensions": dimensions.prompt_blocks, "world": world.prompt_blocks}, dimensions.revision
        ),
        mvu=mvu,
        cards=CardLibrary(mvu),
        sandbox=engine,
        deployment=token,
    )
