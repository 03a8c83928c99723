"""The server's rows of the limits table."""

from runtime.limits import LIMITS as RUNTIME_LIMITS
from runtime.values.rows import Limit

JSON_BODY = Limit("http.jsonBody", 2 * 1024 * 1024, "bytes", "memory and time of one call", "BODY_TOO_LARGE")
CARD_BODY = Limit("http.cardBody", 64 * 1024 * 1024, "bytes", "memory and time of one import", "BODY_TOO_LARGE")
GRANT_BODY = Limit("http.grantBody", 48 * 1024 * 1024, "bytes", "memory of one grant", "BODY_TOO_LARGE")
IMPORT_BODY = Limit(
    "http.importBody", 256 * 1024 * 1024, "bytes", "memory of one imported playthrough", "BODY_TOO_LARGE"
)
JSON_DEPTH = Limit("http.jsonDepth", 128, "levels", "the reader of bodies", "INVALID_JSON")
WORKERS = Limit("http.threads", 40, "threads", "calls that are worked on at once", "STORAGE_UNAVAILABLE")
EVENT_QUEUE = Limit(
    "http.eventQueue", 64, "notices", "memory per event stream; a slower reader is disconnected", "NOT_FOUND"
)
HEARTBEAT = Limit("http.heartbeat", 15, "seconds", "idle event streams behind proxies", "NOT_FOUND")
RENDERER_TOKEN = Limit("http.rendererToken", 30 * 24 * 3600, "seconds", "the life of a renderer token", "HOST_REQUEST")
NARRATOR_ANSWER = Limit(
    "narrator.answer", 1024 * 1024, "bytes", "memory of one answer of the narrator's model", "BODY_TOO_LARGE"
)
NARRATOR_MEMORY = Limit("narrator.memory", 8, "turns", "how much of the told story each call repeats", "HOST_REQUEST")

SERVER_LIMITS = (
    JSON_BODY,
    CARD_BODY,
    GRANT_BODY,
    IMPORT_BODY,
    JSON_DEPTH,
    WORKERS,
    EVENT_QUEUE,
    HEARTBEAT,
    RENDERER_TOKEN,
    NARRATOR_ANSWER,
    NARRATOR_MEMORY,
)
LIMITS: tuple[Limit, ...] = (*RUNTIME_LIMITS, *SERVER_LIMITS)
