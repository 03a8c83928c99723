"""Run a card helper in QuickJS under limits, inside a child process. Imports nothing of ours."""

from typing import TYPE_CHECKING

from sandbox.calls import HelperCall, HelperResult, Sandbox
from sandbox.errors import ERRORS, ErrorCode, SandboxError
from sandbox.limits import DEFAULT_BUDGET, LIMITS, Budget, Limit

if TYPE_CHECKING:
    from sandbox.process import ProcessSandbox

__all__ = [
    "DEFAULT_BUDGET",
    "ERRORS",
    "LIMITS",
    "Budget",
    "ErrorCode",
    "HelperCall",
    "HelperResult",
    "Limit",
    "ProcessSandbox",
    "Sandbox",
    "SandboxError",
]


def __getattr__(name: str) -> object:
    # The zygote imports this package too and must stay small: the parent's half is loaded on first use.
    if name == "ProcessSandbox":
        from sandbox.process import ProcessSandbox

        return ProcessSandbox
    raise AttributeError(name)
