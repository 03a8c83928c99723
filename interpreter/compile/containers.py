"""Exact parsers of objects, records, arrays, tuples, maps and sets (spec/zod.md §9, rules 4, 14-20)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.compile.exact import ExactCompiler, Parse
from interpreter.compile.payload import Payload, RawIssue, finalize_all, invalid_type, prefix
from interpreter.declare import nodes as n
from interpreter.declare.traits import optional_in, optional_out, values
from interpreter.evaluate.values import MapValue, SetValue
from interpreter.javascript import UNDEFINED, js_key_order

_NUMERIC = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def _property(payload: Payload, part: Payload, key: str, present: bool, maybe_in: bool, maybe_out: bool) -> None:
    """Take over the result of one key (Zod's rules about absent keys)."""
    if part.issues:
        if maybe_in and maybe_out and not present:
            return
        payload.issues.extend(prefix(part.issues, key))
    if not present and not maybe_in:
        if not part.issues:
            payload.issues.append(RawIssue("invalid_type", UNDEFINED, {"expected": "nonoptional"}, path=[key]))
        return
    if part.value is not UNDEFINED or present:
        payload.value[key] = part.value


def _object(compiler: ExactCompiler, node: n.ObjectNode) -> Parse:
    fields = [
        (key, compiler.compile(field), optional_in(field), optional_out(field)) for key, field in node.shape.items()
    ]
    catchall = node.catchall
    rest = _catchall(compiler, node, catchall) if catchall is not None else None
    error = node.error

    def parse(payload: Payload, run: Run) -> None:
        source = payload.value
        if not isinstance(source, dict):
            invalid_type(payload, "object", error)
            return
        made = payload.value = {}
        for key, inner, maybe_in, maybe_out in fields:
            value = source.get(key, UNDEFINED)
            part = Payload(value)
            inner(part, run)
            present = value is not UNDEFINED or key in source
            if not part.issues and present:
                made[key] = part.value
                if part.value is UNDEFINED:
                    run.unclean = True
            else:
                _property(payload, part, key, present, maybe_in, maybe_out)
        if rest is not None:
            rest(payload, source, run)
        made.pop("__proto__", None)
        reorder(payload, made)

    return parse


def reorder(payload: Payload, made: dict[str, Any]) -> None:
    """Put array-index keys first, as a JavaScript object keeps them."""
    ordered = js_key_order(made.keys())
    if isinstance(ordered, list):
        payload.value = {key: made[key] for key in ordered}


def _catchall(
    compiler: ExactCompiler, node: n.ObjectNode, catchall: n.Node
) -> Callable[[Payload, Mapping[str, Any], Run], None]:
    shape = node.shape
    strict = isinstance(catchall, n.SimpleNode) and catchall.kind == "never" and not catchall.checks
    inner = compiler.compile(catchall)
    maybe_in, maybe_out = optional_in(catchall), optional_out(catchall)

    def parse(payload: Payload, source: Mapping[str, Any], run: Run) -> None:
        unknown: list[str] = []
        for key in js_key_order(source.keys()):
            if key in shape or key == "__proto__":
                continue
            if strict:
                unknown.append(key)
                continue
            part = Payload(source[key])
            inner(part, run)
            _property(payload, part, key, True, maybe_in, maybe_out)
        if unknown:
            payload.issues.append(RawIssue("unrecognized_keys", source, {"keys": unknown}, node.error))

    return parse


def _array(compiler: ExactCompiler, node: n.ArrayNode) -> Parse:
    inner, error = compiler.compile(node.element), node.error

    def parse(payload: Payload, run: Run) -> None:
        source = payload.value
        if not isinstance(source, list):
            invalid_type(payload, "array", error)
            return
        made: list[Any] = []
        payload.value = made
        for index, item in enumerate(source):
            part = Payload(item)
            inner(part, run)
            if part.issues:
                payload.issues.extend(prefix(part.issues, index))
            if part.value is UNDEFINED:
                run.unclean = True
            made.append(part.value)

    return parse


def _start(items: list[bool]) -> int:
    """Where the optional tail of a tuple begins."""
    for index in range(len(items) - 1, -1, -1):
        if not items[index]:
            return index + 1
    return 0


def _tuple(compiler: ExactCompiler, node: n.TupleNode) -> Parse:
    items = [compiler.compile(item) for item in node.items]
    rest = compiler.compile(node.rest) if node.rest is not None else None
    in_start = _start([optional_in(item) for item in node.items])
    outs = [optional_out(item) for item in node.items]
    out_start = _start(outs)
    error = node.error

    def parse(payload: Payload, run: Run) -> None:
        source = payload.value
        if not isinstance(source, list):
            invalid_type(payload, "tuple", error)
            return
        made: list[Any] = []
        payload.value = made
        common = {"inclusive": True, "origin": "array"}
        if rest is None and len(source) < in_start:
            payload.issues.append(RawIssue("too_small", source, {"minimum": in_start, **common}, error))
            return
        if rest is None and len(source) > len(items):
            payload.issues.append(RawIssue("too_big", source, {"maximum": len(items), **common}, error))
        parts = []
        for index, inner in enumerate(items):
            part = Payload(source[index] if index < len(source) else UNDEFINED)
            inner(part, run)
            parts.append(part)
        tail: list[Any] = []
        if rest is not None:
            for index in range(len(items), len(source)):
                part = Payload(source[index])
                rest(part, run)
                payload.issues.extend(prefix(part.issues, index))
                tail.append(part.value)
        _tuple_results(payload, made, parts, len(source), out_start, outs)
        if len(made) == len(items):
            made.extend(tail)
        if any(item is UNDEFINED for item in made):
            run.unclean = True

    return parse


def _tuple_results(
    payload: Payload, made: list[Any], parts: list[Payload], length: int, out_start: int, outs: list[bool]
) -> None:
    for index, part in enumerate(parts):
        if part.issues:
            if index >= length and index >= out_start:
                break
            payload.issues.extend(prefix(part.issues, index))
        made.append(part.value)
    while len(made) > length and outs[len(made) - 1] and made[-1] is UNDEFINED:
        made.pop()


def property_text(key: Any) -> str:
    """The name of a property as JavaScript makes it from any key."""
    return key if isinstance(key, str) else js.to_text(key, str)


def _record(compiler: ExactCompiler, node: n.RecordNode) -> Parse:
    key_parse, value_parse = compiler.compile(node.key), compiler.compile(node.value)
    known = None if node.partial else values(node.key)
    error = node.error
    if known is not None:
        fill = _exhaustive(key_parse, value_parse, known, error)
    else:
        fill = _open(key_parse, value_parse, node.loose, error)

    def parse(payload: Payload, run: Run) -> None:
        source = payload.value
        if not isinstance(source, dict):
            invalid_type(payload, "record", error)
            return
        payload.value = {}
        fill(payload, source, run)
        reorder(payload, payload.value)

    return parse


Fill = Callable[[Payload, dict[str, Any], Run], None]


def _exhaustive(key_parse: Parse, value_parse: Parse, known: list[Any], error: Any) -> Fill:
    keys = [key for key in known if isinstance(key, str) or js.is_number(key)]
    names = {property_text(key) for key in keys}

    def fill(payload: Payload, source: dict[str, Any], run: Run) -> None:
        for key in keys:
            name_part = Payload(key)
            key_parse(name_part, run)
            if name_part.issues:
                _invalid_key(payload, name_part, key, error, run)
                continue
            part = Payload(source.get(property_text(key), UNDEFINED))
            value_parse(part, run)
            payload.issues.extend(prefix(part.issues, key))
            payload.value[property_text(name_part.value)] = part.value
            if part.value is UNDEFINED:
                run.unclean = True
        unknown = [key for key in js_key_order(source.keys()) if key not in names]
        if unknown:
            payload.issues.append(RawIssue("unrecognized_keys", source, {"keys": unknown}, error))

    return fill


def _invalid_key(payload: Payload, part: Payload, key: Any, error: Any, run: Run) -> None:
    fields = {"origin": "record", "issues": finalize_all(run, part.issues)}
    payload.issues.append(RawIssue("invalid_key", key, fields, error, path=[key]))


def _open(key_parse: Parse, value_parse: Parse, loose: bool, error: Any) -> Fill:
    def fill(payload: Payload, source: dict[str, Any], run: Run) -> None:
        made = payload.value
        for key in js_key_order(source.keys()):
            if key == "__proto__":
                continue
            name_part = Payload(key)
            key_parse(name_part, run)
            if name_part.issues and _NUMERIC.fullmatch(key):
                retry = Payload(js.text_to_number(key))
                key_parse(retry, run)
                if not retry.issues:
                    name_part = retry
            if name_part.issues:
                if loose:
                    made[key] = source[key]
                else:
                    _invalid_key(payload, name_part, key, error, run)
                continue
            part = Payload(source[key])
            value_parse(part, run)
            if part.issues:
                payload.issues.extend(prefix(part.issues, key))
            made[property_text(name_part.value)] = part.value
            if part.value is UNDEFINED:
                run.unclean = True

    return fill


def _set(compiler: ExactCompiler, node: n.SetNode) -> Parse:
    inner = compiler.compile(node.value)

    def parse(payload: Payload, run: Run) -> None:
        source = payload.value
        if not isinstance(source, SetValue):
            invalid_type(payload, "set", node.error)
            return
        made = payload.value = SetValue()
        for item in source:
            part = Payload(item)
            inner(part, run)
            payload.issues.extend(part.issues)
            made.add(part.value)

    return parse


def _map(compiler: ExactCompiler, node: n.MapNode) -> Parse:
    key_parse, value_parse = compiler.compile(node.key), compiler.compile(node.value)

    def take(payload: Payload, part: Payload, key: Any, code: str, run: Run) -> None:
        if not part.issues:
            return
        if isinstance(key, str) or js.is_number(key):
            payload.issues.extend(prefix(part.issues, key))
            return
        fields: dict[str, Any] = {"origin": "map", "issues": finalize_all(run, part.issues)}
        if code == "invalid_element":
            fields["key"] = key
        payload.issues.append(RawIssue(code, payload.value, fields, node.error))

    def parse(payload: Payload, run: Run) -> None:
        source = payload.value
        if not isinstance(source, MapValue):
            invalid_type(payload, "map", node.error)
            return
        made = payload.value = MapValue()
        for key, item in source.entries():
            name_part, part = Payload(key), Payload(item)
            key_parse(name_part, run)
            value_parse(part, run)
            take(payload, name_part, key, "invalid_key", run)
            take(payload, part, key, "invalid_element", run)
            made.set(name_part.value, part.value)

    return parse


CONTAINERS: dict[type, Callable[[ExactCompiler, Any], Parse]] = {
    n.ObjectNode: _object,
    n.ArrayNode: _array,
    n.TupleNode: _tuple,
    n.RecordNode: _record,
    n.SetNode: _set,
    n.MapNode: _map,
}
