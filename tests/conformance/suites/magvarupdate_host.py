"""Recorded behaviour of the upstream's host side (spec/magvarupdate.md §12): texts, InitVar books, first states.

The chat is played here as far as the groups need it: who writes a table, and which notices are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from interpreter.javascript import UNDEFINED
from runtime.mvu.commands.magvarupdate.engine import Engine
from runtime.mvu.commands.magvarupdate.initial import Book, described, greeting_state, load_books, merged
from runtime.mvu.commands.magvarupdate.scan import find
from runtime.mvu.commands.magvarupdate.structured import filter_messages, from_object, from_tool_call
from runtime.mvu.commands.magvarupdate.text import parse_text
from tests.conformance.js import difference, from_marked
from tests.conformance.runner import Case, Options
from tests.conformance.suites.magvarupdate import instruction, newest, with_macros

INITIALISED = "mag_variable_initialized"


def _books(given: dict[str, Any], *, without_primary: bool = False) -> list[Book]:
    names = [*given.get("global", []), given.get("primary"), *given.get("additional", [])]
    if without_primary:
        names = [name for name in names if name != given.get("primary")]
    books: list[Book] = []
    for name in names:
        if name is None:
            continue
        listed = given["lorebooks"].get(name)
        entries = None if listed is None else tuple((item.get("comment", ""), item["content"]) for item in listed)
        books.append(Book(name, entries))
    return books


def _text(entry: dict[str, Any]) -> tuple[Any, Any]:
    return parse_text(entry["input"]["text"]), entry["result"]


def _books_of(entry: dict[str, Any]) -> tuple[Any, Any]:
    given = entry["input"]
    before = given.get("before", {})
    loaded = load_books(
        _books(given),
        before.get("stat_data", {}),
        before.get("initialized_lorebooks", {}),
        lambda text: with_macros(text, given),
    )
    found = {
        "updated": loaded.updated,
        "stat_data": loaded.stat_data,
        "initialized_lorebooks": loaded.initialized,
        "error_toasts": len(loaded.faults),
    }
    return found, entry["result"]


class _Chat:
    """A chat under the upstream's initialisation."""

    def __init__(self, given: dict[str, Any], settings: dict[str, Any]) -> None:
        self.given = given
        self.floors = given["chat"]
        self.mirror = settings.get("兼容性", {}).get("更新到聊天变量") is True
        self.tables: list[Any] = [from_marked(floor.get("variables", UNDEFINED)) for floor in self.floors]
        self.scope: dict[str, Any] = {}
        self.events: list[str] = []
        self.writes: list[str] = []
        self.toasts: list[str] = []

    def macros(self, text: str) -> str:
        return with_macros(text, self.given)

    def result(self) -> dict[str, Any]:
        return {
            "chat_variables": self.tables,
            "chat_scope": self.scope,
            "events": sorted(self.events),
            "host_writes": self.writes,
            "toasts": self.toasts,
        }

    def play(self) -> None:
        if self.given.get("welcome"):
            return
        if not self.floors:
            self.toasts.append("error")
            return
        latest: dict[str, Any] = next((tables[0] for tables in reversed(self.tables) if isinstance(tables, list)), {})
        usable = latest if latest.get("schema") is not None else {}
        books = _books(self.given)
        stat_data = usable.get("stat_data", {})
        loaded = load_books(books, stat_data, usable.get("initialized_lorebooks", {}), self.macros)
        if not loaded.updated:
            return
        stat_data, schema = described(loaded.stat_data, usable.get("schema"))
        self.toasts.append("info")
        if len(self.floors) > 1:
            self.writes.append("replaceVariables")
            fresh = {"stat_data": stat_data, "schema": schema, "initialized_lorebooks": loaded.initialized}
            self.tables[-1] = [fresh]
            return
        if self.mirror:
            self.writes.append("updateVariablesWith")
            self.scope = {
                "display_data": {},
                "initialized_lorebooks": loaded.initialized,
                "stat_data": stat_data,
                "delta_data": {},
                "schema": schema,
            }
        self.writes.append("setChatMessages")
        swipes = self.floors[0].get("swipes") or [self.floors[0]["mes"]]
        known = self.tables[0] if isinstance(self.tables[0], list) else []
        self.tables[0] = [
            self._greeting(position, text, known[position] if position < len(known) else {}, stat_data, schema, loaded)
            for position, text in enumerate(swipes)
        ]

    def _greeting(self, position: int, text: str, own: Any, data: Any, schema: Any, loaded: Any) -> dict[str, Any]:
        data = merged(own.get("stat_data", {}), data)
        others = _books(self.given, without_primary=True)
        start = greeting_state(data, text, others, loaded.initialized, self.macros)
        table = {**own, "initialized_lorebooks": start.initialized, "schema": schema}
        self.events.append(INITIALISED)
        state = start.stat_data
        if self.given.get("hook"):
            state, table = {**state, "from_hook": position}, {**table, "extra": {"swipe": position}}
        engine = Engine(state, schema)
        outcome = engine.run([instruction(item) for item in find(self.macros(text)).commands])
        self.events += [event[0] for event in outcome.trace]
        return {
            **table,
            "stat_data": outcome.stat_data,
            "display_data": outcome.display_data,
            "delta_data": outcome.delta_data,
            "schema": outcome.schema,
        }


def _first_state(entry: dict[str, Any]) -> tuple[Any, Any]:
    chat = _Chat(entry["input"], entry.get("settings", {}))
    chat.play()
    wanted = {**entry["result"], "events": sorted(entry["result"]["events"])}
    return _ordered(chat.result()), _ordered(wanted)


def _ordered(result: dict[str, Any]) -> dict[str, Any]:
    """Tables with their keys sorted: a table is no state, its order says nothing."""

    def table(value: Any) -> Any:
        return {key: value[key] for key in sorted(value)} if isinstance(value, dict) and "$js" not in value else value

    tables = [
        [table(item) for item in floor] if isinstance(floor, list) else floor for floor in result["chat_variables"]
    ]
    return {
        key: {"chat_variables": tables, "chat_scope": table(result["chat_scope"])}.get(key, result[key])
        for key in sorted(result)
    }


def _tool_call(entry: dict[str, Any]) -> tuple[Any, Any]:
    arguments = entry["input"].get("arguments")
    return (None if arguments is None else from_tool_call(arguments)), entry["result"]


def _formatted(entry: dict[str, Any]) -> tuple[Any, Any]:
    return from_object(entry["input"]["content"]), entry["result"]


def _prompt(entry: dict[str, Any]) -> tuple[Any, Any]:
    extra = entry.get("settings", {}).get("更新方式") == "额外模型解析"
    hide = extra and not entry["input"].get("during", False)
    return filter_messages(entry["input"]["messages"], hide_updates=hide), entry["result"]


GROUPS: dict[str, Callable[[dict[str, Any]], tuple[Any, Any]]] = {
    "parsestring": _text,
    "initvar": _books_of,
    "initcheck": _first_state,
    "toolcall": _tool_call,
    "formatted": _formatted,
    "promptfilter": _prompt,
}


def _check(entry: dict[str, Any]) -> str | None:
    later = entry.get("other_commits", {})
    found, wanted = GROUPS[entry["group"]](entry if not later else {**entry, "result": newest_result(entry)})
    return difference(found, from_marked(wanted), "result")


def newest_result(entry: dict[str, Any]) -> Any:
    """The recorded result of the newest commit."""
    return newest({**entry, "after": {}})["result"]


def cases(entry: dict[str, Any], options: Options) -> Iterable[Case]:
    """One case per entry of a group that is built."""
    yield Case(entry["id"], lambda: _check(entry))
