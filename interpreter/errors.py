"""The errors of the interpreter and their codes (design §6, §10).

"The declaration is wrong" (:class:`DeclarationError`), "it costs too much" (:class:`BudgetExceeded`), "an author
function failed" (:class:`EvaluationError`) and "the value is wrong" (issues, no exception) are different things.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One error code: HTTP ``status``, whether it ends the operation, and a ``sentence`` for its reader."""

    code: str
    status: int
    kind: Literal["fatal", "diagnostic", "both"]
    sentence: str


ERROR_CODES: tuple[ErrorCode, ...] = (
    ErrorCode("MVU_SCHEMA_CODE", 400, "fatal", "The declaration, or what its functions do, is outside the language."),
    ErrorCode("MVU_LIMIT", 400, "fatal", "A budget was exceeded."),
    ErrorCode("MVU_PATH", 400, "fatal", "A path or key is unsafe."),
    ErrorCode("MVU_JSON", 400, "fatal", "A value is no JSON."),
    ErrorCode("MVU_REGEX_TIMEOUT", 400, "fatal", "A regular expression took too long; nothing was stored, try again."),
)


class InterpreterError(Exception):
    """A refusal of the interpreter: ``code``, ``message`` and ``details`` for machines."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        self.retryable = False

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a declaration, at a position of the untouched source text (both counted from 1)."""

    line: int
    column: int
    construct: str
    message: str
    nearest: str | None = None
    code: str = "MVU_SCHEMA_CODE"

    def to_json(self) -> dict[str, Any]:
        """The fault as a JSON object."""
        return {
            "line": self.line,
            "column": self.column,
            "construct": self.construct,
            "message": self.message,
            "nearest": self.nearest,
        }


class DeclarationError(InterpreterError):
    """A declaration outside the language; the first fault gives line, column, construct and nearest form."""

    def __init__(self, faults: tuple[Fault, ...], excerpt: str = "", hidden: int = 0) -> None:
        first = faults[0]
        text = f"line {first.line}, column {first.column}: {first.message}"
        if first.nearest:
            text += f"; use {first.nearest}"
        if excerpt:
            text += "\n" + excerpt
        if len(faults) + hidden > 1:
            text += f"\n({len(faults) + hidden - 1} more)"
        details = {
            "line": first.line,
            "column": first.column,
            "construct": first.construct,
            "nearest": first.nearest,
            "excerpt": excerpt,
            "faults": [fault.to_json() for fault in faults],
            "hidden": hidden,
        }
        super().__init__(first.code, text, details)
        self.line = first.line
        self.column = first.column
        self.construct = first.construct
        self.nearest = first.nearest
        self.excerpt = excerpt
        self.faults = faults
        self.hidden = hidden


class BudgetExceeded(InterpreterError):
    """A budget ended the work; ``limit`` names its row."""

    def __init__(self, limit: str, maximum: int, unit: str, found: str = "more") -> None:
        super().__init__(
            "MVU_LIMIT",
            f"expected at most {maximum} {unit}, found {found} ({limit})",
            {"limit": limit, "maximum": maximum},
        )
        self.limit = limit


class EvaluationError(InterpreterError):
    """An author function failed or did what is not allowed while a value was parsed."""


class RegexTimeout(InterpreterError):
    """A regular expression ran into its time limit: a retryable failure, never an issue."""

    def __init__(self, pattern: str) -> None:
        super().__init__(
            "MVU_REGEX_TIMEOUT",
            f"expected /{pattern[:80]}/ to match in time, found that it did not",
            {"retryable": True},
        )
        self.retryable = True
