"""The error codes of world dimensions as rows, and their exception (``spec/dimensions.md`` §4.4, design §10)."""

from __future__ import annotations

from typing import Final

from runtime.values.rows import ErrorCode, InnkeeperError

VERSION_CONFLICT: Final = "dimension-version-conflict"
SETTLEMENT_PENDING: Final = "DIMENSION_SETTLEMENT_PENDING"

ERRORS: Final[tuple[ErrorCode, ...]] = (
    ErrorCode(VERSION_CONFLICT, 409, "fatal", "A dimension has another version than the one this change was based on."),
    ErrorCode(
        SETTLEMENT_PENDING, 409, "fatal", "An earlier turn's dimension changes are still owed: retry or skip it."
    ),
    ErrorCode("DIMENSION_INVALID", 400, "both", "A declaration or a value does not meet the rules for dimensions."),
    ErrorCode("DIMENSION_PAYLOAD", 400, "both", "The request for a dimension change is not well formed."),
    ErrorCode("DIMENSION_QUERY", 400, "fatal", "The query call is not well formed."),
    ErrorCode("DIMENSION_ARGUMENTS", 400, "diagnostic", "The tracker's update-dimensions arguments were refused."),
    ErrorCode("DIMENSION_CLOCK_MOVE", 400, "fatal", "The clock move does not fit the session's clock."),
    ErrorCode("DIMENSION_NO_CLOCK", 409, "fatal", "This session has no world clock."),
    ErrorCode("DIMENSION_WORLD_INVALID", 400, "fatal", "The world package has errors; nothing of it was kept."),
    ErrorCode("DIMENSION_WORLD_UNREADABLE", 400, "fatal", "The world package cannot be read."),
    ErrorCode("DIMENSION_WORLD_NOT_FOUND", 404, "fatal", "No world is declared under this id."),
    ErrorCode("DIMENSION_SESSION_NOT_FOUND", 404, "fatal", "No such session is known to the dimensions."),
    ErrorCode(
        "DIMENSION_NOT_BOUND", 409, "fatal", "The session has no provider of dimensions yet: bind a world first."
    ),
    ErrorCode("DIMENSION_ALREADY_BOUND", 409, "fatal", "The session is already bound to a world or provider."),
    ErrorCode("DIMENSION_PROVIDER", 403, "fatal", "Only the session's own provider may write its dimensions."),
    ErrorCode("DIMENSION_PROVIDER_CONFLICT", 409, "fatal", "Conflicting providers: exactly one may be active."),
    ErrorCode("DIMENSION_RECEIPT_NOT_FOUND", 404, "fatal", "No settlement receipt exists for this narrative."),
    ErrorCode("DIMENSION_RECEIPT_MISMATCH", 409, "fatal", "Another narrative's receipt occupies this result id."),
    ErrorCode("DIMENSION_TURN_NOT_FOUND", 404, "fatal", "No frozen values are kept for this turn."),
    ErrorCode("DIMENSION_NOT_FOUND", 404, "fatal", "The session has no dimension of this id."),
    ErrorCode("DIMENSION_UNREADABLE", 500, "fatal", "The stored dimensions of this session cannot be read."),
    ErrorCode("DIMENSION_IDEMPOTENCY_CONFLICT", 409, "fatal", "This operation id was used for another request."),
    ErrorCode("DIMENSION_TRACKER", 502, "diagnostic", "The tracker's model did not give a usable answer in time."),
    ErrorCode(
        "dimension-snapshot-unavailable", 503, "fatal", "The frozen dimension values of this turn cannot be read."
    ),
)

_CODES: Final = frozenset(row.code for row in ERRORS)


class DimensionError(InnkeeperError):
    """A refused dimension operation; ``code`` is a row of ``ERRORS``."""

    def __init__(self, code: str, message: str, details: dict[str, object] | None = None) -> None:
        assert code in _CODES, code
        super().__init__(code, message, details)
