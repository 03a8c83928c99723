"""Scenarios of spec/mvu.md §12 under a declaration: J, K114, L134-L135, R238-R243."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from interpreter import CompiledSchema, DeclarationError, Memory, compile_declaration
from interpreter.errors import InterpreterError
from runtime.mvu import envelope, greeting, initvar
from runtime.mvu.apply import Applied, ApplyError, apply_commands
from runtime.mvu.commands import parse_commands
from runtime.mvu.commands.read import read_value
from runtime.values.bounds import check_json
from runtime.values.rows import InnkeeperError
from tests.mvu.strict_help import codes, data_after, patch_text

HP = "const Schema = z.object({hp: z.number().min(0)});"


def declare(source: str, version: int = 2) -> CompiledSchema:
    return compile_declaration(source, version)


def guarded(data: dict[str, Any], schema: CompiledSchema) -> dict[str, Any]:
    return envelope.normalise({"stat_data": data, "mvu_schema": schema.descriptor()})


def run(data: dict[str, Any], source: str, text: str, version: int = 2, profile: str = "default") -> Applied:
    schema = compile_declaration(source, version, profile=profile)
    variables = guarded(data, schema)
    kept = copy.deepcopy(variables)
    outcomes = [
        apply_commands(variables, parse_commands(text).commands, schema, clock=0, memory=memory)
        for memory in (None, Memory())
    ]
    assert variables == kept
    assert outcomes[0].variables == outcomes[1].variables
    return outcomes[0]


TICKS = "const Schema = z.object({ticks: z.number(), hp: z.number()}).transform(v => ({...v, ticks: v.ticks + 1}));"


def test_scenario_085_no_commands_no_transform() -> None:
    assert data_after(run({"ticks": 0, "hp": 10}, TICKS, "nothing happens")) == {"ticks": 0, "hp": 10}


def test_scenario_086_each_accepted_command_transforms_once() -> None:
    assert data_after(run({"ticks": 0, "hp": 10}, TICKS, "_.set('hp', 9)")) == {"ticks": 1, "hp": 9}


def test_scenario_087_a_refused_value_is_one_diagnostic() -> None:
    applied = run({"hp": 10}, HP, "_.set('hp', 9); _.set('hp', -1); _.set('hp', 8)")
    assert data_after(applied) == {"hp": 8}
    assert codes(applied) == [(1, "MVU_SCHEMA")]
    (refused,) = [receipt.to_json() for receipt in applied.receipts if receipt.status == "refused"]
    assert refused["issues"][0]["path"] == ["hp"]


BAG = "const Schema = z.object({hp: z.number(), bag: z.array(z.number())});"


def test_scenario_088_089_118_too_many_items_end_the_batch() -> None:
    items = ",".join(["1"] * 10_020)
    with pytest.raises(ApplyError) as caught:
        run({"hp": 10, "bag": []}, BAG, f"_.set('hp', 9); _.set('bag', [{items}])", profile="reference")
    assert caught.value.code == "MVU_LIMIT"
    assert [receipt.status for receipt in caught.value.receipts] == ["refused", "refused"]


def test_scenario_090_length_under_a_declaration() -> None:
    with pytest.raises(ApplyError) as caught:
        run({"hp": 1, "bag": []}, BAG, "_.set('bag.length', 20000)")
    assert caught.value.code == "MVU_PATH"


def test_scenario_091_a_descriptor_holds_the_source_once() -> None:
    for count in (4, 6, 8):
        helpers = "".join(f"const f{n} = (v) => v + {n};" for n in range(count))
        chain = "".join(f".transform(f{n})" for n in range(count))
        source = f"{helpers} const Schema = z.object({{n: z.number(){chain}}});"
        assert len(str(declare(source).descriptor())) < 3 * len(source)


BAG_TEXTS = "const Schema = z.object({bag: z.array(z.string())});"


@pytest.mark.parametrize("index", ["length", "-1", "0.5", "01"])
def test_scenario_092_indexes_under_a_declaration(index: str) -> None:
    with pytest.raises(ApplyError) as caught:
        run({"bag": ["rope", "potion"]}, BAG_TEXTS, patch_text({"op": "remove", "path": f"/bag/{index}"}))
    assert caught.value.code == "MVU_PATH"


def test_scenario_093_094_array_ends_under_a_declaration() -> None:
    data = {"bag": ["rope", "potion"]}
    missing = run(data, BAG_TEXTS, patch_text({"op": "remove", "path": "/bag/99"}))
    assert (codes(missing), data_after(missing)) == ([(0, "MVU_PATH_MISSING")], data)
    assert data_after(run(data, BAG_TEXTS, patch_text({"op": "remove", "path": "/bag/0"}))) == {"bag": ["potion"]}
    with pytest.raises(ApplyError) as caught:
        run(data, BAG_TEXTS, patch_text({"op": "insert", "path": "/bag/99", "value": "x"}))
    assert caught.value.code == "MVU_PATH"


def test_scenario_114_add_transforms_once() -> None:
    source = "const Schema = z.object({hp: z.number().transform(v => v + 1)});"
    assert data_after(run({"hp": 1}, source, "_.add('hp', 1)")) == {"hp": 3}


def test_scenario_134_values() -> None:
    assert read_value("{list:[1,2,], enabled:true}") == {"list": [1, 2], "enabled": True}
    assert read_value("player:\n  name: Ada\n  hp: 10\n") == {"player": {"name": "Ada", "hp": 10}}
    assert read_value("Math.floor(10 / 3) + sqrt(16)") == 7
    assert read_value("2 ^ 3") == 8
    assert read_value("`Hello ${name}`") == "Hello ${name}"
    assert read_value("0.1 + 0.2") == 0.3
    assert read_value("2024-01-02") == 2021
    for text in ("process.exit()", "!!js/function x", "*alias", "1 / 0", "a/b"):
        with pytest.raises(InnkeeperError):
            read_value(text)


COMPOSITE = """
import { registerMvuSchema } from 'https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js';
const Item = z.object({score: z.coerce.number().transform(v => _.clamp(v, 0, 100)), label: z.string().prefault('')})
  .transform(v => ({...v, label: v.score >= 80 ? 'high' : 'low'}));
