"""The generated parser and the memory give exactly what the exact parser gives, at the same steps."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpreter import (
    BudgetExceeded,
    CompiledSchema,
    DeclarationError,
    InterpreterError,
    Memory,
    ParseResult,
    compile_declaration,
)
from interpreter.compile.author import clean_json
from tests.conformance.suites.zod import encode, text
from tests.interpreter.grammar import Schemas, Values

DECLARATION = (Path(__file__).parents[2] / "bench" / "data" / "zod-schema-60.txt").read_text(encoding="utf-8")
DATA = json.loads((Path(__file__).parents[2] / "bench" / "data" / "zod-data-2k.json").read_text(encoding="utf-8"))


def outcome(
    schema: CompiledSchema, value: Any, memory: Memory | None = None, *, exact: bool = False
) -> tuple[Any, ...]:
    """What a parse gives, as comparable data: outcome, output with key order, steps, issues."""
    try:
        result = schema.parse(value, memory=memory, raw=exact, clock=1)
        if exact and result.ok:
            result = ParseResult(True, clean_json(result.value), (), result.steps)
    except InterpreterError as error:
        return ("refused", error.code)
    issues = [(issue.code, issue.path, issue.message) for issue in result.issues]
    return (result.ok, text(encode(result.value)), result.steps, issues)


def random_schema(random: Random) -> CompiledSchema | None:
    """A random schema, or None where the text makes none."""
    try:
        return compile_declaration(f"export const Schema = {Schemas(random).schema(3)};")
    except DeclarationError:
        return None


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_three_ways_agree(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    if schema is None:
        return
    values = Values(random)
    memory = Memory()
    for _ in range(4):
        value = values.value(3)
        before = copy.deepcopy(value)
        expected = outcome(schema, value, exact=True)
        assert outcome(schema, value) == expected, schema.source
        assert outcome(schema, value) == expected, schema.source
        for _ in range(2):
            assert outcome(schema, value, memory) == expected, schema.source
            memory.accept()
        assert text(encode(value)) == text(encode(before)), "the input was changed"


def _change(random: Random, value: Any, memory: Memory, values: Values) -> Any:
    """The value with one leaf or entry replaced by path copying, hints given."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        key: Any = random.choice(list(value))
        made: Any = dict(value)
    elif isinstance(value, list) and value and random.random() < 0.85:
        key = random.randrange(len(value))
        made = list(value)
    else:
        return values.value(1)
    made[key] = _change(random, value[key], memory, values)
    memory.hint(made, value, key)
    return made


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_incremental_parse_equals_full_parse(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    if schema is None:
        return
    values, memory = Values(random), Memory()
    state: Any = values.value(3)
    outcome(schema, state, memory)
    memory.accept()
    for _ in range(12):
        kept = text(encode(state))
        candidate = _change(random, state, memory, values)
        found = outcome(schema, candidate, memory)
        assert found == outcome(schema, copy.deepcopy(candidate), exact=True), schema.source
        assert text(encode(state)) == kept, "an old state was changed"
        if found[0] is True and random.random() < 0.8:
            state = schema.parse(candidate, memory=memory, clock=1).value
            memory.accept()
        else:
            memory.reject()


def test_one_changed_leaf_keeps_the_rest() -> None:
    schema, memory = compile_declaration(DECLARATION), Memory()
    state = schema.parse(DATA, memory=memory).value
    memory.accept()
    assert schema.parse(state, memory=memory).value is state
    memory.accept()
    people = state["人物"]
    name = next(iter(people))
    for turn in range(50):
        person = {**people[name], "好感": turn}
        changed = {**people, name: person}
        after = {**state, "人物": changed}
        memory.hint(person, people[name], "好感")
        memory.hint(changed, people, name)
        memory.hint(after, state, "人物")
        result = schema.parse(after, memory=memory)
        assert result.value is after
        assert result.steps == schema.parse(copy.deepcopy(after), raw=True).steps
        memory.accept()
        state, people = after, changed
    count = len(memory)
    schema.parse(state, memory=memory)
    assert len(memory) == count, "the memory grows although nothing changed"


def test_a_clamp_that_fires_is_a_fix_point_afterwards() -> None:
    schema = compile_declaration(
        "export const Schema = z.object({ a: z.object({ n: z.number().transform(v => _.clamp(v, 0, 9)) }) });"
    )
    memory = Memory()
    state = schema.parse({"a": {"n": 1}}, memory=memory).value
    memory.accept()
    inner = {**state["a"], "n": 50}
    after = {**state, "a": inner}
    memory.hint(inner, state["a"], "n")
    memory.hint(after, state, "a")
    result = schema.parse(after, memory=memory)
    assert result.value == {"a": {"n": 9}}
    memory.accept()
    assert schema.parse(result.value, memory=memory).value is result.value


def test_what_reads_the_clock_is_not_remembered() -> None:
    schema = compile_declaration("export const Schema = z.object({ a: z.any().transform(v => Date.now()) });")
    memory, value = Memory(), {"a": 5}
    assert schema.parse(value, clock=5, memory=memory).value == {"a": 5}
    memory.accept()
    assert schema.parse(value, clock=6, memory=memory).value == {"a": 6}


def test_non_idempotent_transform_runs_every_time() -> None:
    schema = compile_declaration("export const Schema = z.object({ n: z.number() }).transform(d => ({ n: d.n + 1 }));")
    memory = Memory()
    state: Any = {"n": 0}
    for expected in range(1, 5):
        state = schema.parse(state, memory=memory).value
        memory.accept()
        assert state == {"n": expected}


@pytest.mark.parametrize("size", [100, 200, 400, 800])
def test_steps_grow_linearly(size: int) -> None:
    """Twice the input, twice the steps, for validation and for author functions."""
    schema = compile_declaration(
        "export const Schema = z.object({ list: z.array(z.object({ n: z.coerce.number() })).transform(a => a.map(x => x.n)),"
        " map: z.record(z.string(), z.string().min(1)).transform(r => _.pickBy(r, v => v !== 'x')) });"
    )

    def steps(count: int) -> int:
        value = {"list": [{"n": i} for i in range(count)], "map": {f"k{i}": "v" for i in range(count)}}
        return schema.parse(value).steps

    small, large = steps(size), steps(2 * size)
    assert 1.8 < large / small < 2.1


@pytest.mark.parametrize("mode", ["z.looseObject", "z.strictObject", "z.object"])
def test_an_unknown_key_beside_a_filled_one_is_seen(mode: str) -> None:
    """As many keys before as after: the unknown one must not pass for the one that a prefault fills."""
    schema = compile_declaration(f"export const Schema = {mode}({{ a: z.string().prefault('x') }});")
    outcomes = [schema.parse({"b": 1}, memory=memory) for memory in (None, Memory(), Memory())]
    kept = {"z.looseObject": {"a": "x", "b": 1}, "z.object": {"a": "x"}}.get(mode)
    assert [(one.ok, one.value) for one in outcomes] == [(kept is not None, kept)] * 3


def test_a_schema_that_outruns_its_budget_is_left_to_the_exact_parser() -> None:
    """What the generated parsers keep of an exponential schema is huge: it must not grow with every parse."""
    source = (
        "let s = z.object({}).prefault({}); for (let i = 0; i < 30; i++) s = z.object({ l: s, r: s }).prefault({}); "
        "export const Schema = s;"
    )
    schema = compile_declaration(source)
    for _ in range(4):
        with pytest.raises(BudgetExceeded):
            schema.parse({}, clock=0)
    assert schema._exhausted
    assert schema._generator is None
