"""The dialect under the shared entry points: a receipt for everything, nothing half applied (spec/mvu.md §4)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from interpreter import compile_declaration
from runtime.mvu import envelope
from runtime.mvu.apply import Applied, ApplyError, apply_commands, explain
from runtime.mvu.commands import Command, CommandError, Parsed, ParseOptions, parse_commands
from runtime.values.copying import MISSING

DECLARATION = """\
import { registerMvuSchema } from 'https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js';
export const Schema = z.object({
  hp: z.coerce.number().transform(v => _.clamp(v, 0, 100)),
  mood: z.enum(['calm', 'tense']),
  bag: z.record(z.string(), z.number()).prefault({}),
  _secret: z.string().prefault('s'),
});
$(() => {
  registerMvuSchema(Schema);
});
"""


def parsed(text: str, **options: Any) -> Parsed:
    return parse_commands(text, dialect="magvarupdate", options=ParseOptions(**options))


def applied(data: dict[str, Any], text: str) -> tuple[Applied, list[dict[str, Any]]]:
    variables = envelope.normalise({"stat_data": data})
    before = copy.deepcopy(variables)
    found = parsed(text)
    result = apply_commands(variables, found.commands, dialect="magvarupdate")
    assert json.dumps(variables) == json.dumps(before), "the input was mutated"
    return result, explain(result.receipts, found.ignored)


def test_each_line_has_a_status_and_a_place() -> None:
    text = "_.set('a', 2);//why _.set('b', 9);\n_.push('a');\n_.add('b')\n_.set('nope', 1);\n_.add('b', 1, 2);"
    result, lines = applied({"a": 1, "b": 1}, text)
    told = [(line["status"], line.get("reason", ""), line["span"][0]) for line in lines]
    assert told == [
        ("applied", "", 0),
        ("ignored", "inside-reason", text.index("_.set('b'")),
        ("ignored", "unknown-call", text.index("_.push")),
        ("ignored", "missing-semicolon", text.index("_.add('b')")),
        ("refused", "set.path_missing", text.index("_.set('nope'")),
        ("ignored", "argument-count", text.index("_.add('b', 1, 2)")),
    ]
    assert result.variables["stat_data"] == {"a": 2, "b": 1}
    assert result.diagnostics == ({"command": 1, "code": "MVU_PATH_MISSING"},)


def test_refusal_names_the_nearest_path() -> None:
    _, lines = applied({"hero": {"health": 1}}, "_.set('hero.heatlh', 2);")
    assert lines[0]["code"] == "MVU_PATH_MISSING"
    assert lines[0]["nearest"] == "/hero/health"
    assert "/hero/heatlh" in lines[0]["message"]


def test_texts_of_the_upstream_are_served() -> None:
    result, _ = applied({"a": {"b": 1}, "c": 2}, "_.set('a.b', 5);//rain")
    served = result.served()
    assert served["display_data"] == {"a": {"b": "1->5 (rain)"}, "c": 2}
    assert served["delta_data"] == {"a": {"b": "1->5 (rain)"}}
    assert result.changes == ({"path": "/a/b", "op": "replace", "before": 1, "after": 5},)


def test_what_json_cannot_hold_is_stored_as_null_and_said() -> None:
    result, lines = applied({"n": 1}, "_.set('n', 'many');")
    assert result.variables["stat_data"] == {"n": None}
    assert lines[0]["status"] == "applied"
    assert "JSON cannot hold" in lines[0]["note"]


def test_a_letter_of_a_text_makes_it_a_list_without_holes() -> None:
    result, _ = applied({"s": "ab"}, "_.set('s[1]', 'z');")
    assert result.variables["stat_data"] == {"s": [None, "z"]}


def test_metadata_of_the_strict_dialect_is_read() -> None:
    data = {"open": {"$meta": {"extensible": True, "template": {"n": 1}}}, "shut": {"k": 1}}
    result, lines = applied(data, "_.insert('open', 'x', {\"m\":2});_.insert('shut', 'y', 1);")
    assert result.variables["stat_data"] == {"open": {"x": {"n": 1, "m": 2}}, "shut": {"k": 1}}
    assert lines[1]["reason"] == "insert.schema_new_key_in_closed_object"
    again = apply_commands(result.variables, parsed("_.insert('open', 'z', {});").commands, dialect="magvarupdate")
    assert again.variables["stat_data"]["open"]["z"] == {"n": 1}


def test_unsafe_keys_and_deep_values_are_refused() -> None:
    deep = "[" * 70 + "]" * 70
    text = f"_.set('a', {{\"__proto__\": 1}});_.set('a', {deep});_.insert('', 'constructor', 1);_.set('a', 2);"
    result, lines = applied({"$meta": {"extensible": True}, "a": 1}, text)
    assert [line.get("code") for line in lines] == ["MVU_PATH", "MVU_LIMIT", "MVU_PATH", None]
    assert result.variables["stat_data"] == {"a": 2}


def test_a_batch_over_the_budget_keeps_nothing() -> None:
    big = "x" * 600_000
    with pytest.raises(ApplyError) as caught:
        applied({"a": "", "b": big}, f"_.set('a', \"{big}\");")
    assert caught.value.code == "MVU_LIMIT"
    assert [receipt.status for receipt in caught.value.receipts] == ["refused"]


def test_partial_reply_keeps_the_state() -> None:
    whole = '<UpdateVariable>_.set(\'a\', 2);<JSONPatch>[{"op":"replace","path":"/a","value":3}]</JSONPatch></UpdateVariable>'
    for cut in range(1, len(whole)):
        found = parsed(whole[:cut], partial=True)
        assert not found.commands
        assert found.incomplete or cut == 0
    assert len(parsed(whole, partial=True).commands) == 2


def test_reasoning_tags_hide_commands_only_when_asked() -> None:
    text = "<think>_.set('a', 9);\n</think>_.set('a', 2);"
    assert len(parsed(text).commands) == 2
    found = parsed(text, reasoning_tags=("think",))
    assert [command.value for command in found.commands] == [2]
    assert [item.reason for item in found.ignored] == ["reasoning"]


@pytest.mark.parametrize(
    ("text", "repair", "value"),
    [
        ('<JSONPatch>{"op":"replace","path":"/a","value":2}</JSONPatch>', "single_object", 2),
        ('<json-patch lang="x">[{"op":"replace","path":"/a","value":3}]</json-patch>', "tag_spelling", 3),
        ("_.set(“a”, 4);", "smart_quotes", 4),
    ],
)
def test_repairs_are_named_and_switchable(text: str, repair: str, value: int) -> None:
    assert not [command for command in parsed(text).commands if command.path == ("a",)]
    found = parsed(text, repairs=frozenset({repair}))
    assert [(command.path, command.value, command.repairs) for command in found.commands] == [
        (("a",), value, (repair,))
    ]


def test_mended_patches_say_so() -> None:
    found = parsed('<JSONPatch>[{"op":"replace" "path":"/a" "value":2}</JSONPatch>')
    assert [command.repairs for command in found.commands] == [("mended_text",)]


def test_commands_of_helpers_and_cards_run_too() -> None:
    variables = envelope.normalise(
        {"stat_data": {"a.b": 1, "l": [1, {"k": 2}], "$meta": {"recursiveExtensible": True}}}
    )
    commands = [
        Command(0, "set", ("a.b",), value="x y"),
        Command(1, "insert", ("l",), value=3, key=0),
        Command(2, "delete", ("l",), key={"k": 2}),
        Command(3, "add", ("l", "0"), value=4),
    ]
    result = apply_commands(variables, commands, dialect="magvarupdate")
    assert [receipt.status for receipt in result.receipts] == ["applied"] * 4
    assert result.variables["stat_data"] == {"a.b": None, "l": [7, 1]}


def test_normalised_forms_read_as_the_same_command() -> None:
    text = (
        "_.set('a.b', 1, 2);//r\n_.insert(c, 'k', {x: 'y'});_.remove(l, \"v\");"
        '<JSONPatch>[{"op":"move","from":"/a","path":"/b~1c"},{"op":"add","path":"/x/-","value":"</b>"}]</JSONPatch>'
    )
    for command in parsed(text).commands:
        again = parsed(command.normalised()).commands
        assert len(again) == 1
        assert again[0][1:7] == command[1:7]


def _declared(text: str) -> tuple[Applied, list[dict[str, Any]]]:
    schema = compile_declaration(DECLARATION)
    data = {"hp": 50, "mood": "calm", "bag": {"rope": 1}, "_secret": "s"}
    variables = envelope.normalise({"stat_data": data, "mvu_schema": schema.descriptor()})
    found = parsed(text)
    result = apply_commands(variables, found.commands, schema, dialect="magvarupdate")
    return result, explain(result.receipts, found.ignored)


def test_declaration_guards_each_command() -> None:
    text = (
        "_.set('hp', 500);_.set('mood', 'wild');_.set('_secret', 'x');_.add('hp', '-10');_.set('mood', 'tense');"
        '<JSONPatch>[{"op":"move","from":"/bag/rope","path":"/bag/line"}]</JSONPatch>'
    )
    result, lines = _declared(text)
    assert [line["status"] for line in lines] == ["applied", "refused", "refused", "applied", "applied", "applied"]
    assert lines[1]["issues"]
    assert lines[2]["reason"] == "companion.read_only"
    assert result.variables["stat_data"] == {"hp": 90, "mood": "tense", "bag": {"line": 1}, "_secret": "s"}


def test_an_error_of_the_declaration_keeps_nothing() -> None:
    source = DECLARATION.replace("v => _.clamp(v, 0, 100)", "v => { if (v > 90) { throw new Error('no'); } return v; }")
    schema = compile_declaration(source)
    data = {"hp": 50, "mood": "calm", "bag": {}, "_secret": "s"}
    variables = envelope.normalise({"stat_data": data, "mvu_schema": schema.descriptor()})
    with pytest.raises(ApplyError) as caught:
        found = parsed("_.set('mood', 'tense');_.set('hp', 95);")
        apply_commands(variables, found.commands, schema, dialect="magvarupdate")
    assert [receipt.status for receipt in caught.value.receipts] == ["refused", "refused"]
    assert variables["stat_data"] == data


def test_declaration_that_changes_nothing_says_so() -> None:
    _, lines = _declared("_.set('mood', 'calm');")
    assert lines[0]["status"] == "applied"
    assert "nothing changed" in lines[0]["note"]


def test_mathematics_are_off_under_a_declaration() -> None:
    _, lines = _declared("_.add('hp', 2*3);")
    assert lines[0]["reason"] == "add.delta_not_number"


def test_too_many_commands_are_refused_at_once() -> None:
    with pytest.raises(CommandError) as caught:
        parsed("_.set('a',1);" * 1_001)
    assert caught.value.code == "MVU_LIMIT"


def test_an_unknown_part_is_missing() -> None:
    assert parsed("_.delete('a');").commands[0].key is MISSING
