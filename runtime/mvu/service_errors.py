"""The MVU service's rows of the error table (spec/mvu.md §2); reading and applying have their own in ``errors``."""

from runtime.values.rows import ErrorCode

ERRORS = (
    ErrorCode("MVU_AMBIGUOUS", 409, "fatal", "The scope fits more than one resource, or none where one is needed."),
    ErrorCode("REVISION_CONFLICT", 409, "fatal", "The state has moved on; read it again and decide anew."),
    ErrorCode("MVU_IDEMPOTENCY_CONFLICT", 409, "fatal", "This operation or binding id was used for another request."),
    ErrorCode("MVU_WRITE_DENIED", 403, "fatal", "No live grant or binding allows this write."),
    ErrorCode("MVU_READ_ONLY", 403, "fatal", "This view cannot be written: it is not the writable head."),
    ErrorCode("MVU_USAGE_DENIED", 403, "fatal", "A usage policy refused."),
    ErrorCode("MVU_SCOPE", 400, "fatal", "The scope is malformed or names no known place."),
    ErrorCode("SCOPE_MISMATCH", 400, "fatal", "The resource is not bound to this session."),
    ErrorCode("MVU_AUTHORITY", 400, "fatal", "Only the authority local is served here."),
    ErrorCode("MVU_MISSING", 400, "fatal", "No resource has this id."),
    ErrorCode("MVU_OPERATION", 400, "fatal", "The operation, its id, its cause or its expected revision is malformed."),
    ErrorCode("MVU_CONFIG", 400, "fatal", "The configuration of a resource, a policy or a mode is wrong."),
    ErrorCode("MVU_ID_CONFLICT", 400, "fatal", "A resource with this id exists already, or the id is malformed."),
    ErrorCode("MVU_VERSION", 400, "fatal", "An imported ledger has an unknown version."),
    ErrorCode(
        "MVU_MIGRATION_REQUIRED", 400, "fatal", "A legacy state is read-only until its values are restored elsewhere."
    ),
    ErrorCode("MVU_SESSION_LEASE", 400, "fatal", "The host gives no session lease: instances cannot be written."),
    ErrorCode("MVU_BASELINE_REQUIRED", 400, "fatal", "The turn has no stored checkpoint."),
    ErrorCode("MVU_HISTORY_UNAVAILABLE", 400, "fatal", "The recorded source no longer matches the durable history."),
    ErrorCode("MVU_HISTORY_CHANGED", 400, "fatal", "The same reply has another text than before."),
    ErrorCode("MVU_DISPOSED", 400, "fatal", "The service has ended."),
    ErrorCode("MVU_USAGE", 400, "fatal", "A usage handler gave no decision that can be read."),
    ErrorCode("MVU_USAGE_CANCELLED", 400, "fatal", "What the decision rested on changed before the commit."),
    ErrorCode("MVU_PREVIEW_STATE_UNAVAILABLE", 400, "fatal", "A preview cannot write the state that it would need."),
    ErrorCode("MVU_SCHEMA_CONFLICT", 400, "fatal", "The card has more than one distinct declaration."),
    ErrorCode(
        "MVU_SCHEMA_REMOTE",
        400,
        "fatal",
        "The card's declaration lies behind a remote import; put its text into the card.",
    ),
    ErrorCode("MVU_INITIALIZATION_MISSING", 400, "fatal", "The card has neither InitVar nor declaration."),
    ErrorCode(
        "WORLD_BOOK_VARIABLE_DENIED",
        400,
        "fatal",
        "An activated world-book entry reads variables that may not be read now.",
    ),
    ErrorCode("SOURCE_BOUND_SCOPE", 400, "fatal", "The scope of a bound list is malformed."),
    ErrorCode(
        "GRANT_INVALID", 400, "fatal", "The grant request or its source is malformed, or not what its identity says."
    ),
    ErrorCode("GRANT_LIMIT", 400, "fatal", "Too many live grants."),
)
