"""Translation: which texts have languages, and how one is chosen (``spec/dimensions.md`` §3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from babel.core import get_global

from runtime.dimensions import limits
from runtime.dimensions.values import Json

_TAG: Final = re.compile(r"[A-Za-z0-9]{1,8}(?:-[A-Za-z0-9]{1,8})*\Z")
_LANGUAGE: Final = re.compile(r"(?:[a-z]{2,3}|[a-z]{5,8})\Z")
_EXTLANG: Final = re.compile(r"[a-z]{3}\Z")
_SCRIPT: Final = re.compile(r"[a-z]{4}\Z")
_REGION: Final = re.compile(r"(?:[a-z]{2}|[0-9]{3})\Z")
_VARIANT: Final = re.compile(r"(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3})\Z")
_ALIASES: Final = {"zh": "zh-cn", "zh-hans": "zh-cn", "ru": "ru-ru", "en": "en-us"}
_ENGLISH: Final = "en-us"


class Tag:
    """A usable locale tag: normal form, language and likely script."""

    __slots__ = ("language", "normal", "script")

    def __init__(self, normal: str, language: str, script: str | None) -> None:
        self.normal = normal
        self.language = language
        self.script = script


@lru_cache(maxsize=4096)
def read_tag(text: str) -> Tag | None:
    """Read a locale tag; ``None`` when it is not usable (§3.3)."""
    normal = text.strip().replace("_", "-").lower()
    if len(normal) > limits.LOCALE_TAG.default or not _TAG.match(normal):
        return None
    language, script, region, valid = _subtags(normal.split("-"))
    return Tag(normal, language, script or _likely_script(language, region)) if valid else None


def _subtags(parts: list[str]) -> tuple[str, str | None, str | None, bool]:
    """Language, script, region of a BCP 47 tag, and whether it is well formed."""
    if parts[0] == "x":
        return parts[0], None, None, len(parts) > 1
    language, rest = parts[0], parts[1:]
    if not _LANGUAGE.match(language):
        return language, None, None, False
    while rest and _EXTLANG.match(rest[0]):
        rest = rest[1:]
    script = rest.pop(0) if rest and _SCRIPT.match(rest[0]) else None
    region = rest.pop(0) if rest and _REGION.match(rest[0]) else None
    variants: set[str] = set()
    while rest and _VARIANT.match(rest[0]):
        if rest[0] in variants:
            return language, script, region, False
        variants.add(rest.pop(0))
    return language, script, region, _extensions_valid(rest)


def _extensions_valid(parts: list[str]) -> bool:
    """Extensions: a singleton, each once, followed by at least one longer part; ``x`` takes everything."""
    singletons: set[str] = set()
    while parts:
        singleton = parts[0]
        if singleton == "x":
            return len(parts) > 1
        if len(singleton) != 1 or singleton in singletons:
            return False
        singletons.add(singleton)
        count = 1
        while count < len(parts) and len(parts[count]) > 1:
            count += 1
        if count == 1:
            return False
        parts = parts[count:]
    return True


def _likely_script(language: str, region: str | None) -> str | None:
    """The CLDR likely-subtags script, lower case."""
    table: Mapping[str, str] = get_global("likely_subtags")
    keys = [f"{language}_{region.upper()}", language] if region else [language]
    for key in keys:
        full = table.get(key)
        if full is not None:
            scripts = [part for part in full.split("_")[1:] if len(part) == 4]
            return scripts[0].lower() if scripts else None
    return None


def _fallbacks(normal: str) -> tuple[str, ...]:
    return () if _ALIASES.get(normal, normal) == _ENGLISH else (_ENGLISH,)


def _chosen(text: dict[str, str], wanted: Tag) -> str | None:
    """Steps 2 to 4 of §3.3 for one locale."""
    keys = [(key, read_tag(key)) for key in text]
    for key, tag in keys:
        if tag is not None and tag.normal == wanted.normal:
            return text[key]
    for bare in (True, False):
        for key, tag in keys:
            if tag is None or tag.language != wanted.language or tag.script != wanted.script:
                continue
            if not bare or tag.normal == tag.language:
                return text[key]
    return None


def localise(text: Json, locale: str | None) -> str | None:
    """The one text for ``locale``; ``None`` when the map gives nothing (§3.3)."""
    if isinstance(text, str):
        return text
    first = next((part for part in text.values() if isinstance(part, str)), None)
    if not locale or not locale.strip():
        return first
    texts = {key: part for key, part in text.items() if isinstance(part, str)}
    wanted = read_tag(locale)
    candidates = [wanted, *map(read_tag, _fallbacks(wanted.normal))] if wanted else [read_tag(_ENGLISH)]
    for tag in candidates:
        found = _chosen(texts, tag) if tag is not None else None
        if found is not None:
            return found
    return first


def simplified_chinese(locale: str | None) -> bool:
    """Whether prompt sentences are written in Chinese: simplified Chinese sessions only (§3.3)."""
    tag = read_tag(locale) if locale else None
    return tag is not None and tag.language == "zh" and tag.script == "hans"


def resolve_value(schema: dict[str, Json], value: Json, locale: str | None) -> Json:
    """A copy in which every ``x-i18n`` text is one plain text (§3.1)."""
    if schema.get("x-i18n") is True:
        if isinstance(value, dict):
            text = localise(value, locale)
            return "" if text is None else text
        return value
    if isinstance(value, list):
        items = schema.get("items")
        return value if items is None else [resolve_value(items, part, locale) for part in value]
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        children = {key: properties.get(key, others) for key in value}
        return {
            key: resolve_value(children[key], part, locale) if isinstance(children[key], dict) else part
            for key, part in value.items()
        }
    return value


def resolve_definition(definition: dict[str, Json], locale: str | None) -> dict[str, Json]:
    """The declaration as a session stores it: initial value and rule in one language (§3.1)."""
    result = dict(definition)
    result["initialValue"] = resolve_value(definition["schema"], definition["initialValue"], locale)
    if "updateRule" in definition:
        result["updateRule"] = localise(definition["updateRule"], locale) or ""
    return result


def resolve_labels(schema: dict[str, Json], locale: str | None) -> dict[str, Json]:
    """The schema with titles and enum labels in one language, for readers of that language."""
    return map_nodes(schema, lambda node: _node_labels(node, locale))


def _node_labels(node: dict[str, Json], locale: str | None) -> dict[str, Json]:
    shown = dict(node)
    if isinstance(node.get("title"), dict):
        shown["title"] = localise(node["title"], locale) or ""
    if "x-enumLabels" in node:
        shown["x-enumLabels"] = {key: localise(text, locale) or "" for key, text in node["x-enumLabels"].items()}
    return shown


def map_nodes(schema: dict[str, Json], change: Callable[[dict[str, Json]], dict[str, Json]]) -> dict[str, Json]:
    """A copy of a schema with ``change`` done at every node; values inside ``enum`` and ``const`` are no nodes."""
    node = change(schema)
    if "properties" in node:
        node = {**node, "properties": {name: map_nodes(child, change) for name, child in node["properties"].items()}}
    for keyword in ("items", "additionalProperties"):
        if isinstance(node.get(keyword), dict):
            node = {**node, keyword: map_nodes(node[keyword], change)}
    return node


def inline_maps(
    schema: dict[str, Json], value: Json, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[str | int, ...]]:
    """Paths of ``x-i18n`` texts that are written as locale maps."""
    if schema.get("x-i18n") is True:
        if isinstance(value, dict):
            yield path
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, part in enumerate(value):
            yield from inline_maps(schema["items"], part, (*path, index))
    elif isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, part in value.items():
            child = properties.get(key, others)
            if isinstance(child, dict):
                yield from inline_maps(child, part, (*path, key))
