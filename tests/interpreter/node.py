"""Running Node.js beside our code: values in and out as tagged JSON, one process per batch."""

import json
import math
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from interpreter.javascript import UNDEFINED, is_number, js_number

TAGS: dict[str, Any] = {
    "undefined": UNDEFINED,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "-0": -0.0,
}

# The JavaScript half of the encoding: `decode` and `encode` are in scope of every script that `run_node` runs.
PRELUDE = r"""
const TAGS = {undefined: undefined, NaN: NaN, Infinity: Infinity, '-Infinity': -Infinity, '-0': -0};
const decode = v => {
  if (Array.isArray(v)) return v.map(decode);
  if (v && typeof v === 'object') {
    if ('$js' in v) return TAGS[v.$js];
    return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, decode(x)]));
  }
  return v;
};
const encode = v => {
  if (v === undefined) return {$js: 'undefined'};
  if (typeof v === 'number') return Object.is(v, -0) ? {$js: '-0'} : Number.isFinite(v) ? v : {$js: String(v)};
  if (Array.isArray(v)) return Array.from(v, encode);
  if (v && typeof v === 'object') {
    const out = {};
    for (const k of Object.keys(v)) Object.defineProperty(out, k, {value: encode(v[k]), enumerable: true});
    return out;
  }
  return v;
};
const input = JSON.parse(require('fs').readFileSync(0, 'utf8'));
"""


def encode(value: Any) -> Any:
    """A value of ours as tagged JSON."""
    if value is UNDEFINED:
        return {"$js": "undefined"}
    if isinstance(value, float):
        if value == 0 and math.copysign(1, value) < 0:
            return {"$js": "-0"}
        if not math.isfinite(value):
            return {"$js": "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"}
        return js_number(value)
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    return value


def decode(value: Any) -> Any:
    """Tagged JSON as a value of ours."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        if "$js" in value:
            return TAGS[value["$js"]]
        return {key: decode(item) for key, item in value.items()}
    return js_number(value) if is_number(value) else value


def node_or_skip() -> str:
    """The Node.js program; skips the test with a notice without one, unless INNKEEPER_REQUIRE_NODE=1 demands it."""
    found = shutil.which("node")
    if found is None:
        notice = "Node.js is not installed: the comparison with the real engine did not run"
        if os.environ.get("INNKEEPER_REQUIRE_NODE") == "1":
            pytest.fail(notice)
        pytest.skip(notice)
    return found


def run_node(script: str, data: Any, cwd: Path | None = None) -> Any:
    """Run a script that reads `input` and calls `answer(value)`; the answer comes back as plain JSON."""
    program = PRELUDE + "const answer = v => process.stdout.write(JSON.stringify(v));\n" + script
    done = subprocess.run(
        [node_or_skip(), "-e", program],
        input=json.dumps(data),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
