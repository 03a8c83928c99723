"""The WebAssembly engine: the same corpus, the same answers, and fuel that is the same every time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import sandbox
from sandbox import DEFAULT_BUDGET, HelperCall, ProcessSandbox, SandboxError
from sandbox.errors import DISPOSED, EXECUTION
from sandbox.selftest import call_for, corpus_path, read_corpus
from sandbox.wasm import WasmSandbox, WasmUnavailable, guest_path
from tests.sandbox.helpers import VARIABLES, commands, listener

pytestmark = pytest.mark.skipif(guest_path() is None, reason="the extra innkeeper[wasm] is not installed")

LONG = {"loop", "memory", "stack"}
ALL_CASES = read_corpus(corpus_path())
CASES = [case for case in ALL_CASES if case.family not in LONG] + [case for case in ALL_CASES if case.family in LONG][
    ::6
]
# Where this engine ends differently: its stack is the machine's, fuel ends long work early, and it is an older QuickJS.
DIFFERENT = {
    "stack_caught": EXECUTION,
    "out_huge_strings": EXECUTION,
    "out_huge_escapes": EXECUTION,
    "eng_regexp_named": EXECUTION,
}
LONGEST_S = 5.0  # about ten times what the longest case takes on an idle machine


@pytest.fixture(scope="module")
def wasm() -> Iterator[WasmSandbox]:
    found = WasmSandbox()
    yield found
    found.close()


def test_the_corpus_holds(wasm: WasmSandbox) -> None:
    failures: list[str] = []
    for case in CASES:
        started = time.monotonic()
        kept: tuple[int, ...] | None = None
        try:
            result = wasm.run(call_for(case))
            outcome = "ok"
            if case.kept is not None:
                texts = [f"_.set('hp{n}', {n})" for n in range(4)]
                kept = tuple(texts.index(command["full_match"]) for command in result.commands)
        except SandboxError as error:
            outcome = error.code
        if outcome != DIFFERENT.get(case.id, case.expect):
            failures.append(f"{case.id}: expected {case.expect}, found {outcome}")
        elif outcome == "ok" and kept != case.kept:
            failures.append(f"{case.id}: kept {kept}")
        if time.monotonic() - started > LONGEST_S:
            failures.append(f"{case.id}: took {time.monotonic() - started:.1f} s")
    assert not failures, "\n".join(failures)


def test_fuel_is_the_same_every_time_and_in_every_thread(wasm: WasmSandbox) -> None:
    source = listener("let n = 0; for (let i = 0; i < 20000; i++) n += i % 7; commands.length = n % 3;")
    call = HelperCall("o", source, VARIABLES, commands(4), "text")
    with ThreadPoolExecutor(4) as threads:
        spent = {future.result() for future in [threads.submit(wasm.fuel_of, call) for _ in range(12)]}
    assert len(spent) == 1
    assert spent.pop() > 100_000


def test_a_spent_budget_is_retryable(wasm: WasmSandbox) -> None:
    with pytest.raises(SandboxError) as caught:
        wasm.run(HelperCall("o", listener("for (;;);"), VARIABLES, commands(4), "text"))
    assert (caught.value.code, caught.value.bound, caught.value.retryable) == (EXECUTION, "fuel", True)


def test_both_engines_answer_alike(wasm: WasmSandbox, shared: ProcessSandbox) -> None:
    state = json.dumps({"stat_data": {"hp": 10, "名": "\ud800"}})
    for body in (
        "commands.reverse(); commands.reverse(); commands.splice(2, 1);",
        "commands[0].full_match = variables.stat_data.名 + Math.random() + new Date() + text;",
        "for (const c of commands) c.reason = [1.5, 1e21, -0, 2 ** 53].join();",
    ):
        call = HelperCall("o", listener(body), state, commands(5), "文😀\udc00")
        assert wasm.run(call) == shared.run(call)
    assert wasm.register("o", listener("")) == shared.register("o", listener("")) == 1


def test_threads_share_the_guest(wasm: WasmSandbox) -> None:
    def work(number: int) -> None:
        source = listener(f"const c = commands[{number % 4}]; commands.length = 0; commands.push(c);")
        result = wasm.run(HelperCall("o", source, VARIABLES, commands(4), "text"))
        assert result.commands == (commands(4)[number % 4],)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(48)))


def test_it_is_chosen_by_name_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="process or wasm"):
        sandbox.create_sandbox("v8")
    chosen = sandbox.create_sandbox("process")
    assert isinstance(chosen, ProcessSandbox)
    chosen.close()
    small = sandbox.create_sandbox("wasm", replace(DEFAULT_BUDGET, fuel=50_000_000))
    assert small.status()["ready"]
    small.close()
    with pytest.raises(SandboxError) as caught:
        small.run(HelperCall("o", listener(""), VARIABLES, commands(1), "text"))
    assert caught.value.code == DISPOSED
    monkeypatch.setattr("sandbox.wasm.GUEST_SHA256", "0")
    with pytest.raises(WasmUnavailable, match="another"):
        sandbox.create_sandbox("wasm")
