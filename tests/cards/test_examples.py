"""The example cards: built from their sources, readable, and complete."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from runtime.cards import read_card

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = ("lighthouse", "wayhouse")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_cards", EXAMPLES / "build_cards.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cards_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    module = generator()
    assert tuple(module.names()) == NAMES
    assert module.main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_png_and_json_are_the_same_card(name: str) -> None:
    from_png = read_card((EXAMPLES / "cards" / f"{name}.png").read_bytes())
    from_json = read_card((EXAMPLES / "cards" / f"{name}.json").read_bytes())
    assert from_png == from_json
    assert from_png.spec == "chara_card_v3"
    assert len(from_png.greetings) == 2 and all("<UpdateVariable>" in text for text in from_png.greetings)
    assert len(from_png.initvar_entries) == 2
    assert any("{{format_message_variable::stat_data}}" in entry.content for entry in from_png.world_book)
    assert len(from_png.scripts) == 4 and all(script.enabled for script in from_png.scripts)


@pytest.mark.parametrize("name", NAMES)
def test_stories_are_for_these_cards(name: str) -> None:
    story = json.loads((EXAMPLES / "cards" / name / "story.json").read_text("utf-8"))
    assert story["card"] == f"{name}.png"
    assert len(story["turns"]) == 3
    assert all(set(turn) == {"user", "reply", "note"} for turn in story["turns"])
    assert {"cardWrite", "staleWrite"} <= set(story)
