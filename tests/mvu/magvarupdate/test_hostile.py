"""Hostile replies and texts: an answer in time linear in the input, no crash (spec/magvarupdate.md §22)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from runtime.mvu.commands.magvarupdate.dates import parse_date
from runtime.mvu.commands.magvarupdate.mathematics import evaluate
from runtime.mvu.commands.magvarupdate.paths import keys_of, parts_of, repair
from runtime.mvu.commands.magvarupdate.reading import read_value
from runtime.mvu.commands.magvarupdate.scan import find
from runtime.mvu.commands.magvarupdate.text import TextError, parse_text
from runtime.mvu.variable_macros import expand

PIECES = [
    "[",
    "{",
    '"',
    "'",
    "\\",
    "(",
    "_.set(",
    "_.set('",
    '_.set("',
    "_.set('a',",
    "_.set('a',1);//",
    "_.set('a',1); ",
    "<JSONPatch>",
    "</JSONPatch>",
    "<JSONPatch>[",
    "<json_patch></JSONPatch>",
    "```",
    "a:\n ",
    "- ",
    '{"a":',
    '["x"y',
    '[{"a":"b"c"',
    '"a{',
    '"a"b,',
    "/*",
    "//\n",
    "&a [*a,",
    "{{get_message_variable::",
    "\ud800",
    "😀",
    ",",
    "a.b[",
    '["',
    "1+",
    "1 ",
    "-",
    "2^",
    "5!",
    "a(",
    "?1:",
    "!",
    "#",
    "%",
]


def _text(text: str) -> None:
    try:
        parse_text(text)
    except TextError:
        pass


TARGETS: dict[str, Callable[[str], object]] = {
    "scan": find,
    "text": _text,
    "array text": lambda text: _text("[" + text),
    "object text": lambda text: _text("{" + text),
    "value": read_value,
    "mathematics": evaluate,
    "date": parse_date,
    "macros": lambda text: expand(text, lambda scope: {}),
    "path": lambda text: (repair(text[:2_000]), parts_of(text[:2_000]), keys_of(text[:2_000], {})),
}


def _seconds(target: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    target(text)
    return time.process_time() - start


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_repetition_is_linear(name: str) -> None:
    slow: list[str] = []
    for piece in PIECES:
        small = piece * (8_000 // len(piece))
        large = small * 4
        times = [_seconds(TARGETS[name], text) for text in (small, large)]
        if times[1] > 1.0 and times[1] > 8 * times[0]:
            slow.append(f"{piece!r}: {times}")
    assert not slow, "\n".join(slow)


def test_a_mebibyte_of_open_calls_is_told_quickly() -> None:
    text = "_.set(" * (1_048_576 // 6)
    start = time.process_time()
    scan = find(text)
    assert not scan.commands
    assert len(scan.passed) == 1_048_576 // 6
    assert time.process_time() - start < 60


def test_quote_patterns_need_at_most_four_scans() -> None:
    text = ("_.set(\"_.set('_.set(`" * 2_000) + "_.set('a', 1);"
    start = time.process_time()
    find(text)
    assert time.process_time() - start < 30


@pytest.mark.parametrize("index", ["4294967294", "999999999", "10001", "-1", "01", "1e3", "9007199254740993"])
def test_large_indices_make_no_large_lists(index: str) -> None:
    from runtime.mvu.commands.magvarupdate.engine import Engine, Instruction

    outcome = Engine({"k": {index: 1}}).run([Instruction("set", (f"k.{index}", "2"))])
    assert outcome.stat_data == {"k": {index: 2}}
