"""The error codes of card reading (``spec/http.md`` Cards)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.values.rows import ErrorCode, InnkeeperError

CARD_INVALID = ErrorCode(
    "CARD_INVALID",
    400,
    "fatal",
    "The file is not a character card that can be read; the message says what was looked for and what was found.",
)

ERRORS: tuple[ErrorCode, ...] = (CARD_INVALID,)


class CardError(InnkeeperError):
    """A file that is no readable card; ``details`` say where (``offset``, ``path``, ``line``, ``column``)."""

    def __init__(self, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(CARD_INVALID.code, message, details)
