"""Values against schemas: one function per keyword, all issues in order (``spec/dimensions.md`` §1.4, §3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal

from runtime.dimensions.issues import Issue
from runtime.dimensions.schema import check_schema
from runtime.dimensions.values import Json, bounds_issue, has_type, is_number, is_text, quoted, same

Mode = Literal["resolved", "authored"]
Node = dict[str, Json]
Test = Callable[[Json, Json], str | None]


def _enum(limit: Json, value: Json) -> str | None:
    if any(same(value, member) for member in limit):
        return None
    return f"expected one of {quoted(limit)}, found {quoted(value)}"


def _const(limit: Json, value: Json) -> str | None:
    return None if same(value, limit) else f"expected exactly {quoted(limit)}, found {quoted(value)}"


def _minimum(limit: Json, value: Json) -> str | None:
    return None if value >= limit else f"expected at least {quoted(limit)}, found {quoted(value)}"


def _maximum(limit: Json, value: Json) -> str | None:
    return None if value <= limit else f"expected at most {quoted(limit)}, found {quoted(value)}"


def _above(limit: Json, value: Json) -> str | None:
    return None if value > limit else f"expected more than {quoted(limit)}, found {quoted(value)}"


def _below(limit: Json, value: Json) -> str | None:
    return None if value < limit else f"expected less than {quoted(limit)}, found {quoted(value)}"


def _min_length(limit: Json, value: Json) -> str | None:
    found = len(value)
    return None if found >= limit else f"expected at least {int(limit)} characters, found {found}"


def _max_length(limit: Json, value: Json) -> str | None:
    found = len(value)
    if found <= limit:
        return None
    return f"expected at most {int(limit)} characters, found {found}: shorten it by at least {found - int(limit)}"


def _min_items(limit: Json, value: Json) -> str | None:
    return None if len(value) >= limit else f"expected at least {int(limit)} entries, found {len(value)}"


def _max_items(limit: Json, value: Json) -> str | None:
    return None if len(value) <= limit else f"expected at most {int(limit)} entries, found {len(value)}"


def _anything(_value: Json) -> bool:
    return True


def _string(value: Json) -> bool:
    return isinstance(value, str)


def _array(value: Json) -> bool:
    return isinstance(value, list)


# Keyword, reason, the values it speaks about, the test: in the order in which issues are reported.
TESTS: Final[tuple[tuple[str, str, Callable[[Json], bool], Test], ...]] = (
    ("enum", "enum", _anything, _enum),
    ("const", "const", _anything, _const),
    ("minimum", "minimum", is_number, _minimum),
    ("maximum", "maximum", is_number, _maximum),
    ("exclusiveMinimum", "exclusive-minimum", is_number, _above),
    ("exclusiveMaximum", "exclusive-maximum", is_number, _below),
    ("minLength", "min-length", _string, _min_length),
    ("maxLength", "max-length", _string, _max_length),
    ("minItems", "min-items", _array, _min_items),
    ("maxItems", "max-items", _array, _max_items),
)


def scalar_issues(node: Node, value: Json) -> Iterator[Issue]:
    """The issues of a node's own keywords, type apart and without descending."""
    for keyword, reason, concerns, test in TESTS:
        if keyword in node and concerns(value):
            message = test(node[keyword], value)
            if message is not None:
                yield Issue((), reason, message)


def _walk(node: Node, value: Json, mode: Mode) -> Iterator[Issue]:
    if node.get("x-i18n") is True:
        yield from _text(node, value, mode)
    else:
        yield from _plain(node, value, mode)


def _text(node: Node, value: Json, mode: Mode) -> Iterator[Issue]:
    if isinstance(value, str):
        yield from _plain(node, value, mode)
    elif mode == "resolved":
        yield Issue((), "text-locale-map", "write this text once, as one plain text in the session's language")
    elif not is_text(value):
        yield Issue((), "text", f"expected a text or a text per language, found {quoted(value)}")
    elif isinstance(value, dict):
        for locale, translation in value.items():
            yield from (issue.under(locale) for issue in _plain(node, translation, mode))


def _plain(node: Node, value: Json, mode: Mode) -> Iterator[Issue]:
    wanted = node.get("type")
    if wanted is not None:
        names = wanted if isinstance(wanted, list) else [wanted]
        if not any(has_type(value, name) for name in names):
            yield Issue((), "type", f"expected {' or '.join(names)}, found {quoted(value)}")
            return
    yield from scalar_issues(node, value)
    if isinstance(value, list):
        items = node.get("items")
        if items is not None:
            for index, part in enumerate(value):
                yield from (issue.under(index) for issue in _walk(items, part, mode))
    elif isinstance(value, dict):
        yield from _object(node, value, mode)


def _object(node: Node, value: Node, mode: Mode) -> Iterator[Issue]:
    for name in node.get("required", ()):
        if name not in value:
            yield Issue((name,), "required", f"{quoted(name)} is required and missing")
    properties = node.get("properties", {})
    others = node.get("additionalProperties", True)
    for key, part in value.items():
        if key in properties:
            yield from (issue.under(key) for issue in _walk(properties[key], part, mode))
        elif others is False:
            yield Issue((key,), "unknown-property", f"{quoted(key)} is not a property of this object")
        elif isinstance(others, dict):
            yield from (issue.under(key) for issue in _walk(others, part, mode))


def validate_checked(schema: Node, value: Json, mode: Mode) -> list[Issue]:
    """Every issue of ``value`` under a schema already known to be legal."""
    outside = bounds_issue(value)
    return [outside] if outside is not None else [*_walk(schema, value, mode)]


def validate_value(schema: Json, value: Json, mode: Mode) -> list[Issue]:
    """Every issue of ``value``, in order; an empty list means valid (§1.4)."""
    outside = bounds_issue(value)
    if outside is not None:
        return [outside]
    faults = check_schema(schema)
    if faults:
        return [
            Issue((), "unsupported-schema", f"unsupported schema: {faults[0].message} at {faults[0].at or 'the root'}")
        ]
    return list(_walk(schema, value, mode))
