"""Scenarios 1-9 and 16-33 of ``spec/dimensions.md`` §11: derivation, declarations, values, translation, limits."""

from __future__ import annotations

import datetime
import json
import math
from copy import deepcopy
from typing import Any

import pytest

from runtime.dimensions.declaration import check_declaration, check_table, warnings
from runtime.dimensions.derive import apply_derived, hide_schema, hide_value, keep_derived
from runtime.dimensions.domain import initialize
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.localise import localise, resolve_definition
from runtime.dimensions.package import read_world
from runtime.dimensions.query import run_queries
from runtime.dimensions.records import read_record, record_issues
from runtime.dimensions.validate import validate_value
from runtime.dimensions.views import public_entries
from tests.dimensions.worlds import HARBOUR, STORM, STORM_SCHEMA, STUDY, WALL, held, session, storm


def faults(definition: Any) -> list[tuple[str, str]]:
    """Place and reason of every issue of a declaration."""
    return [(issue.at, issue.reason) for issue in check_declaration(definition)]


def issues(schema: Any, value: Any, mode: str = "resolved") -> list[tuple[list[str | int], str]]:
    """Path and reason of every issue of a value."""
    return [(list(issue.path), issue.reason) for issue in validate_value(schema, value, mode)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("elapsed", "minutes", "stage"),
    [
        (0, 180, "distant"),
        (59, 121, "distant"),
        (60, 120, "approaching"),
        (149, 31, "approaching"),
        (150, 30, "imminent"),
        (179, 1, "imminent"),
        (180, 0, "overhead"),
        (400, 0, "overhead"),
        (-30, 180, "distant"),
    ],
)
def test_scenario_001_bands(elapsed: int, minutes: int, stage: str) -> None:
    assert apply_derived(STORM_SCHEMA, storm(180, "distant"), elapsed) == storm(minutes, stage)


def test_scenario_002_depends_on_the_clock_alone() -> None:
    once = apply_derived(STORM_SCHEMA, storm(180, "distant"), 170)
    assert apply_derived(STORM_SCHEMA, once, 170) == once == storm(10, "imminent")
    assert apply_derived(STORM_SCHEMA, once, 40) == apply_derived(STORM_SCHEMA, storm(180, "distant"), 40)


def test_scenario_003_other_fields_are_kept() -> None:
    value = storm(180, "distant", True)
    assert apply_derived(STORM_SCHEMA, value, 100) == storm(80, "approaching", True)
    assert apply_derived(STORM_SCHEMA, value, None) is value
    assert apply_derived(STORM_SCHEMA, value, math.nan) is value


def test_scenario_004_fractions_round() -> None:
    schema = {"type": "integer", "x-derive": {"source": "clock.elapsedSinceStart", "start": 10, "perUnit": 0.4}}
    assert apply_derived(schema, 10, 4) == 12


def test_scenario_005_hidden_parts() -> None:
    hidden = hide_schema(STORM_SCHEMA)
    assert hidden == {
        "type": "object",
        "properties": {"frontPassed": {"type": "boolean"}},
        "required": ["frontPassed"],
        "additionalProperties": False,
    }
    assert hide_value(STORM_SCHEMA, storm(170, "distant")) == {"frontPassed": False}


@pytest.mark.parametrize("written", [{"frontPassed": True}, storm(5, "overhead", True)])
def test_scenario_006_writes_keep_derived_fields(written: dict[str, Any]) -> None:
    current = apply_derived(STORM_SCHEMA, storm(180, "distant"), 100)
    assert keep_derived(STORM_SCHEMA, written, current) == storm(80, "approaching", True)


def test_scenario_007_initial_values_are_those_of_the_start() -> None:
    assert faults(STORM) == []
    wrong = {**STORM, "initialValue": storm(170, "approaching")}
    found = {issue.at: issue.message for issue in check_declaration(wrong)}
    assert "180" in found["initialValue.minutesRemaining"]
    assert "distant" in found["initialValue.stage"]


