"""The last reading of a broken ``[…]`` or ``{…}``: as forgiving as the upstream's YAML reader is about flow text.

A quoted text ends at its quote and the rest up to the next separator is dropped; missing closers and everything after
the value are forgiven (spec/magvarupdate.md §12).
"""

from __future__ import annotations

import re
from typing import Any

from runtime.mvu.commands.magvarupdate.limits import READ_DEPTH
from runtime.mvu.commands.magvarupdate.values import is_container, key_text
from runtime.mvu.commands.magvarupdate.yaml_text import flow_text, plain_value

_BLANK = re.compile(r"(?:\s|(?:(?<=\s)|^)#[^\n]*)*")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\[\s\S])*)"')
_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_PLAIN = re.compile(r"(?:(?!: |:\s|:[,\[\]{}]|:\Z|\s#)[^,\[\]{}])*")
_JUNK = re.compile(r"[^,\[\]{}:]*")
_FOLD = re.compile(r"[ \t]*\n[ \t]*(\n[ \t]*)*")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|\n[ \t]*|([\s\S]))")
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
    '"': '"',
    "/": "/",
    "\\": "\\",
    " ": " ",
}
_LAST_CODE_POINT = 0x10FFFF


class FlowFault(ValueError):
    """A text that nests too deep or opens no collection."""


def _fold(text: str) -> str:
    return _FOLD.sub(lambda match: "\n" * match.group().count("\n", 1) or " ", text) if "\n" in text else text


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1) or match.group(2) or match.group(3)
    if code:
        return chr(int(code, 16)) if int(code, 16) <= _LAST_CODE_POINT else match.group()
    mark = match.group(4)
    return "" if mark is None else _ESCAPES.get(mark, match.group())


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        assert match is not None  # the pattern matches the empty text
        self.at = match.end()

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def node(self) -> Any:
        self.blank()
        mark = self.peek()
        if mark in ("[", "{") and mark:
            self.depth += 1
            if self.depth > READ_DEPTH.default:
                raise FlowFault(f"expected at most {READ_DEPTH.default} levels of nesting, found more")
            found: Any = self.sequence() if mark == "[" else self.mapping()
            self.depth -= 1
            return found
        for pattern in (_DOUBLE, _SINGLE):
            quoted = pattern.match(self.text, self.at)
            if quoted:
                self.at = quoted.end()
                inner = _fold(quoted.group(1))
                return _ESCAPE.sub(_unescape, inner) if mark == '"' else inner.replace("''", "'")
        plain = _PLAIN.match(self.text, self.at)
        assert plain is not None
        self.at = plain.end()
        return plain_value(_fold(plain.group().strip()))

    def junk(self) -> None:
        """Everything up to the next separator."""
        match = _JUNK.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def entry(self) -> tuple[Any, Any, bool]:
        """One ``key: value`` or lone node; the last part says whether there was a colon."""
        key = self.node()
        self.junk()
        if self.peek() != ":":
            return key, None, False
        self.at += 1
        value = self.node()
        self.junk()
        while self.peek() == ":":
            self.at += 1
            value = {key_text(value): self.node()}
            self.junk()
        return key, value, True

    def separator(self, closer: str) -> bool:
        """Step over a comma; whether the collection goes on."""
        mark = self.peek()
        if mark == ",":
            self.at += 1
        elif mark in ("]", "}"):
            self.at += 1
            return False
        self.blank()
        if self.peek() == closer:
            self.at += 1
            return False
        return self.at < len(self.text)

    def sequence(self) -> list[Any]:
        self.at += 1
        items: list[Any] = []
        self.blank()
        if self.peek() == "]":
            self.at += 1
            return items
        while self.at < len(self.text):
            if self.peek() == ",":
                self.at += 1
                self.blank()
                if self.peek() == "]":
                    self.at += 1
                    break
                continue
            key, value, colon = self.entry()
            items.append({_key(key): value} if colon else key)
            if not self.separator("]"):
                break
        return items

    def mapping(self) -> dict[str, Any]:
        self.at += 1
        members: dict[str, Any] = {}
        self.blank()
        if self.peek() == "}":
            self.at += 1
            return members
        while self.at < len(self.text):
            key, value, _ = self.entry()
            members[_key(key)] = value
            if not self.separator("}"):
                break
        return members


def _key(value: Any) -> str:
    if value is None:
        return ""
    return flow_text(value) if is_container(value) else key_text(value)


def read_flow(text: str) -> Any:
    """The collection at the start of a text; raises ``FlowFault``."""
    if text[:1] not in ("[", "{"):
        raise FlowFault("expected '[' or '{' at the start of the text")
    return _Reader(text).node()
