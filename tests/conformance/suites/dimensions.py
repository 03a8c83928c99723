"""Adapter of the suite ``dimensions``: one comparison per group (``spec/dimensions.md`` §13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from runtime.dimensions.clock import MoveRefused, check_clock, move_clock, new_clock, output, shown
from runtime.dimensions.declaration import check_declaration, check_table
from runtime.dimensions.derive import apply_derived, hide_schema, hide_value, keep_derived
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.issues import Issue
from runtime.dimensions.localise import localise
from runtime.dimensions.prompts import shown_schema
from runtime.dimensions.query import run_queries
from runtime.dimensions.records import Fault, Record, Source, evaluate, initialise, read_batch
from runtime.dimensions.settlement import follow_derived, register, settle
from runtime.dimensions.sync import decide
from runtime.dimensions.tool import ToolRefused, check_call, missing_followers, normalise, resolve_updates
from runtime.dimensions.validate import validate_value
from runtime.dimensions.values import Json, same
from tests.conformance.runner import Case, Options

_LOCALE = "en-US"


def cases(entry: dict[str, Any], options: Options) -> Iterable[Case]:
    """One case per entry."""
    del options
    run = GROUPS[entry["group"]]
    given, expected = _generated(entry["input"]), _generated(entry["expected"])
    yield Case(entry["id"], lambda: run(given, expected))


def _generated(data: Any) -> Any:
    """Replace ``{"$gen": …}`` by the value it stands for."""
    if isinstance(data, list):
        return [_generated(part) for part in data]
    if not isinstance(data, dict):
        return data
    if set(data) != {"$gen"}:
        return {key: _generated(part) for key, part in data.items()}
    rule = data["$gen"]
    if rule["kind"] == "string":
        return rule["char"] * rule["count"]
    if rule["kind"] == "array":
        return [_generated(rule["item"])] * rule["count"]
    value = _generated(rule["leaf"])
    for _ in range(rule["depth"]):
        value = [value]
    return value


def _differs(found: Json, wanted: Json) -> str | None:
    return None if same(found, wanted) else f"expected {_cut(wanted)}, found {_cut(found)}"


def _cut(value: Json) -> str:
    text = repr(value)
    return text if len(text) < 400 else text[:400] + "…"


def _within(found: Json, wanted: Json) -> bool:
    """Every listed field of ``wanted`` has the same value in ``found``."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and _within(found[key], part) for key, part in wanted.items())
    return same(found, wanted)


def _accepts(issues: list[Issue], expected: Mapping[str, Any]) -> str | None:
    found = [(issue.at, issue.reason) for issue in issues]
    if expected["accept"]:
        return None if not found else f"expected acceptance, found {found}"
    wanted = [(reason["at"], reason["reason"]) for reason in expected["reasons"]]
    missing = [pair for pair in wanted if pair not in found]
    if not found:
        return f"expected refusal {wanted}, found acceptance"
    return f"expected {missing}, found {found}" if missing else None


def _declaration(given: Any, expected: Any) -> str | None:
    return _accepts(check_declaration(given["definition"]), expected)


def _declaration_map(given: Any, expected: Any) -> str | None:
    return _accepts(check_table(given["dimensions"]), expected)


def _derive(given: Any, expected: Any) -> str | None:
    return _differs(apply_derived(given["schema"], given["value"], given["elapsedSinceStart"]), expected["value"])


def _derive_write(given: Any, expected: Any) -> str | None:
    if given["op"] == "keep":
        return _differs(keep_derived(given["schema"], given["written"], given["current"]), expected["value"])
    found: dict[str, Any] = {"schema": hide_schema(given["schema"])}
    if "value" in expected:
        found["value"] = hide_value(given["schema"], given["value"])
    return _differs({key: found[key] for key in expected}, expected)


def _value(given: Any, expected: Any) -> str | None:
    issues = validate_value(given["schema"], given["value"], given["mode"])
    return _differs([{"path": list(issue.path), "reason": issue.reason} for issue in issues], expected["issues"])


def _query(given: Any, expected: Any) -> str | None:
    try:
        results = run_queries(given["snapshot"], given["queries"], given.get("locale", _LOCALE))
    except DimensionError as error:
        return None if expected.get("rejected") else f"expected results, found {error}"
    if expected.get("rejected"):
        return f"expected a refused call, found {_cut(results)}"
    wanted = expected["results"]
    if len(results) != len(wanted):
        return f"expected {len(wanted)} results, found {len(results)}"
    for found, want in zip(results, wanted, strict=True):
        if not _within(found, want) or any(key in found and key not in want for key in ("error", "page")):
            return f"expected {_cut(want)}, found {_cut(found)}"
    return None


def _records(base: Mapping[str, Any]) -> dict[str, Record]:
    """Records as recorded; they need not be legal ones, so they are taken as written."""
    return {
        key: Record(
            data["definition"],
            data["value"],
            data["version"],
            Source.from_json(data["lastTrackedSource"]) if "lastTrackedSource" in data else None,
        )
        for key, data in base.items()
    }


