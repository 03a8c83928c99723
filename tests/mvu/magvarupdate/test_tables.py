"""Tables of texts with what the upstream's libraries make of them; inputs are our own, results were recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpreter.javascript import UNDEFINED, js_number_text
from runtime.mvu.commands.magvarupdate.dates import iso_text, parse_date
from runtime.mvu.commands.magvarupdate.mathematics import EMPTY, NO_VALUE, evaluate
from runtime.mvu.commands.magvarupdate.reading import read_value
from runtime.mvu.commands.magvarupdate.text import parse_text
from runtime.mvu.commands.magvarupdate.values import is_number, json_text
from runtime.mvu.yaml_writing import yaml_text

CASES = Path(__file__).parent / "cases"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").split("\n") if line]


def _number(value: Any) -> str:
    return "-0" if str(value) == "-0.0" else js_number_text(value)


def _date(row: dict[str, Any]) -> tuple[Any, Any]:
    instant = parse_date(row["text"])
    return (None if instant is None else iso_text(instant)), row["iso"]


def _mathematics(row: dict[str, Any]) -> tuple[Any, Any]:
    value = evaluate(row["text"])
    wanted = {key: item for key, item in row.items() if key != "text"}
    if value is EMPTY:
        return {"empty": True}, wanted
    if value is NO_VALUE:
        return {"none": True}, wanted
    return ({"number": js_number_text(value)} if is_number(value) else {"shown": value}), wanted


def _reading(row: dict[str, Any]) -> tuple[Any, Any]:
    value = read_value(row["text"])
    wanted = {key: item for key, item in row.items() if key != "text"}
    if value is UNDEFINED:
        return {"undefined": 1}, wanted
    if is_number(value):
        return {"number": _number(value)}, wanted
    if isinstance(value, dict | list):
        return {"json": json_text(value)}, wanted
    return {"value": value}, wanted


def _text(row: dict[str, Any]) -> tuple[Any, Any]:
    return json_text(parse_text(row["text"])), json_text(row["value"])


def _yaml(row: dict[str, Any]) -> tuple[Any, Any]:
    return yaml_text(row["value"]).rstrip("\n"), row["yaml"]


READERS: dict[str, Callable[[dict[str, Any]], tuple[Any, Any]]] = {
    "dates": _date,
    "mathematics": _mathematics,
    "reading": _reading,
    "texts": _text,
    "yaml": _yaml,
}


@pytest.mark.parametrize("name", sorted(READERS))
def test_table(name: str) -> None:
    differing: list[str] = []
    for row in _rows(name):
        found, wanted = READERS[name](row)
        if found != wanted or json.dumps(found) != json.dumps(wanted):
            differing.append(f"{row!r}: found {found!r}")
    assert not differing, "\n".join(differing)
