"""The MVU service's rows of the limits table (spec/mvu.md §1.7)."""

from runtime.values.rows import Limit

FACT_RECORDS = Limit("mvu.factRecords", 2_048, "records", "the kept observations; the oldest go first", "MVU_LIMIT")
FACT_BYTES = Limit("mvu.factBytes", 1_048_576, "bytes", "the kept observations; the oldest go first", "MVU_LIMIT")
FACT_TEXT = Limit(
    "mvu.factText", 300, "characters", "one field of a kept observation; longer ones are cut", "MVU_LIMIT"
)
BINDINGS = Limit("mvu.bindings", 512, "bindings, live and being created", "memory of the deployment", "MVU_LIMIT")
GRANTS = Limit("mvu.grants", 64, "live grants", "memory of the deployment", "GRANT_LIMIT")
GRANT_SOURCE = Limit("mvu.grantSource", 24 * 1024 * 1024, "bytes", "one rendered execution's source", "GRANT_INVALID")
GRANT_REQUEST = Limit("mvu.grantRequest", 48 * 1024 * 1024, "bytes", "one grant request", "BODY_TOO_LARGE")
OPERATION_ID = Limit("mvu.operationId", 200, "characters", "the operations of a resource", "MVU_OPERATION")
SCOPE_QUERY = Limit("mvu.scopeQuery", 4_000, "characters", "a scope in a query", "MVU_SCOPE")
USER_TEXT = Limit(
    "mvu.userText", 65_536, "characters", "the text a helper's gate reads; longer counts as empty", "MVU_LIMIT"
)
CONSUMER_ID = Limit("mvu.consumerId", 300, "characters", "a prompt consumer's id", "MVU_SCOPE")
SCHEMA_CACHE = Limit("mvu.schemaCache", 256, "declarations", "compiled declarations in memory", "MVU_LIMIT")
CARD_CACHE = Limit("mvu.cardCache", 16, "cards", "parsed cards in memory", "MVU_LIMIT")

LIMITS = (
    FACT_RECORDS,
    FACT_BYTES,
    FACT_TEXT,
    BINDINGS,
    GRANTS,
    GRANT_SOURCE,
    GRANT_REQUEST,
    OPERATION_ID,
    SCOPE_QUERY,
    USER_TEXT,
    CONSUMER_ID,
    SCHEMA_CACHE,
    CARD_CACHE,
)
