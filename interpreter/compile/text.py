"""Coercions of scalars (spec/zod.md §9, rules 7-9)."""

from __future__ import annotations

from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.evaluate.operators import to_number, to_text


def string_of(value: Any) -> str:
    """``String(value)`` of a scalar."""
    return to_text(value)


def number_text_to_number(run: Run, value: Any) -> Any:
    """``Number(value)`` of a scalar; a long text is charged."""
    if isinstance(value, str):
        if len(value) < 16 and value.isascii() and value.isdigit():
            return int(value)
        if len(value) > 64:
            run.charge(len(value) >> 5)
        return js.text_to_number(value)
    return to_number(value)
