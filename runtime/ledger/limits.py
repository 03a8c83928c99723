"""The ledger's rows of the limits table."""

from runtime.values.rows import Limit

GROUP_COMMIT = Limit(
    "ledger.group", 64, "requests", "how long one durable commit may be delayed", "STORAGE_UNAVAILABLE"
)
CONTENT_CACHE = Limit("ledger.contentCache", 64 * 1024 * 1024, "bytes", "memory of the server", "STORAGE_UNAVAILABLE")
DELTA_SHARE = Limit(
    "ledger.deltaShare", 25, "percent", "read cost: a larger delta is stored whole", "STORAGE_UNAVAILABLE"
)
BUSY_TIMEOUT = Limit("ledger.busyTimeout", 5_000, "milliseconds", "a writer's wait for a lock", "STORAGE_UNAVAILABLE")
PLAY_STORAGE = Limit(
    "ledger.playStorage",
    32 * 1024 * 1024,
    "bytes of distinct canonical content",
    "the storage of one playthrough, session or shared resource",
    "PLAY_STORAGE_LIMIT",
)

LIMITS = (GROUP_COMMIT, CONTENT_CACHE, DELTA_SHARE, BUSY_TIMEOUT, PLAY_STORAGE)
