"""Limits of the world kernel (``spec/worldkernel.md`` §1.7 asks a service to add its own caps)."""

from __future__ import annotations

from runtime.values.rows import Limit

_LOAD = "WORLD_PACK_LIMIT"
_TURN = "WORLD_LIMIT"

FORMULA_CHARS = Limit("world.formula.chars", 4096, "characters", "the formula parser's time", _LOAD)
FORMULA_DEPTH = Limit("world.formula.depth", 32, "brackets", "Python's stack while a formula is evaluated", _LOAD)
PREDICATE_DEPTH = Limit("world.predicate.depth", 32, "nodes", "Python's stack while a condition is evaluated", _LOAD)
PREDICATE_NODES = Limit("world.predicate.nodes", 512, "nodes", "the time of one match", _LOAD)
CHECK_INPUTS = Limit("world.check.inputs", 128, "inputs", "the time and the receipt of one check", _LOAD)
PACK_CHECKS = Limit("world.pack.checks", 2000, "checks", "the time of one match", _LOAD)
PACK_FILES = Limit("world.pack.files", 4096, "files", "memory while a pack is loaded", _LOAD)
PACK_FILE_CHARS = Limit("world.pack.file.chars", 262_144, "characters", "the YAML parser's time", _LOAD)
PACK_BYTES = Limit("world.pack.bytes", 16 * 1024 * 1024, "bytes", "memory while a pack is loaded", _LOAD)
YAML_DEPTH = Limit("world.yaml.depth", 48, "containers", "Python's stack when pack data is walked", _LOAD)

LORE_CHARS = Limit(
    "world.lore.chars", 4000, "UTF-16 units", "the model's context, where a pack names no budget", "BUDGET"
)
PATCH_KEYS = Limit("world.patch.keys", 256, "pointers", "the size of one event", _TURN)
POINTER_CHARS = Limit("world.pointer.chars", 512, "characters", "the size of one event", _TURN)
POINTER_SEGMENTS = Limit("world.pointer.segments", 24, "segments", "the nesting of the State", _TURN)
VALUE_DEPTH = Limit("world.value.depth", 32, "containers", "Python's stack when a State is walked", _TURN)
VALUE_NODES = Limit("world.value.nodes", 20_000, "values", "the size of one event", _TURN)
VALUE_CHARS = Limit("world.value.chars", 262_144, "characters", "the size of one event", _TURN)
STATE_CHARS = Limit("world.state.chars", 2 * 1024 * 1024, "characters", "the size of one stored State", _TURN)
ACTORS = Limit("world.actors", 64, "slots", "the size of one event", _TURN)
TAGS = Limit("world.tags", 256, "tags", "the time of one match", _TURN)
REASON_CHARS = Limit("world.reason.chars", 4096, "characters", "the size of one event", _TURN)
MESSAGE_CHARS = Limit("world.message.chars", 65_536, "characters", "the search for tags and names", _TURN)
COMMAND_CHARS = Limit("world.command.chars", 8192, "characters", "the command parser's time", _TURN)
SNAPSHOT_EVENTS = Limit("world.snapshot.events", 200, "events", "the time to fold a long log", _TURN)
CACHED_SESSIONS = Limit("world.cached.sessions", 128, "sessions", "the memory of remembered logs", _TURN)
EVENTS_PAGE = Limit("world.events.page", 1000, "events", "the size of one answer", _TURN)

LIMITS: tuple[Limit, ...] = (
    FORMULA_CHARS,
    FORMULA_DEPTH,
    PREDICATE_DEPTH,
    PREDICATE_NODES,
    CHECK_INPUTS,
    PACK_CHECKS,
    PACK_FILES,
    PACK_FILE_CHARS,
    PACK_BYTES,
    YAML_DEPTH,
    LORE_CHARS,
    PATCH_KEYS,
    POINTER_CHARS,
    POINTER_SEGMENTS,
    VALUE_DEPTH,
    VALUE_NODES,
    VALUE_CHARS,
    STATE_CHARS,
    ACTORS,
    TAGS,
    REASON_CHARS,
    MESSAGE_CHARS,
    COMMAND_CHARS,
    SNAPSHOT_EVENTS,
    CACHED_SESSIONS,
    EVENTS_PAGE,
)
