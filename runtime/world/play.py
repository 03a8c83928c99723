"""Playing a pack at a table of one: lines in, text out, no model needed (the loop of §7 in a terminal).

Pure but for the service's store; whoever calls it owns the keyboard and the screen. A narrator, if there is one, gets
the context and the receipts and may only tell.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

from runtime.values.rows import InnkeeperError
from runtime.world.host.line import Line
from runtime.world.opening import scene_lore_key
from runtime.world.service import WorldService

Narrator = Callable[[str, str, list[dict[str, Any]]], str]

HELP: Mapping[str, str] = {
    "en": """Say what you do, in your own words; words of the pack force its checks.
/do CHECK [slot=who …]   run a check yourself        /go SCENE      go there
/note NAME=VALUE         note a fact                 /lore KEY      read lore or a card
/who  /ways  /checks     look around                 /look [path]   read the State
/gm PATH=VALUE :: WHY    a ruling                    /correct …     put a fact right
/retry [check]           back to before a check      /ooc …         out of character
/help  /quit""",
    "zh": """直接说你做什么；说到词表里的话，就会强制鉴定。
/do 鉴定 [槽=谁 …]       自己提出一次鉴定            /go 场景       前往
/note 名=值              记下一个事实                /lore 键       读设定或人物
/who  /ways  /checks     看看四周                    /look [路径]   看状态
/gm 路径=值 :: 理由      裁定                        /correct …     更正事实
/retry [鉴定]            回到鉴定之前                /ooc …         戏外话
/help  /quit""",
}


class Table:
    """One evening: a session, and what the player sees of it."""

    def __init__(self, service: WorldService, session_id: str, narrate: Narrator | None = None) -> None:
        self._service = service
        self._narrate = narrate
        self._operations = itertools.count(1)
        self.session_id = session_id
        self.ended = False

    def opening(self) -> str:
        """What is said before the first line: title, commission, place, people."""
        line = self._line()
        commission = next((body for key, body in line.canon.lore.items() if "commission" in key), "")
        parts = [
            f"== {line.canon.title} ==",
            commission.strip(),
            self._place(line),
            self._people(line),
            self._help(line),
        ]
        return "\n\n".join(part for part in parts if part)

    def answer(self, text: str) -> str:
        """Take one line of the player."""
        text = text.strip()
        if not text:
            return ""
        try:
            return self._command(text) if text.startswith("/") else self._said(text)
        except InnkeeperError as error:
            return f"! {error.message}"

    # -- speech ------------------------------------------------------------------------------------------------

    def _said(self, text: str) -> str:
        turn = self._line().state["turn"]
        answer = self._service.message(self.session_id, text, turn, self._operation())
        lines = [f"+ {', '.join(answer['staged'])}"] if answer["staged"] else []
        for forced in answer["forced"]:
            if forced["status"] == "ran":
                lines.append(receipt_text(forced["receipt"]))
            else:
                lines.append(f"- {forced['checkId']}: {forced['status']} {forced.get('message', '')}".rstrip())
        if self._narrate is not None:
            lines.append(self._narrate(answer["context"], text, answer["receipts"]))
        return "\n".join(lines) or "…"

    # -- commands ----------------------------------------------------------------------------------------------

    def _command(self, text: str) -> str:
        name, _, rest = text[1:].partition(" ")
        own: Mapping[str, Callable[[str], str]] = {
            "quit": self._quit,
            "help": lambda _: self._help(self._line()),
            "who": lambda _: self._people(self._line()),
            "ways": lambda _: self._ways(self._line()),
            "checks": lambda _: self._checks(self._line()),
            "lore": lambda key: self._turn({"type": "lore", "key": key}),
            "do": self._do,
            "go": self._go,
            "note": self._note,
        }
        if name in own:
            return own[name](rest.strip())
        answer = self._service.command(self.session_id, text, self._line().state["turn"], self._operation())
        if "fork" in answer:
            self.session_id = answer["sessionId"]
            return f"<< {answer['fork']['checkId']} · {self.session_id}"
        return _shown(answer)

    def _quit(self, _: str) -> str:
        self.ended = True
        return ""

    def _do(self, rest: str) -> str:
        words = rest.split()
        if not words:
            return self._checks(self._line())
        line = self._line()
        actors = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        chosen = line.canon.checks.get(words[0])
        for slot in chosen.slots if chosen is not None else ():
            # Whoever is not named is taken from the stage, each person once.
            free = [actor for actor in line.state["present"] if actor not in actors.values()]
            if slot not in actors and free:
                actors[slot] = free[0]
        return self._turn({"type": "check", "checkId": words[0], "actors": actors})

    def _go(self, scene: str) -> str:
        line = self._line()
        for check in line.canon.checks.values():
            if check.condition is None and not check.slots and not check.inputs:
                told = self._turn({"type": "check", "checkId": check.id, "actors": {}, "patch": {"scene": scene}})
                break
        else:
            told = self._turn({"type": "gm", "patch": {"scene": scene}, "reason": "walk"})
        after = self._line()
        return told if after.state["scene"] == line.state["scene"] else f"{told}\n\n{self._place(after)}"

    def _note(self, rest: str) -> str:
        name, _, value = rest.partition("=")
        pointer = name.strip() if "." in name else f"facts.{name.strip()}"
        return self._turn({"type": "fact", "pointer": pointer, "value": value.strip()})

    def _turn(self, intent: dict[str, Any]) -> str:
        turn = self._line().state["turn"]
        return _shown(self._service.turn(self.session_id, intent, turn, self._operation()))

    # -- sights ------------------------------------------------------------------------------------------------

    def _line(self) -> Line:
        return self._service.line(self.session_id)

    def _operation(self) -> str:
        return f"play-{next(self._operations)}"

    def _place(self, line: Line) -> str:
        key = scene_lore_key(line.canon, line.state["scene"])
        ways = self._ways(line)
        return "\n".join(part for part in (line.canon.lore.get(key or "", "").strip(), ways) if part)

    def _ways(self, line: Line) -> str:
        if not line.canon.places:
            return ", ".join(line.canon.index.get("scenes", ()))
        ways = line.canon.places.get(line.state["scene"], {}).items()
        told = [
            f"{target} +{edge.beats:g}" + (f" [{edge.need_text}]" if edge.need_text else "") for target, edge in ways
        ]
        return f"beat {line.state.get('clock', {}).get('beat', 0)} · " + ", ".join(told)

    def _people(self, line: Line) -> str:
        stage = line.state["present"]
        return ", ".join(
            f"{line.canon.cards[actor].name} ({actor})" if actor in line.canon.cards else actor for actor in stage
        )

    def _checks(self, line: Line) -> str:
        return "\n".join(
            f"{check.id} ({', '.join(check.slots) or '-'}): {check.when}" for check in line.canon.checks.values()
        )

    def _help(self, line: Line) -> str:
        return HELP["zh" if line.canon.locale.startswith("zh") else "en"]


def receipt_text(receipt: Mapping[str, Any]) -> str:
    """A receipt of a check as one line: outcome, chance and draw (if shown), and what became of the numbers."""
    parts = [f"> {receipt['check_id']}: {receipt['outcome']}"]
    if "xi" in receipt:
        draw = receipt["xi"]
        roll = f", {draw['kind']} {draw['roll']}" if "roll" in draw else ""
        parts.append(f"(p {receipt['p']:.3f}, u {draw['u']:.3f}{roll})")
    changes = [f"{pointer} = {_short(value)}" for pointer, value in receipt["resolved"].items()]
    if changes:
        parts.append("· " + ", ".join(changes))
    return " ".join(parts)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_short(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(answer: Mapping[str, Any]) -> str:
    if not answer["ok"]:
        return f"! {answer['code']}: {answer['message']}"
    receipt = answer["receipt"]
    kind = receipt["kind"]
    if kind == "check":
        return receipt_text(receipt)
    if kind == "lore":
        return str(receipt["body"]).strip()
    if kind == "look":
        return _tree(receipt["value"])
    if kind == "empty":
        return "…"
    return ", ".join(f"{pointer} = {_short(value)}" for pointer, value in receipt["resolved"].items()) or "…"


def _tree(value: Any, depth: int = 0) -> str:
    """A value as indented lines; Values are bounded in depth (``world.value.depth``)."""
    indent = "  " * depth
    if isinstance(value, dict) and value:
        lines = []
        for key, child in value.items():
            if isinstance(child, dict) and child:
                lines += [f"{indent}{key}:", _tree(child, depth + 1)]
            else:
                lines.append(f"{indent}{key}: {_short(child)}")
        return "\n".join(lines)
    return indent + _short(value)


def run_table(table: Table, read: Callable[[], str | None], write: Callable[[str], None]) -> None:
    """The loop: until the player leaves or the lines end."""
    write(table.opening())
    while not table.ended:
        text = read()
        if text is None:
            return
        told = table.answer(text)
        if told:
            write(told)
