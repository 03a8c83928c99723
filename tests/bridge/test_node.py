"""Runs the JavaScript tests in Node: one Python test per file, one line per failure."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NODE = shutil.which("node")
FAILURE = re.compile(r"^\s*not ok \d+ - (.*)$", re.MULTILINE)

pytestmark = [pytest.mark.node, pytest.mark.skipif(NODE is None, reason="Node.js is not installed on this machine")]


@pytest.mark.parametrize("path", sorted(HERE.glob("*.test.mjs")), ids=lambda path: path.name)
def test_javascript(path: Path) -> None:
    assert NODE is not None
    run = subprocess.run(
        [NODE, "--test", "--test-timeout=30000", "--test-reporter=tap", str(path)],
        capture_output=True,
        text=True,
        timeout=90,
        cwd=HERE.parents[1],
        check=False,
    )
    passed = re.search(r"^# pass (\d+)$", run.stdout, re.MULTILINE)
    assert passed is not None and int(passed[1]) > 0, run.stdout + run.stderr
    failures = FAILURE.findall(run.stdout)
    assert run.returncode == 0 and not failures, "\n".join([*failures, run.stdout[-6000:], run.stderr[-2000:]])
