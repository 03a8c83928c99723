"""Fields computed from the clock: ``x-derive`` (``spec/dimensions.md`` §2)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from runtime.dimensions import limits
from runtime.dimensions.issues import Issue, Path
from runtime.dimensions.values import Json, has_type, is_finite, is_number, quoted, same

Node = dict[str, Json]
SOURCE: Final = "clock.elapsedSinceStart"
SCALARS: Final = ("string", "number", "integer", "boolean")
_NUMBERS: Final = ("start", "perUnit", "min", "max")
_MISSING: Final = object()


def _bad(path: Path, wanted: str, found: Json) -> Issue:
    return Issue(path, "bad-keyword", f"expected {wanted}, found {quoted(found)}")


def check_derive(node: Node, rule: Json) -> Iterator[Issue]:
    """Every fault of one ``x-derive``, paths relative to it (§2.1, §2.2); placement is the walk's business."""
    if not isinstance(rule, dict):
        yield _bad((), "an object with source", rule)
        return
    yield from _check_shape(rule)
    kind = node.get("type")
    if kind not in SCALARS if isinstance(kind, str) else True:
        yield Issue((), "derive-type", f"a computed field needs one scalar type, found {quoted(kind)}")
        return
    if node.get("x-i18n") is True:
        yield Issue((), "derive-i18n", "a computed value cannot be translatable")
    yield from _check_bounds(rule)
    ranges = rule.get("ranges")
    if isinstance(ranges, list):
        yield from _check_labels(node, ranges)
    elif "ranges" not in rule:
        yield from _check_linear(node, rule)


def _check_shape(rule: Node) -> Iterator[Issue]:
    for key in rule:
        if key not in ("source", "ranges", *_NUMBERS):
            yield Issue((key,), "unknown-key", f"unknown key {quoted(key)} of a computed field")
    if rule.get("source") != SOURCE:
        yield _bad(("source",), SOURCE, rule.get("source"))
    for key in _NUMBERS:
        if key in rule and not is_finite(rule[key]):
            yield _bad((key,), "a number", rule[key])
    if "ranges" not in rule:
        return
    ranges = rule["ranges"]
    if not isinstance(ranges, list) or not 1 <= len(ranges) <= limits.RANGES.default:
        yield _bad(("ranges",), f"a list of 1 to {limits.RANGES.default} ranges", ranges)
        return
    for index, entry in enumerate(ranges):
        yield from (issue.under("ranges", index) for issue in _check_range(entry))


def _check_range(entry: Json) -> Iterator[Issue]:
    if not isinstance(entry, dict):
        yield _bad((), "an object with from, to and value", entry)
        return
    for key, part in entry.items():
        if key in ("from", "to"):
            if not is_finite(part):
                yield _bad((key,), "a number", part)
        elif key != "value":
            yield Issue((key,), "unknown-key", f"unknown key {quoted(key)} of a range")
    label = entry.get("value")
    if not isinstance(label, str | bool) and not is_finite(label):
        yield _bad(("value",), "a text, a number, true or false", label)


def _check_bounds(rule: Node) -> Iterator[Issue]:
    low, high = rule.get("min"), rule.get("max")
    if is_finite(low) and is_finite(high) and low > high:
        yield Issue(("min",), "derive-bounds-order", f"min {quoted(low)} is above max {quoted(high)}")


def _check_labels(node: Node, ranges: list[Json]) -> Iterator[Issue]:
    for index, entry in enumerate(ranges):
        if not isinstance(entry, dict):
            continue
        low, high = entry.get("from"), entry.get("to")
        if is_finite(low) and is_finite(high) and low > high:
            yield Issue(
                ("ranges", index, "from"), "derive-range-order", f"from {quoted(low)} is above to {quoted(high)}"
            )
        label = entry.get("value", _MISSING)
        if label is not _MISSING and not _fits(node, label):
            yield Issue(("ranges", index, "value"), "derive-label", f"{quoted(label)} is not a value this field allows")
    if ranges and isinstance(ranges[-1], dict) and ("from" in ranges[-1] or "to" in ranges[-1]):
        yield Issue(
            ("ranges", len(ranges) - 1), "derive-last-range", "the last range takes the rest and has no from or to"
        )


def _fits(node: Node, label: Json) -> bool:
    if not has_type(label, node["type"]):
        return False
    enum = node.get("enum")
    if isinstance(enum, list) and not any(same(label, member) for member in enum):
        return False
    return "const" not in node or same(label, node["const"])


