"""Properties of the dialect: sharing never mutates, schemas step by step, texts read back."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interpreter import Memory, compile_declaration
from runtime.mvu import envelope
from runtime.mvu.apply import apply_commands
from runtime.mvu.commands import Command, parse_commands
from runtime.mvu.commands.magvarupdate.commands import LooseCommand
from runtime.mvu.commands.magvarupdate.engine import Engine, Instruction
from runtime.mvu.commands.magvarupdate.reading import read_value
from runtime.mvu.commands.magvarupdate.repair import RepairFault, read_repaired
from runtime.mvu.commands.magvarupdate.scan import find, split_arguments
from runtime.mvu.commands.magvarupdate.schema import Deriver, strip
from runtime.mvu.commands.magvarupdate.text import parse_text
from runtime.mvu.commands.magvarupdate.values import as_json
from runtime.mvu.commands.magvarupdate.yaml_text import read_yaml
from runtime.mvu.yaml_writing import yaml_text
from runtime.values.copying import delete_in, insert_in, set_in
from runtime.values.patch import diff
from runtime.values.paths import parse_pointer

KEYS = st.sampled_from(["a", "b", "c", "甲", "x y", "0", "n"])
SCALARS = (
    st.none() | st.booleans() | st.integers(-50, 50) | st.sampled_from(["", "5", "text", "文", "2030-01-01", "$x"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
STATES = st.dictionaries(KEYS, VALUES, max_size=4)
PATHS = st.lists(KEYS | st.sampled_from(["0", "1", "-"]), min_size=1, max_size=3).map(".".join)


@st.composite
def instructions(draw: st.DrawFn) -> Instruction:
    kind = draw(st.sampled_from(["set", "add", "insert", "delete", "move"]))
    path = draw(PATHS)
    value = json.dumps(draw(VALUES))
    if kind == "delete":
        return Instruction(kind, draw(st.sampled_from([(path,), (path, value)])))
    if kind == "insert":
        key = draw(st.sampled_from(["'a'", "'-'", "0", "-1", "'new'"]))
        return Instruction(kind, draw(st.sampled_from([(path, value), (path, key, value)])))
    return Instruction(kind, (path, str(draw(st.integers(-9, 9))) if kind == "add" else value), draw(st.just("r")))


BATCHES = st.lists(instructions(), max_size=6)
MARKS = st.sampled_from([{}, {"$meta": {"extensible": True}}, {"$meta": {"recursiveExtensible": True}}])


@settings(max_examples=150, deadline=None)
@given(STATES, MARKS, BATCHES)
def test_application_never_mutates_and_steps_agree(state: dict[str, Any], marks: dict[str, Any], batch: Any) -> None:
    marked = {**marks, **state}
    schema, data = Deriver().root(marked), strip(marked)
    before, schema_before = copy.deepcopy(data), copy.deepcopy(schema)
    whole = Engine(data, schema).run(batch)
    fitting = Engine(data, schema, schema_fits=True).run(batch)
    assert data == before and json.dumps(data) == json.dumps(before)
    assert schema == schema_before
    assert json.dumps(as_json(whole.stat_data)[0]) == json.dumps(as_json(fitting.stat_data)[0])
    assert whole.schema == fitting.schema
    for done in whole.done:
        if done.refusal:
            assert done.refusal.message


@settings(max_examples=100, deadline=None)
@given(STATES, BATCHES)
def test_changes_lead_from_before_to_after(state: dict[str, Any], batch: Any) -> None:
    data = {"$meta": {"recursiveExtensible": True}, **state}
    text = "\n".join(f"_.{item.type}('{item.args[0]}', {', '.join(item.args[1:])});" for item in batch if item.args[1:])
    variables = envelope.normalise({"stat_data": data})
    result = apply_commands(variables, parse_commands(text, dialect="magvarupdate").commands, dialect="magvarupdate")
    root = variables["stat_data"]
    for change in diff(root, result.variables["stat_data"]):
        path = parse_pointer(change["path"])
        if change["op"] == "remove":
            root = delete_in(root, path)
        elif change["op"] == "add":
            root = insert_in(root, path, change["after"])
        else:
            root = set_in(root, path, change["after"])
    assert root == result.variables["stat_data"]


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_json_texts_read_as_themselves(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert read_value(text) == value
    if isinstance(value, dict | list):
        assert parse_text(text) == value
        assert read_repaired(text) == value


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=3) | st.lists(VALUES, max_size=3))
def test_yaml_reads_back(value: Any) -> None:
    assert read_yaml(yaml_text(value), initial=True) == value


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="[]{}\"',:a1\\ \n/*+-_.…“”", max_size=40))
def test_repair_answers_or_refuses(text: str) -> None:
    try:
        json.dumps(read_repaired(text))
    except RepairFault as fault:
        assert "line" in str(fault)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["'a'", '"b c"', "1", " ", ",", "x", "'", "\\", "(", ")", "[", "\n"]), max_size=9).map(
        "".join
    )
)
def test_usual_calls_read_as_any_other(text: str) -> None:
    call = f"_.set({text});"
    for found in find(call).commands:
        if found.start == 0 and len(found.full_match) == len(call):
            assert found.args == split_arguments(text)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="_.set(addremov)'\"`;, a1{}[]\\/\n<JSONPatch>", max_size=60))
def test_every_scan_has_ordered_places_inside_the_text(text: str) -> None:
    found = parse_commands(text, dialect="magvarupdate")
    places = [(item.start, item.end) for item in found.commands] + [(item.start, item.end) for item in found.ignored]
    for start, end in places:
        assert 0 <= start <= end <= len(text)
    assert [item.start for item in found.commands] == sorted(item.start for item in found.commands)


@settings(max_examples=100, deadline=None)
@given(STATES, BATCHES, BATCHES)
def test_two_replies_equal_one_after_the_other(state: dict[str, Any], one: Any, other: Any) -> None:
    joined = Engine(state).run([*one, *other])
    first = Engine(state).run(one)
    second = Engine(first.stat_data).run(other)
    # Without a schema nothing but the schema remembers what stood before.
    if all(item.type in ("set", "add") for item in [*one, *other]):
        assert json.dumps(as_json(joined.stat_data)[0]) == json.dumps(as_json(second.stat_data)[0])


DECLARATION = """\
import { registerMvuSchema } from 'https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js';
export const Schema = z.object({
  a: z.coerce.number().transform(v => _.clamp(v, 0, 20)).prefault(1),
  b: z.record(z.string(), z.union([z.number(), z.string()])).prefault({}),
  c: z.array(z.any()).transform(l => l.slice(-4)).prefault([]),
  n: z.any().optional(),
});
$(() => {
  registerMvuSchema(Schema);
});
"""


@settings(max_examples=60, deadline=None)
@given(st.lists(BATCHES, min_size=1, max_size=3))
def test_remembered_results_change_nothing_under_a_declaration(replies: list[list[Instruction]]) -> None:
    schema = compile_declaration(DECLARATION)
    start = schema.parse({"b": {"x": 1}, "c": [1, {"k": 2}]}).value
    memory = Memory()
    states = [envelope.normalise({"stat_data": start, "mvu_schema": schema.descriptor()})] * 2
    for batch in replies:
        commands = [Command(at, _kind(item), (), source="") for at, item in enumerate(batch)]
        loose = [_with(command, item) for command, item in zip(commands, batch, strict=True)]
        outcomes = [
            apply_commands(states[0], loose, schema, dialect="magvarupdate", memory=memory),
            apply_commands(copy.deepcopy(states[1]), loose, schema, dialect="magvarupdate"),
        ]
        states = [outcome.variables for outcome in outcomes]
        assert json.dumps(states[0]["stat_data"]) == json.dumps(states[1]["stat_data"])
        assert [receipt.status for receipt in outcomes[0].receipts] == [
            receipt.status for receipt in outcomes[1].receipts
        ]
        assert schema.parse(states[0]["stat_data"]).ok


def _kind(item: Instruction) -> Any:
    return item.type


def _with(command: Command, item: Instruction) -> Command:
    loose = LooseCommand(*command)
    loose.instruction = item._replace(args=(*item.args, item.args[0]) if item.type == "move" else item.args)
    return loose
