"""The namespace ``z`` of each interpreter version."""

from __future__ import annotations

from typing import Any

from interpreter.declare.check_makers import CHECKS, Make
from interpreter.declare.constructors import ISO_FORMATS, SCHEMAS, boolean, number, simple, string, string_format
from interpreter.evaluate.values import Namespace, Native

NEVER_VALUE: dict[str, Any] = {"status": "aborted"}
_RESTRICTED = ["number", "string", "boolean", "any", "unknown", "object", "array", "record", "enum", "literal", "union"]
ISSUE_CODES = [
    "invalid_type",
    "too_big",
    "too_small",
    "invalid_format",
    "not_multiple_of",
    "unrecognized_keys",
    "invalid_union",
    "invalid_key",
    "invalid_element",
    "invalid_value",
    "custom",
]


def _natives(names: dict[str, Make]) -> dict[str, Any]:
    return {name: Native(f"z.{name}", make) for name, make in names.items()}


def zod_namespace(version: int) -> Namespace:
    """The namespace ``z`` of an interpreter version."""
    scalars = {"string": string(True), "number": number(True), "boolean": boolean(True)}
    if version < 3:
        names = [*_RESTRICTED, *(["looseObject", "strictObject"] if version == 2 else [])]
        members = _natives({name: SCHEMAS[name] for name in names})
        members["coerce"] = Namespace("z.coerce", _natives(scalars))
        members["ZodIssueCode"] = Namespace("z.ZodIssueCode", {"custom": "custom"})
        return Namespace("z", members)
    members = _natives({**CHECKS, **SCHEMAS})
    wide = {**scalars, "bigint": simple("bigint", True), "date": simple("date", True)}
    members["coerce"] = Namespace("z.coerce", _natives(wide))
    members["iso"] = Namespace("z.iso", _natives({name: string_format(name) for name in ISO_FORMATS}))
    members["NEVER"] = NEVER_VALUE
    members["ZodIssueCode"] = Namespace("z.ZodIssueCode", {name: name for name in ISSUE_CODES})
    members["TimePrecision"] = Namespace(
        "z.TimePrecision", {"Any": None, "Minute": -1, "Second": 0, "Millisecond": 3, "Microsecond": 6}
    )
    members["z"] = Namespace("z", members)
    return Namespace("z", members)
