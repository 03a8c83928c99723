"""A JSON text mended while it is read: what models break, read the way the field's repair tool reads it.

Rules (spec/magvarupdate.md §12): missing quotes, commas, colons and closers are put in; unescaped quotes inside a text
are kept; single, typographic and backtick quotes, comments, Python words, trailing commas, ellipses and truncation are
forgiven. Anything else is refused. The work is bounded by a constant times the length of the text.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from interpreter.javascript import js_number
from runtime.mvu.commands.magvarupdate.limits import READ_DEPTH

_BLANK = re.compile("(?:[\\s\u180e\ufeff]|/\\*(?:[^*]|\\*(?!/))*(?:\\*/|\\Z)|//[^\n]*)*")
_INLINE_BLANK = re.compile("[ \t\r\u00a0\u2000-\u200a\u202f\u205f\u3000\ufeff]*")
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?)?(?:[eE][+-]?[0-9]*)?")
_WHOLE_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*)?)(\.[0-9]*)?([eE][+-]?[0-9]*)?")
_PATTERN = re.compile(r"/(?:[^/\\]|\\[\s\S])*/?")
_CALL = re.compile(r"[A-Za-z_$][A-Za-z_$0-9]*\s*\(")
_BARE = re.compile("[^,\\[\\]/{}\n+\"'`“”‘’´]*")
_BARE_KEY = re.compile("[^,\\[\\]/{}\n+\"'`“”‘’´:]*")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_QUOTES = "\"'`“”‘’´"
_DOUBLE, _SINGLE = '"“”', "'‘’`´"
_CLOSING = {'"': '"', "'": "'", **dict.fromkeys("“”", _DOUBLE), **dict.fromkeys("‘’`´", _SINGLE)}
_DELIMITERS = ",:[]/{}()\n+"
_BARE_DELIMITERS = ",[]/{}\n+"
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    "undefined": None,
}
_MISSING: Any = object()
_WORK_PER_CHARACTER = 16
_WORK_AT_LEAST = 4_096


class RepairFault(ValueError):
    """A text that cannot be mended."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.work = _WORK_PER_CHARACTER * len(text) + _WORK_AT_LEAST

    # -- small steps

    def fail(self, what: str) -> NoReturn:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1
        raise RepairFault(f"{what} at line {line}, column {column}")

    def spend(self, amount: int) -> None:
        self.work -= amount
        if self.work < 0:
            self.fail("expected JSON, found a text too broken to mend")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        assert match is not None  # the pattern matches the empty text
        self.at = match.end()

    def skip(self, mark: str) -> bool:
        if self.peek() == mark:
            self.at += 1
            return True
        return False

    def skip_ellipsis(self) -> None:
        self.blank()
        if self.text.startswith("...", self.at):
            self.at += 3
            self.blank()
            self.skip(",")

    def prior(self, index: int) -> int:
        """Index of the nearest character before ``index`` that is no blank, -1 without one."""
        start = index
        while index > 0 and self.text[index - 1].isspace():
            index -= 1
        self.spend(start - index + 1)
        return index - 1

    # -- values

    def document(self) -> Any:
        value = self.value()
        if value is _MISSING:
            self.fail("expected JSON, the text has none")
        broken_line = self.text[: self.at].rstrip(" \t\r").endswith("\n")
        comma = self.skip(",")
        self.blank()
        if (comma or broken_line) and self._starts_value():
            value = self.lines(value)
        while self.peek() and self.peek() in "}]":
            self.at += 1
            self.blank()
        if self.at < len(self.text):
            self.fail(f"expected the end of the text, found {self.peek()!r}")
        return value

    def lines(self, first: Any) -> list[Any]:
        """Values one after the other without a list around them."""
        items = [first]
        while True:
            value = self.value()
            if value is _MISSING:
                return items
            items.append(value)
            self.skip(",")

    def value(self) -> Any:
        self.blank()
        self.spend(1)
        mark = self.peek()
        if mark == "{" or mark == "[":
            self.depth += 1
            if self.depth > READ_DEPTH.default:
                self.fail(f"expected at most {READ_DEPTH.default} levels of nesting, found more")
            found: Any = self.object() if mark == "{" else self.array()
            self.depth -= 1
        elif mark and mark in _QUOTES:
            found = self.string()
        else:
            found = self.unquoted()
        self.blank()
        return found

    def unquoted(self) -> Any:
        """A text with escaped quotes, a number, a word, a pattern between slashes, or bare text."""
        if self.skip("\\"):
            while self.skip("\\"):
                pass
            mark = self.peek()
            if mark == "{" or mark == "[":
                self.fail("expected a value after '\\'")
            return self.string(escaped=True) if mark and mark in _QUOTES else self.unquoted()
        number = self.number()
        if number is not _MISSING:
            return number
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at) and word != "undefined":
                self.at += len(word)
                return value
        if self.peek() == "/":
            pattern = _PATTERN.match(self.text, self.at)
            assert pattern is not None  # it matches from a slash on
            self.at = pattern.end()
            return pattern.group()
        return self.bare(key=False)

    def object(self) -> dict[str, Any]:
        self.at += 1
        self.blank()
        if self.skip(","):
            self.blank()
        members: dict[str, Any] = {}
        first = True
        while self.at < len(self.text) and self.peek() != "}":
            if not first:
                self.skip(",")
            first = False
            self.skip_ellipsis()
            escaped = self.skip("\\")
            quoted = self.peek() and self.peek() in _QUOTES
            key = self.string(escaped=escaped) if quoted else self.bare(key=True)
            if key is _MISSING:
                if self.peek() and self.peek() not in "}{][":
                    self.fail("expected an object key")
                break
            self.blank()
            colon = self.skip(":")
            truncated = self.at >= len(self.text)
            if not colon and not truncated and not self._starts_value():
                self.fail("expected ':' after an object key")
            value = self.value()
            if value is _MISSING:
                if not colon and not truncated:
                    self.fail("expected ':' after an object key")
                value = None
            members[key if isinstance(key, str) else _key_text(key)] = value
        self.skip("}")
        return members

    def _starts_value(self) -> bool:
        mark = self.peek()
        return mark in "[{-_" or mark.isalnum() or mark in _QUOTES

    def array(self) -> list[Any]:
        self.at += 1
        self.blank()
        if self.skip(","):
            self.blank()
        items: list[Any] = []
        first = True
        while self.at < len(self.text) and self.peek() != "]":
            if not first:
                self.skip(",")
            first = False
            self.skip_ellipsis()
            value = self.value()
            if value is _MISSING:
                break
            items.append(value)
        self.skip("]")
        return items

    # -- strings

    def string(self, *, escaped: bool = False) -> str:
        """A quoted text and the texts that follow it with ``+``."""
        parts = [self._quoted(escaped)]
        while True:
            start = self.at
            self.blank()
            if not self.skip("+"):
                self.at = start
                return "".join(parts)
            self.blank()
            if not self.peek() or self.peek() not in _QUOTES:
                return "".join(parts)
            parts.append(self._quoted(False))

    def _quoted(self, escaped: bool) -> str:
        """A quoted text; read again with an earlier end as long as the end found was none."""
        begin, stop = self.at, len(self.text)
        to_delimiter = False
        while True:
            found = self._attempt(begin, to_delimiter, stop, escaped)
            if isinstance(found, str):
                return found
            escaped = False
            to_delimiter, stop = (True, len(self.text)) if found < 0 else (False, found)

    def _attempt(self, begin: int, to_delimiter: bool, stop: int, escaped: bool) -> str | int:
        """The text, or where to stop when reading it again (-1: at a delimiter)."""
        text = self.text
        closing = _CLOSING[text[begin]]
        parts: list[str] = []
        at = begin + 1
        while at < stop:
            self.spend(1)
            mark = text[at]
            if to_delimiter and mark in _BARE_DELIMITERS:
                break
            if mark in closing:
                ended = self._end_of_string(begin, at, to_delimiter)
                if ended is None:
                    return "".join(parts)
                if isinstance(ended, int):
                    return ended
                parts.append(mark if mark != "'" else '"')
                at += 1
            elif mark == "\\" and escaped and text[at + 1 : at + 2] in _CLOSING:
                at += 1
            elif mark == "\\":
                at = self._escape(at, parts)
            else:
                parts.append(mark)
                at += 1
        if at >= len(text) and not to_delimiter:
            before = self.prior(at)
            if before > begin and text[before] in _DELIMITERS:
                return -1
        self.at = at
        return "".join(parts).rstrip()

    def _end_of_string(self, begin: int, at: int, stop_at_delimiter: bool) -> int | str | None:
        """None: the string ends here. A number: read it again, up to there (-1: up to a delimiter). Text: go on."""
        blank = _INLINE_BLANK.match(self.text, at + 1)
        assert blank is not None
        self.spend(blank.end() - at)
        after = self.text[blank.end() : blank.end() + 1]
        if stop_at_delimiter or not after or after in _DELIMITERS or after in _QUOTES or after.isdigit():
            self.at = at + 1
            return None
        before = self.prior(at)
        if before > begin and self.text[before] == ",":
            return before
        if before > begin and self.text[before] in _DELIMITERS:
            return -1
        return "inside"

    def _escape(self, at: int, parts: list[str]) -> int:
        mark = self.text[at + 1 : at + 2]
        if mark == "u":
            digits = _HEX.match(self.text, at + 2)
            if digits is None:
                if at + 6 >= len(self.text):
                    return len(self.text)
                self.at = at
                self.fail("expected four hexadecimal digits after '\\u'")
            parts.append(chr(int(digits.group(), 16)))
            return at + 6
        parts.append(_ESCAPES.get(mark, mark))
        return min(at + 2, len(self.text))

    # -- scalars without quotes

    def number(self) -> Any:
        match = _NUMBER.match(self.text, self.at)
        if match is None or not match.group() or match.group()[0] in "eE":
            return _MISSING
        after = self.text[match.end() : match.end() + 1]
        if after and after not in _DELIMITERS and not after.isspace():
            return _MISSING
        parts = _WHOLE_NUMBER.fullmatch(match.group())
        self.at = match.end()
        if parts is None:
            return match.group()
        whole, fraction, exponent = parts.group(1), parts.group(2) or "", parts.group(3) or ""
        whole += "0" if whole in ("", "-") else ""
        fraction += "0" if fraction == "." else ""
        exponent += "0" if exponent and not exponent[-1].isdigit() else ""
        return js_number(float(whole + fraction + exponent))

    def bare(self, *, key: bool) -> Any:
        call = None if key else _CALL.match(self.text, self.at)
        if call is not None:
            return self._call(call.end())
        match = (_BARE_KEY if key else _BARE).match(self.text, self.at)
        assert match is not None
        found = match.group().rstrip()
        if not found:
            return _MISSING
        self.at = match.end()
        if not key and self.peek() == "/" and found.endswith(":") and self.text.startswith("//", self.at):
            found += self._address()
        if self.peek() == '"':
            self.at += 1
        return _WORDS[found] if found in _WORDS and not key else found

    def _address(self) -> str:
        start = self.at
        while self.peek() and self.peek() not in ",[]{}\n+\"' \t":
            self.at += 1
        return self.text[start : self.at]

    def _call(self, inside: int) -> Any:
        self.depth += 1
        if self.depth > READ_DEPTH.default:
            self.fail(f"expected at most {READ_DEPTH.default} levels of nesting, found more")
        self.at = inside
        value = self.value()
        self.depth -= 1
        if self.skip(")"):
            self.skip(";")
        return value


def _key_text(key: Any) -> str:
    return {True: "true", False: "false", None: "null"}[key]


def read_repaired(text: str) -> Any:
    """The value of a JSON text that needs mending; raises ``RepairFault``."""
    return _Reader(text).document()
