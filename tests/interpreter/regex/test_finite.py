"""The finite regular expressions of spec/mvu.md §5.6: what they accept, what is refused, what they cost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpreter.regex import RegexRefused, compile_finite

ACCEPTED = [
    ("^(ab|c){1,2}[0-9]?$", ["ab", "c", "abc", "cc9"], ["", "ababc", "abx", "cc99"]),
    ("^([01][0-9]|2[0-3]):[0-5][0-9]$", ["08:15", "23:59", "19:00"], ["24:00", "2:00", "12:60", "12:00x"]),
    (r"^\d{2}$", ["12"], ["1", "123", "１２", "a1", "12\n"]),
    ("^$", [""], ["a"]),
    ("^[.]$", ["."], ["a"]),
    (r"^\.\$\{\}\-\\$", [".${}-\\"], [".${}-"]),
    (r"^[a\-z]$", ["a", "-", "z"], ["b"]),
    (r"^[\d甲-龟]$", ["7", "甲"], ["a"]),
    ("^a,b-c1$", ["a,b-c1"], ["a"]),
    ("^a{0}b{2}$", ["bb"], ["abb"]),
    ("^(a|(b|(c))){2}$", ["ab", "cc"], ["d", "a"]),
    ("^😀?$", ["\ud83d", "😀"], ["", "\ude00"]),  # the repeat takes one half of the pair: one unit
    ("^第[一二三]章$", ["第一章"], ["第四章"]),
    ("^(a{32}){32}$", ["a" * 1024], ["a" * 1023]),
    ("^" + "(" * 16 + "a" + ")" * 16 + "$", ["a"], ["b"]),
    ("^" + "(" * 16 + "a{0}" + "){64}" * 16 + "$", [""], ["a"]),
    ("^" + "a" * 254 + "$", ["a" * 254], [""]),
]

REFUSED = [
    *["^a+$", "^a*$", "^(a+)+$", r"^(a)\1$", "^(?=a)a$", "^(?:a)$", "a", "^a", "a$", "^a{65}$", "^a{3,2}$", "^a{100}$"],
    *[
        "^a.$",
        "^a|b$",
        "^a$|^b$",
        "^()$",
        "^(a|)$",
        "^(|a)$",
        "^a{1,}$",
        "^a??$",
        "^a{2}{2}$",
        r"^\w$",
        r"^\/$",
        "^[]$",
    ],
    *["^[^a]$", "^[a-]$", "^[-a]$", "^[a^]$", "^[z-a]$", r"^[a-\d]$", "^{2}$", "^?$", "^a]$", "^a}$", "^a$b$", "", "^"],
    "^" + "a" * 255 + "$",
]


@pytest.mark.parametrize(("pattern", "accepts", "rejects"), ACCEPTED, ids=[row[0][:30] for row in ACCEPTED])
def test_scenario_125_matching(pattern: str, accepts: list[str], rejects: list[str]) -> None:
    regex = compile_finite(pattern)
    assert [text for text in accepts if not regex.test(text)] == []
    assert [text for text in rejects if regex.test(text)] == []


@pytest.mark.parametrize("pattern", REFUSED)
def test_scenario_126_refused_patterns(pattern: str) -> None:
    with pytest.raises(RegexRefused) as caught:
        compile_finite(pattern)
    assert caught.value.code == "MVU_SCHEMA_CODE"
    assert "expected" in caught.value.message


def test_scenario_126_flags_are_refused() -> None:
    with pytest.raises(RegexRefused) as caught:
        compile_finite("^a$", "i")
    assert caught.value.code == "MVU_SCHEMA_CODE"


@pytest.mark.parametrize("pattern", ["^(a{64}){64}$", "^" + "(" * 17 + "a" + ")" * 17 + "$"])
def test_scenario_126_limits(pattern: str) -> None:
    with pytest.raises(RegexRefused) as caught:
        compile_finite(pattern)
    assert caught.value.code == "MVU_LIMIT"


def steps(pattern: str, text: str) -> int:
    counted: list[int] = []
    compile_finite(pattern).test(text, counted.append)
    return sum(counted)


def test_steps_are_exact_and_also_charged_for_a_remembered_pattern() -> None:
    for _ in range(2):
        counted: list[int] = []
        compile_finite("^a{3}$", "", counted.append)
        assert counted == [4]
        assert steps("^a{3}$", "aaa") == 7  # two for each unit (a state, an edge), one for the end


def test_steps_grow_linearly_with_the_text() -> None:
    assert steps("^a{64}$", "a" * 64) == 129
    assert steps("^(a?){64}$", "b" * 1000) < 300


@given(
    st.from_regex(re.compile(r"\A(?:[ab]|\[ab\]|\(a\|b\))(?:\?|\{[0-3],[3-5]\}|\{2\})?(?:[ab]\?)?\Z")),
    st.text("ab", max_size=8),
)
def test_agrees_with_a_backtracking_engine(body: str, text: str) -> None:
    assert compile_finite(f"^{body}$").test(text) == (re.fullmatch(body, text) is not None)
