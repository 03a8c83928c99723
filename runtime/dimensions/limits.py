"""The limits of world dimensions as rows (``spec/dimensions.md`` §1.6)."""

from __future__ import annotations

from typing import Final

from runtime.values.rows import Limit

_VALUE = "DIMENSION_INVALID"
_PAYLOAD = "DIMENSION_PAYLOAD"
_QUERY = "DIMENSION_QUERY"
_WORLD = "DIMENSION_WORLD_INVALID"
_CLOCK = "DIMENSION_CLOCK_MOVE"

ID_CHARS: Final = Limit("dimensions.id", 64, "characters", "keys of records and events", _VALUE)
JSON_DEPTH: Final = Limit("dimensions.json.depth", 32, "levels", "recursion over outside data", _VALUE)
JSON_NODES: Final = Limit("dimensions.json.nodes", 10_000, "values", "time spent on one value or table", _VALUE)
JSON_BYTES: Final = Limit("dimensions.json.bytes", 262_144, "bytes", "size of one value, table or snapshot", _VALUE)
UPDATES: Final = Limit("dimensions.updates", 64, "entries", "one batch of updates", _PAYLOAD)
REASON: Final = Limit("dimensions.update.reason", 2_000, "UTF-16 units", "the reason beside an update", _PAYLOAD)
RANGES: Final = Limit("dimensions.derive.ranges", 64, "entries", "the bands of a derived field", _VALUE)
QUERIES: Final = Limit("dimensions.queries", 20, "queries", "one query call", _QUERY)
QUERY_PATH: Final = Limit("dimensions.query.path", 1_024, "UTF-16 units", "one query's path", _QUERY)
QUERY_PAGE: Final = Limit("dimensions.query.page", 2_000, "entries", "one page of a query", _QUERY)
QUERY_PAGE_DEFAULT: Final = Limit(
    "dimensions.query.pageDefault", 100, "entries", "a page without its own limit", _QUERY
)
QUERY_VALUE_TEXT: Final = Limit(
    "dimensions.query.valueText", 320, "characters", "model text of an unpaged value", _QUERY
)
QUERY_PAGES_TEXT: Final = Limit("dimensions.query.pagesText", 7_600, "characters", "model text of all pages", _QUERY)
QUERY_TEXT: Final = Limit("dimensions.query.text", 8_192, "characters", "model text of a whole query result", _QUERY)
STORY_TEXT: Final = Limit("dimensions.story.text", 12_000, "characters", "current values in the story prompt", _QUERY)
STORY_RESERVED: Final = Limit("dimensions.story.reserved", 100, "characters", "the closing line of that block", _QUERY)
STORY_CUT: Final = Limit("dimensions.story.cut", 240, "characters", "a value cut in the story prompt", _QUERY)
RULES_TEXT: Final = Limit(
    "dimensions.rules.text", 24_000, "characters", "rules and values shown to the tracker", _QUERY
)
RULE_PREVIEW: Final = Limit("dimensions.rules.preview", 80, "characters", "a rule in the truncated list", _QUERY)
RULE_PAGE: Final = Limit("dimensions.rules.page", 6_000, "code points", "one page of a rule or schema", _QUERY)
CHANGES: Final = Limit("dimensions.tool.changes", 32, "entries", "changes of one tracker update", _PAYLOAD)
FOLLOWERS: Final = Limit(
    "dimensions.tool.followsClock", 64, "entries", "names a tracker says follow the clock", _PAYLOAD
)
SHOWN_TEXT_PERCENT: Final = Limit(
    "dimensions.tracker.textPercent", 80, "percent", "room for a model that cannot count", _VALUE
)
TRACKER_TOTAL: Final = Limit("dimensions.tracker.total", 120, "seconds", "one run of the tracker", "DIMENSION_TRACKER")
TRACKER_CALL: Final = Limit("dimensions.tracker.call", 60, "seconds", "one model call", "DIMENSION_TRACKER")
TRACKER_RETRIES: Final = Limit("dimensions.tracker.retries", 3, "retries", "model calls repeated", "DIMENSION_TRACKER")
TRACKER_FIRST_TOKEN: Final = Limit(
    "dimensions.tracker.firstToken", 60, "seconds", "the first wait for a token", "DIMENSION_TRACKER"
)
TRACKER_SECOND_TOKEN: Final = Limit(
    "dimensions.tracker.secondToken", 30, "seconds", "the second wait for a token", "DIMENSION_TRACKER"
)
TRACKER_LATER_TOKEN: Final = Limit(
    "dimensions.tracker.laterToken", 15, "seconds", "every later wait for a token", "DIMENSION_TRACKER"
)
TRACKER_ANSWER: Final = Limit(
    "dimensions.tracker.answer", 1_048_576, "bytes", "memory for one model answer", "DIMENSION_TRACKER"
)
RECEIPTS_KEPT: Final = Limit("dimensions.receipts.kept", 20, "receipts", "finished receipts of a session", _PAYLOAD)
FROZEN_TURNS: Final = Limit(
    "dimensions.frozen.turns", 256, "turns", "frozen bases kept of a session", "DIMENSION_TURN_NOT_FOUND"
)
CLOCK_TURNS: Final = Limit("dimensions.clock.turns", 256, "turns", "clock moves remembered by turn", _CLOCK)
CLOCK_NUMBER: Final = Limit("dimensions.clock.number", 1_000_000, "units", "steps, days, hours, minutes, years", _CLOCK)
CLOCK_NAMES: Final = Limit("dimensions.clock.names", 100, "entries", "months, phases, weekdays, periods", _CLOCK)
CLOCK_REASON: Final = Limit("dimensions.clock.reason", 500, "characters", "the reason of a clock move", _CLOCK)
CLOCK_TICK: Final = Limit("dimensions.clock.tick", 2**53 - 1, "units", "exact clock arithmetic", _CLOCK)
LOCALE_TAG: Final = Limit("dimensions.locale", 64, "characters", "one locale tag", _VALUE)
RESULT_ID: Final = Limit("dimensions.resultId", 200, "characters", "identifiers of narratives and turns", _PAYLOAD)
NARRATIVE: Final = Limit("dimensions.narrative", 1_048_576, "UTF-16 units", "a narrative kept for its debt", _PAYLOAD)
WORLD_FILES: Final = Limit("dimensions.world.files", 256, "files", "one world package", _WORLD)
WORLD_BYTES: Final = Limit("dimensions.world.bytes", 8_388_608, "bytes", "the text of one world package", _WORLD)
KEYFRAME: Final = Limit(
    "dimensions.storage.keyframe", 32, "commits", "rows read for a cold state", "DIMENSION_UNREADABLE"
)
STATES_CACHED: Final = Limit(
    "dimensions.storage.cached", 64, "states", "memory for decoded states", "DIMENSION_UNREADABLE"
)
TURN_WORKERS: Final = Limit("dimensions.tracker.workers", 2, "threads", "trackers running at once", "DIMENSION_TRACKER")

LIMITS: Final[tuple[Limit, ...]] = tuple(row for row in list(globals().values()) if isinstance(row, Limit))

# A page shown to a model must fit into the answer, and a default must be legal.
assert QUERY_PAGES_TEXT.default < QUERY_TEXT.default
assert QUERY_PAGE_DEFAULT.default <= QUERY_PAGE.default
assert STORY_RESERVED.default + STORY_CUT.default < STORY_TEXT.default
assert TRACKER_CALL.default <= TRACKER_TOTAL.default
assert TRACKER_LATER_TOKEN.default <= TRACKER_SECOND_TOKEN.default <= TRACKER_FIRST_TOKEN.default
