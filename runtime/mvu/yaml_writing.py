"""YAML as the field's writer prints it: block style, literal blocks for texts of several lines (spec/mvu.md §10).

Depth is bounded by the bounds of the value; long lines of one text are folded at 80 columns.
"""

from __future__ import annotations

import math
import re
from typing import Any

from interpreter.javascript import UNDEFINED, js_key_order, js_number_text

_WIDTH = 80
_LEAST_CONTENT = 20
_INDENT = "  "
_NOT_TEXT = re.compile(
    r"(?:~|null|Null|NULL|true|True|TRUE|false|False|FALSE)?"
    r"|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_UNPLAIN = re.compile(
    "^[\\s\"'&*!|>%@`#\\[\\]{},]|^[?:-](?:\\s|\\Z)|:(?:\\s|\\Z)|\\s#|\\s\\Z|[\x00-\x08\x0b-\x1f\x7f-\x9f]|\n"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_ESCAPES = {
    "\0": "\\0",
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    "\x1b": "\\e",
    "\x85": "\\N",
    "\xa0": "\\_",
    "\u2028": "\\L",
    "\u2029": "\\P",
    '"': '\\"',
    "\\": "\\\\",
}


def _escape(match: re.Match[str]) -> str:
    mark = match.group()
    if mark in _ESCAPES:
        return _ESCAPES[mark]
    return f"\\x{ord(mark):02x}" if ord(mark) < 0x100 else f"\\u{ord(mark):04x}"


_TO_ESCAPE = re.compile('[\x00-\x1f"\\\\\x7f-\x9f\ud800-\udfff]')


def _quoted(text: str) -> str:
    if '"' in text and "'" not in text and not _CONTROL.search(text) and "\t" not in text and "\n" not in text:
        return "'" + text + "'"
    return '"' + _TO_ESCAPE.sub(_escape, text) + '"'


def _fold(text: str, indent: int, start: int) -> str:
    """``text`` broken at single blanks so that lines stay within the width where they can."""
    step = max(1 + _LEAST_CONTENT, 1 + _WIDTH - indent)
    if len(text) <= step:
        return text
    end = _WIDTH - start if start <= _WIDTH - _LEAST_CONTENT else 0
    folds: list[int] = []
    split = 0
    for at, mark in enumerate(text):
        if mark == " " and 0 < at < len(text) - 1 and text[at - 1] not in " \t" and text[at + 1] not in " \t":
            split = at
        if at >= end and split:
            folds.append(split)
            end = split + step
            split = 0
    for at in reversed(folds):
        text = text[:at] + "\n" + " " * indent + text[at + 1 :]
    return text


def _block(text: str, indent: int) -> str:
    """A literal block; its lines stand at ``indent``."""
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    chomp = "-" if not ends else "" if ends == 1 and body.strip() else "+"
    first = next((line for line in text.split("\n") if line), "")
    hint = ("2" if indent else "1") if first.startswith(" ") and body.strip() else ""
    lines = text.split("\n")
    if ends:
        lines.pop()
    margin = " " * indent
    shown = [margin + line if line or position == 0 else line for position, line in enumerate(lines)]
    return f"|{hint}{chomp}\n" + "\n".join(shown)


def _key(text: str) -> str:
    if _NOT_TEXT.fullmatch(text) or _UNPLAIN.search(text):
        return _quoted(text)
    return text


def _text(text: str, indent: int, start: int) -> str:
    if "\n" in text and not _CONTROL.search(text) and text.strip(" \t") != "":
        return _block(text, indent)
    plain = not _NOT_TEXT.fullmatch(text) and not _UNPLAIN.search(text)
    return _fold(text if plain else _quoted(text), indent, start)


def _scalar(value: Any, indent: int, start: int) -> str:
    if isinstance(value, str):
        return _text(value, indent, start)
    if value is None or value is UNDEFINED:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return js_number_text(value)


def _lines(value: Any, indent: int) -> list[str]:
    """The entries of a collection that is not empty, the first without its indentation."""
    margin = " " * indent
    entries: list[str] = []
    if isinstance(value, dict):
        for key in js_key_order(value.keys()):
            name = _key(key) + ":"
            entries.append(name + _after(value[key], indent, len(name)))
    else:
        for item in value:
            inner = indent + len(_INDENT)
            if isinstance(item, dict | list) and item:
                entries.append("- " + "\n".join(_lines(item, inner)))
            elif isinstance(item, dict | list):
                entries.append("- " + ("{}" if isinstance(item, dict) else "[]"))
            else:
                entries.append("- " + _scalar(item, inner, inner))
    return [entry if position == 0 else margin + entry for position, entry in enumerate(entries)]


def _after(item: Any, indent: int, width: int) -> str:
    """What stands after ``key:``."""
    inner = indent + len(_INDENT)
    if isinstance(item, dict | list):
        if not item:
            return " {}" if isinstance(item, dict) else " []"
        return "\n" + " " * inner + "\n".join(_lines(item, inner))
    return " " + _scalar(item, inner, indent + width + 1)


def yaml_text(value: Any) -> str:
    """``value`` as YAML without the line break at the end."""
    if isinstance(value, dict | list):
        return "\n".join(_lines(value, 0)) if value else ("{}" if isinstance(value, dict) else "[]")
    return _scalar(value, 0, 0).rstrip("\n")
