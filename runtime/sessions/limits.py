"""The session host's rows of the limits table."""

from runtime.values.rows import Limit

OPERATION_ID = Limit("host.operationId", 200, "characters", "the operations table", "HOST_OPERATION")
IDENTIFIER = Limit("host.identifier", 200, "characters", "keys of the ledger", "HOST_REQUEST")
EVENTS_PER_CALL = Limit("host.eventsPerCall", 1_000, "events", "the length of one transaction", "HOST_EVENT")
EVENTS_PER_PAGE = Limit("host.eventsPerPage", 1_000, "events", "the size of one answer", "HOST_REQUEST")
PREPARATIONS = Limit(
    "host.preparations", 8, "tries", "a turn whose state changes while its helper runs", "SEQUENCE_CONFLICT"
)
FORK_DEPTH = Limit("host.forkDepth", 1_000, "sessions", "the walk through inherited events", "MVU_SEED")

LIMITS = (OPERATION_ID, IDENTIFIER, EVENTS_PER_CALL, EVENTS_PER_PAGE, PREPARATIONS, FORK_DEPTH)
