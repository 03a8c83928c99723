"""A character card as data: PNG or JSON bytes in, one frozen ``Card`` out (``spec/http.md`` Cards)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.cards.errors import CardError
from runtime.cards.limits import CARD_BYTES, CARD_ENTRIES, CARD_GREETINGS
from runtime.cards.png import SIGNATURE, find_card_text
from runtime.cards.scripts import ScriptEntry, walk_scripts
from runtime.cards.strict_json import read_json

V1, V2, V3 = "chara_card_v1", "chara_card_v2", "chara_card_v3"
_V1_FIELDS = ("description", "personality", "scenario", "first_mes", "mes_example")
_INITVAR = re.compile(r"\[initvar\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WorldBookEntry:
    """One world-book entry; ``id`` is the card's own where it is usable and unique, else the place in the list."""

    id: int | str
    comment: str
    content: str
    enabled: bool
    constant: bool
    keys: tuple[str, ...]
    secondary_keys: tuple[str, ...]
    insertion_order: float
    position: str
    path: str


@dataclass(frozen=True, slots=True)
class InitvarEntry:
    """One ``[initvar]`` entry: its raw text and where it stands (``spec/mvu.md`` §9.1)."""

    comment: str
    content: str
    path: str


@dataclass(frozen=True, slots=True)
class Card:
    """A card that was read; nothing in it has been interpreted yet."""

    name: str
    spec: str
    greetings: tuple[str, ...]
    world_book: tuple[WorldBookEntry, ...]
    scripts: tuple[ScriptEntry, ...]
    data: Mapping[str, Any] = field(repr=False)

    @property
    def initvar_entries(self) -> tuple[InitvarEntry, ...]:
        """Entries whose comment holds ``[initvar]`` in any letter case, disabled ones too, in order (§9.1)."""
        return tuple(
            InitvarEntry(entry.comment, entry.content, entry.path)
            for entry in self.world_book
            if _INITVAR.search(entry.comment)
        )

    @property
    def declaration_texts(self) -> tuple[str, ...]:
        """Where a declaration may stand: enabled scripts, then book entries (switched off or not) (§9.1)."""
        scripts = [script.content for script in self.scripts if script.enabled]
        return tuple(dict.fromkeys([*scripts, *(entry.content for entry in self.world_book)]))

    @property
    def helper_texts(self) -> tuple[str, ...]:
        """The distinct texts of scripts that are switched on, candidates for a command helper (§6)."""
        return tuple(dict.fromkeys(script.content for script in self.scripts if script.enabled))

    def entry(self, entry_id: int | str) -> WorldBookEntry | None:
        """The world-book entry with this id; ``1`` and ``"1"`` name the same one."""
        return next((entry for entry in self.world_book if str(entry.id) == str(entry_id)), None)


def read_card(data: bytes) -> Card:
    """Read a card from PNG or JSON bytes; ``CARD_INVALID`` says what was looked for and what was found."""
    if len(data) > CARD_BYTES.default:
        raise CardError(f"Expected a card of at most {CARD_BYTES.default} bytes, found {len(data)}.")
    if data.startswith(SIGNATURE):
        text = find_card_text(data)
        return card_from_json(read_json(text.data, text.where))
    start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] != b"{":
        found = _kind_of(data)
        raise CardError(
            "Expected a PNG file with a text chunk 'ccv3' or 'chara', or a JSON object (card V1, V2 or V3), "
            f"found {found}.",
            {"lookedFor": ["PNG", "JSON object"], "found": found},
        )
    return card_from_json(read_json(data, "the card file"))


def card_from_json(value: Any) -> Card:
    """Read a card from its parsed JSON (V1 flat, V2 and V3 under ``data``)."""
    spec, data, base = _shape(value)
    name = data.get("name")
    if not isinstance(name, str):
        raise _field("a text", name, f"{base}name")
    extensions = data.get("extensions")
    return Card(
        name=name,
        spec=spec,
        greetings=_greetings(data, base),
        world_book=_world_book(data, base),
        scripts=walk_scripts(extensions if isinstance(extensions, Mapping) else {}),
        data=data,
    )


def _shape(value: Any) -> tuple[str, Mapping[str, Any], str]:
    if not isinstance(value, Mapping):
        raise CardError(f"Expected a card object, found {_json_kind(value)}.", {"found": _json_kind(value)})
    spec, data = value.get("spec"), value.get("data")
    if spec is not None and spec not in (V1, V2, V3):
        raise CardError(
            f"Expected spec 'chara_card_v2' or 'chara_card_v3', found {str(spec)[:80]!r}, at spec.",
            {"path": "spec", "found": str(spec)[:80]},
        )
    if isinstance(data, Mapping):
        return spec or V2, data, "data."
    if spec in (V2, V3):
        raise _field("an object", data, "data")
    if isinstance(value.get("name"), str) and any(isinstance(value.get(key), str) for key in _V1_FIELDS):
        return V1, value, ""
    keys = [str(key)[:40] for key in list(value)[:12]]
    raise CardError(
        "Expected a character card: 'spec' and 'data' (V2, V3), or 'name' with "
        f"{', '.join(repr(key) for key in _V1_FIELDS)} (V1), found an object with keys: {', '.join(keys) or 'none'}.",
        {"lookedFor": ["spec", "data", "name", *_V1_FIELDS], "found": keys},
    )


