"""The shared JSON Schema keywords against the public ``jsonschema`` library on generated schemas and values."""

from __future__ import annotations

from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from interpreter.javascript import js_number_text
from runtime.dimensions.derive import apply_derived, hide_schema, hide_value, keep_derived
from runtime.dimensions.schema import check_schema
from runtime.dimensions.validate import validate_value
from runtime.dimensions.values import measure, same
from runtime.values.canonical import sha
from tests.dimensions.worlds import STORM_SCHEMA, storm

KEYS = st.sampled_from(["a", "b", "constructor", "é", ""])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(-5, 5, allow_nan=False).map(lambda number: round(number, 1)),
    st.sampled_from(["", "a", "ab", "🛶", "🛶🛶a"]),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
TYPES = ["string", "number", "integer", "boolean", "null", "object", "array"]
COUNTS = st.integers(0, 3)


def _scalar_keywords() -> dict[str, st.SearchStrategy[Any]]:
    number = st.integers(-4, 4)
    return {
        "type": st.one_of(
            st.sampled_from(TYPES), st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True)
        ),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "minimum": number,
        "maximum": number,
        "exclusiveMinimum": number,
        "exclusiveMaximum": number,
        "minLength": COUNTS,
        "maxLength": COUNTS,
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "title": st.just("t"),
        "description": st.just("d"),
    }


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    nested = {
        "items": inner,
        "properties": st.dictionaries(KEYS, inner, max_size=2),
        "additionalProperties": st.one_of(st.booleans(), inner),
        "required": st.lists(KEYS, max_size=2, unique=True),
    }
    return st.fixed_dictionaries({}, optional={**nested, "type": _scalar_keywords()["type"]})


# One keyword is picked more often than several, so that values pass about as often as they fail.
LEAVES = st.sampled_from(sorted(_scalar_keywords())).flatmap(
    lambda name: st.fixed_dictionaries({}, optional={name: _scalar_keywords()[name], "type": st.sampled_from(TYPES)})
)
SCHEMAS: st.SearchStrategy[Any] = st.recursive(LEAVES, _schemas, max_leaves=6)


def _declared(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its root's required names declared: our one rule that the library does not have."""
    if "required" not in schema:
        return schema
    properties = {**{name: {} for name in schema["required"]}, **schema.get("properties", {})}
    return {**schema, "properties": properties}


@settings(max_examples=400, deadline=None)
@given(SCHEMAS.map(_declared), VALUES)
def test_the_library_agrees(schema: dict[str, Any], value: Any) -> None:
    assert check_schema(schema) == []
    found = {issue.path for issue in validate_value(schema, value, "resolved")}
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
    wanted: set[tuple[Any, ...]] = set()
    for error in errors:
        path = tuple(error.absolute_path)
        if error.validator == "required":
            missing = [name for name in error.schema["required"] if name not in error.instance]
            wanted.update((*path, name) for name in missing)
        elif error.validator == "additionalProperties":
            known = error.schema.get("properties", {})
            wanted.update((*path, name) for name in error.instance if name not in known)
        else:
            wanted.add(path)
    # After a type fault a node is not examined further here; the library goes on below it.
    stopped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    wanted = {path for path in wanted if not any(path[: len(stop)] == stop and path != stop for stop in stopped)}
    assert found == wanted


@settings(max_examples=100, deadline=None)
@given(VALUES, VALUES)
def test_equality_size_and_hash_agree(left: Any, right: Any) -> None:
    assert same(left, left)
    assert same(left, right) == (sha(left) == sha(right))
    assert measure(left).nodes >= 1


@settings(max_examples=100, deadline=None)
@given(st.integers(-500, 500), st.booleans())
def test_derivation_depends_on_the_clock_alone(elapsed: int, passed: bool) -> None:
    fresh = apply_derived(STORM_SCHEMA, storm(180, "distant", passed), elapsed)
    assert apply_derived(STORM_SCHEMA, fresh, elapsed) == fresh
    assert validate_value(STORM_SCHEMA, fresh, "resolved") == []
    assert keep_derived(STORM_SCHEMA, hide_value(STORM_SCHEMA, fresh), fresh) == fresh
    hidden = hide_schema(STORM_SCHEMA)
    assert hidden is not None
    assert validate_value(hidden, hide_value(STORM_SCHEMA, fresh), "resolved") == []


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_texts_read_back(number: float) -> None:
    assert float(js_number_text(number)) == number


def test_number_texts_are_javascripts() -> None:
    cases = {
        1e21: "1e+21", 1e-7: "1e-7", 1.5e-9: "1.5e-9", 0.000001: "0.000001", 123456789.125: "123456789.125",
        -0.0: "0", 1e20: "100000000000000000000", 2**53 + 1: "9007199254740992", 5e-324: "5e-324",
    }  # fmt: skip
    assert {number: js_number_text(number) for number in cases} == cases
