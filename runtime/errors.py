"""All error codes of the runtime, gathered from its rooms (design §10)."""

from __future__ import annotations

from runtime.cards.errors import ERRORS as CARDS
from runtime.dimensions.errors import ERRORS as DIMENSIONS
from runtime.ledger.errors import ERRORS as LEDGER
from runtime.mvu.errors import ERRORS as MVU
from runtime.mvu.helper.errors import ERRORS as HELPER
from runtime.mvu.service_errors import ERRORS as MVU_SERVICE
from runtime.sessions.errors import ERRORS as SESSIONS
from runtime.values.errors import ERRORS as VALUES
from runtime.values.rows import ErrorCode
from runtime.world.errors import ERRORS as WORLD

_TABLES = (VALUES, LEDGER, SESSIONS, CARDS, MVU, MVU_SERVICE, HELPER, DIMENSIONS, WORLD)


def _gather() -> dict[str, ErrorCode]:
    """Rows by code; two rooms may share a code when they agree on its status."""
    found: dict[str, ErrorCode] = {}
    for table in _TABLES:
        for row in table:
            known = found.setdefault(row.code, row)
            if known.status != row.status:
                raise AssertionError(f"two statuses for {row.code}: {known.status} and {row.status}")
    return found


ERRORS: dict[str, ErrorCode] = _gather()
