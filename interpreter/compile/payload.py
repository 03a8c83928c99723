"""What travels through a parse: the value, and the issues found so far (Zod's payload)."""

from __future__ import annotations

from typing import Any

from interpreter.budget import Run
from interpreter.compile.author import error_text
from interpreter.javascript import UNDEFINED
from interpreter.messages import issue_message


class RawIssue:
    """An issue on its way up: ``path`` grows at the front, ``goes_on`` is Zod's ``continue``."""

    __slots__ = ("code", "error", "fields", "goes_on", "message", "path", "value")

    def __init__(
        self,
        code: str,
        value: Any,
        fields: dict[str, Any],
        error: Any = None,
        goes_on: bool | None = None,
        path: list[Any] | None = None,
        message: str | None = None,
    ) -> None:
        self.code = code
        self.value = value
        self.fields = fields
        self.error = error
        self.goes_on = goes_on
        self.path = path if path is not None else []
        self.message = message


class Payload:
    """One value under one schema."""

    __slots__ = ("aborted", "fallback", "issues", "leaked", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.issues: list[RawIssue] = []
        self.aborted = False
        self.fallback = False
        # Issues that the right side of a pipe left behind in the list it shares with the left side, although it
        # answered without issues (a catch inside): a catch or success around the pipe sees them, as in Zod.
        self.leaked: list[RawIssue] = []

    def stopped(self, start: int = 0) -> bool:
        """Whether an issue (from ``start`` on) stops the checks that follow."""
        if self.aborted:
            return True
        return any(issue.goes_on is not True for issue in self.issues[start:])

    def stopped_explicitly(self) -> bool:
        """Whether an issue stops also the checks that have a condition of their own."""
        return self.aborted or any(issue.goes_on is False for issue in self.issues)


def prefix(issues: list[RawIssue], part: Any) -> list[RawIssue]:
    """The issues of a child, seen from its parent."""
    for issue in issues:
        issue.path.insert(0, part)
    return issues


def invalid_type(payload: Payload, expected: str, error: Any, **extra: Any) -> None:
    """The issue of a value of the wrong type."""
    payload.issues.append(RawIssue("invalid_type", payload.value, {"expected": expected, **extra}, error))


def finalize(run: Run, issue: RawIssue) -> dict[str, Any]:
    """The issue as Zod reports it: code, fields, path, message."""
    message = issue.message
    fields = {"code": issue.code, **issue.fields, "path": list(issue.path)}
    if message is None and issue.error is not None:
        message = error_text(run, issue.error, {**fields, "input": issue.value})
    if message is None:
        message = issue_message(fields, issue.value)
    fields["message"] = message
    return fields


def finalize_all(run: Run, issues: list[RawIssue]) -> list[dict[str, Any]]:
    """Every issue as Zod reports it."""
    run.charge(len(issues))
    return [finalize(run, issue) for issue in issues]


def is_absent(value: Any) -> bool:
    """Whether a value is undefined."""
    return value is UNDEFINED
