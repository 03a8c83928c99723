"""What goes into a helper call and what comes out, and the interface that every engine stands behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class HelperCall:
    """One reply for one helper.

    ``commands`` are views ``{type, args, full_match, reason}``; ``variables_json`` is the JSON text of the private copy
    that the listeners see, or a function that makes it, called only if the script
    reads them; ``gate`` is the name under which the user gate is offered, ``user_text`` what it may read.
    """

    owner: str
    source: str
    variables_json: str | Callable[[], str]
    commands: Sequence[Mapping[str, Any]]
    text: str
    gate: str | None = None
    user_text: str = ""


@dataclass(frozen=True, slots=True)
class HelperResult:
    """The commands that the helper left in the list, copied as plain data and not yet verified."""

    commands: tuple[dict[str, Any], ...]


class Sandbox(Protocol):
    """An engine under limits. Every method is safe to call from several threads at once."""

    def run(self, call: HelperCall) -> HelperResult:
        """Run the helper over the call's commands, or raise ``SandboxError``."""

    def register(self, owner: str, source: str, gate: str | None = None) -> int:
        """Load the helper's text and answer how many listeners of COMMAND_PARSED it registers."""

    def status(self) -> dict[str, Any]:
        """What ``/readyz`` shows: engine, whether it works, which locks hold."""

    def close(self) -> None:
        """End every child; later calls raise ``MVU_COMMAND_HOOK_DISPOSED``."""
