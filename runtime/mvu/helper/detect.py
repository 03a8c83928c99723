"""Which script of a card is its command helper, and which gate it asks for (spec/mvu.md §6 Declaration detection).

The text is only parsed, never run. Nodes are walked with a list, so no nesting of the text reaches Python's recursion.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import esprima

from interpreter.javascript import utf16_length
from runtime.mvu.helper.errors import HelperError
from runtime.mvu.helper.limits import DETECTED_TEXTS, GATE_NAME_UNITS
from sandbox.errors import CONFLICT, DECLARATION, LIMIT
from sandbox.limits import SOURCE_UNITS

INITIALIZED = "global_Mvu_initialized"
COMMAND_PARSED = "COMMAND_PARSED"
_GATE_PARTS = frozenset({"latestUserText", "extractOperationBlock"})

# Names that the helper's world already gives a meaning to; a gate under one of them would change what scripts see.
RESERVED_NAMES: frozenset[str] = frozenset(
    [
        "Mvu",
        "console",
        "eventOn",
        "eventMakeLast",
        "globalThis",
        "undefined",
        "NaN",
        "Infinity",
        "eval",
        "__proto__",
        "prototype",
        "constructor",
        "Object",
        "Function",
        "Array",
        "String",
        "Number",
        "Boolean",
        "Symbol",
        "BigInt",
        "Math",
        "JSON",
        "Reflect",
        "Proxy",
        "Date",
        "RegExp",
        "Promise",
        "Map",
        "Set",
        "WeakMap",
        "WeakSet",
        "WeakRef",
        "FinalizationRegistry",
        "Error",
        "AggregateError",
        "SuppressedError",
        "EvalError",
        "RangeError",
        "ReferenceError",
        "SyntaxError",
        "TypeError",
        "URIError",
        "InternalError",
        "Iterator",
        "ArrayBuffer",
        "SharedArrayBuffer",
        "DataView",
        "Atomics",
        "Int8Array",
        "Uint8Array",
        "Uint8ClampedArray",
        "Int16Array",
        "Uint16Array",
        "Int32Array",
        "Uint32Array",
        "BigInt64Array",
        "BigUint64Array",
        "Float16Array",
        "Float32Array",
        "Float64Array",
        "DisposableStack",
        "AsyncDisposableStack",
        "parseInt",
        "parseFloat",
        "isNaN",
        "isFinite",
        "decodeURI",
        "decodeURIComponent",
        "encodeURI",
        "encodeURIComponent",
        "escape",
        "unescape",
        "toString",
        "toLocaleString",
        "valueOf",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
    ]
)


@dataclass(frozen=True, slots=True)
class Helper:
    """A helper as its card carries it: the whole ``source``, the name of its ``gate`` if it has one, its ``sha256``."""

    source: str
    gate: str | None
    sha256: str


def sha256_of(source: str) -> str:
    """The hash of the raw text, as receipts carry it."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def detect_helper(source: str) -> Helper | None:
    """The helper that ``source`` declares, ``None`` when it is another kind of script.

    Raises ``MVU_COMMAND_HOOK_LIMIT`` for a text that is too long, ``MVU_COMMAND_HOOK_DECLARATION`` for one that looks
    like a helper and is not one complete script, or whose gate is ambiguous or badly named.
    """
    if COMMAND_PARSED not in source or INITIALIZED not in source:
        return None
    units = utf16_length(source)
    if units > SOURCE_UNITS.default:
        raise HelperError(LIMIT, f"expected at most {SOURCE_UNITS.default} UTF-16 units of helper text, found {units}")
    return _detect(source)


@lru_cache(maxsize=DETECTED_TEXTS.default)
def _detect(source: str) -> Helper | None:
    try:
        tree = esprima.parseScript(source)
    except RecursionError:
        raise HelperError(DECLARATION, "expected one complete script, found one nested too deeply") from None
    except Exception as error:
        line = getattr(error, "lineNumber", None)
        column = getattr(error, "column", None)
        raise HelperError(
            DECLARATION,
            f"expected one complete script, found: {error} (line {line}, column {column})",
            {"line": line, "column": column},
        ) from None
    nodes = list(walk(tree))
    if not any(_names_event(node) for node in nodes) or not any(_registers(node) for node in nodes):
        return None
    return Helper(source, _find_gate(nodes), sha256_of(source))


def find_helper(texts: Iterable[str]) -> Helper | None:
    """The one helper among the switched-on scripts of a card; different ones are ``MVU_COMMAND_HOOK_CONFLICT``."""
    found: dict[str, Helper] = {}
    for text in texts:
        helper = detect_helper(text)
        if helper is not None:
            found[helper.source] = helper
    if len(found) > 1:
        raise HelperError(
            CONFLICT, f"expected at most one command helper in the card, found {len(found)} different ones"
        )
    return next(iter(found.values()), None)


def walk(tree: Any) -> Iterator[Any]:
    """Every node of a syntax tree."""
    waiting: list[Any] = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(item)
        elif hasattr(item, "type") and hasattr(item, "__dict__"):
            yield item
            waiting.extend(value for value in vars(item).values() if isinstance(value, list) or hasattr(value, "type"))


def _names_event(node: Any) -> bool:
    return node.type == "MemberExpression" and not node.computed and node.property.name == COMMAND_PARSED


def _registers(node: Any) -> bool:
    if node.type != "CallExpression" or node.callee.type != "Identifier" or node.callee.name != "eventOn":
        return False
    return bool(node.arguments) and node.arguments[0].type == "Literal" and node.arguments[0].value == INITIALIZED


def _find_gate(nodes: list[Any]) -> str | None:
    holders: dict[str, set[str]] = {}
    for node in nodes:
        if node.type == "VariableDeclarator" and node.id.type == "Identifier" and node.init is not None:
            name = _global_member(node.init)
            if name is not None:
                holders.setdefault(node.id.name, set()).add(name)
    used: dict[str, set[str]] = {}
    for node in nodes:
        if node.type == "MemberExpression" and node.object.type == "Identifier" and node.object.name in holders:
            used.setdefault(node.object.name, set()).add(_member_name(node) or "")
    names = {name for holder, parts in used.items() if parts >= _GATE_PARTS for name in holders[holder]}
    if not names:
        return None
    if len(names) > 1:
        raise HelperError(DECLARATION, f"expected one gate object, found {len(names)}: {', '.join(sorted(names))}")
    name = names.pop()
    if not _is_identifier(name):
        raise HelperError(
            DECLARATION, f"expected an identifier of at most {GATE_NAME_UNITS.default} units as gate name"
        )
    if name in RESERVED_NAMES:
        raise HelperError(DECLARATION, f"expected a gate name of its own, found the reserved name {name}")
    return name


def _global_member(node: Any) -> str | None:
    if node.type == "ChainExpression":
        node = node.expression
    if node.type != "MemberExpression" or node.object.type != "Identifier" or node.object.name != "globalThis":
        return None
    return _member_name(node)


def _member_name(node: Any) -> str | None:
    if not node.computed:
        return str(node.property.name)
    if node.property.type == "Literal" and isinstance(node.property.value, str):
        return str(node.property.value)
    return None


def _is_identifier(name: str) -> bool:
    return 0 < utf16_length(name) <= GATE_NAME_UNITS.default and name.replace("$", "_").isidentifier()