def _greetings(data: Mapping[str, Any], base: str) -> tuple[str, ...]:
    first = data.get("first_mes", "")
    if not isinstance(first, str | None):
        raise _field("a text", first, f"{base}first_mes")
    others = data.get("alternate_greetings")
    if others is None:
        others = []
    if not isinstance(others, list):
        raise _field("a list of texts", others, f"{base}alternate_greetings")
    if len(others) >= CARD_GREETINGS.default:
        raise CardError(f"Expected at most {CARD_GREETINGS.default} greetings, found {len(others) + 1}.")
    for index, text in enumerate(others):
        if not isinstance(text, str):
            raise _field("a text", text, f"{base}alternate_greetings[{index}]")
    return (first or "", *others)


def _world_book(data: Mapping[str, Any], base: str) -> tuple[WorldBookEntry, ...]:
    book = data.get("character_book")
    if book is None:
        return ()
    path = f"{base}character_book"
    if not isinstance(book, Mapping):
        raise _field("an object", book, path)
    entries = book.get("entries")
    if entries is None:
        return ()
    # The chat application's own world-book files keep the entries in an object; both forms are met in cards.
    items = list(entries.values()) if isinstance(entries, Mapping) else entries
    if not isinstance(items, list):
        raise _field("a list of entries", entries, f"{path}.entries")
    if len(items) > CARD_ENTRIES.default:
        raise CardError(f"Expected at most {CARD_ENTRIES.default} world-book entries, found {len(items)}.")
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise _field("an object", item, f"{path}.entries[{index}]")
    ids = _entry_ids(items)
    return tuple(_entry(item, ids[index], f"{path}.entries[{index}]") for index, item in enumerate(items))


def _entry_ids(items: list[Mapping[str, Any]]) -> list[int | str]:
    """Own ids where they are usable and unique, else the index, else the next free number."""
    own: dict[str, int] = {}
    for index, item in enumerate(items):
        candidate = item.get("id", item.get("uid"))
        if (isinstance(candidate, int) and not isinstance(candidate, bool)) or (
            isinstance(candidate, str) and candidate
        ):
            own.setdefault(str(candidate), index)
    by_index = {index: items[index].get("id", items[index].get("uid")) for index in own.values()}
    taken = set(own)
    ids: list[int | str] = []
    spare = len(items)
    for index in range(len(items)):
        if index in by_index:
            ids.append(by_index[index])
            continue
        number = index
        while str(number) in taken:
            number = spare
            spare += 1
        taken.add(str(number))
        ids.append(number)
    return ids


def _entry(item: Mapping[str, Any], entry_id: int | str, path: str) -> WorldBookEntry:
    content = item.get("content", "")
    if not isinstance(content, str):
        raise _field("a text", content, f"{path}.content")
    comment = item.get("comment")
    if not isinstance(comment, str) or not comment:
        name = item.get("name")
        comment = name if isinstance(name, str) else ""
    order = item.get("insertion_order", item.get("order", 0))
    position = item.get("position", "")
    return WorldBookEntry(
        id=entry_id,
        comment=comment,
        content=content,
        enabled=item.get("enabled") is not False and item.get("disable") is not True,
        constant=item.get("constant") is True,
        keys=_texts(item.get("keys", item.get("key"))),
        secondary_keys=_texts(item.get("secondary_keys", item.get("keysecondary"))),
        insertion_order=order if isinstance(order, int | float) and not isinstance(order, bool) else 0,
        position=position if isinstance(position, str) else str(position),
        path=path,
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _field(expected: str, found: Any, path: str) -> CardError:
    return CardError(
        f"Expected {expected}, found {_json_kind(found)}, at {path}.", {"path": path, "found": _json_kind(found)}
    )


def _json_kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"


_MAGIC = (
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"RIFF", "a WebP or RIFF file"),
    (b"GIF8", "a GIF picture"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"<", "an HTML or XML text"),
    (b"[", "a JSON list"),
)


def _kind_of(data: bytes) -> str:
    if not data:
        return "an empty file"
    for magic, name in _MAGIC:
        if data.startswith(magic):
            return name
    return f"{len(data)} bytes that begin with {data[:12]!r}"
