"""Limits of the dialect ``magvarupdate`` (design §10)."""

from __future__ import annotations

from runtime.values.rows import Limit

READ_DEPTH = Limit("magvarupdate.read_depth", 128, "levels", "the call stack while a literal is read", "MVU_LIMIT")
MATH_TEXT = Limit(
    "magvarupdate.math_text", 2_000, "characters", "time spent on one mathematical expression", "MVU_LIMIT"
)
MATH_DEPTH = Limit("magvarupdate.math_depth", 100, "levels", "the call stack of one expression", "MVU_LIMIT")
MATH_ITEMS = Limit("magvarupdate.math_items", 10_000, "items", "memory of one range or list", "MVU_LIMIT")
PATH_TEXT = Limit("magvarupdate.path_text", 2_000, "characters", "time spent on one path", "MVU_PATH")
SPARSE_INDEX = Limit(
    "magvarupdate.sparse_index", 10_000, "items", "memory of display and delta texts below an index", "MVU_LIMIT"
)
DATE_TEXT = Limit("magvarupdate.date_text", 200, "characters", "time spent on one date", "MVU_LIMIT")
YAML_NODES = Limit("magvarupdate.yaml_nodes", 100_000, "values", "memory of a text whose aliases repeat", "MVU_LIMIT")

LIMITS: tuple[Limit, ...] = (
    READ_DEPTH,
    MATH_TEXT,
    MATH_DEPTH,
    MATH_ITEMS,
    PATH_TEXT,
    SPARSE_INDEX,
    DATE_TEXT,
    YAML_NODES,
)
