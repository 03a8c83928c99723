"""Scenarios D, G, O, P of spec/mvu.md §12: grants, bindings, writes, openings; long because they share their ways to begin."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest

from tests.mvu.stage import Stage, delta, refuses

UPDATE = "<UpdateVariable><JSONPatch>[{}]</JSONPatch></UpdateVariable>"
GREETINGS = (
    "Hello, {{user}}, says {{char}}. " + UPDATE.format('{"op":"replace","path":"/hp","value":80}'),
    "Again. " + UPDATE.format('{"op":"replace","path":"/hp","value":30},{"op":"delta","path":"/hp","value":5}'),
    "No update.",
)


def played(stage: Stage, **parts: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A card with hp 10 and one reply that takes one: ``(playthrough, turn)``."""
    stage.card(initvar="hp: 10\n", **parts)
    begun = stage.begin()
    return begun, stage.turn(begun["sessionId"], delta("hp", -1))


def phases(stage: Stage, session: str) -> list[tuple[str, Any]]:
    return [(f["phase"], f.get("reason")) for f in stage.facts(session) if f["on"] == "card_variable_update"]


def test_scenario_027_a_card_writes_through_its_binding(stage: Stage) -> None:
    begun, turn = played(stage)
    session, scope = begun["sessionId"], stage.message_scope(begun, turn)
    with refuses("MVU_WRITE_DENIED"):
        stage.write({"capability": str(uuid.uuid4())}, [], 1)
    denied: list[Any] = []

    def deny(call: Any) -> dict[str, Any]:
        denied.append(call)
        return {"enabled": False}

    stage.rt.mvu.register_usage(deny)
    grant = stage.grant(scope)
    bound = stage.bind(scope, grant)
    assert bound["snapshot"]["variables"]["stat_data"] == {"hp": 9}
    stage.rt.mvu.set_management_mode(stage.resource_id(session), "managed", 1, stage.op(), stage.scope(session))
    patch = [{"op": "delta", "path": "/hp", "value": -2}]
    receipt = stage.write(bound, patch, 2, op="w")
    assert (receipt["revision"], receipt["variables"]["stat_data"]) == (3, {"hp": 7})
    assert stage.write(bound, patch, 2, op="w") == receipt
    assert [p for p, _ in phases(stage, session)].count("applied") == 1
    with refuses("REVISION_CONFLICT"):
        stage.write(bound, patch, 2)
    with refuses("MVU_IDEMPOTENCY_CONFLICT"):
        stage.write(bound, [{"op": "delta", "path": "/hp", "value": -3}], 2, op="w")
    assert denied == []
    assert stage.write(bound, patch, 3)["variables"]["stat_data"] == {"hp": 5}
    applied = [f for f in stage.facts(session) if f["phase"] == "applied" and f["on"] == "card_variable_update"]
    assert [fact["configRevision"] for fact in applied] == [None, None]
    stage.rt.mvu.grants.revoke(grant["grantId"])
    with refuses("MVU_WRITE_DENIED"):
        stage.write(bound, patch, 4)


def test_scenario_028_replace_keeps_the_declaration(stage: Stage) -> None:
    begun, turn = played(stage, schema="z.object({ hp: z.number().min(0) })")
    bound = stage.bind(stage.message_scope(begun, turn))
    with refuses("MVU_SCHEMA"):
        stage.write(bound, {"stat_data": {"hp": -1}}, 1, operation="replace")
    receipt = stage.write(bound, {"stat_data": {"hp": 4}, "mvu_schema": {"source": "guest"}}, 1, operation="replace")
    assert receipt["variables"]["stat_data"] == {"hp": 4}
    assert receipt["variables"]["mvu_schema"]["interpreterVersion"] == 2
    stage.turn(begun["sessionId"], delta("hp", -1))
    with refuses("MVU_READ_ONLY"):
        stage.write(bound, [], 3)
    stage.rt.mvu.revoke_card_binding(bound["capability"])
    with refuses("MVU_WRITE_DENIED"):
        stage.write(bound, [], 3)


