"""ECMAScript regular expressions for interpreter version 3, on a bounded engine (design §6).

:class:`Regex` is a compiled pattern, immutable and shared; every use takes the text and where to begin and keeps
nothing. :class:`RegExp` adds ``lastIndex``, the one thing that a JavaScript regular expression remembers. All
positions are UTF-16 units. A use that takes longer than the limit raises :class:`RegexTimeout`: the one place of the
interpreter where a clock decides, as a backstop behind the static check; it is a retryable failure, never an issue.
"""

from __future__ import annotations

import functools
import re
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import corvus_regex_ecma262 as engine

from interpreter.errors import RegexTimeout
from interpreter.javascript import (
    UNDEFINED,
    Undefined,
    from_units,
    join_surrogates,
    to_units,
    utf16_slice,
)
from interpreter.limits import CODE, LIMIT
from interpreter.regex.errors import RegexRefused
from interpreter.regex.limits import CACHE, MATCH_TIME
from interpreter.regex.replacement import expand
from interpreter.regex.static import check_pattern

_WIDE = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")

Charge = Callable[[int], None]
Group = str | Undefined


@dataclass(frozen=True, slots=True)
class RegexMatch:
    """One match: where, the whole text of it, the groups (``UNDEFINED`` where one took no part), the named ones."""

    index: int
    end: int
    text: str
    groups: tuple[Group, ...]
    named: dict[str, Group] | None


class _Text:
    """A text as the engine wants it: a narrow one as it is (positions are units already), else an array of units."""

    __slots__ = ("length", "units")

    def __init__(self, text: str) -> None:
        narrow = text.isascii() or _WIDE.search(text) is None
        self.units: Any = text if narrow else array("H", to_units(text))
        self.length = len(self.units)

    def piece(self, start: int, end: int) -> str:
        """The units from start to end as text."""
        piece = self.units[start:end]
        return piece if isinstance(piece, str) else from_units(piece.tobytes())


