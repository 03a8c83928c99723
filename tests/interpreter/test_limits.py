"""Each limit of the interpreter stops what goes over it, by its own row, and lets through what does not."""

from __future__ import annotations

from typing import Any

import pytest

from interpreter import BudgetExceeded, EvaluationError, InterpreterError, compile_declaration, evaluate_arithmetic
from interpreter import limits as rows
from interpreter.limits import LIMITS, Limit


def _transform(body: str) -> str:
    return f"export const Schema = z.any().transform(v => {{ {body} }});"


def _chain(count: int) -> str:
    return (
        "export const Schema = z.array(" * 0
        + "let s = z.any(); "
        + f"for (let i = 0; i < {count}; i++) s = z.array(s); const Schema = s;"
    )


# limit -> (declaration within it, declaration over it, value): the first compiles and parses, the second is stopped.
OVER: dict[Limit, tuple[str, str, Any]] = {
    rows.SOURCE: ("const Schema = z.any();", "const Schema = z.any();" + " " * rows.SOURCE.default, 1),
    rows.SYNTAX_NODES: (
        "const Schema = z.enum(['a']);",
        "const Schema = z.literal([" + "1," * rows.SYNTAX_NODES.default + "]);",
        "a",
    ),
    rows.BUILD_STEPS: (
        "let n = 0; for (let i = 0; i < 100; i++) n += 1; const Schema = z.any().default(n);",
        "let n = 0; for (let i = 0; i < 1e6; i++) n += 1; const Schema = z.any().default(n);",
        1,
    ),
    rows.PARSE_STEPS: (
        _transform("let n = 0; for (let i = 0; i < 100; i++) n += 1; return n;"),
        _transform("let n = 0; for (let i = 0; i < 1e6; i++) n += 1; return n;"),
        1,
    ),
    rows.CALL_DEPTH: (
        _transform("const f = n => n ? f(n - 1) : 0; return f(20);"),
        _transform("const f = () => f(); return f();"),
        1,
    ),
    rows.STACK_WEIGHT: (
        _transform("const f = n => n ? [1].map(() => f(n - 1))[0] : 0; return f(5);"),
        _transform("const f = n => n ? [1].map(() => f(n - 1))[0] : 0; return f(60);"),
        1,
    ),
    rows.SCHEMA_DEPTH: (_chain(rows.SCHEMA_DEPTH.default - 1), _chain(rows.SCHEMA_DEPTH.default + 2), []),
    rows.SCHEMA_NODES: (
        "const Schema = z.tuple(Array.from({ length: 10 }, () => z.any().optional()));",
        f"const Schema = z.tuple(Array.from({{ length: {rows.SCHEMA_NODES.default} }}, () => z.any().optional()));",
        [],
    ),
    rows.VALUE_SIZE: (
        _transform("return 'x'.repeat(1000);"),
        _transform("const s = 'x'.repeat(500000); return [[s], [s], [s], [s], [s]];"),
        1,
    ),
    rows.STRING: (
        _transform(f"return 'x'.repeat({rows.STRING.default}).length;"),
        _transform(f"return 'x'.repeat({rows.STRING.default + 1}).length;"),
        1,
    ),
    rows.LOOP_ITEMS: (
        _transform("let n = 0; for (const x of Array(100)) n++; return n;"),
        _transform(f"for (const x of Array({rows.LOOP_ITEMS.default + 1})) {{ }} return 1;"),
        1,
    ),
}


@pytest.mark.parametrize("limit", OVER, ids=lambda limit: limit.name)
def test_over_the_limit(limit: Limit) -> None:
    within, over, value = OVER[limit]
    assert compile_declaration(within).parse(value).ok
    with pytest.raises(InterpreterError) as refusal:
        compile_declaration(over).parse(value)
    assert isinstance(refusal.value, BudgetExceeded)
    assert refusal.value.limit == limit.name, refusal.value.message
    assert refusal.value.code == limit.error


def test_depth_of_the_syntax() -> None:
    deep = "[" * (rows.SYNTAX_DEPTH.default - 20) + "]" * (rows.SYNTAX_DEPTH.default - 20)
    for text in (f"const Schema = z.any().default({deep});", "const Schema = z.any().default([1]);"):
        if len(text) > 60:
            with pytest.raises(InterpreterError) as refusal:
                compile_declaration(text, profile="reference")
            assert refusal.value.code == "MVU_LIMIT"
        else:
            assert compile_declaration(text, profile="reference")


def test_arithmetic_is_bounded() -> None:
    assert evaluate_arithmetic("1" + "+1" * 4_000) == 4_001
    with pytest.raises(BudgetExceeded):
        evaluate_arithmetic("1" + "+1" * 4_100)
    with pytest.raises(BudgetExceeded):
        evaluate_arithmetic("10 ^ 400")


@pytest.mark.parametrize(
    ("issue", "code"),
    [
        ("{ message: " + "'x'" + " }", None),
        ("{ message: '" + "x" * (rows.ISSUE_MESSAGE.default + 1) + "' }", "MVU_SCHEMA_CODE"),
        ("{ path: [" + "'a'," * (rows.ISSUE_PATH.default + 1) + "] }", "MVU_SCHEMA_CODE"),
        ("{ code: 'other' }", "MVU_SCHEMA_CODE"),
    ],
)
def test_issues_of_versions_1_and_2(issue: str, code: str | None) -> None:
    schema = compile_declaration(f"const Schema = z.any().superRefine((v, ctx) => {{ ctx.addIssue({issue}); }});", 2)
    if code is None:
        assert not schema.parse(1).ok
        return
    with pytest.raises(EvaluationError) as refusal:
        schema.parse(1)
    assert refusal.value.code == code


def test_names_are_distinct_and_the_reference_profile_is_tighter() -> None:
    assert len({limit.name for limit in LIMITS}) == len(LIMITS)
    for limit in LIMITS:
        assert limit.under("reference") <= limit.under("default")


def test_default_steps_leave_room_for_real_states() -> None:
    """At least twenty times what the 64-key declaration needs for its 50 KB state (spec/mvu.md §0.3)."""
    import json
    from pathlib import Path

    data = Path(__file__).parents[2] / "bench" / "data"
    schema = compile_declaration((data / "zod-schema-60.txt").read_text(encoding="utf-8"))
    result = schema.parse(json.loads((data / "zod-data-50k.json").read_text(encoding="utf-8")))
    assert result.ok
    assert result.steps * 20 <= rows.PARSE_STEPS.default
