"""The scanner: where commands stand in prose (spec/mvu.md §4.1).

The one hand-written scanner. Every pattern starts with a literal character and no pattern can run over the same text
twice, so the time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, NamedTuple

_TAG = re.compile(r"<(/?)([jJ][sS][oO][nN]_?[pP][aA][tT][cC][hH])>")
CALL = re.compile(r"_\.([A-Za-z0-9_]+)\s*\(")
PATCH_OPENING = re.compile(r"<[jJ][sS][oO][nN]_?[pP][aA][tT][cC][hH]>")
_PIECE = re.compile(
    r"""[^"'`()\[\]{},]++|"(?:[^"\\]++|\\[\s\S])*+"|'(?:[^'\\]++|\\[\s\S])*+'|`(?:[^`\\]++|\\[\s\S])*+`|[\s\S]"""
)
# One whole call out of simple quoted texts, safe integers and plain words, its literals read at once: the usual case.
_B = r"[ \t\r\n]*+"
_Q = r"""(?:'([^'\\\n\r]*+)'|"([^"\\\n\r]*+)")"""
_SIMPLE_CALL = re.compile(
    rf"""{_B}{_Q}{_B}(?:,{_B}(?:{_Q}{_B}(?=\))|(-?(?:0|[1-9][0-9]{{0,14}})){_B}(?=\))|([^"'`()\[\]{{}},]*+)))?\)"""
)
_OPEN_TAIL = re.compile(r"<(?:/?[A-Za-z_]{0,20})?$|_\.?\w*\s*$", re.ASCII)


class Block(NamedTuple):
    """A patch block: its whole span and the span of its body."""

    start: int
    end: int
    body_start: int
    body_end: int
    name: str


class LooseTag(NamedTuple):
    """A patch tag that belongs to no block."""

    start: int
    end: int
    closing: bool
    name: str


class Call(NamedTuple):
    """A legacy call: its span and its argument texts; ``end`` is -1 when it is never closed.

    ``known`` are leading arguments that the scanner has read already, ``arguments`` the texts of the others.
    """

    start: int
    end: int
    name: str
    arguments: tuple[str, ...]
    balanced: bool
    known: tuple[Any, ...] = ()


def patch_blocks(text: str) -> tuple[list[Block], list[LooseTag]]:
    """All patch blocks, shortest first match, and the tags that belong to none."""
    tags = (
        [(m.start(), m.end(), bool(m.group(1)), m.group(2).lower()) for m in _TAG.finditer(text)] if "<" in text else []
    )
    closers: dict[str, list[int]] = {}
    for position, tag in enumerate(tags):
        if tag[2]:
            closers.setdefault(tag[3], []).append(position)
    for positions in closers.values():
        positions.reverse()
    blocks: list[Block] = []
    loose: list[LooseTag] = []
    position = 0
    while position < len(tags):
        start, end, closing, name = tags[position]
        waiting = closers.get(name, [])
        while waiting and waiting[-1] < position:
            waiting.pop()
        if closing or not waiting:
            loose.append(LooseTag(start, end, closing, name))
            position += 1
            continue
        closer = waiting.pop()
        blocks.append(Block(start, tags[closer][1], end, tags[closer][0], name))
        position = closer + 1
    return blocks, loose


def calls(text: str, gaps: list[tuple[int, int]], quick: bool = True) -> Iterator[Call]:
    """All legacy calls in the stretches ``gaps``; a search goes on behind the end of each call."""
    for start, end in gaps:
        position = start
        while True:
            match = CALL.search(text, position, end)
            if match is None:
                break
            call = read_call(text, match.start(), match.end(), match.group(1), end, quick)
            yield call
            if call.end < 0:
                return
            position = call.end


def read_call(text: str, start: int, inner: int, name: str, limit: int, quick: bool = True) -> Call:
    """The call whose opening parenthesis ends at ``inner``; it may not reach beyond ``limit``.

    Not ``quick``: all arguments come as texts.
    """
    simple = _SIMPLE_CALL.match(text, inner, limit) if quick else None
    if simple is None:
        return _read_call(text, start, inner, name, limit)
    single, double, single_value, double_value, number, rest = simple.groups()
    path = double if single is None else single
    end = simple.end()
    if number is not None:
        return Call(start, end, name, (), True, (path, int(number)))
    if single_value is not None:
        return Call(start, end, name, (), True, (path, single_value))
    if double_value is not None:
        return Call(start, end, name, (), True, (path, double_value))
    return Call(start, end, name, (rest,) if rest and rest.strip() else (), True, (path,))


def _read_call(text: str, start: int, inner: int, name: str, limit: int) -> Call:
    parens = 1
    depth = 0
    arguments: list[str] = []
    argument_start = position = inner
    for match in _PIECE.finditer(text, inner, limit):
        position = match.start()
        first = text[position]
        if first in "\"'`":
            if match.end() - position == 1:
                return Call(start, -1, name, (), False)  # the quote is never closed
        elif first == ")":
            parens -= 1
            if not parens:
                arguments.append(text[argument_start:position])
                if not arguments[-1].strip():
                    arguments.pop()
                return Call(start, position + 1, name, tuple(arguments), depth == 0)
            depth -= 1
        elif first == "(":
            parens += 1
            depth += 1
        elif first in "[{":
            depth += 1
        elif first in "]}":
            depth -= 1
        elif first == "," and depth == 0:
            arguments.append(text[argument_start:position])
            argument_start = match.end()
    return Call(start, -1, name, (), False)


def gaps_between(blocks: list[Block], length: int) -> list[tuple[int, int]]:
    """The stretches of a text outside its patch blocks."""
    gaps: list[tuple[int, int]] = []
    position = 0
    for block in blocks:
        gaps.append((position, block.start))
        position = block.end
    gaps.append((position, length))
    return gaps


def open_tail(text: str) -> int:
    """Where an unfinished tag or command name begins at the very end of a text, or -1."""
    match = _OPEN_TAIL.search(text, max(0, len(text) - 64))
    return match.start() if match else -1


class Lines:
    """Line numbers of offsets; the newlines are looked for once, when the first line is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks: list[int] | None = None

    def of(self, offset: int) -> int:
        """The line of a character, counted from 1."""
        if self._breaks is None:
            self._breaks = [match.start() for match in re.finditer("\n", self._text)]
        return bisect_left(self._breaks, offset) + 1
