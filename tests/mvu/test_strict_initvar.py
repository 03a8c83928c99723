"""InitVar texts and the message-variable macro (spec/mvu.md §9.1, §10)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest

from runtime.mvu import initvar, macro
from runtime.values.rows import InnkeeperError

TEXTS: list[tuple[str, dict[str, Any]]] = [
    ("hp: 1\nbag: [a]", {"hp": 1, "bag": ["a"]}),
    ("{hp: 1, // note\n}", {"hp": 1}),
    ("# comment\nopen: yes\ncode: 010\ntime: 12:30", {"open": "yes", "code": 10, "time": "12:30"}),
    ("<initvar>\nhp: 1\n</initvar>", {"hp": 1}),
    ("<InitVar>\n```yaml\nhp: 1\n```\n</INITVAR>", {"hp": 1}),
    ("Some words before.\n```json5\n{hp: 1}\n```\nand after", {"hp": 1}),
    ("```\n{\"hp\": 1}\n```", {"hp": 1}),
    ("````\ntext: |\n  ```\n  x\n  ```\n````", {"text": "```\nx\n```\n"}),
    ("```toml\nhp = 1\n[a.b]\nx = 1.0\nwhen = 2024-01-02\n```", {"hp": 1, "a": {"b": {"x": 1, "when": "2024-01-02"}}}),
    ("# comment\nhp = 1\n\n[bag]\nrope = \"x: y\"", {"hp": 1, "bag": {"rope": "x: y"}}),
    ("[player]\nhp = 1\nat = 12:30:45\n[[player.bag]]\nname = 'rope'",
     {"player": {"hp": 1, "at": "12:30:45", "bag": [{"name": "rope"}]}}),
    ("a.b = 1", {"a": {"b": 1}}),
    ("{}", {}),
    ("表: {键: 值}", {"表": {"键": "值"}}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), TEXTS, ids=[text[:20] for text, _ in TEXTS])
def test_texts(text: str, value: dict[str, Any]) -> None:
    assert initvar.load_initvar([text]) == value


BAD: list[tuple[str, str, int | None]] = [
    ("", "MVU_INITIALIZATION_INVALID", 1),
    ("just words", "MVU_INITIALIZATION_INVALID", 1),
    ("- a\n- b", "MVU_INITIALIZATION_INVALID", 1),
    ("[1, 2]", "MVU_INITIALIZATION_INVALID", 1),
    ("42", "MVU_INITIALIZATION_INVALID", 1),
    ("a: 1\na: 2", "MVU_INITIALIZATION_INVALID", 2),
    ("<initvar>\n\na: 1\nb: &x 2\nc: *x\n</initvar>", "MVU_INITIALIZATION_INVALID", 5),
    ("```yaml\na: !!js/function x\n```", "MVU_INITIALIZATION_INVALID", 2),
    ("a: .nan", "MVU_INITIALIZATION_INVALID", None),
    ("```toml\na = nan\n```", "MVU_INITIALIZATION_INVALID", None),
    ("```toml\na = 1\na = 2\n```", "MVU_INITIALIZATION_INVALID", None),
    ("```json\n{a: 1\n```", "MVU_INITIALIZATION_INVALID", None),
    ("__proto__: 1", "MVU_PATH", None),
    ("a: {b: [{constructor: 1}]}", "MVU_PATH", None),
    ("a: " + "[" * 70 + "]" * 70, "MVU_LIMIT", None),
    ("a = " + "[" * 5000, "MVU_LIMIT", None),
    ("x" * 1_048_577, "MVU_LIMIT", None),
]


@pytest.mark.parametrize(("text", "code", "line"), BAD, ids=[row[0][:20] for row in BAD])
def test_bad_texts(text: str, code: str, line: int | None) -> None:
    with pytest.raises(InnkeeperError) as caught:
        initvar.load_initvar(["ok: 1", text])
    assert caught.value.code == code
    assert caught.value.details["entry"] == 1
    assert "entry 1" in caught.value.message
    if line is not None:
        assert caught.value.details["line"] == line


@dataclass(frozen=True)
class Entry:
    comment: str
    content: str


def test_entries_merge_in_order() -> None:
    entries: list[str | Entry] = [
        "a: {b: 1, c: [1, 2]}\nz: 1",
        Entry("[initvar] second", "a: {c: [3], d: 2}"),
        "{z: {y: 1}}",
    ]
    assert initvar.load_initvar(entries) == {"a": {"b": 1, "c": [3], "d": 2}, "z": {"y": 1}}
    assert initvar.load_initvar([]) == {}
    with pytest.raises(InnkeeperError, match="second"):
        initvar.load_initvar([Entry("second", "words")])


MIB = 1 << 20


@pytest.mark.parametrize(
    "piece", ["[", "<initvar>", "```\n", "a.", "a = 1\n", "[[a]]\n", "// x\n", "/*", "\n", "# \n", "a=[", "'"]
)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    text = (piece * MIB)[:MIB]
    started = time.process_time()
    try:
        initvar.load_initvar([text])
    except InnkeeperError as error:
        assert error.code in ("MVU_INITIALIZATION_INVALID", "MVU_LIMIT")
    assert time.process_time() - started < 40


DATA = {"hp": 100, "text": "{{user}}\n{{secret}}", "nested": {"public": "shown", "$hidden": 1}, "$meta": {}}


def test_scenario_253_the_macro_shows_yaml_without_hidden_keys() -> None:
    shown = "hp: 100\ntext: |-\n  {{user}}\n  {{secret}}\nnested:\n  public: shown"
    assert macro.render(DATA) == shown
    assert macro.expand("{{format_message_variable::stat_data}}", DATA) == shown
    assert (
        macro.expand("State:\n- {{ format_message_variable :: stat_data }}!", {"a": 1, "b": 2})
        == "State:\n- a: 1\n  b: 2!"
    )


def test_scenario_254_entries_without_the_macro_are_left_alone() -> None:
    text = "{{format_message_variable::other}} {{char}}"
    assert not macro.references(text)
    assert macro.expand(text, DATA) is text
    assert macro.references("x {{format_message_variable::stat_data}}")
