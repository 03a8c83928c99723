"""Arithmetic inside command values: the interpreter's restricted expressions (spec/mvu.md §4.2 rule 3)."""

from __future__ import annotations

import interpreter
from interpreter.errors import InterpreterError
from runtime.mvu.errors import fatal


def evaluate(text: str) -> float:
    """The number of an arithmetic text; every failure is fatal and keeps the interpreter's code."""
    run = getattr(interpreter, "evaluate_arithmetic", None)
    if run is None:
        raise fatal("MVU_UNSUPPORTED", "arithmetic is not available in this build")
    try:
        result: float = run(text)
    except InterpreterError as error:
        raise fatal(error.code, f"expected arithmetic, found {text[:80]!r}: {error}", error.details) from error
    return result
