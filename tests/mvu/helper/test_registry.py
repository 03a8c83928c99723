"""Registrations: receipts, replacement, races, failures that hide nothing (spec/mvu.md §6, §0.13, §0.14)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from runtime.mvu.commands import parse_commands
from runtime.mvu.helper import (
    ERRORS,
    Helper,
    HelperError,
    HelperRegistry,
    ProcessorHost,
    detect_helper,
    load_processors,
    process_reply,
)
from runtime.values.rows import InnkeeperError
from sandbox import HelperCall, HelperResult, ProcessSandbox, SandboxError
from sandbox.errors import DECLARATION, DISPOSED, EXECUTION, REGISTRATION


def text(body: str = "") -> str:
    return f"eventOn('global_Mvu_initialized', () => eventOn(Mvu.events.COMMAND_PARSED, (v, c) => {{{body}}}));"


def helper(body: str = "") -> Helper:
    found = detect_helper(text(body))
    assert found is not None
    return found


SILENT = "eventOn('global_Mvu_initialized', () => Mvu.events.COMMAND_PARSED);"


class Counting:
    """A sandbox that counts loads, and can be told to wait or to fail."""

    def __init__(self) -> None:
        self.loads: list[str] = []
        self.gate: threading.Event | None = None
        self.entered = threading.Event()
        self.error: SandboxError | None = None

    def run(self, call: HelperCall) -> HelperResult:
        return HelperResult(tuple(dict(command) for command in call.commands))

    def register(self, owner: str, source: str, gate: str | None = None) -> int:
        self.loads.append(source)
        self.entered.set()
        if self.gate is not None:
            self.gate.wait(5)
        if self.error is not None:
            raise self.error
        return 1

    def status(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def real() -> Iterator[ProcessSandbox]:
    with ProcessSandbox() as found:
        yield found


def test_a_receipt_says_what_is_registered(real: ProcessSandbox) -> None:
    registry = HelperRegistry(real, "deployment")
    registered = registry.register_command_processor("mvu:a", text())
    receipt = registered.receipt
    assert {**receipt, "registrationId": "x"} == {
        "protocolVersion": 1,
        "registered": True,
        "registrationId": "x",
        "source": text(),
        "sha256": helper().sha256,
        "listenerCount": 1,
    }
    assert receipt["registrationId"]
    assert registry.command_processor("mvu:a", None) == receipt
    registered.dispose()
    assert registry.command_processor("mvu:a", None) is None


def test_scenario_041_repeated_reads_keep_the_registration(real: ProcessSandbox) -> None:
    registry = HelperRegistry(real, "deployment")
    first = registry.command_processor("mvu:a", helper())
    assert first is not None and first["registered"]
    assert registry.command_processor("mvu:a", helper()) == first
    other_worker = HelperRegistry(real, "deployment").command_processor("mvu:a", helper())
    assert other_worker == first
    assert HelperRegistry(real, "restarted").command_processor("mvu:a", helper()) != first


def test_concurrent_reads_share_one_load() -> None:
    counting = Counting()
    registry = HelperRegistry(counting, "d")
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: registry.command_processor("mvu:a", helper()), range(32)))
    assert len(counting.loads) == 1
    assert all(answer == answers[0] for answer in answers)


def test_scenario_045_an_old_disposer_keeps_the_new_registration() -> None:
    registry = HelperRegistry(Counting(), "d")
    old = registry.register_command_processor("mvu:a", text())
    new = registry.register_command_processor("mvu:a", text("c.pop();"))
    assert old.receipt["registrationId"] != new.receipt["registrationId"]
    generation = registry.generation("mvu:a")
    old.dispose()
    assert registry.generation("mvu:a") == generation
    assert registry.command_processor("mvu:a", None) == new.receipt
    new.dispose()
    assert registry.current("mvu:a") is None
    assert registry.generation("mvu:a") != generation


def test_who_loses_the_race_is_cancelled() -> None:
    counting = Counting()
    registry = HelperRegistry(counting, "d")
    counting.gate = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(registry.register_command_processor, "mvu:a", text())
        assert counting.entered.wait(5)
        gate, counting.gate = counting.gate, None
        won = registry.register_command_processor("mvu:a", text("c.pop();"))
        gate.set()
        with pytest.raises(HelperError) as caught:
            slow.result(5)
    assert caught.value.code == "MVU_USAGE_CANCELLED"
    assert registry.command_processor("mvu:a", None) == won.receipt


def test_an_explicit_registration_wins_over_the_cards_helper() -> None:
    registry = HelperRegistry(Counting(), "d")
    explicit = registry.register_command_processor("mvu:a", text("c.pop();"))
    assert registry.command_processor("mvu:a", helper()) == explicit.receipt
    explicit.dispose()
    own = registry.command_processor("mvu:a", helper())
    assert own is not None and own["source"] == text()


def test_a_changed_card_replaces_its_registration() -> None:
    registry = HelperRegistry(Counting(), "d")
    first = registry.ensure("mvu:a", helper())
    second = registry.ensure("mvu:a", helper("c.pop();"))
    assert first.registration_id != second.registration_id and second.generation > first.generation
    registry.forget("mvu:a")
    assert registry.current("mvu:a") is None


def test_a_failing_helper_never_hides_state(real: ProcessSandbox) -> None:
    registry = HelperRegistry(real, "d")
    silent = detect_helper(SILENT)
    assert silent is not None
    record = registry.command_processor("mvu:a", silent)
    assert record == {
        "protocolVersion": 1,
        "registered": False,
        "source": SILENT,
        "sha256": silent.sha256,
        "error": {"code": REGISTRATION, "message": record["error"]["message"] if record else ""},
    }


def test_final_failures_are_remembered_and_retryable_ones_are_not() -> None:
    counting = Counting()
    now = [100.0]
    registry = HelperRegistry(counting, "d", clock=lambda: now[0])
    counting.error = SandboxError(REGISTRATION, "none", False, "script")
    for _ in range(3):
        record = registry.command_processor("mvu:a", helper())
        assert record is not None and record["error"]["code"] == REGISTRATION
    assert len(counting.loads) == 1
    counting.error = SandboxError(EXECUTION, "late", True, "deadline")
    for _ in range(2):
        record = registry.command_processor("mvu:a", helper("c.pop();"))
        assert record is not None and record["error"]["code"] == EXECUTION
    assert len(counting.loads) == 2  # reads are patient …
    with pytest.raises(HelperError):
        registry.ensure("mvu:a", helper("c.pop();"))
    assert len(counting.loads) == 3  # … a reply that is to be applied is not
    counting.error = None
    now[0] += 31
    record = registry.command_processor("mvu:a", helper("c.pop();"))
    assert record is not None and record["registered"]


def test_unknown_resources_scripts_and_closed_registries_are_refused() -> None:
    registry = HelperRegistry(Counting(), "d", exists=lambda resource_id: resource_id == "mvu:a")
    for resource_id, source, code in (("mvu:b", text(), "MVU_MISSING"), ("mvu:a", "1", DECLARATION)):
        with pytest.raises(HelperError) as caught:
            registry.register_command_processor(resource_id, source)
        assert caught.value.code == code
    registry.close()
    with pytest.raises(HelperError) as caught:
        registry.register_command_processor("mvu:a", text())
    assert caught.value.code == DISPOSED
    record = registry.command_processor("mvu:a", helper())
    assert record is not None and record["error"]["code"] == DISPOSED


@pytest.mark.parametrize(
    ("receipt", "confirmed"),
    [
        ({}, True),
        ({"source": text() + " "}, False),
        ({"registered": False}, False),
        ({"registrationId": ""}, False),
        ({"listenerCount": 0}, False),
    ],
)
def test_scenario_051_only_the_exact_receipt_replaces_a_helper(receipt: dict[str, Any], confirmed: bool) -> None:
    from runtime.mvu.helper import receipt_confirms

    own = HelperRegistry(Counting(), "d").command_processor("mvu:a", helper())
    assert own is not None
    assert receipt_confirms({**own, **receipt}, text()) is confirmed
    assert receipt_confirms(None, text()) is False
    assert receipt_confirms(own, text("c.pop();")) is False


def test_a_budget_is_retryable_and_a_script_error_is_final(real: ProcessSandbox) -> None:
    for body, retryable in (("for (;;);", True), ("throw new Error('no')", False), ("c[0].type = 'x';", False)):
        with pytest.raises(HelperError) as caught:
            process_reply(real, "mvu:a", helper(body), "_.set('hp', 1)", {}, parse_commands)
        assert caught.value.retryable is retryable


EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "plugins"


def test_the_example_plugin_chooses_for_cards(monkeypatch: pytest.MonkeyPatch, real: ProcessSandbox) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, "house_rules", raising=False)
    registry = HelperRegistry(real, "d")
    host = ProcessorHost(registry)
    assert load_processors(host, ["house_rules"], points=()) == ["house_rules"]
    chosen = host.helper_for({"id": "mvu:a", "characterId": "c"}, helper())
    assert chosen is not None and chosen.source != text()
    assert host.helper_for({"id": "mvu:b"}, helper()) == helper()
    receipt = registry.command_processor("mvu:a", chosen)
    assert receipt is not None and receipt["registered"]
    reply = "_.set('hp', 1) _.set('a._secret', 2)"
    outcome = process_reply(real, "mvu:a", chosen, reply, {}, parse_commands)
    assert [command.path for command in outcome.commands] == [("hp",)]


def test_plugins_come_from_entry_points_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    host = ProcessorHost(HelperRegistry(Counting(), "d"))
    point = EntryPoint(name="house-rules", value="house_rules:install", group="innkeeper.processors")
    assert load_processors(host, points=[point]) == ["house-rules"]
    registered = host.register_command_processor("mvu:x", text())
    assert registered.receipt["registered"]
    for broken in ("no_such_module_here", "json"):
        with pytest.raises(InnkeeperError) as caught:
            load_processors(host, [broken], points=())
        assert caught.value.code == "MVU_CONFIG" and broken in caught.value.message


def test_a_chooser_can_be_taken_back_and_must_answer_with_a_helper() -> None:
    host = ProcessorHost(HelperRegistry(Counting(), "d"))
    dispose = host.choose_command_processor(lambda _resource: "1")
    with pytest.raises(HelperError) as caught:
        host.helper_for({"id": "mvu:a"}, None)
    assert caught.value.code == DECLARATION
    dispose()
    dispose()
    assert host.helper_for({"id": "mvu:a"}, None) is None


def test_error_rows_are_the_sandboxes() -> None:
    from sandbox.errors import ERRORS as SANDBOX_ERRORS

    assert [row.code for row in ERRORS] == [row.code for row in SANDBOX_ERRORS]