def _changed(path: list[Any], change: Any) -> dict[str, Any]:
    """The storm with one part of its schema changed; ``None`` removes it."""
    definition = deepcopy(STORM)
    node: Any = definition["schema"]["properties"]
    for key in path[:-1]:
        node = node[key]
    if change is None:
        del node[path[-1]]
    else:
        node[path[-1]] = change
    return definition


@pytest.mark.parametrize(
    ("definition", "fault"),
    [
        (
            _changed(["stage", "x-derive", "ranges", 1, "value"], "close"),
            ("stage.x-derive.ranges.1.value", "derive-label"),
        ),
        (_changed(["stage", "x-derive", "ranges", 3, "to"], 0), ("stage.x-derive.ranges.3", "derive-last-range")),
        (
            _changed(["minutesRemaining", "x-derive", "min"], None),
            ("minutesRemaining.x-derive.min", "derive-field-minimum"),
        ),
        (_changed(["stage", "x-derive", "source"], "clock.hour"), ("stage.x-derive.source", "bad-keyword")),
        (_changed(["stage", "x-derive", "formula"], "t"), ("stage.x-derive.formula", "unknown-key")),
        (_changed(["stage", "x-derive", "ranges"], None), ("stage.x-derive.ranges", "derive-needs-ranges")),
    ],
)
def test_scenario_008_each_fault_has_its_cause(definition: dict[str, Any], fault: tuple[str, str]) -> None:
    assert (f"schema.properties.{fault[0]}", fault[1]) in faults(definition)


def test_scenario_009_derivation_needs_a_fixed_place() -> None:
    node = {"type": "integer", "x-derive": {"source": "clock.elapsedSinceStart"}}
    record = {"type": "object", "additionalProperties": {"type": "object", "properties": {"age": node}}}
    definition = {"name": "Log", "schema": record, "initialValue": {}}
    assert ("schema.additionalProperties.properties.age.x-derive", "derive-placement") in faults(definition)
    below = {"name": "Log", "schema": {**node, "properties": {"age": node}}, "initialValue": 0}
    assert ("schema.properties.age.x-derive", "derive-placement") in faults(below)


def test_scenario_016_a_plain_dimension_is_accepted_also_through_the_manifest() -> None:
    assert faults(WALL) == []
    world, found = read_world("w", {"world.yaml": json.dumps({"dimensions": {"cityWall": WALL}})})
    assert found == []
    assert held(session(dict(world.definitions)), "cityWall") == (100, 1)


@pytest.mark.parametrize("key", ["constructor", "prototype", "__proto__", "bad id", "UPPER", "a" * 65])
def test_scenario_017_ids(key: str) -> None:
    assert [(issue.at, issue.reason) for issue in check_table({key: WALL})] == [(key, "bad-id")]


@pytest.mark.parametrize(
    ("definition", "fault"),
    [
        (7, ("", "bad-field")),
        ({**WALL, "initialValue": 101}, ("initialValue", "maximum")),
        ({**WALL, "initialValue": "100"}, ("initialValue", "type")),
        ({**WALL, "hidden": True}, ("hidden", "unknown-key")),
    ],
)
def test_scenario_018_wrong_shapes(definition: Any, fault: tuple[str, str]) -> None:
    assert fault in faults(definition)


@pytest.mark.parametrize("keyword", ["$ref", "$id", "pattern", "allOf", "format", "default"])
def test_scenario_019_foreign_keywords(keyword: str) -> None:
    assert (f"schema.{keyword}", "unknown-key") in faults({**WALL, "schema": {**WALL["schema"], keyword: "x"}})
    nested = {"type": "object", "properties": {"a": {"items": {keyword: "x"}}}}
    assert (f"schema.properties.a.items.{keyword}", "unknown-key") in faults({**HARBOUR, "schema": nested})


