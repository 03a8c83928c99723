"""One reply through its helper: the view, the verification, the two repairs, the gate (spec/mvu.md §6, §12 E)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.mvu.commands import Command, parse_commands
from runtime.mvu.helper import (
    Helper,
    HelperError,
    Outcome,
    command_view,
    detect_helper,
    extract_operation_block,
    find_restoration,
    latest_user_text,
    process_reply,
    read_for_helper,
    verify_output,
)
from runtime.sessions.events import Event
from runtime.values.rows import InnkeeperError
from sandbox import ProcessSandbox
from sandbox.errors import OUTPUT

VARIABLES = {"stat_data": {"hp": 10, "bag": ["rope"]}}
MIXED = """早。_.set('hp', 10, 1);//伤
<JSONPatch>[{"op":"move","from":"/a~1b/~0x","path":"/d/e"},{"op":"replace","path":"/p/x y","value":{"k":"中"}}]</JSONPatch>
_.insert('bag', 'k', {a: 1}); _.assign('list', 5) _.remove('z', 'q') _.add('n', 0x10)
<json_patch>[{"op":"insert","path":"/bag/Ada","value":null},{"op":"remove","path":"/q"},{"op":"delta","path":"/n","value":1.50}]</json_patch>"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ProcessSandbox]:
    with ProcessSandbox() as found:
        yield found


def helper(body: str) -> Helper:
    found = detect_helper(
        "eventOn('global_Mvu_initialized', () => eventOn(Mvu.events.COMMAND_PARSED, (variables, commands, text) => {"
        f"{body}\n}}));"
    )
    assert found is not None
    return found


def process(sandbox: ProcessSandbox, body: str, text: str, **rest: Any) -> Outcome:
    return process_reply(sandbox, "owner", helper(body), text, VARIABLES, parse_commands, **rest)


def code_of(sandbox: ProcessSandbox, body: str, text: str) -> str:
    with pytest.raises(InnkeeperError) as caught:
        process(sandbox, body, text)
    return caught.value.code


def test_scenario_035_mixed_text_round_trips(sandbox: ProcessSandbox) -> None:
    commands = parse_commands(MIXED).commands
    outcome = process(sandbox, "", MIXED)
    assert outcome.commands == commands and not outcome.dropped and outcome.restored is None
    views = [command_view(command) for command in commands]
    assert views[0] == {
        "type": "set",
        "args": ["hp", "10", "1"],
        "full_match": "_.set('hp', 10, 1)",
        "reason": "legacy",
    }
    assert views[1] == {
        "type": "move",
        "args": ["a/b.~x", "d.e"],
        "full_match": '{"op":"move","from":"/a~1b/~0x","path":"/d/e"}',
        "reason": "json_patch",
    }
    assert views[2]["args"][1] == '{"k":"中"}'
    assert [view["type"] for view in views[3:7]] == ["insert", "insert", "delete", "add"]
    assert [view["args"] for view in views[3:7]] == [
        ["bag", '"k"', '{"a":1}'],
        ["list", "5"],
        ["z", '"q"'],
        ["n", "16"],
    ]
    assert views[7]["args"] == ["bag", '"Ada"', "null"]
    assert views[8]["args"] == ["q"]
    assert views[9]["args"] == ["n", "1.5"]


@pytest.mark.parametrize(
    ("body", "difference", "field"),
    [
        ("commands.reverse();", "order", None),
        ("commands.push(commands[0]);", "order", None),
        ("commands[1] = commands[0];", "order", None),
        ("commands[0].args[2] = '2';", "changed", "args"),
        ("commands[0].type = 'add';", "changed", "type"),
        ("commands[0].reason = 'json_patch';", "changed", "reason"),
        ("delete commands[0].reason;", "changed", "reason"),
        ("commands[0].full_match = '_.set(1)';", "changed", "full_match"),
        (
            "commands.unshift({type:'set', args:['hp','99'], full_match:\"_.set('hp',99)\", reason:'legacy'});",
            "added",
            None,
        ),
        ("commands.push({type:'set', args:[], full_match:'', reason:''});", "added", None),
    ],
)
def test_scenario_035_an_altered_list_is_refused_and_named(
    sandbox: ProcessSandbox, body: str, difference: str, field: str | None
) -> None:
    with pytest.raises(HelperError) as caught:
        process(sandbox, body, MIXED)
    error = caught.value
    assert (error.code, error.retryable) == (OUTPUT, False)
    assert error.details["difference"] == difference
    assert error.details.get("field") == field


