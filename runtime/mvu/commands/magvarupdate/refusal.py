"""The refusal of one command (spec/magvarupdate.md §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Refusal(Exception):
    """A command that is not applied.

    ``code`` is the upstream's neutral code or one of ours, ``keys`` say where, ``details`` tell machines more.
    """

    def __init__(
        self, code: str, message: str, keys: Sequence[str] = (), details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.keys = tuple(keys)
        self.details = dict(details or {})
