"""The suite ``zod``: declarations and what real Zod 4.4.3 makes of values (vendor_fixtures/zod/README.md).

``code`` and ``path`` of every issue in order, the output with its key order, and every further field that the entry
records are compared. ``registered`` is what the registration helper's rebuild gives and is compared as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from interpreter import CompiledSchema, DeclarationError, EvaluationError, compile_declaration
from interpreter.evaluate.values import DateValue, ErrorValue, MapValue, SetValue
from interpreter.javascript import UNDEFINED, js_key_order, js_number, parse_json
from interpreter.regex import RegExp
from tests.conformance.runner import Case, Options

_CONSTANTS = {
    "undefined": UNDEFINED,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "-0": -0.0,
    "hole": UNDEFINED,
}
_LOOSE_FIELDS = frozenset({"message", "pattern", "received"})


def decode(value: Any) -> Any:
    """A recorded input as a value of the interpreter."""
    if isinstance(value, dict):
        if set(value) == {"$js"} and value["$js"] in _CONSTANTS:
            return _CONSTANTS[value["$js"]]
        return {key: decode(value[key]) for key in js_key_order(value.keys())}
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return js_number(value)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, float):
        if math.isnan(value):
            return {"$js": "NaN"}
        if math.isinf(value):
            return {"$js": "Infinity" if value > 0 else "-Infinity"}
        if value == 0 and math.copysign(1, value) < 0:
            return {"$js": "-0"}
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if type(value) is not int:
        return {"$js": "bigint", "value": str(int(value))}
    return value if abs(value) <= 2**53 else float(value)


def encode(value: Any) -> Any:
    """A value of the interpreter in the encoding of the fixtures; objects as pairs, so that order is compared."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return _number(value)
    if value is UNDEFINED:
        return {"$js": "undefined"}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(value[key]) for key in js_key_order(value.keys())}
    if isinstance(value, SetValue):
        return {"$js": "Set", "values": [encode(item) for item in value]}
    if isinstance(value, MapValue):
        return {"$js": "Map", "entries": encode(value.entries())}
    if isinstance(value, DateValue):
        from interpreter.evaluate.builtins.objects import date_text

        return {"$js": "Date", "value": date_text(value)}
    if isinstance(value, RegExp):
        return {"$js": "RegExp", "value": f"/{value.regex.source}/{value.regex.flags}"}
    if isinstance(value, ErrorValue):
        return {"$js": "Error", "value": value.text()}
    return {"$js": "function"}


def text(value: Any) -> str:
    """A value as text that keeps key order and the type of scalars."""
    return json.dumps(value, ensure_ascii=False)


def _recorded(value: Any) -> Any:
    """A recorded value with its numbers settled."""
    if isinstance(value, dict):
        return {key: _recorded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_recorded(item) for item in value]
    return _number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def compare_issues(expected: list[dict[str, Any]], found: list[dict[str, Any]]) -> str | None:
    """None where the issues agree: code and path in order, and every field that is recorded."""
    wanted = [(issue["code"], issue["path"]) for issue in expected]
    have = [(issue["code"], issue["path"]) for issue in found]
    if text(_recorded(wanted)) != text(encode(have)):
        return f"expected issues {text(wanted)}, found {text(encode(have))}"
    for one, other in zip(expected, found, strict=True):
        difference = _compare_fields(one, other)
        if difference is not None:
            return difference
    return None


def _compare_fields(expected: dict[str, Any], found: dict[str, Any]) -> str | None:
    for key, value in expected.items():
        if key in ("code", "path") or (
            key in _LOOSE_FIELDS and not (key == "message" and expected["code"] == "custom")
        ):
            continue
        if key == "errors":
            lists = found.get("errors")
            if not isinstance(lists, list) or len(lists) != len(value):
                return f"expected {len(value)} lists of errors, found {text(encode(lists))}"
            for inner, mine in zip(value, lists, strict=True):
                difference = compare_issues(inner, mine)
                if difference is not None:
                    return f"in errors: {difference}"
        elif key == "issues":
            difference = compare_issues(value, found.get("issues", []))
            if difference is not None:
                return f"in issues: {difference}"
        elif text(_recorded(value)) != text(encode(found.get(key))):
            return f"expected {key} {text(value)} at {expected['path']}, found {text(encode(found.get(key)))}"
    return None


def compare(
    schema: CompiledSchema | DeclarationError, recorded: dict[str, Any], value: Any, clock: Any, written: bool
) -> str | None:
    """None where the parse has the recorded outcome."""
    if isinstance(schema, DeclarationError):
        return None if "threw" in recorded else f"the declaration is refused: {schema.message}"
    try:
        result = schema.parse(value, clock=clock, written=written, raw=True)
    except EvaluationError as error:
        return None if "threw" in recorded else f"expected an outcome, found {error.code}: {error.message}"
    if "threw" in recorded:
        return f"expected an exception, found {'a value' if result.ok else 'issues'}"
    if recorded["success"] != result.ok:
        found = text(encode(result.value)) if result.ok else text([encode(issue.to_json()) for issue in result.issues])
        return f"expected success {recorded['success']}, found {result.ok}: {found}"
    if not result.ok:
        return compare_issues(recorded["issues"], [issue.to_json() for issue in result.issues])
    if "output" in recorded:
        wanted, have = text(_recorded(recorded["output"])), text(encode(result.value))
        if wanted != have:
            return f"expected output {wanted}, found {have}"
    return None


def _refusal_is_right(entry: dict[str, Any], schema: CompiledSchema | DeclarationError, value: Any, clock: Any) -> bool:
    """Whether the entry's own note says that refusing is right, and this case is refused."""
    if "refuse" not in str(entry.get("note", "")) or isinstance(schema, DeclarationError):
        return False
    try:
        return not schema.parse(value, clock=clock, written=True, raw=True).ok
    except EvaluationError:
        return True


def _compile(declaration: str) -> CompiledSchema | DeclarationError:
    try:
        return compile_declaration(declaration)
    except DeclarationError as error:
        return error


def cases(entry: dict[str, Any], options: Options) -> Iterable[Case]:
    """One case for each recorded input, and one more where the registered result differs."""
    schema = _compile(entry["declaration"])
    if entry.get("build_error"):
        refused = isinstance(schema, DeclarationError)
        yield Case(f"{entry['id']}/build", lambda: None if refused else "expected a refusal, found a schema")
        return
    if isinstance(schema, DeclarationError) and not any("threw" in case for case in entry["cases"]):
        refusal = schema
        yield Case(entry["id"], lambda: f"the declaration is refused: {refusal.message}")
        return
    clock = entry.get("clock")
    for index, recorded in enumerate(entry["cases"], 1):
        value = (
            parse_json(recorded["input_json"]) if "input_json" in recorded else decode(recorded.get("input", UNDEFINED))
        )
        name = f"{entry['id']}/{index}"
        skip = None
        if compare(schema, recorded, value, clock, True) and _refusal_is_right(entry, schema, value, clock):
            skip = f"refusing is right: {entry['note']}"
        yield _case(name, schema, recorded, value, clock, True, skip)
        if "registered" in recorded and not isinstance(schema, DeclarationError):
            yield _case(f"{name}/registered", schema, recorded["registered"], value, clock, False, skip)


def _case(
    name: str,
    schema: CompiledSchema | DeclarationError,
    recorded: Any,
    value: Any,
    clock: Any,
    written: bool,
    skip: str | None,
) -> Case:
    return Case(name, lambda: compare(schema, recorded, value, clock, written), skip)
