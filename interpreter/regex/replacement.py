"""Replacement texts of ``String.prototype.replace``: ``$$ $& $` $' $1 $12 $<name>``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interpreter.javascript import UNDEFINED, utf16_slice

if TYPE_CHECKING:
    from interpreter.regex.engine import RegexMatch

_SIGN = re.compile(r"\$(?:[$&`']|[0-9]{1,2}|<([^>]*)>)")


def expand(template: str, match: RegexMatch, text: str) -> str:
    """The text that stands in place of a match found in ``text``."""
    if "$" not in template:
        return template

    def part(sign: re.Match[str]) -> str:
        written = sign.group()
        kind = written[1]
        if kind == "$":
            return "$"
        if kind == "&":
            return match.text
        if kind == "`":
            return utf16_slice(text, 0, match.index)
        if kind == "'":
            return utf16_slice(text, match.end)
        if kind == "<":
            if match.named is None:  # then the sign has no meaning, but what follows it may have one
                return "$<" + expand(written[2:], match, text)
            return _present(match.named.get(sign.group(1), UNDEFINED))
        return _numbered(written, match)

    return _SIGN.sub(part, template)


def _numbered(written: str, match: RegexMatch) -> str:
    """``$n`` and ``$nn``: two digits where there is such a group, else one, else the text as written."""
    digits = written[1:]
    count = len(match.groups)
    if len(digits) == 2 and 1 <= int(digits) <= count:
        return _present(match.groups[int(digits) - 1])
    if 1 <= int(digits[0]) <= count:
        return _present(match.groups[int(digits[0]) - 1]) + digits[1:]
    return written


def _present(group: object) -> str:
    return group if isinstance(group, str) else ""
