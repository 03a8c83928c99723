"""Where a script's declaration is: in the text, or behind an import (spec/zod.md §5)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from interpreter.syntax.program import REGISTER

_IMPORT = re.compile(r"""\bimport\s*(?:\(\s*)?(?:[^'"();]*?\bfrom\s*)?(['"])(https?://[^'"\s]+)\1""")
_HELPER = re.compile(r"/mvu_zod(?:\.min)?\.js(?:$|[?#])")
_ZOD_CALL = re.compile(
    r"(?<![\w$.])z\s*\.\s*(?:object|record|looseObject|strictObject|intersection|union|array|coerce)\b"
)


@dataclass(frozen=True, slots=True)
class DeclarationStatus:
    """``kind``: ``inline`` (the text declares a schema), ``remote`` (it only imports one), ``none``.

    ``addresses`` are what the text imports, in order.
    """

    kind: str
    addresses: tuple[str, ...] = ()


def declaration_status(source: str) -> DeclarationStatus:
    """Tell an inline declaration from a bare import of a published bundle; the text is not compiled."""
    addresses = tuple(dict.fromkeys(found.group(2) for found in _IMPORT.finditer(source)))
    if _ZOD_CALL.search(source) and (REGISTER in source or re.search(r"\b[Ss]chema\b", source)):
        return DeclarationStatus("inline", addresses)
    if REGISTER in source and not any(not _HELPER.search(address) for address in addresses):
        return DeclarationStatus("inline", addresses)
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", _IMPORT.sub("", source), flags=re.DOTALL)
    others = tuple(address for address in addresses if not _HELPER.search(address))
    if others and not code.strip(" \t\r\n;)"):
        return DeclarationStatus("remote", addresses)
    if others and REGISTER in source:
        return DeclarationStatus("remote", addresses)
    return DeclarationStatus("none", addresses)
