"""The static check of general patterns: what the bounded engine cannot bound is refused before it runs.

The engine matches in time proportional to pattern and text, except for back-references and for large counted repeats
around repeats or alternatives (measured: it expands up to about 500 parts, above it backtracks). The grammar itself is
the engine's to check; this scan only needs groups, classes, escapes and repeats, so it reads tokens and keeps a stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from interpreter.javascript import utf16_length
from interpreter.limits import CODE, LIMIT
from interpreter.regex.errors import RegexRefused
from interpreter.regex.limits import NESTED, PATTERN, REPEAT

ALLOWED_FLAGS = "gimsuy"

_TOKEN = re.compile(
    r"""(?P<escape>\\(?:[pP]\{[^}]*\}|u\{[0-9a-fA-F]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[0-9]+|.))
    |(?P<set>\[(?:\\.|[^\]\\])*\])
    |(?P<open>\((?:\?(?:[:=!]|<[=!]|<[^>]*>|[ims]*-?[ims]*:))?)
    |(?P<close>\))
    |(?P<bar>\|)
    |(?P<repeat>[*+?]\??|\{[0-9]+(?:,[0-9]*)?\}\??)
    |(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_COUNTS = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")


@dataclass(slots=True)
class _Group:
    """An open group: expanded size so far, whether its matches vary, and the same of its last part."""

    size: int = 0
    varies: bool = False
    last_size: int = 0
    last_varies: bool = False

    def add(self, size: int, varies: bool) -> None:
        self.size += size
        self.varies = self.varies or varies
        self.last_size, self.last_varies = size, varies


def check_pattern(pattern: str, flags: str) -> int:
    """Refuse flags, back-references and repeats that cannot be bounded; answer the expanded size of the pattern."""
    _check_flags(pattern, flags)
    if utf16_length(pattern) > PATTERN.default:
        message = f"expected a pattern of at most {PATTERN.default} characters, found {utf16_length(pattern)}"
        raise RegexRefused(LIMIT, message, PATTERN.default, "a long pattern")
    tokens = list(_TOKEN.finditer(pattern))
    opens = [token.group() for token in tokens if token.lastgroup == "open"]
    named = any(text.startswith("(?<") and text[3:4] not in ("=", "!") for text in opens)
    groups = sum(text == "(" or (text.startswith("(?<") and text[3:4] not in ("=", "!")) for text in opens)
    stack = [_Group()]
    for token in tokens:
        kind = token.lastgroup
        if kind == "escape":
            _check_escape(pattern, token, groups, named, "u" in flags)
            stack[-1].add(1, False)
        elif kind == "open":
            stack.append(_Group())
        elif kind == "close":
            if len(stack) > 1:  # else the engine reports it
                inner = stack.pop()
                stack[-1].add(inner.size + 1, inner.varies)
        elif kind == "bar":
            stack[-1].add(1, True)
        elif kind == "repeat":
            _apply_repeat(pattern, token, stack[-1])
        else:
            stack[-1].add(1, False)
    return sum(group.size for group in stack)


def _check_flags(pattern: str, flags: str) -> None:
    for position, flag in enumerate(flags):
        if flag not in ALLOWED_FLAGS or flag in flags[:position]:
            raise RegexRefused(
                CODE,
                f"expected flags out of {ALLOWED_FLAGS}, each once, after /{pattern[:80]}/, found {flags!r}",
                utf16_length(pattern),
                "flags",
                "the flag u instead of v" if flag == "v" else None,
            )


def _check_escape(pattern: str, token: re.Match[str], groups: int, named: bool, unicode: bool) -> None:
    text = token.group()
    number = text[1:]
    numbered = number.isdecimal() and number.isascii() and number[0] != "0" and (unicode or int(number[:4]) <= groups)
    if numbered or (text.startswith(r"\k<") and (named or unicode)):
        raise RegexRefused(
            CODE,
            f"expected no back-reference in /{pattern[:80]}/, found {text} at position {_at(token)}",
            _at(token),
            "a back-reference",
            "two matches compared in code",
        )


def _apply_repeat(pattern: str, token: re.Match[str], group: _Group) -> None:
    counts = _COUNTS.match(token.group())
    if counts is None:
        group.add(1, True)
        return
    most = max(_count(counts.group(1)) + (counts.group(2) == "," and not counts.group(3)), _count(counts.group(3)), 1)
    if most > REPEAT.default:
        message = f"expected at most {REPEAT.default} repeats in /{pattern[:80]}/, found {token.group()}"
        raise RegexRefused(LIMIT, f"{message} at position {_at(token)}", _at(token), "a large repeat", "* or +")
    expanded = group.last_size * most
    if group.last_varies and most > 1 and expanded > NESTED.default:
        message = (
            f"expected repeats inside repeats of at most {NESTED.default} parts written out in /{pattern[:80]}/, "
            f"found {expanded} at position {_at(token)}"
        )
        raise RegexRefused(LIMIT, message, _at(token), "nested counted repeats", "smaller counts, or * and +")
    exact = counts.group(2) != ","
    group.size += expanded - group.last_size
    group.last_size = expanded
    group.last_varies = group.last_varies or not exact
    group.varies = group.varies or group.last_varies


def _count(digits: str) -> int:
    # Long runs of digits are all beyond the limit; int() need not read them.
    return int(digits[:9] or "0") if len(digits.lstrip("0")) <= 9 else REPEAT.default + 1


def _at(token: re.Match[str]) -> int:
    return utf16_length(token.string[: token.start()])
