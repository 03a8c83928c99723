"""The host's variable macros ``{{get_<scope>_variable::path}}`` and ``{{format_<scope>_variable::path}}``.

Rules: spec/magvarupdate.md §17. ``expand`` replaces them in a text; the caller says what each scope holds.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from interpreter.javascript import UNDEFINED, js_json_text, utf16_length
from runtime.mvu.commands.magvarupdate import paths
from runtime.mvu.yaml_writing import yaml_text

Scope = Literal["message", "chat", "character", "preset", "global"]
SCOPES: tuple[Scope, ...] = ("message", "chat", "character", "preset", "global")
"""The scopes that a macro can name."""

_MACRO = re.compile(r"\{\{(get|format)_(message|chat|character|preset|global)_variable::((?:(?!\{\{|\}\})[^\n])*)\}\}")


def without_hidden(value: Any) -> Any:
    """``value`` without the keys that start with ``$``, at every depth."""
    if isinstance(value, dict):
        return {key: without_hidden(item) for key, item in value.items() if not key.startswith("$")}
    if isinstance(value, list):
        return [without_hidden(item) for item in value]
    return value


def value_at(table: Any, path: str) -> Any:
    """What a macro's path names in a variable table, hidden keys taken out; None when nothing stands there."""
    text = html.unescape(path)
    found = paths.get(table, paths.keys_of(text, table))
    return None if found is UNDEFINED else without_hidden(found)


def _shown(kind: str, value: Any, indent: int) -> str:
    if kind == "get":
        return value if isinstance(value, str) else js_json_text(value)
    text = value if isinstance(value, str) else yaml_text(value).rstrip()
    return text.replace("\n", "\n" + " " * indent)


def _expand_line(line: str, lookup: Callable[[Scope], Any]) -> str:
    parts: list[str] = []
    length = at = 0
    for macro in _MACRO.finditer(line):
        before = line[at : macro.start()]
        length += utf16_length(before)
        kind, scope, path = macro.groups()
        text = _shown(kind, value_at(lookup(cast(Scope, scope)), path), length)
        parts += [before, text]
        length += utf16_length(text)
        at = macro.end()
    parts.append(line[at:])
    return "".join(parts)


def expand(text: str, lookup: Callable[[Scope], Any]) -> str:
    """``text`` with every variable macro replaced; ``lookup`` gives the variable table of a scope.

    The lines of a formatted value are indented by the length of what precedes the macro on its line of the text, with
    the macros before it already replaced.
    """
    if "_variable::" not in text:
        return text
    return "\n".join(_expand_line(line, lookup) for line in text.split("\n"))


def message_table(floors: Sequence[Mapping[str, Any]], message_id: int | None = None) -> Any:
    """The variable table of a message floor's chosen swipe: the given floor, or the last one that has a table."""
    if message_id is not None:
        return _table(floors[message_id]) if -len(floors) <= message_id < len(floors) else None
    for floor in reversed(floors):
        table = _table(floor)
        if table is not None:
            return table
    return None


def _table(floor: Mapping[str, Any]) -> Any:
    variables = floor.get("variables")
    swipe = floor.get("swipe_id", 0)
    if not isinstance(variables, list) or not isinstance(swipe, int) or not 0 <= swipe < len(variables):
        return None
    return variables[swipe]