def test_scenario_020_labels() -> None:
    schema = {
        "type": "string",
        "title": {"en-US": "Mood", "zh-CN": "心情"},
        "enum": ["calm", "wild"],
        "x-enumLabels": {"calm": {"en-US": "Calm", "zh-CN": "平静"}},
    }
    definition = {"name": "Mood", "schema": schema, "initialValue": "calm"}
    assert faults(definition) == []
    stranger = {**definition, "schema": {**schema, "x-enumLabels": {"mild": "Mild"}}}
    assert ("schema.x-enumLabels.mild", "enum-label-unknown") in faults(stranger)
    bare = {**definition, "schema": {"type": "string", "x-enumLabels": {"calm": "Calm"}}}
    assert ("schema.x-enumLabels.calm", "enum-label-unknown") in faults(bare)
    assert issues(schema, "Calm") == [([], "enum")]


def test_scenario_021_named_records() -> None:
    skill = {"type": "object", "properties": {"level": {"type": "integer", "maximum": 10}}}
    schema = {"type": "object", "additionalProperties": skill}
    assert issues(schema, {"climbing": {"level": 3}}) == []
    assert issues(schema, {"climbing": {"level": 11}}) == [(["climbing", "level"], "maximum")]


def test_scenario_022_rows() -> None:
    row = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    schema = {"type": "array", "items": row, "minItems": 1, "maxItems": 2}
    assert issues(schema, [{"name": "a"}]) == []
    assert issues(schema, []) == [([], "min-items")]
    assert issues(schema, [{"name": "a", "x": 1}]) == [([0, "x"], "unknown-property")]
    assert issues(row, {}) == [(["name"], "required")]