def test_scenario_031_failed_bindings_take_no_place(stage: Stage) -> None:
    begun, turn = played(stage)
    scope = stage.message_scope(begun, turn)
    grant = stage.grant(scope)
    for _ in range(513):
        with refuses("MVU_WRITE_DENIED"):
            stage.bind(scope, {**grant, "grantId": "nobody"})
    assert stage.bind(scope, grant)["capability"]


def test_scenario_033_a_binding_id_is_one_binding(stage: Stage) -> None:
    begun, turn = played(stage)
    scope, identifier = stage.message_scope(begun, turn), str(uuid.uuid4())
    grant = stage.grant(scope)
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(stage.bind(scope, grant, bindingId=identifier)["capability"]))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [identifier] * 20
    for _ in range(513):
        assert stage.bind(scope, grant, bindingId=identifier)["capability"] == identifier
    other = stage.grant(scope, more=1)
    with refuses("MVU_IDEMPOTENCY_CONFLICT"):
        stage.bind(scope, other, bindingId=identifier)
    assert stage.write({"capability": identifier}, [{"op": "delta", "path": "/hp", "value": -1}], 1)["revision"] == 2


def test_bindings_are_bounded_and_swept(stage: Stage) -> None:
    begun, turn = played(stage)
    scope = stage.message_scope(begun, turn)
    grant = stage.grant(scope)
    for _ in range(512):
        stage.bind(scope, grant)
    with refuses("MVU_LIMIT"):
        stage.bind(scope, grant)
    stage.rt.mvu.grants.revoke(grant["grantId"])
    assert stage.bind(scope)["capability"]


def test_a_capability_ends_with_the_deployment(kept: Stage) -> None:
    begun, turn = played(kept)
    bound = kept.bind(kept.message_scope(begun, turn))
    kept.restart()
    with refuses("MVU_WRITE_DENIED"):
        kept.write(bound, [], 1)
    again = kept.bind(kept.message_scope(begun, turn))
    assert kept.write(again, [{"op": "delta", "path": "/hp", "value": -1}], 1)["revision"] == 2


def test_scenario_171_an_opening_is_written_before_the_first_turn(stage: Stage) -> None:
    stage.card(initvar="hp: 10\n", schema="z.object({ hp: z.number().min(0) })")
    begun = stage.begin()
    session, scope = begun["sessionId"], stage.initial_scope(begun)
    bound = stage.bind(scope)
    assert bound["snapshot"]["variables"]["stat_data"] == {"hp": 10}
    receipt = stage.write(bound, {"stat_data": {"hp": 7}}, 0, operation="replace", op="w")
    assert receipt["revision"] == 1
    assert stage.write(bound, {"stat_data": {"hp": 7}}, 0, operation="replace", op="w") == receipt
    with refuses("REVISION_CONFLICT"):
        stage.write(bound, {"stat_data": {"hp": 6}}, 0, operation="replace")
    with refuses("MVU_SCHEMA"):
        stage.write(bound, {"stat_data": {"hp": -1}}, 1, operation="replace")
    history = stage.rt.mvu.history(stage.resource_id(session), stage.scope(session))
    assert history[0]["source"]["initial"] is True
    assert "messageId" not in history[0]["source"]
    stage.start_turn(session, 1)
    with refuses("MVU_READ_ONLY"):
        stage.rt.mvu.card_snapshot(scope)
    with refuses("MVU_READ_ONLY"):
        stage.write(bound, [], 1)
    assert stage.data(session) == {"hp": 7}


