"""Judging ``pack.yaml``: identity, dice, guards, bounds, claims (our own findings; notices but for a missing id)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.world.canon import texts
from runtime.world.channels import covers, guards_of
from runtime.world.dice import KINDS
from runtime.world.pack.findings import Finding, Source
from runtime.world.pointers import is_number

META_KEYS = (
    "id",
    "title",
    "locale",
    "rng",
    "entry_scene",
    "loreBudgetChars",
    "description",
    "license",
    "authors",
    "attribution",
    "stats",
    "guarded",
    "tags",
    "opening",
    "places",
    "bounds",
    "claims",
    "reveal",
)
OPENING_KEYS = ("present", "roster", "playable", "revealed", "facts")


def meta_findings(document: Mapping[str, Any], source: Source) -> Iterator[Finding]:
    """All findings about the pack file."""
    meta = document.get("meta")
    if not isinstance(meta, dict):
        return
    yield from _identity(meta, source)
    yield from _kinds(meta, source)
    yield from _unguarded(document, meta, source)
    yield from _ranges(meta, source)
    for name in ("tags", "claims"):
        value = meta.get(name)
        if value is None:
            continue
        entries = value.items() if isinstance(value, dict) else ()
        if not isinstance(value, dict):
            yield _notice("BAD_LEXICON", f"expected a map from name to words at {name}", source, name)
        for key, words in entries:
            if not isinstance(words, list) or len(texts(words)) != len(words) or not all(texts(words)):
                yield _notice("BAD_LEXICON", f"expected a list of words for {key!r}", source, name, key)


def _notice(code: str, message: str, source: Source, *path: str | int) -> Finding:
    return Finding(code, "notice", message, source.place(path))


def _identity(meta: Mapping[str, Any], source: Source) -> Iterator[Finding]:
    if not isinstance(meta.get("id"), str) or not meta["id"]:
        # Without an id there is nothing that a session could be opened from.
        message = f"expected an id as text, found {meta.get('id')!r:.60}"
        yield Finding("BAD_PACK_ID", "error", message, source.place(("id",)))
    if not isinstance(meta.get("title"), str) or not meta["title"]:
        yield _notice("BAD_META", f"expected a title as text, found {meta.get('title')!r:.60}", source, "title")
    if meta.get("rng") is not None and meta["rng"] not in KINDS:
        message = f"expected {', '.join(KINDS)}; found {meta['rng']!r}, which draws like bernoulli"
        yield _notice("UNKNOWN_RNG", message, source, "rng")
    if meta.get("reveal") is not None and meta["reveal"] not in ("full", "outcome"):
        yield _notice("BAD_META", f"expected full or outcome, found {meta['reveal']!r}", source, "reveal")
    opening = meta.get("opening")
    groups = ((meta, META_KEYS, ()), (opening if isinstance(opening, dict) else {}, OPENING_KEYS, ("opening",)))
    for body, keys, path in groups:
        for name in body:
            if name not in keys:
                near = difflib.get_close_matches(str(name), keys, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                yield _notice("UNKNOWN_KEY", f"the pack has no field {name!r}{hint}", source, *path, name)
    facts = opening.get("facts") if isinstance(opening, dict) else None
    for name in facts if isinstance(facts, dict) else ():
        if name.startswith("__"):
            message = "names with two underscores belong to the engine"
            yield _notice("ENGINE_FACT", message, source, "opening", "facts", name)


# field -> what it must be; another kind is read as if the field were not there.
_KINDS: tuple[tuple[tuple[str, ...], type, str], ...] = (
    (("locale",), str, "text"),
    (("entry_scene",), str, "the id of a scene as text"),
    (("stats",), dict, "a map from field to value"),
    (("guarded",), list, "a list of pointers"),
    (("places",), dict, "a map from scene to edges"),
    (("bounds",), dict, "a map from field to [min, max]"),
    (("opening",), dict, "a map with present, roster, playable, revealed and facts"),
    (("opening", "present"), list, "a list of character ids"),
    (("opening", "roster"), list, "a list of character ids"),
    (("opening", "playable"), list, "a list of character ids"),
    (("opening", "revealed"), list, "a list of lore keys"),
    (("opening", "facts"), dict, "a map from name to value"),
)


def _kinds(meta: Mapping[str, Any], source: Source) -> Iterator[Finding]:
    for path, kind, wanted in _KINDS:
        value: Any = meta
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None and not isinstance(value, kind):
            yield _notice("BAD_META", f"expected {wanted}, found {value!r:.60}", source, *path)
        elif isinstance(value, list) and len(texts(value)) != len(value):
            yield _notice("BAD_META", f"expected {wanted}, found something that is no text", source, *path)
    budget = meta.get("loreBudgetChars")
    if budget is not None and not is_number(budget):
        yield _notice("BAD_META", f"expected a number of characters, found {budget!r:.60}", source, "loreBudgetChars")


def _unguarded(document: Mapping[str, Any], meta: Mapping[str, Any], source: Source) -> Iterator[Finding]:
    """A numeric stat that no guard covers can be written by the model (§00.5)."""
    guards = guards_of(texts(document.get("guarded")))
    numeric = {key for key, value in _dict(meta.get("stats")).items() if is_number(value)}
    for card in _dict(document.get("characters")).values():
        numeric |= {key for key, value in _dict(_dict(card).get("stats")).items() if is_number(value)}
    for stat in sorted(numeric):
        if not any(covers(pattern, ("characters", "*", stat)) for pattern in guards.patterns):
            message = f"no guard covers the number {stat!r}; add characters.*.{stat} to guarded"
            yield _notice("UNGUARDED_STAT", message, source, "stats", stat)


def _ranges(meta: Mapping[str, Any], source: Source) -> Iterator[Finding]:
    bounds = meta.get("bounds")
    for name, value in _dict(bounds).items():
        pair = [value.get("min"), value.get("max")] if isinstance(value, dict) else value
        good = isinstance(pair, list) and len(pair) == 2 and all(item is None or is_number(item) for item in pair)
        if not good:
            yield _notice("BAD_BOUNDS", f"expected [min, max], found {value!r}", source, "bounds", name)
        elif isinstance(pair, list) and None not in pair and pair[0] > pair[1]:
            yield _notice("BAD_BOUNDS", f"expected min below max, found {pair}", source, "bounds", name)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
