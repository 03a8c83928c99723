"""YAML 1.2 core as the upstream's reader takes it: aliases and, for InitVar, merge keys and repeated keys.

The events of libyaml are turned into values with an explicit stack; aliases share what they name, and what a text
unfolds to is bounded (spec/magvarupdate.md §3.5, §12).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from interpreter.javascript import js_number, js_number_text
from runtime.mvu.commands.magvarupdate.limits import READ_DEPTH, YAML_NODES
from runtime.mvu.commands.magvarupdate.values import is_number, json_text

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_RADIX = re.compile(r"0o[0-7]{1,400}|0x[0-9a-fA-F]{1,300}")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{"-" + word: -math.inf for word in (".inf", ".Inf", ".INF")},
}
_SIMPLE = re.compile(r"[^\W0-9_][\w ]*\w|[^\W0-9_]")
_SINGLE = re.compile(r"'((?:[^'\n\r\u2028\u2029\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]|'')*)'")


class YamlFault(ValueError):
    """A text that is no YAML of this kind."""


def plain_value(text: str) -> Any:
    """The value of a plain scalar under the 1.2 core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return js_number(int(text)) if len(text) < 17 else js_number(float(text))
    if _FLOAT.fullmatch(text):
        return js_number(float(text))
    if _RADIX.fullmatch(text):
        return js_number(int(text[2:], 8 if text[1] == "o" else 16))
    return text


@dataclass
class _Frame:
    """An open collection; ``key`` waits for its value."""

    value: Any
    nodes: int = 1
    key: str | None = None
    anchor: str | None = None
    merges: list[dict[str, Any]] = field(default_factory=list)


class _Builder:
    def __init__(self, *, initial: bool) -> None:
        self.initial = initial
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.result: Any = None
        self.merging = False

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self.stack) >= READ_DEPTH.default:
                raise YamlFault(f"expected at most {READ_DEPTH.default} levels of nesting in YAML")
            container: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            self.stack.append(_Frame(container, anchor=event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise YamlFault(f"the alias *{str(event.anchor)[:40]} names nothing that stands before it")
            self._put(*self.anchors[event.anchor])

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            raise YamlFault(f"expected a value without a tag, found {str(event.tag)[:60]}")
        plain = event.implicit[0] and event.tag is None
        value = plain_value(event.value) if plain else event.value
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        if plain and event.value == "<<" and self.initial and self._awaits_key():
            self.stack[-1].key = "<<"
            self.merging = True
            return
        self._put(value, 1)

    def _awaits_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

    def _close(self) -> None:
        frame = self.stack.pop()
        for source in frame.merges:
            for key, value in source.items():
                frame.value.setdefault(key, value)
        if frame.anchor:
            self.anchors[frame.anchor] = (frame.value, frame.nodes)
        self._put(frame.value, frame.nodes)

    def _put(self, value: Any, nodes: int) -> None:
        if not self.stack:
            self.result = value
            return
        frame = self.stack[-1]
        frame.nodes += nodes
        if frame.nodes > YAML_NODES.default:
            raise YamlFault(f"expected at most {YAML_NODES.default} values in YAML")
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is None:
            frame.key = self._key(value, frame.value)
        else:
            if frame.key == "<<" and self.merging:
                self._merge(frame, value)
            else:
                frame.value[frame.key] = value
            frame.key = None

    def _key(self, value: Any, members: dict[str, Any]) -> str:
        key = "" if value is None else js_number_text(value) if is_number(value) else value
        text = key if isinstance(key, str) else flow_text(key)
        if text in members and not self.initial:
            raise YamlFault(f"expected each key once, found {text[:40]!r} again")
        return text

    def _merge(self, frame: _Frame, value: Any) -> None:
        self.merging = False
        for source in value if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise YamlFault("expected a mapping or a list of mappings after '<<'")
            frame.merges.append(source)


def flow_text(value: Any) -> str:
    """A collection that stands as a key, as its reader spells it: ``{ user }``, ``[ a, b ]``."""
    if isinstance(value, dict):
        members = [key if item is None else f"{key}: {flow_text(item)}" for key, item in value.items()]
        return f"{{ {', '.join(members)} }}" if members else "{}"
    if isinstance(value, list):
        return f"[ {', '.join(map(flow_text, value))} ]" if value else "[]"
    return value if isinstance(value, str) else json_text(value)


def read_yaml(text: str, *, initial: bool = False) -> Any:
    """The value of a YAML text; raises ``YamlFault``.

    ``initial`` is the reading of InitVar and patch blocks: only the first document counts, later repeated keys win,
    ``<<`` merges. Without it the text must be one document with each key once.
    """
    if text.strip() == "...":
        return None
    quick = _quick(text)
    if quick is not None:
        return quick
    builder = _Builder(initial=initial)
    documents = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                if initial:
                    break
                raise YamlFault("expected one YAML document, found another")
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise YamlFault(f"expected YAML, {error.problem or 'it cannot be read'}{where}") from error
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise YamlFault("expected YAML, found a character that it does not allow") from error
    return builder.result


def _quick(text: str) -> str | None:
    """The commonest texts without the reader: a single-quoted line, plain words."""
    single = _SINGLE.fullmatch(text)
    if single:
        return single.group(1).replace("''", "'")
    if _SIMPLE.fullmatch(text) and text not in _WORDS:
        return text
    return None