def test_scenario_177_the_first_reply_starts_from_the_written_opening(kept: Stage) -> None:
    kept.card(initvar="hp: 10\n")
    begun = kept.begin()
    kept.write(kept.bind(kept.initial_scope(begun)), {"stat_data": {"hp": 7}}, 0, operation="replace")
    kept.restart()
    kept.turn(begun["sessionId"], delta("hp", -1))
    assert kept.record(begun["sessionId"])["revision"] == 2
    assert kept.data(begun["sessionId"]) == {"hp": 6}
    kept.rt.mvu.ingest(begun["sessionId"])
    assert kept.record(begun["sessionId"])["revision"] == 2


@pytest.mark.parametrize(
    "change",
    [
        {"mode": None},
        {"mode": "other"},
        {"mode": "message"},
        {"nodeId": "n"},
        {"messageId": "m"},
        {"greetingIndex": -1},
        {"greetingIndex": 0.5},
        {"greetingIndex": "0"},
        {"selectionToken": "foreign"},
        {"unknown": 1},
        {"characterId": ""},
    ],
)
def test_scenarios_172_179_188_malformed_opening_scopes(stage: Stage, change: dict[str, Any]) -> None:
    stage.card()
    begun = stage.begin()
    scope = {key: value for key, value in {**stage.initial_scope(begun), **change}.items() if value is not None}
    with refuses("MVU_SCOPE"):
        stage.rt.mvu.card_snapshot(scope)


def test_scenario_172_other_roots_cards_and_timelines_are_read_only(stage: Stage) -> None:
    stage.card("hero")
    stage.card("other")
    begun, second = stage.begin(), stage.begin()
    for change in ({"sessionId": second["sessionId"]}, {"characterId": "other"}):
        with refuses("MVU_READ_ONLY"):
            stage.bind(stage.initial_scope(begun, **change))
    first = stage.turn(begun["sessionId"], "nothing")
    fork = stage.branch(begun["sessionId"], "fork", first["endEventId"])
    with refuses("MVU_READ_ONLY"):
        stage.bind(
            {
                "mode": "initial",
                "playthroughId": fork["playthroughId"],
                "sessionId": fork["sessionId"],
                "characterId": "hero",
            }
        )


def test_scenarios_173_179_187_a_selection_that_comes_back_needs_a_fresh_view(stage: Stage) -> None:
    stage.card(greetings=GREETINGS)
    begun = stage.begin()
    play, session = begun["playthroughId"], begun["sessionId"]
    view = stage.rt.mvu.card_snapshot(stage.initial_scope(begun))["viewIdentity"]
    scope = stage.initial_scope(begun, **view)
    bound = stage.bind(scope)
    with refuses("MVU_SCOPE"):
        stage.bind(stage.initial_scope(begun, greetingIndex=0))
    stage.rt.playthroughs.select_greeting(play, session, 1, stage.op())
    with refuses("MVU_READ_ONLY"):
        stage.rt.mvu.card_snapshot(scope)
    stage.rt.playthroughs.select_greeting(play, session, 0, stage.op())
    with refuses("MVU_READ_ONLY"):
        stage.rt.mvu.card_snapshot(scope)
    with refuses("MVU_READ_ONLY"):
        stage.write(bound, [], 0)
    fresh = stage.rt.mvu.card_snapshot(stage.initial_scope(begun))
    assert fresh["viewIdentity"]["selectionToken"] != view["selectionToken"]
    again = stage.bind(stage.initial_scope(begun, **fresh["viewIdentity"]))
    assert (
        stage.write(again, [{"op": "delta", "path": "/hp", "value": -1}], fresh["currentRevision"])["status"]
        == "available"
    )


def test_a_selected_card_that_comes_back_ends_the_binding(stage: Stage) -> None:
    stage.card("hero")
    stage.card("other")
    begun = stage.begin()
    bound = stage.bind(stage.initial_scope(begun))
    for name in ("other", "hero"):
        stage.rt.playthroughs.select_character(begun["playthroughId"], begun["sessionId"], name, stage.op())
    with refuses("MVU_READ_ONLY"):
        stage.write(bound, [], 0)
    assert (
        stage.write(stage.bind(stage.initial_scope(begun)), [{"op": "delta", "path": "/hp", "value": -1}], 0)[
            "revision"
        ]
        == 1
    )


