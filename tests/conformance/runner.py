"""The conformance runner: reads JSON Lines files, asks the suite's adapter for cases, counts what differs.

An adapter is a module ``tests.conformance.suites.NAME`` (dashes become underscores) with one function
``cases(entry, options) -> Iterable[Case]``. A case's ``check`` returns ``None`` when it holds, else one line that says
what differed; an exception is a failure too. ``skip`` carries the reason of a skipped case.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

from tests.conformance.skips import SKIPS, UNBUILT

SUITES: tuple[str, ...] = (
    "zod",
    "magvarupdate",
    "magvarupdate-zod",
    "magvarupdate-host",
    "variable-macros",
    "dimensions",
    "worldkernel",
)

Status = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller chose: ``only`` (a group), ``tier`` and ``dialect`` (``None``: the suite's own default)."""

    only: str | None = None
    tier: str | None = None
    dialect: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One comparable case: ``id``, ``check`` (``None`` or what differed) and the reason of a ``skip``."""

    id: str
    check: Callable[[], str | None]
    skip: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one case; ``detail`` is what differed, or why it was skipped."""

    id: str
    status: Status
    detail: str | None = None


def read_entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a JSON Lines file; a broken line names the file and its number."""
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
            except ValueError as error:
                raise SystemExit(f"{path.name}:{number}: not JSON: {error}") from None
            if not isinstance(entry, dict):
                raise SystemExit(f"{path.name}:{number}: expected a JSON object, found {type(entry).__name__}")
            yield entry


def run_case(suite: str, case: Case) -> Outcome:
    """Run one case and say how it went; no exception of the product escapes."""
    reason = case.skip or SKIPS.get(suite, {}).get(case.id)
    if reason is not None:
        return Outcome(case.id, "skipped", reason)
    try:
        difference = case.check()
    except Exception as error:
        return Outcome(case.id, "failed", f"{type(error).__name__}: {error}")
    if difference is None:
        return Outcome(case.id, "passed")
    return Outcome(case.id, "failed", difference)


def run_suite(suite: str, entries: Iterable[dict[str, Any]], options: Options) -> Iterator[Outcome]:
    """Yield an outcome for every case of ``entries`` that the options select."""
    unbuilt = UNBUILT.get(suite, {})
    adapter = None if "*" in unbuilt else importlib.import_module(f"tests.conformance.suites.{suite.replace('-', '_')}")
    for entry in entries:
        group = entry.get("group")
        if options.only is not None and group != options.only:
            continue
        if options.tier is not None and entry.get("tier") != options.tier:
            continue
        reason = unbuilt.get("*") or unbuilt.get(str(group))
        if reason is not None or adapter is None:
            yield Outcome(str(entry.get("id", group)), "skipped", reason)
            continue
        for case in adapter.cases(entry, options):
            yield run_case(suite, case)


def report(outcomes: Iterable[Outcome], out: TextIO, *, as_json: bool) -> int:
    """Print one line per failing case and the closing counts; the exit status is 0 when nothing failed."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    reasons: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.status] += 1
        if as_json:
            print(json.dumps({"id": outcome.id, "status": outcome.status, "detail": outcome.detail}), file=out)
        elif outcome.status == "failed":
            print(f"FAILED {outcome.id}: {outcome.detail}", file=out)
        elif outcome.status == "skipped":
            reasons[str(outcome.detail)] = reasons.get(str(outcome.detail), 0) + 1
    for reason, count in reasons.items():
        print(f"skipped {count}: {reason}", file=out)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", file=out)
    return 1 if counts["failed"] else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of the runner; see the module's text for the form of a suite."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Run recorded cases.")
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--only", metavar="GROUP", help="only the entries of this group")
    parser.add_argument("--tier", help="only the entries of this tier (seed, beyond, core, quirk)")
    parser.add_argument("--dialect", choices=("strict", "magvarupdate"), help="the command dialect to use")
    parser.add_argument("--json", action="store_true", help="one JSON object per case instead of failure lines")
    chosen = parser.parse_args(arguments)
    for path in chosen.files:
        if not path.is_file():
            parser.error(f"{path}: no such file")
    options = Options(only=chosen.only, tier=chosen.tier, dialect=chosen.dialect)
    entries = (entry for path in chosen.files for entry in read_entries(path))
    return report(run_suite(chosen.suite, entries, options), sys.stdout, as_json=chosen.json)
