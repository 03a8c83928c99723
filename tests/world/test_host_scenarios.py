"""Scenarios 23-32 and 45-49: the host side, its translation, the catalogue and names (spec/worldkernel.md §8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.world.canon import compile_canon
from runtime.world.fold import fold
from runtime.world.host import Answer, Line
from runtime.world.host.act import run_command, run_command_text, run_intent, run_tool
from runtime.world.host.commands import parse_command
from runtime.world.host.context import context_block
from runtime.world.host.message import run_message, run_tagged
from runtime.world.host.reading import named_in, tags_in
from runtime.world.host.tools import tool_intent, tools_for
from runtime.world.pack.catalogue import catalogue
from runtime.world.pack.load import load_pack
from tests.world.support import A_VS_C, PACKS, canon, document, line_of

BROOK = canon()


def after(line: Line, answer: Answer) -> Line:
    assert answer.body["ok"], answer.body
    return line.after(answer.events)


def rewound(line: Line, answer: Answer) -> Line:
    assert answer.fork is not None, answer.body
    kept = line.events[: answer.fork.index]
    return Line(answer.fork.session_id, line.canon, line.role, line.opening, kept, fold(line.opening, kept))


def test_scenario_023_retry_brings_the_pressure_back() -> None:
    line = line_of(BROOK)
    played = after(line, run_tool(line, "check_propose", {"checkId": "contest", "actors": A_VS_C}, u=0.81))
    snapshot = played.state
    back = rewound(played, run_command(played, "retry"))
    assert back.state["characters"]["ada"]["pressure"] == 0.1
    assert back.session_id == "s1~retry"
    assert snapshot["characters"]["ada"]["pressure"] == 0.15
    assert played.events[0]["type"] == "check"


def test_scenario_024_two_sessions_two_formulas() -> None:
    changed = document()
    changed["checks"]["contest"] = {**changed["checks"]["contest"], "formula": "p = 0.99"}
    chances = [
        run_tool(line_of(chosen), "check_propose", {"checkId": "contest", "actors": A_VS_C}, u=0.5).body["receipt"]["p"]
        for chosen in (BROOK, compile_canon(changed))
    ]
    assert chances[0] != chances[1] == 0.99


def test_scenario_025_a_tag_in_the_text_forces_the_contest() -> None:
    run = run_message(line_of(BROOK), "Ada turns to FIGHT Cyr.", u=0.81)
    assert [(forced.check_id, forced.actors, forced.status) for forced in run.forced] == [("contest", A_VS_C, "ran")]
    assert [event["type"] for event in run.events] == ["check"]


def test_scenario_026_validation_is_for_authors() -> None:
    refused = run_tool(line_of(BROOK), "pack_validate", {}).body
    assert (refused["ok"], refused["code"]) == (False, "HOST_TOOL_HIDDEN")
    assert run_tool(line_of(BROOK, "author"), "pack_validate", {}).body["ok"]


def test_scenario_027_a_refused_fact_is_not_in_the_context() -> None:
    line = line_of(BROOK)
    assert run_tool(line, "state_propose_fact", {"pointer": "facts.scene", "value": "brook.nowhere"}).events == ()
    assert "brook.nowhere" not in context_block(line.canon, line.state)


def test_scenario_028_retry_keeps_the_fact() -> None:
    line = line_of(BROOK)
    line = after(line, run_tool(line, "state_propose_fact", {"pointer": "facts.weather", "value": "fog"}))
    line = after(line, run_tool(line, "check_propose", {"checkId": "contest", "actors": A_VS_C}, u=0.81))
    back = rewound(line, run_command(line, "retry"))
    assert [event["type"] for event in back.events] == ["fact"]
    assert back.state["facts"]["weather"] == "fog"


def test_scenario_029_tools_by_role() -> None:
    names = {role: [tool["function"]["name"] for tool in tools_for(role)] for role in ("play", "author")}
    assert names["play"] == ["lore_get", "state_read", "check_match", "check_propose", "state_propose_fact"]
    assert names["author"][5:] == ["pack_validate", "pack_scaffold", "pack_open_play", "pack_interview"]


def test_scenario_030_tool_calls_become_intents() -> None:
    assert tool_intent("lore_get", {"key": "axioms"}) == {"type": "lore", "key": "axioms"}
    assert tool_intent("check_propose", {"checkId": "contest", "actors": A_VS_C}) == {
        "type": "check",
        "checkId": "contest",
        "actors": A_VS_C,
    }
    assert tool_intent("state_propose_fact", {"pointer": "facts.a"}) == {
        "type": "fact",
        "pointer": "facts.a",
        "value": None,
    }


def test_scenario_031_retry_is_a_fork_request() -> None:
    assert parse_command("retry", " contest ").check_id == "contest"
    assert parse_command("retry").check_id is None


# /gm and /correct: what stands behind '=' (§00.4), and what becomes of 3 coins.
ASSIGNMENTS: tuple[tuple[str, Any, Any], ...] = (
    ("facts.coins=5", 5, 5),
    ("facts.coins=-5", -5, -5),
    ("facts.coins=+5", "+5", 8),
    ('facts.coins="-5"', "-5", -2),
    ("facts.coins+=5", "+5", 8),
    ("facts.coins-=5", "-5", -2),
    ("facts.coins -= 0.5", "-0.5", 2.5),
    ("facts.coins=true", True, True),
    ("facts.coins=plain text", "plain text", "plain text"),
    ("facts.coins=NaN", "NaN", "NaN"),
    ('facts.coins={"a": [1]}', {"a": [1]}, {"a": [1]}),
)


@pytest.mark.parametrize(("text", "value", "after_it"), ASSIGNMENTS)
@pytest.mark.parametrize("name", ["gm", "correct"])
def test_scenario_032_rulings_are_parsed(name: str, text: str, value: object, after_it: object) -> None:
    intent = parse_command(name, f"{text} :: a reason :: with more").intent
    assert intent is not None
    if name == "gm":
        assert intent == {"type": "gm", "patch": {"facts.coins": value}, "reason": "a reason :: with more"}
    else:
        assert intent == {"type": "correct", "pointer": "facts.coins", "value": value}
    line = line_of(BROOK)
    line = after(line, run_intent(line, {"type": "fact", "pointer": "facts.coins", "value": 3}))
    line = after(line, run_command_text(line, f"/{name} {text} :: a reason"))
    assert line.state["facts"]["coins"] == after_it


@pytest.mark.parametrize(
    "text",
    [
        "/gm facts.a=1",
        "/gm facts.a=1 ::  ",
        "/gm facts.a :: why",
        "/gm =1 :: why",
        "/gm facts.a= :: why",
        "/gm facts.a+=many :: why",
        "/gm facts.a=" + "[" * 100 + " :: why",
        "/correct facts.a=1",
        "/dance",
        "/",
        "gm facts.a=1 :: no slash",
        "/gm present=+nobody :: come",
        "/gm facts.a=1 :: " + "x" * 10_000,
    ],
)
def test_scenario_032_bad_commands_are_refused_by_the_host(text: str) -> None:
    answer = run_command_text(line_of(BROOK), text)
    assert (answer.body["ok"], answer.body["code"], answer.events) == (False, "HOST_COMMAND", ())


def test_nothing_to_retry_has_its_own_code() -> None:
    line = line_of(BROOK)
    assert run_command(line, "retry").body["code"] == "HOST_NOTHING_TO_RETRY"
    line = after(line, run_tool(line, "check_propose", {"checkId": "contest", "actors": A_VS_C}))
    assert run_command(line, "retry", "steady").body["code"] == "HOST_NOTHING_TO_RETRY"


def test_scenario_045_both_examples_are_listed() -> None:
    assert [entry.id for entry in catalogue([PACKS]) if entry.ok] == ["lantern-ferry", "wuqiao-clockhouse"]


def test_scenario_046_a_pack_of_ones_own_stands_beside_them(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "pack.yaml").write_text("id: own\ntitle: Own\n", encoding="utf-8")
    (own / "index.yaml").write_text("checks: []\n", encoding="utf-8")
    (tmp_path / "not-a-pack").mkdir()
    assert [entry.id for entry in catalogue([PACKS, tmp_path])] == ["lantern-ferry", "wuqiao-clockhouse", "own"]


def test_scenario_047_declared_stats_load_and_drafts_do_not() -> None:
    loaded = load_pack(
        {
            "pack.yaml": "id: own\ntitle: Own\nstats: {nerve: 2}\nguarded: [characters.*.nerve]\n",
            "index.yaml": "checks: []\ncharacters: [ann]\nlore: [commission]\n",
            "characters/ann.md": "---\nname: Ann\nstats: {nerve: 4}\n---\nTall.\n",
            "lore/commission.md": "Find the key.\n",
            "lore/_draft.md": "Not yet.\n",
        }
    )
    assert loaded.ok
    assert loaded.canon is not None
    assert line_of(loaded.canon).state["characters"] == {"ann": {"nerve": 4}}
    assert list(loaded.canon.lore) == ["commission"]


def test_scenario_048_tags_come_from_the_lexicon_of_the_pack() -> None:
    assert tags_in(BROOK, "I fight and breathe") == ["contest", "steady"]
    assert tags_in(BROOK, "I attack") == []
    assert tags_in(canon(tags={}), "I attack") == ["contest"]


def test_scenario_049_a_named_opponent_beats_the_second_ally() -> None:
    line = line_of(BROOK)
    named = run_message(line, "I fight the smith", u=0.99)
    assert named.staged == ["bel"]
    assert named.forced[0].actors == {"attacker": "ada", "defender": "bel"}
    assert run_message(line, "I fight", u=0.99).forced[0].actors == {"attacker": "ada", "defender": "cyr"}


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Belinda is no Bel", ["bel"]),
        ("Belinda", []),
        ("THE SMITH and cyr", ["bel", "cyr"]),
        ("Cyr, Bel, Cyr", ["cyr", "bel"]),
        ("nobody", []),
    ],
)
def test_names_are_whole_words_in_the_order_of_the_text(text: str, ids: list[str]) -> None:
    line = line_of(BROOK)
    assert named_in(BROOK, line.state, text) == ids


def test_every_slot_is_filled_even_that_of_a_tag_only_check() -> None:
    changed = document()
    changed["checks"]["steady"] = {**changed["checks"]["steady"], "condition": {"tag": "steady"}}
    run = run_message(line_of(compile_canon(changed)), "I breathe", u=0.1)
    assert [(forced.check_id, forced.actors, forced.status) for forced in run.forced] == [
        ("steady", {"actor": "ada"}, "ran")
    ]


def test_all_hits_run_and_one_that_no_longer_holds_lapses() -> None:
    changed = document()
    gone = {
        **changed["checks"]["contest"],
        "id": "gone",
        "condition": {"all": [{"tag": "contest"}, {"present": ["cyr"]}]},
    }
    changed["checks"]["gone"] = {**gone, "inputs": {}, "formula": "p = 1"}
    run = run_message(line_of(compile_canon(changed)), "I fight and breathe", u=0.2)
    assert [(forced.check_id, forced.status) for forced in run.forced] == [
        ("contest", "ran"),
        ("steady", "ran"),
        ("gone", "lapsed"),
    ]


def test_staging_is_an_event_that_does_not_raise_the_turn() -> None:
    line = line_of(BROOK)
    run = run_message(line, "Bel is here")
    assert [(event["type"], event["ids"]) for event in run.events] == [("stage", ["bel"])]
    assert (run.state["present"], run.state["turn"]) == (["ada", "cyr", "bel"], 0)
    assert line.after(run.events).state == run.state


def test_staging_a_card_without_an_entry_gives_it_its_fields() -> None:
    line = line_of(canon(opening={"present": ["ada"], "playable": []}))
    assert "bel" not in line.state["characters"]
    run = run_message(line, "Bel is here")
    assert run.state["characters"]["bel"] == {"rank": 7, "pressure": 0.1, "house": "mill", "mobility": 0}
    summoned = after(line, run_command_text(line, "/gm present=+bel :: she was behind the door"))
    assert summoned.state["characters"] == run.state["characters"]


def test_a_fact_about_somebody_absent_does_not_cost_them_their_fields() -> None:
    line = line_of(canon(opening={"present": ["ada"], "playable": []}))
    line = after(line, run_intent(line, {"type": "fact", "pointer": "characters.bel.mood", "value": "cross"}))
    expected = {"rank": 7, "pressure": 0.1, "house": "mill", "mobility": 0, "mood": "cross"}
    assert run_message(line, "Bel is here").state["characters"]["bel"] == expected
    line = after(line, run_intent(line, {"type": "fact", "pointer": "characters.ghost.mood", "value": "cold"}))
    assert run_command_text(line, "/gm present=+ghost :: a chill").body["code"] == "HOST_COMMAND"


def test_staging_by_a_host_that_found_the_actors_itself() -> None:
    run = run_tagged(line_of(BROOK), ["contest"], {"attacker": "ada", "defender": "bel"}, u=0.0)
    assert [event["type"] for event in run.events] == ["stage", "check"]


def test_commands_of_no_consequence() -> None:
    line = line_of(BROOK)
    assert run_command_text(line, "/ooc nice").body["ok"]
    assert run_command_text(line, "/look facts.weather").body["receipt"]["value"] == "clear"
    assert run_command_text(line, "/state").body["receipt"]["value"]["turn"] == 0


def test_play_sees_neither_seed_nor_engine_facts() -> None:
    line = line_of(BROOK)
    line = after(line, run_tool(line, "check_propose", {"checkId": "contest", "actors": A_VS_C}))
    for pointer in ("", "facts", "rng_seed", "facts.__check_ordinal"):
        shown = str(run_tool(line, "state_read", {"pointer": pointer}).body)
        assert "__check_ordinal" not in shown
        assert "brook:s1" not in shown
    author = line_of(BROOK, "author")
    assert run_tool(author, "state_read", {"pointer": "rng_seed"}).body["receipt"]["value"] == "brook:s1"


def test_the_lore_budget_of_the_host_holds_where_a_pack_names_none() -> None:
    changed = document()
    changed["lore"]["long"] = {"key": "long", "body": "𝄞" * 2001}
    line = line_of(compile_canon(changed))
    assert run_tool(line, "lore_get", {"key": "long"}).body["code"] == "BUDGET"
    wide = document(loreBudgetChars=5000)
    wide["lore"]["long"] = changed["lore"]["long"]
    assert run_tool(line_of(compile_canon(wide)), "lore_get", {"key": "long"}).body["ok"]


def test_author_tools() -> None:
    line = line_of(BROOK, "author")
    pages = run_tool(line, "pack_interview", {}).body["pages"]
    assert [len(page) for page in pages] == [4, 4]
    answers = {
        "who": "Ilse, a courier",
        "identity": "courier",
        "commission": "Bring the letter.",
        "scene": "A bridge at dawn.",
        "teach": "play",
        "tier": "hard",
        "banned": "none",
        "colour": "green",
    }
    made = run_tool(line, "pack_scaffold", {"packId": "dawn-bridge", "answers": answers}).body
    assert made["valid"], made["findings"]
    assert [note["code"] for note in made["notes"]] == ["UNMAPPED_ANSWER"]
    loaded = load_pack(made["files"])
    assert loaded.canon is not None
    state = line_of(loaded.canon).state
    assert state["facts"] == {"commission": "pending", "identity": "courier"}
    assert state["revealed"] == ["commission"]
    assert loaded.canon.cards["hero"].name == "Ilse"
    assert loaded.canon.checks["contest"].failure["characters.{actor}.cost"] == "+0.2"
    for pack_id in ("lantern-ferry", "Not Kebab", "中文", 3):
        refused = run_tool(line, "pack_scaffold", {"packId": pack_id, "answers": {}}).body
        assert refused["code"] == "HOST_COMMAND"
    assert run_tool(line, "pack_open_play", {}).body["ok"] is True
