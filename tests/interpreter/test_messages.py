"""The sentences of issues: English as recorded from Zod, Chinese complete."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpreter.javascript import UNDEFINED
from interpreter.messages import CATALOGUES, issue_message, received_type
from tests.interpreter.node import decode

RECORDED = Path(__file__).parents[2] / "vendor_fixtures" / "zod" / "zod.jsonl"
# A value of each type that a recorded message can name as received.
DATE = type("DateLike", (), {"js_class": "Date"})()
SAMPLES: dict[str, Any] = {
    "string": "", "number": 1, "boolean": True, "null": None, "array": [], "object": {}, "undefined": UNDEFINED,
    "NaN": math.nan, "Date": DATE, "function": len,
}  # fmt: skip


def issues(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Issues with those nested inside them."""
    for issue in found:
        yield issue
        for inner in issue.get("errors", []):
            yield from issues(inner)
        yield from issues(issue.get("issues", []))


def recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    """The declaration and each issue of every recorded case."""
    for line in RECORDED.read_text("utf-8").splitlines():
        entry = json.loads(line)
        for case in entry.get("cases", []):
            for issue in issues(case.get("issues", [])):
                yield entry["declaration"], issue


def sample(issue: dict[str, Any]) -> Any:
    """A value of the type that the recorded message says was received."""
    received = re.search(r"received (\w+)$", issue["message"])
    return SAMPLES[received.group(1)] if received else UNDEFINED


def test_english_messages_are_the_recorded_ones() -> None:
    compared, failed = 0, []
    for declaration, issue in recorded():
        own = issue["message"] in declaration or issue["code"] == "custom"
        if issue["code"] == "invalid_type" and " received " not in issue["message"]:
            own = True
        said = issue_message(decode(issue), sample(issue))
        if said != issue["message"] and not own:
            failed.append(f"expected {issue['message']!r}, found {said!r}")
        compared += not own
    assert not failed, "\n".join(failed)
    assert compared > 600


def test_chinese_has_a_sentence_of_its_own_for_every_recorded_issue() -> None:
    for _, issue in recorded():
        said = issue_message(decode(issue), sample(issue), "zh")
        assert re.search("[\u4e00-\u9fff]", said), issue
        assert "{" not in re.sub(r"规则 .*|“.*”", "", said), said


def test_both_catalogues_have_the_same_sentences_with_the_same_fields() -> None:
    english, chinese = CATALOGUES["en"].sentences, CATALOGUES["zh"].sentences
    assert english.keys() == chinese.keys()
    for key, sentence in english.items():
        fields = set(re.findall(r"\{(\w+)\}", sentence))
        assert set(re.findall(r"\{(\w+)\}", chinese[key])) <= fields, key
    assert CATALOGUES["en"].units.keys() == CATALOGUES["zh"].units.keys()


@pytest.mark.parametrize(
    ("value", "name"),
    [(None, "null"), ([], "array"), ({}, "object"), (math.nan, "nan"), (math.inf, "number"),
     (True, "boolean"), ("", "string"), (UNDEFINED, "undefined"), (len, "function"), (DATE, "Date")],
)  # fmt: skip
def test_received_types(value: object, name: str) -> None:
    assert received_type(value) == name


@pytest.mark.parametrize(
    ("issue", "value", "english", "chinese"),
    [
        (
            {"code": "invalid_type", "expected": "number"},
            "x",
            "Invalid input: expected number, received string",
            "类型不符：这里要数字，给的是文字",
        ),
        (
            {"code": "invalid_type", "expected": "string"},
            UNDEFINED,
            "Invalid input: expected string, received undefined",
            "缺少内容：这里要文字",
        ),
        (
            {"code": "too_big", "origin": "array", "maximum": 5.0, "inclusive": False},
            [],
            "Too big: expected array to have <5 items",
            "列表过长：要少于 5 项",
        ),
        ({"code": "invalid_element", "origin": "map"}, {}, "Invalid value in map", "映射中有不合格的内容"),
        ({"code": "custom"}, 1, "Invalid input", "内容不合格"),
        ({"code": "invalid_value", "values": [None, True, 1e21]}, 1, "Invalid option: expected one of null|true|1e+21",
         "取值不符：只能从 null、true、1e+21 中选"),
    ],
)  # fmt: skip
def test_sentences(issue: dict[str, Any], value: object, english: str, chinese: str) -> None:
    assert issue_message(issue, value) == english
    assert issue_message(issue, value, "zh") == chinese
