"""The limits of card reading (``spec/mvu.md`` §1.7, ``spec/http.md`` Cards)."""

from __future__ import annotations

from runtime.values.rows import Limit

CARD_BYTES = Limit("cards.bytes", 64 * 1024 * 1024, "bytes", "memory while a card file is read", "CARD_INVALID")
CARD_JSON_BYTES = Limit(
    "cards.json_bytes", 48 * 1024 * 1024, "bytes", "memory while a card's text is inflated and decoded", "CARD_INVALID"
)
CARD_DEPTH = Limit("cards.depth", 100, "levels", "the interpreter stack against nested card JSON", "CARD_INVALID")
CARD_CHUNKS = Limit("cards.chunks", 100_000, "chunks", "time spent walking a PNG file", "CARD_INVALID")
CARD_GREETINGS = Limit("cards.greetings", 1_000, "greetings", "the opening list of one card", "CARD_INVALID")
CARD_ENTRIES = Limit("cards.entries", 20_000, "entries", "the world book of one card", "CARD_INVALID")
# Beyond these two a script is ignored, as the specification says; nothing is raised.
SCRIPTS_PER_LIST = Limit("cards.scripts_per_list", 128, "entries", "time spent walking a card's scripts", "")
SCRIPT_FOLDERS = Limit("cards.script_folders", 8, "levels", "the depth of a card's script folders", "")

LIMITS: tuple[Limit, ...] = (
    CARD_BYTES,
    CARD_JSON_BYTES,
    CARD_DEPTH,
    CARD_CHUNKS,
    CARD_GREETINGS,
    CARD_ENTRIES,
    SCRIPTS_PER_LIST,
    SCRIPT_FOLDERS,
)
