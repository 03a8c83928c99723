"""Initial variables: the ``[initvar]`` texts of a card, read and merged in order (spec/mvu.md §9.1).

A text may stand in an ``<initvar>`` wrapper and in a code fence, and is JSON5, YAML 1.2 or TOML. What is no mapping is
an error, never an empty state.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from runtime.mvu.errors import fatal
from runtime.mvu.limits import INITVAR_ENTRIES
from runtime.mvu.steps import merged
from runtime.values import json5, yaml12
from runtime.values.bounds import check_json
from runtime.values.limits import DEPTH, TEXT
from runtime.values.numbers import normalise_numbers
from runtime.values.rows import InnkeeperError

_OPENING = re.compile(r"\s*<initvar>", re.IGNORECASE)
_CLOSING = re.compile(r"</initvar>\s*\Z", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(`{3,})[ \t]*([\w+-]*)[^\n`]*\n", re.MULTILINE)
_TOML_LINE = re.compile(
    r"[ \t]*(?:\[\[?[ \t]*[\w.\"' -]+\]\]?[ \t]*(?:#.*)?|(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')(?:[ \t]*\.[ \t]*[\w-]+)*[ \t]*=.*)\r?"
)
_BRACKETS = re.compile(r"[\[\]{}]")
_TAIL = 64


class EntryLike(Protocol):
    """An entry of a card's world book."""

    @property
    def comment(self) -> str: ...
    @property
    def content(self) -> str: ...


# JSON5 may begin with comments; YAML knows neither of their forms.
_JSON5_START = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*[{\[]")


def unwrapped(text: str) -> tuple[str, str, int]:
    """The text inside its wrapper and fence, the fence's language, and the lines cut off before it."""
    start, end = 0, len(text)
    opening = _OPENING.match(text)
    if opening:
        closing = _CLOSING.search(text, max(opening.end(), text.rfind("<")))
        if closing:
            start, end = opening.end(), closing.start()
    fence = _FENCE.search(text, start, end)
    language = ""
    if fence:
        close = re.compile(rf"^[ \t]*{fence.group(1)}`*[ \t]*\r?$", re.MULTILINE).search(text, fence.end(), end)
        if close:
            language = fence.group(2).lower()
            start, end = fence.end(), close.start()
    return text[start:end], language, text.count("\n", 0, start)


def read_text(text: str) -> dict[str, Any]:
    """The mapping that one InitVar text holds; ``MVU_INITIALIZATION_INVALID`` with line and column otherwise."""
    if len(text) > TEXT.default:
        raise fatal("MVU_LIMIT", f"expected an InitVar text of at most {TEXT.default} characters, found {len(text)}")
    body, language, lines = unwrapped(text)
    value = normalise_numbers(_read(body, language, lines))
    if not isinstance(value, dict):
        found = "nothing" if value is None else "text" if isinstance(value, str) else type(value).__name__
        raise fatal(
            "MVU_INITIALIZATION_INVALID",
            f"expected initial variables as a mapping of names to values, found {found}",
            {"line": lines + 1, "column": 1},
        )
    return value


def _read(body: str, language: str, lines: int) -> Any:
    failures: list[InnkeeperError] = []
    for reader in _readers(body, language):
        try:
            value = reader(body)
        except InnkeeperError as error:
            if error.code != "MVU_PARSE":
                raise
            failures.append(error)
            continue
        try:
            check_json(value)
        except InnkeeperError as error:
            if error.code == "MVU_JSON":
                raise fatal("MVU_INITIALIZATION_INVALID", error.message, error.details) from error
            raise
        return value
    first = failures[0]
    details = dict(first.details)
    where = ""
    if "line" in details:
        details["line"] += lines
        where = f"; counted from the beginning of the entry it is line {details['line']}" if lines else ""
    raise fatal(
        "MVU_INITIALIZATION_INVALID", f"the initial variables cannot be read: {first.message}{where}", details
    ) from first


def _readers(body: str, language: str) -> list[Callable[[str], Any]]:
    if language == "toml":
        return [read_toml]
    if language in ("json", "json5", "jsonc"):
        return [json5.load, yaml12.load]
    if language in ("yaml", "yml"):
        return [yaml12.load]
    stripped = body.lstrip()
    if _looks_like_toml(stripped):
        return [read_toml, json5.load, yaml12.load] if stripped[:1] == "[" else [read_toml, yaml12.load]
    return [json5.load, yaml12.load] if _JSON5_START.match(stripped) else [yaml12.load]


def _looks_like_toml(text: str) -> bool:
    """Whether the first line that says something is a table header or ``key = value``."""
    for line in text.splitlines()[:_TAIL]:
        if line.strip() and not line.lstrip().startswith("#"):
            return _TOML_LINE.fullmatch(line) is not None
    return False


def read_toml(text: str) -> Any:
    """The value of a TOML text; dates become their ISO text. Raises ``MVU_PARSE`` or ``MVU_LIMIT``."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth = depth + 1 if match.group() in "[{" else max(0, depth - 1)
        if depth > DEPTH.default:
            raise fatal("MVU_LIMIT", f"expected at most {DEPTH.default} levels of nesting in TOML, found more")
    try:
        value = tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise InnkeeperError("MVU_PARSE", f"expected TOML: {error}", {}) from error
    return _without_dates(value)


def _without_dates(value: Any) -> Any:
    """Dates and times as text, level by level: a dotted key may nest far deeper than the bounds allow."""
    root = [value]
    stack: list[Any] = [root]
    while stack:
        item = stack.pop()
        for key, child in list(item.items()) if isinstance(item, dict) else list(enumerate(item)):
            if isinstance(child, dict | list):
                stack.append(child)
            elif isinstance(child, datetime.date | datetime.time):
                item[key] = child.isoformat()
    return root[0]


def load_initvar(entries: Iterable[str | EntryLike]) -> dict[str, Any]:
    """The initial data of a card: its entries read in order and merged deeply, later ones win, arrays are replaced.

    Raises ``MVU_INITIALIZATION_INVALID`` naming the entry, ``MVU_PATH`` for a forbidden key, ``MVU_LIMIT``.
    """
    listed = list(entries)
    if len(listed) > INITVAR_ENTRIES.default:
        raise fatal("MVU_LIMIT", f"expected at most {INITVAR_ENTRIES.default} InitVar entries, found {len(listed)}")
    result: dict[str, Any] = {}
    for position, entry in enumerate(listed):
        text = entry if isinstance(entry, str) else entry.content
        name = "" if isinstance(entry, str) else f" '{entry.comment[:80]}'"
        try:
            value = read_text(text)
            result = merged(result, value)
        except InnkeeperError as error:
            raise fatal(
                error.code, f"InitVar entry {position}{name}: {error.message}", {**error.details, "entry": position}
            ) from error
    check_json(result)
    return result
