"""The command line as a user meets it: what it prints and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.assembly import open_runtime
from server.bundled import example_cards, example_packs
from server.cli import COMMANDS, build_parser, main
from tests.mvu.stage import card_bytes, delta

EXAMPLES = [path.stem for path in example_cards()]


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0
    assert "usage: innkeeper" in printed(capsys)
    assert build_parser().prog == "innkeeper"


@pytest.mark.parametrize("path", example_cards(), ids=EXAMPLES)
def test_the_example_cards_have_no_problem(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(path)]) == 0
    text = printed(capsys)
    assert "declaration  inline" in text
    assert "no problem found" in text


@pytest.mark.parametrize("path", example_packs(), ids=lambda path: path.name)
def test_the_example_packs_have_no_error(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(path)]) == 0
    assert "0 errors" in printed(capsys)


def test_a_broken_card_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(card_bytes("hp: [1\n", schema="z.object({ hp: fetch('x') })"))
    assert main(["check", str(path)]) == 1
    text = printed(capsys)
    assert "MVU_INITIALIZATION_INVALID" in text
    assert "MVU_SCHEMA_CODE" in text
    path.write_text("[]")
    assert main(["check", str(path)]) == 2
    assert main(["check", str(tmp_path / "missing.png")]) == 2


def test_a_declaration_is_listed_field_by_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "declaration.js"
    path.write_text("const Schema = z.object({ hp: z.number().min(0).describe('health') });")
    assert main(["check", str(path)]) == 0
    assert "hp: number" in printed(capsys)
    path.write_text("const Schema = z.object({\n  hp: fetch('x') });")
    assert main(["check", "--json", str(path)]) == 1
    assert json.loads(printed(capsys))["details"]["line"] == 2


def test_apply_shows_each_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card, reply = tmp_path / "card.json", tmp_path / "reply.txt"
    card.write_bytes(card_bytes("hp: 10\n", schema="z.object({ hp: z.number().min(0) })"))
    reply.write_text("_.add('hp', -3); _.set('hp', -5);")
    assert main(["apply", "--card", str(card), str(reply)]) == 1
    text = printed(capsys)
    assert "✓ _.add('hp', -3)" in text
    assert "✗ _.set('hp', -5)" in text
    assert "/hp: 10 → 7" in text
    reply.write_text("_.add('hp', -3);")
    assert main(["apply", "--json", "--card", str(card), str(reply)]) == 0
    assert json.loads(printed(capsys))["after"]["stat_data"] == {"hp": 7}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_demo_tells_a_whole_story(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--card", name]) == 0
    text = printed(capsys)
    for part in ("turn 3", "✗", "helper-filtered", "REVISION_CONFLICT", "the card writes"):
        assert part in text


def test_a_playthrough_is_replayed_exported_and_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    runtime = open_runtime(folder / "innkeeper.sqlite", with_sandbox=False)
    runtime.cards.add(card_bytes("hp: 10\n", schema="z.object({ hp: z.number() })"), "hero")
    begun = runtime.playthroughs.create("hero", "begin")
    for number in range(3):
        runtime.sessions.turn(begun["sessionId"], {"text": "go"}, {"text": delta("hp", -1)}, f"t{number}")
    runtime.close()
    play = begun["playthroughId"]
    assert main(["replay", play, "--data-dir", str(folder)]) == 0
    assert "3 versions proved, none differs" in printed(capsys)
    document = tmp_path / "play.json"
    assert main(["export", play, "--out", str(document), "--data-dir", str(folder)]) == 0
    other = tmp_path / "other"
    assert main(["import", str(document), "--data-dir", str(other)]) == 0
    again = tmp_path / "again.json"
    assert main(["export", play, "--out", str(again), "--data-dir", str(other)]) == 0
    assert again.read_bytes() == document.read_bytes()
    declaration = tmp_path / "new.js"
    declaration.write_text("const Schema = z.object({ hp: z.number(), mp: z.number().prefault(5) });")
    capsys.readouterr()
    assert main(["migrate", begun["sessionId"], str(declaration), "--dry-run", "--data-dir", str(folder)]) == 0
    assert "/mp: (absent) → 5" in printed(capsys)
    assert main(["migrate", begun["sessionId"], str(declaration), "--data-dir", str(folder)]) == 0
    assert "applied as revision 4" in printed(capsys)
    declaration.write_text("const Schema = z.object({ hp: z.string() });")
    assert main(["migrate", begun["sessionId"], str(declaration), "--dry-run", "--data-dir", str(folder)]) == 1


def test_the_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["limits"]) == 0
    assert "http.jsonBody" in printed(capsys)
    assert main(["errors", "--json"]) == 0
    assert {
        key: value
        for row in json.loads(printed(capsys))
        if row["code"] == "REVISION_CONFLICT"
        for key, value in row.items()
        if key in ("code", "status")
    } == {"code": "REVISION_CONFLICT", "status": 409}
