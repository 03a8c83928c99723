"""All tables of the ledger, as data; every store creates the same ones (design §8).

Contents (JSON values) are named by their key in ``contents``; a column ``*_content`` holds such a key.
"""

from runtime.ledger.contents import CONTENTS, QUOTA_ITEMS, QUOTAS
from runtime.ledger.contract import Table

CARDS = Table(
    "cards",
    {"id": "text", "sha": "text", "name": "text", "generation": "integer", "raw": "blob", "summary": "json"},
    key=("id",),
)
SESSIONS = Table(
    "sessions",
    {
        "id": "text",
        "created_at": "json",
        "format_version": "integer",
        "playthrough_id": "text",
        "parent_id": "text",
        "parent_event": "integer",
        "inherited": "integer",
        "origin": "text",
        "next_seq": "integer",
        "last_turn": "integer",
        "running": "integer",
        "event_epoch": "integer",
        "header_epoch": "integer",
        "attach": "json",
        "seed_ticket": "text",
        "deleted": "integer",
    },
    key=("id",),
    indexes=(("playthrough_id",), ("parent_id",)),
)
EVENTS = Table(
    "events",
    {"session_id": "text", "seq": "integer", "type": "text", "turn": "integer", "message_id": "text", "data": "json"},
    key=("session_id", "seq"),
    indexes=(("session_id", "message_id"), ("session_id", "type", "seq")),
)
PLAYTHROUGHS = Table(
    "playthroughs",
    {
        "id": "text",
        "character_id": "text",
        "root_session_id": "text",
        "user_name": "text",
        "epoch": "integer",
        "head_node": "text",
        "created_at": "json",
    },
    key=("id",),
)
NODES = Table(
    "nodes",
    {
        "playthrough_id": "text",
        "node_id": "text",
        "turn": "integer",
        "parent_node": "text",
        "parent_variant": "text",
        "active_variant": "text",
        "ordinal": "integer",
        "stamp": "integer",
    },
    key=("playthrough_id", "node_id"),
    indexes=(("playthrough_id", "parent_node"),),
)
VARIANTS = Table(
    "variants",
    {
        "playthrough_id": "text",
        "node_id": "text",
        "variant_id": "text",
        "session_id": "text",
        "message_id": "text",
        "end_event": "integer",
        "ordinal": "integer",
    },
    key=("playthrough_id", "node_id", "variant_id"),
    indexes=(("session_id",),),
)
SELECTIONS = Table(
    "selections",
    {"session_id": "text", "character_id": "text", "greeting_index": "integer", "generation": "integer"},
    key=("session_id",),
)
OPERATIONS = Table(
    "operations",
    {"scope": "text", "operation_id": "text", "fingerprint": "text", "receipt": "json"},
    key=("scope", "operation_id"),
)
TEMPLATES = Table(
    "templates",
    {
        "id": "text",
        "definition": "json",
        "initial_content": "text",
        "character_id": "text",
        "source_error": "text",
        "discovered": "integer",
    },
    key=("id",),
)
DISCOVERIES = Table(
    "discoveries",
    {"session_id": "text", "template_id": "text", "activation": "integer"},
    key=("session_id", "template_id"),
)
RESOURCES = Table(
    "resources",
    {
        "id": "text",
        "template_id": "text",
        "session_id": "text",
        "revision": "integer",
        "current_key": "text",
        "current_content": "text",
        "initial_content": "text",
        "management": "text",
        "definition": "json",
        "source_error": "text",
        "recovery_error": "json",
        "origin": "json",
    },
    key=("id",),
    indexes=(("session_id",), ("template_id",)),
)
VERSIONS = Table(
    "versions",
    {
        "resource_id": "text",
        "ordinal": "integer",
        "version_key": "text",
        "revision": "integer",
        "kind": "text",
        "session_id": "text",
        "message_id": "text",
        "message_seq": "integer",
        "turn": "integer",
        "fingerprint": "text",
        "content": "text",
        "parent_key": "text",
        "operation_id": "text",
        "error": "text",
        "data": "json",
    },
    key=("resource_id", "ordinal"),
    indexes=(
        ("resource_id", "version_key"),
        ("resource_id", "session_id", "message_seq"),
        ("resource_id", "operation_id"),
    ),
)
CHECKPOINTS = Table(
    "checkpoints",
    {
        "resource_id": "text",
        "session_id": "text",
        "turn": "integer",
        "seq": "integer",
        "revision": "integer",
        "version_key": "text",
        "content": "text",
        "inherited": "json",
    },
    key=("resource_id", "session_id", "turn"),
)
GREETING_COPIES = Table(
    "greeting_copies",
    {"resource_id": "text", "greeting_index": "integer", "content": "text", "card_sha": "text", "error": "text"},
    key=("resource_id", "greeting_index"),
)
SEEDS = Table(
    "seeds",
    {
        "ticket": "text",
        "kind": "text",
        "source_session": "text",
        "target_session": "text",
        "installed": "integer",
        "data": "json",
    },
    key=("ticket",),
    indexes=(("target_session",), ("source_session",)),
)
FACTS = Table(
    "facts",
    {"ordinal": "integer", "session_id": "text", "size": "integer", "data": "json"},
    key=("ordinal",),
    indexes=(("session_id",),),
)
DOCUMENTS = Table(
    "documents",
    {"source": "text", "session_id": "text", "ordinal": "integer", "seq": "integer", "content": "text", "data": "json"},
    key=("source", "session_id", "ordinal"),
    indexes=(("source", "session_id", "seq"),),
)
LIBRARY = Table("library", {"kind": "text", "id": "text", "content": "text", "data": "json"}, key=("kind", "id"))
COUNTERS = Table("counters", {"name": "text", "value": "integer"}, key=("name",))

TABLES: tuple[Table, ...] = (
    CONTENTS,
    QUOTAS,
    QUOTA_ITEMS,
    CARDS,
    SESSIONS,
    EVENTS,
    PLAYTHROUGHS,
    NODES,
    VARIANTS,
    SELECTIONS,
    OPERATIONS,
    TEMPLATES,
    DISCOVERIES,
    RESOURCES,
    VERSIONS,
    CHECKPOINTS,
    GREETING_COPIES,
    SEEDS,
    FACTS,
    DOCUMENTS,
    LIBRARY,
    COUNTERS,
)
