"""Canon: a pack compiled once and never changed (§1, §6).

``compile_canon`` is lenient on purpose: what a check has wrong is kept as its ``fault`` so that a broken check can
never be forced or run, while the loader reports the same faults with their lines (``pack.validate``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.values.canonical import sha
from runtime.world.channels import BUILT_IN, Guards, guards_of
from runtime.world.formula import Formula, FormulaError, parse_formula
from runtime.world.patching import Bound, Bounds
from runtime.world.pointers import is_number, slots_in
from runtime.world.predicate import PathRef, Predicate, compile_predicate, condition_slots, path_ref, path_slots
from runtime.world.travel import Places, compile_places

Document = Mapping[str, Any]

_EQUAL = re.compile(r"\s*eq\((.*)\)\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SamePaths:
    """The input ``eq(A, B)``: strict equality of two paths."""

    left: PathRef
    right: PathRef


@dataclass(frozen=True, slots=True)
class Check:
    """A compiled check. ``slots`` are all slots it names, in order of appearance; ``fault`` says why it cannot run."""

    id: str
    kind: str
    when: str
    condition: Predicate | None
    forced_slots: tuple[str, ...]
    inputs: tuple[tuple[str, PathRef | SamePaths], ...]
    formula: Formula
    success: Mapping[str, Any]
    failure: Mapping[str, Any]
    slots: tuple[str, ...]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """A character card: who somebody is, never how far they have come."""

    id: str
    name: str
    keys: tuple[str, ...]
    body: str
    stats: Mapping[str, Any]
    pathway: Any = None
    sequence_declared: Any = None
    provisional: bool = False


@dataclass(frozen=True, slots=True)
class Canon:
    """A loaded pack. ``document`` is what is stored, ``hash`` its name for ever."""

    document: Document
    hash: str
    id: str
    title: str
    locale: str
    rng: str
    entry_scene: str | None
    lore_budget: float | None
    reveal: str
    stats: Mapping[str, Any]
    guarded: tuple[str, ...]
    guards: Guards
    bounds: Bounds
    places: Places | None
    opening: Mapping[str, Any]
    tags: Mapping[str, tuple[str, ...]]
    claims: Mapping[str, tuple[str, ...]]
    checks: Mapping[str, Check]
    cards: Mapping[str, Card]
    lore: Mapping[str, str]
    index: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> tuple[str, ...]:
    """The texts of a list; everything else in it is left to the validator."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _text(value: Any, default: str = "") -> str:
    return value if isinstance(value, str) else default


def compile_canon(document: Document) -> Canon:
    """Compile a document of the form ``{meta, index, checks, characters, lore, guarded}``; never raises for content."""
    meta = _dict(document.get("meta"))
    declared = document.get("guarded", meta.get("guarded"))
    guarded = texts(declared) if isinstance(declared, list) else BUILT_IN
    budget = meta.get("loreBudgetChars")
    checks = {key: compile_check(key, source) for key, source in _dict(document.get("checks")).items()}
    reveal = meta.get("reveal")
    return Canon(
        document=document,
        hash=sha(document),
        id=_text(meta.get("id")),
        title=_text(meta.get("title")),
        locale=_text(meta.get("locale"), "en"),
        rng=_text(meta.get("rng"), "bernoulli") or "bernoulli",
        entry_scene=_text(meta.get("entry_scene")) or None,
        lore_budget=budget if is_number(budget) else None,
        reveal=reveal if reveal in ("full", "outcome") else "full",
        stats=_dict(meta.get("stats")),
        guarded=guarded,
        guards=guards_of(guarded),
        bounds=compile_bounds(meta.get("bounds")),
        places=compile_places(meta.get("places")) if "places" in meta else None,
        opening=_dict(meta.get("opening")),
        tags=_lexicon(meta.get("tags")),
        claims=_lexicon(meta.get("claims")),
        checks=checks,
        cards={key: compile_card(key, source) for key, source in _dict(document.get("characters")).items()},
        lore={key: _text(_dict(doc).get("body")) for key, doc in _dict(document.get("lore")).items()},
        index={key: texts(value) for key, value in _dict(document.get("index")).items()},
    )