def test_dropped_commands_are_named(sandbox: ProcessSandbox) -> None:
    outcome = process(sandbox, "commands.splice(1, 8);", MIXED)
    assert outcome.to_json()["kept"] == [0, 9]
    assert [item["index"] for item in outcome.to_json()["dropped"]] == list(range(1, 9))
    assert outcome.to_json()["dropped"][6]["source"] == '{"op":"insert","path":"/bag/Ada","value":null}'


PUSH = """
const body = text.replace(/^[^]*<(?:JSONPatch|UpdateVariable)>/, '').replace(/<[^]*$/, '')
  .replace(/("path":"[^"]*"):(?=[{[])/g, '$1,"value":');
for (const op of JSON.parse(body)) {
  const parts = op.path.slice(1).split('/');
  const full_match = JSON.stringify(op);
  if (op.op === 'replace') commands.push({type: 'set', args: [parts.join('.'), JSON.stringify(op.value)], full_match, reason: 'json_patch'});
  if (op.op === 'remove') commands.push({type: 'delete', args: [parts.join('.')], full_match, reason: 'json_patch'});
  if (op.op === 'add') {
    const key = parts.pop();
    commands.push({type: 'insert', args: [parts.join('.'), /^\\d+$/.test(key) ? key : `'${key}'`, JSON.stringify(op.value)], full_match, reason: 'json_patch'});
  }
}
"""
SEPARATOR = '说<JSONPatch>[{"op":"replace","path":"/hero":{"hp":1}},{"op":"add","path":"/bag/0":["x"]},{"op":"remove","path":"/q"}]</JSONPatch>完'
ARRAY = '<UpdateVariable>\n[{"op":"add","path":"/bag/name","value":"灯"},{"op":"replace","path":"/hp","value":3}]\n</UpdateVariable>'


@pytest.mark.parametrize(("text", "kind"), [(SEPARATOR, "separator"), (ARRAY, "array")])
def test_scenario_036_the_two_repairs_are_admitted_with_an_empty_view(
    sandbox: ProcessSandbox, text: str, kind: str
) -> None:
    assert process(sandbox, "if (commands.length) throw 1;", text).commands == ()
    outcome = process(sandbox, PUSH, text)
    assert outcome.restored == kind
    shapes = [(command.type, command.path, command.form) for command in outcome.commands]
    if kind == "separator":
        assert shapes == [("set", ("hero",), "patch"), ("insert", ("bag",), "patch"), ("delete", ("q",), "patch")]
        assert outcome.commands[0].value == {"hp": 1} and outcome.commands[1].key == "0"
    else:
        assert shapes == [("insert", ("bag",), "patch"), ("set", ("hp",), "patch")]
        assert outcome.commands[0].value == "灯" and outcome.commands[0].key == "name"
    for command in outcome.commands:
        assert "<" in text[command.start] and command.end > command.start


@pytest.mark.parametrize(
    "spoil",
    [
        "commands[0].args[commands[0].args.length - 1] = '99';",
        "commands[0].type = 'add';",
        "commands[0].args[0] = 'other';",
        "commands[0].full_match = '{}';",
        "commands.reverse();",
        "commands.push(commands[0]);",
        "commands.push({type: 'set', args: ['hp', '1'], full_match: '{\"op\":\"replace\",\"path\":\"/hp\",\"value\":1}', reason: ''});",
    ],
)
@pytest.mark.parametrize("text", [SEPARATOR, ARRAY])
def test_a_repair_may_bring_nothing_new(sandbox: ProcessSandbox, text: str, spoil: str) -> None:
    assert code_of(sandbox, PUSH + spoil, text) == OUTPUT


