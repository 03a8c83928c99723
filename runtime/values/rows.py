"""The rows that every room's tables are made of: limits, error codes, and the one exception class.

The lowest module of ``runtime``; each room owns its own tables and ``runtime.errors`` / ``runtime.limits``
gather them (design §10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

ErrorKind = Literal["fatal", "diagnostic", "both"]


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: ``name`` (dotted), ``default`` in ``unit``, what it ``protects``, the ``error`` code it raises."""

    name: str
    default: int
    unit: str
    protects: str
    error: str


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One error code: HTTP ``status``, whether it ends the operation, and a ``sentence`` for its reader."""

    code: str
    status: int
    kind: ErrorKind
    sentence: str


class InnkeeperError(Exception):
    """A refused operation.

    ``code`` is a row of the error table, ``message`` says what was expected, what was found and where (path last),
    ``details`` is a JSON object for machines (``issues``, ``currentRevision``, ``line``, ``column``, ``path``).
    """

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
