"""Running Node.js beside our code: values in and out as tagged JSON, one process per batch."""

import functools
import json
import math
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NoReturn

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


def _without(notice: str) -> NoReturn:
    """Skip the test with a notice, or fail it where INNKEEPER_REQUIRE_NODE=1 demands the comparison."""
    if os.environ.get("INNKEEPER_REQUIRE_NODE") == "1":
        pytest.fail(notice)
    pytest.skip(notice)


def node_or_skip() -> str:
    """The Node.js program."""
    return shutil.which("node") or _without("Node.js is not installed: the comparison with it did not run")


@functools.cache
def _installed(*packages: str) -> Path | str:
    """The folder whose node_modules hold the packages, or why there is none; kept in the system's temporary folder."""
    folder = Path(tempfile.gettempdir()) / f"innkeeper-node-{'-'.join(packages)}"
    names = [package.rpartition("@")[0] for package in packages]
    if not all((folder / "node_modules" / name / "package.json").exists() for name in names):
        npm = shutil.which("npm")
        if npm is None:
            return "npm is not installed"
        folder.mkdir(exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--no-save", "--prefix", str(folder), *packages]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False, cwd=folder)
        if done.returncode != 0:
            return f"npm could not install {packages}: {done.stderr[-300:]}"
    return folder


def zod_or_skip() -> Path:
    """A folder from which Node.js finds zod 4.4.3 and lodash."""
    node_or_skip()
    folder = _installed("zod@4.4.3", "lodash@4.17.21")
    return folder if isinstance(folder, Path) else _without(f"{folder}: the comparison with Zod did not run")


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
