"""Slash commands of a player (§7.2, §00.4): text to an intent, a rewind, or nothing.

``/gm`` and ``/correct`` take ``POINTER=VALUE :: REASON``. ``=-5`` is the number, ``=+5``, ``="-5"``, ``+=5`` and
``-=5`` are changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.world.host.refusals import HostRefusal
from runtime.world.limits import COMMAND_CHARS, VALUE_DEPTH
from runtime.world.patching import is_delta
from runtime.world.pointers import is_number

COMMANDS: tuple[str, ...] = ("look", "state", "gm", "correct", "retry", "ooc")
CODE = "HOST_COMMAND"


@dataclass(frozen=True, slots=True)
class Command:
    """What a command asks for: an ``intent``, a rewind (``retry`` with an optional check id), or nothing (``ooc``)."""

    name: str
    intent: Mapping[str, Any] | None = None
    check_id: str | None = None


def split_command(text: str) -> tuple[str, str]:
    """The name and the rest of ``/name rest``."""
    trimmed = text.strip()
    if not trimmed.startswith("/"):
        raise HostRefusal(CODE, f"expected a command such as /{COMMANDS[0]}, found {trimmed[:20]!r}")
    parts = trimmed[1:].split(None, 1)
    return (parts[0] if parts else ""), (parts[1] if len(parts) > 1 else "")


def parse_command(name: str, argument: str = "") -> Command:
    """Understand one command; raises ``HostRefusal``."""
    if len(argument) > COMMAND_CHARS.default:
        raise HostRefusal(CODE, f"expected at most {COMMAND_CHARS.default} characters, found {len(argument)}")
    if name in ("look", "state"):
        pointer = argument.strip()
        return Command(name, {"type": "look", "pointer": pointer} if pointer else {"type": "look"})
    if name == "gm":
        pointer, value, reason = _assignment(argument)
        return Command(name, {"type": "gm", "patch": {pointer: value}, "reason": reason})
    if name == "correct":
        pointer, value, _ = _assignment(argument)
        return Command(name, {"type": "correct", "pointer": pointer, "value": value})
    if name == "retry":
        return Command(name, None, argument.strip() or None)
    if name == "ooc":
        return Command(name)
    raise HostRefusal(CODE, f"expected one of /{', /'.join(COMMANDS)}; found /{name}")


def _assignment(argument: str) -> tuple[str, Any, str]:
    """Pointer, value and reason of ``POINTER=VALUE :: REASON``."""
    form = "POINTER=VALUE :: REASON"
    left, separator, reason = argument.partition("::")
    if not separator or not reason.strip():
        raise HostRefusal(CODE, f"expected a reason behind '::' ({form}), found none")
    pointer, equals, raw = left.partition("=")
    if not equals:
        raise HostRefusal(CODE, f"expected '=' between pointer and value ({form}), found {left.strip()!r}")
    sign = pointer[-1:] if pointer[-1:] in ("+", "-") else ""
    pointer = pointer[: len(pointer) - len(sign)].strip()
    text = raw.strip()
    if not pointer or not text:
        raise HostRefusal(CODE, f"expected a pointer and a value ({form}), found {left.strip()!r}")
    value = parse_value(text)
    return pointer, (_change(pointer, sign, value) if sign else value), reason.strip()


def _change(pointer: str, sign: str, value: Any) -> str:
    """The text of ``+=`` and ``-=``: a delta for numbers, joining or leaving for the stage."""
    if pointer == "present" and isinstance(value, str):
        return sign + value
    if is_number(value) and value >= 0 and is_delta(f"+{value}"):
        return f"{sign}{value}"
    raise HostRefusal(CODE, f"expected a plain number behind {sign}=, found {value!r}")


def parse_value(text: str) -> Any:
    """JSON if it parses, else the text itself; nesting is bounded before the parser sees it."""
    depth = deepest = 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    if deepest > VALUE_DEPTH.default:
        raise HostRefusal(CODE, f"expected at most {VALUE_DEPTH.default} nested containers, found {deepest}")
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, OverflowError):
        return text


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
