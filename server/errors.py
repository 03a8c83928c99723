"""The server's rows of the error table, and the one error body of every route (spec/http.md, common rules)."""

from __future__ import annotations

from typing import Any

from runtime.errors import ERRORS as RUNTIME_ERRORS
from runtime.values.rows import ErrorCode, InnkeeperError

SERVER_ERRORS = (
    ErrorCode("HOST_UNAUTHORIZED", 401, "fatal", "The host token is missing or wrong."),
    ErrorCode(
        "SESSION_COOKIE_REQUIRED", 401, "fatal", "This page needs the link that was printed when the server started."
    ),
    ErrorCode("RENDERER_UNAUTHORIZED", 401, "fatal", "The renderer token is wrong or has expired."),
    ErrorCode("RENDERER_FORBIDDEN", 403, "fatal", "The renderer token does not open this playthrough or call."),
    ErrorCode("TAVERN_API_REMOTE_FORBIDDEN", 403, "fatal", "Calls without a token are answered on this machine only."),
    ErrorCode("TAVERN_API_HOST_FORBIDDEN", 403, "fatal", "The Host header names no address of this server."),
    ErrorCode(
        "TAVERN_API_ORIGIN_FORBIDDEN", 403, "fatal", "The call comes from another origin, or lacks the request token."
    ),
    ErrorCode("TAVERN_API_CONTENT_TYPE_REQUIRED", 415, "fatal", "The body must be sent as application/json."),
    ErrorCode("TAVERN_API_METHOD", 405, "fatal", "This route takes another verb."),
    ErrorCode("METHOD_NOT_ALLOWED", 405, "fatal", "This route takes another verb."),
    ErrorCode("NOT_FOUND", 404, "fatal", "There is no such route."),
    ErrorCode("BODY_TOO_LARGE", 413, "fatal", "The body is larger than this route takes."),
    ErrorCode("INVALID_JSON", 400, "fatal", "The body is no JSON text of the strict kind."),
    ErrorCode("UNKNOWN_KEY", 400, "fatal", "The body has a key that the call does not know."),
    ErrorCode("INTERNAL", 500, "fatal", "A fault of the server; its log holds the details."),
    ErrorCode("CONFIG_INVALID", 400, "fatal", "The configuration cannot be used as it is."),
    ErrorCode("PACK_DIRECTORY_FORBIDDEN", 403, "fatal", "The directory lies outside of the packs directory."),
    ErrorCode("TEST_MODE_REQUIRED", 403, "fatal", "Injected dice are taken in test mode only."),
)

ERRORS: dict[str, ErrorCode] = {row.code: row for row in (*RUNTIME_ERRORS.values(), *SERVER_ERRORS)}


def status_of(code: str) -> int:
    """The HTTP status of an error code; a code without a row is a refused request."""
    row = ERRORS.get(code)
    return 400 if row is None else row.status


def error_body(error: InnkeeperError) -> dict[str, Any]:
    """``{ok:false, code, error, details?}``."""
    body: dict[str, Any] = {"ok": False, "code": error.code, "error": error.message}
    if error.details:
        body["details"] = error.details
    return body