const Schema = z.object({
  day: z.number().prefault(1),
  weather: z.enum(['clear', 'rain']).prefault('clear'),
  items: z.record(z.string(), Item),
  player: z.object({xp: z.number(), level: z.number().prefault(1)})
    .transform(v => ({...v, level: v.level + Math.floor(v.xp / 100), xp: v.xp % 100})),
  bag: z.array(z.string()).prefault([]),
});
$(() => { registerMvuSchema(Schema); });
"""


def test_scenario_135_a_composite_declaration() -> None:
    schema = declare(COMPOSITE)
    first = schema.parse({"items": {"a": {"score": "150"}}, "player": {"xp": 230}}, clock=0)
    assert first.ok
    assert first.value == {
        "day": 1,
        "weather": "clear",
        "items": {"a": {"score": 100, "label": "high"}},
        "player": {"xp": 30, "level": 3},
        "bag": [],
    }
    applied = run(first.value, COMPOSITE, "_.set('items.a.score', -1); _.add('player.xp', 80); _.set('weather', 'fog')")
    data = data_after(applied)
    assert data["items"] == {"a": {"score": 0, "label": "low"}}
    assert data["player"] == {"xp": 10, "level": 4}
    assert codes(applied) == [(2, "MVU_SCHEMA")]


GROUPS = """const Schema = z.object({groups: z.record(z.string(), z.object({
  people: z.record(z.string(), z.object({hp: z.number()}).strict()).optional()}).strict())});"""


def test_scenario_238_set_creates_what_is_missing() -> None:
    applied = run({"groups": {}}, GROUPS, "_.set('groups.new.people.Ada.hp', 10)")
    assert data_after(applied) == {"groups": {"new": {"people": {"Ada": {"hp": 10}}}}}
    refused = run({"groups": {}}, GROUPS, "_.set('groups.new.extra', 1)")
    assert (codes(refused), data_after(refused)) == ([(0, "MVU_SCHEMA")], {"groups": {}})


PEOPLE = """const Schema = z.object({people: z.record(z.string(), z.object({hp: z.number()})).optional(),
  bag: z.array(z.object({name: z.string()})).optional()});"""


def test_scenario_239_insert_tries_an_object_then_an_array() -> None:
    text = (
        "_.insert('people', 'Ada', {hp: 10}); _.insert('bag', {name: 'rope'}); _.insert('bag', '-', {name: 'potion'})"
    )
    applied = run({}, PEOPLE, text)
    assert codes(applied) == []
    assert data_after(applied) == {"people": {"Ada": {"hp": 10}}, "bag": [{"name": "rope"}, {"name": "potion"}]}


def test_scenario_240_transforms_run_once_while_choosing() -> None:
    source = """const Schema = z.object({bag: z.array(z.object({ticks: z.number()})
      .transform(v => ({ticks: v.ticks + 1}))).optional()});"""
    assert data_after(run({}, source, "_.insert('bag', {ticks: 0})")) == {"bag": [{"ticks": 1}]}
    shallow = "const Schema = z.object({bag: z.record(z.string(), z.any())});"
    applied = run({"bag": {"old": {"a": 1, "b": 2}}}, shallow, "_.insert('bag', {old: {a: 3}})")
    assert data_after(applied) == {"bag": {"old": {"a": 3}}}


def test_scenario_241_coercion_is_the_declarations() -> None:
    plain = run({"hp": 1}, "const Schema = z.object({hp: z.number()});", "_.set('hp', '2')")
    assert (codes(plain), data_after(plain)) == ([(0, "MVU_SCHEMA")], {"hp": 1})
    assert data_after(run({"hp": 1}, "const Schema = z.object({hp: z.coerce.number()});", "_.set('hp', '2')")) == {
        "hp": 2
    }
    missing = run({}, "const Schema = z.object({hp: z.number().optional()});", "_.add('hp', 1)")
    assert codes(missing) == [(0, "MVU_PATH_MISSING")]


def test_scenario_242_bounds_of_created_paths() -> None:
    source = "const Schema = z.object({xs: z.array(z.any()).optional(), text: z.any()});"
    for text, code in (
        ("_.set('xs.1000000000', 1)", "MVU_PATH"),
        ("_.set('xs.1', 1)", "MVU_PATH"),
        (patch_text({"op": "replace", "path": "/a" * 65, "value": 1}), "MVU_LIMIT"),
    ):
        with pytest.raises(ApplyError) as caught:
            run({}, source, text)
        assert caught.value.code == code
    with pytest.raises(ApplyError) as caught:
        run({"text": "x" * 700_000}, "const Schema = z.object({}).passthrough();", f"_.set('more', '{'y' * 500_000}')")
    assert caught.value.code == "MVU_LIMIT"


def test_what_an_edit_can_store_can_take_a_command() -> None:
    applied = run(
        {"text": "x" * 1_000_000}, "const Schema = z.object({text: z.any()});", f"_.set('text', '{'y' * 900_000}')"
    )
    served = applied.served()
    assert served["display_data"] == {"text": "y" * 900_000}
    assert served["delta_data"] == {"text": {"omitted": True}}
    check_json(served)


def test_scenario_243_version_1_keeps_the_old_path_rules() -> None:
    source = "const Schema = z.object({hp: z.number()});"
    applied = run({"hp": 1}, source, "_.set('hp', '7'); _.set('missing', 1)", version=1)
    assert data_after(applied) == {"hp": 7}
    assert codes(applied) == [(1, "MVU_PATH_MISSING")]


CARD = """const Schema = z.object({day: z.number().prefault(1), hp: z.number().prefault(80),
  name: z.string(), box: z.strictObject({a: z.number().prefault(0)}).prefault({})});"""


def test_scenario_063_initial_variables_and_prefaults() -> None:
    schema = declare(CARD)
    found = schema.parse(initvar.load_initvar(["name: Player"]), clock=0)
    assert found.ok
    assert found.value == {"day": 1, "hp": 80, "name": "Player", "box": {"a": 0}}


@pytest.mark.parametrize("command", ["_.set('box.extra', 1)", "_.set('hp', 'many')", "_.insert('box', {b: 1})"])
def test_scenario_065_greetings_under_a_declaration(command: str) -> None:
    schema = declare(CARD)
    variables = guarded({"day": 1, "hp": 80, "name": "Player", "box": {"a": 0}}, schema)
    kept = copy.deepcopy(variables)
    with pytest.raises(InnkeeperError) as caught:
        greeting.initialise(f"<UpdateVariable>_.set('day', 2);{command}</UpdateVariable>", variables, schema, clock=0)
    assert caught.value.code == "MVU_INITIALIZATION_INVALID"
    assert variables == kept


def test_greetings_apply_the_declaration_once() -> None:
    schema = declare(TICKS)
    variables = guarded({"ticks": 0, "hp": 1}, schema)
    after = greeting.initialise("<UpdateVariable>_.set('hp', 5)</UpdateVariable>", variables, schema, clock=0)
    assert after["stat_data"] == {"ticks": 1, "hp": 5}


def test_a_state_with_a_declaration_needs_it_compiled() -> None:
    schema = declare(HP)
    with pytest.raises(InnkeeperError) as caught:
        apply_commands(guarded({"hp": 1}, schema), parse_commands("_.set('hp', 2)").commands)
    assert caught.value.code == "MVU_SCHEMA_CODE"


@pytest.mark.parametrize(
    "expression",
    [
        "{n: z.number().transform(v => +ARRAYS)}",
        "{n: z.any().transform(v => ({[ARRAYS]: 1}))}",
        "{n: z.number().min(ARRAYS)}",
        "{n: z.number().max(ARRAYS)}",
    ],
)
def test_scenario_117_deeply_doubled_arrays(expression: str) -> None:
    steps = "".join(f"const a{n + 1} = [a{n}, a{n}];" for n in range(40))
    source = f"const a0 = [1]; {steps} const Schema = z.object({expression.replace('ARRAYS', 'a40')});"
    with pytest.raises(InterpreterError):
        result = declare(source).parse({"n": 1}, clock=0)
        assert result.ok, "an array is neither a number nor a key"


@pytest.mark.parametrize(
    "source",
    [
        "const Schema = z.object({n: z.number().transform(v => { if (false) { fetch('x'); } return v; })});",
        "const Schema = z.object({n: z.number()}); process.exit();",
    ],
)
def test_scenario_117_dead_code_is_checked(source: str) -> None:
    with pytest.raises(DeclarationError):
        declare(source)


def test_a_long_session_remembers_no_more_than_its_state() -> None:
    source = "const Schema = z.object({bag: z.record(z.string(), z.object({n: z.number(), in: z.object({}).prefault({})}))});"
    schema = compile_declaration(source)
    variables, memory = guarded({"bag": {}}, schema), Memory()
    sizes: list[int] = []
    for turn in range(300):
        text = f"_.insert('bag', 'k{turn}', {{n: 1}}); _.delete('bag.k{turn}');"
        variables = apply_commands(variables, parse_commands(text).commands, schema, clock=0, memory=memory).variables
        sizes.append(len(memory))
    assert variables["stat_data"] == {"bag": {}}
    assert max(sizes) < 40
