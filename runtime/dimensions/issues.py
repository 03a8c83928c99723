"""Issues: one fault of a declaration or a value, with the place where it lies (``spec/dimensions.md`` §1.4, §13)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault: ``path`` of keys and indices, stable ``reason`` name, ``message`` for people."""

    path: Path
    reason: str
    message: str

    def under(self, *prefix: str | int) -> Issue:
        """The same issue seen from further up the tree."""
        return replace(self, path=(*prefix, *self.path))

    @property
    def at(self) -> str:
        """The path joined with dots."""
        return ".".join(str(part) for part in self.path)

    def to_json(self) -> dict[str, Any]:
        """The issue for machines."""
        return {"path": list(self.path), "reason": self.reason, "message": self.message}


def issues_text(issues: Iterable[Issue]) -> str:
    """All issues as one readable line, path last."""
    return "; ".join(f"{issue.message} (at {issue.at or 'the root'})" for issue in issues)


def issues_json(issues: Iterable[Issue]) -> list[dict[str, Any]]:
    """All issues for machines."""
    return [issue.to_json() for issue in issues]
