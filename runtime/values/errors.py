"""Error codes that the value rules raise (spec/mvu.md §2)."""

from __future__ import annotations

from runtime.values.rows import ErrorCode

MVU_JSON = ErrorCode("MVU_JSON", 400, "fatal", "A value is not JSON: a number is not finite, or a type is not allowed.")
MVU_LIMIT = ErrorCode("MVU_LIMIT", 400, "fatal", "A value, a text or a computation is larger than its limit.")
MVU_PATH = ErrorCode("MVU_PATH", 400, "fatal", "A path, key or array index is malformed or not allowed.")
MVU_PARSE = ErrorCode("MVU_PARSE", 400, "fatal", "A text could not be read.")

ERRORS: tuple[ErrorCode, ...] = (MVU_JSON, MVU_LIMIT, MVU_PATH, MVU_PARSE)
