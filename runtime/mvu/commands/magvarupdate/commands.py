"""Replies in the dialect ``magvarupdate`` as the shared values of every reader (spec/magvarupdate.md §2).

``LooseCommand`` is a command that still knows its source arguments: what they mean depends on the state (a root key may
hold a dot) and on whether a declaration guards it (no mathematics then).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from interpreter.javascript import UNDEFINED
from runtime.mvu.commands.find import PATCH_OPENING, Lines, open_tail
from runtime.mvu.commands.magvarupdate import paths
from runtime.mvu.commands.magvarupdate.engine import Instruction
from runtime.mvu.commands.magvarupdate.reading import read_value
from runtime.mvu.commands.magvarupdate.scan import Found, Passed, find
from runtime.mvu.commands.magvarupdate.values import as_json, json_text
from runtime.mvu.commands.model import Command, CommandError, CommandType, Ignored, Parsed, ParseOptions
from runtime.mvu.commands.repairs import Mender
from runtime.mvu.commands.strict import check_text
from runtime.mvu.limits import COMMANDS, IGNORED
from runtime.values.copying import MISSING

_UPDATE_TAG = re.compile(r"<(/?)update(?:variable)?>", re.IGNORECASE)
_SHOWN = 200
_SMART = "“”„＂‘’"
_QUOTES = str.maketrans(dict(zip(_SMART, '""""\'\'', strict=True)))


class LooseCommand(Command):
    """A command of this dialect with its source arguments, for readers that know only ``Command`` one like any other."""

    instruction: Instruction

    def normalised(self) -> str:
        """A text that reads as this very command."""
        if self.form == "patch":
            return f"<JSONPatch>[{self.source.replace('<', chr(92) + 'u003c')}]</JSONPatch>"
        return f"_.{self.type}({', '.join(self.instruction.args)});"


def _shared(value: Any) -> Any:
    """A read value as the shared readers hold it."""
    return None if value is UNDEFINED else as_json(value)[0]


def _keys(argument: Any) -> tuple[str, ...]:
    text = paths.repair(argument) if isinstance(argument, str) else json_text(argument)
    return paths.keys_of(text, None) if text else ()


def _loose(order: int, found: Found) -> LooseCommand:
    name = found.name
    keys = found.keys[0] if found.keys is not None else _keys(found.args[0])
    value: Any = MISSING
    key: Any = MISSING
    old: Any = MISSING
    target: tuple[str, ...] | None = None
    if name == "move":
        target = found.keys[1] if found.keys is not None else _keys(found.args[1])
    elif name == "delete":
        key = _shared(read_value(found.args[1])) if len(found.args) > 1 else MISSING
    elif name == "insert" and len(found.args) > 2:
        key, value = (_shared(read_value(argument)) for argument in found.args[1:3])
    else:
        value = _shared(read_value(found.args[-1] if name == "set" else found.args[1]))
        if name == "set" and len(found.args) > 2:
            old = _shared(read_value(found.args[1]))
    command = LooseCommand(
        order=order,
        type=cast(CommandType, name),
        path=keys,
        value=value,
        key=key,
        to=target,
        old=old,
        form="patch" if found.keys is not None else "legacy",
        source=found.full_match,
        repairs=found.repairs,
        start=found.start,
        end=found.end,
    )
    command.instruction = Instruction(name, found.args, found.reason, found.keys)
    return command


def _mended(found: Found, text: str, allowed: frozenset[str]) -> Found:
    """A command with the repairs that the reader was allowed: straight quotes, tags by another spelling."""
    needed = list(found.repairs)
    args = found.args
    if "smart_quotes" in allowed and found.keys is None:
        args = tuple(arg.translate(_QUOTES) if arg[:1] in _SMART and arg else arg for arg in args)
        needed += ["smart_quotes"] if args != found.args else []
    if found.keys is not None and not PATCH_OPENING.match(text, found.start):
        needed.append("tag_spelling")
    return replace(found, args=args, repairs=tuple(needed)) if needed else found


