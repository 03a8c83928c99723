"""Recorded cases of the world kernel (``spec/worldkernel.md`` §11).

Tier ``core`` must match. A case of tier ``quirk`` records what the original did and what it should do instead: a
recommended answer that we give is compared with ``worldkernel_recommended.json``; any other case is compared with the
record and, where it differs and carries a recommendation, listed as a skip with that reason.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from runtime.world.canon import compile_canon
from runtime.world.dice import FNV, derive_u
from runtime.world.fold import fold
from runtime.world.formula import FormulaError, evaluate_formula, parse_formula
from runtime.world.host import Answer, HostRefusal, Line
from runtime.world.host.act import run_command, run_tool
from runtime.world.host.commands import parse_command
from runtime.world.host.message import run_tagged
from runtime.world.host.tools import tool_intent
from runtime.world.kernel import WorldKernel
from runtime.world.opening import opening_state
from runtime.world.pack.load import load_pack
from runtime.world.pack.validate import validate
from runtime.world.pointers import utf16_length
from tests.conformance.runner import Case, Options

TOLERANCE = 1e-12
_RECOMMENDED: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("worldkernel_recommended.json").read_text(encoding="utf-8")
)
# §00.6: findings beyond these codes are ours and never compared.
_CODES = frozenset(
    (
        *("MISSING_FILE", "BAD_YAML", "MISSING_CARD", "OPENING_ABSENT", "BAD_CONDITION", "BAD_POINTER"),
        *("GUARDED_IN_FACT_SCHEMA", "LORE_BUDGET", "MULTI_CONCEPT", "PROGRESS_IN_CARD", "MACRO_SPEAK"),
        *("REVEALED_OVERFLOW", "MISSING_COMMISSION", "MISSING_SCENE", "BAD_PLACE"),
    )
)


def cases(entry: dict[str, Any], options: Options) -> Iterable[Case]:
    """One case per entry."""
    name = str(entry["id"])
    if entry.get("tier") == "quirk":
        yield _quirk(name, entry)
    else:
        yield Case(name, lambda: _compare(entry, entry["expected"]))


def _quirk(name: str, entry: dict[str, Any]) -> Case:
    override = _RECOMMENDED.get(name)
    if override is not None:
        return Case(name, lambda: _compare(entry, override["expected"]))
    try:
        difference = _compare(entry, entry["expected"])
    except Exception as error:
        difference = f"{type(error).__name__}: {error}"
        return Case(name, lambda: difference)
    if difference is not None and "recommended" in entry:
        return Case(name, lambda: None, f"differs from the original on purpose: {entry['recommended']}")
    return Case(name, lambda: difference)


def _compare(entry: dict[str, Any], expected: Any) -> str | None:
    return difference(_RUN[entry["op"]](entry), expected, "")


def difference(actual: Any, expected: Any, path: str) -> str | None:
    """The first difference; keys that the case does not name are ignored, but never those of a State."""
    if isinstance(expected, dict) and isinstance(actual, Mapping):
        if "state_after" in path or path.endswith(".value"):
            extra = [key for key in actual if key not in expected]
            if extra:
                return f"unexpected {extra} at {path}"
        for key, value in expected.items():
            if key not in actual:
                return f"expected {key!r} at {path or '.'}, found none"
            found = difference(actual[key], value, f"{path}.{key}")
            if found is not None:
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, (list, tuple)):
        if len(actual) != len(expected):
            return f"expected {expected!r}, found {actual!r} at {path or '.'}"
        for index, (have, want) in enumerate(zip(actual, expected, strict=True)):
            found = difference(have, want, f"{path}.{index}")
            if found is not None:
                return found
        return None
    if _number(expected) and _number(actual):
        return None if abs(actual - expected) <= TOLERANCE else f"expected {expected!r}, found {actual!r} at {path}"
    if type(expected) is type(actual) and expected == actual:
        return None
    return f"expected {expected!r}, found {actual!r} at {path or '.'}"


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _turn(entry: dict[str, Any]) -> Any:
    before = copy.deepcopy(entry["state"])
    kernel = WorldKernel(compile_canon(entry["pack"]))
    result = kernel.turn(entry["state"], entry["intent"], u=entry.get("injected_u"), rng=entry.get("injected_rng"))
    if entry["state"] != before:
        raise AssertionError("the given State was mutated")
    answer = result.to_json() | {"state_after": result.state, "state_unchanged": result.state == before}
    if result.events and fold(before, result.events) != result.state:
        raise AssertionError("folding the events does not give the State")
    return answer


def _match(entry: dict[str, Any]) -> Any:
    kernel = WorldKernel(compile_canon(entry["pack"]))
    return [hit.to_json() for hit in kernel.match(entry["state"], entry["tags"], entry.get("actors"))]


def _sequence(entry: dict[str, Any]) -> Any:
    kernel = WorldKernel(compile_canon(entry["pack"]))
    state, steps = entry["state"], []
    for step in entry["steps"]:
        result = kernel.turn(state, step["intent"], u=step.get("injected_u"), rng=step.get("injected_rng"))
        state = result.state
        shown = {"ok": result.ok, "events": len(result.events), "code": result.code}
        if result.receipt["kind"] == "check":
            receipt = result.receipt
            shown |= {"p": receipt["p"], "u": receipt["xi"]["u"], "outcome": receipt["outcome"]}
        steps.append(shown)
    return {"steps": steps, "state_after": state}


def _formula(entry: dict[str, Any]) -> Any:
    inputs = entry["inputs"]
    try:
        return {"p": evaluate_formula(parse_formula(entry["formula"], tuple(inputs)), inputs).p}
    except FormulaError as error:
        return {"load_error": {"line": error.line, "column": error.column}}


def _derive(entry: dict[str, Any]) -> Any:
    return {"u": derive_u(FNV, entry["seed"], entry["check_id"], entry["ordinal"])}


def _init(entry: dict[str, Any]) -> Any:
    return opening_state(compile_canon(entry["pack"]), entry["seed"])


def _shown(findings: Iterable[Any]) -> list[dict[str, str]]:
    return [{"code": item.code, "severity": item.severity} for item in findings if item.code in _CODES]


def _validate(entry: dict[str, Any]) -> Any:
    return _shown(validate(entry["pack"]))


def _load(entry: dict[str, Any]) -> Any:
    loaded = load_pack(entry["files"])
    answer: dict[str, Any] = {"ok": loaded.ok, "diagnostics": _shown(loaded.findings)}
    if loaded.canon is not None:
        document = loaded.canon.document
        answer |= {
            "check_order": list(loaded.canon.checks),
            "characters": document["characters"],
            "lore_lengths": {key: utf16_length(body) for key, body in loaded.canon.lore.items()},
            "guarded": list(loaded.canon.guarded),
        }
    return answer


def _translate(entry: dict[str, Any]) -> Any:
    try:
        if entry["kind"] == "tool":
            return _translated(tool_intent(entry["name"], entry["arg"]), entry)
        command = parse_command(entry["name"], entry["arg"])
    except HostRefusal:
        return {"error": True}
    if command.name == "retry":
        return {"fork": True, "checkId": command.check_id}
    return _translated(dict(command.intent or {}), entry)


def _translated(intent: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """An intent must not carry what the case does not name, such as an ignored patch."""
    surplus = [key for key in intent if key not in entry["expected"]]
    if surplus:
        raise AssertionError(f"unexpected {surplus} in the intent")
    return intent


def _host(entry: dict[str, Any]) -> Any:
    canon = compile_canon(entry["pack"])
    opening = opening_state(canon, entry["seed"])
    line = Line(entry["session_id"], canon, entry["role"], opening, (), opening)
    responses = []
    for request in entry["requests"]:
        line, response = _host_request(line, request)
        responses.append(
            response | {"session_id": line.session_id, "log_types": [event["type"] for event in line.events]}
        )
    return {"responses": responses, "state_after": line.state}


def _host_request(line: Line, request: dict[str, Any]) -> tuple[Line, dict[str, Any]]:
    if request["kind"] == "ic":
        run = run_tagged(line, request["tags"], request["actors"], u=request.get("u"))
        ran = [forced for forced in run.forced if forced.status == "ran"]
        response: dict[str, Any] = {"ok": True, "forced": bool(ran), "forced_ids": [item.check_id for item in ran]}
        if ran:
            response |= _checked(ran[0].receipt)
        return line.after(run.events), response
    if request["kind"] == "tool":
        answer = run_tool(line, request["name"], request["args"], u=request.get("u"))
    else:
        answer = run_command(line, request["name"], request.get("rawInput", ""))
    return _answered(line, answer)


def _answered(line: Line, answer: Answer) -> tuple[Line, dict[str, Any]]:
    response = {"ok": answer.body["ok"], "code": answer.body.get("code")} | _checked(answer.body["receipt"])
    if "forced" in answer.body:
        response |= {"forced": bool(answer.body["forced"]), "forced_checks": answer.body["forced"]}
    if answer.fork is not None:
        kept = line.events[: answer.fork.index]
        forked = Line(answer.fork.session_id, line.canon, line.role, line.opening, kept, fold(line.opening, kept))
        return forked, response | {"forked_from": line.session_id}
    return line.after(answer.events), response


def _checked(receipt: dict[str, Any] | None) -> dict[str, Any]:
    if receipt is None or receipt["kind"] != "check":
        return {}
    return {"check_id": receipt["check_id"], "u": receipt["xi"]["u"], "outcome": receipt["outcome"]}


_RUN = {
    "turn": _turn,
    "match": _match,
    "sequence": _sequence,
    "formula": _formula,
    "derive_u": _derive,
    "init": _init,
    "validate": _validate,
    "load": _load,
    "translate": _translate,
    "host": _host,
}
