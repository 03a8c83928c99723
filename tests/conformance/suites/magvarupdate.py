"""Recorded updates of the upstream, dialect ``magvarupdate`` (spec/magvarupdate.md §2-§10, §20).

Expected is the newest recorded behaviour: the fields of ``0ba05382`` where a case has them, else its top-level fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interpreter.javascript import UNDEFINED
from runtime.mvu.commands.magvarupdate.engine import Engine, Instruction, Listeners, Outcome
from runtime.mvu.commands.magvarupdate.scan import Found, find
from runtime.mvu.commands.magvarupdate.schema import Deriver, strip
from tests.conformance.js import difference, from_marked
from tests.conformance.runner import Case, Options

NEWEST = "0ba05382006e6f1c9b57e26290d11ffb755e4d6d"


def newest(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry with the fields of the newest commit laid over it."""
    later = entry.get("other_commits", {}).get(NEWEST, {})
    return {**entry, **later, "after": {**entry["after"], **later.get("after", {})}}


def instruction(found: Found) -> Instruction:
    """A found command as the engine runs it."""
    return Instruction(found.type, found.args, found.reason, found.keys)


def with_macros(text: str, settings: dict[str, Any]) -> str:
    """The host's macros as the case records them: literal replacements."""
    for name, value in settings.get("macros", {}).items():
        text = text.replace(name, value)
    return text


def _without_first(state: Any, commands: list[Instruction]) -> tuple[Any, list[Instruction]]:
    return state, commands[1:]


def _without_hyphen(state: Any, commands: list[Instruction]) -> tuple[Any, list[Instruction]]:
    return state, [command._replace(args=(command.args[0].replace("-", ""), *command.args[1:])) for command in commands]


def _with_set(state: Any, commands: list[Instruction]) -> tuple[Any, list[Instruction]]:
    return state, [*commands, Instruction("set", ("a", {"n": 1}), "script")]


def _with_move(state: Any, commands: list[Instruction]) -> tuple[Any, list[Instruction]]:
    return state, [*commands, Instruction("move", ("a", "b"))]


def _with_types(state: Any, commands: list[Instruction]) -> tuple[Any, list[Instruction]]:
    return {**state, "types": [command.type for command in commands]}, commands


def _clamped(state: Any, before: Any) -> Any:
    return {**state, "hp": min(state["hp"], 100), "prev": before["hp"]}


def _seen(state: Any) -> Any:
    return {**state, "seen": 1, "keys": list(state["$internal"])}


def _followed(state: Any, path: str, old: Any, new: Any) -> Any:
    return {**state, "mp": new - old} if path == "hp" else state


# What the listeners of the recorded cases did, by the words that tell of it.
HOOKS: dict[str, Listeners] = {
    "listener removes the first command in place": Listeners(parsed=_without_first),
    "listener deletes the hyphen in args[0]": Listeners(parsed=_without_hyphen),
    "listener pushes {type:set,args:['a',{n:1}],reason:'script'} (non-string value)": Listeners(parsed=_with_set),
    "listener pushes a move command a->b": Listeners(parsed=_with_move),
    "listener records the command types it saw into stat_data.types": Listeners(parsed=_with_types),
    "listener clamps hp to 100 and stores prev = before.stat_data.hp": Listeners(ended=_clamped),
    "listener sets seen=1 and records the keys of stat_data.$internal": Listeners(started=_seen),
    "async listener sets stat_data.mp = new-old when path is hp": Listeners(updated=_followed),
}


def observed(found: tuple[Found, ...], outcome: Outcome) -> dict[str, Any]:
    """What the runtime did, in the fields of a case."""
    refusals = [done.refusal for done in outcome.done if done.refusal]
    return {
        "commands": [
            {
                "type": item.type,
                "args": [None if arg is UNDEFINED else arg for arg in item.args],
                "reason": item.reason,
                "full_match": item.full_match,
            }
            for item in found
        ],
        "paths": [done.path for done in outcome.done],
        "after": {
            "stat_data": outcome.stat_data,
            "display_data": outcome.display_data,
            "delta_data": outcome.delta_data,
            "schema": UNDEFINED if outcome.schema is None else outcome.schema,
        },
        "modified": outcome.modified,
        "errors": [refusal.code for refusal in refusals if refusal.code != "move.without_declaration"],
        "warnings": list(outcome.warnings),
        "events": [list(event) for event in outcome.trace],
    }


def expected(entry: dict[str, Any]) -> dict[str, Any]:
    """The comparable fields of a case."""
    case = newest(entry)
    return {
        "commands": case["commands"],
        "paths": case["paths"],
        "after": {
            name: case["after"].get(name, {"$js": "undefined"})
            for name in ("stat_data", "display_data", "delta_data", "schema")
        },
        "modified": case["modified"],
        "errors": [error["code"] for error in case["errors"]],
        "warnings": case["warnings"],
        "events": case["events"],
    }


def _check(entry: dict[str, Any]) -> str | None:
    before = from_marked(entry["before"])
    if "init" in entry:
        init = from_marked(entry["init"])
        derived = {"stat_data": strip(init), "schema": Deriver().root(init)}
        differs = difference(derived, before, "before")
        if differs:
            return differs
    found = find(with_macros(entry["message"], entry["settings"])).commands
    hooks = entry.get("hooks")
    listeners = HOOKS[hooks["effect"]] if hooks else Listeners()
    engine = Engine(before["stat_data"], before.get("schema"), listeners)
    outcome = engine.run([instruction(item) for item in found])
    differs = difference(observed(found, outcome), from_marked(expected(entry)), "")
    if differs or hooks:
        return differs
    fitting = Engine(before["stat_data"], before.get("schema"), schema_fits=before.get("schema") is not None)
    repeated = fitting.run([instruction(item) for item in found])
    return difference(repeated.schema, outcome.schema, "schema derived step by step")


def cases(entry: dict[str, Any], options: Options) -> Iterable[Case]:
    """One case per entry; a listener described in words that nobody here knows cannot be played."""
    hooks = entry.get("hooks")
    skip = None
    if hooks and hooks["effect"] not in HOOKS:
        skip = "the listener is described in words only"
    yield Case(entry["id"], lambda: _check(entry), skip)
