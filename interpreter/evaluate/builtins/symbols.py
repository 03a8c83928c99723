"""Texts as lodash counts them: by what a reader sees as one sign, where the text holds more than plain letters."""

from __future__ import annotations

import re

from interpreter.javascript import utf16_length

_COMBINING = "\u0300-\u036f\u20d0-\u20ff\ufe20-\ufe2f"
_VARIANTS = "\ufe0e\ufe0f"
_JOINER = "\u200d"
_TONES = "\U0001f3fb-\U0001f3ff"
_PAIR = "[\U00010000-\U0010ffff]"
_REGION = "[\U0001f1e6-\U0001f1ff]{2}"
_LETTER = "[^\ud800-\udfff\U00010000-\U0010ffff]"
_ADDED = f"[{_VARIANTS}]?[{_COMBINING}{_TONES}]?"
_SPECIAL = re.compile(f"[{_JOINER}\ud800-\udfff{_COMBINING}{_VARIANTS}\U00010000-\U0010ffff]")
_SYMBOL = re.compile(
    f"[{_TONES}](?=[{_TONES}])"
    f"|(?:{_LETTER}[{_COMBINING}]?|[{_COMBINING}]|{_REGION}|{_PAIR}|[\ud800-\udfff])"
    f"{_ADDED}(?:{_JOINER}(?:{_LETTER}|{_REGION}|{_PAIR}){_ADDED})*"
)


def symbols(text: str) -> list[str]:
    """The signs of a text, as ``_.toArray`` splits it and ``_.size``, ``_.pad`` and ``_.truncate`` count it."""
    return _SYMBOL.findall(text) if not text.isascii() and _SPECIAL.search(text) else list(text)


def symbol_count(text: str) -> int:
    """How many signs a text has."""
    return len(symbols(text)) if not text.isascii() and _SPECIAL.search(text) else utf16_length(text)