def test_a_repair_may_be_taken_in_part(sandbox: ProcessSandbox) -> None:
    outcome = process(sandbox, PUSH + "commands.shift();", SEPARATOR)
    assert [command.type for command in outcome.commands] == ["insert", "delete"]
    assert [item.index for item in outcome.dropped] == [0]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('<JSONPatch>[{"op":"replace","path":"/a":1}]</JSONPatch>', "MVU_PARSE"),
        ('<JSONPatch>[{"op":"replace","path":"/a":"x"}]</JSONPatch>', "MVU_PARSE"),
        ('<JSONPatch>[{"op":"copy","from":"/b","path":"/a"}]</JSONPatch>', "MVU_UNSUPPORTED"),
        ('<JSONPatch>[{"op":"copy","path":"/a":{}}]</JSONPatch>', "MVU_PARSE"),
        ('<JSONPatch>[{"op":"replace","path":"/__proto__/x":{}}]</JSONPatch>', "MVU_PATH"),
        ('<UpdateVariable>[{"op":"add","path":"/constructor/x","value":1}]</UpdateVariable>', "MVU_PATH"),
        ('<JSONPatch>[{"op":"replace","path":"/a":{}}]</JSONPatch>' + "x" * 1_048_577, "MVU_LIMIT"),
        ('<JSONPatch>[{"op":"replace","path":"/a":{}}]</JSONPatch><JSONPatch>[]</JSONPatch>', "MVU_PARSE"),
        ('<JSONPatch>[{"op":"replace","path":"/a":{}}]</JSONPatch> _.set(\'hp\', 1)', "MVU_PARSE"),
        ('<JSONPatch>[{"op":"replace","path":"/a":{}, "extra":1}]</JSONPatch>', "MVU_PARSE"),
        ('<JSONPatch>[{"op":"delta","path":"/a":{}}]</JSONPatch>', "MVU_PARSE"),
        ('<JSONPatch>[{"op":"remove","path":"/a":{}}]</JSONPatch>', "MVU_PARSE"),
        ('<JSONPatch>[{"op":"replace","path":"/a":{"b":1}]</JSONPatch>', "MVU_PARSE"),
    ],
)
def test_scenario_036_everything_else_keeps_its_error(sandbox: ProcessSandbox, text: str, code: str) -> None:
    assert code_of(sandbox, PUSH, text) == code


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "<UpdateVariable>[]</UpdateVariable>",
        '<UpdateVariable>{"op":"remove","path":"/a"}</UpdateVariable>',
        '<UpdateVariable>[{"op":"remove","path":"/a"}]',
        '<UpdateVariable>[{"op":"remove","path":"/a<"}]</UpdateVariable>',
        '<UpdateVariable>[{"op":"remove","path":"/a"}]</UpdateVariable>' * 2,
        '<UpdateVariable>[{"op":"remove","path":"/a","value":1}]</UpdateVariable>',
        '<UpdateVariable>[{"op":"move","from":"/a","path":"/b"}]</UpdateVariable>',
        '<UpdateVariable>[{"op":"remove","path":"/a",}]</UpdateVariable>',
        '</UpdateVariable>[{"op":"remove","path":"/a"}]<UpdateVariable>',
    ],
)
def test_what_is_no_repair_gives_nothing(sandbox: ProcessSandbox, text: str) -> None:
    assert find_restoration(text) is None
    assert process(sandbox, "", text).commands == ()
    push = "commands.push({type:'delete', args:['a'], full_match:'{\"op\":\"remove\",\"path\":\"/a\"}', reason:''});"
    assert code_of(sandbox, push, text) == OUTPUT


def test_a_text_that_parses_is_never_repaired() -> None:
    text = ARRAY + " _.set('hp', 1)"
    readable = read_for_helper(text, parse_commands)
    assert readable.restoration is None and len(readable.commands) == 1


def test_fences_are_taken_off() -> None:
    fenced = '<UpdateVariable>\n```json\n[{"op":"remove","path":"/a"}]\n```\n</UpdateVariable>'
    found = find_restoration(fenced)
    assert found is not None and found.operations == ({"op": "remove", "path": "/a"},)


