"""General regular expressions: recorded results of a real engine, the engine itself, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from interpreter.javascript import utf16_length
from interpreter.limits import Limit
from interpreter.regex import RegexMatch, RegExp, RegexRefused, RegexTimeout, compile_regex, engine
from interpreter.regex.limits import NESTED, PATTERN, REPEAT
from tests.interpreter.node import encode, run_node

DATA = Path(__file__).parent / "data" / "general.jsonl"

# The calls of one record: each on a fresh regular expression, `exec` three times in a row.
EVALUATE = r"""
const show = m => m === null ? null : Array.isArray(m) && m.index === undefined ? [...m] : {
  index: m.index, text: m[0], groups: [...m].slice(1), named: m.groups ? {...m.groups} : null};
const calls = (source, flags, text) => {
  const make = () => new RegExp(source, flags);
  const out = {};
  const r = make();
  out.exec = [0, 1, 2].map(() => [show(r.exec(text)), r.lastIndex]);
  out.test = make().test(text);
  out.match = show(text.match(make()));
  out.search = text.search(make());
  out.replace = text.replace(make(), '[$&|$1|$`|$$]');
  out.fn = text.replace(make(), (...a) => '<' + a[0].length + '>');
  out.split = text.split(make());
  out.split2 = text.split(make(), 2);
  out.all = flags.includes('g') ? [...text.matchAll(make())].map(show) : null;
  return out;
};
answer(input.map(([s, f, t]) => encode(calls(s, f, t))));
"""


def show(match: RegexMatch | list[str] | None) -> Any:
    if not isinstance(match, RegexMatch):
        return match
    return {"index": match.index, "text": match.text, "groups": list(match.groups), "named": match.named}


def ours(source: str, flags: str, text: str) -> Any:
    """Our results of the calls of one record."""
    regex = compile_regex(source, flags)
    value = RegExp(regex)
    return encode(
        {
            "exec": [[show(value.exec(text)), value.last_index] for _ in range(3)],
            "test": RegExp(regex).test(text),
            "match": show(RegExp(regex).match(text)),
            "search": RegExp(regex).search(text),
            "replace": RegExp(regex).replace(text, "[$&|$1|$`|$$]"),
            "fn": RegExp(regex).replace(text, lambda match: f"<{utf16_length(match.text)}>"),
            "split": regex.split(text),
            "split2": regex.split(text, 2),
            "all": [show(match) for match in regex.matches(text)] if regex.is_global else None,
        }
    )


def recorded() -> list[dict[str, Any]]:
    return [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def test_recorded_results() -> None:
    cases = recorded()
    assert len(cases) > 500
    failed = []
    for case in cases:
        result = ours(case["source"], case["flags"], case["text"])
        failed += [
            f"/{case['source']}/{case['flags']} on {case['text']!r}: {call}: expected {wanted}, found {result[call]}"
            for call, wanted in case["result"].items()
            if result[call] != wanted
        ]
    assert not failed, "\n".join(failed)


@pytest.mark.node
def test_the_record_is_what_the_engine_says() -> None:
    cases = recorded()
    answers = run_node(EVALUATE, [[case["source"], case["flags"], case["text"]] for case in cases])
    assert [case for case, answer in zip(cases, answers, strict=True) if answer != case["result"]] == []


def refused(source: str, flags: str = "") -> RegexRefused:
    with pytest.raises(RegexRefused) as caught:
        compile_regex(source, flags)
    return caught.value


@pytest.mark.parametrize(
    ("source", "flags", "index"),
    [
        (r"(a*)*\1b", "", 5),
        (r"(?<n>a)\k<n>", "", 7),
        (r"\k<n>(?<n>a)", "", 0),
        (r"(a)(b)\2", "i", 6),
        (r"😀(a)\1", "", 5),
    ],
)
def test_back_references_are_refused(source: str, flags: str, index: int) -> None:
    error = refused(source, flags)
    assert (error.code, error.index, error.construct) == ("MVU_SCHEMA_CODE", index, "a back-reference")


@pytest.mark.parametrize("source", [r"\1", r"(a)\2", r"[\1](a)", r"\k<n>", r"\0", r"\\1(a)"])
def test_what_only_looks_like_a_back_reference_is_accepted(source: str) -> None:
    assert compile_regex(source).source == source


@pytest.mark.parametrize(
    ("source", "flags"),
    [
        ("a", "gg"),
        ("a", "v"),
        ("a", "d"),
        ("a", "x"),
        ("(", ""),
        ("a{2,1}", ""),
        ("[b-a]", ""),
        (r"\u{110000}", "u"),
        ("*", ""),
    ],
)
def test_patterns_that_do_not_parse_are_refused(source: str, flags: str) -> None:
    error = refused(source, flags)
    assert error.code == "MVU_SCHEMA_CODE"
    assert "expected" in error.message and "found" in error.message


@pytest.mark.parametrize(
    "source",
    [
        "a" * (PATTERN.default + 1),
        f"a{{{REPEAT.default + 1}}}",
        "a{99999999999}",
        "a{" + "9" * 4000 + "}",
        "a{1000,}",
        "(a|b){1,200}",
        "(?:a?){256}",
        "((a{1,10}){1,10}){1,10}",
        "(.{1,50}){1,50}",
        "((((a|b){3}){3}){3}){9}",
    ],
)
def test_limits(source: str) -> None:
    assert refused(source).code == "MVU_LIMIT"


@pytest.mark.parametrize(
    "source",
    [
        "a" * PATTERN.default,
        f"a{{{REPEAT.default}}}",
        r"^(\d{1,3}\.){3}\d{1,3}$",
        f"(?:a?){{{NESTED.default // 3}}}",
        "([ab]{1,9}){1,9}",
        "(a+)+(b*)*(c|d)*",
        "[{1,9999}]",
    ],
)
def test_inside_the_limits(source: str) -> None:
    compile_regex(source)


BLOW_UPS = [
    "(a+)+$",
    "(a*)*$",
    "(a|a)*$",
    "(a|aa)+$",
    "^(a?){80}$",
    "([ac]{1,15}){1,15}d",
    "(?=(a+)+)b",
    "(?<=(a+)+)b",
    "(.*)(.*)(.*)(.*)=",
    "((a|b)*?c)*d",
]


@pytest.mark.parametrize("source", BLOW_UPS)
def test_classic_blow_ups_answer_or_time_out(source: str) -> None:
    text = "a" * 5000 + "c"
    try:
        assert compile_regex(source, "g").replace(text, "") is not None
    except RegexTimeout as error:
        assert error.retryable


def test_a_timeout_is_retryable_and_spans_all_matches_of_a_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MATCH_TIME", Limit("x", 0, "ms", "a test", "MVU_REGEX_TIMEOUT"))
    regex = compile_regex("a", "g")
    for use in (
        lambda: regex.test("a"),
        lambda: list(regex.matches("aa")),
        lambda: regex.split("a"),
        lambda: regex.replace("a", ""),
    ):
        with pytest.raises(RegexTimeout) as caught:
            use()
        assert caught.value.retryable


def test_steps_are_the_same_each_time_and_grow_linearly() -> None:
    def steps(length: int) -> int:
        counted: list[int] = []
        compile_regex(r"\d+|[a-z]", "g").replace("1a" * length, "", counted.append)
        return sum(counted)

    assert steps(1000) == steps(1000)
    assert steps(4000) <= 4.5 * steps(1000)


def test_no_state_between_checks() -> None:
    regex = compile_regex("a", "g")
    assert [regex.test("a") for _ in range(3)] == [True, True, True]
    value = RegExp(regex)
    assert [value.test("a") for _ in range(3)] == [True, False, True]


def test_equal_patterns_are_compiled_once() -> None:
    assert compile_regex("a+", "g") is compile_regex("a+", "g")
