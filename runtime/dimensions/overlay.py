"""Language files beside a main file: translated texts at the same paths (``spec/dimensions.md`` §7.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from runtime.dimensions.issues import Issue, Path
from runtime.dimensions.values import Json, quoted, same

Kind = Callable[[str | int], "Kind | None"]
_TEXTS: Final = ("name", "description", "updateRule")


def text_kind(_key: str | int) -> None:
    """The kind of a translatable text; it has no children."""


def _plain(_key: str | int) -> Kind:
    """The kind of what is never translated."""
    return _plain


def declaration_kind(definition: Json) -> Kind:
    """The kind of a declaration: which of its parts are texts (§3.1)."""
    schema = definition.get("schema") if isinstance(definition, dict) else None

    def child(key: str | int) -> Kind | None:
        if key in _TEXTS:
            return text_kind
        if key == "schema":
            return _schema_kind
        if key == "initialValue" and isinstance(schema, dict):
            return _value_kind(schema)
        return _plain

    return child


def _schema_kind(key: str | int) -> Kind:
    if key == "title":
        return text_kind
    if key == "x-enumLabels":
        return lambda _label: text_kind
    if key == "properties":
        return lambda _name: _schema_kind
    return _schema_kind if key in ("items", "additionalProperties") else _plain


def _value_kind(schema: dict[str, Json]) -> Kind:
    if schema.get("x-i18n") is True:
        return text_kind

    def child(key: str | int) -> Kind:
        if isinstance(key, int):
            part = schema.get("items")
        else:
            properties = schema.get("properties")
            declared = properties.get(key) if isinstance(properties, dict) else None
            part = declared if declared is not None else schema.get("additionalProperties")
        return _value_kind(part) if isinstance(part, dict) else _plain

    return child


@dataclass(slots=True)
class Overlay:
    """One language file being laid over a main file; what does not fit is a warning and is ignored."""

    main_locale: str
    locale: str
    warnings: list[Issue] = field(default_factory=list)

    def warn(self, path: Path, message: str) -> None:
        """Note something that does not fit."""
        self.warnings.append(Issue(path, "overlay", message))

    def table(self, main: dict[str, Json], over: Json) -> dict[str, Json]:
        """A table of declarations with the language joined."""
        if not isinstance(over, dict):
            self.warn((), f"expected an object like the main file's, found {quoted(over)}")
            return main
        result = dict(main)
        for key, part in over.items():
            if key not in main:
                self.warn((key,), "the main file has no such dimension")
            else:
                result[key] = self.merge(main[key], part, declaration_kind(main[key]), (key,))
        return result

    def merge(self, main: Json, over: Json, kind: Kind, path: Path) -> Json:
        """One part with the language joined."""
        if kind is text_kind:
            return self.text(main, over, path)
        if isinstance(main, dict) and isinstance(over, dict):
            result = dict(main)
            for key, part in over.items():
                if key in main:
                    result[key] = self.merge(main[key], part, kind(key) or _plain, (*path, key))
                else:
                    self.warn((*path, key), "the main file has no such key")
            return result
        if isinstance(main, list) and isinstance(over, list):
            return self.rows(main, over, kind, path)
        if not same(main, over):
            self.warn(
                path, f"a language file holds translated texts only: {quoted(main)} stays, {quoted(over)} is ignored"
            )
        return main

    def text(self, main: Json, over: Json, path: Path) -> Json:
        """A translatable text: the main language first, further ones join."""
        known = {self.main_locale: main} if isinstance(main, str) else main
        if not isinstance(over, str) or not isinstance(known, dict):
            self.warn(path, f"expected a text as in the main file, found {quoted(over)}")
            return main
        return {**known, self.locale: over}

    def rows(self, main: list[Json], over: list[Json], kind: Kind, path: Path) -> list[Json]:
        """List entries match by ``id``; plain texts by position, where null keeps an entry."""
        result = list(main)
        ids = {entry.get("id"): place for place, entry in enumerate(main) if isinstance(entry, dict) and "id" in entry}
        for index, part in enumerate(over):
            where = (*path, index)
            if part is None:
                continue
            if isinstance(part, dict) and "id" in part:
                key = part["id"] if isinstance(part["id"], str | int) else None
                place = ids.get(key)
                if place is None:
                    self.warn(where, f"the main file has no entry with id {quoted(part['id'])}")
                    continue
            elif index < len(main):
                place = index
            else:
                self.warn(where, f"the main file has only {len(main)} entries here")
                continue
            result[place] = self.merge(main[place], part, kind(place) or _plain, where)
        return result


def inline_text_maps(definition: Json) -> list[Path]:
    """Paths of texts that a declaration writes as locale maps; a main file holds one language (§7.1)."""
    found: list[Path] = []
    _find_maps(definition, declaration_kind(definition), (), found)
    return found


def _find_maps(value: Json, kind: Kind, path: Path, found: list[Path]) -> None:
    if kind is text_kind:
        if isinstance(value, dict):
            found.append(path)
    elif isinstance(value, dict):
        for key, part in value.items():
            _find_maps(part, kind(key) or _plain, (*path, key), found)
    elif isinstance(value, list) and kind is not _plain:
        for index, part in enumerate(value):
            _find_maps(part, kind(index) or _plain, (*path, index), found)
