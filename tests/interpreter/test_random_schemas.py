"""The interpreter beside the real Zod 4.4.3 in Node.js: random schemas × random values, same outcome everywhere."""

import os
from typing import Any

import pytest

from interpreter import BudgetExceeded, CompiledSchema, DeclarationError, compile_declaration
from interpreter.javascript import js_json_text, parse_json
from tests.conformance.suites.zod import compare
from tests.fuzz.checks import check_value
from tests.interpreter.node import run_node, zod_or_skip
from tests.interpreter.random_schemas import random_cases

SEED = int(os.environ.get("INNKEEPER_DIFFERENTIAL_SEED", "20260501"))
SCHEMAS = int(os.environ.get("INNKEEPER_DIFFERENTIAL_SCHEMAS", "1500"))
VALUES = 6

EVALUATE = r"""
const {z} = require('zod');
const _ = require('lodash');
const FIELDS = ['code', 'path', 'expected', 'keys', 'values', 'minimum', 'maximum', 'inclusive', 'origin', 'format',
  'divisor', 'note', 'exact', 'discriminator', 'prefix', 'suffix', 'includes'];
const issue = i => {
  const out = {};
  for (const k of FIELDS) if (k in i && i[k] !== undefined) out[k] = encode(i[k]);
  if (i.code === 'custom') out.message = i.message;
  if (i.errors) out.errors = i.errors.map(list => list.map(issue));
  if (i.issues) out.issues = i.issues.map(issue);
  return out;
};
const one = (schema, text) => {
  try {
    const r = schema.safeParse(JSON.parse(text));
    return r.success ? {success: true, output: encode(r.data)} : {success: false, issues: r.error.issues.map(issue)};
  } catch (e) { return {threw: String(e)}; }
};
answer(input.map(([text, values]) => {
  let schema;
  try { schema = new Function('z', '_', 'return ' + text)(z, _); } catch (e) { return {built: String(e)}; }
  return {results: values.map(v => one(schema, v))};
}));
"""


def same_in_all_ways(schema: CompiledSchema, value: str) -> str | None:
    """None where the exact parser, the generated one and remembered results say the same."""
    try:
        check_value(schema, parse_json(value))
    except AssertionError as error:
        return f"not the same in all ways: {error}"
    return None


def differences(cases: list[tuple[str, list[str]]], answers: list[Any]) -> list[str]:
    """One line for each pair with another outcome than Zod's."""
    found: list[str] = []
    for (text, values), answer in zip(cases, answers, strict=True):
        try:
            schema = compile_declaration(f"export const Schema = {text};")
        except (DeclarationError, BudgetExceeded) as error:
            if "built" not in answer and any("threw" not in result for result in answer["results"]):
                found.append(f"refused: {error.message[:300]} — {text}")
            continue
        if "built" in answer:
            found.append(f"expected a refusal ({answer['built']}), found a schema — {text}")
            continue
        for value, result in zip(values, answer["results"], strict=True):
            difference = compare(schema, result, parse_json(value), None, True) or same_in_all_ways(schema, value)
            if difference is not None:
                found.append(f"{difference} — {text} on {value}")
    return found


@pytest.mark.node
def test_random_schemas_and_values_have_the_outcome_of_zod() -> None:
    cases = [(text, [js_json_text(value) for value in values]) for text, values in random_cases(SEED, SCHEMAS, VALUES)]
    answers = run_node(EVALUATE, [list(case) for case in cases], cwd=zod_or_skip())
    results = [result for answer in answers for result in answer.get("results", [])]
    accepted = sum(result.get("success") is True for result in results)
    assert accepted > len(results) / 5, "too few accepted values to compare outputs"
    found = differences(cases, answers)
    assert not found, f"seed {SEED}: {len(found)} of {len(results)} pairs differ\n" + "\n".join(found[:25])
