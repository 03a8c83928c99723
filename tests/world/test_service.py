"""The service and its endpoints over a store in memory (spec/http.md, World kernel)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.values.rows import InnkeeperError
from runtime.world import api
from runtime.world.limits import SNAPSHOT_EVENTS
from runtime.world.service import WorldService
from runtime.world.store import MemoryStore
from tests.world.support import CLOCKHOUSE, FERRY, PACKS, files_of, service


def ready(path: Path = FERRY, role: str = "play", **settings: Any) -> tuple[WorldService, MemoryStore, str]:
    store = MemoryStore()
    world = service(store, **settings)
    pack = api.post_pack(world, {"files": files_of(path)})
    assert pack["ok"], pack["diagnostics"]
    opened = api.post_session(world, {"packId": pack["packId"], "role": role, "operationId": "open", "seed": "s"})
    return world, store, opened["sessionId"]


def refused(code: str, call: Any, *arguments: Any) -> InnkeeperError:
    with pytest.raises(InnkeeperError) as caught:
        call(*arguments)
    assert caught.value.code == code, caught.value
    return caught.value


def test_an_evening_over_the_endpoints() -> None:
    world, store, name = ready()
    opened = api.get_session(world, name)
    assert (opened["turn"], opened["role"], opened["packId"]) == (0, "play", "lantern-ferry")
    assert "rng_seed" not in opened["state"]
    body = {"text": "I grapple with Harrow", "expectedTurn": 0, "operationId": "m1"}
    said = api.post_message(world, name, body)
    assert said["staged"] == ["harrow"]
    assert [item["status"] for item in said["forced"]] == ["ran"]
    assert said["receipts"][0]["xi"]["kind"] == "bernoulli"
    assert said["turn"] == 1
    assert "Harrow" in said["context"]
    assert [event["type"] for event in said["events"]] == ["stage", "check"]
    assert api.post_message(world, name, body) == said
    assert api.get_session(world, name)["turn"] == 1
    fact = {"intent": {"type": "fact", "pointer": "facts.clue_one", "value": "an anchor"}, "expectedTurn": 1}
    noted = api.post_turn(world, name, {**fact, "operationId": "t1"})
    assert (noted["ok"], noted["turn"], noted["receipt"]["kind"]) == (True, 2, "fact")
    events = api.get_events(world, name, 1, 1)
    assert [(event["index"], event["type"]) for event in events["events"]] == [(1, "check")]
    assert (events["next"], events["total"]) == (2, 3)
    assert set(events["events"][0]) >= {"recipe", "canonHash", "resolved", "patch", "actors"}
    tool = api.post_tool(world, name, "state_read", {"arguments": '{"pointer": "facts.clue_one"}', "operationId": "r1"})
    assert tool["receipt"]["value"] == "an anchor"
    back = api.post_command(world, name, {"text": "/retry", "expectedTurn": 2, "operationId": "c1"})
    assert back["fork"] == {"sessionId": f"{name}~retry", "from": name, "checkId": "contest"}
    child = back["sessionId"]
    assert api.get_session(world, child)["state"]["present"] == ["wren", "harrow"]
    assert api.get_session(world, name)["turn"] == 2
    again = api.post_turn(
        world,
        child,
        {
            "intent": {"type": "check", "checkId": "contest", "actors": said["forced"][0]["actors"]},
            "expectedTurn": 0,
            "operationId": "t2",
        },
    )
    assert again["receipt"]["xi"] == said["receipts"][0]["xi"]
    second = api.post_command(world, name, {"text": "/retry contest", "expectedTurn": 2, "operationId": "c2"})
    assert second["sessionId"] not in (child, name)
    assert len(store.sessions) == 3


def test_reads() -> None:
    world, _, name = ready()
    context = api.get_context(world, name)
    assert context["data"]["pc"] == "wren"
    assert "Numbers change only" in context["text"]
    assert "rank" not in context["text"]
    assert len(api.get_tools(world, "play")["tools"]) == 5
    hits = api.post_match(world, name, {"tags": ["insight"]})
    assert hits == {"forced": [{"checkId": "insight", "actors": {"seer": "wren"}}]}
    pack = api.get_pack(world, "lantern-ferry")
    assert (pack["ok"], len(pack["checks"]), len(pack["lore"])) == (True, 4, 22)


def test_a_refusal_is_an_answer_and_is_remembered() -> None:
    world, _, name = ready()
    body = {"intent": {"type": "fact", "pointer": "scene", "value": "x"}, "expectedTurn": 0, "operationId": "t1"}
    answer = api.post_turn(world, name, body)
    assert (answer["ok"], answer["code"], answer["events"], answer["turn"]) == (False, "CHANNEL_VIOLATION", [], 0)
    assert api.post_turn(world, name, body) == answer
    refused("WORLD_IDEMPOTENCY_CONFLICT", api.post_turn, world, name, {**body, "expectedTurn": 1})


# endpoint, body -> code
BAD: tuple[tuple[str, Any, str], ...] = (
    ("post_turn", {}, "WORLD_REQUEST"),
    ("post_turn", [], "WORLD_REQUEST"),
    ("post_turn", {"intent": {"type": "look"}, "expectedTurn": 7, "operationId": "x"}, "WORLD_TURN_CONFLICT"),
    ("post_turn", {"intent": {"type": "look"}, "expectedTurn": True, "operationId": "x"}, "WORLD_REQUEST"),
    ("post_turn", {"intent": {"type": "look"}, "expectedTurn": 0, "operationId": ""}, "WORLD_REQUEST"),
    ("post_turn", {"intent": {"type": "look"}, "expectedTrun": 0, "operationId": "x"}, "WORLD_REQUEST"),
    ("post_turn", {"intent": {"type": "dance"}, "expectedTurn": 0, "operationId": "x"}, "WORLD_INTENT"),
    ("post_turn", {"intent": [], "expectedTurn": 0, "operationId": "x"}, "WORLD_INTENT"),
    ("post_turn", {"intent": {"type": "look", "u": 1}, "expectedTurn": 0, "operationId": "x"}, "WORLD_INTENT"),
    ("post_turn", {"intent": {"type": "look"}, "expectedTurn": 0, "operationId": "x", "u": 0.5}, "WORLD_TEST_MODE"),
    ("post_message", {"text": "x" * 70_000, "expectedTurn": 0, "operationId": "x"}, "WORLD_LIMIT"),
    ("post_message", {"text": 3, "expectedTurn": 0, "operationId": "x"}, "WORLD_REQUEST"),
    ("post_match", {"tags": "contest"}, "WORLD_REQUEST"),
    ("post_match", {"tags": [], "actors": {"a": 1}}, "WORLD_INTENT"),
)


@pytest.mark.parametrize(("endpoint", "body", "code"), BAD)
def test_bad_requests_are_refused_and_change_nothing(endpoint: str, body: object, code: str) -> None:
    world, _, name = ready()
    before = api.get_session(world, name)
    assert refused(code, getattr(api, endpoint), world, name, body).message
    assert api.get_session(world, name) == before


def test_unknown_things_have_their_own_codes() -> None:
    world = service()
    refused("WORLD_PACK_UNKNOWN", api.get_pack, world, "none")
    refused("WORLD_SESSION_UNKNOWN", api.get_session, world, "none")
    body = {"packId": "none", "role": "play", "operationId": "x"}
    refused("WORLD_PACK_UNKNOWN", api.post_session, world, body)
    refused("WORLD_REQUEST", api.get_tools, world, "king")


def test_a_pack_with_errors_is_shown_and_not_played() -> None:
    world = service()
    files = files_of(CLOCKHOUSE)
    files["checks/attune.yaml"] = files["checks/attune.yaml"].replace("0.3 * attune", "0.3 * attun")
    pack = api.post_pack(world, {"files": files})
    errors = [item for item in pack["diagnostics"] if item["severity"] == "error"]
    assert (pack["ok"], errors[0]["code"], errors[0]["file"], errors[0]["line"]) == (
        False,
        "BAD_FORMULA",
        "checks/attune.yaml",
        10,
    )
    body = {"packId": "wuqiao-clockhouse", "role": "play", "operationId": "x"}
    error = refused("WORLD_PACK_INVALID", api.post_session, world, body)
    assert error.details["diagnostics"] == errors


def test_a_session_keeps_its_own_rules() -> None:
    world, _, old = ready(CLOCKHOUSE, test_mode=True)
    files = files_of(CLOCKHOUSE)
    files["checks/attune.yaml"] = files["checks/attune.yaml"].replace("clamp(0.45 + 0.3 * attune)", "0.01 + 0 * attune")
    assert api.post_pack(world, {"files": files})["ok"]
    new = api.post_session(world, {"packId": "wuqiao-clockhouse", "role": "play", "operationId": "two"})["sessionId"]
    chances = []
    for name in (old, new):
        intent = {"type": "check", "checkId": "attune", "actors": {"listener": "shenyan"}}
        body = {"intent": intent, "expectedTurn": 0, "operationId": "t", "u": 0.2}
        answer = api.post_turn(world, name, body)
        chances.append((answer["receipt"]["p"], answer["receipt"]["outcome"]))
    assert chances == [(0.45, "success"), (0.01, "failure")]


def test_packs_are_read_below_their_folder_only(tmp_path: Path) -> None:
    world = service(packs_dir=PACKS)
    assert api.post_pack(world, {"directory": "lantern-ferry"})["ok"]
    for directory in ("..", "../..", str(tmp_path), "lantern-ferry/../../.."):
        refused("WORLD_PACK_PATH", api.post_pack, world, {"directory": directory})
    refused("WORLD_PACK_UNREADABLE", api.post_pack, world, {"directory": "none"})
    refused("WORLD_PACK_PATH", api.post_pack, service(), {"directory": "lantern-ferry"})
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "out").symlink_to(PACKS / "lantern-ferry")
    refused("WORLD_PACK_PATH", api.post_pack, service(packs_dir=tmp_path / "inside"), {"directory": "out"})
    refused("WORLD_REQUEST", api.post_pack, world, {"directory": "x", "files": {}})
    refused("WORLD_REQUEST", api.post_pack, world, {"files": {"pack.yaml": 3}})


def test_dice_can_stay_behind_the_screen() -> None:
    store = MemoryStore()
    world = service(store)
    files = files_of(FERRY)
    files["pack.yaml"] += "reveal: outcome\n"
    api.post_pack(world, {"files": files})
    shown = {}
    for role in ("play", "author"):
        body = {"packId": "lantern-ferry", "role": role, "operationId": role, "seed": "s"}
        name = api.post_session(world, body)["sessionId"]
        said = api.post_message(world, name, {"text": "I examine the lamp", "expectedTurn": 0, "operationId": "m"})
        shown[role] = [said["receipts"][0], said["forced"][0]["receipt"], said["events"][0]]
        shown[role].append(api.get_events(world, name)["events"][0])
    for record in shown["play"]:
        assert record["outcome"] in ("success", "failure")
        assert not {"p", "xi"} & set(record)
        assert "p" not in record["inputs"]
    assert all({"p", "xi"} <= set(record) for record in shown["author"])


def test_seats() -> None:
    world = service()
    api.post_pack(world, {"files": files_of(FERRY)})

    def seated(number: int, seat: Any) -> dict[str, Any]:
        body = {"packId": "lantern-ferry", "role": "play", "operationId": str(number), "seat": seat}
        state: dict[str, Any] = api.post_session(world, body)["state"]
        return state

    assert seated(1, {"mode": "easy"})["facts"]["play_mode"] == "easy"
    assert seated(2, {})["facts"]["play_mode"] == "easy"
    custom = seated(3, {"mode": "custom", "name": "Ruth", "vocation": "cooper", "scene": "ferry.chandlery"})
    assert custom["present"] == ["wanderer"]
    assert custom["characters"]["wanderer"]["display_name"] == "Ruth"
    assert (custom["scene"], custom["revealed"][-1]) == ("ferry.chandlery", "ferry-chandlery")
    assert (custom["facts"]["pc_name"], custom["facts"]["pc_vocation"]) == ("Ruth", "cooper")
    cast = seated(4, {"character": "ines"})
    assert (cast["present"], cast["facts"]["play_mode"]) == (["ines", "wren"], "cast")
    for number, seat in enumerate(({"character": "nobody"}, {"scene": "moon"}, {"colour": "x"}, {"name": []}), 5):
        with pytest.raises(InnkeeperError) as caught:
            seated(number, seat)
        assert caught.value.code == "WORLD_REQUEST"


def test_a_custom_hero_is_found_by_name() -> None:
    world = service()
    api.post_pack(world, {"files": files_of(FERRY)})
    body = {"packId": "lantern-ferry", "role": "play", "operationId": "o", "seat": {"name": "Ruth"}}
    name = api.post_session(world, body)["sessionId"]
    said = api.post_message(world, name, {"text": "Ruth and Harrow grapple", "expectedTurn": 0, "operationId": "m"})
    assert said["forced"][0]["actors"] == {"attacker": "wanderer", "defender": "harrow"}


def test_a_turn_needs_its_message_first() -> None:
    world, _, name = ready()
    error = refused("FORCED_CHECK_MISSING", world.missing_checks, name, "I examine the lamp", 0)
    assert error.details == {"checks": ["insight"]}
    world.missing_checks(name, "I hum", 0)
    api.post_message(world, name, {"text": "I examine the lamp", "expectedTurn": 0, "operationId": "m"})
    world.missing_checks(name, "I examine the lamp", 0)
    refused("FORCED_CHECK_MISSING", world.missing_checks, name, "I study the sky", 0)


def test_a_message_that_was_rewound_counts_as_not_run() -> None:
    world, _, name = ready()
    text = "I grapple with Harrow"
    api.post_message(world, name, {"text": text, "expectedTurn": 0, "operationId": "m"})
    world.missing_checks(name, text, 0)
    back = api.post_command(world, name, {"text": "/retry", "expectedTurn": 1, "operationId": "r"})["sessionId"]
    assert [event["type"] for event in api.get_events(world, back)["events"]] == ["stage"]
    refused("FORCED_CHECK_MISSING", world.missing_checks, back, text, 0)


def test_claims_warn_and_change_nothing() -> None:
    world, _, name = ready(test_mode=True)
    before = api.get_session(world, name)
    warnings = world.claims(name, "The Lantern flares, and now I understand everything.", 0)
    assert [(item["code"], item["field"]) for item in warnings] == [
        ("UNCAUSED_CLAIM", "insight"),
        ("UNCAUSED_CLAIM", "light"),
    ]
    assert api.get_session(world, name) == before
    ruling = "/gm characters.wren.light+=0.1 :: oil from Pip"
    api.post_command(world, name, {"text": ruling, "expectedTurn": 0, "operationId": "g"})
    assert [item["field"] for item in world.claims(name, "The lantern flares.", 0)] == []
    assert [item["field"] for item in world.claims(name, "The lantern flares.", 1)] == ["light"]


def test_a_long_log_is_folded_from_snapshots() -> None:
    world, store, name = ready()
    count = SNAPSHOT_EVENTS.default + 5
    for number in range(count):
        intent = {"type": "fact", "pointer": "facts.count", "value": number}
        api.post_turn(world, name, {"intent": intent, "expectedTurn": number, "operationId": str(number)})
    record = store.sessions[name]
    assert record.snapshot is not None
    assert record.snapshot[0] == SNAPSHOT_EVENTS.default
    assert record.snapshot[1]["facts"]["count"] == SNAPSHOT_EVENTS.default - 1
    assert api.get_session(world, name)["state"]["facts"]["count"] == count - 1


def test_a_state_cannot_grow_without_end() -> None:
    world, _, name = ready()
    big = ["x" * 250_000]
    codes = []
    for number in range(12):
        intent = {"type": "fact", "pointer": f"facts.n{number}", "value": big}
        try:
            api.post_turn(world, name, {"intent": intent, "expectedTurn": number, "operationId": str(number)})
        except InnkeeperError as error:
            codes.append(error.code)
            break
    assert codes == ["WORLD_LIMIT"]
    assert len(api.get_session(world, name)["state"]["facts"]) < 20
