"""Reading cards: the three JSON forms, the three text chunks, and everything that is no card."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.cards import Card, read_card
from runtime.cards.errors import CardError
from runtime.cards.limits import CARD_DEPTH
from tests.cards.pngs import END, HEADER, SIGNATURE, chunk, encoded, png, text_chunk

V1 = {"name": "Wren", "description": "", "personality": "", "scenario": "", "first_mes": "Hello", "mes_example": ""}
V2 = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {**V1, "alternate_greetings": ["Hi"], "extensions": {}}}
V3 = {"spec": "chara_card_v3", "spec_version": "3.0", "data": {**V1, "alternate_greetings": ["Hi", "Hey"]}}


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("source", "spec", "greetings"),
    [
        (as_json(V1), "chara_card_v1", ("Hello",)),
        (as_json(V2), "chara_card_v2", ("Hello", "Hi")),
        (as_json(V3), "chara_card_v3", ("Hello", "Hi", "Hey")),
        (b"\xef\xbb\xbf \n" + as_json(V2), "chara_card_v2", ("Hello", "Hi")),
        (as_json({"data": V2["data"]}), "chara_card_v2", ("Hello", "Hi")),
        (png(text_chunk("chara", encoded(V2))), "chara_card_v2", ("Hello", "Hi")),
        (png(text_chunk("Chara", encoded(V2))), "chara_card_v2", ("Hello", "Hi")),
        (png(text_chunk("chara", encoded(V2), b"zTXt")), "chara_card_v2", ("Hello", "Hi")),
        (png(text_chunk("chara", encoded(V2), b"iTXt")), "chara_card_v2", ("Hello", "Hi")),
        (png(text_chunk("chara", encoded(V2), b"iTXt", compressed=True)), "chara_card_v2", ("Hello", "Hi")),
        (png(text_chunk("chara", as_json(V2), b"iTXt")), "chara_card_v2", ("Hello", "Hi")),
        (
            png(text_chunk("chara", encoded(V2)), text_chunk("ccv3", encoded(V3))),
            "chara_card_v3",
            ("Hello", "Hi", "Hey"),
        ),
        (png(text_chunk("ccv3", encoded(V3))) + b"bytes after the end", "chara_card_v3", ("Hello", "Hi", "Hey")),
    ],
)
def test_every_form_is_read(source: bytes, spec: str, greetings: tuple[str, ...]) -> None:
    card = read_card(source)
    assert (card.name, card.spec, card.greetings) == ("Wren", spec, greetings)


TRUNCATED = png(text_chunk("chara", encoded(V2)))[:-20]
BROKEN: list[tuple[str, bytes, str]] = [
    ("empty", b"", "found an empty file"),
    ("jpeg", b"\xff\xd8\xff\xe0 more", "found a JPEG picture"),
    ("list", b"[]", "found a JSON list"),
    ("words", b"hello there", "begin with b'hello there'"),
    ("cut json", b'{"name": "Wren", ', "at line 1, column"),
    ("nan", b'{"name": "Wren", "first_mes": NaN}', "the number NaN"),
    ("overflow", b'{"name": "Wren", "x": 1e999}', "too large"),
    ("long number", b'{"name": "Wren", "x": ' + b"9" * 6000 + b"}", "6000 digits"),
    ("twice", b'{"name": "Wren", "name": "Rook"}', "'name' twice"),
    ("surrogate", b'{"name": "\\ud800", "first_mes": ""}', "surrogate"),
    ("surrogate in list", b'{"name": "x", "first_mes": "", "a": [["\\udc00"]]}', "surrogate"),
    ("not utf-8", b'{"name": "\xff"}', "0xff at 10"),
    ("deep", b'{"a":' * 100_000, "levels of nesting"),
    ("deep lists", b'{"a":' + b"[" * 100_000, "levels of nesting"),
    ("no card", as_json({"hp": 1, "mp": 2}), "keys: hp, mp"),
    ("no keys", b"{}", "keys: none"),
    ("spec", as_json({"spec": "lorebook_v3", "data": {}}), "'lorebook_v3', at spec"),
    ("no data", as_json({"spec": "chara_card_v2", "name": "Wren"}), "found nothing, at data"),
    ("name", as_json({**V2, "data": {**V1, "name": 7}}), "found a number, at data.name"),
    ("first_mes", as_json({**V2, "data": {**V1, "first_mes": []}}), "found a list, at data.first_mes"),
    ("greeting", as_json({**V2, "data": {**V1, "alternate_greetings": ["a", 1]}}), "at data.alternate_greetings[1]"),
    ("greetings", as_json({**V2, "data": {**V1, "alternate_greetings": "a"}}), "found a text, at data.alternate_gree"),
    ("book", as_json({**V2, "data": {**V1, "character_book": [1]}}), "found a list, at data.character_book"),
    ("entries", as_json({**V2, "data": {**V1, "character_book": {"entries": 3}}}), "at data.character_book.entries"),
    ("entry", as_json({**V2, "data": {**V1, "character_book": {"entries": [3]}}}), "character_book.entries[0]"),
    ("content", as_json({**V2, "data": {**V1, "character_book": {"entries": [{"content": {}}]}}}), "[0].content"),
    ("no chunk", png(text_chunk("Comment", b"x")), "text chunks: 'Comment'"),
    ("no text", png(), "text chunks: none"),
    ("signature only", SIGNATURE, "found 0 bytes (at byte 8)"),
    ("truncated", TRUNCATED, "damaged"),
    ("no end", SIGNATURE + HEADER, "end chunk IEND, found 0 bytes"),
    ("huge length", SIGNATURE + chunk(b"tEXt", b"chara\0x", length=2**32 - 1) + END, "announces 4294967295 bytes"),
    ("checksum", SIGNATURE + HEADER + chunk(b"tEXt", b"chara\0x", crc=1) + END, "checksum 00000001"),
    ("chunk name", SIGNATURE + chunk(b"tE\0t", b"chara\0x") + END, "four letters"),
    ("separator", png(chunk(b"tEXt", b"chara")), "without the separator"),
    ("base64", png(text_chunk("chara", b"!!!!")), "Expected base64 text in the 'chara' chunk"),
    ("not json", png(text_chunk("chara", b"aGVsbG8=")), "tEXt chunk at byte 33 ('chara')"),
    ("zlib", png(chunk(b"zTXt", b"chara\0\0nonsense")), "cannot be inflated"),
    ("cut zlib", png(chunk(b"zTXt", b"chara\0\0" + zlib.compress(encoded(V2))[:-9])), "ends too early"),
    ("method", png(chunk(b"zTXt", b"chara\0\1x")), "compression method 0"),
    ("itxt", png(chunk(b"iTXt", b"chara\0\0\0en\0")), "without its flags"),
    ("broken ccv3", png(text_chunk("chara", encoded(V2)), text_chunk("ccv3", b"!")), "'ccv3' chunk"),
]


@pytest.mark.parametrize(("source", "words"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_no_card_is_refused_with_its_place(source: bytes, words: str) -> None:
    with pytest.raises(CardError) as refusal:
        read_card(source)
    assert refusal.value.code == "CARD_INVALID"
    assert words in refusal.value.message
    assert len(refusal.value.message) < 700


def test_a_bomb_is_not_inflated() -> None:
    bomb = zlib.compress(b"A" * (70 * 1024 * 1024), 9)
    with pytest.raises(CardError, match="inflated"):
        read_card(png(chunk(b"zTXt", b"chara\0\0" + bomb)))


@pytest.mark.parametrize("extra", [0, 1])
def test_depth_bound_is_exact(extra: int) -> None:
    depth = CARD_DEPTH.default - 1 + extra
    source = b'{"name":"[[[\\"{{{","first_mes":"","x":' + b"[" * depth + b"]" * depth + b"}"
    if extra:
        with pytest.raises(CardError, match="levels"):
            read_card(source)
    else:
        assert read_card(source).name == '[[["{{{'


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_never_crashes(data: st.DataObject) -> None:
    """Any cut, flip or insertion gives a card or ``CARD_INVALID``, nothing else."""
    whole = data.draw(st.sampled_from([png(text_chunk("chara", encoded(V2))), as_json(V3)]))
    place = data.draw(st.integers(0, len(whole)))
    width = data.draw(st.integers(0, 9))
    damaged = whole[:place] + data.draw(st.binary(max_size=9)) + whole[place + width :]
    try:
        assert isinstance(read_card(damaged), Card)
    except CardError as error:
        assert error.message


BOOK = {
    "entries": [
        {"id": 7, "keys": ["inn", 3], "comment": "[InitVar] a", "content": "hp: 1", "enabled": False},
        {"id": 7, "name": "[initvar] named", "content": "mp: 2", "insertion_order": 5},
        {"keys": [], "comment": "plain", "content": "text", "constant": True, "position": "before_char"},
        {"uid": "x", "key": ["a"], "keysecondary": ["b"], "disable": True, "comment": "native"},
    ]
}


def test_world_book_entries() -> None:
    card = read_card(as_json({**V2, "data": {**V1, "character_book": BOOK}}))
    assert [entry.id for entry in card.world_book] == [7, 1, 2, "x"]
    assert [entry.enabled for entry in card.world_book] == [False, True, True, False]
    assert [(entry.comment, entry.content) for entry in card.initvar_entries] == [
        ("[InitVar] a", "hp: 1"),
        ("[initvar] named", "mp: 2"),
    ]
    assert card.world_book[0].keys == ("inn",)
    assert card.world_book[3].secondary_keys == ("b",)
    found = card.entry("7")
    assert found is card.world_book[0] and card.entry(7) is found and card.entry("none") is None


def test_book_entries_kept_in_an_object() -> None:
    book = {"entries": {"0": {"uid": 0, "content": "a"}, "5": {"uid": 5, "content": "b"}}}
    card = read_card(as_json({**V2, "data": {**V1, "character_book": book}}))
    assert [(entry.id, entry.content) for entry in card.world_book] == [(0, "a"), (5, "b")]


def with_scripts(extensions: dict[str, Any]) -> Card:
    return read_card(as_json({**V2, "data": {**V1, "extensions": extensions}}))


def script(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "script", "name": name, "content": f"text of {name}", **more}


@pytest.mark.parametrize(
    ("extensions", "expected"),
    [
        ({}, []),
        ({"tavern_helper": {"scripts": [script("a"), script("b", enabled=False)]}}, [("a", True), ("b", False)]),
        ({"tavern_helper": [["variables", {}], ["scripts", [script("a")]]]}, [("a", True)]),
        ({"tavern_helper": {"scripts": [script("a", disabled=True)]}}, [("a", False)]),
        ({"tavern_helper": {"scripts": [{"type": "script", "value": script("a")}]}}, [("a", True)]),
        ({"tavern_helper": {"scripts": [{"enabled": False, "value": script("a", enabled=True)}]}}, [("a", False)]),
        (
            {
                "tavern_helper": {
                    "scripts": [{"type": "folder", "enabled": False, "scripts": [script("a")]}, script("b")]
                }
            },
            [("a", False), ("b", True)],
        ),
        ({"tavern_helper": {"scripts": [{"children": [{"scripts": [script("a")]}]}]}}, [("a", True)]),
        ({"tavern_helper": {"scripts": [{"type": "folder", "value": [script("a")]}]}}, [("a", True)]),
        ({"TavernHelper_scripts": [{"type": "script", "value": script("a")}]}, [("a", True)]),
        ({"tavern_helper": "nonsense"}, []),
        ({"tavern_helper": {"scripts": [1, None, {"content": 3}]}}, []),
        ({"tavern_helper": {"scripts": [script(str(n)) for n in range(200)]}}, [(str(n), True) for n in range(128)]),
    ],
)
def test_scripts_and_their_switches(extensions: dict[str, Any], expected: list[tuple[str, bool]]) -> None:
    card = with_scripts(extensions)
    assert [(entry.name, entry.enabled) for entry in card.scripts] == expected
    assert card.helper_texts == tuple(dict.fromkeys(f"text of {name}" for name, enabled in expected if enabled))


def test_folders_beyond_the_limit_are_ignored() -> None:
    inner: dict[str, Any] = script("deep")
    for _ in range(9):
        inner = {"scripts": [inner]}
    assert with_scripts({"tavern_helper": {"scripts": [inner, script("flat")]}}).helper_texts == ("text of flat",)


def test_declaration_texts_follow_scripts_then_book() -> None:
    data = {**V1, "extensions": {"tavern_helper": {"scripts": [script("on"), script("off", enabled=False)]}}}
    card = read_card(as_json({**V2, "data": {**data, "character_book": BOOK}}))
    assert card.declaration_texts == ("text of on", "hp: 1", "mp: 2", "text", "")
