"""Commands in a message, as the upstream finds them (spec/magvarupdate.md §2).

The one hand-written scanner of this dialect, linear in the text. ``find`` returns what the upstream would run, in its
order, and a line for everything that looks like a command and is not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from interpreter.javascript import js_trim
from runtime.mvu.commands.magvarupdate.patch import PatchFault, operation_commands
from runtime.mvu.commands.magvarupdate.text import TextError, read_text

_CALL = re.compile(r"_\.(set|insert|assign|remove|unset|delete|add)\(")
_ARGUMENT = r"""\s*+('[^'\\]*+'|"[^"\\]*+"|[^\s'"`()\[\]{},\\][^'"`()\[\]{},\\]*+)\s*+"""
# The usual call in one match: up to three arguments that are plainly quoted or bare, and the semicolon.
_SIMPLE_CALL = re.compile(rf"{_ARGUMENT}(?:,{_ARGUMENT})?(?:,{_ARGUMENT})?\);")
_LOOKALIKE = re.compile(r"_[ \t]?\.\s*([A-Za-z]+)\s*[(（]")
_MARK = re.compile(r"[()'\"`]")
_SPLIT = re.compile(r"[()\[\]{}'\"`,]")
_REASON = re.compile("[\\s\ufeff]*//([^\n\r\u2028\u2029]*)")
_TAG = re.compile(r"<(/?)(json_?patch)>", re.IGNORECASE)
_TAG_LIKE = re.compile(r"<\s*json[_ -]?patch\b[^<>]{0,200}>", re.IGNORECASE)
_OPENING_FENCE = re.compile(r"\s*```[^\n]*(?:\n|\Z)")
_CLOSING_FENCE = re.compile(r"```\s*\Z")

_ARITY: dict[str, tuple[int, int | None]] = {
    "set": (2, None),
    "insert": (2, None),
    "assign": (2, None),
    "remove": (1, None),
    "unset": (1, None),
    "delete": (1, None),
    "add": (2, 2),
}
ALIASES = {"remove": "delete", "unset": "delete", "assign": "insert"}
"""Names that are folded before anything reads the commands."""


@dataclass(frozen=True, slots=True)
class Found:
    """One command: ``type`` as written, ``args`` as source text (or values), ``keys`` when it came from a pointer."""

    type: str
    args: tuple[Any, ...]
    reason: str
    full_match: str
    start: int
    end: int
    keys: tuple[tuple[str, ...], ...] | None = None
    repairs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The type with its alias folded."""
        return ALIASES.get(self.type, self.type)


@dataclass(frozen=True, slots=True)
class Passed:
    """Something that looks like a command and is not run: ``why`` is a neutral word, ``message`` the sentence."""

    why: str
    message: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scan:
    """Everything that a message holds."""

    commands: tuple[Found, ...]
    passed: tuple[Passed, ...]


class _Closer:
    """Finds closing parentheses. Scans that fail remember every pair they saw.

    A scan is in one of four states (outside quotes, or inside one of three kinds). Any character maps the states one
    to one, so two scans never meet, and a scan starts only where all earlier failed ones are inside quotes: at most
    four scans reach the end of the text, whatever it holds.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.known: dict[int, int] = {}

    def close(self, opening: int) -> int:
        """Index of the parenthesis that closes the one at ``opening``, -1 without one."""
        known = self.known.get(opening)
        if known is not None:
            return known
        pairs: dict[int, int] = {}
        stack = [opening]
        for at, mark in _outside_quotes(self.text, opening + 1, _MARK):
            if mark == "(":
                stack.append(at)
            else:
                opened = stack.pop()
                pairs[opened] = at
                if not stack:
                    return at
        self.known.update(pairs)
        self.known.update((opened, -1) for opened in stack)
        return -1


