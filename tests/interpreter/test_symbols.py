"""Signs of a text as lodash counts them."""

import random

import pytest

from interpreter.evaluate.builtins.symbols import symbol_count, symbols
from interpreter.javascript import join_surrogates
from tests.interpreter.node import run_node, zod_or_skip

PIECES = [
    "a",
    "甲",
    "\u0301",
    "\u20e3",
    "\ufe0f",
    "\u200d",
    "😀",
    "👍",
    "\U0001f3fd",
    "\U0001f1e8",
    "\U0001f1f3",
    "\ud83d",
    "1",
]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("ab", 2),
        ("甲乙", 2),
        ("😀", 1),
        ("👨‍👩‍👧", 1),
        ("🇨🇳", 1),
        ("e\u0301", 1),
        ("👍🏽!", 2),
        ("\ud83d", 1),
        ("a\u200d", 2),
    ],
)
def test_counts(text: str, count: int) -> None:
    assert symbol_count(text) == len(symbols(text)) == count


@pytest.mark.node
def test_random_texts_agree_with_lodash() -> None:
    dice = random.Random(11)
    texts = [join_surrogates("".join(dice.choices(PIECES, k=dice.randrange(8)))) for _ in range(3000)]
    script = "const _ = require('lodash'); answer(input.map(t => [_.size(t), _.toArray(t)]));"
    answers = run_node(script, texts, cwd=zod_or_skip())
    assert [
        ascii(text)
        for text, answer in zip(texts, answers, strict=True)
        if answer != [symbol_count(text), symbols(text)]
    ] == []
