"""One reply through its helper: views out, verified commands back (spec/mvu.md §6).

Pure but for the sandbox: the same reply, variables and user text give the same commands, whatever ran before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.mvu.commands import Command, Parsed
from runtime.mvu.helper.detect import Helper
from runtime.mvu.helper.errors import from_sandbox
from runtime.mvu.helper.restore import Restoration, find_restoration, same_factory
from runtime.mvu.helper.verify import Dropped, dropped, same_view, verify_output
from runtime.mvu.helper.view import command_view
from runtime.values.canonical import ordered_json
from runtime.values.rows import InnkeeperError
from sandbox.calls import HelperCall, Sandbox
from sandbox.errors import SandboxError

_UNREADABLE = "MVU_PARSE"

Parse = Callable[[str], Parsed]


@dataclass(frozen=True, slots=True)
class Readable:
    """A reply as the helper meets it: its commands, or the repair that it allows."""

    commands: tuple[Command, ...]
    restoration: Restoration | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The commands to apply, those ``dropped``, the indices ``kept``, and the kind of repair if one was used."""

    commands: tuple[Command, ...]
    dropped: tuple[Dropped, ...]
    kept: tuple[int, ...]
    restored: str | None = None

    def to_json(self) -> dict[str, Any]:
        """For check output and receipts."""
        return {
            "kept": list(self.kept),
            "dropped": [{"index": item.index, "source": item.full_match} for item in self.dropped],
            "restored": self.restored,
        }


def read_for_helper(text: str, parse: Parse) -> Readable:
    """The reply's commands; an unreadable or empty reply is admitted if it allows one of the two repairs.

    A parse error stays an error when there is nothing to repair, and any other error stays one always.
    """
    try:
        commands = tuple(parse(text).commands)
    except InnkeeperError as error:
        restoration = find_restoration(text) if error.code == _UNREADABLE else None
        if restoration is None:
            raise
        return Readable((), _checked(restoration, parse))
    if commands:
        return Readable(commands)
    restoration = find_restoration(text)
    return Readable((), None if restoration is None else _checked(restoration, parse))


def _checked(restoration: Restoration, parse: Parse) -> Restoration:
    parse(restoration.text())  # unsafe paths and the like are refused before the helper sees anything
    return restoration


def process_reply(
    sandbox: Sandbox,
    owner: str,
    helper: Helper,
    text: str,
    variables: Mapping[str, Any],
    parse: Parse,
    *,
    user_text: str = "",
    readable: Readable | None = None,
) -> Outcome:
    """Run ``helper`` over the reply ``text``; raises ``HelperError`` or the reply's own parse error.

    ``readable`` may hand in what ``read_for_helper`` gave before, so that a reply is parsed once.
    """
    given = read_for_helper(text, parse) if readable is None else readable
    views = [command_view(command) for command in given.commands]
    call = HelperCall(
        owner=owner,
        source=helper.source,
        variables_json=lambda: ordered_json(variables),
        commands=views,
        text=text,
        gate=helper.gate,
        user_text=user_text,
    )
    try:
        returned = sandbox.run(call).commands
    except SandboxError as error:
        raise from_sandbox(error) from None
    if given.restoration is None:
        kept = verify_output(views, returned, same_view)
        return Outcome(tuple(given.commands[index] for index in kept), dropped(views, kept), tuple(kept))
    restoration = given.restoration
    expected = restoration.views()
    kept = verify_output(expected, returned, same_factory)
    restored = tuple(parse(restoration.text()).commands)
    chosen = tuple(restored[index]._replace(start=restoration.start, end=restoration.end) for index in kept)
    return Outcome(chosen, dropped(expected, kept), tuple(kept), restoration.kind if chosen else None)
