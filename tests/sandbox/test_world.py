"""What a helper finds and what it cannot do: events, the gate, variables, freshness (spec/mvu.md §6)."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox import Budget, HelperCall, ProcessSandbox
from sandbox.errors import DECLARATION, EXECUTION, LIMIT, OUTPUT, REGISTRATION
from tests.sandbox.helpers import VARIABLES, commands, kept, listener, refused

BLOCK = "<本轮APP操作>\n<本轮执行边界>只此一次</本轮执行边界>\n<操作项>买灯</操作项>\n</本轮APP操作>"
GATED = "const gate = globalThis.Door;" + listener(
    "if (gate.extractOperationBlock(gate.latestUserText()) === '') commands.length = 0;"
)


def test_scenario_037_make_last_moves_and_counts_once(shared: ProcessSandbox) -> None:
    source = """
      const first = (variables, commands) => { commands.splice(0, 1); };
      const second = (variables, commands) => { commands.reverse(); };
      eventMakeLast(Mvu.events.COMMAND_PARSED, first);
      eventOn(Mvu.events.COMMAND_PARSED, second);
      eventMakeLast(Mvu.events.COMMAND_PARSED, first);
    """
    assert shared.register("s37", source) == 2
    assert kept(shared, source, owner="s37", count=2) == [0]  # reversed first, then the first of [1, 0] dropped


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("variables.stat_data.hp = 1;", EXECUTION),
        ("for (;;);", EXECUTION),
        ("fetch('http://localhost/');", EXECUTION),
        ("return Promise.resolve();", EXECUTION),
        ("commands[0].args = 5;", OUTPUT),
    ],
)
def test_scenario_038_a_failed_call_does_not_poison_the_next(shared: ProcessSandbox, body: str, code: str) -> None:
    assert refused(shared, listener(body), owner="s38").code == code
    assert kept(shared, listener("commands.pop();"), owner="s38") == [0, 1, 2]


@pytest.mark.parametrize(
    ("user_text", "count"),
    [
        (BLOCK, 1),
        (f"先说话。{BLOCK}再说话。", 1),
        ("", 0),
        ("没有操作", 0),
        (BLOCK + BLOCK, 0),
        (BLOCK + "<本轮操作>", 0),
        (BLOCK + "</本轮APP操作>", 0),
        (BLOCK.replace("</本轮APP操作>", "</本轮操作>"), 0),
        (BLOCK.replace("<操作项>", ""), 0),
        (BLOCK.replace("本轮执行边界", ""), 0),
        (BLOCK.replace("只此一次", "话" * 30_000), 0),
        (BLOCK + "话" * 65_536, 0),
    ],
)
def test_scenario_039_the_gate_opens_for_one_whole_block(shared: ProcessSandbox, user_text: str, count: int) -> None:
    assert len(kept(shared, GATED, owner="s39", count=1, gate="Door", user_text=user_text)) == count


def test_a_gate_is_there_under_its_name_and_frozen(shared: ProcessSandbox) -> None:
    probe = """
      const gate = globalThis.Door;
      if (Object.keys(gate).join() !== 'latestUserText,extractOperationBlock' || !Object.isFrozen(gate)) throw 1;
      if (gate.latestUserText() !== '') throw 2;
    """ + listener("if (globalThis.Door.latestUserText() !== 'hello') throw 3;")
    assert kept(shared, probe, owner="gate", gate="Door", user_text="hello") == [0, 1, 2, 3]
    assert refused(shared, "globalThis.Door.latestUserText()", owner="gate").code == EXECUTION
    assert refused(shared, probe, owner="gate", gate="Math").code == DECLARATION


def test_nothing_survives_from_one_reply_to_the_next(shared: ProcessSandbox) -> None:
    source = "let calls = 0;" + listener(
        "calls += 1; globalThis.seen = (globalThis.seen || 0) + 1; commands.length = calls + seen;"
    )
    assert [kept(shared, source, owner="fresh") for _ in range(3)] == [[0, 1]] * 3


def test_dice_are_the_same_for_every_call_and_every_child(shared: ProcessSandbox) -> None:
    source = listener("for (const c of commands) c.full_match = String(Math.random() + Date.now());")
    first = kept(shared, source, owner="dice")
    assert kept(shared, source, owner="dice") == first
    assert kept(shared, source, owner="dice2") == first
    shared.retire("dice")
    assert kept(shared, source, owner="dice") == first
    assert len({command["full_match"] for command in first}) == len(first)


def test_variables_are_made_only_for_scripts_that_read_them(shared: ProcessSandbox) -> None:
    asked: list[int] = []

    def make() -> str:
        asked.append(1)
        return VARIABLES

    assert kept(shared, listener("commands.pop();"), owner="lazy", variables=make) == [0, 1, 2]
    assert not asked
    source = listener("if (variables.stat_data.hp === 10) commands.length = 1;")
    assert kept(shared, source, owner="lazy", variables=make) == [0]
    assert kept(shared, source, owner="lazy", variables=make) == [0]
    assert len(asked) == 2
    swallowed = listener(
        "let hp = 0; try { hp = variables.stat_data.hp } catch (e) {} commands.length = hp === 10 ? 2 : 0;"
    )
    assert kept(shared, swallowed, owner="lazy", variables=make) == [0, 1]


def test_a_script_that_runs_away_without_variables_gets_them_next_time(shared: ProcessSandbox) -> None:
    source = listener("try { variables.stat_data } catch (e) { for (;;); } commands.pop();")
    assert kept(shared, source, owner="runaway") == [0, 1, 2]


def test_a_child_killed_while_variables_were_absent_is_asked_again_with_them(shared: ProcessSandbox) -> None:
    source = listener(
        "try { variables.stat_data } catch (e) { Array.prototype.reverse.call({length: 2 ** 53 - 1}); } commands.pop();"
    )
    assert refused(shared, source, owner="natively").retryable
    assert kept(shared, source, owner="natively") == [0, 1, 2]


def test_source_is_measured_in_utf16_units(shared: ProcessSandbox) -> None:
    units = Budget().source_units
    base = listener("")
    comment = "/*" + "𝕏" * ((units - len(base) - 4) // 2) + "*/"
    assert shared.register("long", base + comment) == 1
    error = refused(shared, base + comment + "𝕏𝕏", owner="long")
    assert (error.code, error.retryable, error.bound) == (LIMIT, False, "source")


def test_registration_answers_the_count_or_the_error(shared: ProcessSandbox) -> None:
    from sandbox import SandboxError

    assert shared.register("count", listener("")) == 1
    with pytest.raises(SandboxError) as caught:
        shared.register("count", "console.log('nothing')")
    assert caught.value.code == REGISTRATION and not caught.value.retryable


def test_errors_name_the_place_in_the_script(shared: ProcessSandbox) -> None:
    message = refused(shared, listener("\nconst a = null;\na.b;"), owner="place").message
    assert "TypeError" in message and ":4:" in message, message


json_texts = st.text(max_size=40)
views = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["set", "add", "insert", "delete", "move"]),
            "args": st.lists(json_texts, max_size=4),
            "full_match": json_texts,
            "reason": st.sampled_from(["legacy", "json_patch", ""]),
        }
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_views=views, text=json_texts, lone=st.booleans())
def test_what_is_not_touched_comes_back_as_it_was(
    shared: ProcessSandbox, given_views: list[dict[str, Any]], text: str, lone: bool
) -> None:
    if lone:
        text += "\ud800"
        given_views = [{**view, "full_match": view["full_match"] + "\udc00\ud800x"} for view in given_views]
    call = HelperCall("round", listener("void text;"), VARIABLES, given_views, text)
    assert list(shared.run(call).commands) == given_views


def test_large_answers_come_in_parts(shared: ProcessSandbox) -> None:
    word = "名😀\ud83d x" * 30_000
    given_views = [{**view, "full_match": word + str(place)} for place, view in enumerate(commands(5))]
    call = HelperCall("parts", listener(""), VARIABLES, given_views, word)
    assert list(shared.run(call).commands) == given_views


def test_large_state_and_reply_are_processed(shared: ProcessSandbox) -> None:
    state = json.dumps({"stat_data": {f"k{n}": "值" * 10 for n in range(25_000)}}, ensure_ascii=False)
    assert len(state) > 400_000
    source = listener(
        "if (Object.keys(variables.stat_data).length === 25000 && text.length > 9e5) commands.length = 1;"
    )
    assert kept(shared, source, owner="large", variables=state, text="a" * 950_000) == [0]


def test_filters_agree_with_python(shared: ProcessSandbox) -> None:
    dice = random.Random(5)
    for _ in range(20):
        wanted = sorted(dice.sample(range(8), dice.randrange(8)))
        body = (
            f"const wanted = new Set({wanted}); for (let i = 7; i >= 0; i--) if (!wanted.has(i)) commands.splice(i, 1);"
        )
        assert kept(shared, listener(body), owner="filter", count=8) == wanted
