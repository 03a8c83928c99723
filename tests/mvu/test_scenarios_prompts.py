"""Scenarios P and the helper's lifecycle of spec/mvu.md §12 on our own host: dependencies, policies, processors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from runtime.mvu.policy import MANAGER
from tests.mvu.stage import Stage, card_bytes, delta, refuses

KEEP_FIRST = """
eventOn('global_Mvu_initialized', () => {
  eventOn(Mvu.events.COMMAND_PARSED, (variables, commands) => { commands.splice(1); });
});
"""
ENDLESS = KEEP_FIRST.replace("commands.splice(1);", "for (;;) {}")
CHEAT = KEEP_FIRST.replace("commands.splice(1);", "commands[0].args[1] = '99';")


@pytest.fixture
def boxed() -> Iterator[Stage]:
    """A stage with a sandbox."""
    made = Stage(with_sandbox=True)
    yield made
    made.close()


def event(usage: str = "prompt-template-dependency", **more: Any) -> dict[str, Any]:
    template = usage == "prompt-template-dependency"
    consumer = (
        {"adapterId": "tavern.prompt-templates", "id": "prompt-template:main"}
        if template
        else {"adapterId": "tavern.world-books", "id": "world-book:state"}
    )
    return {"preview": False, "usage": usage, "consumer": consumer, **more}


def depend(stage: Stage, session: str, **more: Any) -> dict[str, Any] | None:
    scope = {"authority": "local", "sessionId": session}
    return stage.rt.mvu.resolve_prompt_dependency(scope, event(**more), stage.resource_id(session))


def test_scenario_195_a_manager_gives_a_lease(stage: Stage) -> None:
    stage.card(initvar="hp: 7\n")
    session = stage.begin()["sessionId"]
    asked: list[Any] = []

    def decide(call: Any) -> Any:
        asked.append(call)
        return {"enabled": True, "configRevision": 4, "checkCurrent": lambda: True} if len(asked) > 1 else None

    stage.rt.mvu.register_usage(decide, MANAGER)
    assert depend(stage, session) is None
    found = depend(stage, session)
    assert found is not None
    assert (found["content"]["stat_data"], found["revision"], found["configRevision"]) == ({"hp": 7}, 0, 4)
    assert found["checkCurrent"]() is True
    assert asked[1]["on"] == "before_model_request"
    assert asked[1]["managementMode"] == "managed"
    assert not [fact for fact in stage.facts(session) if fact["phase"] == "applied"]


def test_scenario_196_native_defaults_and_denials(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    found = depend(stage, session)
    assert found is not None
    assert found["checkCurrent"]() is True
    for answer in ({"enabled": False}, {"enabled": True}, {"enabled": True, "checkCurrent": lambda: False}):
        dispose = stage.rt.mvu.register_usage(lambda call, answer=answer: answer)  # type: ignore[misc]
        assert depend(stage, session) is None
        dispose()
    stage.rt.mvu.register_usage(
        lambda call: {"enabled": True, "strategy": ["read_content"], "checkCurrent": lambda: True}
    )
    with refuses("MVU_CONFIG"):
        depend(stage, session)


CHANGES = ("edit", "selection", "timeline", "policy", "dispose", "turn")


@pytest.mark.parametrize("change", CHANGES)
def test_scenarios_197_and_207_what_moves_ends_the_lease(stage: Stage, change: str) -> None:
    stage.card()
    stage.card("other")
    begun = stage.begin()
    session, play = begun["sessionId"], begun["playthroughId"]
    found = depend(stage, session)
    assert found is not None
    if change == "edit":
        stage.edit(session, {"hp": 1})
    elif change == "selection":
        for name in ("other", "hero"):
            stage.rt.playthroughs.select_character(play, session, name, stage.op())
    elif change == "timeline":
        turn = stage.turn(session, "nothing")
        stage.rt.playthroughs.activate(play, turn["nodeId"], turn["variantId"], stage.op())
    elif change == "policy":
        stage.rt.mvu.register_usage(lambda call: None)()
    elif change == "dispose":
        stage.rt.mvu.dispose()
    else:
        stage.start_turn(session, 1)
    assert found["checkCurrent"]() is False


@pytest.mark.parametrize(
    ("scope", "more"),
    [
        ({"sessionId": "s"}, {}),
        ({"authority": "remote", "sessionId": "s"}, {}),
        ({"authority": "local", "sessionId": "s", "messageId": "m"}, {}),
        ({"authority": "local", "sessionId": "s", "mode": "initial"}, {}),
        ({"authority": "local", "sessionId": "s"}, {"extra": 1}),
        ({"authority": "local", "sessionId": "s"}, {"turn": -1}),
        ({"authority": "local", "sessionId": "s"}, {"usage": "guest"}),
        ({"authority": "local", "sessionId": "s"}, {"consumer": {"adapterId": "guest", "id": "x"}}),
        ({"authority": "local", "sessionId": "s"}, {"consumer": {"adapterId": "tavern.prompt-templates", "id": "x"}}),
        ({"authority": "local", "sessionId": "s"}, {"preview": None}),
    ],
)
def test_scenario_199_malformed_dependencies(stage: Stage, scope: Any, more: dict[str, Any]) -> None:
    with refuses("MVU_SCOPE", "MVU_AUTHORITY"):
        stage.rt.mvu.resolve_prompt_dependency(scope, {**event(), **more}, "mvu:x")


def test_scenario_201_every_handler_must_decide(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    stage.rt.mvu.register_usage(lambda call: {"enabled": True, "checkCurrent": lambda: True})
    assert depend(stage, session) is not None
    stage.rt.mvu.register_usage(lambda call: None)
    assert depend(stage, session) is None


def test_scenarios_202_and_208_playthroughs_that_share_a_session(stage: Stage) -> None:
    stage.card("hero")
    begun = stage.begin()
    session = begun["sessionId"]
    first = stage.turn(session, delta("hp", -1))
    found = depend(stage, session)
    assert found is not None
    stage.branch(session, "fork", first["endEventId"])
    fresh = depend(stage, session)
    assert fresh is not None
    defaults = stage.rt.mvu.get_management_defaults(stage.resource_id(session), stage.scope(session))
    assert defaults is not None
    assert defaults["configuration"]["type"] == "mvu-state"
    assert defaults["checkCurrent"]() is True


def test_scenario_255_a_request_reads_its_turns_checkpoint(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    stage.turn(session, delta("hp", -10))
    stage.start_turn(session, 2)
    scope = {"authority": "local", "sessionId": session}
    found = stage.rt.mvu.resolve_prompt_dependency(scope, event("world-book-variable", turn=2))
    assert found is not None
    assert found["content"]["stat_data"] == {"hp": 90}
    with refuses("WORLD_BOOK_VARIABLE_DENIED"):
        stage.rt.mvu.resolve_prompt_dependency(scope, event("world-book-variable", turn=99))


BOOK = [
    {"id": 1, "comment": "state", "content": "- {{ format_message_variable::stat_data }}"},
    {"id": 2, "comment": "plain", "content": "Nothing to see."},
]


def test_scenarios_253_and_254_only_activated_entries_read_variables(stage: Stage) -> None:
    stage.card(initvar="hp: 100\ntext: |-\n  {{user}}\n  {{secret}}\n$hidden: 1\n", entries=BOOK)
    session = stage.begin()["sessionId"]
    prompt = stage.rt.requests.prompt(session, {"include": [], "activated": [1, 2]})
    assert "$hidden" not in prompt["worldBook"][0]["text"]
    assert "{{user}}" in prompt["worldBook"][0]["text"]
    assert prompt["worldBook"][1]["text"] == "Nothing to see."
    assert prompt["blocks"] == []
    stage.rt.mvu.register_usage(lambda call: {"enabled": False})
    assert (
        stage.rt.requests.prompt(session, {"include": [], "activated": [2]})["worldBook"][0]["text"]
        == "Nothing to see."
    )
    with refuses("WORLD_BOOK_VARIABLE_DENIED"):
        stage.rt.requests.prompt(session, {"include": [], "activated": [1]})


def test_list_bound_and_has_module(stage: Stage) -> None:
    stage.card()
    session = stage.begin()["sessionId"]
    bound = stage.rt.mvu.list_bound({"sessionId": session})
    assert [item["id"] for item in bound["items"]] == [stage.resource_id(session)]
    assert bound["checkCurrent"]() is True
    stage.edit(session, {"hp": 1})
    assert bound["checkCurrent"]() is False
    assert stage.rt.mvu.has_module(session) is True
    with refuses("SOURCE_BOUND_SCOPE"):
        stage.rt.mvu.list_bound({"mode": "x"})


# -- helpers -------------------------------------------------------------------------------------------------------


def test_scenario_041_a_helper_is_registered_once(boxed: Stage) -> None:
    boxed.card(initvar="hp: 10\nmp: 5\n", helper=KEEP_FIRST)
    session = boxed.begin()["sessionId"]
    first, second = boxed.record(session), boxed.record(session)
    assert first["commandProcessor"]["registered"] is True
    assert first["commandProcessor"]["listenerCount"] == 1
    assert first["commandProcessor"] == second["commandProcessor"]
    assert first["revision"] == 0
    receipt = boxed.turn(session, delta("hp", -2) + delta("mp", -1))["receipts"][0]
    assert (receipt["status"], receipt["revision"]) == ("applied", 1)
    assert [item["reason"] for item in receipt["ignored"]] == ["helper-filtered"]
    assert boxed.data(session) == {"hp": 8, "mp": 5}


def test_scenario_042_a_denied_reply_never_reaches_the_helper(boxed: Stage) -> None:
    boxed.card(initvar="hp: 10\n", helper=ENDLESS)
    session = boxed.begin()["sessionId"]
    boxed.rt.mvu.register_usage(lambda call: {"enabled": False, "reason": "rule"})
    receipt = boxed.turn(session, delta("hp", -2))["receipts"][0]
    assert (receipt["status"], receipt["reason"]) == ("skipped", "rule")


def test_a_helper_out_of_time_decides_nothing(boxed: Stage) -> None:
    boxed.card(initvar="hp: 10\n", helper=ENDLESS)
    session = boxed.begin()["sessionId"]
    turn = boxed.turn(session, delta("hp", -2))
    receipt = turn["receipts"][0]
    assert (receipt["status"], receipt["error"], receipt["retryable"]) == ("failed", "MVU_COMMAND_HOOK_EXECUTION", True)
    assert boxed.record(session)["revision"] == 0
    assert boxed.data(session) == {"hp": 10}
    boxed.rt.cards.add(card_bytes("hp: 10\n", helper=KEEP_FIRST), "hero")
    again = boxed.rt.mvu.apply_reply(session, turn["messageId"], boxed.op())["receipts"][0]
    assert (again["status"], again["revision"]) == ("applied", 1)
    assert boxed.data(session) == {"hp": 8}


def test_a_cheating_helper_is_final(boxed: Stage) -> None:
    boxed.card(initvar="hp: 10\n", helper=CHEAT)
    session = boxed.begin()["sessionId"]
    receipt = boxed.turn(session, delta("hp", -2))["receipts"][0]
    assert (receipt["status"], receipt["error"], receipt["retryable"]) == ("failed", "MVU_COMMAND_HOOK_OUTPUT", False)
    assert boxed.record(session)["revision"] == 1
    assert boxed.data(session) == {"hp": 10}


def test_scenario_045_an_old_disposer_keeps_the_new_registration(boxed: Stage) -> None:
    boxed.card(initvar="hp: 10\nmp: 5\n")
    session = boxed.begin()["sessionId"]
    old = boxed.rt.mvu.register_command_processor(boxed.resource_id(session), CHEAT)
    new = boxed.rt.mvu.register_command_processor(boxed.resource_id(session), KEEP_FIRST)
    old.dispose()
    assert boxed.record(session)["commandProcessor"]["registrationId"] == new.receipt["registrationId"]
    assert boxed.turn(session, delta("hp", -1) + delta("mp", -1))["receipts"][0]["status"] == "applied"
    assert boxed.data(session) == {"hp": 9, "mp": 5}
    new.dispose()
    assert "commandProcessor" not in boxed.record(session)
    with refuses("MVU_MISSING"):
        boxed.rt.mvu.register_command_processor("mvu:nobody", KEEP_FIRST)


def test_scenario_046_the_gate_reads_the_same_turn_only(boxed: Stage) -> None:
    helper = """
    const gate = globalThis.TurnGate;
    eventOn('global_Mvu_initialized', () => {
      eventOn(Mvu.events.COMMAND_PARSED, (variables, commands) => {
        if (!gate.extractOperationBlock(gate.latestUserText())) commands.splice(0);
      });
    });
    """
    boxed.card(initvar="hp: 10\n", helper=helper)
    session = boxed.begin()["sessionId"]
    block = "<本轮操作><本轮执行边界>x</本轮执行边界><操作项>y</操作项></本轮操作>"
    boxed.turn(session, delta("hp", -2), user=block)
    assert boxed.data(session) == {"hp": 8}
    second = boxed.turn(session, delta("hp", -2), user="plain")["receipts"][0]
    assert (second["status"], second["revision"]) == ("no-update", 2)
    assert boxed.data(session) == {"hp": 8}


def test_a_broken_helper_never_hides_state(stage: Stage) -> None:
    stage.card(initvar="hp: 10\n", helper=KEEP_FIRST)
    session = stage.begin()["sessionId"]
    record = stage.record(session)
    assert record["content"]["stat_data"] == {"hp": 10}
    assert record["commandProcessor"]["registered"] is False
    assert record["commandProcessor"]["error"]["code"] == "MVU_COMMAND_HOOK_DISPOSED"