def test_hostile_texts_stay_linear() -> None:
    for text in (
        "<JSONPatch>" + '"path":"' * 100_000 + "</JSONPatch>",
        "<JSONPatch>" + '[{"path":"/a":' * 60_000 + "</JSONPatch>",
        "<JSONPatch>" + "[" * 200_000 + "</JSONPatch>",
        "<UpdateVariable>" + "[" * 500_000 + "</UpdateVariable>",
        "<JSONPatch>" * 50_000,
    ):
        try:
            assert find_restoration(text) is None
        except InnkeeperError as error:
            assert error.code == "MVU_LIMIT"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["hp", "a.b", "名"]), json_values), min_size=1, max_size=8), st.data())
def test_any_subsequence_is_kept_as_it_is(items: list[tuple[str, Any]], data: st.DataObject) -> None:
    text = "".join(f"_.set('{path}', {json.dumps(value)});\n" for path, value in items)
    commands: tuple[Command, ...] = parse_commands(text).commands
    views = [command_view(command) for command in commands]
    chosen = sorted(data.draw(st.sets(st.integers(0, len(views) - 1))))
    kept = verify_output(views, [views[index] for index in chosen])
    # Equal commands are interchangeable: the views agree even when the first of two equal ones is the one kept.
    assert [views[index] for index in kept] == [views[index] for index in chosen]


BLOCK = "<本轮操作><本轮执行边界/>\n<本轮执行边界>一</本轮执行边界><操作项>走</操作项></本轮操作>"


def event(seq: int, kind: str, **fields: Any) -> Event:
    return Event(seq, kind, fields)


def test_scenario_046_gate_text_comes_from_the_same_turn_only() -> None:
    first = [event(0, "turn/start", turn=1), event(1, "user/message", turn=1, text=BLOCK, source={"kind": "user"})]
    second = [*first, event(2, "assistant/message", turn=1, text="…"), event(3, "turn/start", turn=2)]
    assert latest_user_text(first, 1) == BLOCK
    assert latest_user_text(second, 2) == ""
    plain = [*second, event(4, "user/message", turn=2, text="继续", source={"kind": "user"})]
    assert latest_user_text(plain, 2) == "继续"
    host = [*first, event(2, "user/message", turn=1, text="note", source={"kind": "host"})]
    assert latest_user_text(host, 1) == BLOCK
    later = [*first, event(2, "user/message", turn=1, text="later", source={"kind": "user"})]
    assert latest_user_text(later, 1) == "later"
    assert latest_user_text([*first[:1], event(1, "user/message", turn=1, text="x" * 65_537)], 1) == ""
    assert latest_user_text([*first[:1], event(1, "user/message", turn=1, text="x" * 65_536)], 1) == "x" * 65_536


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<本轮操作>",
                "</本轮操作>",
                "<本轮APP操作>",
                "</本轮APP操作>",
                "<本轮执行边界>",
                "<操作项>",
                "x",
                " \ufeff",
                "\x85",
                "",
            ]
        ),
        max_size=8,
    )
)
def test_the_gate_in_the_sandbox_and_here_agree(sandbox: ProcessSandbox, parts: list[str]) -> None:
    text = "".join(parts)
    source = detect_helper(
        "const g = globalThis.Door; eventOn('global_Mvu_initialized', () => eventOn(Mvu.events.COMMAND_PARSED, (v, c) => {"
        "if (g.extractOperationBlock(g.latestUserText()) === '') c.length = 0; }));"
    )
    assert source is not None and source.gate == "Door"
    outcome = process_reply(sandbox, "g", source, "_.set('hp', 1)", {}, parse_commands, user_text=text)
    assert bool(outcome.commands) is (extract_operation_block(text) != "")


def test_an_operation_block_is_wrapped_again() -> None:
    app = BLOCK.replace("本轮操作", "本轮APP操作")
    assert extract_operation_block(f"早。{app}晚") == BLOCK
    assert extract_operation_block(BLOCK) == BLOCK
