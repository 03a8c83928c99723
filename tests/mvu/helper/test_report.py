"""What ``innkeeper check`` says about a helper."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.mvu.commands import parse_commands
from runtime.mvu.helper import report_helper
from sandbox import ProcessSandbox
from sandbox.errors import DECLARATION, EXECUTION, OUTPUT

REPLY = "_.set('hp', 1) _.set('mp', 2)"


def source(body: str) -> str:
    return f"eventOn('global_Mvu_initialized', () => eventOn(Mvu.events.COMMAND_PARSED, (v, c) => {{{body}}}));"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ProcessSandbox]:
    with ProcessSandbox() as found:
        yield found


def test_a_report_shows_the_registration_and_the_effect(sandbox: ProcessSandbox) -> None:
    report = report_helper(sandbox, source("c.shift();"), parse=parse_commands, reply=REPLY)
    assert report["helper"] is True and report["gate"] is None and report["listenerCount"] == 1
    assert [view["args"] for view in report["views"]] == [["hp", "1"], ["mp", "2"]]
    assert report["kept"] == [1] and report["restored"] is None
    assert report["dropped"] == [{"index": 0, "source": "_.set('hp', 1)"}]
    assert "error" not in report


def test_another_script_is_no_helper(sandbox: ProcessSandbox) -> None:
    assert report_helper(sandbox, "console.log(1)", parse=parse_commands, reply=REPLY) == {"helper": False}


@pytest.mark.parametrize(
    ("text", "reply", "code", "retryable"),
    [
        (source("") + "(", REPLY, DECLARATION, False),
        (source("for (;;);"), REPLY, EXECUTION, True),
        (source("c[0].type = 'x';"), REPLY, OUTPUT, False),
        (source(""), "_.set('hp'", "MVU_PARSE", False),
        (
            source("").replace("Mvu.events.COMMAND_PARSED", "(Mvu.events.COMMAND_PARSED, 'other')"),
            None,
            EXECUTION,
            False,
        ),
    ],
)
def test_errors_are_reported_not_raised(
    sandbox: ProcessSandbox, text: str, reply: str | None, code: str, retryable: bool
) -> None:
    report = report_helper(sandbox, text, parse=parse_commands, reply=reply)
    assert (report["error"]["code"], report["error"]["retryable"]) == (code, retryable)
