"""Whether a value is plainly valid under a schema that this package built: decides how a default is described."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreter.javascript import is_integer, is_number, strict_equal

_UNSURE = {"pattern", "format", "allOf", "multipleOf", "$ref", "not", "prefixItems", "propertyNames"}


def fits(schema: dict[str, Any], value: Any) -> bool:
    """True only where the value is valid for sure; a keyword that this does not judge makes it false."""
    if not _UNSURE.isdisjoint(schema):
        return False
    if "anyOf" in schema and not any(fits(option, value) for option in schema["anyOf"]):
        return False
    if "const" in schema and not strict_equal(schema["const"], value):
        return False
    if "enum" in schema and not any(strict_equal(item, value) for item in schema["enum"]):
        return False
    kind = schema.get("type")
    return kind is None or _JUDGES[kind](schema, value)


def _string(schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, str):
        return False
    return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)))


def _number(schema: dict[str, Any], value: Any) -> bool:
    if not is_number(value) or (schema["type"] == "integer" and not is_integer(value)):
        return False
    if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    above = "exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"]
    return above and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])


def _array(schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, list) or not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return False
    items = schema.get("items", True)
    return all(_member(items, item) for item in value)


def _object(schema: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, dict) or not set(schema.get("required", ())) <= value.keys():
        return False
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    return all(_member(properties.get(key, others), item) for key, item in value.items())


def _member(schema: Any, value: Any) -> bool:
    if isinstance(schema, bool):
        return schema
    return fits(schema, value)


_JUDGES: dict[str, Callable[[dict[str, Any], Any], bool]] = {
    "string": _string,
    "number": _number,
    "integer": _number,
    "boolean": lambda schema, value: isinstance(value, bool),
    "null": lambda schema, value: value is None,
    "array": _array,
    "object": _object,
}
