"""Judging a pack (§6.3): the codes of the specification in their order, and findings of our own beside them.

Our own: ``BAD_CHECK``, ``BAD_ARGUMENT``, ``BAD_INPUT``, ``BAD_FORMULA``, ``BAD_VALUE`` are errors, because such a
check cannot run; ``IF_NAME`` is a warning; everything else is a notice and never changes ``ok`` (§00.6).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.world.canon import texts
from runtime.world.limits import LORE_CHARS
from runtime.world.opening import scene_lore_candidates
from runtime.world.pack.check_rules import check_findings
from runtime.world.pack.findings import Finding, Place, Severity, Source
from runtime.world.pack.meta_rules import meta_findings
from runtime.world.pointers import is_number, utf16_length
from runtime.world.travel import parse_need

Document = Mapping[str, Any]
Sources = Mapping[str, Source]

MOST_HEADINGS = 2
MOST_REVEALED = 6

_HEADING = re.compile(r"#{1,3}(?:\s|\Z)")
_PROGRESS = re.compile(
    r"""(?:sequence|digest|lose_control)["']?\s*[:=]\s*[0-9]"""
    r"""|(?:消化|失控|进度)\s*[0-9.]|当前序列|当前品级"""
)
_MACRO = re.compile(r"\{\{[A-Za-z_]|setvar|keysecondary|scanDepth|matchWholeWords")


def validate(document: Document, sources: Sources | None = None) -> list[Finding]:
    """All findings about a document, in the order of §6.3; ``sources`` tells the lines when the files are known."""
    return list(_Validator(document, sources or {}).findings())


