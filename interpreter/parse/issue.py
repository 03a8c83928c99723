"""What is wrong with a value: issues, in Zod's order (design §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from interpreter.budget import Run
from interpreter.compile.payload import RawIssue, finalize
from interpreter.javascript import UNDEFINED
from interpreter.messages import Language, issue_message, received_type


@dataclass(frozen=True, slots=True)
class Issue:
    """One refused value: ``code``, ``path``, ``message``, what was ``expected`` and ``received``.

    ``fields`` holds everything else that Zod reports (``minimum``, ``keys``, ``errors``…); ``custom`` says that the
    message is the author's own.
    """

    code: str
    path: tuple[str | int, ...]
    message: str
    expected: str | None = None
    received: str | None = None
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    custom: bool = False

    def to_json(self) -> dict[str, Any]:
        """The issue as a JSON object, with the fields that Zod gives it."""
        made: dict[str, Any] = {"code": self.code, "path": list(self.path), "message": self.message}
        if self.expected is not None:
            made["expected"] = self.expected
        if self.received is not None:
            made["received"] = self.received
        for key, value in self.fields.items():
            if key not in made:
                made[key] = value
        return made

    def message_in(self, language: Language) -> str:
        """The message in a language; the author's own message stays as it is."""
        if self.custom:
            return self.message
        fields = {"code": self.code, **self.fields}
        if self.expected is not None:
            fields["expected"] = self.expected
        return issue_message(fields, _Received(self.received), language)


class _Received:
    """Stands for a value of which only the type is known."""

    def __init__(self, received: str | None) -> None:
        self.js_class = received or "undefined"


def make_issue(run: Run, raw: RawIssue) -> Issue:
    """The public form of an issue."""
    found = finalize(run, raw)
    code, path, message = found.pop("code"), found.pop("path"), found.pop("message")
    expected = found.get("expected")
    received = found.get("received")
    if code == "invalid_type" and received is None:
        received = received_type(raw.value)
    return Issue(
        str(code),
        tuple(path),
        str(message),
        None if expected is None else str(expected),
        received,
        MappingProxyType(found),
        raw.message is not None or raw.error is not None,
    )


def is_undefined(value: object) -> bool:
    """Whether a value is undefined."""
    return value is UNDEFINED
