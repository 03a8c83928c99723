"""Sync of a session with its world's declarations (``spec/dimensions.md`` §7.2, §7.3, §0.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Declared = Literal["same", "changed", "deleted", "added"]
Standing = Literal["untouched", "evolved", "hand-edited", "missing"]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """What was imported for one dimension, and how it looked then (§7.2)."""

    key: str
    world_id: str
    source_id: str
    source_digest: str
    value_hash: str
    imported_at: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "key": self.key,
            "sourceWorldId": self.world_id,
            "sourceId": self.source_id,
            "sourceDigest": self.source_digest,
            "valueHash": self.value_hash,
            "importedAt": self.imported_at,
            "managed": True,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LedgerRow:
        """Read the stored form; raises ``ValueError`` when it is none."""
        names = ("key", "sourceWorldId", "sourceId", "sourceDigest", "valueHash")
        if not all(isinstance(data[name], str) for name in names):
            raise ValueError("a row of the import ledger has a part of the wrong form")
        return cls(
            data["key"],
            data["sourceWorldId"],
            data["sourceId"],
            data["sourceDigest"],
            data["valueHash"],
            data.get("importedAt"),
        )


def decide(declared: str, *, ledger: bool, standing: str, pending: bool, force: bool) -> str:
    """The outcome for one dimension (§7.3)."""
    if ledger:
        return _ledgered(declared, standing, pending=pending, force=force)
    if declared == "deleted":
        return "unchanged"
    if standing == "missing":
        return "create"
    if standing != "untouched":
        return "conflict:modified"
    if declared == "same":
        return "adopt"
    return "conflict:modified" if pending else "replace"


def _ledgered(declared: str, standing: str, *, pending: bool, force: bool) -> str:
    if declared == "same":
        return "unchanged"
    if standing == "missing":
        if declared == "deleted":
            return "drop-ledger"
        return "create" if force else "conflict:missing"
    if pending or standing != "untouched":
        return "conflict:modified"
    return "delete" if declared == "deleted" else "replace"
