"""First state of a chat: InitVar entries of world books, and what greetings say (spec/magvarupdate.md §12).

Where the upstream guesses, this reading refuses and says so: a text that is no mapping, or that no reader takes, is a
fault and never turns into characters under numeric keys.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.mvu.commands.magvarupdate.members import guard
from runtime.mvu.commands.magvarupdate.refusal import Refusal
from runtime.mvu.commands.magvarupdate.schema import Deriver, strip
from runtime.mvu.commands.magvarupdate.text import TextError, parse_text
from runtime.mvu.commands.magvarupdate.values import as_json

_MARK = "[initvar]"
_WRAPPER = re.compile(r"\s*<initvar>[ \t]*\n(.*)\n[ \t]*</initvar>\s*", re.IGNORECASE | re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_OPENING = re.compile(r"<initvar>", re.IGNORECASE)
_CLOSING = re.compile(r"</initvar>", re.IGNORECASE)

Macros = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Book:
    """A world book: its name and its entries ``(name, content)``; ``entries`` is None when it does not exist."""

    name: str
    entries: tuple[tuple[str, str], ...] | None


@dataclass(frozen=True, slots=True)
class Fault:
    """A text that was not read: where it stands and why."""

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the books gave: the state, the record of books, whether one was newly read, what was not read."""

    stat_data: dict[str, Any]
    initialized: dict[str, Any]
    updated: bool
    faults: tuple[Fault, ...] = ()


def merged(base: Any, value: Any) -> Any:
    """Objects merged deeply, later members win; lists are replaced whole."""
    if not (isinstance(base, dict) and isinstance(value, dict)):
        return value
    return {**base, **{key: merged(base[key], item) if key in base else item for key, item in value.items()}}


def inner_text(content: str) -> str:
    """An entry's text without its ``<initvar>`` wrapper and code fence."""
    wrapped = _WRAPPER.fullmatch(content)
    text = wrapped.group(1) if wrapped else content
    fenced = _FENCE.search(text)
    return fenced.group(1) if fenced else text


def read_mapping(text: str, macros: Macros) -> dict[str, Any]:
    """The mapping that a text holds, empty for an empty text; raises ``TextError``."""
    value = parse_text(macros(text))
    if value is None:
        return {}
    if not isinstance(value, dict):
        value = _toml(macros(text))
    if not isinstance(value, dict):
        raise TextError("expected a mapping of variables, found a list, a text or a single value")
    try:
        guard(value, 1)
    except Refusal as refusal:
        raise TextError(refusal.message) from refusal
    plain: dict[str, Any] = as_json(value)[0]
    return plain


def _toml(text: str) -> Any:
    """A TOML table: authors were promised it. What is none comes back as the text."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def _read_book(book: Book, macros: Macros, faults: list[Fault]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name, content in book.entries or ():
        if _MARK not in name.lower():
            continue
        try:
            data = merged(data, read_mapping(inner_text(content), macros))
        except TextError as fault:
            faults.append(Fault(f"{book.name} / {name}", str(fault)))
    return data


def load_books(
    books: Iterable[Book], stat_data: dict[str, Any], initialized: Any, macros: Macros = str, *, again: bool = False
) -> Loaded:
    """Read every book that was not read before (or all, ``again``); what stands already wins, key by key at the top."""
    known: dict[str, Any] = dict(initialized) if isinstance(initialized, dict) else {}
    faults: list[Fault] = []
    updated = False
    for book in books:
        if book.name in known and not again:
            continue
        known[book.name] = known.pop(book.name, [])
        if book.entries is None:
            continue
        updated = True
        stat_data = {**_read_book(book, macros, faults), **stat_data}
    return Loaded(stat_data, known, updated, tuple(faults))


def described(stat_data: dict[str, Any], schema: Any = None) -> tuple[dict[str, Any], Any]:
    """A fresh state without its marks, and the schema that they gave."""
    derived = Deriver().root(stat_data, schema)
    stripped = strip(stat_data)
    return stripped if isinstance(stripped, dict) else {}, derived


def greeting_blocks(text: str) -> list[str]:
    """The bodies of the ``<initvar>`` blocks of a greeting."""
    bodies: list[str] = []
    opening = _OPENING.search(text)
    while opening:
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            break
        bodies.append(text[opening.end() : closing.start()])
        opening = _OPENING.search(text, closing.end())
    return bodies


def greeting_state(
    stat_data: dict[str, Any], text: str, others: Sequence[Book], initialized: Mapping[str, Any], macros: Macros = str
) -> Loaded:
    """The state that a greeting starts from: its ``<initvar>`` blocks replace the books, except those in ``others``."""
    blocks = greeting_blocks(text)
    if not blocks:
        return Loaded(stat_data, dict(initialized), updated=False)
    data: dict[str, Any] = {}
    faults: list[Fault] = []
    for position, body in enumerate(blocks, start=1):
        try:
            data = merged(data, read_mapping(inner_text(body.strip()), macros))
        except TextError as fault:
            faults.append(Fault(f"<initvar> block {position}", str(fault)))
    loaded = load_books(others, data, initialized, macros, again=True)
    return Loaded(loaded.stat_data, loaded.initialized, True, (*faults, *loaded.faults))
