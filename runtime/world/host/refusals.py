"""Refusals of the host side; they have codes of their own (§00.4)."""

from __future__ import annotations


class HostRefusal(Exception):
    """A tool that is hidden, a command that is not understood, nothing to go back to."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
