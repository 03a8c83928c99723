"""Fuzzing the interpreter: mutated declarations and values for a given time; any error that is not ours is a finding.

``python bench/zod_fuzz.py --minutes 10 --seed 1`` prints the findings with the seed of their round and ends with
``N rounds, N findings``. The corpus is the conformance file and the hostile declarations of the tests.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

from interpreter import InterpreterError, Memory, compile_declaration
from tests.interpreter.grammar import Schemas, Values
from tests.interpreter.hostile import HOSTILE

CORPUS = Path(__file__).parents[1] / "vendor_fixtures" / "zod" / "zod.jsonl"
TOKENS = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    ".",
    "?.",
    "??",
    "=>",
    "...",
    "=",
    "==",
    "===",
    "!=",
    "<",
    ">",
    "+",
    "-",
    "*",
    "/",
    "%",
    "**",
    "!",
    "~",
    "&",
    "|",
    "^",
    "&&",
    "||",
    "'",
    '"',
    "`",
    "${",
    "v",
    "z",
    "_",
    "Math",
    "Object",
    "Array",
    "JSON",
    "return",
    "const",
    "let",
    "for",
    "while",
    "if",
    "else",
    "try",
    "catch",
    "throw",
    "new",
    "delete",
    "typeof",
    "in",
    "of",
    "switch",
    "case",
    "break",
    "continue",
    "function",
    "async",
    "await",
    "null",
    "undefined",
    "NaN",
    "Infinity",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "1e309",
    "0x1f",
    "'a'",
    "'__proto__'",
    "/a+/",
    "/(a|b)*c/g",
    ".optional()",
    ".default(1)",
    ".transform(v",
    "=>",
    "v)",
    ".refine(v",
    "=>",
    "v)",
    ".catch(0)",
    "z.any()",
    "z.object({})",
    "z.string()",
    "z.record(z.string(),",
    "z.any())",
    "甲",
    "😀",
]
SLOW = 45.0  # seconds for one round of nine parses, each of which may use up its budget


def mutate(random: Random, text: str, other: str) -> str:
    """The text with a few random edits."""
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + random.randint(0, 12))
        kind = random.randrange(5)
        if kind == 0:
            text = text[:at] + random.choice(TOKENS) + text[at:]
        elif kind == 1:
            text = text[:at] + text[end:]
        elif kind == 2:
            text = text[:at] + text[at:end] * random.randint(2, 5) + text[end:]
        elif kind == 3:
            start = random.randrange(len(other) + 1)
            text = text[:at] + other[start : start + random.randint(1, 30)] + text[end:]
        else:
            text = text[:at] + chr(random.choice([0, 10, 0x2028, 0xD800, 0x1F600, random.randrange(128)])) + text[end:]
    return text


def one_round(random: Random, corpus: list[str]) -> None:
    """Compile one declaration and parse a few values three ways; errors of ours are right answers."""
    if random.random() < 0.3:
        text = f"export const Schema = {Schemas(random).schema(3)};"
    else:
        text = mutate(random, random.choice(corpus), random.choice(corpus))
    try:
        schema = compile_declaration(text)
        schema.json_schema()
        schema.fields()
    except InterpreterError:
        return
    values, memory = Values(random), Memory()
    for _ in range(3):
        value = values.value(4)
        outcomes = []
        for way in ({}, {}, {"memory": memory}):
            try:
                result = schema.parse(value, clock=1, **way)  # type: ignore[arg-type]
                outcomes.append((result.ok, json.dumps(result.value), result.steps))
                memory.accept()
            except InterpreterError as error:
                outcomes.append((error.code,))  # type: ignore[arg-type]
        assert len(set(outcomes)) == 1 or ("MVU_REGEX_TIMEOUT",) in outcomes, (text, value, outcomes)


def fuzz(seconds: float, seed: int) -> tuple[int, list[str]]:
    """Run rounds for the given time; the number of rounds and the findings."""
    corpus = [json.loads(line)["declaration"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    corpus += [text for text, _value in HOSTILE.values() if len(text) < 2_000]
    end = time.monotonic() + seconds
    rounds, findings = 0, []
    while time.monotonic() < end:
        start = time.monotonic()
        try:
            one_round(Random(f"{seed}:{rounds}"), corpus)
        except Exception:
            findings.append(f"seed {seed}, round {rounds}:\n{traceback.format_exc(limit=-6)}")
        if time.monotonic() - start > SLOW:
            findings.append(f"seed {seed}, round {rounds}: took {time.monotonic() - start:.1f} s")
        rounds += 1
    return rounds, findings


def main() -> int:
    """Print the findings; the status is 1 where there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen: Any = parser.parse_args()
    rounds, findings = fuzz(chosen.minutes * 60, chosen.seed)
    for finding in findings[:20]:
        print(finding)
    print(f"{rounds} rounds, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