class _Validator:
    def __init__(self, document: Document, sources: Sources) -> None:
        self._meta = _dict(document.get("meta"))
        self._index = _dict(document.get("index"))
        self._checks = _dict(document.get("checks"))
        self._cards = _dict(document.get("characters"))
        self._lore = {key: _body(value) for key, value in _dict(document.get("lore")).items()}
        self._sources = sources
        self._document = document

    def findings(self) -> Iterator[Finding]:
        yield from self._files()
        for key, body in self._checks.items():
            yield from check_findings(
                self._document, key, _dict(body), self._source(f"checks/{key}", f"checks/{key}.yaml")
            )
        yield from self._lore_sizes()
        yield from self._card_progress()
        yield from self._macros()
        yield from self._opening_and_scenes()
        yield from self._places()
        yield from meta_findings(self._document, self._source("pack.yaml", "pack.yaml"))

    def _source(self, key: str, file: str) -> Source:
        return self._sources.get(key) or Source(file)

    def _finding(self, code: str, severity: Severity, message: str, place: Place) -> Finding:
        return Finding(code, severity, message, place)

    def _files(self) -> Iterator[Finding]:
        index, meta = self._source("index.yaml", "index.yaml"), self._source("pack.yaml", "pack.yaml")
        groups: tuple[tuple[str, str, Mapping[str, Any], str], ...] = (
            ("characters", "MISSING_CARD", self._cards, "characters/{}.md"),
            ("checks", "MISSING_FILE", self._checks, "checks/{}.yaml"),
            ("lore", "MISSING_FILE", self._lore, "lore/{}.md"),
        )
        for group, code, have, file in groups:
            for position, key in enumerate(_list(self._index.get(group))):
                if key not in have:
                    message = f"expected a file such as {file.format(key)}, found none"
                    yield self._finding(code, "error", message, index.place((group, position)))
        opening = _dict(self._meta.get("opening"))
        for group in ("present", "roster"):
            for position, key in enumerate(_list(opening.get(group))):
                if key not in self._cards:
                    message = f"expected a character with a card, found {key!r}"
                    yield self._finding("OPENING_ABSENT", "error", message, meta.place(("opening", group, position)))

    def _lore_sizes(self) -> Iterator[Finding]:
        declared = self._meta.get("loreBudgetChars")
        budget = declared if is_number(declared) else LORE_CHARS.default
        for key, body in self._lore.items():
            source = self._source(f"lore/{key}", f"lore/{key}.md")
            length = utf16_length(body)
            if length > budget:
                message = f"expected at most {budget} characters, found {length}"
                yield self._finding("LORE_BUDGET", "error", message, source.place())
            headings = [number for number, line in enumerate(body.split("\n")) if _HEADING.match(line)]
            if len(headings) > MOST_HEADINGS:
                message = f"expected one matter per file, found {len(headings)} headings; split the file"
                yield self._finding("MULTI_CONCEPT", "warning", message, source.body_place(headings[MOST_HEADINGS]))

    def _card_progress(self) -> Iterator[Finding]:
        for key, card in self._cards.items():
            body = _body(card)
            stats = json.dumps(_dict(card).get("stats"), ensure_ascii=False) if _dict(card).get("stats") else ""
            source = self._source(f"characters/{key}", f"characters/{key}.md")
            message = "expected who somebody is, found progress; progress lives in the State (opening, stats)"
            if found := _PROGRESS.search(body):
                place = source.body_place(body.count("\n", 0, found.start()))
                yield self._finding("PROGRESS_IN_CARD", "warning", f"{message}: {found[0]!r}", place)
            elif _PROGRESS.search(stats):
                yield self._finding("PROGRESS_IN_CARD", "warning", message, source.place(("stats",)))

    def _macros(self) -> Iterator[Finding]:
        for key, body in self._lore.items():
            if found := _MACRO.search(body):
                place = self._source(f"lore/{key}", f"lore/{key}.md").body_place(body.count("\n", 0, found.start()))
                message = f"expected plain prose, found a macro of another host: {found[0]!r}"
                yield self._finding("MACRO_SPEAK", "warning", message, place)

    def _opening_and_scenes(self) -> Iterator[Finding]:
        meta, index = self._source("pack.yaml", "pack.yaml"), self._source("index.yaml", "index.yaml")
        revealed = _list(_dict(self._meta.get("opening")).get("revealed"))
        if len(revealed) > MOST_REVEALED:
            message = f"expected at most {MOST_REVEALED} keys at the start, found {len(revealed)}"
            yield self._finding("REVEALED_OVERFLOW", "warning", message, meta.place(("opening", "revealed")))
        if not any("commission" in key for key in self._lore):
            message = "expected a lore document whose name contains 'commission': what is to be done tonight"
            yield self._finding("MISSING_COMMISSION", "warning", message, Place("lore"))
        for position, scene in enumerate(_list(self._index.get("scenes"))):
            if not any(key in self._lore for key in scene_lore_candidates(str(scene))):
                message = f"expected lore for the scene {scene!r}, such as lore/{str(scene).replace('.', '-')}.md"
                yield self._finding("MISSING_SCENE", "warning", message, index.place(("scenes", position)))

    def _places(self) -> Iterator[Finding]:
        source = self._source("pack.yaml", "pack.yaml")
        scenes = {*texts(self._index.get("scenes")), *texts([self._meta.get("entry_scene")])}
        for scene, place in _dict(self._meta.get("places")).items():
            path: tuple[str | int, ...] = ("places", scene)
            if scene not in scenes:
                yield self._unknown_scene(scene, source.place(path))
            for target, edge in _dict(_dict(place).get("edges")).items():
                here = (*path, "edges", target)
                if target not in scenes:
                    yield self._unknown_scene(target, source.place(here))
                yield from self._edge(_dict(edge), source.place((*here, "need")), source.place((*here, "beats")))

    def _edge(self, edge: Mapping[str, Any], need_place: Place, beats_place: Place) -> Iterator[Finding]:
        need, beats = edge.get("need"), edge.get("beats")
        if need not in (None, "") and (not isinstance(need, str) or (need.strip() and parse_need(need) is None)):
            message = f"expected 'mobility>=N' or 'fact=text', found {need!r}; the way stays closed"
            yield self._finding("BAD_PLACE", "error", message, need_place)
        if beats is not None and not is_number(beats):
            yield self._finding("BAD_BEATS", "notice", f"expected a number of beats, found {beats!r}", beats_place)

    def _unknown_scene(self, scene: str, place: Place) -> Finding:
        return self._finding("BAD_PLACE", "warning", f"expected a scene of index.yaml, found {scene!r}", place)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return [item for item in value if isinstance(item, (str, int))] if isinstance(value, list) else []


def _body(value: Any) -> str:
    body = _dict(value).get("body")
    return body if isinstance(body, str) else ""
