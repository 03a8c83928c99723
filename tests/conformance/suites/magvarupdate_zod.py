"""Recorded updates under the Zod companion (spec/magvarupdate.md §18).

A case's ``schema_text`` becomes the declaration that a card would carry; commands are run as the runtime runs them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interpreter import CompiledSchema, compile_declaration
from runtime.mvu.commands.magvarupdate.companion import Check, Companion, initialised
from runtime.mvu.commands.magvarupdate.refusal import Refusal
from runtime.mvu.commands.magvarupdate.scan import find
from tests.conformance.js import difference, from_marked
from tests.conformance.runner import Case, Options
from tests.conformance.suites.magvarupdate import instruction, newest

_DECLARATION = """\
import {{ registerMvuSchema }} from 'https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js';
export const Schema = {schema};
$(() => {{
  registerMvuSchema(Schema);
}});
"""


def _checker(schema: CompiledSchema) -> Check:
    def check(state: Any) -> Any:
        result = schema.parse(state)
        if not result.ok:
            raise Refusal("schema.refused", result.issues[0].message)
        return result.value

    return check


def _update(entry: dict[str, Any], check: Check) -> dict[str, Any]:
    companion = Companion(from_marked(entry["before"]), check)
    left: list[str] = []
    for found in find(entry["message"]).commands:
        try:
            changed = companion.run(instruction(found))
        except Refusal:
            changed = False
        if not changed:
            left.append(found.name)
    return {
        "stat_data": companion.state,
        "commands_not_consumed": left,
        "warning_toasts": companion.notices,
    }


def _check(entry: dict[str, Any]) -> str | None:
    check = _checker(compile_declaration(_DECLARATION.format(schema=entry["schema_text"])))
    if entry.get("event"):
        state, refusal = initialised(from_marked(entry["before"]), check)
        found: dict[str, Any] = {"stat_data": state, "error_toasts": int(refusal is not None)}
        wanted = {"stat_data": entry["after"]["stat_data"], "error_toasts": entry["error_toasts"]}
        return difference(found, from_marked(wanted), "")
    case = newest(entry)
    recorded = {
        "stat_data": case["after"]["stat_data"],
        "commands_not_consumed": case["commands_not_consumed"],
        "warning_toasts": case["warning_toasts"],
    }
    return difference(_update(entry, check), from_marked(recorded), "")


def cases(entry: dict[str, Any], options: Options) -> Iterable[Case]:
    """One case per entry."""
    yield Case(entry["id"], lambda: _check(entry))
