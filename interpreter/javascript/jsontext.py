"""JSON.stringify, JSON.parse and the key order of JavaScript objects (design §5)."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, KeysView
from json.encoder import encode_basestring
from typing import Any

from interpreter.javascript.numbers import Number, js_number, js_number_text
from interpreter.javascript.values import UNDEFINED

_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_LAST_INDEX = 2**32 - 2
_LONE = re.compile("[\ud800-\udfff]")


def js_key_order(keys: Iterable[str]) -> list[str] | KeysView[str]:
    """Keys as JavaScript enumerates them: array indices ascending, then the others in insertion order.

    Given ``dict.keys()`` without any index key, the view itself comes back, so that the usual case copies nothing.
    """
    listed = keys if isinstance(keys, KeysView) else list(keys)
    for key in listed:
        if "0" <= key[:1] <= "9":
            break
    else:
        return listed
    indices = [key for key in listed if _INDEX.fullmatch(key) and int(key) <= _LAST_INDEX]
    if not indices:
        return listed
    known = set(indices)
    return sorted(indices, key=int) + [key for key in listed if key not in known]


def _quoted(text: str) -> str:
    quoted = encode_basestring(text)
    if not text.isascii() and _LONE.search(quoted):
        return _LONE.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)
    return quoted


def _scalar(value: object) -> str | None:
    """The text of a scalar, None for a container or an opaque value."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return js_number_text(value) if not isinstance(value, float) or math.isfinite(value) else "null"
    return None


def js_json_text(value: object, indent: str = "", other: Callable[[object], object] | None = None) -> str:
    """``JSON.stringify(value, null, indent)``: compact by default; -0 is 0, NaN and infinities are null.

    Undefined members are left out (null in arrays). ``other`` turns an opaque value into a scalar, container or
    :data:`UNDEFINED`; without it such a value raises TypeError, as does ``undefined`` itself and a cycle.
    """
    writer = _Writer(indent, other)
    return writer.text(value)


class _Writer:
    """Writes with a stack of its own, so that no depth of data reaches Python's recursion limit."""

    def __init__(self, indent: str, other: Callable[[object], object] | None) -> None:
        self.indent = indent
        self.other = other
        self.parts: list[str] = []
        self.open: set[int] = set()

    def _resolve(self, value: object) -> object:
        if value is UNDEFINED or isinstance(value, (dict, list)):
            return value
        if self.other is None:
            raise TypeError(f"no JSON text for a value of type {type(value).__name__}")
        return self.other(value)

    def text(self, value: object) -> str:
        scalar = _scalar(value)
        if scalar is not None:
            return scalar
        value = self._resolve(value)
        scalar = _scalar(value)
        if scalar is not None:
            return scalar
        if value is UNDEFINED:
            raise TypeError("undefined has no JSON text")
        stack = [self._enter(value)]
        while stack:
            for scalar, child in stack[-1]:
                if scalar is not None:
                    self.parts.append(scalar)
                else:
                    stack.append(self._enter(child))
                    break
            else:
                stack.pop()
        return "".join(self.parts)

    def _enter(self, value: object) -> Iterator[tuple[str | None, object]]:
        if id(value) in self.open:
            raise TypeError("a cycle has no JSON text")
        self.open.add(id(value))
        depth = len(self.open)
        if isinstance(value, dict):
            return self._object(value, depth)
        assert isinstance(value, list)
        return self._array(value, depth)

    def _gap(self, depth: int) -> str:
        return "\n" + self.indent * depth if self.indent else ""

    def _array(self, array: list[Any], depth: int) -> Iterator[tuple[str | None, object]]:
        before = "[" + self._gap(depth)
        for item in array:
            scalar = _scalar(item)
            child: object = UNDEFINED
            if scalar is None:
                child = self._resolve(item)
                scalar = "null" if child is UNDEFINED else _scalar(child)
            self.parts.append(before)
            yield scalar, child
            before = "," + self._gap(depth)
        self.parts.append(self._gap(depth - 1) + "]" if array else "[]")
        self.open.discard(id(array))

    def _object(self, members: dict[str, Any], depth: int) -> Iterator[tuple[str | None, object]]:
        before, colon = "{" + self._gap(depth), ": " if self.indent else ":"
        empty = True
        for key in js_key_order(members.keys()):
            item = members[key]
            scalar = _scalar(item)
            child: object = UNDEFINED
            if scalar is None:
                child = self._resolve(item)
                if child is UNDEFINED:
                    continue
                scalar = _scalar(child)
            self.parts.append(before + _quoted(key) + colon)
            yield scalar, child
            before, empty = "," + self._gap(depth), False
        self.parts.append("{}" if empty else self._gap(depth - 1) + "}")
        self.open.discard(id(members))


# --- parse -------------------------------------------------------------------------------------------------------

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")


def _integer(text: str) -> Number:
    # int() refuses texts above 4,300 digits, and "-0" is a number of its own.
    return js_number(int(text)) if len(text) < 17 and text != "-0" else js_number(float(text))


def _refuse_constant(text: str) -> Number:
    raise ValueError(f"{text} is not JSON")


def _ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return {key: members[key] for key in js_key_order(members.keys())}


_DECODER = json.JSONDecoder(
    parse_int=_integer,
    parse_float=lambda text: js_number(float(text)),
    parse_constant=_refuse_constant,
    object_pairs_hook=_ordered,
)


def parse_json(text: str, max_depth: int = 512) -> Any:
    """``JSON.parse(text)``: ValueError for text outside JSON or deeper than ``max_depth``; later duplicates win.

    Objects come back with their keys in the order in which JavaScript enumerates them.
    """
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub('""', text)):
        depth += 1 if bracket in "[{" else -1
        if depth > max_depth:
            raise ValueError(f"expected JSON of at most {max_depth} levels, found more")
    return _DECODER.decode(text)
