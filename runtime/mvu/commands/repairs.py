"""Repairs of what models really write: each has a name, each is off unless asked for (spec/mvu.md §4.2).

A repair is tried only where the strict reading fails, and its name is recorded with the command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from interpreter.javascript import js_trim
from runtime.values import json5
from runtime.values.rows import InnkeeperError

REPAIRS: dict[str, str] = {
    "outer_bracket": "a patch list whose opening or closing bracket is missing",
    "single_object": "one patch operation without its list",
    "trailing_comma": "more than one comma at the end of a list or object",
    "tag_spelling": "patch tags with blanks, hyphens or attributes",
    "leading_slash": "patch paths without the leading slash",
    "python_literals": "True, False and None",
    "smart_quotes": "typographic quotation marks",
}
"""Every repair, with what it mends."""

ALL_REPAIRS = frozenset(REPAIRS)

_LOOSE_TAG = re.compile(r"<(/?)\s{0,4}json[\s_-]?patch\b([^<>]{0,200})>", re.IGNORECASE)
_STRING = r'"(?:[^"\\]++|\\.)*+"|\'(?:[^\'\\]++|\\.)*+\''
_PYTHON = re.compile(rf"({_STRING})|\b(True|False|None)\b", re.DOTALL)
_COMMAS = re.compile(rf"({_STRING})|,(?:\s*+,)*+(\s*+[\]}}])", re.DOTALL)
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "＂": '"', "‘": "'", "’": "'"})
_MISSING = object()


class Mender:
    """The repairs of one reading: which are allowed, which the present command needed."""

    def __init__(self, allowed: Collection[str]) -> None:
        unknown = set(allowed) - ALL_REPAIRS
        if unknown:
            raise InnkeeperError(
                "MVU_CONFIG", f"expected repairs out of {', '.join(REPAIRS)}, found {', '.join(sorted(unknown))}"
            )
        self.allowed = frozenset(allowed)
        self.used: list[str] = []
        self._block: list[str] = []

    def begin(self) -> None:
        """A new command: forget what the last one needed, keep what its block needed."""
        self.used = list(self._block)

    def tags(self, text: str) -> str:
        """``text`` with tag variants spelled as the reader knows them; every place keeps its offset."""
        self._block = []
        if "tag_spelling" not in self.allowed or "<" not in text:
            return text
        return _LOOSE_TAG.sub(self._tag, text)

    def _tag(self, match: re.Match[str]) -> str:
        whole = match.group()
        name = "jsonpatch" if len(whole) < len("<json_patch>") + len(match.group(1)) else "json_patch"
        plain = f"<{match.group(1)}{name}>"
        if whole.lower() == plain or len(plain) > len(whole):
            return whole
        self._note("tag_spelling")
        return plain.replace(name, "jsonpatch") + " " * (len(whole) - len(plain.replace(name, "jsonpatch")))

    def _note(self, name: str) -> None:
        if name not in self._block:
            self._block.append(name)

    def value(self, text: str, read: Callable[[str], Any]) -> Any:
        """One argument: as written, or repaired where that cannot be read."""
        if not self.allowed:
            return read(text)
        mended, names = self._literals(text)
        if names:
            self.used.extend(names)
            return read(mended)
        return read(text)

    def patch(self, body: str, read: Callable[[str], Any]) -> Any:
        """A patch body: as written, or repaired where that is no list."""
        self._block = [name for name in self._block if name == "tag_spelling"]
        if not self.allowed:
            return read(body)
        first = self._attempt(body, json5.load)
        if isinstance(first, list):
            return read(body)
        text, names = self._literals(body)
        candidates = [(text, names)] if names else []
        candidates.append((body, []))
        if "outer_bracket" in self.allowed:
            candidates += [(mended, [*names, "outer_bracket"]) for mended in _bracketed(text)]
        for mended, needed in candidates:
            value = self._attempt(mended, read)
            if isinstance(value, dict) and "single_object" in self.allowed:
                value, needed = [value], [*needed, "single_object"]
            if isinstance(value, list) and all(isinstance(item, dict) for item in value):
                for name in needed:
                    self._note(name)
                return value
        return read(body)

    def _attempt(self, text: str, read: Callable[[str], Any]) -> Any:
        try:
            return read(text)
        except InnkeeperError:
            return _MISSING

    def operation(self, operation: Any) -> Any:
        """One patch operation with its pointers mended."""
        if "leading_slash" not in self.allowed or not isinstance(operation, dict):
            return operation
        mended = dict(operation)
        for name in ("path", "from", "to"):
            pointer = mended.get(name)
            if isinstance(pointer, str) and pointer and pointer[0] != "/":
                mended[name] = "/" + pointer
                if "leading_slash" not in self.used:
                    self.used.append("leading_slash")
        return mended

    def _literals(self, text: str) -> tuple[str, list[str]]:
        names: list[str] = []
        if "smart_quotes" in self.allowed:
            straight = text.translate(_QUOTES)
            if straight != text and js_trim(straight)[:1] in "\"'[{":
                text = straight
                names.append("smart_quotes")
        if "python_literals" in self.allowed:
            mended = _PYTHON.sub(lambda m: m.group(1) or _PYTHON_WORDS[m.group(2)], text)
            if mended != text:
                text = mended
                names.append("python_literals")
        if "trailing_comma" in self.allowed:
            mended = _COMMAS.sub(lambda m: m.group(1) or m.group(2), text)
            if mended != text:
                text = mended
                names.append("trailing_comma")
        return text, names


def _bracketed(text: str) -> list[str]:
    text = js_trim(text)
    found: list[str] = []
    if not text.startswith("["):
        found.append(f"[{text}" if text.endswith("]") else f"[{text}]")
    elif not text.endswith("]"):
        found.append(f"{text}]")
    return found
