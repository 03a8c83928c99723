"""The message-variable macro of activated world-book entries (spec/mvu.md §10).

``{{format_message_variable::stat_data}}`` becomes the YAML of ``stat_data``. It is put in after every other macro
pass, so braces inside values stay what they are.
"""

from __future__ import annotations

import re
from typing import Any

from interpreter.javascript import utf16_length
from runtime.mvu.yaml_writing import yaml_text

_MACRO = re.compile(r"\{\{[^\S\r\n]*format_message_variable[^\S\r\n]*::[^\S\r\n]*stat_data[^\S\r\n]*\}\}")


def references(text: str) -> bool:
    """Whether an entry asks for the variables at all; entries that do not never touch them."""
    return "format_message_variable" in text and _MACRO.search(text) is not None


def visible(value: Any) -> Any:
    """``value`` without every object key that starts with ``$``, at all levels."""
    if isinstance(value, dict):
        return {key: visible(item) for key, item in value.items() if not key.startswith("$")}
    if isinstance(value, list):
        return [visible(item) for item in value]
    return value


def render(stat_data: Any) -> str:
    """The YAML that a macro shows: literal blocks for texts of several lines, no blanks at the end."""
    return yaml_text(visible(stat_data)).rstrip()


def expand(text: str, stat_data: Any) -> str:
    """``text`` with the macro replaced; further lines are indented by what stands before the macro on its line."""
    if not references(text):
        return text
    value = render(stat_data)
    return "\n".join(_expand_line(line, value) for line in text.split("\n"))


def _expand_line(line: str, value: str) -> str:
    def put(match: re.Match[str]) -> str:
        margin = " " * utf16_length(line[: match.start()])
        return value.replace("\n", "\n" + margin)

    return _MACRO.sub(put, line)
