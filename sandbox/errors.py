"""The error codes of helper execution (spec/mvu.md §2) and the one exception of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DECLARATION = "MVU_COMMAND_HOOK_DECLARATION"
LIMIT = "MVU_COMMAND_HOOK_LIMIT"
CONFLICT = "MVU_COMMAND_HOOK_CONFLICT"
EXECUTION = "MVU_COMMAND_HOOK_EXECUTION"
REGISTRATION = "MVU_COMMAND_HOOK_REGISTRATION"
OUTPUT = "MVU_COMMAND_HOOK_OUTPUT"
DISPOSED = "MVU_COMMAND_HOOK_DISPOSED"


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One error code: HTTP ``status``, whether it ends the operation, and a ``sentence`` for its reader."""

    code: str
    status: int
    kind: Literal["fatal", "diagnostic", "both"]
    sentence: str


ERRORS: tuple[ErrorCode, ...] = (
    ErrorCode(DECLARATION, 400, "fatal", "The command helper is not one complete script, or its gate is ambiguous."),
    ErrorCode(LIMIT, 400, "fatal", "The command helper's text is too long."),
    ErrorCode(CONFLICT, 400, "fatal", "The card carries several different command helpers."),
    ErrorCode(EXECUTION, 400, "fatal", "The command helper failed, answered with a promise or used up a budget."),
    ErrorCode(REGISTRATION, 400, "fatal", "The command helper registered no listener of COMMAND_PARSED."),
    ErrorCode(OUTPUT, 400, "fatal", "The command helper handed back commands that are not the reply's own."),
    ErrorCode(DISPOSED, 400, "fatal", "The command helper's sandbox is closed."),
)

Bound = Literal[
    "time", "cpu", "fuel", "deadline", "memory", "stack", "died", "busy", "script", "output", "source", "closed", "none"
]
"""What ended a call: the engine's CPU budget, the kernel's, fuel, the parent's deadline, heap, stack, a dead child, no free
child in time, the script itself, its output, its text, a closed sandbox."""

RETRYABLE_BOUNDS: frozenset[str] = frozenset({"time", "cpu", "fuel", "deadline", "memory", "stack", "died", "busy"})
"""A helper that a budget stopped never decides state: the same reply may be applied again (spec/mvu.md §0.13)."""


class SandboxError(Exception):
    """A helper call that has no result: stable ``code``, ``message``, ``retryable``, ``bound``."""

    def __init__(self, code: str, message: str, retryable: bool = False, bound: Bound = "none") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.bound: Bound = bound

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def bounded(code: str, bound: Bound, message: str) -> SandboxError:
    """The error of a call that ``bound`` ended; the bound decides whether it is worth another try."""
    return SandboxError(code, message, bound in RETRYABLE_BOUNDS, bound)
