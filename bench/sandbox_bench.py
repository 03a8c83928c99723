"""A helper call on ten commands, warm: the sandbox against the same call in an unlimited engine inside the process, and
against npm ``quickjs-emscripten`` in Node (``QUICKJS_EMSCRIPTEN`` names a folder whose ``node_modules`` has it).

Every engine does the same work: a fresh context, the helper's text, one reply. ``paced`` leaves 20 ms between calls, as
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
from pathlib import Path
from typing import Any

import quickjs

from sandbox import HelperCall, ProcessSandbox

HERE = Path(__file__).resolve().parent
PAUSE_S = 0.02
PACED, BUSY = 60, 200
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


def measure(call: Callable[[], Any]) -> dict[str, float]:
    """Milliseconds of one call: the median with pauses, the mean without."""
    for _ in range(20):
        call()
    times: list[float] = []
    for _ in range(PACED):
        time.sleep(PAUSE_S)
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1e3)
    started = time.perf_counter()
    for _ in range(BUSY):
        call()
    return {"paced": statistics.median(times), "busy": (time.perf_counter() - started) * 1e3 / BUSY}


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
    """One row a size and script: milliseconds and multiples."""
    found: list[dict[str, Any]] = []
    text = "The lamp is lit. " * 40
    with ProcessSandbox() as sandbox:
        for size in ("2k", "50k"):
            variables = _compact((HERE / "data" / f"state-{size}.json").read_text(encoding="utf-8"))
            for name, body in (("does not read the state", BLIND), ("reads the state", READS)):
                source = helper(body)
                call = HelperCall(f"{size} {name}", source, variables, COMMANDS, text)
                if len(sandbox.run(call).commands) != 9:
                    raise AssertionError("wrong answer")
                ours = measure(lambda call=call: sandbox.run(call))  # type: ignore[misc]
                plain = measure(in_process(source, variables, text))
                node = in_node(source, variables, text)
                row: dict[str, Any] = {
                    "state": size,
                    "script": name,
                    "sandbox": ours,
                    "in_process": plain,
                    "node": node,
                }
                row["times_in_process"] = {key: ours[key] / plain[key] for key in ours}
                row["times_node"] = None if node is None else {key: ours[key] / node[key] for key in ours}
                found.append(row)
    return found


def main() -> None:
    """Print the table, or one JSON object a row."""
    for row in rows():
        if "--json" in sys.argv[1:]:
            print(json.dumps(row))
            continue
        node = row["times_node"]
        print(
            f"{row['state']:>4} {row['script']:24} sandbox {row['sandbox']['paced']:6.2f} ms paced, "
            f"{row['sandbox']['busy']:6.2f} busy; x in-process {row['times_in_process']['paced']:5.2f} paced, "
            f"{row['times_in_process']['busy']:5.2f} busy; x node "
            + ("not measured" if node is None else f"{node['paced']:5.2f} paced, {node['busy']:5.2f} busy")
        )


if __name__ == "__main__":
    main()
