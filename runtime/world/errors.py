"""Error codes of the world kernel, its packs and its host side (``spec/worldkernel.md`` §1.6, §00.4)."""

from __future__ import annotations

from runtime.values.rows import ErrorCode

# A refused intent is an answer with ``ok: false``, never a failed request: status 200.
_REFUSALS = {
    "UNKNOWN_CHECK": "The pack has no check of this id.",
    "UNKNOWN_ACTOR": "An actor of the check is not a character of this world.",
    "INVALID_CONDITION": "The check's condition does not hold, or one of its inputs has no value.",
    "EXTRA_GUARDED": "The extra patch of a check may only request a scene or write unguarded facts.",
    "TRAVEL_BLOCKED": "There is no open way from the current scene to the requested one.",
    "CHANNEL_VIOLATION": "This pointer belongs to the rules; facts and corrections cannot write it.",
    "MISSING_REASON": "A ruling of the game master needs a reason.",
    "UNKNOWN_LORE": "There is no lore and no character card under this key.",
    "BUDGET": "The text is longer than the pack's lore budget.",
    "HOST_TOOL_HIDDEN": "This tool is not available in this role.",
    "HOST_COMMAND": "The command could not be understood or is not allowed.",
    "HOST_NOTHING_TO_RETRY": "There is no such check to go back to.",
}

_FATAL = {
    "WORLD_INTENT": (422, "The intent is not one that the world kernel knows."),
    "WORLD_REQUEST": (400, "The request is not one that the world kernel knows."),
    "WORLD_LIMIT": (413, "The value is larger than the world kernel accepts."),
    "WORLD_PACK_LIMIT": (413, "The pack is larger than the world kernel accepts."),
    "WORLD_PACK_UNKNOWN": (404, "There is no pack of this id."),
    "WORLD_PACK_INVALID": (422, "The pack has errors; no session can be opened from it."),
    "WORLD_PACK_PATH": (403, "The directory is not below the folder that packs may be read from."),
    "WORLD_PACK_UNREADABLE": (422, "The pack could not be read."),
    "WORLD_SESSION_UNKNOWN": (404, "This session has no world."),
    "WORLD_SESSION_EXISTS": (409, "This session already has a world."),
    "WORLD_TURN_CONFLICT": (409, "The world has moved on since this request was made."),
    "WORLD_TEST_MODE": (403, "Draws can only be injected in test mode."),
    "WORLD_IDEMPOTENCY_CONFLICT": (409, "This operation id was used for another request."),
    "FORCED_CHECK_MISSING": (409, "The pack forces a check that has not been run for this message."),
}

ERRORS: tuple[ErrorCode, ...] = (
    *(ErrorCode(code, 200, "diagnostic", sentence) for code, sentence in _REFUSALS.items()),
    *(ErrorCode(code, status, "fatal", sentence) for code, (status, sentence) in _FATAL.items()),
    ErrorCode("UNCAUSED_CLAIM", 200, "diagnostic", "The reply tells a change that no event caused."),
)