def instruction_of(command: Command) -> Instruction:
    """How the engine runs a command: as written, or from its values when a helper or a card made it."""
    if isinstance(command, LooseCommand):
        return command.instruction
    keys = (command.path,) if command.to is None else (command.path, command.to)
    args: list[Any] = [paths.bracket_text(command.path)]
    if command.to is not None:
        args.append(paths.bracket_text(command.to))
    args.extend(json_text(part) for part in (command.key, command.value) if part is not MISSING)
    return Instruction(command.type, tuple(args), "", keys)


def reasoning_spans(text: str, tags: Iterable[str]) -> list[tuple[int, int, str]]:
    """The stretches inside reasoning tags; an open one runs to the end."""
    names = "|".join(map(re.escape, tags))
    if not names or "<" not in text:
        return []
    spans: list[tuple[int, int, str]] = []
    opened: tuple[int, str] | None = None
    for match in re.finditer(rf"<(/?)({names})>", text, re.IGNORECASE):
        name = match.group(2).lower()
        if opened is None and not match.group(1):
            opened = (match.start(), name)
        elif opened is not None and match.group(1) and opened[1] == name:
            spans.append((opened[0], match.end(), name))
            opened = None
    if opened is not None:
        spans.append((opened[0], len(text), opened[1]))
    return spans


class _Reading:
    def __init__(self, text: str, options: ParseOptions) -> None:
        self.text = text
        self.options = options
        self.lines = Lines(text)
        self.ignored: list[Ignored] = []

    def ignore(self, reason: str, why: str, start: int, end: int) -> None:
        line = self.lines.of(start)
        self.ignored.append(Ignored(reason, f"{why} (line {line})", start, end, line, self.text[start:end][:_SHOWN]))

    def pass_over(self, item: Passed) -> None:
        self.ignore(item.why.replace("_", "-"), item.message, item.start, item.end)

    def incomplete(self, passed: Iterable[Passed]) -> str | None:
        if not self.options.partial:
            return None
        for item in passed:
            if item.why in ("unclosed", "unclosed_block"):
                return f"what opens at line {self.lines.of(item.start)} is not closed"
        depth = 0
        for match in _UPDATE_TAG.finditer(self.text):
            depth = max(0, depth - 1) if match.group(1) else depth + 1
        if depth:
            return "the update block is not closed"
        return "the text ends inside a tag or command name" if open_tail(self.text) >= 0 else None

    def all_ignored(self) -> tuple[Ignored, ...]:
        """In order of place; beyond the limit only their number is told."""
        self.ignored.sort(key=lambda item: item.start)
        more = len(self.ignored) - IGNORED.default
        if more <= 0:
            return tuple(self.ignored)
        end = len(self.text)
        last = Ignored("more", f"{more} more places were ignored", end, end, self.lines.of(end), "")
        return (*self.ignored[: IGNORED.default], last)


def parse(text: str, options: ParseOptions) -> Parsed:
    """Everything in a reply that is a command of this dialect, or looks like one; only its length can be refused."""
    check_text(text)
    reading = _Reading(text, options)
    scan = find(Mender(options.repairs).tags(text), options.repairs)
    for item in scan.passed:
        reading.pass_over(item)
    contains = bool(scan.commands or scan.passed)
    incomplete = reading.incomplete(scan.passed)
    if incomplete is not None:
        for found in scan.commands:
            reading.ignore("incomplete", f"the reply is incomplete: {incomplete}", found.start, found.end)
        return Parsed((), reading.all_ignored(), incomplete, contains, "magvarupdate")
    if len(scan.commands) > COMMANDS.default:
        raise CommandError(
            COMMANDS.error,
            f"expected at most {COMMANDS.default} commands in a reply, found {len(scan.commands)}",
            {"limit": COMMANDS.default},
            Parsed((), reading.all_ignored(), None, contains, "magvarupdate"),
        )
    reasoning = reasoning_spans(text, options.reasoning_tags)
    commands: list[Command] = []
    for found in scan.commands:
        inside = next((name for low, high, name in reasoning if low <= found.start < high), None)
        if inside is not None:
            reading.ignore("reasoning", f"it stands inside the reasoning tag <{inside}>", found.start, found.end)
        else:
            commands.append(_loose(len(commands), _mended(found, text, options.repairs)))
    return Parsed(tuple(commands), reading.all_ignored(), None, contains, "magvarupdate")
