"""Random schemas on random values: real zod in Node.js and ours have the same outcome, output and issues."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from interpreter import DeclarationError, compile_declaration
from interpreter.javascript import UNDEFINED
from tests.conformance.suites.zod import compare, decode, encode, text
from tests.interpreter.grammar import Schemas, Values
from tests.interpreter.node import node_or_skip, zod_or_skip

ORACLE = Path(__file__).parents[2] / "bench" / "peers" / "zod_oracle.mjs"
SCHEMAS, VALUES = 250, 8


def _rows(seed: int) -> list[dict[str, Any]]:
    random = Random(seed)
    schemas, values = Schemas(random), Values(random)
    rows = []
    for index in range(SCHEMAS):
        declaration = f"export const Schema = {schemas.schema(3)};"
        inputs = [*(values.value(3) for _ in range(VALUES)), {"$js": "undefined"}]
        rows.append({"id": f"{seed}-{index}", "declaration": declaration, "inputs": inputs})
    return rows


def _oracle(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [node_or_skip(), str(ORACLE)],
        input="\n".join(map(json.dumps, rows)),
        capture_output=True,
        encoding="utf-8",
        cwd=zod_or_skip(),
        timeout=300,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.node
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_same_as_zod(seed: int) -> None:
    differences = []
    pairs = 0
    for entry in _oracle(_rows(seed)):
        if entry.get("build_error"):
            continue
        try:
            schema = compile_declaration(entry["declaration"])
        except DeclarationError as error:
            if not all("threw" in case for case in entry["cases"]):
                differences.append(f"{entry['declaration']}: refused: {error.message}")
            continue
        for case in entry["cases"]:
            value = decode(case.get("input", UNDEFINED))
            pairs += 1
            found = compare(schema, case, value, None, True)
            if found is not None and not _coerced_object(entry["declaration"], case):
                differences.append(f"{entry['declaration']}\n  on {text(encode(value))}: {found}")
    assert not differences, f"{len(differences)} of {pairs} differ:\n" + "\n".join(differences[:15])
    assert pairs > SCHEMAS * VALUES // 2


def _coerced_object(declaration: str, case: dict[str, Any]) -> bool:
    """The one difference on purpose: an object never becomes a text (spec/mvu.md §0.2)."""
    return "z.coerce.string" in declaration and (
        "[object Object]" in json.dumps(case) or "{" in json.dumps(case.get("input"))
    )