def test_scenario_023_types_and_equality() -> None:
    assert issues({"type": ["number", "null"]}, None) == []
    assert issues({"type": "integer"}, 1.5) == [([], "type")]
    assert issues({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0) == [([], "exclusive-minimum")]
    assert issues({"enum": [{"a": [1, 2]}]}, {"a": [1, 2.0]}) == []
    assert issues({"const": {"a": 1, "b": 2}}, {"b": 2, "a": 1}) == []
    assert issues({"const": None}, None) == []
    assert issues({"const": None}, 0) == [([], "const")]
    assert issues({"const": False}, True) == [([], "const")]
    assert issues({"const": 1}, True) == [([], "const")]


def test_scenario_024_lengths_count_code_points() -> None:
    assert issues({"type": "string", "maxLength": 1}, "🛶") == []


def test_scenario_025_only_json_within_bounds() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    strangers: list[Any] = [..., math.nan, math.inf, datetime.date(2026, 1, 1), 10**400, print, {1: 2}, (1,), cycle]
    for value in strangers:
        assert len(issues({}, value)) == 1, value
    nested: Any = 1
    for _ in range(33):
        nested = [nested]
    assert issues({}, nested) == [([], "json-depth")]
    assert issues({}, [0] * 10_000) == [([], "json-nodes")]
    assert issues({}, "a" * 300_000) == [([], "json-size")]
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert issues({}, deep) == [([], "json-depth")]


def test_scenario_026_a_translation_over_its_limit() -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string", "maxLength": 5, "x-i18n": True}}}
    value = {"note": {"zh-CN": "雾", "en-US": "Ding dong"}}
    found = validate_value(schema, value, "authored")
    assert [issue.path for issue in found] == [("note", "en-US")]
    assert "9" in found[0].message


WALL_TEXT = {
    "name": {"zh-CN": "城墙", "en-US": "Wall"},
    "schema": {
        "type": "object",
        "properties": {"label": {"type": "string", "x-i18n": True}, "data": {"type": "object"}},
    },
    "initialValue": {"label": {"zh-CN": "城墙", "en-US": "Wall"}, "data": {"zh": 1, "en": 2}},
    "updateRule": {"zh-CN": "墙被攻破时改", "en-US": "Change it when the wall falls"},
}


def test_scenario_027_resolution() -> None:
    resolved = resolve_definition(WALL_TEXT, "en-US")
    assert resolved["initialValue"] == {"label": "Wall", "data": {"zh": 1, "en": 2}}
    assert resolved["updateRule"] == "Change it when the wall falls"
    assert resolved["name"] == WALL_TEXT["name"]
    assert localise(WALL_TEXT["updateRule"], "zh-Hant-TW") == "Change it when the wall falls"


def test_scenario_028_declaring_again_changes_nothing() -> None:
    state = session({"wall": WALL_TEXT}, locale="zh-CN")
    again = initialize(state, {"definitions": {"wall": WALL_TEXT}})
    assert again.state is state
    assert again.events == ()


def test_scenario_029_session_state_holds_one_language() -> None:
    assert faults(WALL_TEXT) == []
    record = session({"wall": WALL_TEXT}).records["wall"].to_json()
    assert record_issues(record) == []
    mapped = {**record, "value": WALL_TEXT["initialValue"]}
    assert [issue.reason for issue in record_issues(mapped)] == ["text-locale-map"]
    initial = {**record, "definition": WALL_TEXT}
    assert "text-locale-map" in [issue.reason for issue in record_issues(initial)]
    with pytest.raises(DimensionError, match="cannot be read"):
        read_record("wall", mapped)


def test_scenario_030_public_entries() -> None:
    entry = public_entries(session({"study": STUDY}).records)["study"]
    assert set(entry) == {"name", "schema", "value", "version"}


def test_scenario_031_to_034_queries() -> None:
    snapshot = {
        "harbour": {
            "name": "Harbour",
            "schema": {},
            "version": 7,
            "value": {"harbor": {"name": "North"}, "a.b": {"name": "abcdefgh"}},
        }
    }

    def ask(**query: Any) -> dict[str, Any]:
        return run_queries(snapshot, [{"dimension": "harbour", **query}], "en-US")[0]

    # 31
    found = ask(path="harbor.name")
    assert (found["found"], found["value"], found["version"]) == (True, "North", 7)
    # 33
    assert not ask(path="harbor[bad]")["found"]
    assert not ask(path="harbor.depth")["found"]
    assert not run_queries(snapshot, [{"dimension": "ghost"}], None)[0]["found"]
    # 34
    page = ask(path="/a.b/name", offset=2, limit=3)["page"]
    assert page == {"value": "cde", "total": 8, "nextOffset": 5}


def test_query_versions_can_be_pinned() -> None:
    snapshot = {"a": {"name": "A", "schema": {}, "version": 7, "value": [1]}}
    queries = [{"dimension": "a", "expectedVersion": 6}, {"dimension": "a", "expectedVersion": 7, "path": "length"}]
    stale, fresh = run_queries(snapshot, queries, None)
    assert (stale["found"], stale["error"], stale["version"]) == (False, "dimension-version-conflict", 7)
    assert fresh["found"] is False
    assert "error" not in fresh


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ({"name": "P", "schema": {"type": "number", "exclusiveMinimum": 0, "x-derive": {"source": "clock.elapsedSinceStart", "start": 5, "perUnit": -1}}, "initialValue": 5}, "exclusiveMinimum"),
        ({"name": "P", "schema": {"type": "integer", "enum": [0, 1], "x-derive": {"source": "clock.elapsedSinceStart"}}, "initialValue": 0}, "enum"),
        ({"name": "P", "schema": {"type": "integer", "maximum": 7.5, "x-derive": {"source": "clock.elapsedSinceStart", "max": 7.5}}, "initialValue": 0}, "maximum"),
        ({"name": "P", "schema": {"type": "integer", "minimum": 3, "x-derive": {"source": "clock.elapsedSinceStart", "ranges": [{"to": 9, "value": 4}, {"value": 2}]}}, "initialValue": 4}, "minimum"),
        ({"name": "P", "schema": {"type": "object", "properties": {"a": {"type": "object", "required": ["b"]}}}, "initialValue": {}}, "required-undeclared"),
        ({"name": "P", "schema": {"type": "object", "properties": {"a": {"type": "integer", "x-derive": {"source": "clock.elapsedSinceStart"}}}, "additionalProperties": False}, "initialValue": {"a": 0}, "updateRule": "r"}, "derive-rule"),
    ],
)  # fmt: skip
def test_declarations_that_can_hardly_be_meant_warn(definition: dict[str, Any], reason: str) -> None:
    assert faults(definition) == []
    assert reason in [issue.reason for issue in warnings(definition)]
