"""Scenarios 77-88, 95-103, 117, 120-136, 234-237 and 243 of spec/mvu.md §12, as far as they concern declarations."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from interpreter import BudgetExceeded, DeclarationError, EvaluationError, compile_declaration, evaluate_arithmetic
from tests.interpreter.scenarios import COMPOSITE, FACTORY, PINNED, ROWS, Row, pinned


def _outcome(row: Row) -> tuple[str, Any]:
    try:
        schema = compile_declaration(row.text, row.version, profile=row.profile)
    except (DeclarationError, BudgetExceeded) as error:
        return "compile", error.code
    before = copy.deepcopy(row.value)
    try:
        result = schema.parse(row.value)
    except (EvaluationError, BudgetExceeded) as error:
        return "parse", error.code
    assert row.value == before, "the input was changed"
    return ("ok", result.value) if result.ok else ("issues", result.issues[0].path)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"scenario_{row.number:03d}-{row.name}")
def test_scenario(row: Row) -> None:
    kind, detail = _outcome(row)
    expected_kind, expected = row.outcome
    assert kind == expected_kind, (kind, detail)
    if expected is not None or kind not in ("compile", "parse"):
        assert detail == expected


def test_scenario_081_twice() -> None:
    """Two applications of one declaration never see each other."""
    schema = compile_declaration(
        "export const Schema = z.any().transform(v => { const box = { n: 0 }; box.n += v; return box.n; });", 2
    )
    assert [schema.parse(2).value, schema.parse(2).value] == [2, 2]


def test_scenario_085_no_commands() -> None:
    """A parse that nobody asks for changes nothing: the schema is a function of its argument."""
    value = {"ticks": 0, "hp": 10}
    schema = compile_declaration(
        "export const Schema = z.looseObject({ ticks: z.number() }).transform(d => { d.ticks += 1; return d; });", 2
    )
    assert schema.parse(value).value == {"ticks": 1, "hp": 10}
    assert value == {"ticks": 0, "hp": 10}


def test_scenario_087_sequence() -> None:
    schema = compile_declaration("export const Schema = z.object({ hp: z.number().min(0) });", 2)
    assert [schema.parse({"hp": hp}).ok for hp in (9, -1, 8)] == [True, False, True]


def test_scenario_120_repeats_equal() -> None:
    schema = compile_declaration(FACTORY, 2)
    first, second = schema.parse({}), schema.parse({})
    assert (first.value, first.steps) == (second.value, second.steps)


def test_scenario_131_wrapper_with_an_extra_statement() -> None:
    text = f"import {{ registerMvuSchema }} from '{PINNED}';\nexport const Schema = z.any();\n$(() => {{ console.log(1); registerMvuSchema(Schema); }});"
    with pytest.raises(DeclarationError):
        compile_declaration(text, 2)
    assert compile_declaration(text).version == 3


def test_scenario_134_arithmetic() -> None:
    assert evaluate_arithmetic("Math.floor(10 / 3) + sqrt(16)") == 7
    assert evaluate_arithmetic("2 ^ 3") == 8
    with pytest.raises(EvaluationError) as refusal:
        evaluate_arithmetic("process.exit()")
    assert refusal.value.code == "MVU_SCHEMA_CODE"


def test_scenario_135_idempotent_label() -> None:
    schema = compile_declaration(COMPOSITE, 2)
    again = schema.parse({"items": {"a": {"score": 100, "label": "high"}}})
    assert again.value["items"] == {"a": {"score": 100, "label": "high"}}


def test_scenario_234_descriptor() -> None:
    text = pinned("z.strictObject({ a: z.number() })")
    assert compile_declaration(text).descriptor() == {"mvuSchema": 1, "interpreterVersion": 2, "source": text}


@pytest.mark.parametrize("version", [0, 4, True, "3"])
def test_scenario_024_versions(version: Any) -> None:
    with pytest.raises(DeclarationError):
        compile_declaration("export const Schema = z.any();", version)
