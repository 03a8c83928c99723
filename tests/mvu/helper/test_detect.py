"""Detection of a card's helper and its gate, and the choice among a card's scripts (spec/mvu.md §6)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest

from runtime.cards.scripts import walk_scripts
from runtime.mvu.helper import HelperError, detect_helper, find_helper
from sandbox.errors import CONFLICT, DECLARATION, LIMIT

PLAIN = "eventOn('global_Mvu_initialized', () => eventOn(Mvu.events.COMMAND_PARSED, (variables, commands) => {}));"
OTHER = PLAIN + " // another"
GATE = "const door = globalThis.{name}; door.latestUserText(); door.extractOperationBlock('');"


def gated(name: str) -> str:
    return PLAIN + GATE.replace("{name}", name)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (PLAIN, True),
        ("eventOn('other', () => {}); // COMMAND_PARSED global_Mvu_initialized", False),
        ("const x = 'COMMAND_PARSED global_Mvu_initialized';", False),
        ("eventOn('global_Mvu_initialized', () => Mvu.events['COMMAND_PARSED']);", False),
        ("on('global_Mvu_initialized', () => Mvu.events.COMMAND_PARSED);", False),
        ("x.eventOn('global_Mvu_initialized', () => Mvu.events.COMMAND_PARSED);", False),
        ("const e = 'global_Mvu_initialized'; eventOn(e, () => Mvu.events.COMMAND_PARSED);", False),
        ('const { events } = Mvu; eventOn("global_Mvu_initialized", () => events.COMMAND_PARSED);', True),
        ("this is no script at all", False),
        ("", False),
    ],
)
def test_what_counts_as_a_helper(source: str, found: bool) -> None:
    helper = detect_helper(source)
    assert (helper is not None) is found
    if helper is not None:
        assert helper.source == source
        assert helper.sha256 == hashlib.sha256(source.encode()).hexdigest()
        assert helper.gate is None


@pytest.mark.parametrize(
    "source",
    [
        PLAIN + "}",
        PLAIN + " function (",
        "import x from 'y';" + PLAIN,
        "await 1;" + PLAIN,
        PLAIN + "(" * 20_000,
        PLAIN + "x=" + "[" * 5_000 + "]" * 5_000,
    ],
)
def test_a_broken_helper_is_refused_by_name(source: str) -> None:
    with pytest.raises(HelperError) as caught:
        detect_helper(source)
    assert caught.value.code == DECLARATION and not caught.value.retryable


def test_a_declaration_error_names_the_line() -> None:
    with pytest.raises(HelperError) as caught:
        detect_helper(PLAIN + "\n\nlet 1;")
    assert caught.value.details["line"] == 3


def test_length_counts_utf16_units_and_only_for_helpers() -> None:
    room = 65_536 - len(PLAIN) - 4
    fits = PLAIN + "/*" + "𝕏" * (room // 2) + "*/"
    assert detect_helper(fits) is not None
    with pytest.raises(HelperError) as caught:
        detect_helper(fits + "𝕏𝕏")
    assert caught.value.code == LIMIT
    assert detect_helper("x" * 100_000) is None


@pytest.mark.parametrize(
    ("source", "gate"),
    [
        (gated("Door"), "Door"),
        (gated("$door_1"), "$door_1"),
        (gated("门"), "门"),
        (PLAIN + "const a = globalThis.Door; a.latestUserText();", None),
        (PLAIN + "const a = globalThis['Door']; a['latestUserText'](); a.extractOperationBlock('');", "Door"),
        (PLAIN + "const a = globalThis.A, b = globalThis.B; a.latestUserText(); b.extractOperationBlock('');", None),
        (PLAIN + "const a = window.Door; a.latestUserText(); a.extractOperationBlock('');", None),
        (PLAIN + "const a = globalThis.Door; a?.latestUserText?.(); a?.extractOperationBlock('');", "Door"),
        (gated("Door") + gated("Door").replace("door", "again"), "Door"),
    ],
)
def test_gate_names(source: str, gate: str | None) -> None:
    helper = detect_helper(source)
    assert helper is not None and helper.gate == gate


@pytest.mark.parametrize(
    "source",
    [
        gated("Door") + gated("Window").replace("door", "again"),
        gated("Mvu"),
        gated("console"),
        gated("JSON"),
        gated("Object"),
        gated("eventOn"),
        gated("constructor"),
        gated("hasOwnProperty"),
        gated("a" * 129),
        PLAIN + "const a = globalThis['a b']; a.latestUserText(); a.extractOperationBlock('');",
        PLAIN + "const a = globalThis['1a']; a.latestUserText(); a.extractOperationBlock('');",
        PLAIN + "const a = globalThis['']; a.latestUserText(); a.extractOperationBlock('');",
    ],
)
def test_bad_gates_are_refused(source: str) -> None:
    with pytest.raises(HelperError) as caught:
        detect_helper(source)
    assert caught.value.code == DECLARATION


def enabled_texts(extensions: Mapping[str, object]) -> list[str]:
    return [script.content for script in walk_scripts(extensions) if script.enabled]


def test_scenario_040_one_enabled_helper_disabled_folder_and_conflict() -> None:
    script = {"type": "script", "name": "helper", "enabled": True, "content": PLAIN}
    one = {"tavern_helper": {"scripts": [{"type": "folder", "scripts": [{"value": script}]}, {"content": "1"}]}}
    helper = find_helper(enabled_texts(one))
    assert helper is not None and helper.source == PLAIN
    pairs = {"tavern_helper": [["scripts", [script]], ["variables", {}]]}
    assert find_helper(enabled_texts(pairs)) == helper
    for off in ({"enabled": False}, {"disabled": True}):
        switched_off = {"tavern_helper": {"scripts": [{"type": "folder", **off, "children": [script]}]}}
        assert find_helper(enabled_texts(switched_off)) is None
    twice = {"tavern_helper": {"scripts": [script, script]}}
    assert find_helper(enabled_texts(twice)) == helper
    different = {"tavern_helper": {"scripts": [script, {**script, "content": OTHER}]}}
    with pytest.raises(HelperError) as caught:
        find_helper(enabled_texts(different))
    assert caught.value.code == CONFLICT
