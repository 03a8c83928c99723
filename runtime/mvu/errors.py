"""Error codes of update texts, of their application and of initial variables (spec/mvu.md §2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.values.rows import ErrorCode, InnkeeperError

MVU_PATH_MISSING = ErrorCode("MVU_PATH_MISSING", 400, "diagnostic", "Nothing stands at the path that a command names.")
MVU_SCHEMA = ErrorCode("MVU_SCHEMA", 400, "both", "A value is refused by the rules of the variables.")
MVU_UNSUPPORTED = ErrorCode(
    "MVU_UNSUPPORTED", 400, "fatal", "A command or patch operation is not known or not possible."
)
MVU_INITIALIZATION_INVALID = ErrorCode(
    "MVU_INITIALIZATION_INVALID", 400, "fatal", "The initial variables of a card or greeting cannot be read."
)

ERRORS: tuple[ErrorCode, ...] = (MVU_PATH_MISSING, MVU_SCHEMA, MVU_UNSUPPORTED, MVU_INITIALIZATION_INVALID)

DIAGNOSTIC_CODES = frozenset({"MVU_SCHEMA", "MVU_PATH_MISSING"})
"""Codes that refuse one command; every other code ends the whole batch (spec/mvu.md §4.6)."""


class Refused(InnkeeperError):
    """One command is refused; the batch goes on."""


def refuse_schema(message: str, **details: Any) -> Refused:
    """A refusal because of the rules of the variables."""
    return Refused("MVU_SCHEMA", message, details)


def refuse_missing(message: str, **details: Any) -> Refused:
    """A refusal because nothing stands at the path."""
    return Refused("MVU_PATH_MISSING", message, details)


def fatal(code: str, message: str, details: Mapping[str, Any] | None = None) -> InnkeeperError:
    """An error that ends the whole batch."""
    return InnkeeperError(code, message, details)