def _shown(record: Record) -> dict[str, Any]:
    data = record.to_json()
    del data["definition"]
    return data


def _update(given: Any, expected: Any) -> str | None:
    records: Mapping[str, Record] = _records(given["base"])
    try:
        if given["type"] == "dimension.initialize":
            records = initialise(records, given["payload"], given.get("locale", _LOCALE))
        else:
            records = {**records, **evaluate(records, read_batch(given["payload"]))}
    except Fault as fault:
        found: dict[str, Any] = {"ok": False, "error": fault.kind}
        if "about" in expected:
            found["about"] = fault.about
        return _differs(found, expected)
    return _differs({"ok": True, "records": {key: _shown(record) for key, record in records.items()}}, expected)


def _localize(given: Any, expected: Any) -> str | None:
    return _differs(localise(given["text"], given["locale"]), expected["text"])


def _tracker(given: Any, expected: Any) -> str | None:
    try:
        found = _TRACKER[given["op"]](given)
    except ToolRefused as refusal:
        found = {"rejected": refusal.reason}
    return _differs(found, expected)


def _resolve(given: Any) -> dict[str, Any]:
    updates = given["updates"]
    check_call({"updates": updates, "followsClock": []})
    return {"updates": resolve_updates(given["dimensions"], updates)}


def _follow(given: Any) -> dict[str, Any]:
    missing = missing_followers(given.get("clock"), given["dimensions"], given["followsClock"], given["updates"])
    return {"missing": missing}


_TRACKER: dict[str, Callable[[Any], dict[str, Any]]] = {
    "shown-schema": lambda given: {"schema": shown_schema(given["schema"], given.get("locale", _LOCALE))},
    "resolve": _resolve,
    "normalize": lambda given: {"call": normalise(given["call"])},
    "followers": _follow,
}


def _settlement(given: Any, expected: Any) -> str | None:
    records: dict[str, Record] = _records(given["records"])
    receipts: dict[str, Any] = {}
    for step in given["steps"]:
        if step["do"] == "narrate":
            source = Source(step["resultId"], step["turnNumber"])
            receipts = dict(register(records, receipts, source, step["turnId"])[0])
        else:
            _commit(records, receipts, step["payload"])
    for key, want in expected["receipts"].items():
        if key not in receipts:
            return f"expected a receipt {key}, found {list(receipts)}"
        data = receipts[key].to_json()
        found = {**data, "definitions": list(data["definitions"]), "hasError": "error" in data}
        if not _within(found, want) or found["readVersions"] != want.get("readVersions", found["readVersions"]):
            return f"expected {_cut(want)} for {key}, found {_cut(found)}"
    strangers = [key for key in receipts if key not in expected["receipts"]]
    if strangers:
        return f"unexpected receipts {strangers}"
    return _differs({key: [record.value, record.version] for key, record in records.items()}, expected["records"])


def _commit(records: dict[str, Record], receipts: dict[str, Any], payload: Any) -> None:
    """One update by the provider, as the service commits it."""
    if isinstance(payload, dict) and "source" in payload:
        try:
            outcome = settle(records, receipts, payload)
        except (DimensionError, Fault):
            return
        records.update(outcome.changed)
        receipts[outcome.receipt.source.result_id] = outcome.receipt
        return
    try:
        changed = evaluate(records, read_batch(payload))
    except Fault:
        return
    receipts.update(follow_derived(receipts, records, changed))
    records.update(changed)


def _sync(given: Any, expected: Any) -> str | None:
    outcome = decide(
        given["declared"],
        ledger=given["ledger"],
        standing=given["state"],
        pending=given["pending"],
        force=given["force"],
    )
    return _differs({"outcome": outcome}, expected)


def _clock(given: Any, expected: Any) -> str | None:
    if check_clock(given["definition"]):
        places = [issue.at for issue in check_clock(given["definition"])]
        return None if "rejected" in expected else f"the definition is refused at {places}"
    clock = new_clock(given["definition"])
    turn = given.get("turnId", "turn-1")
    if given["move"] is not None or (given["definition"]["evolution"]["mode"] == "random" and "turnId" in given):
        try:
            clock = move_clock(clock, turn, given["move"])
        except MoveRefused as refusal:
            return _differs({"rejected": refusal.reason}, expected)
    answer = output(clock, turn, _LOCALE)
    found = {
        "tick": answer["tick"],
        "elapsedSinceStart": answer["summary"]["elapsedSinceStart"],
        "elapsedThisTurn": answer["summary"]["elapsedThisTurn"],
        "shown": shown(clock.definition, clock.tick),
    }
    return None if _within(found, expected) else f"expected {_cut(expected)}, found {_cut(found)}"


GROUPS: dict[str, Callable[[Any, Any], str | None]] = {
    "declaration": _declaration,
    "declaration-map": _declaration_map,
    "derive": _derive,
    "derive-write": _derive_write,
    "value": _value,
    "limits": _value,
    "query": _query,
    "update": _update,
    "localize": _localize,
    "tracker": _tracker,
    "settlement": _settlement,
    "sync": _sync,
    "clock": _clock,
}
