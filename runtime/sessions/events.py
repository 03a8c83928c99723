"""Event types: what each must carry, and which of them leave an opening untouched (spec/mvu.md §7.4).

Unknown types are stored and treated as activity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.values.rows import InnkeeperError

JsonObject = Mapping[str, Any]
TURN_START = "turn/start"
TURN_END = "turn/end"
USER_MESSAGE = "user/message"
ASSISTANT_MESSAGE = "assistant/message"
_SAFE_INTEGER = 2**53 - 1


def _filled(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _anything(_: object) -> bool:
    return True


def _model_selection(data: object) -> bool:
    if not isinstance(data, dict) or set(data) - {"provider", "model", "reasoningEffort"}:
        return False
    if not (_filled(data.get("provider")) and _filled(data.get("model"))):
        return False
    return "reasoningEffort" not in data or _filled(data["reasoningEffort"])


def _user_title(data: object) -> bool:
    if not isinstance(data, dict) or set(data) != {"title", "messageSeqs", "source"}:
        return False
    title = data["title"]
    return (
        isinstance(title, str)
        and bool(title.strip())
        and data["messageSeqs"] == []
        and data["source"] == {"kind": "user"}
    )


def _empty_object(data: object) -> bool:
    return isinstance(data, dict) and not data


OPENING_EVENTS: Mapping[str, Callable[[object], bool]] = {
    "permission/preset": _anything,
    "sandbox/mode": _anything,
    "approval/policy": _anything,
    "model/selection": _model_selection,
    "session/title": _user_title,
    "session/end-seed": _empty_object,
}
"""The events that an empty opening may have, each with the test of its ``data`` (spec/mvu.md §7.4)."""


def keeps_opening(event_type: str, fields: JsonObject) -> bool:
    """Whether a session with this event may still be written as an empty opening."""
    test = OPENING_EVENTS.get(event_type)
    return test is not None and test(fields.get("data"))


@dataclass(frozen=True, slots=True)
class Event:
    """One durable event of a session; ``fields`` is everything but ``type``."""

    seq: int
    type: str
    fields: JsonObject

    @property
    def turn(self) -> int | None:
        """The turn that the event names."""
        turn = self.fields.get("turn")
        return turn if isinstance(turn, int) and not isinstance(turn, bool) else None

    @property
    def message_id(self) -> str | None:
        """The id of a message event."""
        found = self.fields.get("id")
        return found if isinstance(found, str) else None

    @property
    def text(self) -> str:
        """The text of a message: its text, or its text blocks joined with one newline (spec/mvu.md §1.6)."""
        text = self.fields.get("text")
        if isinstance(text, str):
            return text
        blocks = self.fields.get("blocks")
        if not isinstance(blocks, list):
            return ""
        return "\n".join(
            b["text"]
            for b in blocks
            if isinstance(b, dict) and b.get("type", "text") == "text" and isinstance(b.get("text"), str)
        )

    @property
    def tool_call(self) -> bool:
        """Whether an assistant message carries a tool call."""
        if self.fields.get("toolCall"):
            return True
        blocks = self.fields.get("blocks")
        if not isinstance(blocks, list):
            return False
        return any(isinstance(b, dict) and b.get("type") in ("tool-call", "tool_call", "toolCall") for b in blocks)

    @property
    def interrupted(self) -> bool:
        """Whether an assistant message was cut short."""
        return bool(self.fields.get("interrupted"))

    @property
    def reason(self) -> str | None:
        """The kind of a turn's end."""
        reason = self.fields.get("reason")
        if isinstance(reason, dict):
            kind = reason.get("kind")
            return kind if isinstance(kind, str) else None
        return reason if isinstance(reason, str) else None

    def counts(self) -> bool:
        """Whether an assistant message may change state: neither interrupted nor a tool call (spec/mvu.md §0.7)."""
        return (
            self.type == ASSISTANT_MESSAGE
            and not self.interrupted
            and not self.tool_call
            and self.message_id is not None
        )

    def to_json(self) -> dict[str, Any]:
        """The event as the HTTP contract shows it."""
        return {"seq": self.seq, "type": self.type, **self.fields}


def _refuse(index: int, expected: str, found: object) -> InnkeeperError:
    shown = repr(found)
    return InnkeeperError("HOST_EVENT", f"expected {expected}, found {shown[:80]} at events[{index}]", {"index": index})


def _check_turn(index: int, fields: JsonObject) -> None:
    turn = fields.get("turn")
    if not isinstance(turn, int) or isinstance(turn, bool) or not 0 <= turn <= _SAFE_INTEGER:
        raise _refuse(index, "a turn that is a non-negative whole number", turn)


def _check_message(index: int, event_type: str, fields: JsonObject) -> None:
    identifier = fields.get("id")
    if identifier is not None and (not isinstance(identifier, str) or not identifier):
        raise _refuse(index, "a message id that is a non-empty string", identifier)
    if fields.get("turn") is not None:
        _check_turn(index, fields)
    text, blocks = fields.get("text"), fields.get("blocks")
    if text is not None and not isinstance(text, str):
        raise _refuse(index, "a text that is a string", text)
    if blocks is not None and not isinstance(blocks, list):
        raise _refuse(index, "blocks that are a list", blocks)
    if event_type == ASSISTANT_MESSAGE and text is None and blocks is None:
        raise _refuse(index, "an assistant message with text or blocks", fields)


def read_event(index: int, raw: object) -> tuple[str, dict[str, Any]]:
    """``(type, fields)`` of one posted event, or ``HOST_EVENT`` that says what is wrong with it."""
    if not isinstance(raw, dict):
        raise _refuse(index, "an object", raw)
    event_type = raw.get("type")
    if not isinstance(event_type, str) or not event_type:
        raise _refuse(index, "a type that is a non-empty string", event_type)
    fields = {key: value for key, value in raw.items() if key not in ("type", "seq")}
    if event_type in (TURN_START, TURN_END):
        _check_turn(index, fields)
    if event_type == TURN_END and Event(0, event_type, fields).reason is None:
        raise _refuse(index, "a reason {kind: completed|aborted|forked|…}", fields.get("reason"))
    if event_type in (USER_MESSAGE, ASSISTANT_MESSAGE):
        _check_message(index, event_type, fields)
    return event_type, fields
