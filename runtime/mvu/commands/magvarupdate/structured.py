"""Structured model output as update texts, and updates taken out of prompts (spec/magvarupdate.md §15, §16).

A tracker that answers with a tool call or a JSON object gives the same text as one that writes it, so there is one way
into the state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from interpreter.javascript import js_json_text
from runtime.mvu.commands.magvarupdate.patch import PatchFault, operation_commands
from runtime.mvu.commands.magvarupdate.scan import find, patch_bodies, without_fences
from runtime.mvu.commands.magvarupdate.text import TextError, parse_text

_WRAPPER = re.compile(r"</?update(?:variable)?>", re.IGNORECASE)
_ANALYSIS = re.compile(r"<analy(?:sis|ze)>(?:(?!</?analy(?:sis|ze)>).)*</analy(?:sis|ze)>", re.IGNORECASE | re.DOTALL)
_UPDATE = re.compile(
    r"\n<(update(?:variable)?|variableupdate)>(?:(?!<(?:update(?:variable)?|variableupdate)>).)*?</\1>",
    re.IGNORECASE | re.DOTALL,
)
_PLACE_HOLDER = "\n<StatusPlaceHolderImpl/>"
_SHORTEST_DELTA = 6
_ANALYSIS_KEYS = ("analysis", "analyze")
_PATCH_KEYS = ("json_patch", "jsonPatch", "patch", "delta")


def _update_text(analysis: Any, body: str) -> str:
    said = analysis if isinstance(analysis, str) else ""
    return f"<UpdateVariable>\n<Analyze>\n{said}\n</Analyze>\n{body}\n</UpdateVariable>"


def _patch_text(items: Any) -> str | None:
    """A patch as a block, None when it is no list of operations."""
    try:
        list(operation_commands(items))
    except PatchFault:
        return None
    return f"<JSONPatch>\n{js_json_text(items, '  ')}\n</JSONPatch>"


def _read(text: str) -> Any:
    try:
        return parse_text(without_fences(text))
    except TextError:
        return None


def _delta_body(delta: str) -> str | None:
    bodies = patch_bodies(delta)
    if bodies:
        return _patch_text(_read(bodies[-1]))
    plain = _ANALYSIS.sub("", _WRAPPER.sub("", delta)).strip()
    block = _patch_text(_read(plain))
    if block is not None:
        return block
    return plain if find(plain).commands else None


def from_tool_call(arguments: str) -> str | None:
    """The update text of a tool call's ``{analysis, delta}``; None when there is no usable update in it."""
    given = _read(arguments)
    if not isinstance(given, dict) or not isinstance(given.get("delta"), str):
        return None
    delta = given["delta"].strip()
    if len(delta) < _SHORTEST_DELTA:
        return None
    body = _delta_body(delta)
    return None if body is None else _update_text(given.get("analysis"), body)


def from_object(content: str) -> str | None:
    """The update text of a JSON answer: an object with a patch, or the bare patch; None when there is none."""
    given = _read(content)
    if isinstance(given, list):
        given = {"patch": given}
    if not isinstance(given, dict):
        return None
    patch = next((given[key] for key in _PATCH_KEYS if key in given), None)
    block = _patch_text(_read(patch) if isinstance(patch, str) else patch)
    if block is None:
        return None
    return _update_text(next((given[key] for key in _ANALYSIS_KEYS if key in given), ""), block)


def filter_messages(messages: Sequence[Mapping[str, Any]], *, hide_updates: bool) -> list[dict[str, Any]]:
    """Prompt messages without the status mark and, where asked, without update blocks; only texts are touched."""
    filtered: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            if hide_updates and "<UpdateVariable>" in content:
                content = _UPDATE.sub("", content)
            content = content.replace(_PLACE_HOLDER, "")
        filtered.append({**message, "content": content})
    return filtered
