"""Whatever JSON comes in: an answer or a refusal with a code, never a crash, never half a change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.dimensions import domain, views
from runtime.dimensions.binding import World, bind
from runtime.dimensions.clock import check_clock, new_clock, output
from runtime.dimensions.declaration import check_declaration, check_table, warnings
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.localise import localise
from runtime.dimensions.package import read_world
from runtime.dimensions.state import State, read_state
from runtime.dimensions.values import json_text
from tests.dimensions.worlds import BOARD, PHASES, STORM, STUDY, session, told

WORDS = st.sampled_from(
    [
        "name", "schema", "initialValue", "updateRule", "type", "object", "integer", "string", "properties", "items",
        "required", "enum", "x-derive", "source", "clock.elapsedSinceStart", "ranges", "value", "from", "to", "x-i18n",
        "x-enumLabels", "additionalProperties", "updates", "id", "study", "storm", "board", "expectedVersion", "changes",
        "path", "tower.note", "a/b.0", "followsClock", "source", "resultId", "tale-1", "turnNumber", "readVersions",
        "settlement", "manual", "skipped", "no-change", "resolution", "definitions", "queries", "dimension", "offset",
        "limit", "kind", "calendar", "phases", "initial", "evolution", "mode", "random", "amount", "unit", "minute",
        "direction", "en-US", "zh-CN", "__proto__", "", "[0]", "maxLength", "minimum", "const", "cycle", "phase", "🛶",
    ]
)  # fmt: skip
ANY: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 9), st.floats(), st.just(10**400), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=5)),
    max_leaves=14,
)
START = told(session({"study": STUDY, "storm": STORM, "board": BOARD}))
BEFORE = json_text(START.to_json())


@settings(max_examples=300, deadline=None)
@given(ANY)
def test_declarations(value: Any) -> None:
    check_table(value)
    check_clock(value)
    if not check_declaration(value):
        warnings(value)
        state = bind(State(), World("w", {"a": value}, "en-US")).state
        assert read_state(state.to_json()).to_json() == state.to_json()
        views.story(state)
        views.tracker(state)


@settings(max_examples=300, deadline=None)
@given(ANY)
def test_clocks(value: Any) -> None:
    mixed = {**PHASES, **value} if isinstance(value, dict) else value
    for definition in (value, mixed):
        if not check_clock(definition):
            output(new_clock(definition), None, "zh-CN")


OPERATIONS: list[Callable[[Any], Any]] = [
    lambda value: domain.initialize(START, value),
    lambda value: domain.update(START, value),
    lambda value: domain.edit(START, value),
    lambda value: domain.settle_by_tool(START, "tale-1", value),
    lambda value: domain.settle_by_tool(START, value, {}),
    lambda value: domain.move(START, "turn-9", value),
    lambda value: views.query(START, value),
    lambda value: views.query(START, [value]),
    lambda value: views.rule(
        START, {"resultId": "tale-1", **value} if isinstance(value, dict) else {"resultId": value}
    ),
]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(OPERATIONS), ANY)
def test_operations(operation: Callable[[Any], Any], value: Any) -> None:
    wrapped = [value]
    if isinstance(value, list):
        wrapped += [{"updates": value}, {"updates": value, "followsClock": []}]
    for request in wrapped:
        try:
            result = operation(request)
        except DimensionError:
            continue
        if isinstance(result, domain.Result):
            stored = result.state.to_json()
            assert read_state(stored).to_json() == stored
    assert json_text(START.to_json()) == BEFORE


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["world.yaml", "data/world.data.yaml", "data/dimensions.yaml", "world.en-US.yaml"]), st.one_of(ANY.map(lambda value: json.dumps(value, default=str)), st.text(max_size=40)), max_size=4))  # fmt: skip
def test_packages(files: dict[str, str]) -> None:
    try:
        read_world("w", files)
    except DimensionError as error:
        assert error.code.startswith("DIMENSION_")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=70))
def test_locale_tags(locale: str) -> None:
    assert localise({"en-US": "a", locale: "b"}, locale) in ("a", "b")


@pytest.mark.parametrize("value", ["[" * 5_000 + "]" * 5_000, "a: " * 3_000, "&a [*a]", "!!python/object:os.system x"])
def test_hostile_yaml(value: str) -> None:
    with pytest.raises(DimensionError):
        read_world("w", {"world.yaml": value})


def test_deep_values_are_refused_everywhere() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    for operation in OPERATIONS:
        try:
            result = operation({"updates": [{"id": "board", "expectedVersion": 1, "value": deep}], "amount": deep})
        except DimensionError:
            continue
        assert result.answer.get("applied") is False
    while isinstance(deep, list):
        deep = deep.pop()


STORED = START.to_json()


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(STORED)), st.sampled_from(["status", "version", "source", "moves", "tick", "definition", "records", "value", "locale", "readVersions", "set", "frozen", "order", "completed"]), ANY)  # fmt: skip
def test_damaged_states_are_unreadable_or_whole(part: str, key: str, value: Any) -> None:
    damaged = {**STORED, part: {**STORED[part], key: value} if isinstance(STORED[part], dict) else value}
    try:
        state = read_state(damaged)
    except DimensionError as error:
        assert error.code == "DIMENSION_UNREADABLE"
        return
    views.snapshot(state)
    views.tracker(state, "tale-1")
    domain.settle_by_tool(state, "tale-1", {"updates": []})
