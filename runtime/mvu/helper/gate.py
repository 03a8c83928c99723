"""The user gate: what the player last wrote in this turn, and the one operation block in it (spec/mvu.md §6 User gate).

The prelude of the sandbox offers the same two functions to helpers; the tests hold both to the same cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtime.mvu.helper.detect import utf16_length
from sandbox.limits import BLOCK_UNITS, USER_TEXT_UNITS

_TAGS = ("本轮操作", "本轮APP操作")
_BOUNDARY = "<本轮执行边界>"
_ITEM = "<操作项>"
# JavaScript's trim(): every other character is text.
_BLANK = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def latest_user_text(events: Iterable[Mapping[str, Any]], turn: int) -> str:
    """The text of the last ``user/message`` event between ``turn``'s start and the reply; too long counts as none.

    ``events`` are the session's events up to the reply in order: ``{type, data}`` with ``turn/start`` carrying ``turn``.
    A user message whose ``data.source.kind`` is given and not ``user`` is somebody else's.
    """
    text = ""
    inside = False
    for event in events:
        data = event.get("data")
        if not isinstance(data, Mapping):
            continue
        if event.get("type") == "turn/start":
            inside = data.get("turn") == turn
            text = ""
        elif inside and event.get("type") == "user/message" and _is_users(data):
            found = data.get("text")
            text = found if isinstance(found, str) else ""
    return text if utf16_length(text) <= USER_TEXT_UNITS.default else ""


def _is_users(data: Mapping[str, Any]) -> bool:
    source = data.get("source")
    kind = source.get("kind") if isinstance(source, Mapping) else source
    return kind is None or kind == "user"


def extract_operation_block(text: str) -> str:
    """The one operation block of ``text``, re-wrapped; empty unless there is exactly one well-formed block."""
    opens = [text.count(f"<{tag}>") for tag in _TAGS]
    closes = [text.count(f"</{tag}>") for tag in _TAGS]
    if sum(opens) != 1 or sum(closes) != 1 or opens != closes:
        return ""
    tag = _TAGS[opens.index(1)]
    start = text.index(f"<{tag}>") + len(tag) + 2
    end = text.index(f"</{tag}>")
    body = text[start:end] if end >= start else ""
    if not body.strip(_BLANK) or utf16_length(body) > BLOCK_UNITS.default or _BOUNDARY not in body or _ITEM not in body:
        return ""
    return f"<{_TAGS[0]}>{body}</{_TAGS[0]}>"
