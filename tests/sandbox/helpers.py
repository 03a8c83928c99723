"""Short ways to make helper calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sandbox import HelperCall, ProcessSandbox, SandboxError

VARIABLES = '{"stat_data":{"hp":10}}'


def commands(count: int) -> list[dict[str, Any]]:
    """``count`` plain views."""
    return [
        {"type": "set", "args": [f"hp{n}", str(n)], "full_match": f"_.set('hp{n}', {n})", "reason": "legacy"}
        for n in range(count)
    ]


def listener(body: str) -> str:
    """A helper whose one listener has ``body`` over ``variables, commands, text``."""
    return (
        "eventOn('global_Mvu_initialized', () => eventOn(Mvu.events.COMMAND_PARSED, (variables, commands, text) => {\n"
        f"{body}\n}}));"
    )


def kept(
    sandbox: ProcessSandbox,
    source: str,
    *,
    owner: str = "owner",
    count: int = 4,
    text: str = "text",
    variables: str | Callable[[], str] = VARIABLES,
    gate: str | None = None,
    user_text: str = "",
    views: Sequence[dict[str, Any]] | None = None,
) -> list[Any]:
    """The numbers of the sample commands that the helper leaves."""
    given = commands(count) if views is None else list(views)
    result = sandbox.run(HelperCall(owner, source, variables, given, text, gate, user_text))
    return [given.index(command) if command in given else command for command in result.commands]


def refused(sandbox: ProcessSandbox, source: str, **rest: Any) -> SandboxError:
    """The error of a call that must fail."""
    with pytest.raises(SandboxError) as caught:
        kept(sandbox, source, **rest)
    return caught.value
