"""Scenarios of spec/mvu.md §12 that need no declaration: A (adapter), E36, G (greeting), J and K of the native rules."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import interpreter
from runtime.mvu import envelope, greeting, initvar
from runtime.mvu.apply import ApplyError
from runtime.mvu.commands import CommandError, parse_commands
from runtime.values.rows import InnkeeperError
from tests.mvu.strict_help import OPEN, apply_text, codes, data_after, patch_text, state


def test_scenario_001_patch_and_calls_in_one_reply() -> None:
    data = {"hp": 100, "name": "John", "energy": [20, "energy"], "bag": []}
    kept = copy.deepcopy(data)
    text = patch_text({"op": "delta", "path": "/hp", "value": -3})
    text += "_.set('name', 'a );b'); _.set('hp', 97, 80); _.add('energy', -2); _.insert('bag', 'rope');//found"
    applied = apply_text(data, text)
    assert data_after(applied) == {"hp": 80, "name": "a );b", "energy": [18, "energy"], "bag": ["rope"]}
    assert data == kept
    assert codes(applied) == []


ARITHMETIC = pytest.mark.skipif(
    not hasattr(interpreter, "evaluate_arithmetic"), reason="the interpreter offers no arithmetic yet"
)


@ARITHMETIC
def test_scenario_002_values_are_never_code() -> None:
    with pytest.raises(InnkeeperError) as caught:
        parse_commands("_.set('hp', process.exit())")
    assert caught.value.code == "MVU_SCHEMA_CODE"
    assert data_after(apply_text({"hp": 1}, "_.set('hp', 1 + 2)")) == {"hp": 3}


def test_scenario_002_unterminated_calls() -> None:
    with pytest.raises(InnkeeperError, match="unterminated") as caught:
        parse_commands("_.set('hp', (1 + 2)")
    assert caught.value.code == "MVU_PARSE"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("_.set('__proto__.x', 1)", "MVU_PATH"),
        ("_.insert('bag', 'constructor', 1)", "MVU_PATH"),
        (patch_text({"op": "copy", "from": "/a", "path": "/b"}), "MVU_UNSUPPORTED"),
    ],
)
def test_scenario_003_unsafe_paths_and_unknown_operations(text: str, code: str) -> None:
    with pytest.raises(InnkeeperError) as caught:
        parse_commands(text)
    assert caught.value.code == code


def test_scenario_004_refused_commands_do_not_stop_the_batch() -> None:
    applied = apply_text({"hp": 100}, "_.set('hp', 70); _.set('missing', 1)")
    assert data_after(applied) == {"hp": 70}
    assert codes(applied) == [(1, "MVU_PATH_MISSING")]
    assert codes(apply_text({"hp": 100}, "_.delete('hp')")) == [(0, "MVU_SCHEMA")]
    assert codes(apply_text({"hp": 100}, "_.insert('', 'new', 1)")) == [(0, "MVU_SCHEMA")]


def test_scenario_005_fatal_values_and_indexes() -> None:
    with pytest.raises(ApplyError) as caught:
        apply_text({"hp": 100}, "_.set('hp', 'NaN')")
    assert caught.value.code == "MVU_JSON"
    with pytest.raises(ApplyError) as caught:
        apply_text({"bag": []}, "_.insert('bag', 99, 'rope')")
    assert caught.value.code == "MVU_PATH"
    schema = {"type": "object", "extensible": True, "properties": {}, "template": {}}
    assert state({"hp": 1}, schema=schema)["schema"]["template"] == {}


def test_scenario_006_pointers() -> None:
    data = {"$meta": OPEN, "a/b": 1, "obj": {"x": 1}, "arr": ["a", "b"]}
    applied = apply_text(
        data,
        patch_text(
            {"op": "replace", "path": "/a~1b", "value": 2},
            {"op": "move", "from": "/obj/x", "path": "/obj/y"},
            {"op": "add", "path": "/arr/-", "value": "c"},
            {"op": "remove", "path": "/arr/0"},
        ),
    )
    assert data_after(applied) == {"a/b": 2, "obj": {"y": 1}, "arr": ["b", "c"]}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('<JSONPatch>[{"op":"replace","path":"/hp":3}]</JSONPatch>', "MVU_PARSE"),
        ('<JSONPatch>[{"op":"copy","path":"/hp","from":"/x"}]</JSONPatch>', "MVU_UNSUPPORTED"),
        ('<JSONPatch>[{"op":"replace","path":"/__proto__","value":1}]</JSONPatch>', "MVU_PATH"),
        ("x" * 1_048_577, "MVU_LIMIT"),
    ],
)
def test_scenario_036_codes_of_the_reader(text: str, code: str) -> None:
    with pytest.raises(InnkeeperError) as caught:
        parse_commands(text)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("data", "text", "expected"),
    [
        pytest.param({"name": "John"}, "_.set('name', 'John', 'Jane');//r", {"name": "Jane"}, id="scenario_060"),
        pytest.param({"时间": "08:00"}, '_.set("时间", "09:15");', {"时间": "09:15"}, id="scenario_061"),
        pytest.param(
            {"o": {"arr": [1], "s": ""}},
            "_.set('o', {arr: [3, 4], s: 'a ] b }'});",
            {"o": {"arr": [3, 4], "s": "a ] b }"}},
            id="scenario_062",
        ),
    ],
)
def test_fixtures(data: dict[str, Any], text: str, expected: dict[str, Any]) -> None:
    assert data_after(apply_text(data, text)) == expected


def test_scenario_063_malformed_initial_variables() -> None:
    with pytest.raises(InnkeeperError) as caught:
        initvar.load_initvar(["hp: [1"])
    assert caught.value.code == "MVU_INITIALIZATION_INVALID"
    assert caught.value.details["line"] == 2
    assert initvar.load_initvar(["hp: [1]"]) == {"hp": [1]}


GREETING = (
    "<script>_.get(data, 'hp')</script>\n<UpdateVariable>\n_.set('hp', 80);\n_.insert('records', 'start', 1);\n"
    "</UpdateVariable>"
)


def test_scenario_064_greeting_envelopes() -> None:
    variables = state({"hp": 100, "records": {"$meta": {"extensible": True}}})
    after = greeting.initialise(GREETING, variables)
    assert after["stat_data"] == {"hp": 80, "records": {"start": 1}}
    assert greeting.initialise("Good morning.", variables) is variables
    assert greeting.initialise(GREETING, None) is None
    fenced = '<UpdateVariable>\n```json\n[{"op":"replace","path":"/hp","value":70}]\n```\n</UpdateVariable>'
    assert greeting.initialise(fenced, variables)["stat_data"]["hp"] == 70


@pytest.mark.parametrize(
    "text",
    [
        "<UpdateVariable>_.insert('', 'new', 1)</UpdateVariable>",
        "<UpdateVariable>_.set('name', 5)</UpdateVariable>",
        "<UpdateVariable>_.set('hp', 1)",
        "_.set('hp', 1)</UpdateVariable>",
        "<UpdateVariable><JSONPatch>[]</UpdateVariable></JSONPatch>",
    ],
)
def test_scenario_065_greetings_apply_as_a_whole_or_not_at_all(text: str) -> None:
    variables = state({"hp": 100, "name": "x"})
    kept = copy.deepcopy(variables)
    with pytest.raises(InnkeeperError) as caught:
        greeting.initialise(text, variables)
    assert caught.value.code == "MVU_INITIALIZATION_INVALID"
    assert variables == kept


def test_scenario_070_budget_of_one_state() -> None:
    with pytest.raises(InnkeeperError) as caught:
        state({"text": "x" * (1100 * 1024)})
    assert caught.value.code == "MVU_LIMIT"
    with pytest.raises(ApplyError) as caught_apply:
        # the text itself fits a reply, the state that holds it does not fit the budget
        apply_text({"text": "x" * (700 * 1024), "more": ""}, f"_.set('more', '{'y' * (500 * 1024)}')")
    assert caught_apply.value.code == "MVU_LIMIT"


def test_scenario_079_aliases_and_tags() -> None:
    for text in ("x: &x [*x]", "x: !!js/function 'function(){}'"):
        with pytest.raises(InnkeeperError) as caught:
            initvar.load_initvar([text])
        assert caught.value.code == "MVU_INITIALIZATION_INVALID"


def test_scenario_080_infinities() -> None:
    with pytest.raises(InnkeeperError) as caught:
        parse_commands("_.set('x', {value:Infinity})")
    assert caught.value.code == "MVU_JSON"


def test_scenario_090_length_of_an_array() -> None:
    with pytest.raises(ApplyError) as caught:
        apply_text({"bag": []}, "_.set('bag.length', 20000)")
    assert caught.value.code == "MVU_PATH"


@pytest.mark.parametrize("index", ["length", "-1", "0.5", "01", "1e3", "９"])
def test_scenario_092_indexes(index: str) -> None:
    data = {"$meta": OPEN, "bag": ["rope", "potion"]}
    kept = copy.deepcopy(data)
    with pytest.raises(ApplyError) as caught:
        apply_text(data, patch_text({"op": "remove", "path": f"/bag/{index}"}))
    assert caught.value.code == "MVU_PATH"
    assert data == kept


def test_scenario_093_missing_index() -> None:
    data = {"$meta": OPEN, "bag": ["rope", "potion"]}
    applied = apply_text(data, patch_text({"op": "remove", "path": "/bag/99"}))
    assert applied.variables["update_diagnostics"] == [{"command": 0, "code": "MVU_PATH_MISSING"}]
    assert data_after(applied)["bag"] == ["rope", "potion"]
    assert data_after(apply_text(data, patch_text({"op": "remove", "path": "/bag/0"}))) == {"bag": ["potion"]}


def test_scenario_094_insert_beyond_the_end() -> None:
    data = {"$meta": OPEN, "bag": ["rope", "potion"]}
    with pytest.raises(ApplyError) as caught:
        apply_text(data, patch_text({"op": "insert", "path": "/bag/99", "value": 1}))
    assert caught.value.code == "MVU_PATH"
    assert data["bag"] == ["rope", "potion"]


def test_scenario_119_metadata_in_the_data() -> None:
    data = {
        "$meta": {"extensible": True, "required": ["hp"]},
        "hp": 10,
        "bag": [{"$arrayMeta": True, "$meta": {"template": {"count": 1, "label": "new"}}}],
        "labels": ["a", "b", "$__META_EXTENSIBLE__$"],
    }
    applied = apply_text(data, "_.insert('bag', {label: 'rope'}); _.remove('labels', 'a'); _.remove('hp')")
    assert data_after(applied) == {"hp": 10, "bag": [{"count": 1, "label": "rope"}], "labels": ["b"]}
    assert codes(applied) == [(2, "MVU_SCHEMA")]
    with pytest.raises(ApplyError) as caught:
        apply_text(data, patch_text({"op": "remove", "path": "/labels/length"}))
    assert caught.value.code == "MVU_PATH"


def test_scenario_242_unsafe_parts_anywhere_in_a_path() -> None:
    for path in ("new.__proto__.x", "new.constructor.x", "new.prototype.x"):
        with pytest.raises(CommandError) as caught:
            parse_commands(f"_.set('{path}', 1)")
        assert caught.value.code == "MVU_PATH"
    with pytest.raises(InnkeeperError) as error:
        envelope.normalise({"stat_data": {"x": float("inf")}})
    assert error.value.code == "MVU_JSON"
