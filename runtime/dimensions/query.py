"""Query tools over a table of public entries (``spec/dimensions.md`` §6.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from lark import Lark, Token, Transformer
from lark.exceptions import LarkError

from interpreter.javascript import utf16_length
from runtime.dimensions import limits
from runtime.dimensions.errors import VERSION_CONFLICT, DimensionError
from runtime.dimensions.localise import localise, resolve_labels
from runtime.dimensions.values import Json, is_integer, json_text, quoted

Snapshot = Mapping[str, Mapping[str, Any]]
Step = str | int
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")
_KEYS: Final = frozenset({"dimension", "path", "offset", "limit", "expectedVersion"})


class PathError(Exception):
    """A path that neither grammar reads; ``reason`` is ``path-syntax`` or ``pointer-syntax``."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class _Steps(Transformer[Token, list[Step]]):
    def start(self, parts: list[Step]) -> list[Step]:
        return parts

    def name(self, parts: list[Token]) -> Step:
        return str(parts[0])

    def index(self, parts: list[Token]) -> Step:
        return int(parts[0])


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    text = files("runtime.dimensions").joinpath("path.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="contextual", transformer=_Steps())


def read_path(path: str) -> list[Step]:
    """The steps of a path: text is a key (or a list index as decimal text), a number needs a list."""
    return _pointer(path) if path.startswith("/") else _dotted(path)


def _pointer(path: str) -> list[Step]:
    steps: list[Step] = []
    for part in path[1:].split("/"):
        if _BAD_ESCAPE.search(part):
            raise PathError("pointer-syntax", f"'~' must be followed by 0 or 1 in a JSON Pointer, found {quoted(part)}")
        steps.append(part.replace("~1", "/").replace("~0", "~"))
    return steps


def _dotted(path: str) -> list[Step]:
    try:
        steps = _grammar().parse(path)
    except (LarkError, ValueError):
        raise PathError("path-syntax", f"expected names joined with dots and [digits], found {quoted(path)}") from None
    assert isinstance(steps, list)
    return steps


def look_up(value: Json, steps: list[Step]) -> tuple[bool, Json]:
    """Follow the steps through own keys and list indices; ``length`` of a list is no key (§0.7)."""
    for step in steps:
        if isinstance(value, list):
            index = _list_index(step)
            if index is None or index >= len(value):
                return False, None
            value = value[index]
        elif isinstance(value, dict) and isinstance(step, str) and step in value:
            value = value[step]
        else:
            return False, None
    return True, value


def _list_index(step: Step) -> int | None:
    """An index as JavaScript's own keys spell it: decimal, no sign, no leading zero."""
    if isinstance(step, int):
        return step
    if step.isascii() and step.isdecimal() and (step == "0" or not step.startswith("0")) and len(step) <= 9:
        return int(step)
    return None


def page_of(value: Json, offset: int, limit: int) -> dict[str, Any] | None:
    """One page of a text (code points), a list or an object (entries in order); other values have none."""
    page: Json
    if isinstance(value, dict):
        page = dict(list(value.items())[offset : offset + limit])
    elif isinstance(value, str | list):
        page = value[offset : offset + limit]
    else:
        return None
    result: dict[str, Any] = {"value": page, "total": len(value)}
    if offset + limit < len(value):
        result["nextOffset"] = offset + limit
    return result


def _refuse(message: str) -> DimensionError:
    return DimensionError("DIMENSION_QUERY", message)


def check_queries(queries: Json) -> list[dict[str, Any]]:
    """Check the whole call; one bad query refuses it (§1.6, §6.3)."""
    if not isinstance(queries, list) or not 1 <= len(queries) <= limits.QUERIES.default:
        raise _refuse(f"expected 1 to {limits.QUERIES.default} queries, found {quoted(queries)}")
    for index, query in enumerate(queries):
        _check_query(f"queries[{index}]", query)
    return queries


def _check_query(where: str, query: Json) -> None:
    if not isinstance(query, dict):
        raise _refuse(f"expected an object, found {quoted(query)} at {where}")
    for key in query:
        if key not in _KEYS:
            raise _refuse(f"unknown key {quoted(key)}; known are {', '.join(sorted(_KEYS))} at {where}")
    if not isinstance(query.get("dimension"), str) or not query["dimension"]:
        raise _refuse(f"expected a dimension id, found {quoted(query.get('dimension'))} at {where}.dimension")
    if "path" in query:
        path = query["path"]
        if not isinstance(path, str) or not 1 <= utf16_length(path) <= limits.QUERY_PATH.default:
            raise _refuse(f"expected a path of 1 to {limits.QUERY_PATH.default} characters at {where}.path")
    if "offset" in query and (not is_integer(query["offset"]) or query["offset"] < 0):
        raise _refuse(f"expected an integer of 0 or more, found {quoted(query['offset'])} at {where}.offset")
    most = limits.QUERY_PAGE.default
    if "limit" in query and (not is_integer(query["limit"]) or not 1 <= query["limit"] <= most):
        raise _refuse(f"expected an integer of 1 to {most}, found {quoted(query['limit'])} at {where}.limit")
    if "expectedVersion" in query and (not is_integer(query["expectedVersion"]) or query["expectedVersion"] < 1):
        found = quoted(query["expectedVersion"])
        raise _refuse(f"expected an integer of 1 or more, found {found} at {where}.expectedVersion")


def run_queries(snapshot: Snapshot, queries: Json, locale: str | None) -> list[dict[str, Any]]:
    """Answer every query of one call (``world-dimension-get``)."""
    return [_answer(snapshot, query, locale) for query in check_queries(queries)]


def _answer(snapshot: Snapshot, query: dict[str, Any], locale: str | None) -> dict[str, Any]:
    entry = snapshot.get(query["dimension"])
    missing: dict[str, Any] = {**query, "found": False, "value": None}
    if entry is None:
        known = ", ".join(snapshot) or "none"
        message = f"unknown dimension {quoted(query['dimension'])}; known are {known}"
        return {**missing, "error": "unknown-dimension", "message": message}
    about = {
        "name": localise(entry["name"], locale) or "",
        "schema": resolve_labels(entry["schema"], locale),
        "version": entry["version"],
    }
    if query.get("expectedVersion", entry["version"]) != entry["version"]:
        return {**missing, "error": VERSION_CONFLICT, "version": entry["version"]}
    found, value = True, entry["value"]
    if "path" in query:
        try:
            found, value = look_up(value, read_path(query["path"]))
        except PathError as error:
            return {**missing, **about, "error": error.reason, "message": error.message}
    if not found:
        return {**missing, **about}
    answer = {**query, "found": True, "value": value, **about}
    if "offset" in query or "limit" in query:
        limit = int(query.get("limit", limits.QUERY_PAGE_DEFAULT.default))
        page = page_of(value, int(query.get("offset", 0)), limit)
        if page is not None:
            answer["page"] = page
    return answer


def list_dimensions(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Id, untranslated name, root type and version of every dimension (``world-dimension-list``)."""
    return [
        {"id": key, "name": entry["name"], "type": entry["schema"].get("type"), "version": entry["version"]}
        for key, entry in snapshot.items()
    ]


def _cut(text: str, limit: int) -> str:
    """At most ``limit`` code points; a cut is shown and splits no character (§12 item 11)."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def result_text(results: list[dict[str, Any]]) -> str:
    """The text of a query result for a model, within its budget (§1.6)."""
    per_page = limits.QUERY_PAGES_TEXT.default // max(len(results), 1)
    lines = []
    for result in results:
        place = result["dimension"] + (f" {result['path']}" if "path" in result else "")
        if not result["found"]:
            lines.append(f"{place}: not found" + (f" ({result['error']})" if "error" in result else ""))
            continue
        page = result.get("page")
        if page is None:
            lines.append(
                f"{place} (v{result['version']}): {_cut(json_text(result['value']), limits.QUERY_VALUE_TEXT.default)}"
            )
            continue
        more = f", next offset {page['nextOffset']}" if "nextOffset" in page else ""
        lines.append(
            f"{place} (v{result['version']}, {page['total']} in all{more}): {_cut(json_text(page['value']), per_page)}"
        )
    return _cut("\n".join(lines), limits.QUERY_TEXT.default)
