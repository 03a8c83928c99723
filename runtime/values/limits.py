"""The limits of one JSON value, of texts and of paths (spec/mvu.md §1.7).

Each row is the default; a caller that needs other numbers passes its own ``ValueLimits``.
"""

from __future__ import annotations

from dataclasses import dataclass

from runtime.values.rows import Limit

NODES = Limit("values.nodes", 100_000, "values", "memory and time of one JSON value", "MVU_LIMIT")
DEPTH = Limit("values.depth", 64, "levels", "the call stack of everything that walks a value", "MVU_LIMIT")
CHARGE = Limit("values.charge", 2_097_152, "charged bytes", "storage and transport of one JSON value", "MVU_LIMIT")
ARRAY = Limit("values.array", 100_000, "items", "memory and time of one array", "MVU_LIMIT")
TEXT = Limit("values.text", 1_048_576, "UTF-16 units", "reading of replies, greetings, YAML and JSON5", "MVU_LIMIT")
PATH_TEXT = Limit("values.path_text", 2_000, "UTF-16 units", "reading of one path", "MVU_PATH")
PATH_PARTS = Limit("values.path_parts", 64, "parts", "depth that one path can create", "MVU_LIMIT")

LIMITS: tuple[Limit, ...] = (NODES, DEPTH, CHARGE, ARRAY, TEXT, PATH_TEXT, PATH_PARTS)


@dataclass(frozen=True, slots=True)
class ValueLimits:
    """The numbers that one bounds check works with."""

    nodes: int = NODES.default
    depth: int = DEPTH.default
    charge: int = CHARGE.default
    array: int = ARRAY.default


DEFAULT = ValueLimits()
"""The rows' defaults."""

# A serialised text is never longer than the charge (every entry pays 2, every number 32), so the limit on the
# serialised length of spec/mvu.md §1.7 holds whenever the charge does; and a path can never be deeper than a value.
assert PATH_PARTS.default <= DEPTH.default
