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
    "create_sandbox",
]


def create_sandbox(engine: str = "process", budget: Budget = DEFAULT_BUDGET) -> Sandbox:
    """The sandbox that ``engine`` names: ``process`` (children, the default) or ``wasm`` (WebAssembly under fuel).

    Raises ``ValueError`` for another name, and ``sandbox.wasm.WasmUnavailable`` without the extra ``wasm``.
    """
    if engine == "process":
        from sandbox.process import ProcessSandbox

        return ProcessSandbox(budget)
    if engine == "wasm":
        from sandbox.wasm import WasmSandbox

        return WasmSandbox(budget)
    raise ValueError(f"expected the sandbox engine process or wasm, found {engine!r}")


def __getattr__(name: str) -> object:
    # The zygote imports this package too and must stay small: the parent's half is loaded on first use.
    if name == "ProcessSandbox":
        from sandbox.process import ProcessSandbox

        return ProcessSandbox
    raise AttributeError(name)
