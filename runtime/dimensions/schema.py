"""The closed vocabulary of dimension schemas: one function per keyword, in one table (``spec/dimensions.md`` §1.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from runtime.dimensions.derive import check_derive
from runtime.dimensions.issues import Issue, Path
from runtime.dimensions.values import (
    TYPE_TESTS,
    Json,
    bounds_issue,
    is_finite,
    is_integer,
    is_text,
    quoted,
    scalar_text,
)

Node = dict[str, Json]
Check = Callable[[Node, Json], Iterator[Issue]]


def _bad(path: Path, wanted: str, found: Json) -> Issue:
    return Issue(path, "bad-keyword", f"expected {wanted}, found {quoted(found)}")


def _type(_node: Node, value: Json) -> Iterator[Issue]:
    names = value if isinstance(value, list) else [value]
    wanted = f"one of {', '.join(TYPE_TESTS)}, or a list of them without repeats"
    known = all(isinstance(name, str) and name in TYPE_TESTS for name in names)
    if not names or not known or len(set(names)) != len(names):
        yield _bad((), wanted, value)


def _title(_node: Node, value: Json) -> Iterator[Issue]:
    if not is_text(value):
        yield _bad((), "a text or a text per language", value)


def _description(_node: Node, value: Json) -> Iterator[Issue]:
    if not isinstance(value, str):
        yield _bad((), "one plain text", value)


def _enum(_node: Node, value: Json) -> Iterator[Issue]:
    if not isinstance(value, list) or not value:
        yield _bad((), "a list of at least one value", value)


def _const(_node: Node, _value: Json) -> Iterator[Issue]:
    return iter(())


def _number(_node: Node, value: Json) -> Iterator[Issue]:
    if not is_finite(value):
        yield _bad((), "a number", value)


def _count(_node: Node, value: Json) -> Iterator[Issue]:
    if not is_integer(value) or value < 0:
        yield _bad((), "an integer of 0 or more", value)


def _boolean(_node: Node, value: Json) -> Iterator[Issue]:
    if not isinstance(value, bool):
        yield _bad((), "true or false", value)


def _required(_node: Node, value: Json) -> Iterator[Issue]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        yield _bad((), "a list of names", value)
    elif len(set(value)) != len(value):
        yield _bad((), "a list of names without repeats", value)


def _items(_node: Node, value: Json) -> Iterator[Issue]:
    if isinstance(value, dict):
        yield from _walk(value, fixed=False)
    else:
        yield _bad((), "a schema", value)


def _properties(node: Node, value: Json) -> Iterator[Issue]:
    if not isinstance(value, dict):
        yield _bad((), "an object from name to schema", value)
        return
    # Below a derived node nothing may be derived again, whatever its type.
    fixed = "x-derive" not in node
    for name, child in value.items():
        if isinstance(child, dict):
            yield from (issue.under(name) for issue in _walk(child, fixed=fixed))
        else:
            yield _bad((name,), "a schema", child)


def _additional(_node: Node, value: Json) -> Iterator[Issue]:
    if isinstance(value, dict):
        yield from _walk(value, fixed=False)
    elif not isinstance(value, bool):
        yield _bad((), "true, false or a schema", value)


def _enum_labels(node: Node, value: Json) -> Iterator[Issue]:
    if not isinstance(value, dict):
        yield _bad((), "an object from enum member to text", value)
        return
    enum = node.get("enum")
    members = {scalar_text(member) for member in enum} if isinstance(enum, list) else set()
    for key, label in value.items():
        if key not in members:
            yield Issue((key,), "enum-label-unknown", f"{quoted(key)} is no scalar member of this node's enum")
        if not is_text(label):
            yield _bad((key,), "a text or a text per language", label)


def _derive(node: Node, value: Json) -> Iterator[Issue]:
    return check_derive(node, value)


KEYWORDS: dict[str, Check] = {
    "type": _type,
    "title": _title,
    "description": _description,
    "enum": _enum,
    "const": _const,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _number,
    "exclusiveMaximum": _number,
    "minLength": _count,
    "maxLength": _count,
    "items": _items,
    "minItems": _count,
    "maxItems": _count,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "x-i18n": _boolean,
    "x-enumLabels": _enum_labels,
    "x-derive": _derive,
}


def _walk(node: Node, *, fixed: bool) -> Iterator[Issue]:
    """Check one node and what lies below; ``fixed``: reached through ``properties`` alone."""
    for keyword, value in node.items():
        check = KEYWORDS.get(keyword)
        if check is None:
            known = ", ".join(KEYWORDS)
            yield Issue((keyword,), "unknown-key", f"unknown schema keyword {quoted(keyword)}; known are {known}")
            continue
        if keyword == "x-derive" and not fixed:
            yield Issue(
                ("x-derive",),
                "derive-placement",
                "a computed field must be the value itself or be reached through properties only",
            )
        # Children of properties keep their place only while every step above was a property.
        inner = _placed(check, node, value, fixed)
        yield from (issue.under(keyword) for issue in inner)


def _placed(check: Check, node: Node, value: Json, fixed: bool) -> Iterator[Issue]:
    if check is not _properties or fixed or not isinstance(value, dict):
        return check(node, value)
    return _loose_properties(value)


def _loose_properties(value: Node) -> Iterator[Issue]:
    for name, child in value.items():
        if isinstance(child, dict):
            yield from (issue.under(name) for issue in _walk(child, fixed=False))
        else:
            yield _bad((name,), "a schema", child)


def check_schema(schema: Json) -> list[Issue]:
    """Every fault of a schema, paths relative to it; bounds come first and stop (§1.3, §2.2)."""
    if not isinstance(schema, dict):
        return [Issue((), "bad-field", f"expected a schema object, found {quoted(schema)}")]
    outside = bounds_issue(schema)
    if outside is not None:
        return [outside]
    issues = list(_walk(schema, fixed=True))
    issues.extend(_undeclared(schema))
    return issues


def _undeclared(schema: Node) -> Iterator[Issue]:
    """Only the root's required list is compared with its properties (§1.3)."""
    required, properties = schema.get("required"), schema.get("properties", {})
    if not isinstance(required, list) or not isinstance(properties, dict):
        return
    for name in required:
        if isinstance(name, str) and name not in properties:
            yield Issue(("required",), "required-undeclared", f"required name {quoted(name)} is not in properties")


def nested_required_warnings(schema: Json, path: Path = ()) -> Iterator[Issue]:
    """Required names that nested nodes do not declare: accepted as written, worth a warning (§12 item 2)."""
    if path:
        for issue in _undeclared(schema):
            yield issue.under(*path)
    for name, child in schema.get("properties", {}).items():
        yield from nested_required_warnings(child, (*path, "properties", name))
    for keyword in ("items", "additionalProperties"):
        child = schema.get(keyword)
        if isinstance(child, dict):
            yield from nested_required_warnings(child, (*path, keyword))
