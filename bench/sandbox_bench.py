"""A helper call on ten commands, warm: the sandbox against the same call in an unlimited engine inside the process, and
against npm ``quickjs-emscripten`` in Node (``QUICKJS_EMSCRIPTEN`` names a folder whose ``node_modules`` has it).

Every engine does the same work: a fresh context, the helper's text, one reply. ``paced`` leaves 50 ms between calls, as
replies do; ``busy`` calls without a pause, so that the sandbox also pays for preparing the next context.

    python -m bench.sandbox_bench [--json]
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import quickjs

from sandbox import HelperCall, ProcessSandbox
from sandbox.wasm import WasmSandbox, guest_path

HERE = Path(__file__).resolve().parent
PAUSE_S = 0.05
PACED, BUSY = 40, 100
COMMANDS = [
    {"type": "set", "args": [f"hp{n}", str(n)], "full_match": f"_.set('hp{n}', {n})", "reason": "legacy"}
    for n in range(10)
]
BLIND = "for (let i = commands.length - 1; i >= 0; i--) if (commands[i].args[0] === 'hp3') commands.splice(i, 1);"
READS = BLIND + " if (Object.keys(variables).length === 0) commands.length = 0;"

# What an unlimited engine needs to do the same: events, one reply, the commands as JSON.
SHIM = """
const listeners = {};
globalThis.Mvu = {events: {COMMAND_PARSED: 'mag_command_parsed'}};
globalThis.eventOn = (event, listener) => (listeners[event] ??= []).push(listener);
globalThis.__reply = (variables, commands, text) => {
  for (const listener of listeners.global_Mvu_initialized) listener();
  const v = JSON.parse(variables), c = JSON.parse(commands);
  for (const listener of listeners.mag_command_parsed) listener(v, c, text);
  return JSON.stringify(c);
};
"""
NODE = """
const {getQuickJS} = require('quickjs-emscripten');
const {shim, source, variables, commands, text, paced, busy, pause} = JSON.parse(require('fs').readFileSync(0, 'utf8'));
getQuickJS().then(async (engine) => {
  function call() {
    const vm = engine.newContext();
    vm.unwrapResult(vm.evalCode(shim)).dispose();
    vm.unwrapResult(vm.evalCode(source)).dispose();
    const reply = vm.getProp(vm.global, '__reply');
    const args = [variables, commands, text].map((part) => vm.newString(part));
    const result = vm.unwrapResult(vm.callFunction(reply, vm.undefined, ...args));
    const found = JSON.parse(vm.getString(result));
    [result, reply, ...args].forEach((handle) => handle.dispose());
    vm.dispose();
    if (found.length !== 9) throw new Error('wrong answer');
  }
  for (let i = 0; i < 20; i++) call();
  const times = [];
  for (let i = 0; i < paced; i++) {
    await new Promise((done) => setTimeout(done, pause * 1000));
    const start = performance.now(); call(); times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const start = performance.now();
  for (let i = 0; i < busy; i++) call();
  console.log(JSON.stringify({paced: times[times.length >> 1], busy: (performance.now() - start) / busy}));
});
"""


def helper(body: str) -> str:
    """A helper whose listener has ``body``."""
    return (
        "eventOn('global_Mvu_initialized', () => eventOn(Mvu.events.COMMAND_PARSED, (variables, commands, text) => {"
        f"{body}\n}}));"
    )


def measure(calls: dict[str, Callable[[], Any]]) -> dict[str, dict[str, float]]:
    """Milliseconds of each call, taken in turns: the median with pauses, the mean without."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(20):
            call()
    for _ in range(PACED):
        for name, call in calls.items():
            time.sleep(PAUSE_S)
            started = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - started) * 1e3)
    found: dict[str, dict[str, float]] = {}
    for name, call in calls.items():
        started = time.perf_counter()
        for _ in range(BUSY):
            call()
        busy = (time.perf_counter() - started) * 1e3 / BUSY
        found[name] = {"paced": statistics.median(times[name]), "busy": busy}
    return found


def in_process(source: str, variables: str, text: str) -> Callable[[], None]:
    """The call in an unlimited engine inside this process."""
    commands = json.dumps(COMMANDS)

    def call() -> None:
        context = quickjs.Context()
        context.eval(SHIM)
        context.eval(source)
        if len(json.loads(context.get("__reply")(variables, commands, text))) != 9:
            raise AssertionError("wrong answer")

    return call


def in_node(source: str, variables: str, text: str) -> dict[str, float] | None:
    """The call in Node's WebAssembly engine; ``None`` where there is none."""
    folder, node = os.environ.get("QUICKJS_EMSCRIPTEN"), shutil.which("node")
    if folder is None or node is None:
        return None
    given = {
        "shim": SHIM,
        "source": source,
        "variables": variables,
        "commands": json.dumps(COMMANDS),
        "text": text,
        "paced": PACED,
        "busy": BUSY,
        "pause": PAUSE_S,
    }
    done = subprocess.run(
        [node, "-e", NODE], input=json.dumps(given), capture_output=True, text=True, cwd=folder, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _compact(text: str) -> str:
    """The text as the runtime writes it."""
    return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))


def rows() -> list[dict[str, Any]]:
    """One row a size and script: milliseconds of each engine, and the sandbox as a multiple of the others."""
    found: list[dict[str, Any]] = []
    text = "The lamp is lit. " * 40
    wasm = WasmSandbox() if guest_path() is not None else None
    with ProcessSandbox() as sandbox:
        for size in ("2k", "50k"):
            variables = _compact((HERE / "data" / f"state-{size}.json").read_text(encoding="utf-8"))
            for name, body in (("does not read the state", BLIND), ("reads the state", READS)):
                source = helper(body)
                call = HelperCall(f"{size} {name}", source, variables, COMMANDS, text)
                if len(sandbox.run(call).commands) != 9:
                    raise AssertionError("wrong answer")
                engines: dict[str, Callable[[], Any]] = {
                    "sandbox": partial(sandbox.run, call),
                    "in-process": in_process(source, variables, text),
                }
                if wasm is not None:
                    engines["wasm"] = partial(wasm.run, call)
                times = measure(engines)
                node = in_node(source, variables, text)
                if node is not None:
                    times["node"] = node
                multiples = {
                    other: {kind: times["sandbox"][kind] / times[other][kind] for kind in ("paced", "busy")}
                    for other in times
                    if other != "sandbox"
                }
                found.append({"state": size, "script": name, "ms": times, "multiples": multiples})
    return found


def main() -> None:
    """Print the table, or one JSON object a row."""
    for row in rows():
        if "--json" in sys.argv[1:]:
            print(json.dumps(row))
            continue
        ours = row["ms"]["sandbox"]
        line = f"{row['state']:>4} {row['script']:24} {ours['paced']:6.2f} ms paced {ours['busy']:6.2f} busy"
        for other, multiple in row["multiples"].items():
            line += f"; x {other} {multiple['paced']:5.2f} paced {multiple['busy']:5.2f} busy"
        print(line)


if __name__ == "__main__":
    main()
