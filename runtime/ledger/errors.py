"""The ledger's rows of the error table."""

from runtime.values.rows import ErrorCode

ERRORS = (
    ErrorCode("STORAGE_UNAVAILABLE", 503, "fatal", "The storage did not answer; nothing was written, try again."),
    ErrorCode(
        "STORAGE_VERSION", 503, "fatal", "The data directory was written by a newer release; nothing was touched."
    ),
    ErrorCode("PLAY_STORAGE_LIMIT", 400, "fatal", "The stored history of this playthrough would outgrow its quota."),
)
