"""The user gate: what the player last wrote in this turn, and the one operation block in it (spec/mvu.md §6 User gate).

The prelude of the sandbox offers the same two functions to helpers; the tests hold both to the same cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from interpreter.javascript import js_trim, utf16_length
from runtime.sessions.events import TURN_START, USER_MESSAGE, Event
from sandbox.limits import BLOCK_UNITS, USER_TEXT_UNITS

_TAGS = ("本轮操作", "本轮APP操作")
_BOUNDARY = "<本轮执行边界>"
_ITEM = "<操作项>"


def latest_user_text(events: Iterable[Event], turn: int) -> str:
    """The text of the last user message between the start of ``turn`` and the reply; a text too long counts as none.

    ``events`` are the session's events before the reply, in order. A message of another source than the user (a note
    that the host injects, say) says nothing about what the player allowed.
    """
    text = ""
    inside = False
    for event in events:
        if event.type == TURN_START:
            inside = event.turn == turn
            text = ""
        elif inside and event.type == USER_MESSAGE and _is_users(event.fields):
            text = event.text
    return text if utf16_length(text) <= USER_TEXT_UNITS.default else ""


def _is_users(fields: Mapping[str, Any]) -> bool:
    source = fields.get("source")
    return source is None or (isinstance(source, Mapping) and source.get("kind") == "user")


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
    if not js_trim(body) or utf16_length(body) > BLOCK_UNITS.default or _BOUNDARY not in body or _ITEM not in body:
        return ""
    return f"<{_TAGS[0]}>{body}</{_TAGS[0]}>"