class _Timer:
    """The time left for one use, over all the matches that it makes."""

    __slots__ = ("end", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self.end = time.monotonic() + MATCH_TIME.default / 1000

    def search(self, compiled: engine.Regex, text: _Text, start: int) -> Any:
        left = self.end - time.monotonic()
        if left <= 0:
            raise RegexTimeout(self.source)
        try:
            return compiled.search(text.units, start, timeout=left)
        except engine.MatchLimitError:
            raise RegexTimeout(self.source) from None


class Regex:
    """A compiled pattern. ``size`` is its expanded size, the factor in the steps that a use charges."""

    __slots__ = ("_anchored", "_free", "flags", "group_names", "groups", "size", "source")

    def __init__(self, source: str, flags: str, size: int) -> None:
        self.source = source
        self.flags = "".join(sorted(flags))
        self.size = size
        plain = "".join(flag for flag in flags if flag not in "gy")
        text = _escape_lone(source)
        try:
            self._free = engine.compile(text, plain, timeout=MATCH_TIME.default / 1000)
            self._anchored = engine.compile(text, plain + "y", timeout=MATCH_TIME.default / 1000)
        except engine.error as error:
            code = LIMIT if error.kind == "too_large" else CODE
            message = f"expected a regular expression, found /{source[:80]}/: {error}"
            raise RegexRefused(code, message, 0, "a pattern that does not parse") from None
        self.groups: int = self._free.groups
        self.group_names: tuple[str, ...] = tuple(self._free.group_names)

    @property
    def is_global(self) -> bool:
        """The flag ``g``."""
        return "g" in self.flags

    @property
    def sticky(self) -> bool:
        """The flag ``y``."""
        return "y" in self.flags

    @property
    def unicode(self) -> bool:
        """The flag ``u``."""
        return "u" in self.flags

    def steps(self, units: int) -> int:
        """The steps of a search that passed over so many units, the same on every machine."""
        return 1 + (units + 1) * self.size // 64

    def search(self, text: str, start: int = 0, charge: Charge | None = None) -> RegexMatch | None:
        """The first match at or after ``start`` (exactly at it with the flag ``y``)."""
        prepared = _Text(text)
        return self._search(prepared, start, self.sticky, _Timer(self.source), charge)

    def test(self, text: str, charge: Charge | None = None) -> bool:
        """Whether the text matches, from its start, as a check of a schema asks it: no state is kept."""
        return self.search(text, 0, charge) is not None

    def _search(self, text: _Text, start: int, sticky: bool, timer: _Timer, charge: Charge | None) -> RegexMatch | None:
        if start > text.length:
            return None
        found = timer.search(self._anchored if sticky else self._free, text, start)
        match = None if found is None else self._read(text, found)
        if charge is not None:
            charge(self.steps((text.length if match is None else match.end) - start))
        return match

    def _read(self, text: _Text, found: Any) -> RegexMatch:
        groups: list[Group] = []
        for number in range(1, self.groups + 1):
            start, end = found.span(number)
            groups.append(UNDEFINED if start < 0 else text.piece(start, end))
        start, end = found.span()
        named = self._named(found, text) if self.group_names else None
        return RegexMatch(start, end, text.piece(start, end), tuple(groups), named)

    def _named(self, found: Any, text: _Text) -> dict[str, Group]:
        named: dict[str, Group] = {}
        for name in self.group_names:
            start, end = found.span(name)
            named[name] = UNDEFINED if start < 0 else text.piece(start, end)
        return named

    def matches(self, text: str, charge: Charge | None = None, start: int = 0) -> Iterator[RegexMatch]:
        """Every match from ``start`` on, as ``matchAll`` finds them; an empty match moves on by one character."""
        prepared, timer = _Text(text), _Timer(self.source)
        while True:
            match = self._search(prepared, start, self.sticky, timer, charge)
            if match is None:
                return
            yield match
            start = match.end if match.end > match.index else self._advance(prepared, match.end)

    def _advance(self, text: _Text, index: int) -> int:
        wide = self.unicode and not isinstance(text.units, str) and len(text.piece(index, index + 2)) == 1
        return index + 2 if wide and index + 2 <= text.length else index + 1

    def replace(
        self,
        text: str,
        replacement: str | Callable[[RegexMatch], str],
        charge: Charge | None = None,
        *,
        start: int = 0,
    ) -> str:
        """``text.replace(regex, replacement)``: every match with the flag ``g``, else the first one from ``start``.

        A replacement text may hold ``$$ $& $` $' $1 $<name>``; a function gets the match.
        """
        prepared, timer = _Text(text), _Timer(self.source)
        parts: list[str] = []
        done, position = 0, 0 if self.is_global else start
        while True:
            match = self._search(prepared, position, self.sticky, timer, charge)
            if match is None:
                break
            new = replacement(match) if callable(replacement) else expand(replacement, match, text)
            if charge is not None:
                charge(1 + len(new) // 32)
            if match.index >= done:
                parts += (prepared.piece(done, match.index), new)
                done = match.end
            if not self.is_global:
                break
            position = match.end if match.end > match.index else self._advance(prepared, match.end)
        parts.append(prepared.piece(done, prepared.length))
        return join_surrogates("".join(parts))

    def split(self, text: str, limit: int = 2**32 - 1, charge: Charge | None = None) -> list[Group]:
        """``text.split(regex, limit)``: the pieces between the matches, with what the groups captured."""
        prepared, timer = _Text(text), _Timer(self.source)
        if limit == 0:
            return []
        if prepared.length == 0:
            return [] if self._search(prepared, 0, True, timer, charge) is not None else [text]
        pieces: list[Group] = []
        done = position = 0
        while position < prepared.length:
            match = self._search(prepared, position, False, timer, charge)
            if match is None or match.index >= prepared.length:
                break
            if match.end == done:
                position = self._advance(prepared, match.index)
                continue
            pieces += (prepared.piece(done, match.index), *match.groups)
            if len(pieces) >= limit:
                return pieces[:limit]
            done = match.end
            position = done if done > match.index else self._advance(prepared, done)
        pieces.append(prepared.piece(done, prepared.length))
        return pieces


class RegExp:
    """A regular expression object of a running function: a :class:`Regex` and its ``lastIndex``."""

    __slots__ = ("last_index", "regex")

    def __init__(self, regex: Regex) -> None:
        self.regex = regex
        self.last_index = 0

    @property
    def source(self) -> str:
        """The text of the pattern."""
        return self.regex.source

    @property
    def flags(self) -> str:
        """The flags in alphabetical order."""
        return self.regex.flags

    def exec(self, text: str, charge: Charge | None = None) -> RegexMatch | None:
        """``exec``: the next match; moves ``lastIndex`` with the flags ``g`` and ``y``."""
        stateful = self.regex.is_global or self.regex.sticky
        match = self.regex.search(text, self.last_index if stateful else 0, charge)
        if stateful:
            self.last_index = 0 if match is None else match.end
        return match

    def test(self, text: str, charge: Charge | None = None) -> bool:
        """``test``: as ``exec``, only whether there is a match."""
        return self.exec(text, charge) is not None

    def match(self, text: str, charge: Charge | None = None) -> RegexMatch | list[str] | None:
        """``text.match(regex)``: the first match, or with the flag ``g`` the texts of all of them; None without one."""
        if not self.regex.is_global:
            return self.exec(text, charge)
        self.last_index = 0
        return [match.text for match in self.regex.matches(text, charge)] or None

    def replace(self, text: str, replacement: str | Callable[[RegexMatch], str], charge: Charge | None = None) -> str:
        """``text.replace(regex, replacement)``."""
        if self.regex.is_global or not self.regex.sticky:
            if self.regex.is_global:
                self.last_index = 0
            return self.regex.replace(text, replacement, charge)
        match = self.exec(text, charge)
        if match is None:
            return text
        new = replacement(match) if callable(replacement) else expand(replacement, match, text)
        return join_surrogates(utf16_slice(text, 0, match.index) + new + utf16_slice(text, match.end))

    def search(self, text: str, charge: Charge | None = None) -> int:
        """``text.search(regex)``: the index of the first match, or -1; ``lastIndex`` plays no part."""
        match = self.regex.search(text, 0, charge)
        return -1 if match is None else match.index


def _escape_lone(source: str) -> str:
    # The engine reads a lone surrogate in a pattern as U+FFFD; its escape stands for the surrogate itself.
    if source.isascii() or not any("\ud800" <= character <= "\udfff" for character in source):
        return source
    return "".join(
        f"\\u{ord(character):04x}" if "\ud800" <= character <= "\udfff" else character for character in source
    )


@functools.lru_cache(maxsize=CACHE.default)
def compile_regex(source: str, flags: str = "") -> Regex:
    """Compile a pattern as ``new RegExp(source, flags)`` does; compiled patterns are remembered.

    Raises :class:`RegexRefused` for a pattern that does not parse, for flags other than ``gimsuy``, back-references
    and counts that cannot be bounded.
    """
    source = join_surrogates(source)
    return Regex(source, flags, check_pattern(source, flags))
