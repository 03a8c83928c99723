"""All limits of the product below the server, gathered from their rooms (design §10)."""

from __future__ import annotations

from typing import Any

from interpreter.limits import LIMITS as INTERPRETER
from runtime.cards.limits import LIMITS as CARDS
from runtime.dimensions.limits import LIMITS as DIMENSIONS
from runtime.ledger.limits import LIMITS as LEDGER
from runtime.mvu.commands.magvarupdate.limits import LIMITS as MAGVARUPDATE
from runtime.mvu.limits import LIMITS as MVU
from runtime.mvu.service_limits import LIMITS as MVU_SERVICE
from runtime.sessions.limits import LIMITS as SESSIONS
from runtime.values.limits import LIMITS as VALUES
from runtime.values.rows import Limit
from runtime.world.limits import LIMITS as WORLD
from sandbox.limits import LIMITS as SANDBOX

_TABLES: tuple[Any, ...] = (
    INTERPRETER,
    SANDBOX,
    VALUES,
    LEDGER,
    SESSIONS,
    CARDS,
    MVU,
    MAGVARUPDATE,
    MVU_SERVICE,
    DIMENSIONS,
    WORLD,
)


def _gather() -> tuple[Limit, ...]:
    found: dict[str, Limit] = {}
    for table in _TABLES:
        rows = table.values() if hasattr(table, "values") else table
        for row in rows:
            own = isinstance(row, Limit)
            limit = row if own else Limit(row.name, row.default, row.unit, row.protects, row.error)
            if found.setdefault(limit.name, limit) != limit:
                raise AssertionError(f"two limits are called {limit.name}")
    return tuple(found.values())


LIMITS: tuple[Limit, ...] = _gather()
