"""Hostile declarations and values: refused or stopped in bounded time, with an error of ours, twice the same."""

from __future__ import annotations

import time
from typing import Any

import pytest

from interpreter import InterpreterError, Memory, clear_cache, compile_declaration
from tests.interpreter.hostile import HOSTILE, hostile_value

SECONDS = 60.0  # far above what each takes; a hang must not pass


def _attempt(text: str, value: Any) -> str:
    try:
        schema = compile_declaration(text)
        result = schema.parse(value, clock=1)
        again = schema.parse(value, clock=1, memory=Memory())
        assert (result.ok, result.steps) == (again.ok, again.steps)
    except InterpreterError as error:
        return error.code
    return "ok" if result.ok else "issues"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    text, value = HOSTILE[name]
    start = time.monotonic()
    first = _attempt(text, hostile_value(value))
    clear_cache()
    assert time.monotonic() - start < SECONDS
    assert first in ("ok", "issues", "MVU_LIMIT", "MVU_SCHEMA_CODE", "MVU_PATH", "MVU_JSON", "MVU_REGEX_TIMEOUT")
