"""YAML 1.2 (core schema) to JSON values, with the line and column of every node.

Built from the parser's events with a stack of our own, so nesting never meets Python's recursion limit, and so that
aliases, tags, duplicate keys and values that JSON cannot hold are refused where they stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from runtime.world.limits import PACK_FILE_CHARS, YAML_DEPTH
from runtime.world.pack.findings import Path

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")
_TRUE = re.compile(r"(?:true|True|TRUE)\Z")
_FALSE = re.compile(r"(?:false|False|FALSE)\Z")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_JSON = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_DIGITS = 400


class YamlError(Exception):
    """A text that is no acceptable YAML; ``line`` and ``column`` are one-based."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


@dataclass(slots=True)
class YamlText:
    """A parsed text: its value (``None`` for an empty text) and what is known about each node."""

    value: Any = None
    empty: bool = True
    positions: dict[Path, tuple[int, int]] = field(default_factory=dict)
    styles: dict[Path, str] = field(default_factory=dict)
    plain_numbers: set[Path] = field(default_factory=set)


@dataclass(slots=True)
class _Frame:
    """An open container; ``key`` is a pending key of a mapping."""

    value: Any
    path: Path
    key: str | None = None


def parse_yaml(text: str) -> YamlText:
    """Read one document; raises ``YamlError`` with the place of the first fault."""
    if len(text) > PACK_FILE_CHARS.default:
        raise YamlError(f"expected at most {PACK_FILE_CHARS.default} characters, found {len(text)}", 1, 1)
    result = YamlText()
    frames: list[_Frame] = []
    documents = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _at(event, "expected one document, found a second one")
            else:
                _take(event, frames, result)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise YamlError("expected text, found half of a surrogate pair", line, 1) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise YamlError(problem, (mark.line if mark else 0) + 1, (mark.column if mark else 0) + 1) from None
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise YamlError(f"expected printable text: {str(error).splitlines()[0]}", line, 1) from None
    return result


def _at(event: Any, message: str) -> YamlError:
    return YamlError(message, event.start_mark.line + 1, event.start_mark.column + 1)


def _take(event: Any, frames: list[_Frame], result: YamlText) -> None:
    if isinstance(event, yaml.AliasEvent):
        raise _at(event, "expected a value, found an alias; write the value again")
    if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
        frames.pop()
        return
    if isinstance(event, yaml.ScalarEvent):
        frame = frames[-1] if frames else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            _take_key(event, frame)
            return
        path = _next_path(frames)
        value, number = _scalar(event)
        if number:
            result.plain_numbers.add(path)
        result.styles[path] = event.style or ""
        _place(event, path, value, frames, result)
        return
    if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
        _open(event, frames, result)


def _open(event: Any, frames: list[_Frame], result: YamlText) -> None:
    if event.tag not in (None, "!") or event.anchor is not None:
        raise _at(event, "expected plain data, found a tag or an anchor")
    if frames and isinstance(frames[-1].value, dict) and frames[-1].key is None:
        raise _at(event, "expected a text as key, found a container")
    if len(frames) >= YAML_DEPTH.default:
        raise _at(event, f"expected at most {YAML_DEPTH.default} nested containers ({YAML_DEPTH.name})")
    value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
    path = _next_path(frames)
    _place(event, path, value, frames, result)
    frames.append(_Frame(value, path))


def _next_path(frames: list[_Frame]) -> Path:
    if not frames:
        return ()
    frame = frames[-1]
    return (*frame.path, len(frame.value) if isinstance(frame.value, list) else str(frame.key))


def _place(event: Any, path: Path, value: Any, frames: list[_Frame], result: YamlText) -> None:
    result.positions[path] = (event.start_mark.line + 1, event.start_mark.column + 1)
    if not frames:
        result.value, result.empty = value, value is None and not event.value
    elif isinstance(frames[-1].value, list):
        frames[-1].value.append(value)
    else:
        frame = frames[-1]
        frame.value[frame.key] = value
        frame.key = None


def _take_key(event: Any, frame: _Frame) -> None:
    _refuse_tags(event)
    key = event.value
    if key in frame.value:
        raise _at(event, f"expected each key once, found {key!r} again")
    frame.key = key


def _refuse_tags(event: Any) -> None:
    if event.anchor is not None or event.tag not in (None, "!"):
        raise _at(event, "expected plain data, found a tag or an anchor")


def _scalar(event: Any) -> tuple[Any, bool]:
    """The value of a scalar by the 1.2 core schema, and whether it is a number with a written sign."""
    _refuse_tags(event)
    text = event.value
    if (event.style is not None and event.style != "") or not event.implicit[0]:
        return text, False
    if _NULL.match(text):
        return None, False
    if _TRUE.match(text) or _FALSE.match(text):
        return text[0] in "tT", False
    if len(text) > _DIGITS:
        return text, False
    if _INTEGER.match(text):
        return int(text), text[0] in "+-"
    if _OCTAL.match(text) or _HEX.match(text):
        return int(text, 0), False
    if _FLOAT.match(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise _at(event, f"expected a number of ordinary size, found {text}")
        return (int(number) if number == int(number) and abs(number) <= 2**53 else number), text[0] in "+-"
    if _NOT_JSON.match(text):
        raise _at(event, f"expected a JSON value, found {text}")
    return text, False
