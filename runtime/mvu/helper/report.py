"""What a helper registers and what it does to a sample reply, for ``innkeeper check`` and the playground (spec/mvu.md §6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.mvu.helper.detect import detect_helper
from runtime.mvu.helper.errors import HelperError, from_sandbox
from runtime.mvu.helper.process import Parse, process_reply, read_for_helper
from runtime.mvu.helper.view import command_view
from runtime.values.rows import InnkeeperError
from sandbox.calls import Sandbox
from sandbox.errors import SandboxError

_OWNER = "check"


def report_helper(
    sandbox: Sandbox,
    source: str,
    *,
    parse: Parse,
    reply: str | None = None,
    variables: Mapping[str, Any] | None = None,
    user_text: str = "",
) -> dict[str, Any]:
    """A JSON report: ``helper`` (false for another script), ``gate``, ``sha256``, ``listenerCount``, ``error``, and for a
    ``reply`` the ``views`` that the helper got, what it ``kept`` and ``dropped``, which repair it ``restored``.
    """
    report: dict[str, Any] = {"helper": False}
    try:
        helper = detect_helper(source)
        if helper is None:
            return report
        report |= {"helper": True, "gate": helper.gate, "sha256": helper.sha256}
        report["listenerCount"] = _listeners(sandbox, helper.source, helper.gate)
        if reply is not None:
            readable = read_for_helper(reply, parse)
            views = [command_view(command) for command in readable.commands]
            report["views"] = views if readable.restoration is None else readable.restoration.views()
            outcome = process_reply(
                sandbox, _OWNER, helper, reply, variables or {}, parse, user_text=user_text, readable=readable
            )
            report |= outcome.to_json()
    except InnkeeperError as error:
        retryable = isinstance(error, HelperError) and error.retryable
        report["error"] = {"code": error.code, "message": error.message, "retryable": retryable, **_place(error)}
    return report


def _listeners(sandbox: Sandbox, source: str, gate: str | None) -> int:
    try:
        return sandbox.register(_OWNER, source, gate)
    except SandboxError as error:
        raise from_sandbox(error) from None


def _place(error: InnkeeperError) -> dict[str, Any]:
    return {
        key: error.details[key] for key in ("line", "column", "difference", "index", "field") if key in error.details
    }
