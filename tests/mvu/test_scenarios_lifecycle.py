"""Scenarios of spec/mvu.md §12 about what changes while something else is on its way, on our own host."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from runtime.ledger.cancellation import Cancelled
from runtime.mvu import bindings, scopes
from runtime.mvu.policy import MANAGER
from tests.mvu.stage import NOW, Stage, card_bytes, delta, refuses

SHARED = {"id": "mvu:shared", "sessionIds": ["*"], "sharing": "shared", "initial": {"stat_data": {"hp": 100}}}


def played(stage: Stage) -> tuple[dict[str, Any], dict[str, Any]]:
    stage.card(initvar="hp: 10\n")
    begun = stage.begin()
    return begun, stage.turn(begun["sessionId"], delta("hp", -1))


def test_scenarios_008_and_108_inherited_replies_are_not_applied_again() -> None:
    stage = Stage(configured=[SHARED])
    stage.rt.branches.create_session(stage.op(), session_id="parent", created_at=1)
    stage.turn("parent", delta("hp", -10))
    second = stage.turn("parent", delta("hp", -5))
    child = stage.branch("parent", "fork", second["endEventId"])["sessionId"]
    stage.turn(child, delta("hp", -1))
    for session in ("parent", child):
        found = stage.rt.mvu.read("mvu:shared", stage.scope(session))
        assert found is not None
        assert found["content"]["stat_data"] == {"hp": 84}
    old = stage.rt.mvu.read("mvu:shared", stage.scope("parent", endEventId=second["endEventId"]))
    assert old is not None
    assert old["content"]["stat_data"] == {"hp": 85}
    grandchild = stage.branch(child, "fork", second["endEventId"])["sessionId"]
    inherited = stage.rt.mvu.read("mvu:shared", stage.scope(grandchild, endEventId=2))
    assert inherited is not None
    assert inherited["content"]["stat_data"] == {"hp": 90}
    stage.close()


INTERRUPTIONS: dict[str, Callable[[Stage, dict[str, Any], dict[str, Any]], Any]] = {
    "grant": lambda stage, bound, grant: stage.rt.mvu.grants.revoke(grant["grantId"]),
    "binding": lambda stage, bound, grant: stage.rt.mvu.revoke_card_binding(bound["capability"]),
    "dispose": lambda stage, bound, grant: stage.rt.mvu.dispose(),
}


@pytest.mark.parametrize("what", INTERRUPTIONS)
def test_scenarios_029_030_175_190_a_revocation_in_the_middle_wins(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    begun, turn = played(stage)
    scope = stage.message_scope(begun, turn)
    grant = stage.grant(scope)
    bound = stage.bind(scope, grant)
    original = scopes.find_evidence

    def interrupted(*arguments: Any) -> Any:
        found = original(*arguments)
        INTERRUPTIONS[what](stage, bound, grant)
        return found

    monkeypatch.setattr(bindings, "find_evidence", interrupted)
    with refuses("MVU_WRITE_DENIED"):
        stage.write(bound, [{"op": "delta", "path": "/hp", "value": -1}], 1)
    monkeypatch.undo()
    assert stage.data(begun["sessionId"]) == {"hp": 9}
    assert not [
        f for f in stage.facts(begun["sessionId"]) if f["phase"] == "applied" and f["on"] == "card_variable_update"
    ]


def test_scenario_034_a_revocation_during_creation_wins(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, turn = played(stage)
    scope = stage.message_scope(begun, turn)
    identifier = "00000000-0000-4000-8000-0000000000aa"
    original = scopes.find_evidence

    def interrupted(*arguments: Any) -> Any:
        stage.rt.mvu.revoke_card_binding(identifier)
        return original(*arguments)

    monkeypatch.setattr(bindings, "find_evidence", interrupted)
    with refuses("MVU_WRITE_DENIED"):
        stage.bind(scope, bindingId=identifier)
    monkeypatch.undo()
    with refuses("MVU_WRITE_DENIED"):
        stage.write({"capability": identifier}, [], 1)
    assert stage.bind(scope)["capability"]


def test_scenario_032_a_binding_has_no_age(stage: Stage) -> None:
    begun, turn = played(stage)
    bound = stage.bind(stage.message_scope(begun, turn))
    stage.rt.sessions.now = lambda: NOW + 2 * 3600 * 1000
    assert stage.write(bound, [{"op": "delta", "path": "/hp", "value": 1}], 1)["revision"] == 2


def test_scenarios_043_and_137_a_lost_decision_stores_nothing(stage: Stage) -> None:
    stage.card(initvar="hp: 10\n")
    session = stage.begin()["sessionId"]
    lease = [False]

    def decide(call: Any) -> Any:
        return {"enabled": True, "configRevision": 4, "checkCurrent": lambda: lease[0]}

    stage.rt.mvu.register_usage(decide, MANAGER)
    turn = stage.turn(session, delta("hp", -2))
    receipt = turn["receipts"][0]
    assert (receipt["status"], receipt["error"], receipt["retryable"]) == ("failed", "MVU_USAGE_CANCELLED", True)
    assert stage.record(session)["revision"] == 0
    lease[0] = True
    again = stage.rt.mvu.apply_reply(session, turn["messageId"], stage.op())["receipts"][0]
    assert (again["status"], again["revision"]) == ("applied", 1)
    completed = [fact for fact in stage.facts(session) if fact["phase"] == "completed"]
    assert completed[-1]["configRevision"] == 4


@pytest.mark.parametrize("answer", [ValueError("no"), {"enabled": "yes"}, {}, 5])
def test_scenarios_111_138_and_140_a_broken_handler_never_takes_the_turn_with_it(stage: Stage, answer: Any) -> None:
    stage.card(initvar="hp: 10\n")
    session = stage.begin()["sessionId"]

    def decide(call: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    dispose = stage.rt.mvu.register_usage(decide)
    turn = stage.turn(session, delta("hp", -2))
    receipt = turn["receipts"][0]
    assert (receipt["status"], receipt["error"], receipt["retryable"]) == ("failed", "MVU_USAGE", True)
    dispose()
    stage.rt.mvu.ingest(session)
    assert stage.data(session) == {"hp": 8}


def test_scenarios_139_and_158_a_cancelled_operation_leaves_nothing(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    record = stage.record(session)
    with pytest.raises(Cancelled):
        stage.rt.mvu.update(record["id"], {"stat_data": {"hp": 1}}, 0, stage.op(), stage.scope(session), lambda: True)
    assert stage.record(session) == record


def test_scenario_144_inherited_variants_are_seen_in_the_fork(stage: Stage) -> None:
    begun, turn = played(stage)
    fork = stage.branch(begun["sessionId"], "fork", turn["endEventId"])
    stage.edit(fork["sessionId"], {"hp": 70})
    scope = {**stage.message_scope(begun, turn), "playthroughId": fork["playthroughId"]}
    found = stage.rt.mvu.card_snapshot(scope)
    assert (found["status"], found["variables"]["stat_data"]) == ("available", {"hp": 9})
    for change in (
        {"variantId": "forged"},
        {"sessionId": fork["sessionId"]},
        {"endEventId": 99},
        {"sessionFormatVersion": 3},
    ):
        with refuses("MVU_SCOPE"):
            stage.rt.mvu.card_snapshot({**scope, **change})


def test_scenario_109_and_110_message_scopes_take_no_foreign_keys(stage: Stage) -> None:
    begun, turn = played(stage)
    scope = stage.message_scope(begun, turn)
    with refuses("MVU_SCOPE"):
        stage.rt.mvu.card_snapshot({"sessionId": begun["sessionId"], "messageId": "m"})
    for change in ({"greetingIndex": 0}, {"selectionToken": "0" * 64}, {"greetingIndex": -1, "selectionToken": "x"}):
        with refuses("MVU_SCOPE"):
            stage.rt.mvu.card_snapshot({**scope, **change})


def test_scenario_113_a_child_without_replies_shows_its_parents(stage: Stage) -> None:
    begun, turn = played(stage)
    child = stage.branch(begun["sessionId"], "fork", turn["endEventId"])["sessionId"]
    record = stage.record(child, endEventId=turn["endEventId"])
    assert (record["content"]["stat_data"], record["revision"], record["currentRevision"]) == ({"hp": 9}, 1, 0)


def test_scenario_154_each_session_transforms_once(kept: Stage) -> None:
    kept.card(initvar="hp: 0\n", schema="z.object({ hp: z.number().transform(v => v + 1) })")
    first = kept.begin()["sessionId"]
    kept.restart()
    second = kept.begin()["sessionId"]
    assert (kept.data(first), kept.data(second)) == ({"hp": 1}, {"hp": 1})


def test_scenarios_156_and_157_turns_and_edits_line_up(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    outcomes: list[str] = []

    def play(amount: int) -> None:
        stage.turn(session, delta("hp", amount))

    def edit() -> None:
        try:
            stage.edit(session, {"hp": 1}, revision=0)
            outcomes.append("edited")
        except Exception as error:
            outcomes.append(getattr(error, "code", "other"))

    play(-10)
    threads = [threading.Thread(target=play, args=(-1,)), threading.Thread(target=edit)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == ["REVISION_CONFLICT"]
    assert stage.data(session) == {"hp": 89}


def test_scenarios_159_and_160_a_running_turn_refuses_edits_and_seeds(stage: Stage) -> None:
    stage.card()
    begun = stage.begin()
    session = begun["sessionId"]
    first = stage.turn(session, delta("hp", -10))
    ticket = stage.rt.mvu.capture_session_seed(session, "fork", first["endEventId"])
    assert ticket is not None
    stage.start_turn(session, 2)
    with refuses("MVU_READ_ONLY"):
        stage.edit(session, {"hp": 1})
    parent = {"sessionId": session, "atEventId": first["endEventId"]}
    stage.rt.branches.create_session(stage.op(), session_id="child", parent=parent)
    stage.start_turn("child", 2)
    with refuses("MVU_SEED_CONFLICT"):
        stage.rt.mvu.install_session_seed(ticket, "child")


def test_scenario_164_a_failed_reply_keeps_the_earlier_view(kept: Stage) -> None:
    kept.card(initvar="hp: 100\n", schema="z.object({ hp: z.number() })")
    begun = kept.begin()
    first = kept.turn(begun["sessionId"], delta("hp", -10))
    before = kept.record(begun["sessionId"], endEventId=first["endEventId"])["content"]
    failed = kept.turn(begun["sessionId"], "_.dance('x');")
    kept.restart()
    assert kept.record(begun["sessionId"], endEventId=first["endEventId"])["content"] == before
    after = kept.record(begun["sessionId"], endEventId=failed["endEventId"])["content"]
    assert (after["stat_data"], after["mvu_schema"]) == ({"hp": 90}, before["mvu_schema"])


def test_scenario_168_a_capability_is_for_one_session(stage: Stage) -> None:
    begun, turn = played(stage)
    other = stage.begin()
    bound = stage.bind(stage.message_scope(begun, turn))
    stage.write(bound, [{"op": "delta", "path": "/hp", "value": 1}], 1)
    assert stage.data(other["sessionId"]) == {"hp": 10}


def test_scenarios_186_and_256_a_stored_greeting_follows_its_selection(stage: Stage) -> None:
    stage.card(greetings=("One", "Two"))
    begun = stage.begin()
    greeting = {**stage.initial_scope(begun), "mode": "greeting"}
    view = stage.rt.mvu.card_snapshot(greeting)["viewIdentity"]
    stage.rt.playthroughs.select_greeting(begun["playthroughId"], begun["sessionId"], 1, stage.op())
    with refuses("MVU_READ_ONLY"):
        stage.rt.mvu.card_snapshot({**greeting, **view})


def test_scenario_193_ids_that_differ_in_case_are_different(stage: Stage) -> None:
    stage.card()
    lower, upper = stage.begin(session_id="case"), stage.begin(session_id="CASE")
    bound = stage.bind(stage.initial_scope(lower))
    stage.events(upper["sessionId"], {"type": "turn/start", "turn": 1})
    assert stage.write(bound, [{"op": "delta", "path": "/hp", "value": -1}], 0)["revision"] == 1


def test_scenario_252_an_execution_has_one_source(stage: Stage) -> None:
    begun, turn = played(stage)
    scope = stage.message_scope(begun, turn)
    good = stage.grant(scope)
    assert stage.rt.mvu.grants.resolve(good["grantId"], good["sourceIdentity"]) == {
        "valid": True,
        "write": True,
        "scope": scope,
    }
    assert stage.rt.mvu.grants.resolve(good["grantId"], {**good["sourceIdentity"], "scope": {}}) is None


def test_scenario_055_a_repair_keeps_the_stored_preference(stage: Stage) -> None:
    stage.rt.cards.add(card_bytes("hp: [broken\n"), "hero")
    session = stage.begin()["sessionId"]
    resource = stage.resource_id(session)
    stage.rt.mvu.set_management_mode(resource, "managed", 0, stage.op(), stage.scope(session))
    stage.rt.cards.add(card_bytes("hp: 1\n"), "hero")
    assert stage.record(session)["storedManagementMode"] == "managed"
