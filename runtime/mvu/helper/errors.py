"""Errors of the command helper. The codes are the sandbox's rows; this package raises them as errors of the runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.values.rows import ErrorCode, InnkeeperError
from sandbox.errors import ERRORS as SANDBOX_ERRORS
from sandbox.errors import SandboxError

USAGE_CANCELLED = "MVU_USAGE_CANCELLED"

ERRORS: tuple[ErrorCode, ...] = tuple(ErrorCode(row.code, row.status, row.kind, row.sentence) for row in SANDBOX_ERRORS)
"""The rows of helper errors, as the runtime's tables hold them."""


class HelperError(InnkeeperError):
    """A helper that gives no usable answer; ``retryable`` says whether a budget stopped it (spec/mvu.md §0.13)."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(code, message, details)

    @property
    def retryable(self) -> bool:
        """Whether the reply stays open and may be applied again."""
        return self.details.get("retryable") is True


def from_sandbox(error: SandboxError) -> HelperError:
    """The runtime's error of a failed helper call."""
    return HelperError(error.code, error.message, {"retryable": error.retryable, "bound": error.bound})