@pytest.mark.parametrize("answer", [None, {"enabled": False}])
def test_scenario_174_card_writes_never_ask_policies(stage: Stage, answer: Any) -> None:
    stage.card(initvar="hp: 10\n")
    calls: list[Any] = []

    def decide(call: Any) -> Any:
        calls.append(call)
        return answer

    stage.rt.mvu.register_usage(decide)
    bound = stage.bind(stage.initial_scope(stage.begin()))
    assert stage.write(bound, {"stat_data": {"hp": 7}}, 0, operation="replace")["variables"]["stat_data"] == {"hp": 7}
    assert calls == []


def test_scenario_176_other_sessions_selections_do_not_revoke(stage: Stage) -> None:
    stage.card(greetings=GREETINGS)
    begun, other = stage.begin(), stage.begin()
    bound = stage.bind(stage.initial_scope(begun))
    stage.rt.playthroughs.select_greeting(other["playthroughId"], other["sessionId"], 1, stage.op())
    assert stage.write(bound, [{"op": "delta", "path": "/hp", "value": -1}], 0)["revision"] == 1


MODEL = {"type": "model/selection", "data": {"provider": "p", "model": "m"}}
TITLE = {"type": "session/title", "data": {"title": "t", "messageSeqs": [], "source": {"kind": "user"}}}


@pytest.mark.parametrize(
    "events",
    [
        [
            {"type": "permission/preset", "data": 1},
            {"type": "sandbox/mode"},
            {"type": "approval/policy"},
            {"type": "sandbox/mode"},
        ],
        [{"type": "session/end-seed", "data": {}}],
        [MODEL, {"type": "model/selection", "data": {"provider": "p", "model": "m", "reasoningEffort": "low"}}],
        [TITLE],
    ],
)
def test_scenarios_180_to_184_set_up_events_keep_the_opening(stage: Stage, events: list[Any]) -> None:
    stage.card()
    begun = stage.begin()
    bound = stage.bind(stage.initial_scope(begun))
    stage.events(begun["sessionId"], *events)
    with refuses("MVU_READ_ONLY"):
        stage.write(bound, [], 0)
    fresh = stage.bind(stage.initial_scope(begun))
    assert stage.write(fresh, [{"op": "delta", "path": "/hp", "value": -1}], 0)["revision"] == 1


@pytest.mark.parametrize(
    "event",
    [
        {"type": "turn/start", "turn": 1},
        {"type": "user/message", "id": "u", "text": "x"},
        {"type": "assistant/message", "id": "a", "text": "x"},
        {"type": "inbox/splice"},
        {"type": "request/header"},
        {"type": "permission/other"},
        {"type": "approval/request"},
        {"type": "session/end-seed", "data": {"inherited": True}},
        {"type": "session/end-seed", "data": {"unknown": 1}},
        {"type": "session/end-seed", "data": None},
        {"type": "session/end-seed", "data": []},
        {"type": "session/end-seed", "data": ""},
        {"type": "model/selection", "data": {"provider": "", "model": "m"}},
        {"type": "model/selection", "data": {"provider": "p"}},
        {"type": "model/selection", "data": {"provider": "p", "model": 1}},
        {"type": "model/selection", "data": {"provider": "p", "model": "m", "reasoningEffort": ""}},
        {"type": "model/selection", "data": {"provider": "p", "model": "m", "extra": 1}},
        {"type": "model/selection", "data": None},
        {"type": "session/title", "data": {"title": " ", "messageSeqs": [], "source": {"kind": "user"}}},
        {"type": "session/title", "data": {"title": "t", "messageSeqs": [1], "source": {"kind": "user"}}},
        {"type": "session/title", "data": {"title": "t", "messageSeqs": [], "source": {"kind": "auto"}}},
        {"type": "session/title", "data": {"title": "t", "messageSeqs": [], "source": {"kind": "user", "more": 1}}},
        {"type": "session/title", "data": {"title": "t", "messageSeqs": []}},
        {"type": "session/title", "data": {"title": "t", "messageSeqs": [], "source": {"kind": "user"}, "x": 1}},
    ],
)
def test_scenarios_180_to_184_activity_closes_the_opening(stage: Stage, event: dict[str, Any]) -> None:
    stage.card()
    begun = stage.begin()
    stage.events(begun["sessionId"], MODEL, event, MODEL)
    with refuses("MVU_READ_ONLY"):
        stage.rt.mvu.card_snapshot(stage.initial_scope(begun))
    with refuses("MVU_READ_ONLY"):
        stage.bind(stage.initial_scope(begun))


