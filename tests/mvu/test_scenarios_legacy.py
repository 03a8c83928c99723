"""Scenarios 151, 152, 169 and 224 of spec/mvu.md §12: legacy ledgers are read and never written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.mvu.legacy import load_legacy
from tests.mvu.stage import Stage, refuses


def ledger_file(folder: Path, sessions: list[str], hp: Any = 50) -> Path:
    record = {
        "revision": 3,
        "currentKey": "k",
        "versions": [{"key": "k", "source": {"sessionId": "recorded"}, "variables": {"stat_data": {"hp": hp}}}],
        "definition": {"id": "mvu:old", "sessionIds": sessions, "initial": {"stat_data": {"hp": 1}}},
    }
    path = folder / "mvu-state.json"
    path.write_text(json.dumps({"version": 1, "resources": {"mvu:old": record}}))
    return path


def test_scenario_151_a_legacy_state_is_readable_and_nothing_else(stage: Stage, tmp_path: Path) -> None:
    path = ledger_file(tmp_path, ["old"])
    before = path.read_bytes()
    assert load_legacy(stage.rt.ledger, path) == ["mvu:old"]
    stage.card()
    stage.rt.branches.create_session(stage.op(), session_id="old", created_at=1)
    record = stage.rt.mvu.read("mvu:old", stage.scope("old"))
    assert record is not None
    assert (record["legacy"], record["sourceError"], record["capabilities"]["edit"]) == (
        True,
        "MVU_MIGRATION_REQUIRED",
        False,
    )
    assert (record["content"]["stat_data"], record["revision"]) == ({"hp": 50}, 3)
    with refuses("MVU_MIGRATION_REQUIRED"):
        stage.begin(session_id="old")
    with refuses("MVU_MIGRATION_REQUIRED"):
        stage.rt.mvu.update("mvu:old", {"stat_data": {"hp": 1}}, 3, stage.op(), stage.scope("old"))
    with refuses("MVU_MIGRATION_REQUIRED"):
        stage.rt.mvu.copy("mvu:old", "mvu:copy", stage.scope("old"))
    fresh = stage.begin()["sessionId"]
    assert stage.data(fresh) == {"hp": 100}
    assert path.read_bytes() == before


def test_scenario_152_values_are_restored_by_hand(stage: Stage, tmp_path: Path) -> None:
    load_legacy(stage.rt.ledger, ledger_file(tmp_path, ["old"]))
    stage.card(schema="z.object({ hp: z.number() })")
    session = stage.begin()["sessionId"]
    record = stage.rt.mvu.read("mvu:old", {})
    assert record is not None
    with refuses("MVU_SCHEMA"):
        stage.edit(session, {"hp": "invalid"})
    values, scope = {"stat_data": record["content"]["stat_data"]}, stage.scope(session)
    first = stage.rt.mvu.update(stage.resource_id(session), values, 0, "explicit-restore", scope)
    assert stage.rt.mvu.update(stage.resource_id(session), values, 0, "explicit-restore", scope) == first
    assert (stage.data(session), stage.record(session)["revision"]) == ({"hp": 50}, 1)


def test_scenario_169_a_state_of_all_sessions_blocks_those_with_a_past(stage: Stage, tmp_path: Path) -> None:
    load_legacy(stage.rt.ledger, ledger_file(tmp_path, ["*"]))
    stage.card()
    for name in ("recorded", "talked", "empty"):
        stage.rt.branches.create_session(stage.op(), session_id=name, created_at=1)
    stage.events("talked", {"type": "user/message", "id": "u", "text": "hello"})
    for name in ("recorded", "talked"):
        with refuses("MVU_MIGRATION_REQUIRED"):
            stage.begin(session_id=name)
    assert stage.data(stage.begin(session_id="empty")["sessionId"]) == {"hp": 100}


@pytest.mark.parametrize(
    "text", ['{"version":2,"resources":{}}', "[]", '{"version":1}', '{"version":1,"resources":{"x":{}}}']
)
def test_a_ledger_of_another_form_is_refused(stage: Stage, tmp_path: Path, text: str) -> None:
    path = tmp_path / "mvu-state.json"
    path.write_text(text)
    with refuses("MVU_VERSION"):
        load_legacy(stage.rt.ledger, path)
    assert stage.rt.mvu.list({}) == []