def _lexicon(source: Any) -> dict[str, tuple[str, ...]]:
    return {key: texts(words) for key, words in _dict(source).items()}


def compile_bounds(source: Any) -> Bounds:
    """``{stat: [min, max]}``; a plain stat is that field of every character, a dotted name is a pattern."""
    bounds: list[Bound] = []
    for name, value in _dict(source).items():
        low, high = _range(value)
        pattern = tuple(name.split(".")) if "." in name else ("characters", "*", name)
        bounds.append(Bound(pattern, low, high))
    return tuple(bounds)


def _range(value: Any) -> tuple[float | None, float | None]:
    low, high = None, None
    if isinstance(value, list) and len(value) == 2:
        low, high = value
    elif isinstance(value, dict):
        low, high = value.get("min"), value.get("max")
    return (low if is_number(low) else None), (high if is_number(high) else None)


def compile_card(key: str, source: Any) -> Card:
    """Compile one card."""
    body = _dict(source)
    return Card(
        id=_text(body.get("id"), key),
        name=_text(body.get("name"), key),
        keys=texts(body.get("keys")),
        body=_text(body.get("body")),
        stats=_dict(body.get("stats")),
        pathway=body.get("pathway"),
        sequence_declared=body.get("sequence_declared") if is_number(body.get("sequence_declared")) else None,
        provisional=body.get("provisional") is True,
    )


def compile_input(source: Any) -> PathRef | SamePaths | None:
    """An input: a path, or ``eq(A, B)``; ``None`` when it is no text."""
    if not isinstance(source, str):
        return None
    found = _EQUAL.match(source)
    if found is not None and found[1].count(",") == 1:
        left, right = found[1].split(",")
        return SamePaths(path_ref(left.strip()), path_ref(right.strip()))
    return path_ref(source.strip())


def outcome_patch(source: Any, name: str) -> Mapping[str, Any]:
    """The authored patch of one outcome; absent means empty."""
    return _dict(_dict(_dict(source).get(name)).get("apply"))


def compile_check(key: str, source: Any) -> Check:
    """Compile one check; the first thing that makes it unusable becomes its ``fault``."""
    body = _dict(source)
    faults: list[str] = []
    condition: Predicate | None = None
    if body.get("condition") is not None:
        condition, found = compile_predicate(body["condition"])
        faults.extend(f"condition: {fault.message}" for fault in found)
    inputs: list[tuple[str, PathRef | SamePaths]] = []
    for name, text in _dict(body.get("inputs")).items():
        compiled = compile_input(text)
        if compiled is None:
            faults.append(f"input {name}: expected a path as text, found {text!r}")
        else:
            inputs.append((name, compiled))
    formula = Formula("", ())
    try:
        formula = parse_formula(_text(body.get("formula")), tuple(name for name, _ in inputs))
    except FormulaError as error:
        faults.append(f"formula, line {error.line}: {error.message}")
    success, failure = (outcome_patch(body.get("outcomes"), name) for name in ("success", "failure"))
    return Check(
        id=_text(body.get("id"), key),
        kind=_text(body.get("kind")),
        when=_text(body.get("when")),
        condition=condition,
        forced_slots=condition_slots(condition),
        inputs=tuple(inputs),
        formula=formula,
        success=success,
        failure=failure,
        slots=_all_slots(condition, inputs, (success, failure)),
        fault="; ".join(faults) or None,
    )


def _all_slots(
    condition: Predicate | None, inputs: list[tuple[str, PathRef | SamePaths]], patches: tuple[Mapping[str, Any], ...]
) -> tuple[str, ...]:
    found: dict[str, None] = dict.fromkeys((*condition_slots(condition), *path_slots(condition)))
    for _, source in inputs:
        for reference in (source.left, source.right) if isinstance(source, SamePaths) else (source,):
            found.update(dict.fromkeys(reference.slots()))
    for patch in patches:
        for key, value in patch.items():
            found.update(dict.fromkeys(slots_in(key)))
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, str):
                    found.update(dict.fromkeys(slots_in(item)))
    return tuple(found)
