"""What the fuzzer feeds: declarations near real ones, and JSON values near the edges."""

from __future__ import annotations

import functools
import json
import random
import re
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.interpreter.hostile import HOSTILE
from tests.interpreter.random_schemas import random_cases

_RECORDED = Path(__file__).parents[2] / "vendor_fixtures" / "zod" / "zod.jsonl"
_TOKEN = re.compile(r"[\w$]+|\s+|'[^'\n]*'|=>|\.\.\.|[^\w\s]")
_LONGEST = 6_000

PIECES = [
    *["(", ")", "[", "]", "{", "}", ",", ";", ".", "...", "=>", "?", "?.", "??", ":", "=", "===", "+", "-", "*", "/", "%", "**", "!", "&&", "||", "&", "|", "^", "~", "<", ">", "`", "${", "'", '"', "\\", "#", "@", "\n", "\ufeff", "\u2028", "\x00"],
    *["z", "_", "$", "Math", "JSON", "Object", "Array", "Number", "String", "Set", "Map", "RegExp", "Date", "Symbol", "this", "super", "arguments", "globalThis"],
    *["const", "let", "var", "function", "class", "async", "await", "yield", "return", "if", "else", "for", "while", "do", "switch", "case", "break", "continue"],
    *["try", "catch", "finally", "throw", "new", "delete", "typeof", "void", "in", "of", "instanceof", "import", "export", "default", "null", "undefined"],
    *["object", "string", "number", "array", "record", "union", "enum", "literal", "tuple", "lazy", "transform", "refine", "superRefine", "prefault"],
    *["default", "catch", "pipe", "preprocess", "intersection", "discriminatedUnion", "optional", "nullable", "coerce", "shape", "extend", "parse"],
    *["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "length", "push", "map", "filter", "reduce", "sort", "repeat", "split"],
    *["0", "1", "-0", "1e309", "0x1f", "1_000", "9007199254740993", "10n", "NaN", "Infinity", "'a'", "''", "'甲'", "'\\ud800'", "/a/", "/(a+)+$/g", "/[/"],
    "z.string()", "z.object({})", "z.array(", ".transform(v => ", ".refine(() => ", "() => {", "export const Schema = ",
    "while (true) {}", "...v", "v.v", "v[", "`${v}`", "({ get a() { return ", "/* ", "// ", "registerMvuSchema(Schema)",
]  # fmt: skip


@functools.cache
def seeds() -> tuple[str, ...]:
    """Declarations to start from: the recorded ones, random ones, and the short hostile ones."""
    recorded = [json.loads(line)["declaration"] for line in _RECORDED.read_text("utf-8").splitlines()]
    made = [f"export const Schema = {text};" for text, _ in random_cases(99, 150, 1, depth=2)]
    hostile = [text for text, _ in HOSTILE.values()]
    return tuple(text for text in [*recorded, *made, *hostile] if len(text) < _LONGEST)


@st.composite
def declarations(draw: st.DrawFn) -> str:
    """A declaration with some of its tokens left out, doubled, moved, replaced or mixed with another's."""
    dice = draw(st.randoms(use_true_random=False))
    tokens = _TOKEN.findall(dice.choice(seeds()))
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3, 6]))):
        tokens = _mutated(dice, tokens)
    return "".join(tokens)[:_LONGEST]


def _mutated(dice: random.Random, tokens: list[str]) -> list[str]:
    size = len(tokens)
    start = dice.randrange(size + 1)
    end = min(size, start + dice.choice([1, 1, 2, 5, 20]))
    kind = dice.randrange(6)
    if kind == 0:
        return tokens[:start] + tokens[end:]
    if kind == 1:
        return tokens[:end] + tokens[start:end] * dice.choice([1, 1, 3, 40]) + tokens[end:]
    if kind == 2:
        return [*tokens[:start], dice.choice(PIECES), *tokens[start:]]
    if kind == 3:
        return [*tokens[:start], dice.choice(PIECES), *tokens[end:]]
    if kind == 4:
        other = _TOKEN.findall(dice.choice(seeds()))
        place = dice.randrange(len(other) + 1)
        return tokens[:start] + other[place : place + dice.choice([3, 10, 40])] + tokens[end:]
    target = dice.randrange(size + 1)
    rest = tokens[:start] + tokens[end:]
    return rest[:target] + tokens[start:end] + rest[target:]


TEXTS = st.sampled_from(
    [
        "",
        "a",
        "甲",
        "😀",
        "\ud800",
        "1",
        "-0",
        "0x1f",
        " 1 ",
        "1e400",
        "__proto__",
        "constructor",
        "toString",
        "true",
        "x" * 300,
    ]
) | st.text(max_size=6)
NUMBERS = (
    st.sampled_from([0, -0.0, 1, -1, 0.1, 2**53 + 1, 10**30, 1e308, 5e-324])
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)


def nested(value: Any, depth: int) -> Any:
    """A value inside so many arrays and objects."""
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(["a", "b", "甲", "hp", "1", "10", "c-d", "x", ""]) | st.text(max_size=2), inner, max_size=6
        )
    ),
    max_leaves=25,
) | st.builds(nested, st.integers(), st.integers(0, 60))