def _check_linear(node: Node, rule: Node) -> Iterator[Issue]:
    if node["type"] in ("string", "boolean"):
        yield Issue(("ranges",), "derive-needs-ranges", f"a computed {node['type']} needs ranges")
    least, most = node.get("minimum"), node.get("maximum")
    low, high = rule.get("min"), rule.get("max")
    if is_finite(least) and (not is_finite(low) or low < least):
        yield Issue(("min",), "derive-field-minimum", f"min must be present and at least the minimum {quoted(least)}")
    if is_finite(most) and (not is_finite(high) or high > most):
        yield Issue(("max",), "derive-field-maximum", f"max must be present and at most the maximum {quoted(most)}")


def compute(kind: str, rule: Node, elapsed: float) -> Json:
    """The value of one derived field at ``elapsed`` (§2.4)."""
    number = float(rule.get("start", 0)) + float(rule.get("perUnit", 1)) * float(elapsed)
    if "min" in rule:
        number = max(rule["min"], number)
    if "max" in rule:
        number = min(rule["max"], number)
    ranges = rule.get("ranges")
    if ranges is not None:
        for entry in ranges[:-1]:
            if entry.get("from", -math.inf) <= number <= entry.get("to", math.inf):
                return entry["value"]
        return ranges[-1]["value"]
    if kind == "integer" and math.isfinite(number):
        # Exact halves go towards plus infinity; floor(n + 0.5) would be wrong just below a half.
        lower = math.floor(number)
        return lower + 1 if number - lower >= 0.5 else lower
    if float(number).is_integer() and abs(number) <= limits.CLOCK_TICK.default:
        return int(number)
    return number


def derived_fields(schema: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Path and node of every derived field, walking ``properties`` only and stopping at derived nodes (§2.4)."""
    if "x-derive" in schema:
        yield (), schema
        return
    for name, child in schema.get("properties", {}).items():
        for path, node in derived_fields(child):
            yield (name, *path), node


def has_derived(schema: Node) -> bool:
    """Whether any field of the schema is computed."""
    return next(derived_fields(schema), None) is not None


def wholly_derived(schema: Node) -> bool:
    """Whether the value itself is computed."""
    return "x-derive" in schema


def field_value(value: Json, path: tuple[str, ...]) -> Json:
    """The value at ``path``; raises ``LookupError`` where a step is missing."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            raise LookupError(name)
        value = value[name]
    return value


def _put(value: Json, path: tuple[str, ...], leaf: Json) -> Json:
    """A copy with ``leaf`` at ``path``; unchanged when a parent object is missing."""
    if not path:
        return leaf
    if not isinstance(value, dict):
        return value
    name, rest = path[0], path[1:]
    if rest and name not in value:
        return value
    return {**value, name: _put(value.get(name), rest, leaf)}


def apply_derived(schema: Node, value: Json, elapsed: Json) -> Json:
    """The value with every derived field computed; unchanged without a finite clock reading (§2.4)."""
    if not is_number(elapsed) or not is_finite(elapsed):
        return value
    for path, node in derived_fields(schema):
        result = compute(node["type"], node["x-derive"], elapsed)
        if is_number(result) and not is_finite(result):
            continue
        value = _put(value, path, result)
    return value


def keep_derived(schema: Node, written: Json, current: Json) -> Json:
    """A copy of ``written`` in which derived fields hold the values from ``current`` (§2.4)."""
    for path, _node in derived_fields(schema):
        try:
            kept = field_value(current, path)
        except LookupError:
            continue
        written = _put(written, path, kept)
    return written


def hide_schema(schema: Node) -> Node | None:
    """The schema without derived properties; ``None`` when nothing is left to show (§2.4)."""
    if "x-derive" in schema:
        return None
    properties = schema.get("properties")
    if not properties:
        return schema
    shown = {name: part for name, child in properties.items() if (part := hide_schema(child)) is not None}
    hidden = {**schema, "properties": shown}
    if "required" in schema:
        hidden["required"] = [name for name in schema["required"] if name not in properties or name in shown]
    return hidden


def hide_value(schema: Node, value: Json) -> Json:
    """The value without derived properties, walking declared properties only (§2.4)."""
    properties = schema.get("properties")
    if not properties or not isinstance(value, dict):
        return value
    result = {}
    for name, part in value.items():
        child = properties.get(name)
        if child is None:
            result[name] = part
        elif "x-derive" not in child:
            result[name] = hide_value(child, part)
    return result
