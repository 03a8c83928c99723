"""YAML 1.2 core schema, for untrusted text: one document, no tags, no aliases, no duplicate keys (spec/mvu.md §4.2).

The events of libyaml are read one by one and the value is built from them with an explicit stack, so that depth is
bounded before anything nests. Keys become text as JavaScript would print them.
"""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from interpreter.javascript import js_number_text
from runtime.values.limits import DEPTH, TEXT
from runtime.values.numbers import normal_number
from runtime.values.rows import InnkeeperError

_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_NUMERIC_START = frozenset("0123456789+-.")


class YamlError(InnkeeperError):
    """A text that is no acceptable YAML; ``details`` hold ``line`` and ``column``, counted from 1."""


def _refuse(mark: Any, message: str) -> NoReturn:
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    raise YamlError("MVU_PARSE", f"{message} at line {line}, column {column}", {"line": line, "column": column})


def resolve_plain(text: str) -> Any:
    """The value of a plain scalar under the 1.2 core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    if _INT.fullmatch(text):
        return normal_number(int(text)) if len(text) < 400 else normal_number(float(text))
    if _FLOAT.fullmatch(text):
        return normal_number(float(text))
    if _OCTAL.fullmatch(text):
        return normal_number(int(text[2:], 8)) if len(text) < 400 else math.inf
    if _HEX.fullmatch(text):
        return normal_number(int(text[2:], 16)) if len(text) < 300 else math.inf
    infinite = _INFINITE.fullmatch(text)
    if infinite:
        return -math.inf if infinite.group(1) == "-" else math.inf
    return text


def _key_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return js_number_text(value)


class _Builder:
    """Builds one value out of the events of one document."""

    def __init__(self) -> None:
        self.result: Any = None
        self.documents = 0
        # one frame per open collection: container, pending key (None: a key is awaited), whether it is a mapping
        self.stack: list[list[Any]] = []

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is ScalarEvent:
            self._scalar(event)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            self._open(event, {} if kind is MappingStartEvent else [])
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            self.stack.pop()
        elif kind is AliasEvent:
            _refuse(event.start_mark, f"expected a value written out, found the alias *{event.anchor[:40]}")
        elif kind is DocumentStartEvent:
            self._document(event)

    def _document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            _refuse(event.start_mark, "expected one YAML document, found another")
        if event.tags:
            _refuse(event.start_mark, "expected YAML without tags, found a %TAG directive")
        if event.version is not None and tuple(event.version) != (1, 2):
            _refuse(event.start_mark, "expected YAML 1.2, found a %YAML directive of another version")

    def _scalar(self, event: Any) -> None:
        if event.tag is not None:
            _refuse(event.start_mark, f"expected a value without a tag, found the tag {event.tag[:60]}")
        # ``implicit[0]`` is true for plain scalars only
        value = resolve_plain(event.value) if event.implicit[0] else event.value
        self._put(value, event)

    def _open(self, event: Any, container: Any) -> None:
        if event.tag is not None:
            _refuse(event.start_mark, f"expected a value without a tag, found the tag {event.tag[:60]}")
        if len(self.stack) > DEPTH.default:
            raise InnkeeperError(
                "MVU_LIMIT",
                f"expected at most {DEPTH.default} levels of nesting in YAML, found more at line "
                f"{event.start_mark.line + 1}, column {event.start_mark.column + 1}",
                {"limit": DEPTH.default},
            )
        if self.stack and self.stack[-1][2] and self.stack[-1][1] is None:
            _refuse(event.start_mark, "expected text as a key, found a list or mapping")
        self._put(container, event)
        self.stack.append([container, None, type(container) is dict])

    def _put(self, value: Any, event: Any) -> None:
        if not self.stack:
            self.result = value
            return
        frame = self.stack[-1]
        container = frame[0]
        if not frame[2]:
            container.append(value)
        elif frame[1] is None:
            key = _key_text(value)
            if key in container:
                _refuse(event.start_mark, f"expected every key once, found {key[:80]!r} again")
            frame[1] = key
        else:
            container[frame[1]] = value
            frame[1] = None


def load(text: str) -> Any:
    """The value of a YAML text; raises ``YamlError`` (``MVU_PARSE``) with line and column, or ``MVU_LIMIT``.

    Infinities and NaN are returned as read: the bounds check that follows refuses them.
    """
    if len(text) > TEXT.default:
        raise InnkeeperError("MVU_LIMIT", f"expected a text of at most {TEXT.default} characters, found {len(text)}")
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise YamlError("MVU_PARSE", f"expected YAML, found a lone surrogate at line {line}", {"line": line}) from error
    builder = _Builder()
    parser = yaml.CSafeLoader(raw)
    try:
        while True:
            event = parser.get_event()
            if event is None or type(event) is StreamEndEvent:
                break
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        _refuse(error.problem_mark or error.context_mark, f"expected YAML: {error.problem or error.context}")
    except yaml.YAMLError as error:
        raise YamlError("MVU_PARSE", f"expected YAML: {' '.join(str(error).split())[:200]}") from error
    finally:
        parser.dispose()
    return builder.result
