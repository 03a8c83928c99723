"""Judging one check: its condition, inputs, formula and outcomes (§6.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.world.canon import SamePaths, compile_input, texts
from runtime.world.channels import ENGINE_ROOTS, Guards, guards_of, related
from runtime.world.formula import FormulaError, names_used, parse_formula
from runtime.world.limits import CHECK_INPUTS, POINTER_CHARS, POINTER_SEGMENTS
from runtime.world.pack.findings import Finding, Severity, Source
from runtime.world.patching import is_delta
from runtime.world.pointers import is_number, segments_of, slots_in
from runtime.world.predicate import PathRef, compile_predicate, condition_slots, path_slots

KNOWN_ROOTS = ("scene", "present", "characters", "facts", "revealed", "clock")
WHOLE_KEYS = ("present", "scene")
CHECK_KINDS = ("contest", "digest", "lose_control", "insight", "cost", "generic")
_CHECK_KEYS = ("id", "kind", "when", "condition", "inputs", "formula", "outcomes", "fact_schema")


def check_findings(document: Mapping[str, Any], key: str, body: Mapping[str, Any], source: Source) -> Iterator[Finding]:
    """All findings about one check, those of §6.3 in their order."""
    rules = _CheckRules(document, key, body, source)
    yield from rules.condition()
    yield from rules.outcomes()
    yield from rules.fact_schema()
    yield from rules.inputs()
    yield from rules.formula()
    yield from rules.form()


class _CheckRules:
    def __init__(self, document: Mapping[str, Any], key: str, body: Mapping[str, Any], source: Source) -> None:
        self._key, self._body, self._source = key, body, source
        self._guards: Guards = guards_of(texts(document.get("guarded")))

    def _say(self, code: str, severity: Severity, message: str, *path: str | int) -> Finding:
        return Finding(code, severity, f"{self._key}: {message}", self._source.place(path))

    def condition(self) -> Iterator[Finding]:
        """Shape and arguments of the condition."""
        source = self._body.get("condition")
        if source is not None:
            for fault in compile_predicate(source)[1]:
                yield self._say(fault.code, "error", fault.message, "condition", *fault.path)

    def outcomes(self) -> Iterator[Finding]:
        """Keys and values of both outcomes."""
        outcomes = self._body.get("outcomes")
        if not isinstance(outcomes, dict):
            yield self._say("BAD_CHECK", "error", "expected outcomes with success and failure", "outcomes")
            return
        for name in outcomes:
            if name not in ("success", "failure"):
                message = f"expected success or failure, found {name!r}; it is never applied"
                yield self._say("UNKNOWN_OUTCOME", "notice", message, "outcomes", name)
        for name in ("success", "failure"):
            outcome = outcomes.get(name)
            apply = outcome.get("apply") if isinstance(outcome, dict) else None
            if outcome is not None and not isinstance(outcome, dict):
                yield self._say("BAD_CHECK", "error", "expected an object with apply", "outcomes", name)
            elif apply is not None and not isinstance(apply, dict):
                yield self._say("BAD_CHECK", "error", "expected a map from pointer to value", "outcomes", name, "apply")
            elif isinstance(apply, dict):
                for pointer, value in apply.items():
                    yield from self._written(pointer, value, ("outcomes", name, "apply", pointer))

    def _written(self, pointer: str, value: Any, path: tuple[str | int, ...]) -> Iterator[Finding]:
        parts = pointer.split(".")
        if "{" not in pointer and len(parts) < 2 and pointer not in WHOLE_KEYS:
            yield self._say("BAD_POINTER", "error", f"expected a pointer such as facts.name, found {pointer!r}", *path)
        elif "" in parts or len(parts) > POINTER_SEGMENTS.default or len(pointer) > POINTER_CHARS.default:
            yield self._say("BAD_POINTER", "error", f"expected names joined by single dots, found {pointer!r}", *path)
        elif len(parts) > 1 and parts[0] in WHOLE_KEYS:
            yield self._say("BAD_POINTER", "error", f"expected {parts[0]} itself, it is written as a whole", *path)
        elif parts[0] in ENGINE_ROOTS:
            yield self._say("BAD_POINTER", "error", f"the engine alone keeps {parts[0]!r}", *path)
        elif parts[0] not in KNOWN_ROOTS and "{" not in parts[0]:
            yield self._say("UNKNOWN_ROOT", "notice", f"expected {', '.join(KNOWN_ROOTS)}; found {parts[0]!r}", *path)
        if is_number(value) and path in self._source.plain_numbers:
            message = f'{value} without quotes sets the value; write "{value:+}" in quotes for a change'
            yield self._say("UNQUOTED_DELTA", "notice", message, *path)
        if pointer == "present" and not _is_stage_value(value):
            message = f"expected +id, -id, an id or a list of ids, found {value!r}; the stage stays as it is"
            yield self._say("STAGE_VALUE", "notice", message, *path)
        if is_delta(value) and len(value) > _DELTA_CHARS:
            yield self._say("BAD_VALUE", "error", f"expected a number of ordinary size, found {value[:20]}…", *path)

    def fact_schema(self) -> Iterator[Finding]:
        """A fact schema may not name what only rules move (§00.6); a generic check may not have one at all."""
        if "fact_schema" not in self._body:
            return
        schema = self._body["fact_schema"]
        named = list(schema) if isinstance(schema, (dict, list)) else [schema]
        pointers = [tuple(name.split(".")) for name in named if isinstance(name, str)]
        guarded = next((p for p in pointers if any(related(pattern, p) for pattern in self._guards.patterns)), None)
        if guarded is not None or self._body.get("kind") == "generic":
            what = f"found the guarded {'.'.join(guarded)}" if guarded else "found one in a generic check"
            yield self._say("GUARDED_IN_FACT_SCHEMA", "error", f"expected no such fact_schema, {what}", "fact_schema")

    def inputs(self) -> Iterator[Finding]:
        """Inputs must be paths; a slot that no condition guarantees may be free in a forced check."""
        inputs = self._body.get("inputs")
        if not isinstance(inputs, dict):
            yield self._say("BAD_CHECK", "error", "expected inputs as a map from name to path", "inputs")
            return
        if len(inputs) > CHECK_INPUTS.default:
            yield self._say("BAD_INPUT", "error", f"expected at most {CHECK_INPUTS.default} inputs", "inputs")
        condition = self._body.get("condition")
        predicate = compile_predicate(condition)[0] if condition is not None else None
        sure = {*condition_slots(predicate), *path_slots(predicate)}
        for name, text in inputs.items():
            compiled = compile_input(text)
            if compiled is None:
                yield self._say("BAD_INPUT", "error", f"expected a path as text, found {text!r}", "inputs", name)
                continue
            if _shows_secrets(compiled):
                message = (
                    f"expected a path into the world, found {text!r}; receipts would show the seed or engine facts"
                )
                yield self._say("BAD_INPUT", "error", message, "inputs", name)
            if isinstance(compiled, SamePaths):
                slots = slots_in(compiled.left.text) + slots_in(compiled.right.text)
            else:
                slots = slots_in(compiled.text)
                if "(" in text:
                    message = f"expected a path or eq(A, B), found {text!r}; it is read as a path"
                    yield self._say("INPUT_CALL", "notice", message, "inputs", name)
            for slot in dict.fromkeys(slots):
                if predicate is not None and slot not in sure:
                    message = f'the condition does not guarantee {slot!r}; add present: ["${slot}"]'
                    yield self._say("UNSURE_SLOT", "notice", message, "inputs", name)

    def formula(self) -> Iterator[Finding]:
        """The formula must parse and know its names."""
        text = self._body.get("formula")
        if not isinstance(text, str):
            yield self._say("BAD_CHECK", "error", f"expected a formula as text, found {text!r}", "formula")
            return
        inputs = self._body.get("inputs")
        names = tuple(inputs) if isinstance(inputs, dict) else ()
        try:
            formula = parse_formula(text, names)
        except FormulaError as error:
            place = self._source.text_place(("formula",), error.line, error.column)
            yield Finding("BAD_FORMULA", "error", f"{self._key}: {error.message}", place)
            return
        for name, line in formula.missing_conditions:
            place = self._source.text_place(("formula",), line, 1)
            message = f"{self._key}: nothing defines {name!r}, so this 'if' is never true"
            yield Finding("IF_NAME", "warning", message, place)
        for statement in formula.statements:
            if not _WORD.match(statement.target):
                place = self._source.text_place(("formula",), statement.line, 1)
                message = f"{self._key}: {statement.target!r} is a name that nothing can read; there is no '+=' here"
                yield Finding("ODD_TARGET", "notice", message, place)
        used = set(names_used(formula))
        if text.strip() and not any(statement.target == "p" for statement in formula.statements) and "p" not in names:
            yield self._say("NO_P", "notice", "the formula never sets p; the chance is even", "formula")
        for name in names:
            if name not in used and name != "p":
                yield self._say("UNUSED_INPUT", "notice", f"the formula does not use {name!r}", "inputs", name)

    def form(self) -> Iterator[Finding]:
        """Fields that are there and known."""
        kind = self._body.get("kind")
        if kind not in CHECK_KINDS:
            yield self._say("UNKNOWN_KIND", "notice", f"expected {', '.join(CHECK_KINDS)}; found {kind!r}", "kind")
        for name in self._body:
            if name not in _CHECK_KEYS:
                yield self._say("UNKNOWN_KEY", "notice", f"a check has no field {name!r}; it is ignored", name)


_DELTA_CHARS = 64
_WORD = re.compile(r"[^\W\d]\w*\Z")


def _shows_secrets(compiled: PathRef | SamePaths) -> bool:
    """Whether the value of an input, which receipts show, could hold the seed or the engine's own facts (§00.2)."""
    if isinstance(compiled, SamePaths):
        return False
    segments = segments_of(compiled.text)
    if not segments or segments in (("facts",), ("rng_seed",)):
        return True
    return segments[0] == "rng_seed" or (segments[0] == "facts" and segments[1].startswith("__"))


def _is_stage_value(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str) and bool(value.strip())