def test_scenario_185_a_greeting_is_frozen_at_the_first_turn(stage: Stage) -> None:
    stage.card(initvar="hp: 10\n")
    begun = stage.begin()
    greeting = {**stage.initial_scope(begun), "mode": "greeting"}
    assert stage.rt.mvu.card_snapshot(greeting)["variables"]["stat_data"] == {"hp": 10}
    stage.write(stage.bind(stage.initial_scope(begun)), {"stat_data": {"hp": 7}}, 0, operation="replace")
    stage.turn(begun["sessionId"], delta("hp", -1))
    stage.edit(begun["sessionId"], {"hp": 1})
    assert stage.rt.mvu.card_snapshot(greeting)["variables"]["stat_data"] == {"hp": 7}
    with refuses("MVU_READ_ONLY"):
        stage.bind(greeting)
    with refuses("MVU_SCOPE"):
        stage.rt.mvu.card_snapshot({**greeting, "nodeId": "n"})
    with refuses("MVU_READ_ONLY"):
        stage.rt.mvu.card_snapshot({**greeting, "characterId": "other"})


def test_scenario_188_a_token_of_another_deployment_is_stale(kept: Stage) -> None:
    kept.card()
    begun = kept.begin()
    view = kept.rt.mvu.card_snapshot(kept.initial_scope(begun))["viewIdentity"]
    kept.restart()
    with refuses("MVU_READ_ONLY"):
        kept.rt.mvu.card_snapshot(kept.initial_scope(begun, **view))


def test_scenarios_189_and_192_a_timeline_that_moves_ends_the_binding(stage: Stage) -> None:
    begun, turn = played(stage)
    session = begun["sessionId"]
    scope = stage.message_scope(begun, turn)
    bound = stage.bind(scope)
    swiped = stage.branch(session, "reply-swipe", turn["endEventId"])["sessionId"]
    again = stage.turn(swiped, delta("hp", -3))
    with refuses("MVU_READ_ONLY"):
        stage.write(bound, [], 1)
    stage.rt.playthroughs.activate(begun["playthroughId"], turn["nodeId"], turn["variantId"], stage.op())
    assert stage.write(bound, [{"op": "delta", "path": "/hp", "value": -1}], 1)["variables"]["stat_data"] == {"hp": 8}
    other = stage.message_scope(begun, again, swiped)
    assert stage.rt.mvu.card_snapshot(other)["variables"]["stat_data"] == {"hp": 7}
    with refuses("MVU_READ_ONLY"):
        stage.bind(other)


def test_scenario_258_each_greeting_keeps_its_own_values(kept: Stage) -> None:
    kept.card(greetings=GREETINGS)
    begun = kept.begin()
    play, session = begun["playthroughId"], begun["sessionId"]

    def select(index: int) -> Any:
        kept.rt.playthroughs.select_greeting(play, session, index, kept.op())
        return kept.data(session)

    assert kept.data(session) == {"hp": 80}
    kept.edit(session, {"hp": 75})
    assert select(1) == {"hp": 35}
    kept.edit(session, {"hp": 70})
    kept.restart()
    assert select(0) == {"hp": 75}
    assert select(1) == {"hp": 70}
    assert select(2) == {"hp": 100}
    select(1)
    kept.rt.mvu.reset_greeting(session, kept.op())
    assert kept.data(session) == {"hp": 35}
    assert select(0) == {"hp": 75}
    kept.turn(session, delta("hp", -5))
    assert kept.data(session) == {"hp": 70}
    with refuses("MVU_READ_ONLY"):
        kept.rt.mvu.reset_greeting(session, kept.op())


