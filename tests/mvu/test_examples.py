"""The example cards play: both openings, the whole demo story, the refused and the struck-out command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.cards import read_card
from runtime.mvu import discovery, playground
from runtime.mvu.helper import find_helper
from sandbox import ProcessSandbox, Sandbox

CARDS = Path(__file__).resolve().parents[2] / "examples" / "cards"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    running = ProcessSandbox()
    yield running
    running.close()


@pytest.mark.parametrize("opening", [0, 1])
@pytest.mark.parametrize("name", ["lighthouse", "wayhouse"])
def test_the_story_plays(name: str, opening: int, sandbox: Sandbox) -> None:
    card = read_card((CARDS / f"{name}.png").read_bytes())
    story = json.loads((CARDS / name / "story.json").read_text("utf-8"))
    helper = find_helper(card.helper_texts)
    assert helper is not None
    common = {"declaration": discovery.declaration_source(card), "helper": helper.source}
    start: dict[str, Any] = {"initvar": discovery.initvar_data(card), "greeting": card.greetings[opening]}
    outcomes = []
    for turn in story["turns"]:
        answer = playground.apply_reply(
            {**common, **start, "reply": turn["reply"]}, clock=0, sandbox=sandbox, owner="example"
        )
        assert answer.get("error") is None
        refused = [command["code"] for command in answer["commands"] if command["status"] == "refused"]
        outcomes.append((len(answer["commands"]), refused, [item["reason"] for item in answer["ignored"]]))
        start = {"variables": answer["after"]["stat_data"]}
    assert outcomes == [(5, [], []), (4, ["MVU_SCHEMA"], []), (3, [], ["helper-filtered"])]
