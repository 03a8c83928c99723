"""Declarations of dimensions: shape, ids, table, warnings (``spec/dimensions.md`` §1.1, §1.2, §2.3, §12)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from runtime.dimensions import limits
from runtime.dimensions.derive import compute, derived_fields, field_value, wholly_derived
from runtime.dimensions.issues import Issue
from runtime.dimensions.schema import check_schema, nested_required_warnings
from runtime.dimensions.validate import scalar_issues, validate_checked
from runtime.dimensions.values import Json, bounds_issue, is_finite, is_text, quoted, same

Definition = dict[str, Json]
_ID: Final = re.compile(rf"[a-z][A-Za-z0-9_-]{{0,{limits.ID_CHARS.default - 1}}}\Z")
_RESERVED: Final = frozenset({"__proto__", "prototype", "constructor"})
FIELDS: Final = ("name", "description", "schema", "initialValue", "updateRule")


def is_dimension_id(text: Json) -> bool:
    """Whether ``text`` may name a dimension (§1.2)."""
    return isinstance(text, str) and _ID.match(text) is not None and text not in _RESERVED


def has_rule(definition: Definition) -> bool:
    """Whether the update rule counts as present: any text that is not blank after trimming (§1.1)."""
    rule = definition.get("updateRule")
    if isinstance(rule, str):
        return bool(rule.strip())
    return isinstance(rule, dict) and any(text.strip() for text in rule.values())


def check_declaration(definition: Json, *, mode: str = "authored", initial: bool = True) -> list[Issue]:
    """Every fault of one declaration (§1.1, §1.3, §2.3).

    ``mode`` is ``resolved`` for definitions of stored records; ``initial=False`` lifts the rule of §2.3 about computed
    initial values, to which stored records are not held.
    """
    if not isinstance(definition, dict):
        return [Issue((), "bad-field", f"expected a declaration object, found {quoted(definition)}")]
    issues = list(_shape(definition))
    if "schema" not in definition or not isinstance(definition["schema"], dict):
        found = "nothing" if "schema" not in definition else quoted(definition["schema"])
        issues.append(Issue(("schema",), "bad-field", f"expected a schema object, found {found}"))
        return issues
    faults = check_schema(definition["schema"])
    issues.extend(issue.under("schema") for issue in faults)
    if faults:
        return issues
    if wholly_derived(definition["schema"]) and "updateRule" in definition:
        issues.append(
            Issue(("updateRule",), "derive-rule", "a wholly computed value takes no update rule, not even an empty one")
        )
    if "initialValue" in definition:
        issues.extend(issue.under("initialValue") for issue in _initial(definition, mode, initial))
    return issues


def _shape(definition: Definition) -> Iterator[Issue]:
    for key in definition:
        if key not in FIELDS:
            yield Issue((key,), "unknown-key", f"unknown key {quoted(key)}; a declaration has {', '.join(FIELDS)}")
    name = definition.get("name")
    if not is_text(name):
        yield Issue(("name",), "bad-field", f"expected a name (a text or a text per language), found {quoted(name)}")
    else:
        texts = [name] if isinstance(name, str) else list(name.values())
        if not any(text.strip() for text in texts):
            yield Issue(("name",), "empty-name", "the name is blank")
    for key in ("description", "updateRule"):
        if key in definition and not is_text(definition[key]):
            yield Issue((key,), "bad-field", f"expected a text or a text per language, found {quoted(definition[key])}")
    if "initialValue" not in definition:
        yield Issue(("initialValue",), "bad-field", "initialValue is missing; null must be written out")


def _initial(definition: Definition, mode: str, computed: bool) -> Iterator[Issue]:
    schema, value = definition["schema"], definition["initialValue"]
    issues = validate_checked(schema, value, "resolved" if mode == "resolved" else "authored")
    yield from issues
    if not computed or (issues and issues[0].reason.startswith("json-")):
        return
    for path, node in derived_fields(schema):
        wanted = compute(node["type"], node["x-derive"], 0)
        try:
            found = field_value(value, path)
        except LookupError:
            yield Issue(
                path, "derive-initial", f"expected {quoted(wanted)}, the computed value at the start, found nothing"
            )
            continue
        if not same(wanted, found):
            yield Issue(
                path,
                "derive-initial",
                f"expected {quoted(wanted)}, the computed value at the start, found {quoted(found)}",
            )


def check_table(dimensions: Json, *, mode: str = "authored", initial: bool = True) -> list[Issue]:
    """Every fault of a table of declarations; a bad id stops before any declaration is examined (§1.1, §1.2, §1.5)."""
    if not isinstance(dimensions, dict):
        return [
            Issue((), "bad-field", f"expected an object from dimension id to declaration, found {quoted(dimensions)}")
        ]
    for key in dimensions:
        if not is_dimension_id(key):
            wanted = f"a small letter, then up to {limits.ID_CHARS.default - 1} letters, digits, '_' or '-'"
            return [Issue((str(key),), "bad-id", f"expected an id of {wanted}, found {quoted(key)}")]
    outside = bounds_issue(dimensions)
    if outside is not None:
        return [outside]
    issues: list[Issue] = []
    for key, definition in dimensions.items():
        issues.extend(issue.under(key) for issue in check_declaration(definition, mode=mode, initial=initial))
    return issues


def warnings(definition: Definition) -> list[Issue]:
    """What is legal but can hardly be meant, for a declaration without faults (§0.7, §12 items 2, 3)."""
    schema = definition["schema"]
    found = [issue.under("schema") for issue in nested_required_warnings(schema)]
    for path, node in derived_fields(schema):
        where = ("schema", *(part for name in path for part in ("properties", name)), "x-derive")
        found.extend(issue.under(*where) for issue in _never_stored(node))
    properties = schema.get("properties")
    closed = properties and schema.get("additionalProperties") is False
    if closed and has_rule(definition) and all("x-derive" in child for child in properties.values()):
        message = "every property is computed, so the rule can change nothing"
        found.append(Issue(("updateRule",), "derive-rule", message))
    return found


def _never_stored(node: Definition) -> Iterator[Issue]:
    """Results of a derived field that the field's own keywords would refuse each turn."""
    rule = node["x-derive"]
    if "ranges" in rule:
        for index, entry in enumerate(rule["ranges"]):
            for issue in scalar_issues(node, entry["value"]):
                yield Issue(
                    ("ranges", index, "value"), issue.reason, f"this label can never be stored: {issue.message}"
                )
        return
    for issue in _extremes(node, rule):
        yield issue


def _extremes(node: Definition, rule: Definition) -> Iterator[Issue]:
    for keyword in ("enum", "const"):
        if keyword in node:
            yield Issue(
                (), keyword, f"computed numbers are not compared with {keyword}: other results can never be stored"
            )
    steady = rule.get("perUnit", 1) == 0
    for bound, keyword in (("min", "exclusiveMinimum"), ("max", "exclusiveMaximum")):
        limit, end = node.get(keyword), rule.get(bound)
        crossed = (
            is_finite(limit) and not steady and (end is None or (end <= limit if bound == "min" else end >= limit))
        )
        if crossed:
            yield Issue((bound,), keyword, f"a result at or beyond {keyword} {quoted(limit)} can never be stored")
    if node["type"] == "integer":
        for bound, keyword in (("min", "minimum"), ("max", "maximum")):
            if is_finite(rule.get(bound)) and is_finite(node.get(keyword)):
                rounded = compute("integer", {"start": rule[bound], "perUnit": 0}, 0)
                if (rounded < node[keyword]) if bound == "min" else (rounded > node[keyword]):
                    yield Issue(
                        (bound,),
                        keyword,
                        f"{quoted(rule[bound])} rounds to {rounded}, beyond {keyword} {quoted(node[keyword])}",
                    )
