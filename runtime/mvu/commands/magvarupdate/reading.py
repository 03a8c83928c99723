"""The order in which a value argument is read (spec/magvarupdate.md §3, the newest recorded behaviour).

Words, JSON, JSON5 for what stands in brackets (never code), single-quoted YAML, mathematics, YAML, bare text.
"""

from __future__ import annotations

import re
from typing import Any

from interpreter.javascript import UNDEFINED, js_number, js_trim, parse_json
from runtime.mvu.commands.magvarupdate.limits import READ_DEPTH
from runtime.mvu.commands.magvarupdate.mathematics import EMPTY, NO_VALUE, evaluate
from runtime.mvu.commands.magvarupdate.text import Json5Fault, read_json5
from runtime.mvu.commands.magvarupdate.values import trim_ends
from runtime.mvu.commands.magvarupdate.yaml_text import YamlFault, read_yaml

_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "undefined": UNDEFINED}
# A short number, or a quoted text without anything to unescape: every reading gives the same for them.
_SIMPLE = re.compile(
    "([+-]?[0-9]{1,6}(?:\\.[0-9]{1,6})?)|\"([^\"\\\\\x00-\x1f]*)\"|'([^'\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff-\uffff]*)'"
)
_JSON_STARTS = frozenset('"{[-0123456789')


def _json(text: str) -> Any:
    if text[:1] not in _JSON_STARTS:
        return NO_VALUE
    try:
        return parse_json(text, READ_DEPTH.default)
    except ValueError:
        return NO_VALUE


def _json5(text: str) -> Any:
    if not ((text[:1] == "{" and text[-1:] == "}") or (text[:1] == "[" and text[-1:] == "]")):
        return NO_VALUE
    try:
        return read_json5(text)
    except Json5Fault:
        return NO_VALUE


def _yaml(text: str) -> Any:
    try:
        return read_yaml(text)
    except YamlFault:
        return NO_VALUE


def _quoted_yaml(text: str) -> Any:
    return _yaml(text) if text[:1] == "'" and text[-1:] == "'" else NO_VALUE


def read_value(argument: Any, *, mathematics: bool = True) -> Any:
    """The value of one argument; what is no text passes through, and every text has a value.

    ``mathematics`` is off under the Zod companion (spec/magvarupdate.md §18).
    """
    if not isinstance(argument, str):
        return argument
    text = js_trim(argument)
    if text in _WORDS:
        return _WORDS[text]
    simple = _SIMPLE.fullmatch(text)
    if simple is not None:
        number = simple.group(1)
        if number is None:
            return simple.group(2) if text[0] == '"' else simple.group(3)
        value = float(number) if "." in number else int(number)
        if value:
            return js_number(value)
    for reader in (_json, _json5, _quoted_yaml):
        value = reader(text)
        if value is not NO_VALUE:
            return value
    if mathematics:
        value = evaluate(text)
        if value is EMPTY:
            return text
        if value is not NO_VALUE:
            return value
    value = _yaml(text)
    return trim_ends(text) if value is NO_VALUE else value
