"""Dialect ``strict``: the seed's reading of replies (spec/mvu.md §4.1-4.3)."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, NoReturn

from interpreter.javascript import js_trim, utf16_length
from runtime.mvu.commands import find
from runtime.mvu.commands.model import STRICT, Command, CommandError, Ignored, Parsed, ParseOptions
from runtime.mvu.commands.read import read_body, read_value
from runtime.mvu.commands.repairs import Mender
from runtime.mvu.commands.shapes import check_arity, legacy_command, legacy_type, patch_command
from runtime.mvu.errors import fatal
from runtime.mvu.limits import COMMANDS, IGNORED, REPLY_TEXT
from runtime.values.bounds import check_json
from runtime.values.canonical import quick_json
from runtime.values.rows import InnkeeperError

_FENCE_OPEN = re.compile(r"```[^\S\r\n]*(?:json)?\s*", re.IGNORECASE)
_FENCE_CLOSE = re.compile(r"\s*```$")
_UPDATE_ARRAY = re.compile(r"<UpdateVariable>\s*(?:```[^\S\r\n]*(?:json)?\s*)?\[", re.IGNORECASE)
_UPDATE_TAG = re.compile(r"<(/?)UpdateVariable>", re.IGNORECASE)
_LOOKALIKE = re.compile(r"[_＿]\s?[.．。]\s?(?:set|add|insert|assign|remove|unset|delete)\s?[(（]")
_SHOWN = 200


def strip_fence(body: str) -> str:
    """A patch body without surrounding blanks and without one leading and one trailing code fence."""
    body = js_trim(body)
    opening = _FENCE_OPEN.match(body)
    if opening:
        body = body[opening.end() :]
    if body.endswith("```"):
        closing = _FENCE_CLOSE.search(body, max(0, len(body) - _SHOWN))
        body = body[: closing.start()] if closing else body[:-3]
    return js_trim(body)


def check_text(text: str) -> None:
    """Refuse a text that is too long to be read (``MVU_LIMIT``)."""
    if len(text) * 2 > REPLY_TEXT.default and utf16_length(text) > REPLY_TEXT.default:
        raise fatal(
            "MVU_LIMIT",
            f"expected a text of at most {REPLY_TEXT.default} characters, found {utf16_length(text)}",
            {"limit": REPLY_TEXT.default},
        )


class Reader:
    """One reading of one text."""

    def __init__(self, text: str, options: ParseOptions) -> None:
        check_text(text)
        self.text = text
        self.options = options
        self.mender = Mender(options.repairs)
        self.lines = find.Lines(text)
        self.commands: list[Command] = []
        self.ignored: list[Ignored] = []
        self.more = 0

    # --- reading -----------------------------------------------------------------------------------------------

    def run(self) -> Parsed:
        """Read everything in order of place."""
        text = self.mender.tags(self.text)
        reasoning = self._reasoning(text)
        blocks, loose = find.patch_blocks(text)
        for tag in loose:
            self._ignore_tag(text, tag)
        gaps = find.gaps_between(blocks, len(text))
        if reasoning:
            blocks = [block for block in blocks if not self._inside(block.start, block.end, reasoning)]
        units: list[tuple[int, find.Block | find.Call]] = [(block.start, block) for block in blocks]
        open_call = -1
        for call in find.calls(text, gaps, not self.options.repairs):
            if call.end < 0 and self.options.partial:
                open_call = call.start
                break
            if reasoning and self._inside(call.start, call.end if call.end > 0 else call.start, reasoning):
                continue
            units.append((call.start, call))
            if len(units) - len(blocks) > COMMANDS.default and not self.options.partial:
                break  # reading ends at the limit
        if blocks and len(units) > len(blocks):
            units.sort(key=lambda unit: unit[0])
        incomplete = self._incomplete(text, loose, open_call) if self.options.partial else None
        if incomplete:
            return self._cut(text, [unit for _, unit in units], incomplete)
        for _, unit in units:
            if isinstance(unit, find.Block):
                self._block(text, unit)
            else:
                self._call(text, unit)
        self._lookalikes(text, blocks)
        return self._parsed(text, bool(units))

    def _parsed(self, text: str, found: bool) -> Parsed:
        contains = found or ("<" in text and _UPDATE_ARRAY.search(text) is not None)
        return Parsed(tuple(self.commands), self._all_ignored(), None, contains)

    def _all_ignored(self) -> tuple[Ignored, ...]:
        """What was ignored in order of place; beyond the limit only its number is told."""
        self.ignored.sort(key=lambda item: item.start)
        if self.more:
            end = len(self.text)
            self.ignored.append(
                Ignored("more", f"{self.more} more places were ignored", end, end, self.lines.of(end), "")
            )
        return tuple(self.ignored)

    def _call(self, text: str, call: find.Call) -> None:
        self._room(call.start)
        self.mender.begin()
        try:
            command = self._legacy(text, call)
        except InnkeeperError as error:
            self._fail(error, call.start, call.end if call.end > 0 else len(text))
        if self.mender.used:
            command = command._replace(repairs=tuple(self.mender.used))
        self.commands.append(command)

    def _legacy(self, text: str, call: find.Call) -> Command:
        start, end, name, arguments, balanced, known = call
        kind = legacy_type(name)
        if end < 0:
            line = self.lines.of(start)
            raise fatal("MVU_PARSE", f"unterminated command: the call '_.{name}(' of line {line} is never closed")
        if not balanced:
            raise fatal("MVU_PARSE", f"expected balanced brackets in {text[start:end][:_SHOWN]!r}")
        check_arity(kind, name, len(known) + len(arguments))
        if not arguments:
            values = known
        elif self.options.repairs:
            values = (*known, *[self.mender.value(argument, read_value) for argument in arguments])
        else:
            values = (*known, *map(read_value, arguments))
        return legacy_command(len(self.commands), kind, values, text[start:end], start, end)

    def _block(self, text: str, block: find.Block) -> None:
        body = strip_fence(text[block.body_start : block.body_end])

        def operations() -> list[Any]:
            value = self.mender.patch(body, read_body)
            if not isinstance(value, list):
                raise fatal("MVU_PARSE", f"expected an array of operations in <{block.name}>, found {value!r:.60}")
            return value

        try:
            listed = operations()
        except InnkeeperError as error:
            self._fail(error, block.start, block.end)
        self._operations(text, block, listed)

    def _operations(self, text: str, block: find.Block, operations: list[Any]) -> None:
        repairs = self.options.repairs
        for operation in operations:
            self._room(block.start)
            try:
                if repairs:
                    self.mender.begin()
                    operation = self.mender.operation(operation)
                source = quick_json(operation)
                command = patch_command(len(self.commands), operation, source, block.start, block.end)
            except InnkeeperError as error:
                self._fail(error, block.start, block.end)
            if repairs and self.mender.used:
                command = command._replace(repairs=tuple(self.mender.used))
            self.commands.append(command)

    def _room(self, start: int) -> None:
        if len(self.commands) >= COMMANDS.default:
            found = fatal("MVU_LIMIT", f"expected at most {COMMANDS.default} commands in a reply, found more")
            self._fail(found, start, start)

    def _fail(self, error: InnkeeperError, start: int, end: int) -> NoReturn:
        line = self.lines.of(start)
        details = {**error.details, "command": len(self.commands), "span": [start, end], "replyLine": line}
        parsed = Parsed(tuple(self.commands), tuple(self.ignored), None, True)
        raise CommandError(
            error.code, f"{error.message} (command {len(self.commands)}, line {line})", details, parsed
        ) from error

    # --- what is not taken -------------------------------------------------------------------------------------

    def _ignore(self, reason: str, why: str, start: int, end: int) -> None:
        if len(self.ignored) >= IGNORED.default:
            self.more += 1
            return
        line = self.lines.of(start)
        self.ignored.append(Ignored(reason, f"{why} (line {line})", start, end, line, self.text[start:end][:_SHOWN]))

    def _ignore_tag(self, text: str, tag: find.LooseTag) -> None:
        if tag.closing:
            self._ignore("stray-tag", "a closing patch tag without an opening one", tag.start, tag.end)
        else:
            self._ignore("unclosed-block", f"the block <{tag.name}> is never closed", tag.start, tag.end)

    def _lookalikes(self, text: str, blocks: list[find.Block]) -> None:
        taken = [(command.start, command.end) for command in self.commands]
        for match in _LOOKALIKE.finditer(text):
            if not find.CALL.match(text, match.start()) and _holder(match.start(), taken) is None:
                self._ignore("not-a-call", "it is not written as _.name(", match.start(), match.end())
        if "<" in text:
            spans = [(block.start, block.end) for block in blocks]
            for match in _UPDATE_ARRAY.finditer(text):
                if _holder(match.end(), spans) is None:
                    self._ignore(
                        "bare-array",
                        "a list directly inside <UpdateVariable> is no patch block",
                        match.start(),
                        match.end(),
                    )

    def _reasoning(self, text: str) -> list[tuple[int, int, str]]:
        if not self.options.reasoning_tags or "<" not in text:
            return []
        names = "|".join(map(re.escape, self.options.reasoning_tags))
        spans: list[tuple[int, int, str]] = []
        opened: tuple[int, str] | None = None
        for match in re.finditer(rf"<(/?)({names})>", text, re.IGNORECASE):
            name = match.group(2).lower()
            if match.group(1):
                if opened is not None and opened[1] == name:
                    spans.append((opened[0], match.end(), name))
                    opened = None
            elif opened is None:
                opened = (match.start(), name)
        if opened is not None:
            spans.append((opened[0], len(text), opened[1]))
        return spans

    def _inside(self, start: int, end: int, spans: list[tuple[int, int, str]]) -> bool:
        found = _holder(start, spans)
        if found is None:
            return False
        self._ignore("reasoning", f"it stands inside the reasoning tag <{found[2]}>", start, max(end, start + 1))
        return True

    # --- partial replies ---------------------------------------------------------------------------------------

    def _incomplete(self, text: str, loose: list[find.LooseTag], open_call: int) -> str | None:
        if open_call >= 0:
            return f"the call of line {self.lines.of(open_call)} is not closed"
        for tag in loose:
            if not tag.closing:
                return f"the block <{tag.name}> of line {self.lines.of(tag.start)} is not closed"
        opened = list(_UPDATE_TAG.finditer(text)) if "<" in text else []
        depth = 0
        for match in opened:
            depth = max(0, depth - 1) if match.group(1) else depth + 1
        if depth:
            return "the block <UpdateVariable> is not closed"
        tail = find.open_tail(text)
        return "the text ends inside a tag or command name" if tail >= 0 else None

    def _cut(self, text: str, units: list[find.Block | find.Call], incomplete: str) -> Parsed:
        for unit in units:
            end = unit.end if unit.end > 0 else len(text)
            self._ignore("incomplete", f"the reply is incomplete: {incomplete}", unit.start, end)
        return Parsed((), self._all_ignored(), incomplete, bool(units))


def _holder(position: int, spans: list[Any]) -> Any:
    """The one of the disjoint, sorted ``spans`` that holds ``position``, or None."""
    at = bisect_right(spans, position, key=lambda span: int(span[0])) - 1
    return spans[at] if at >= 0 and position < spans[at][1] else None


def parse(text: str, options: ParseOptions = STRICT) -> Parsed:
    """Read a reply; raises ``CommandError`` with a fatal code."""
    try:
        reader = Reader(text, options)
    except InnkeeperError as error:
        raise CommandError(error.code, error.message, error.details, Parsed()) from error
    return reader.run()


def parse_patch(operations: Any) -> Parsed:
    """The commands of a JSON Patch given as a value, as cards write them (spec/mvu.md §4.3)."""
    reader = Reader("", STRICT)
    if not isinstance(operations, list):
        raise CommandError("MVU_PARSE", "expected an array of patch operations", {}, Parsed())
    try:
        check_json(operations)
    except InnkeeperError as error:
        raise CommandError(error.code, error.message, error.details, Parsed()) from error
    reader._operations("", find.Block(0, 0, 0, 0, "jsonpatch"), operations)
    return Parsed(tuple(reader.commands), (), None, True)


def contains_update(text: str) -> bool:
    """Whether a text holds anything of an update (spec/mvu.md §4.1)."""
    if "<" in text and (find.PATCH_OPENING.search(text) or _UPDATE_ARRAY.search(text)):
        return True
    return find.CALL.search(text) is not None