def test_a_switch_of_greetings_is_one_version(stage: Stage) -> None:
    stage.card(greetings=GREETINGS)
    begun = stage.begin()
    stage.rt.playthroughs.select_greeting(begun["playthroughId"], begun["sessionId"], 1, stage.op())
    assert stage.record(begun["sessionId"])["revision"] == 1
    snapshot = stage.rt.mvu.card_snapshot(stage.initial_scope(begun))
    assert snapshot["firstMessage"]["greetingIndex"] == 1
    assert snapshot["firstMessage"]["messageCount"] == 1


def test_the_first_message_has_its_names(stage: Stage) -> None:
    stage.card(greetings=GREETINGS, name="Ada")
    begun = stage.begin(user_name="Bob")
    text = stage.rt.mvu.card_snapshot(stage.initial_scope(begun))["firstMessage"]["text"]
    assert text.startswith("Hello, Bob, says Ada.")


@pytest.mark.parametrize(
    "request_",
    [
        {"operation": "merge"},
        {"cause": "user"},
        {"operationId": ""},
        {"operationId": "x" * 201},
        {"expectedRevision": -1},
        {"expectedRevision": "1"},
        {"expectedRevision": True},
    ],
)
def test_malformed_writes_are_refused_without_a_trace(stage: Stage, request_: dict[str, Any]) -> None:
    begun, turn = played(stage)
    bound = stage.bind(stage.message_scope(begun, turn))
    body = {
        "capability": bound["capability"],
        "operation": "patch",
        "value": [],
        "expectedRevision": 1,
        "operationId": "o",
        "cause": "script",
        **request_,
    }
    with refuses("MVU_OPERATION"):
        stage.rt.mvu.card_write(body)
    assert phases(stage, begun["sessionId"]) == []


def test_scenario_216_a_denied_write_is_told(stage: Stage) -> None:
    begun, turn = played(stage)
    scope = stage.message_scope(begun, turn)
    bound = stage.bind(scope)
    stage.rt.mvu.bindings._grants._grants.clear()
    with refuses("MVU_WRITE_DENIED"):
        stage.write(bound, [{"op": "delta", "path": "/hp", "value": -1}], 1, cause="interval")
    assert stage.data(begun["sessionId"]) == {"hp": 9}


@pytest.mark.parametrize(
    "change",
    [
        {"downloaded": False},
        {"enabled": 1},
        {"source": "{}"},
        {"source": 5},
        {"source": "not json"},
        {"sourceIdentity": {}},
        {"executionId": "x"},
    ],
)
def test_scenario_245_grants_check_their_request(stage: Stage, change: dict[str, Any]) -> None:
    begun, turn = played(stage)
    good = stage.grant(stage.message_scope(begun, turn))
    request = {"source": "{}", "sourceIdentity": good["sourceIdentity"], "downloaded": True, "enabled": True, **change}
    with refuses("GRANT_INVALID"):
        stage.rt.mvu.grants.grant(request)


def test_scenario_251_the_65th_grant_waits_for_a_free_place(stage: Stage) -> None:
    begun, turn = played(stage)
    scope = stage.message_scope(begun, turn)
    grants = [stage.grant(scope) for _ in range(64)]
    with refuses("GRANT_LIMIT"):
        stage.grant(scope)
    stage.rt.mvu.grants.revoke(grants[0]["grantId"])
    assert stage.grant(scope)["ok"] is True
