"""Apply a reply to a card's opening, without storing anything."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from runtime.assembly import now_ms
from runtime.cards import Card, read_card
from runtime.mvu import discovery, playground
from runtime.mvu.helper.detect import find_helper
from runtime.values.rows import InnkeeperError
from sandbox import ProcessSandbox

MARKS = {"applied": "✓", "refused": "✗", "ignored": "·"}


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper apply``."""
    parser.add_argument("reply", metavar="REPLY.txt", help="the reply, - for standard input")
    parser.add_argument("--card", type=Path, required=True, help="the character card, PNG or JSON")
    parser.add_argument("--greeting", type=int, default=0, metavar="N", help="the opening, from 0")
    parser.add_argument("--dialect", choices=("strict", "magvarupdate"), default="strict")
    parser.add_argument("--user-text", default="", help="what the user wrote, for a helper's gate")
    parser.add_argument("--json", action="store_true", help="the whole answer as JSON")


def read_text(name: str) -> str:
    """A text file or standard input; ``HOST_REQUEST`` when it cannot be read."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InnkeeperError("HOST_REQUEST", f"the reply cannot be read: {error}") from None


def load_card(path: Path) -> Card:
    """A card file; ``CARD_INVALID`` when it is none."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InnkeeperError("CARD_INVALID", f"the card cannot be read: {error.strerror}: {path.name}") from None
    return read_card(raw)


def request_of(card: Card, reply: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """The body of ``/mvu/apply`` for a card."""
    body: dict[str, Any] = {"reply": reply, "dialect": arguments.dialect, "userText": arguments.user_text}
    data = discovery.initvar_data(card)
    if data is not None:
        body["initvar"] = data
    source = discovery.declaration_source(card)
    if source is not None:
        body["declaration"] = source
    if not 0 <= arguments.greeting < max(1, len(card.greetings)):
        raise InnkeeperError(
            "HOST_REQUEST", f"expected a greeting below {len(card.greetings)}, found {arguments.greeting}"
        )
    if card.greetings:
        body["greeting"] = card.greetings[arguments.greeting]
    helper = find_helper(card.helper_texts)
    if helper is not None:
        body["helper"] = helper.source
    return body


def run(arguments: argparse.Namespace) -> int:
    """Print the commands with status and reason, and what changed; exit status 1 when a command was refused."""
    card = load_card(arguments.card)
    body = request_of(card, read_text(arguments.reply), arguments)
    sandbox = ProcessSandbox() if "helper" in body else None
    try:
        answer = playground.apply_reply(body, clock=now_ms(), sandbox=sandbox, owner="apply")
    finally:
        if sandbox is not None:
            sandbox.close()
    if arguments.json:
        print(json.dumps(answer, ensure_ascii=False, indent=2))
    else:
        print_answer(answer)
    refused = any(command["status"] == "refused" for command in answer["commands"])
    return 1 if refused or "error" in answer else 0


def print_answer(answer: dict[str, Any]) -> None:
    """The answer as a person reads it."""
    print(f"{len(answer['commands'])} command(s)")
    for command in answer["commands"]:
        print(f"  {MARKS[command['status']]} {_short(command['source'])}")
        if command["status"] == "refused":
            print(f"      {command['code']}: {command['message']}")
    for item in answer["ignored"]:
        print(f"  {MARKS['ignored']} {_short(item['source'])}\n      {item['reason']}: {item['message']}")
    if "error" in answer:
        print(f"nothing was kept: {answer['error']['code']}: {answer['error']['error']}")
    print_changes(answer["changes"])


def print_changes(changes: list[dict[str, Any]]) -> None:
    """A readable list of changes."""
    if not changes:
        print("no value changed")
        return
    print("changes")
    for change in changes:
        before = _value(change["before"]) if "before" in change else "(absent)"
        after = _value(change["after"]) if "after" in change else "(removed)"
        print(f"  {change['path']}: {before} → {after}")


def _value(value: Any) -> str:
    return _short(json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:99] + "…"
