"""The session host's rows of the error table."""

from runtime.values.rows import ErrorCode

ERRORS = (
    ErrorCode("SESSION_NOT_FOUND", 404, "fatal", "No session has this id."),
    ErrorCode("PLAYTHROUGH_NOT_FOUND", 404, "fatal", "No playthrough has this id."),
    ErrorCode("CARD_NOT_FOUND", 404, "fatal", "No character card has this id."),
    ErrorCode("MESSAGE_NOT_FOUND", 404, "fatal", "The session has no such message."),
    ErrorCode("SESSION_EXISTS", 409, "fatal", "A session with this id exists already."),
    ErrorCode("PLAYTHROUGH_EXISTS", 409, "fatal", "A playthrough with this id exists already."),
    ErrorCode("SEQUENCE_CONFLICT", 409, "fatal", "The session has other events than the caller expected."),
    ErrorCode("HOST_IDEMPOTENCY_CONFLICT", 409, "fatal", "This operation id was used for another request."),
    ErrorCode("HOST_OPERATION", 400, "fatal", "The operation id must be a string of 1 to 200 characters."),
    ErrorCode("HOST_REQUEST", 400, "fatal", "The request does not have the form that the contract names."),
    ErrorCode("HOST_EVENT", 400, "fatal", "An event does not have the form that its type asks for."),
    ErrorCode("SESSION_RUNNING", 409, "fatal", "A turn of this session is still running."),
    ErrorCode("SESSION_DELETED", 404, "fatal", "This session was deleted; its children keep what they inherited."),
    ErrorCode("IMPORT_INVALID", 400, "fatal", "The document is no exported playthrough, or was changed since."),
    ErrorCode("MVU_SESSION_IDENTITY", 400, "fatal", "The session's identity is missing, changed or already used."),
    ErrorCode("MVU_SEED", 400, "fatal", "A fork, swipe or retry was asked for at a place where none is possible."),
    ErrorCode("MVU_SEED_MISMATCH", 400, "fatal", "The new session does not continue what the seed was taken from."),
    ErrorCode("MVU_SEED_CONFLICT", 400, "fatal", "The new session has state or intent of its own already."),
    ErrorCode("MVU_SEED_PENDING", 400, "fatal", "The session waits for its seed to be installed."),
    ErrorCode("MVU_SEED_REQUIRED", 400, "fatal", "A forked session needs an installed seed before it has state."),
    ErrorCode("MVU_READ_ONLY", 403, "fatal", "This view cannot be written: it is not the writable head."),
)
