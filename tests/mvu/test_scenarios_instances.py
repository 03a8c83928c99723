"""Scenarios F, M and N of spec/mvu.md §12: discovery, instances, forks, swipes, retries."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import pytest

from runtime.mvu.resources import instance_id
from tests.mvu.stage import Stage, card_bytes, delta, refuses


def test_scenario_052_instances_follow_the_selection(kept: Stage) -> None:
    kept.card("a")
    kept.card("b")
    assert kept.rt.mvu.list({}) == []
    template = kept.rt.cards.read("a")["templateId"]
    assert template == "mvu:character-" + hashlib.sha256(b"a").hexdigest()[:32]
    assert kept.rt.mvu.read(template, {}) is None
    begun = kept.begin("a")
    session = begun["sessionId"]
    assert kept.data(session) == {"hp": 100}
    assert len(kept.rt.mvu.resolve_request(session)) == 1
    kept.edit(session, {"hp": 70})
    other = kept.begin("a")["sessionId"]
    assert kept.data(other) == {"hp": 100}
    kept.rt.cards.add(card_bytes("hp: 999\n"), "a")
    assert kept.data(session) == {"hp": 70}
    kept.rt.playthroughs.select_character(begun["playthroughId"], session, None, kept.op())
    assert kept.rt.mvu.resolve_request(session) == []
    kept.rt.playthroughs.select_character(begun["playthroughId"], session, "a", kept.op())
    kept.restart()
    assert kept.data(session) == {"hp": 70}
    assert kept.record(session)["managementMode"] == "native"


def test_scenario_056_each_card_keeps_its_own_state(kept: Stage) -> None:
    kept.card("a")
    kept.card("b")
    begun = kept.begin("a")
    session, play = begun["sessionId"], begun["playthroughId"]
    first = kept.turn(session, delta("hp", -20))
    assert kept.data(session) == {"hp": 80}
    of_a = kept.resource_id(session)
    kept.rt.playthroughs.select_character(play, session, "b", kept.op())
    assert kept.data(session) == {"hp": 100}
    kept.turn(session, delta("hp", -1))
    assert kept.data(session) == {"hp": 99}
    kept.rt.playthroughs.select_character(play, session, "a", kept.op())
    kept.restart()
    assert kept.resource_id(session) == of_a
    assert kept.data(session) == {"hp": 80}
    kept.turn(session, delta("hp", -20))
    assert kept.data(session) == {"hp": 60}
    assert kept.data(session, endEventId=first["endEventId"]) == {"hp": 80}


def test_scenarios_057_and_133_a_repaired_card_starts_fresh(kept: Stage) -> None:
    kept.rt.cards.add(card_bytes("hp: [broken\n"), "hero")
    begun = kept.begin()
    session = begun["sessionId"]
    assert begun["resources"][0]["sourceError"] == "MVU_INITIALIZATION_INVALID"
    receipt = kept.turn(session, delta("hp", -5))["receipts"][0]
    assert (receipt["status"], receipt["error"]) == ("failed", "MVU_INITIALIZATION_INVALID")
    template = begun["resources"][0]["templateId"]
    with refuses("MVU_INITIALIZATION_INVALID"):
        kept.rt.mvu.resolve_request(session)
    kept.rt.cards.add(card_bytes("hp: 100\n"), "hero")
    record = kept.record(session)
    assert record["templateId"] == template
    assert "sourceError" not in record
    assert record["content"]["stat_data"] == {"hp": 100}
    assert len(kept.rt.mvu.resolve_request(session)) == 1
    kept.turn(session, delta("hp", -1))
    assert kept.data(session) == {"hp": 99}


def test_scenario_146_sessions_have_states_of_their_own(kept: Stage) -> None:
    kept.card()
    a, b = kept.begin()["sessionId"], kept.begin()["sessionId"]
    kept.edit(a, {"hp": 80})
    kept.edit(b, {"hp": 40})
    assert kept.resource_id(a) != kept.resource_id(b)
    with refuses("SCOPE_MISMATCH"):
        kept.rt.mvu.read(kept.resource_id(a), kept.scope(b))
    kept.restart()
    assert (kept.data(a), kept.data(b)) == ({"hp": 80}, {"hp": 40})


def test_scenario_153_concurrent_reads_see_one_predicted_instance(stage: Stage) -> None:
    stage.card()
    session = stage.begin(session_id="s", created_at=7)["sessionId"]
    expected = instance_id(stage.rt.cards.read("hero")["templateId"], {"sessionId": "s", "createdAt": 7})
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(stage.resource_id(session))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 12


def test_scenario_147_forks_inherit_the_reply_and_nothing_later(kept: Stage) -> None:
    kept.card()
    parent = kept.begin()["sessionId"]
    first = kept.turn(parent, delta("hp", -10))
    child = kept.branch(parent, "fork", first["endEventId"])["sessionId"]
    kept.edit(parent, {"hp": 60})
    record = kept.record(child)
    assert (record["content"]["stat_data"], record["revision"]) == ({"hp": 90}, 0)
    assert record["inheritedFrom"]["id"] == kept.resource_id(parent)
    assert record["inheritedFrom"]["revision"] == 1
    second = kept.turn(child, delta("hp", -1))
    assert kept.data(child) == {"hp": 89}
    grandchild = kept.branch(child, "fork", second["endEventId"])["sessionId"]
    kept.turn(grandchild, delta("hp", -2))
    assert kept.data(grandchild) == {"hp": 87}
    assert kept.data(parent) == {"hp": 60}
    kept.restart()
    assert kept.data(child) == {"hp": 89}
    assert kept.data(grandchild, endEventId=first["endEventId"]) == {"hp": 90}


def test_scenario_148_a_root_swipe_starts_from_the_opening(kept: Stage) -> None:
    kept.card()
    begun = kept.begin()
    root = begun["sessionId"]
    kept.edit(root, {"hp": 70})
    first = kept.turn(root, delta("hp", -10))
    kept.edit(root, {"hp": 20})
    kept.rt.branches.create_session(kept.op(), session_id="target", created_at=3)
    ticket = kept.rt.mvu.capture_session_seed(root, "reply-swipe", first["endEventId"], target_session_id="target")
    assert ticket is not None
    with refuses("MVU_SEED_PENDING"):
        kept.rt.mvu.list(kept.scope("target"))
    kept.restart()
    with refuses("MVU_SEED_PENDING"):
        kept.rt.mvu.list(kept.scope("target"))
    ids = kept.rt.mvu.install_session_seed(ticket, "target")
    assert kept.rt.mvu.install_session_seed(ticket, "target") == ids
    found = kept.rt.mvu.read(ids[0], kept.scope("target"))
    assert found is not None
    assert found["content"]["stat_data"] == {"hp": 70}
    swiped = kept.branch(root, "reply-swipe", first["endEventId"])["sessionId"]
    assert kept.data(swiped) == {"hp": 70}
    kept.turn(swiped, delta("hp", -2))
    assert kept.data(swiped) == {"hp": 68}
    assert kept.data(root) == {"hp": 20}


def test_scenario_149_children_must_fit_their_seed(kept: Stage) -> None:
    kept.card()
    parent = kept.begin()["sessionId"]
    first = kept.turn(parent, delta("hp", -10))
    unseeded = kept.rt.branches.create_session(
        kept.op(), session_id="unseeded", parent={"sessionId": parent, "atEventId": first["endEventId"]}
    )
    assert unseeded["resources"] == []
    with refuses("MVU_SEED_REQUIRED"):
        kept.rt.mvu.list(kept.scope("unseeded"))
    ticket = kept.rt.mvu.capture_session_seed(parent, "fork", first["endEventId"])
    assert ticket is not None
    kept.rt.branches.create_session(kept.op(), session_id="stranger", created_at=1)
    with refuses("MVU_SEED_MISMATCH"):
        kept.rt.mvu.install_session_seed(ticket, "stranger")
    kept.rt.mvu.install_session_seed(ticket, "unseeded")
    kept.rt.branches.create_session(
        kept.op(), session_id="second", parent={"sessionId": parent, "atEventId": first["endEventId"]}
    )
    with refuses("MVU_SEED_CONFLICT"):
        kept.rt.mvu.install_session_seed(ticket, "second")
    with refuses("MVU_SESSION_IDENTITY"):
        kept.rt.branches.create_session(kept.op(), session_id="unseeded", created_at=99)


@pytest.mark.parametrize(
    ("kind", "at", "more"),
    [
        ("other", 2, {}),
        ("fork", -1, {}),
        ("fork", 2, {"prefix_end_event_id": 1}),
        ("reply-swipe", 2, {}),
        ("reply-swipe", 2, {"prefix_end_event_id": 2}),
        ("request-retry", 1, {"target_session_id": "t"}),
        ("fork", 1, {}),
        ("fork", 77, {}),
    ],
)
def test_scenario_162_malformed_seed_requests(stage: Stage, kind: str, at: int, more: dict[str, Any]) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    stage.turn(session, delta("hp", -10))
    with refuses("MVU_SEED"):
        stage.rt.mvu.capture_session_seed(session, kind, at, **more)


def test_scenario_150_inherited_content_is_not_transformed_again(stage: Stage) -> None:
    stage.card(initvar="hp: 1\n", schema="z.object({ hp: z.number().transform(v => v + 1) })")
    begun = stage.begin()
    session = begun["sessionId"]
    assert stage.data(session) == {"hp": 2}
    stage.rt.mvu.set_management_mode(stage.resource_id(session), "managed", 0, stage.op(), stage.scope(session))
    first = stage.turn(session, "_.set('hp', 10);")
    assert stage.data(session) == {"hp": 11}
    child = stage.branch(session, "fork", first["endEventId"])["sessionId"]
    assert stage.data(child) == {"hp": 11}
    record = stage.record(child)
    assert (record["revision"], record["storedManagementMode"]) == (0, "managed")
    with refuses("MVU_SCOPE"):
        stage.rt.mvu.create_card_binding({})
    history = stage.rt.mvu.history(record["id"], stage.scope(child))
    assert all("operationId" not in version for version in history)


def test_scenario_155_swiping_an_inherited_reply_goes_to_its_own_baseline(stage: Stage) -> None:
    stage.card()
    root = stage.begin()["sessionId"]
    stage.edit(root, {"hp": 70})
    first = stage.turn(root, delta("hp", -1))
    b = stage.branch(root, "fork", first["endEventId"])["sessionId"]
    stage.edit(b, {"hp": 50})
    c = stage.branch(b, "fork", first["endEventId"])["sessionId"]
    assert stage.data(c) == {"hp": 50}
    swiped = stage.branch(c, "reply-swipe", first["endEventId"])["sessionId"]
    assert stage.data(swiped) == {"hp": 70}


def test_scenarios_162_and_163_failed_replies_have_places_too(stage: Stage) -> None:
    stage.card()
    parent = stage.begin()["sessionId"]
    first = stage.turn(parent, delta("hp", -10))
    failed = stage.turn(parent, "_.add('hp', 'much');")
    assert failed["receipts"][0]["status"] == "failed"
    assert stage.data(parent) == {"hp": 90}
    assert stage.data(parent, endEventId=failed["endEventId"]) == {"hp": 90}
    fork = stage.branch(parent, "fork", failed["endEventId"])["sessionId"]
    assert stage.data(fork) == {"hp": 90}
    swiped = stage.branch(parent, "reply-swipe", failed["endEventId"])["sessionId"]
    assert stage.data(swiped) == {"hp": 90}
    stage.turn(swiped, delta("hp", -1))
    assert stage.data(swiped) == {"hp": 89}
    early = stage.branch(parent, "fork", first["endEventId"])["sessionId"]
    assert stage.data(early) == {"hp": 90}


def test_scenario_163_edits_after_a_failed_reply_belong_to_the_first(stage: Stage) -> None:
    stage.card()
    parent = stage.begin()["sessionId"]
    first = stage.turn(parent, delta("hp", -10))
    failed = stage.turn(parent, "_.add('hp', 'much');")
    stage.edit(parent, {"hp": 50})
    assert stage.data(stage.branch(parent, "fork", first["endEventId"])["sessionId"]) == {"hp": 50}
    assert stage.data(stage.branch(parent, "fork", failed["endEventId"])["sessionId"]) == {"hp": 90}
    swiped = stage.branch(parent, "reply-swipe", failed["endEventId"])["sessionId"]
    assert stage.data(swiped) == {"hp": 90}


def test_scenario_165_a_swiped_child_can_be_forked_at_its_prefix(stage: Stage) -> None:
    stage.card()
    root = stage.begin()["sessionId"]
    first = stage.turn(root, delta("hp", -10))
    second = stage.turn(root, delta("hp", -10))
    swiped = stage.branch(root, "reply-swipe", second["endEventId"])["sessionId"]
    assert stage.data(swiped) == {"hp": 90}
    stage.edit(swiped, {"hp": 50})
    fork = stage.branch(swiped, "fork", first["endEventId"])["sessionId"]
    assert stage.data(fork) == {"hp": 50}


def test_scenario_170_retries_ignore_later_edits(stage: Stage) -> None:
    stage.card()
    root = stage.begin()["sessionId"]
    stage.edit(root, {"hp": 80})
    stage.start_turn(root, 1)
    stage.end_turn(root, 1, kind="aborted")
    stage.edit(root, {"hp": 40})
    first = stage.branch(root, "request-retry", 1)["sessionId"]
    assert stage.data(first) == {"hp": 80}
    stage.turn(first, delta("hp", -1))
    assert stage.data(first) == {"hp": 79}
    stage.start_turn(first, 2)
    stage.end_turn(first, 2, kind="aborted")
    stage.edit(first, {"hp": 40})
    again = stage.branch(first, "request-retry", stage.rt.sessions.session(first)["nextSeq"] - 2)["sessionId"]
    assert stage.data(again) == {"hp": 79}
    assert stage.rt.sessions.session(again)["lastTurn"] == 1


def test_five_rerolls_give_the_same_state_five_times(stage: Stage) -> None:
    stage.card(initvar="hp: 100\nbag: []\n")
    begun = stage.begin()
    stage.turn(begun["sessionId"], delta("hp", -10))
    second = stage.turn(begun["sessionId"], delta("hp", -10))
    found = []
    for _ in range(5):
        child = stage.branch(begun["sessionId"], "reply-swipe", second["endEventId"])["sessionId"]
        stage.turn(child, delta("hp", -7))
        found.append(stage.data(child))
    assert found == [{"hp": 83, "bag": []}] * 5
    node = stage.rt.playthroughs.read(begun["playthroughId"])["timeline"][1]
    assert len(node["variants"]) == 6


def test_looking_changes_no_revision(stage: Stage) -> None:
    stage.card()
    begun = stage.begin()
    turn = stage.turn(begun["sessionId"], delta("hp", -1))
    before = stage.record(begun["sessionId"])
    stage.rt.mvu.list({})
    stage.rt.mvu.card_snapshot(stage.message_scope(begun, turn))
    stage.rt.mvu.resolve_request(begun["sessionId"])
    assert stage.record(begun["sessionId"]) == before


def test_scenario_223_an_inherited_history_says_so(stage: Stage) -> None:
    stage.card()
    root = stage.begin()["sessionId"]
    first = stage.turn(root, delta("hp", -10))
    stage.edit(root, {"hp": 50})
    child = stage.branch(root, "fork", first["endEventId"])["sessionId"]
    history = stage.rt.mvu.history(stage.resource_id(child), stage.scope(child), include_before=True)
    assert [version["revision"] for version in history] == [0, 0]
    assert all(version["source"]["inherited"] is True and version["beforeAvailable"] is False for version in history)


def test_scenario_053_policies_skip_with_their_reason(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    dispose = stage.rt.mvu.register_usage(lambda call: None)
    assert stage.turn(session, delta("hp", -1))["receipts"][0]["status"] == "applied"
    dispose()
    stage.rt.mvu.register_usage(lambda call: {"enabled": False, "reason": "rule"})
    receipt = stage.turn(session, delta("hp", -1))["receipts"][0]
    assert (receipt["status"], receipt["reason"]) == ("skipped", "rule")
    revision = stage.record(session)["revision"]
    stage.rt.mvu.ingest(session)
    assert stage.record(session)["revision"] == revision
    assert stage.data(session) == {"hp": 99}
