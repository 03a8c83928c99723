"""The upstream's tolerant text parser: patch blocks, InitVar, ``<initvar>`` (spec/magvarupdate.md §12)."""

from __future__ import annotations

import re
from typing import Any

import pyjson5

from interpreter.javascript import js_number, js_trim
from runtime.mvu.commands.magvarupdate.flow import FlowFault, read_flow
from runtime.mvu.commands.magvarupdate.limits import READ_DEPTH
from runtime.mvu.commands.magvarupdate.repair import RepairFault, read_repaired
from runtime.mvu.commands.magvarupdate.yaml_text import YamlFault, read_yaml

_SEPARATED = re.compile(r"[0-9a-fA-F.]_|_[0-9]")
_STRINGS = re.compile(r"\"(?:[^\"\\]|\\[\s\S])*\"|'(?:[^'\\]|\\[\s\S])*'|//[^\n\r]*|/\*[\s\S]*?\*/")
_NUMBER_WITH_SEPARATOR = re.compile(r"(?<![\w$\\])[0-9][0-9a-fA-FxX.]*_")
_SURROGATE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u([dD][c-fC-F][0-9a-fA-F]{2})|[\s\S])"
)
_LAST_SAFE = 2**53 - 1


class TextError(ValueError):
    """A text that no reading of this dialect takes; the message names line and column."""


class Json5Fault(ValueError):
    """A text that is no JSON5."""


def read_json5(text: str) -> Any:
    """The value of a JSON5 text; raises ``Json5Fault``. NaN and infinities come back as they are."""
    try:
        value = pyjson5.decode(text, READ_DEPTH.default)
    except pyjson5.Json5IllegalCharacter as fault:
        mended = _SURROGATE.sub(_lone_surrogate, text) if "\\ud" in text.lower() else text
        if mended == text:
            raise Json5Fault(str(fault.args[0])) from fault
        return read_json5(mended)
    except pyjson5.Json5DecoderException as fault:
        raise Json5Fault(str(fault.args[0])) from fault
    if "_" in text and _SEPARATED.search(text) and _NUMBER_WITH_SEPARATOR.search(_STRINGS.sub('""', text)):
        raise Json5Fault("a number with '_' is no JSON5")
    return _as_doubles(value)


def _lone_surrogate(match: re.Match[str]) -> str:
    high, pair, low = match.groups()
    if high and not pair:
        return chr(int(high, 16))
    return chr(int(low, 16)) if low else match.group()


def _as_doubles(root: Any) -> Any:
    """Numbers as JavaScript keeps them; the tree is fresh, so it is changed in place."""
    stack: list[Any] = [[root]]
    top = stack[0]
    while stack:
        container = stack.pop()
        for key, item in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(item, dict | list):
                stack.append(item)
            elif isinstance(item, float) or (type(item) is int and not -_LAST_SAFE <= item <= _LAST_SAFE):
                container[key] = _double(item)
    return top[0]


def _double(item: int | float) -> int | float:
    try:
        return js_number(float(item))
    except OverflowError:
        return float("inf") if item > 0 else float("-inf")


def parse_text(text: str) -> Any:
    """The value of a text in JSON5, broken JSON or YAML; raises ``TextError``.

    A text that opens with a bracket is JSON5, else mended JSON, else flow YAML; any other is YAML, else JSON5.
    """
    return read_text(text)[0]


def read_text(text: str) -> tuple[Any, bool]:
    """``parse_text``, and whether the text had to be mended."""
    text = js_trim(text)
    if text[:1] in ("[", "{") and text:
        faults: list[str] = []
        for reader in (read_json5, read_repaired, _flow_or_yaml):
            try:
                return reader(text), reader is not read_json5
            except (Json5Fault, RepairFault, YamlFault, FlowFault) as fault:
                faults.append(str(fault))
        raise TextError(faults[1])
    try:
        return read_yaml(text, initial=True), False
    except YamlFault as fault:
        try:
            return read_json5(text), False
        except Json5Fault:
            raise TextError(str(fault)) from fault


def _flow_or_yaml(text: str) -> Any:
    try:
        return read_yaml(text, initial=True)
    except YamlFault:
        return read_flow(text)
