"""Arithmetic inside command values: the interpreter's restricted expressions (spec/mvu.md §4.2 rule 3)."""

from __future__ import annotations

import interpreter
from runtime.mvu.errors import fatal


def evaluate(text: str) -> float:
    """The number of an arithmetic text; every failure is fatal and keeps the interpreter's code."""
    run = getattr(interpreter, "evaluate_arithmetic", None)
    if run is None:
        raise fatal("MVU_UNSUPPORTED", "arithmetic is not available in this build")
    result: float = run(text)
    return result
