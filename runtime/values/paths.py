"""Paths into variables: the dot/bracket form and JSON pointers (spec/mvu.md §4.4).

A path is a tuple of text parts; whether a part is a key or an array index is decided by what stands there.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path as File
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput, VisitError

from runtime.values.bounds import FORBIDDEN_KEYS
from runtime.values.limits import PATH_PARTS, PATH_TEXT
from runtime.values.rows import InnkeeperError

Path = tuple[str | int, ...]
"""A path: parts from the root. Everything here produces text parts; numbers are accepted where a path is printed."""

_PLAIN = re.compile(r"[^.\[\]]+(?:\.[^.\[\]]+)*")
_INDEX = re.compile(r"0|[1-9][0-9]*")
_BARE = re.compile(r"[^.\[\]'\"\\\s]+")
_LOOSE_TILDE = re.compile("~(?![01])")
_INNER_QUOTE = re.compile(r"\\.|\"", re.DOTALL)
MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that a double holds exactly with its neighbours."""


def _bad(text: str, why: str) -> InnkeeperError:
    shown = text if len(text) <= 120 else text[:117] + "..."
    return InnkeeperError("MVU_PATH", f"{why}, found {shown!r}", {"path": shown})


class _Parts(Transformer[Token, tuple[str, ...]]):
    """Turns the pieces of the grammar into parts while they are parsed."""

    def start(self, parts: list[Any]) -> tuple[str, ...]:
        return tuple(part for part in parts if part is not None)

    def name(self, tokens: list[Token]) -> str:
        return str(tokens[0])

    def digits(self, tokens: list[Token]) -> str:
        return str(tokens[0])

    def quoted(self, tokens: list[Token]) -> str:
        literal = next(token for token in tokens if token.type == "STRING")
        inner = str(literal)[1:-1]
        if literal[0] == "'":
            inner = _INNER_QUOTE.sub(lambda m: {'"': '\\"', "\\'": "'"}.get(m.group(), m.group()), inner)
        value: str = json.loads(f'"{inner}"')
        return value


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    text = (File(__file__).parent / "paths.lark").read_text("utf-8")
    return Lark(text, parser="lalr", transformer=_Parts(), maybe_placeholders=False)


def check_part(part: str, text: str) -> None:
    """Refuse a part that no variable may carry (``MVU_PATH``)."""
    if part in FORBIDDEN_KEYS:
        raise _bad(text, f"the key {part!r} is not allowed in a path")


def _check_length(text: str) -> None:
    if len(text) > PATH_TEXT.default or (
        len(text) * 2 > PATH_TEXT.default and len(text.encode("utf-16-le", "surrogatepass")) > 2 * PATH_TEXT.default
    ):
        raise _bad(text, f"expected a path of at most {PATH_TEXT.default} characters")


def _checked(parts: tuple[str, ...], text: str) -> tuple[str, ...]:
    if len(parts) > PATH_PARTS.default:
        raise InnkeeperError(
            "MVU_LIMIT",
            f"expected a path of at most {PATH_PARTS.default} parts, found {len(parts)}",
            {"limit": PATH_PARTS.default},
        )
    if not FORBIDDEN_KEYS.isdisjoint(parts):
        for part in parts:
            check_part(part, text)
    return parts


@lru_cache(maxsize=4096)
def parse_path(text: str) -> tuple[str, ...]:
    """Parts of a dot/bracket path; the empty text is the root. Raises ``MVU_PATH`` or ``MVU_LIMIT``."""
    _check_length(text)
    if not text:
        return ()
    if _PLAIN.fullmatch(text):
        return _checked(tuple(text.split(".")), text)
    try:
        parts = _grammar().parse(text)
    except UnexpectedInput as error:
        column = getattr(error, "column", -1)
        raise _bad(
            text, f"expected a path like a.b[0]['key'], it stops being one at character {max(column, 1)}"
        ) from error
    except VisitError as error:
        raise _bad(text, "expected JSON escapes in a quoted part of a path") from error
    except json.JSONDecodeError as error:
        raise _bad(text, "expected JSON escapes in a quoted part of a path") from error
    return _checked(tuple(str(part) for part in parts), text)  # type: ignore[attr-defined]


@lru_cache(maxsize=4096)
def parse_pointer(text: str) -> tuple[str, ...]:
    """Parts of a JSON pointer (RFC 6901): empty is the root, else it starts with ``/``; only ``~0`` and ``~1``."""
    _check_length(text)
    if not text:
        return ()
    if text[0] != "/":
        raise _bad(text, "expected a JSON pointer that starts with '/'")
    if "~" in text:
        if _LOOSE_TILDE.search(text):
            raise _bad(text, "expected '~0' or '~1' after '~' in a JSON pointer")
        parts = tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))
    else:
        parts = tuple(text[1:].split("/"))
    if not FORBIDDEN_KEYS.isdisjoint(parts):
        for part in parts:
            check_part(part, text)
    return parts


def pointer_text(path: tuple[str | int, ...]) -> str:
    """The JSON pointer of a path."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def path_text(path: tuple[str | int, ...]) -> str:
    """The dot/bracket text of a path: simple parts joined by dots, others as quoted brackets (spec/mvu.md §6)."""
    text = ""
    for part in map(str, path):
        if _BARE.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text


def array_index(part: str | int) -> int | None:
    """The index that a part names, or None when it is no canonical non-negative safe integer."""
    if isinstance(part, int):
        return part if 0 <= part <= MAX_SAFE_INTEGER else None
    if len(part) > 16 or not part.isascii() or not _INDEX.fullmatch(part):
        return None
    index = int(part)
    return index if index <= MAX_SAFE_INTEGER else None
