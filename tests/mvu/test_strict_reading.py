"""Reading replies in dialect ``strict``: recognition, values, shapes, what is ignored, repairs, partial replies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.mvu.commands import (
    ALL_REPAIRS,
    REASONING_TAGS,
    CommandError,
    ParseOptions,
    commands_from_patch,
    contains_update,
    find,
    parse_commands,
)
from runtime.mvu.commands.model import Command
from runtime.mvu.commands.read import read_value
from runtime.values.copying import MISSING
from runtime.values.rows import InnkeeperError


def shape(command: Command) -> tuple[Any, ...]:
    return tuple(
        part
        for part in (command.type, command.path, command.key, command.value, command.to)
        if part is not MISSING and part is not None
    )


SHAPES: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("_.set('a.b', 1)", [("set", ("a", "b"), 1)]),
    ("_.set ( 'a' , 1 )", [("set", ("a",), 1)]),
    ("_.set('a', 'old', 'new');//why", [("set", ("a",), "new")]),
    ("_.set('a',,2)", [("set", ("a",), 2)]),
    ("_.set(a, hello world)", [("set", ("a",), "hello world")]),
    ("_.set('a', `x ${y} \\n`)", [("set", ("a",), "x ${y} \\n")]),
    ("_.set('a', {list:[1,2,], enabled:true})", [("set", ("a",), {"list": [1, 2], "enabled": True})]),
    ("_.set('a', '')", [("set", ("a",), "")]),
    ("_.set('a', 0x10)", [("set", ("a",), 16)]),
    ("_.set('a', 1.50)", [("set", ("a",), 1.5)]),
    ("_.set('a', yes)", [("set", ("a",), "yes")]),
    ("_.set('', {a:1})", [("set", (), {"a": 1})]),
    ("_.set('a', 'x');_.add('a',1)_.insert('b','k',2)_.assign('b',3)", [
        ("set", ("a",), "x"), ("add", ("a",), 1), ("insert", ("b",), "k", 2), ("insert", ("b",), 3),
    ]),
    ("_.remove('a')_.unset('b')_.delete('c', 1)", [("delete", ("a",)), ("delete", ("b",)), ("delete", ("c",), 1)]),
    ("_.set(\"a['x.y'][0]\", 1)", [("set", ("a", "x.y", "0"), 1)]),
    ("_.set('a', ')')", [("set", ("a",), ")")]),
    ("_.set('a', 'it\\'s')", [("set", ("a",), "it's")]),
    ("_.set('a', [1, [2, {b: '('}]])", [("set", ("a",), [1, [2, {"b": "("}]])]),
    ('<jsonpatch>[{"op":"replace","path":"/a","value":1}]</JSONPATCH>', [("set", ("a",), 1)]),
    ("<json_patch>\n```json\n[{op:'delta',path:'/a/0',value:2}]\n```\n</json_patch>", [("add", ("a", "0"), 2)]),
    ("<JSONPatch>\n- op: remove\n  path: /a\n</JSONPatch>", [("delete", ("a",))]),
    ('<JSONPatch>[{"op":"add","path":"/a/-","value":1},{"op":"insert","path":"/b","value":2}]</JSONPatch>', [
        ("insert", ("a",), "-", 1), ("insert", (), "b", 2),
    ]),
    ('<JSONPatch>[{"op":"move","from":"/a~1b","to":"/c"}]</JSONPatch>', [("move", ("a/b",), ("c",))]),
    ('<JSONPatch>[{"op":"remove","to":"/c"}]</JSONPatch>', [("delete", ("c",))]),
    ("_.set('a', '<JSONPatch>')", [("set", ("a",), "<JSONPatch>")]),
    ("no commands here, _.set without a call", []),
    ("<JSONPatch>[]</JSONPatch>", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SHAPES, ids=[text[:30] for text, _ in SHAPES])
def test_shapes(text: str, expected: list[tuple[Any, ...]]) -> None:
    parsed = parse_commands(text)
    assert [shape(command) for command in parsed.commands] == expected
    for command in parsed.commands:
        assert 0 <= command.start < command.end <= len(text)


FATAL: list[tuple[str, str]] = [
    ("_.foo(1)", "MVU_UNSUPPORTED"),
    ("a script: _.get('x')", "MVU_UNSUPPORTED"),
    ("_.set('a')", "MVU_PARSE"),
    ("_.set('a', )", "MVU_PARSE"),
    ("_.set()", "MVU_PARSE"),
    ("_.add('a', 1, 2)", "MVU_PARSE"),
    ("_.set('a', [1)", "MVU_PARSE"),
    ("_.set('a', 1]", "MVU_PARSE"),
    ("_.set('a, 1)", "MVU_PARSE"),
    ("_.set(5, 1)", "MVU_PATH"),
    ("_.set('a..b', 1)", "MVU_PATH"),
    ("_.insert('a', true, 1)", "MVU_PATH"),
    ("_.set('a', {__proto__: 1})", "MVU_PATH"),
    ("_.set('a', [{b: {constructor: 1}}])", "MVU_PATH"),
    ("_.set('a', NaN)", "MVU_JSON"),
    ("_.set('a', .inf)", "MVU_JSON"),
    ("_.set('a', 1e400)", "MVU_JSON"),
    ("_.set('a', a: b: c)", "MVU_PARSE"),
    ("_.set('a', !!str x)", "MVU_PARSE"),
    (f"_.set('{'a.' * 64}b', 1)", "MVU_LIMIT"),
    (f"_.set('{'a' * 2001}', 1)", "MVU_PATH"),
    (f"_.set('a', {'[' * 66}{']' * 66})", "MVU_LIMIT"),
    ("_.set('a', 1)" * 1001, "MVU_LIMIT"),
    ("<JSONPatch>{}</JSONPatch>", "MVU_PARSE"),
    ("<JSONPatch>[1]</JSONPatch>", "MVU_PARSE"),
    ('<JSONPatch>[{"op":"test","path":"/a","value":1}]</JSONPatch>', "MVU_UNSUPPORTED"),
    ('<JSONPatch>[{"op":"replace","path":"/a"}]</JSONPatch>', "MVU_PARSE"),
    ('<JSONPatch>[{"op":"replace","path":"a","value":1}]</JSONPatch>', "MVU_PATH"),
    ('<JSONPatch>[{"op":"replace","value":1}]</JSONPatch>', "MVU_PATH"),
    ('<JSONPatch>[{"op":"replace","path":"/a~2","value":1}]</JSONPatch>', "MVU_PATH"),
    ('<JSONPatch>[{"op":"add","path":"","value":1}]</JSONPatch>', "MVU_UNSUPPORTED"),
]


@pytest.mark.parametrize(("text", "code"), FATAL, ids=[text[:40] for text, _ in FATAL])
def test_fatal_errors_say_where(text: str, code: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_commands(f"first line\n{text}")
    assert caught.value.code == code
    assert caught.value.details["replyLine"] == 2
    assert "command" in caught.value.details


def test_a_fatal_error_keeps_what_was_read_before() -> None:
    with pytest.raises(CommandError) as caught:
        parse_commands("_.set('a', 1); _.foo(2)")
    assert [command.path for command in caught.value.parsed.commands] == [("a",)]
    assert caught.value.details["command"] == 1


IGNORED: list[tuple[str, str, int]] = [
    ("<JSONPatch>[{}", "unclosed-block", 1),
    ("text\n</JSONPatch>", "stray-tag", 2),
    ("<JSONPatch>[]</json_patch>", "unclosed-block", 1),
    ('<UpdateVariable>\n[{"op":"remove","path":"/a"}]\n</UpdateVariable>', "bare-array", 1),
    ("_ .set('a', 1)", "not-a-call", 1),
    ("_。set('a', 1)", "not-a-call", 1),
]


@pytest.mark.parametrize(("text", "reason", "line"), IGNORED, ids=[text[:25] for text, _, _ in IGNORED])
def test_nothing_that_looks_like_a_command_disappears(text: str, reason: str, line: int) -> None:
    parsed = parse_commands(text)
    assert parsed.commands == ()
    assert (reason, line) in {(item.reason, item.line) for item in parsed.ignored}


def test_reasoning_tags_are_an_option() -> None:
    text = "<think>_.set('a', 1) <JSONPatch>[]</JSONPatch></think>_.set('b', 2)"
    assert len(parse_commands(text).commands) == 2
    parsed = parse_commands(text, options=ParseOptions(reasoning_tags=REASONING_TAGS))
    assert [command.path for command in parsed.commands] == [("b",)]
    assert [item.reason for item in parsed.ignored] == ["reasoning", "reasoning"]


REPAIRED: list[tuple[str, str, dict[str, Any] | None]] = [
    ("single_object", '<JSONPatch>{"op":"remove","path":"/a"}</JSONPatch>', None),
    ("outer_bracket", '<JSONPatch>{"op":"remove","path":"/a"}]</JSONPatch>', None),
    ("outer_bracket", '<JSONPatch>[{"op":"remove","path":"/a"}</JSONPatch>', None),
    ("outer_bracket", '<JSONPatch>{"op":"remove","path":"/a"},{"op":"remove","path":"/b"}</JSONPatch>', None),
    ("trailing_comma", '<JSONPatch>[{"op":"remove","path":"/a"},,]</JSONPatch>', None),
    ("tag_spelling", '<JSON Patch id="1">[{"op":"remove","path":"/a"}]</JSON Patch>', None),
    ("tag_spelling", '<json-patch >[{"op":"remove","path":"/a"}]</json-patch>', None),
    ("leading_slash", '<JSONPatch>[{"op":"remove","path":"a"}]</JSONPatch>', None),
    ("python_literals", '<JSONPatch>[{"op":"replace","path":"/a","value":[True, None]}]</JSONPatch>', None),
    ("smart_quotes", "_.set(“a”, “b”)", None),
]


@pytest.mark.parametrize(("name", "text", "_"), REPAIRED, ids=[f"{name}-{text[:20]}" for name, text, _ in REPAIRED])
def test_repairs_are_named_and_off_by_default(name: str, text: str, _: None) -> None:
    try:
        strict: Any = [shape(command) for command in parse_commands(text).commands]
    except InnkeeperError as error:
        strict = error.code
    repaired = parse_commands(text, options=ParseOptions(repairs=frozenset({name})))
    assert repaired.commands
    assert all(name in command.repairs for command in repaired.commands)
    assert [shape(command) for command in repaired.commands] != strict
    assert parse_commands(text, options=ParseOptions(repairs=ALL_REPAIRS)).commands


def test_repairs_leave_what_needs_none_alone() -> None:
    text = '_.set(\'a\', \'None\') <JSONPatch>[{"op":"replace","path":"/b","value":"True, ]"}]</JSONPatch>'
    parsed = parse_commands(text, options=ParseOptions(repairs=ALL_REPAIRS))
    assert [command.value for command in parsed.commands] == ["None", "True, ]"]
    assert all(command.repairs == () for command in parsed.commands)
    with pytest.raises(InnkeeperError, match="expected repairs out of"):
        parse_commands(text, options=ParseOptions(repairs=frozenset({"magic"})))


WHOLE = (
    'She nods.\n<UpdateVariable>\n_.set(\'a.b\', [1, \'x)\']);//why\n<JSONPatch>\n[{"op":"remove","path":"/a"}]\n'
    "</JSONPatch>\n_.add('c', 1);\n</UpdateVariable>"
)


@pytest.mark.parametrize("cut", range(len("She nods.\n"), len(WHOLE)))
def test_a_reply_cut_anywhere_keeps_the_state(cut: int) -> None:
    parsed = parse_commands(WHOLE[:cut], options=ParseOptions(partial=True))
    assert parsed.commands == ()
    if cut > len("She nods.\n"):
        assert parsed.incomplete
    assert len(parse_commands(WHOLE, options=ParseOptions(partial=True)).commands) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nothing", False),
        ("_.word (", True),
        ("<jsonpatch>", True),
        ("<UpdateVariable>\n```json\n[", True),
        ("<UpdateVariable>text", False),
    ],
)
def test_detection(text: str, expected: bool) -> None:
    assert contains_update(text) is expected


def test_card_patches_are_read_as_values() -> None:
    operations = [{"op": "replace", "path": "/a", "value": "</JSONPatch> _.foo("}]
    (command,) = commands_from_patch(operations).commands
    assert shape(command) == ("set", ("a",), "</JSONPatch> _.foo(")
    with pytest.raises(InnkeeperError) as caught:
        commands_from_patch({"op": "remove", "path": "/a"})
    assert caught.value.code == "MVU_PARSE"


# --- properties ----------------------------------------------------------------------------------------------------

TEXT = st.text(st.sampled_from("ab.~/[]'\"\\中😀 \t<>(),`"), max_size=6)
KEYS = TEXT.filter(lambda key: key not in ("__proto__", "prototype", "constructor"))
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT | st.floats(-1e9, 1e9, allow_nan=False)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
PATHS = st.lists(KEYS, max_size=4).map(tuple)


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(["set", "add", "insert", "delete", "move"]),
    path=PATHS,
    value=VALUES,
    key=KEYS,
    keyed=st.booleans(),
    form=st.sampled_from(["legacy", "patch"]),
)
def test_normalised_forms_read_as_themselves(
    kind: Any, path: tuple[str, ...], value: Any, key: str, keyed: bool, form: Any
) -> None:
    if kind == "move":
        command = Command(0, kind, path, to=(*path, key), form="patch")
    elif kind == "delete":
        command = Command(0, kind, path, key=value if keyed and form == "legacy" else MISSING, form=form)
    elif kind == "insert":
        command = Command(0, kind, path, value, key if keyed or form == "patch" else MISSING, form=form)
    else:
        command = Command(0, kind, path, value, form=form)
    (read,) = parse_commands(command.normalised()).commands
    assert shape(read) == shape(command)
    assert read.normalised() == command.normalised()


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("_.set(add'\"`,)[]{}\\ 1a<JSONPatch>/\n-+"), max_size=60))
def test_reading_is_deterministic_and_never_crashes(text: str) -> None:
    outcomes: list[Any] = []
    for _ in range(2):
        try:
            outcomes.append(parse_commands(text))
        except InnkeeperError as error:
            outcomes.append((error.code, error.message))
    assert outcomes[0] == outcomes[1]


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.sampled_from("'\"`,)([]{}\\ 1a\n"), max_size=24)
    | st.lists(st.sampled_from(["'a'", '"b.c"', ",", " ", "1", "-0", "2.5", ")", "x y", "true", "\n"]), max_size=7).map(
        "".join
    )
)
def test_the_quick_call_reads_like_the_slow_one(text: str) -> None:
    whole = f"_.set({text}"
    quick = find.read_call(whole, 0, 6, "set", len(whole))
    slow = find.read_call(whole, 0, 6, "set", len(whole), quick=False)
    assert (quick.end, quick.balanced) == (slow.end, slow.balanced)
    if quick.known:
        read = [*quick.known, *map(read_value, quick.arguments)]
        assert read == [read_value(argument) for argument in slow.arguments]


MIB = 1 << 20


@pytest.mark.parametrize(
    "piece",
    ["[", '"', "\\", "_.set(", "_.set('a',", "<JSONPatch>", "<JSONPatch>[", "<json_patch></jsonpatch>", "_.", "`", "(",
     "_. set(", "<UpdateVariable>[", "<think>", "_.a ", "<", "_.set('a',1)", "𝒳", "<think></think>_.set('a',1)",
     "_. set(_.set('a',1)", "<UpdateVariable>[<JSONPatch></JSONPatch>"],
)  # fmt: skip
def test_hostile_texts_take_linear_time(piece: str) -> None:
    import time

    text = (piece * MIB)[: MIB - 1]
    started = time.process_time()
    for options in (ParseOptions(), ParseOptions(REASONING_TAGS, True, ALL_REPAIRS)):
        try:
            parse_commands(text, options=options)
        except CommandError as error:
            assert error.code in ("MVU_PARSE", "MVU_LIMIT")
    assert time.process_time() - started < 40


def test_scenario_035_mixed_texts_round_trip() -> None:
    text = (
        '_.set(\'hp\', 10, 1); <JSONPatch>[{"op":"move","from":"/a~1b/~0x","path":"/c"},'
        '{"op":"delta","path":"/hp","value":-1}]</JSONPatch> _.insert(\'bag\', \'k\', {x: 1})'
    )
    commands = parse_commands(text).commands
    assert commands[0].arguments() == ["hp", 10, 1]
    assert commands[1].path == ("a/b", "~x") and commands[1].operation == {
        "op": "move",
        "from": "/a~1b/~0x",
        "path": "/c",
    }
    again = parse_commands(" ".join(command.normalised() for command in commands)).commands
    assert [shape(command) for command in again] == [shape(command) for command in commands]
    assert [command.source for command in commands if command.form == "legacy"] == [
        "_.set('hp', 10, 1)",
        "_.insert('bag', 'k', {x: 1})",
    ]
