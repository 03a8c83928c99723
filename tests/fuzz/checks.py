"""What must hold for any declaration and any value: an answer or a refusal of ours, soon, the same again, and JSON."""

from __future__ import annotations

import time
from typing import Any

import jsonschema

from interpreter import CompiledSchema, InterpreterError, Memory, ParseResult, compile_declaration, declaration_status
from interpreter.javascript import js_json_text, parse_json

CPU_SECONDS = 20.0  # a hang is far longer; the budgets end everything else in a few seconds
NO_FORMATS = jsonschema.FormatChecker(())  # patterns are JavaScript's; the library would read them as Python's
CLOCK = 1_700_000_000_000


def check_declaration(text: str, values: list[Any]) -> str:
    """Compile a text and apply what compiles; the outcome is for statistics. Anything unlawful raises."""
    start = time.process_time()
    outcome = _outcome(text, values)
    spent = time.process_time() - start
    assert spent < CPU_SECONDS, f"{spent:.1f} s for {text!a}"
    return outcome


def _outcome(text: str, values: list[Any]) -> str:
    declaration_status(text)
    try:
        schema = compile_declaration(text)
    except InterpreterError as error:
        _lawful(error)
        return error.code
    _check_descriptions(schema)
    return "+".join(sorted({check_value(schema, value) for value in values}))


def _lawful(error: InterpreterError) -> None:
    assert error.code.startswith("MVU_"), error.code
    assert error.message
    js_json_text(parse_json(js_json_text(error.details)))


def _check_descriptions(schema: CompiledSchema) -> None:
    try:
        given, output = schema.json_schema("input"), schema.json_schema("output")
        fields = schema.fields()
    except InterpreterError as error:
        _lawful(error)
        return
    for described in (given, output):
        js_json_text(described)
        jsonschema.Draft202012Validator.check_schema(described, format_checker=NO_FORMATS)
    js_json_text([field.to_json() for field in fields])


def check_value(schema: CompiledSchema, value: Any) -> str:
    """Parse a value thrice, once with a memory that has seen it: same outcome, lawful, JSON."""
    before = js_json_text(value)
    memory = Memory()
    outcomes = [_parse(schema, value, known) for known in (None, memory, memory)]
    assert js_json_text(value) == before, "the parse changed the value"
    assert outcomes[0] == outcomes[1] == outcomes[2], f"{outcomes[0]} and {outcomes[1]} and {outcomes[2]}"
    return outcomes[0][0]


def _parse(schema: CompiledSchema, value: Any, memory: Memory | None) -> tuple[str, str, int]:
    try:
        result = schema.parse(value, clock=CLOCK, memory=memory)
    except InterpreterError as error:
        _lawful(error)
        return error.code, error.message, 0
    return ("ok" if result.ok else "issues"), _text(result), result.steps


def _text(result: ParseResult) -> str:
    if result.ok:
        text = js_json_text(result.value)
        parse_json(text)
        return text
    assert result.issues
    for issue in result.issues:
        for language in ("en", "zh"):
            assert issue.message_in(language) or issue.custom
    return js_json_text([issue.to_json() for issue in result.issues], other=repr)
