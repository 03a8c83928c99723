"""Scenarios A, K and H of spec/mvu.md §12 that need sessions: replies, shared states, budgets of history."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.mvu.policy import MANAGER
from tests.mvu.stage import Stage, card_bytes, delta, refuses

SHARED = {"id": "mvu:shared", "sessionIds": ["a", "b"], "sharing": "shared", "initial": {"stat_data": {"hp": 100}}}


@pytest.fixture
def shared() -> Any:
    made = Stage(configured=[SHARED])
    for name in ("a", "b", "forbidden"):
        made.rt.branches.create_session(made.op(), session_id=name, created_at=1)
    yield made
    made.close()


def test_scenario_007_only_completed_counting_replies_change_state(kept: Stage) -> None:
    kept.card()
    begun = kept.begin()
    session = begun["sessionId"]
    kept.start_turn(session, 1)
    kept.end_turn(session, 1, {"id": "r1", "text": delta("hp", -5)})
    kept.start_turn(session, 2)
    kept.end_turn(session, 2, {"id": "r2", "text": delta("hp", -10)}, kind="aborted")
    kept.start_turn(session, 3)
    kept.end_turn(
        session, 3, {"id": "tool", "text": delta("hp", -80), "toolCall": True}, {"id": "r3", "text": delta("hp", -20)}
    )
    assert kept.data(session)["hp"] == 75
    assert kept.data(session, messageId="r1")["hp"] == 95
    completed = [fact for fact in kept.facts(session) if fact["phase"] == "completed"]
    assert len(completed) == 2
    before = kept.rt.mvu.history(kept.resource_id(session), kept.scope(session))
    kept.rt.mvu.ingest(session)
    kept.restart()
    kept.rt.mvu.ingest(session)
    assert kept.rt.mvu.history(kept.resource_id(session), kept.scope(session)) == before


def test_a_later_tool_call_does_not_hide_the_reply(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    stage.start_turn(session, 1)
    stage.end_turn(session, 1, {"id": "r", "text": delta("hp", -5)}, {"id": "tool", "text": "", "toolCall": True})
    assert stage.data(session)["hp"] == 95


def test_scenario_009_diagnostics_stay_with_their_version(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    first = stage.turn(session, "_.set('hp', 50); _.set('missing', 1);")
    assert first["receipts"][0]["status"] == "applied"
    assert [d["code"] for d in first["receipts"][0]["diagnostics"]] == ["MVU_PATH_MISSING"]
    stage.turn(session, delta("hp", -2))
    assert stage.data(session) == {"hp": 48}
    history = stage.rt.mvu.history(stage.resource_id(session), stage.scope(session))
    assert history[0]["variables"]["update_diagnostics"] == [{"command": 1, "code": "MVU_PATH_MISSING"}]
    other = stage.begin()["sessionId"]
    stage.rt.mvu.register_usage(
        lambda call: {"enabled": False, "reason": "rule"} if call["scope"]["sessionId"] == other else None
    )
    assert stage.turn(other, delta("hp", -2))["receipts"][0]["status"] == "skipped"
    assert stage.data(other) == {"hp": 100}
    assert stage.data(session) == {"hp": 48}


def test_scenario_010_edits_are_idempotent_and_compare_revisions(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    stage.turn(session, delta("hp", -5))
    resource, scope = stage.resource_id(session), stage.scope(session)

    def edit(hp: int, revision: int, operation: str) -> dict[str, Any]:
        return stage.rt.mvu.update(resource, {"stat_data": {"hp": hp}}, revision, operation, scope)

    first = edit(60, 1, "edit")
    assert first["revision"] == 2
    assert edit(60, 1, "edit") == first
    with refuses("MVU_IDEMPOTENCY_CONFLICT"):
        edit(61, 1, "edit")
    with refuses("REVISION_CONFLICT") as refused:
        edit(60, 1, "other")
    assert refused.error is not None
    assert refused.error.details == {"currentRevision": 2}
    stage.turn(session, delta("hp", -2))
    assert stage.data(session)["hp"] == 58
    with refuses("MVU_AUTHORITY"):
        stage.rt.mvu.read(resource, {"authority": "remote", "sessionId": session})


def test_scenario_011_a_preview_changes_nothing(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    blocks = stage.rt.mvu.resolve_request(session, preview=True)
    assert len(blocks) == 1
    assert '"hp":100' in blocks[0]["text"]
    assert stage.record(session)["revision"] == 0
    assert stage.rt.mvu.history(stage.resource_id(session), stage.scope(session)) == []


def test_scenarios_012_and_104_a_shared_state_has_one_current(shared: Stage) -> None:
    def edit(session: str, hp: int, revision: int) -> dict[str, Any]:
        return shared.rt.mvu.update(
            "mvu:shared", {"stat_data": {"hp": hp}}, revision, shared.op(), shared.scope(session)
        )

    edit("a", 80, 0)
    assert shared.data("b") == {"hp": 80}
    assert shared.record("b")["revision"] == 1
    with refuses("REVISION_CONFLICT"):
        edit("b", 70, 0)
    edit("b", 60, 1)
    edit("a", 40, 2)
    assert (shared.data("a"), shared.data("b")) == ({"hp": 40}, {"hp": 40})
    copy = shared.rt.mvu.copy("mvu:shared", "mvu:copy", shared.scope("a"))
    assert copy["revision"] == 0
    shared.rt.mvu.update("mvu:copy", {"stat_data": {"hp": 10}}, 0, shared.op(), shared.scope("a"))
    found = shared.rt.mvu.read("mvu:shared", shared.scope("a"))
    assert found is not None
    assert found["content"]["stat_data"] == {"hp": 40}
    assert len(shared.rt.mvu.list({})) == 2


def test_scenarios_105_to_107_scopes_stay_with_their_sessions(shared: Stage) -> None:
    shared.rt.mvu.update("mvu:shared", {"stat_data": {"hp": 80}}, 0, "A-first", shared.scope("a"))
    for more in ({"endEventId": 999}, {"messageId": "manual:A-first"}):
        with refuses("SCOPE_MISMATCH"):
            shared.rt.mvu.read("mvu:shared", shared.scope("forbidden", **more))
    found = shared.rt.mvu.read("mvu:shared", shared.scope("a", messageId="manual:A-first"))
    assert found is not None
    assert (found["content"]["stat_data"], found["revision"]) == ({"hp": 80}, 1)
    shared.rt.mvu.update("mvu:shared", {"stat_data": {"hp": 70}}, 1, "B-first", shared.scope("b"))
    with refuses("MVU_SCOPE"):
        shared.rt.mvu.read("mvu:shared", shared.scope("a", endEventId=0, messageId="manual:B-first"))


def test_scenario_013_a_manager_decides_once_it_is_registered(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    stage.rt.mvu.set_management_mode(stage.resource_id(session), "managed", 0, stage.op(), stage.scope(session))
    assert stage.record(session)["managementMode"] == "native"
    assert stage.record(session)["storedManagementMode"] == "managed"
    dispose = stage.rt.mvu.register_usage(lambda call: None, MANAGER)
    assert stage.record(session)["managementMode"] == "managed"
    receipt = stage.turn(session, delta("hp", -3))["receipts"][0]
    assert (receipt["status"], receipt["reason"]) == ("skipped", "manager-decision-required")
    assert stage.rt.mvu.resolve_request(session) == []
    dispose()
    dispose = stage.rt.mvu.register_usage(lambda call: {"enabled": True, "checkCurrent": lambda: True}, MANAGER)
    stage.turn(session, delta("hp", -3))
    assert stage.data(session)["hp"] == 97
    dispose()
    assert len(stage.rt.mvu.resolve_request(session)) == 1
    assert stage.record(session)["managementMode"] == "native"


def test_scenario_116_two_sessions_move_one_shared_state(shared: Stage) -> None:
    for session in ("a", "b"):
        shared.turn(session, delta("hp", -5))
    assert shared.data("a") == {"hp": 90}
    assert shared.data("a", endEventId=2) == {"hp": 95}
    assert shared.data("b", endEventId=2) == {"hp": 90}


def test_scenario_118_a_fatal_reply_keeps_everything(kept: Stage) -> None:
    kept.card(initvar="hp: 10\nbag: []\n", schema="z.object({ hp: z.number(), bag: z.array(z.any()) })")
    session = kept.begin()["sessionId"]
    big = "[" + ",".join(["0"] * 100_100) + "]"
    receipt = kept.turn(session, f"_.set('hp', 9); _.set('bag', {big});")["receipts"][0]
    assert (receipt["status"], receipt["error"]) == ("failed", "MVU_LIMIT")
    kept.restart()
    assert kept.data(session) == {"hp": 10, "bag": []}
    facts = kept.facts(session)
    assert [fact["detail"] for fact in facts if fact["phase"] == "failed"] == ["MVU_LIMIT"]
    assert not [fact for fact in facts if fact["phase"] == "applied"]


def test_scenario_115_an_edit_is_validated_once(stage: Stage) -> None:
    stage.card(initvar="hp: 1\n", schema="z.object({ hp: z.number().min(0).transform(v => v + 1) })")
    session = stage.begin()["sessionId"]
    with refuses("MVU_SCHEMA"):
        stage.edit(session, {"hp": -7})
    descriptor = stage.record(session)["content"]["mvu_schema"]
    with refuses("MVU_SCHEMA"):
        stage.edit(session, {"hp": -7}, mvu_schema=descriptor)
    stage.edit(session, {"hp": 10})
    assert stage.data(session) == {"hp": 11}


def test_scenarios_066_and_067_no_foreign_data_enters_versions(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    stage.events(session, {"type": "request/assembly", "messages": ["x" * 500_000]})
    stage.start_turn(session, 1, text="y" * 100_000)
    stage.end_turn(
        session,
        1,
        {
            "id": "r",
            "blocks": [{"type": "text", "text": "first"}, {"type": "image"}, {"type": "text", "text": delta("hp", -1)}],
        },
    )
    assert stage.data(session)["hp"] == 99
    history = stage.rt.mvu.history(stage.resource_id(session), stage.scope(session))
    assert "yyyy" not in str(history)
    assert "xxxx" not in str(history)


def test_scenario_068_long_histories_fork_and_replay(kept: Stage) -> None:
    kept.card(initvar="hp: 100\nnotes: ''\n")
    begun = kept.begin()
    session = begun["sessionId"]
    turns = [
        kept.turn(session, f"_.add('hp', -1); _.set('notes', '{str(number) * 80_000}');") for number in range(1, 8)
    ]
    assert kept.data(session)["hp"] == 93
    child = kept.branch(session, "fork", turns[-1]["endEventId"])["sessionId"]
    kept.edit(session, {"hp": 50, "notes": ""})
    assert kept.data(child)["hp"] == 93
    kept.turn(child, delta("hp", -1))
    assert kept.data(child)["hp"] == 92
    assert len(kept.rt.mvu.history(kept.resource_id(child), kept.scope(child))) == 8
    kept.restart()
    assert kept.data(child)["hp"] == 92
    assert kept.data(session)["hp"] == 50


def test_scenarios_069_to_072_budgets_refuse_whole(stage: Stage) -> None:
    stage.card(initvar="text: ''\n", schema="z.object({ text: z.string() })")
    session = stage.begin()["sessionId"]
    stage.edit(session, {"text": "x" * 700 * 1024})
    with refuses("MVU_LIMIT"):
        stage.edit(session, {"text": "x" * 1100 * 1024})
    assert len(stage.data(session)["text"]) == 700 * 1024
    stage.card(
        "doubling",
        initvar="text: ''\n",
        schema="z.object({ text: z.string() }).transform(v => ({ text: v.text + v.text }))",
    )
    begun = stage.begin("doubling")
    with refuses("MVU_LIMIT"):
        stage.edit(begun["sessionId"], {"text": "x" * 600 * 1024})
    bound = stage.bind(stage.initial_scope(begun))
    with refuses("MVU_LIMIT"):
        stage.write(bound, {"stat_data": {"text": "x" * 600 * 1024}}, 0, operation="replace")
    assert stage.record(begun["sessionId"])["revision"] == 0


def test_scenario_071_the_quota_refuses_atomically(kept: Stage) -> None:
    kept.card(initvar="text: ''\n", schema="z.object({ text: z.string() })")
    session = kept.begin()["sessionId"]
    count = 0
    with refuses("PLAY_STORAGE_LIMIT") as refused:
        for count in range(100):
            kept.edit(session, {"text": f"{count:06d}" + "x" * 700 * 1024})
    assert refused.error is not None
    assert refused.error.details["limit"] == 32 * 1024 * 1024
    before = kept.record(session)
    assert before["revision"] == count
    kept.restart()
    assert kept.record(session)["revision"] == count
    assert len(kept.rt.mvu.history(kept.resource_id(session), kept.scope(session))) == count


def test_scenarios_141_and_142_a_historical_view_is_never_edited(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    first = stage.turn(session, delta("hp", -5))
    stage.edit(session, {"hp": 80})
    record = stage.record(session)
    assert (record["revision"], record["content"]["stat_data"]["hp"]) == (2, 80)
    # A manual edit on the newest reply belongs to that reply's coordinate (spec/mvu.md §8).
    old = stage.record(session, endEventId=first["endEventId"])
    assert (old["historical"], old["currentRevision"]) == (True, 2)
    with refuses("MVU_SCOPE"):
        stage.rt.mvu.update(record["id"], {"stat_data": {"hp": 1}}, 2, stage.op(), stage.scope(session, endEventId=2))
    with refuses("REVISION_CONFLICT"):
        stage.edit(session, {"hp": 1}, revision=1)
    other = stage.begin()["sessionId"]
    with refuses("SCOPE_MISMATCH"):
        stage.rt.mvu.read(record["id"], stage.scope(other))


def test_scenario_143_an_authority_only_edit_leaves_one_fact(shared: Stage) -> None:
    heard: list[dict[str, Any]] = []
    shared.rt.mvu.observe(heard.append)
    answer = shared.rt.mvu.update("mvu:shared", {"stat_data": {"hp": 1}}, 0, shared.op(), {"authority": "local"})
    assert answer["revision"] == 1
    assert [fact["detail"] for fact in heard] == ["manual-update"]


def test_scenario_132_a_refused_edit_changes_nothing(stage: Stage) -> None:
    stage.card(initvar="hp: 1\n", schema="z.object({ hp: z.number(), inner: z.strictObject({}).optional() })")
    session = stage.begin()["sessionId"]
    with refuses("MVU_SCHEMA") as refused:
        stage.edit(session, {"hp": 1, "inner": {"extra": 1}})
    assert refused.error is not None
    assert refused.error.details["issues"][0]["path"] == ["inner"]
    assert stage.record(session)["revision"] == 0


def test_scenario_244_the_declaration_belongs_to_the_source(stage: Stage) -> None:
    stage.card(initvar="hp: 1\n", schema="z.object({ hp: z.number() })")
    session = stage.begin()["sessionId"]
    with refuses("MVU_SCHEMA_CODE"):
        stage.edit(session, {"hp": 1}, mvu_schema={"mvuSchema": 1, "interpreterVersion": 2, "source": "guest"})
    stage.edit(session, {"hp": 2, "extra": True})
    assert stage.data(session) == {"hp": 2, "extra": True}
    assert stage.record(session)["content"]["mvu_schema"]["interpreterVersion"] == 2


@pytest.mark.parametrize(
    "scope",
    [
        {"sessionId": "s", "mode": "initial"},
        {"authority": "remote", "sessionId": "s"},
        {"sessionId": ""},
        {"sessionId": 3},
        {"sessionId": "s", "endEventId": -2},
        {"sessionId": "s", "endEventId": True},
        {"sessionId": "s", "messageId": ""},
        [],
        "s",
    ],
)
def test_malformed_trace_scopes_are_refused(stage: Stage, scope: Any) -> None:
    with refuses("MVU_SCOPE", "MVU_AUTHORITY"):
        stage.rt.mvu.read("mvu:x", scope)


def test_the_dialect_of_a_template_is_recorded(stage: Stage) -> None:
    stage.rt.cards.add(card_bytes("hp: 100\n"), "loose", dialect="magvarupdate")
    session = stage.begin("loose")["sessionId"]
    receipt = stage.turn(session, "<UpdateVariable>_.set('hp', 100, 90);//hit\n_.dance('x');</UpdateVariable>")[
        "receipts"
    ][0]
    assert receipt["status"] == "applied"
    assert stage.data(session) == {"hp": 90}
    with refuses("HOST_REQUEST"):
        stage.rt.cards.add(card_bytes(), "other", dialect="guess")
