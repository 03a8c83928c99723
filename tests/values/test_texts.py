"""YAML 1.2 and JSON5 readers (spec/mvu.md §4.2)."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from runtime.values import json5, yaml12
from runtime.values.rows import InnkeeperError

YAML: list[tuple[str, Any]] = [
    ("", None),
    ("~", None),
    ("a: 1\nb: [x, 'y']", {"a": 1, "b": ["x", "y"]}),
    ("[010, 0o10, 0x1F, 1e3, .5, 1_000, 12:30, 0b11]", [10, 8, 31, 1000, 0.5, "1_000", "12:30", "0b11"]),
    ("[yes, No, on, True, FALSE, true, null, Null, ~]", ["yes", "No", "on", True, False, True, None, None, None]),
    ("[2024-01-02, =, <<]", ["2024-01-02", "=", "<<"]),
    ("<<: 1", {"<<": 1}),
    ("1: a\ntrue: b\n~: c\n1.50: d\n0x10: e", {"1": "a", "true": "b", "": "c", "1.5": "d", "16": "e"}),
    ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
    ("a: >-\n  x\n  y\n", {"a": "x y"}),
    ("'010'", "010"),
    ('"\\u4e2d"', "中"),
    ("%YAML 1.2\n---\na: 1", {"a": 1}),
    ("- &anchor x", ["x"]),
    ("hello world", "hello world"),
    ("{a: 1, b}", {"a": 1, "b": None}),
    ("9007199254740993", 9007199254740992.0),
    ("-0.0", 0),
    ("-.inf", -math.inf),
]


@pytest.mark.parametrize(("text", "value"), YAML, ids=[text[:20] for text, _ in YAML])
def test_yaml(text: str, value: Any) -> None:
    read = yaml12.load(text)
    assert read == value
    assert type(read) is type(value)


YAML_REFUSED: list[tuple[str, str, int, int]] = [
    ("x: &x [*x]", "alias", 1, 8),
    ("a: 1\nb: !!js/function f", "tag", 2, 4),
    ("a: !x []", "tag", 1, 4),
    ("a: 1\nb: 2\na: 3", "once", 3, 1),
    ("1: a\n'1': b", "once", 2, 1),
    ("? [a]\n: b", "key", 1, 3),
    ("a\n---\nb", "one YAML document", 2, 1),
    ("%YAML 1.1\n---\na", "YAML 1.2", 1, 1),
    ("%TAG ! tag:x,2000:\n---\na", "tag", 1, 1),
    ("a: b: c", "expected YAML", 1, 5),
    ("a: [1", "expected YAML", 2, 1),
    ("a: 'x", "expected YAML", 1, 6),
    ("@x", "expected YAML", 1, 1),
    ("a:\n\t- b", "expected YAML", 2, 1),
]


@pytest.mark.parametrize(("text", "message", "line", "column"), YAML_REFUSED, ids=[row[0][:20] for row in YAML_REFUSED])
def test_yaml_refuses_with_a_place(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(yaml12.YamlError, match=message) as caught:
        yaml12.load(text)
    assert caught.value.code == "MVU_PARSE"
    if message != "expected YAML":
        assert (caught.value.details["line"], caught.value.details["column"]) == (line, column)
    else:
        assert caught.value.details["line"] == line


JSON5: list[tuple[str, Any]] = [
    ("{a: 1, 'b': \"c\", $d: [1, 2,], /* x */ e: +.5, // y\n}", {"a": 1, "b": "c", "$d": [1, 2], "e": 0.5}),
    ("0x10", 16),
    ("-0", 0),
    ("5.", 5),
    ("1e400", math.inf),
    ("-Infinity", -math.inf),
    ("[1.0, -0.0]", [1, 0]),
    ("12345678901234567890", 12345678901234567168.0),
    ("{a: 12345678901234567890}", {"a": 12345678901234567168.0}),
    ("'\\ud800'", "\ud800"),
    ("'\\\\ud800 \\ud83d\\ude00 \\ude00'", "\\ud800 😀 \ude00"),
    ("'a\\\nb'", "ab"),
    ("'\\x41\\0\\v'", "A\0\v"),
    ("{中文: 1}", {"中文": 1}),
    ("'a_1_0'", "a_1_0"),
    ("['1_0', /* 1_0 */ 2] // 1_0", ["1_0", 2]),
    ("{a: 1, a: 2}", {"a": 2}),
    ("\ufeff[]", []),
    ('{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
    ('[1.0, -0, 1e2, 12345678901234567890, "1.0"]', [1, 0, 100, 12345678901234567168.0, "1.0"]),
    ('["\\ud800", "\\ud83d\\ude00"]', ["\ud800", "😀"]),
]


@pytest.mark.parametrize(("text", "value"), JSON5, ids=[text[:20] for text, _ in JSON5])
def test_json5(text: str, value: Any) -> None:
    read = json5.load(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "{a:1",
        "[1,,2]",
        "01",
        "1_0",
        "[1_0]",
        "{a: 0xF_F}",
        "'a\nb'",
        "{a-b: 1}",
        "--1",
        "1 2",
        "'\\1'",
        "`a`",
    ],
)
def test_json5_refuses(text: str) -> None:
    with pytest.raises(json5.Json5Error) as caught:
        json5.load(text)
    assert caught.value.code == "MVU_PARSE"


def test_json5_nan() -> None:
    assert math.isnan(json5.load("NaN"))


@pytest.mark.parametrize("read", [yaml12.load, json5.load])
def test_depth_and_length(read: Any) -> None:
    assert read("[" * 64 + "]" * 64) is not None
    for text in ("[" * 67 + "]" * 67, "x" * 1_048_577):
        with pytest.raises(InnkeeperError) as caught:
            read(text)
        assert caught.value.code == "MVU_LIMIT"
    with pytest.raises(InnkeeperError):
        read("[" * 100_000)


MIB = 1 << 20


@pytest.mark.parametrize("read", [yaml12.load, json5.load])
@pytest.mark.parametrize(
    "piece",
    ["[", '"', "\\", "{", "- ", "? ", "&", "*", ": ", "# ", "|", "\t", "\n", "\n- ", "{a,", "a: ", "!a ", "'a' ", "a:\n ",
     "\\ud800", "'\\ud800", "/*", "1_", "\ud800"],
)  # fmt: skip
def test_hostile_texts_take_linear_time(read: Any, piece: str) -> None:
    text = (piece * MIB)[:MIB]
    started = time.process_time()
    try:
        read(text)
    except InnkeeperError as error:
        assert error.code in ("MVU_PARSE", "MVU_LIMIT")
    assert time.process_time() - started < 40
