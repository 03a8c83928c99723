"""First states, structured answers and macros at their edges; the recorded cases are in the conformance suites."""

from __future__ import annotations

import pytest

from runtime.mvu.commands.magvarupdate.initial import Book, described, greeting_blocks, greeting_state, load_books
from runtime.mvu.commands.magvarupdate.structured import filter_messages, from_object, from_tool_call
from runtime.mvu.variable_macros import expand, message_table


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("just words", "expected a mapping"),
        ("- a\n- b", "expected a mapping"),
        ("a: [1, 2\nb: }", "line"),
        ("a: {__proto__: 1}", "not allowed"),
        ("a: " + "[" * 70 + "]" * 70, "levels"),
        ("a: *nothing", "names nothing"),
    ],
)
def test_a_book_that_cannot_be_read_is_a_fault_and_never_characters(content: str, fault: str) -> None:
    books = [Book("card", (("[initvar] broken", content), ("[InitVar] good", "ok: 1")))]
    loaded = load_books(books, {}, {})
    assert loaded.stat_data == {"ok": 1}
    assert [item.place for item in loaded.faults] == ["card / [initvar] broken"]
    assert fault in loaded.faults[0].message


def test_toml_is_read_where_it_is_toml() -> None:
    loaded = load_books([Book("card", (("[initvar]", 'title = "port"\n[hero]\nhp = 3\n'),))], {}, {})
    assert loaded.stat_data == {"title": "port", "hero": {"hp": 3}}


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 10)]
    loaded = load_books([Book("card", (("[initvar]", "\n".join(lines)),))], {}, {})
    assert loaded.stat_data == {}
    assert "values" in loaded.faults[0].message


def test_a_greeting_block_replaces_the_card_but_not_the_other_books() -> None:
    others = [Book("world", (("[initvar]", "w: 1\na: 9"),))]
    start = greeting_state({"old": 1}, "hello <initvar>\na: 2\n</initvar>", others, {"card": [], "world": []})
    assert start.stat_data == {"w": 1, "a": 2}
    assert greeting_blocks("<initvar>a: 1") == []


def test_marks_become_the_schema_and_go() -> None:
    data, schema = described({"$meta": {"extensible": True}, "l": ["$__META_EXTENSIBLE__$"]})
    assert data == {"l": []}
    assert schema["extensible"] is True and schema["properties"]["l"]["extensible"] is True


def test_structured_answers_are_update_texts_or_nothing() -> None:
    text = from_object('{"analysis": "a", "patch": [{"op": "delta", "path": "/a", "value": 1}]}')
    assert text is not None and text.startswith("<UpdateVariable>\n<Analyze>\na\n</Analyze>\n<JSONPatch>\n[")
    assert from_object('{"patch": [{"path": "/a"}]}') is None
    assert from_object("prose") is None
    assert from_tool_call('{"delta": "nothing to change here"}') is None
    assert from_tool_call('{"delta": "_.add(\'a\', 1);"}') is not None


def test_prompts_lose_update_blocks_only_when_asked() -> None:
    messages = [{"role": "assistant", "content": "x\n<UpdateVariable>_.set('a', 1);</UpdateVariable>y"}]
    assert filter_messages(messages, hide_updates=False) == messages
    assert filter_messages(messages, hide_updates=True) == [{"role": "assistant", "content": "xy"}]


def test_macros_take_the_last_table_and_indent_after_earlier_macros() -> None:
    floors = [{"variables": [{"a": [1, 2]}], "swipe_id": 0}, {"variables": [], "swipe_id": 0}, {}]
    assert message_table(floors) == {"a": [1, 2]}
    assert message_table(floors, 2) is None
    assert message_table(floors, 9) is None
    text = "- {{get_message_variable::a[0]}} {{format_message_variable::a}}"
    assert expand(text, lambda scope: message_table(floors)) == "- 1 - 1\n    - 2"