def _outside_quotes(text: str, start: int, marks: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Marks outside quotes; a quote after a backslash neither opens nor closes."""
    at = start
    while match := marks.search(text, at):
        at = match.start()
        mark = match.group()
        if mark not in "'\"`":
            yield at, mark
        elif at == 0 or text[at - 1] != "\\":
            at = _end_of_quote(text, at, mark)
            if at < 0:
                return
        at += 1


def _end_of_quote(text: str, opening: int, quote: str) -> int:
    at = text.find(quote, opening + 1)
    while at > 0 and text[at - 1] == "\\":
        at = text.find(quote, at + 1)
    return at


def split_arguments(text: str) -> tuple[str, ...]:
    """Argument slices, trimmed; commas inside quotes and brackets do not split, an empty last argument is dropped."""
    depth = {"(": 0, "[": 0, "{": 0}
    slices: list[str] = []
    start = 0
    for at, mark in _outside_quotes(text, 0, _SPLIT):
        if mark in depth:
            depth[mark] += 1
        elif mark != ",":
            depth[{")": "(", "]": "[", "}": "{"}[mark]] -= 1
        elif not any(depth.values()):
            slices.append(js_trim(text[start:at]))
            start = at + 1
    last = js_trim(text[start:])
    if last:
        slices.append(last)
    return tuple(slices)


def _calls(text: str, passed: list[Passed]) -> Iterator[Found]:
    closer = _Closer(text)
    at = 0
    while match := _CALL.search(text, at):
        start, opening = match.start(), match.end() - 1
        simple = _SIMPLE_CALL.match(text, opening + 1)
        if simple is not None:
            end = at = simple.end()
            args = tuple(js_trim(argument) for argument in simple.groups() if argument is not None)
        else:
            closing = closer.close(opening)
            if closing < 0:
                passed.append(_pass("unclosed", "expected ')', the text ends before it", text, start, opening + 1))
                at = opening + 1
                continue
            end = at = closing + 1
            if text[end : end + 1] != ";":
                passed.append(_pass("missing_semicolon", "expected ';' directly after ')'", text, start, end))
                continue
            end = at = end + 1
            args = split_arguments(text[opening + 1 : closing])
        reason = _REASON.match(text, end)
        if reason:
            end = at = reason.end()
            passed.extend(_swallowed(text, reason))
        name = match.group(1)
        least, most = _ARITY[name]
        if len(args) < least or (most is not None and len(args) > most):
            wanted = f"{least} or more" if most is None else str(most)
            message = f"expected {wanted} arguments for _.{name}, found {len(args)}"
            passed.append(_pass("argument_count", message, text, start, end))
            continue
        yield Found(name, args, js_trim(reason.group(1)) if reason else "", text[start:end], start, end)


def _swallowed(text: str, reason: re.Match[str]) -> Iterator[Passed]:
    """Commands inside a reason: the rest of that line is no command text."""
    for call in _CALL.finditer(text, reason.start(1), reason.end(1)):
        message = "it stands in the reason of the command before it, which runs to the end of the line"
        yield _pass("inside_reason", message, text, call.start(), call.end())


def _pass(why: str, message: str, text: str, start: int, end: int) -> Passed:
    return Passed(why, message, text[start : min(end, start + 200)], start, end)


def _blocks(text: str, passed: list[Passed]) -> Iterator[tuple[int, int, str]]:
    """Spans and bodies of patch blocks; a second opening tag starts over."""
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if not tag.group(1):
            if opened:
                message = "expected the closing tag before another patch block opens"
                passed.append(_pass("unclosed_block", message, text, opened.start(), tag.start()))
            opened = tag
        elif opened and opened.group(2).lower() == tag.group(2).lower():
            yield opened.start(), tag.end(), text[opened.end() : tag.start()]
            opened = None
    if opened:
        line = text.count("\n", 0, opened.start()) + 1
        message = f"expected </{opened.group(2)}>, the block opened at line {line} is never closed"
        passed.append(_pass("unclosed_block", message, text, opened.start(), len(text)))


def patch_bodies(text: str) -> list[str]:
    """The bodies of the patch blocks of a text."""
    return [body for _, _, body in _blocks(text, [])]


def without_fences(body: str) -> str:
    """A text without the Markdown fence around it; the opening fence takes the rest of its line with it."""
    body = js_trim(body)
    body = _OPENING_FENCE.sub("", body, count=1) if body.startswith("```") else body
    return js_trim(_CLOSING_FENCE.sub("", body, count=1))


def _patches(text: str, passed: list[Passed], repairs: frozenset[str]) -> Iterator[Found]:
    for start, end, body in _blocks(text, passed):
        try:
            items, mended = read_text(without_fences(body))
            needed = ("mended_text",) if mended else ()
            if isinstance(items, dict) and "single_object" in repairs:
                items, needed = [items], (*needed, "single_object")
            for item in operation_commands(items):
                if item.name is None:
                    passed.append(Passed("unknown_operation", item.message, item.text[:200], start, end))
                else:
                    yield Found(item.name, item.args, "json_patch", item.text, start, end, item.keys, needed)
        except (TextError, PatchFault) as fault:
            passed.append(_pass("unreadable_block", str(fault), text, start, end))


def find(text: str, repairs: frozenset[str] = frozenset()) -> Scan:
    """Every command of a message in the upstream's order, and what looks like one but is not run.

    ``repairs`` are readings beyond the upstream's: ``single_object`` takes one patch operation for a list of one.
    """
    passed: list[Passed] = []
    commands = [*_patches(text, passed, repairs), *_calls(text, passed)]
    commands.sort(key=lambda command: command.start)
    passed.extend(_lookalikes(text, commands, passed))
    passed.sort(key=lambda item: item.start)
    return Scan(tuple(commands), tuple(passed))


def _lookalikes(text: str, commands: list[Found], passed: list[Passed]) -> Iterator[Passed]:
    """Calls and tags that the upstream does not know at all: ``_.push(``, ``_ .set(``, ``<JSONPatch lang=…>``."""
    spans = sorted([(item.start, item.end) for item in commands] + [(item.start, item.end) for item in passed])
    at = 0
    for pattern, why, what in (
        (_LOOKALIKE, "unknown_call", "no command of this dialect"),
        (_TAG_LIKE, "unknown_tag", "a patch block opens with exactly <JSONPatch> or <json_patch>"),
    ):
        at = reached = 0
        for match in pattern.finditer(text):
            while at < len(spans) and spans[at][0] <= match.start():
                reached = max(reached, spans[at][1])
                at += 1
            exact = _CALL.match(text, match.start()) or _TAG.match(text, match.start())
            if match.start() >= reached and not exact:
                message = f"{match.group()[:60]!r} is {what}" if why == "unknown_call" else what
                yield _pass(why, message, text, match.start(), match.end())
