"""Every value that a parse puts out is valid under the output schema; what was given, under the input schema."""

import os

import jsonschema
import pytest
from jsonschema.protocols import Validator

from interpreter import BudgetExceeded, CompiledSchema, DeclarationError, EvaluationError, compile_declaration
from interpreter.javascript import js_json_text, parse_json
from tests.interpreter.random_schemas import random_cases

SEED = int(os.environ.get("INNKEEPER_DIFFERENTIAL_SEED", "7"))
SCHEMAS = int(os.environ.get("INNKEEPER_DIFFERENTIAL_SCHEMAS", "1000"))


def validator(compiled: CompiledSchema) -> Validator:
    """A validator of the output schema, which must be a valid schema itself."""
    schema = compiled.json_schema("output")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator.check_schema(compiled.json_schema("input"))
    return jsonschema.Draft202012Validator(schema)


def test_outputs_are_valid_under_the_output_schema() -> None:
    accepted, wrong = 0, []
    for text, values in random_cases(SEED, SCHEMAS, 8):
        try:
            compiled = compile_declaration(f"export const Schema = {text};", 3)
        except (DeclarationError, BudgetExceeded):
            continue
        check = validator(compiled)
        compiled.fields()
        for value in values:
            try:
                result = compiled.parse(value)
            except EvaluationError:
                continue
            if not result.ok:
                continue
            accepted += 1
            output = parse_json(js_json_text(result.value))
            for error in check.iter_errors(output):
                wrong.append(f"{error.message[:200]} — {text} on {js_json_text(value)} gave {js_json_text(output)}")
                break
    assert not wrong, f"{len(wrong)} of {accepted}\n" + "\n".join(wrong[:20])
    assert accepted > SCHEMAS


@pytest.mark.parametrize(
    ("text", "given", "refused"),
    [
        ("z.object({ a: z.number().min(1).describe('n') })", [{"a": 1}, {"a": 2, "b": 1}], [{}, {"a": 0}, {"a": "x"}]),
        ("z.object({ a: z.string().prefault('x') })", [{}, {"a": "y"}], [{"a": 1}]),
        ("z.record(z.enum(['a', 'b']), z.boolean())", [{"a": True, "b": False}], [{"a": True}, {"a": True, "b": True, "c": True}]),
        ("z.tuple([z.string(), z.number().optional()])", [["a"], ["a", 1]], [[], ["a", 1, 2], [1]]),
        ("z.union([z.literal('a'), z.number()])", ["a", 3], ["b", None]),
        ("z.preprocess(v => v ?? 1, z.number())", [1], ["a"]),
        ("z.array(z.int()).min(1)", [[1]], [[], [0.5]]),
        ("z.strictObject({ a: z.string().nullable() })", [{"a": None}], [{"a": "", "b": 1}]),
    ],
)  # fmt: skip
def test_the_input_schema_says_what_may_be_given(text: str, given: list[object], refused: list[object]) -> None:
    schema = compile_declaration(f"export const Schema = {text};", 3).json_schema("input")
    check = jsonschema.Draft202012Validator(schema)
    assert [value for value in given if not check.is_valid(value)] == []
    assert [value for value in refused if check.is_valid(value)] == []
