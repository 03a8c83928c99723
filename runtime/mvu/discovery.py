"""What a card declares: its InitVar data, its declaration, its helper (``spec/mvu.md`` §9.1, §6; ``spec/zod.md`` §5).

Reading a card is ``runtime.cards``; here its texts are interpreted, and whatever is wrong with them is said.
"""

from __future__ import annotations

import re
from typing import Any

from interpreter import DeclarationError, compile_declaration
from runtime.cards import Card
from runtime.mvu.helper import HelperError, find_helper
from runtime.mvu.initvar import load_initvar
from runtime.values.rows import InnkeeperError

_REGISTER = "registerMvuSchema"
# Bounded repeats: a long text of half-written imports must not cost quadratic time.
_STATIC_IMPORT = re.compile(r"\bimport\s{0,99}\{[^{}]{0,999}?\bregisterMvuSchema\b[^{}]{0,999}\}\s{0,99}from\b")
_DYNAMIC_IMPORT = re.compile(r"\bimport\s{0,99}\(")
_BARE_IMPORT = re.compile(
    r"""^\s{0,99}import\s{0,99}(?P<quote>['"])(?P<url>[^'"\n]{1,2000})(?P=quote)\s{0,99};?""", re.MULTILINE
)
_COMMENTS = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)
_IMPORT_SCRIPT_CHARS = 20_000  # a script of nothing but imports is short
# The variable framework itself: nearly every card imports it, and it never holds a card's declaration.
_FRAMEWORK = re.compile(r"/MagVarUpdate(@[^/]*)?/")


def initvar_data(card: Card) -> dict[str, Any] | None:
    """The merged InitVar data; ``None`` without entries, ``MVU_INITIALIZATION_INVALID`` when one cannot be read."""
    return load_initvar(card.initvar_entries) if card.initvar_entries else None


def declaration_source(card: Card) -> str | None:
    """The card's declaration as it stands in the card; ``MVU_SCHEMA_CONFLICT`` when there are different ones (§0.6)."""
    found = [text for text in card.declaration_texts if is_declaration(text)]
    if len(found) > 1:
        raise InnkeeperError(
            "MVU_SCHEMA_CONFLICT",
            f"expected at most one declaration in the card, found {len(found)} different texts that import {_REGISTER}; "
            "remove all but one, or name the right one as schemaSource in the configuration",
            {"found": len(found)},
        )
    return found[0] if found else None


def is_declaration(text: str) -> bool:
    """Whether a text imports the registration function, statically or dynamically (``spec/zod.md`` §5)."""
    if _REGISTER not in text:
        return False
    return bool(_STATIC_IMPORT.search(text) or _DYNAMIC_IMPORT.search(text))


def remote_imports(card: Card) -> list[str]:
    """Addresses of published bundles that switched-on scripts import and do nothing else; not the framework's own."""
    found: dict[str, None] = {}
    for script in card.scripts:
        if not script.enabled or len(script.content) > _IMPORT_SCRIPT_CHARS:
            continue
        code = _COMMENTS.sub("", script.content)
        addresses = [match["url"] for match in _BARE_IMPORT.finditer(code)]
        if addresses and not _BARE_IMPORT.sub("", code).strip():
            found.update(dict.fromkeys(url for url in addresses if not _FRAMEWORK.search(url)))
    return list(found)


def describe_card(card: Card) -> dict[str, Any]:
    """The interpreted part of the answer of ``POST /host/cards`` (``spec/http.md`` Cards)."""
    return {
        "initvar": _describe_initvar(card),
        "declaration": _describe_declaration(card),
        "helper": _describe_helper(card),
        "worldBook": {
            "entries": [
                {
                    "id": entry.id,
                    "comment": entry.comment,
                    "keys": list(entry.keys),
                    "enabled": entry.enabled,
                    "constant": entry.constant,
                }
                for entry in card.world_book
            ]
        },
    }


def _describe_initvar(card: Card) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "entries": [{"comment": entry.comment, "path": entry.path} for entry in card.initvar_entries]
    }
    try:
        initvar_data(card)
    except InnkeeperError as error:
        answer["error"] = _error(error.code, error.message, error.details)
    return answer


def _describe_declaration(card: Card) -> dict[str, Any]:
    try:
        source = declaration_source(card)
    except InnkeeperError as error:
        return {"status": "conflict", "error": _error(error.code, error.message, error.details)}
    if source is None:
        imports = remote_imports(card)
        return {"status": "remote", "imports": imports} if imports else {"status": "absent"}
    try:
        compiled = compile_declaration(source)
    except DeclarationError as error:
        where = {"line": error.line, "column": error.column, "construct": error.construct, "nearest": error.nearest}
        details = {key: value for key, value in where.items() if value is not None}
        return {"status": "invalid", "error": _error(error.code, str(error), details)}
    answer: dict[str, Any] = {"status": "inline", "interpreterVersion": compiled.version}
    if compiled.skipped:
        answer["skipped"] = list(compiled.skipped)
    return answer


def _describe_helper(card: Card) -> dict[str, Any]:
    try:
        found = find_helper(card.helper_texts)
    except HelperError as error:
        status = "conflict" if error.code == "MVU_COMMAND_HOOK_CONFLICT" else "invalid"
        return {"status": status, "error": _error(error.code, error.message, error.details)}
    return {"status": "absent"} if found is None else {"status": "found"}


def _error(code: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    return {"code": code, "message": message, **({"details": details} if details else {})}
