"""The hostile corpus, run against a real sandbox: for ``innkeeper sandbox --selftest`` and for the tests.

A corpus is JSON Lines. Each line has ``id``, ``family``, either ``source`` (a whole helper) or ``listener`` (the body of
a COMMAND_PARSED listener over ``variables, commands, text``), the ``expect``ed outcome (``ok`` or an error code), and what
may have ``bounds`` it. ``kept`` names the sample commands that an ``ok`` case leaves in the list.
Every case is measured from outside: wall time here, memory by the kernel's account of the ended child.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.calls import HelperCall
from sandbox.errors import SandboxError
from sandbox.limits import DEFAULT_BUDGET, Budget
from sandbox.pool import Exit
from sandbox.process import ProcessSandbox

CORPUS_NAME = "hostile-helpers.jsonl"
MEMORY_ALLOWANCE_KIB = 48 * 1024
WALL_ALLOWANCE_MS = 100
_MS = 1_000

_BEFORE = (
    "eventOn('global_Mvu_initialized', () => { eventOn(Mvu.events.COMMAND_PARSED, (variables, commands, text) => {\n"
)
_AFTER = "\n}); });"

SAMPLE_COMMANDS: tuple[dict[str, Any], ...] = tuple(
    {"type": "set", "args": [f"hp{n}", str(n)], "full_match": f"_.set('hp{n}', {n})", "reason": "legacy"}
    for n in range(4)
)
SAMPLE_VARIABLES = '{"stat_data":{"hp":10,"bag":["rope","lamp"],"name":"Ada"},"display_data":{}}'
SAMPLE_TEXT = "The lamp is lit. _.set('hp0', 0) _.set('hp1', 1) _.set('hp2', 2) _.set('hp3', 3)"
GOOD = _BEFORE + "commands.splice(1, 1);" + _AFTER
GOOD_KEPT = (0, 2, 3)


@dataclass(frozen=True, slots=True)
class Case:
    """One hostile script and what must come of it."""

    id: str
    family: str
    source: str
    expect: str
    bounds: tuple[str, ...]
    kept: tuple[int, ...] | None

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Case:
        """Read one line of a corpus."""
        source = entry.get("source")
        if source is None:
            source = _BEFORE + entry["listener"] + _AFTER
        kept = entry.get("kept")
        return cls(
            id=entry["id"],
            family=entry["family"],
            source=source,
            expect=entry["expect"],
            bounds=tuple(entry.get("bounds", ())),
            kept=None if kept is None else tuple(kept),
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of one case: the outcome, what bound it, wall time, peak memory above an idle child, and what is wrong."""

    case: Case
    outcome: str
    bound: str
    wall_ms: float
    grown_kib: int | None
    faults: tuple[str, ...]

    def line(self) -> str:
        """One line for people."""
        mark = "ok  " if not self.faults else "FAIL"
        grown = "     ?" if self.grown_kib is None else f"{self.grown_kib / 1024:6.1f}"
        text = f"{mark} {self.case.id:28} {self.outcome:29} bound by {self.bound:9} {self.wall_ms:7.1f} ms {grown} MiB"
        return text if not self.faults else f"{text}  {'; '.join(self.faults)}"


def corpus_path() -> Path:
    """Where the corpus lies: inside the installed package, or beside the packages in a checkout."""
    here = Path(__file__).resolve().parent
    packaged = here / CORPUS_NAME
    return packaged if packaged.is_file() else here.parent / "vendor_fixtures" / "sandbox" / CORPUS_NAME


def read_corpus(path: Path) -> list[Case]:
    """The cases of a corpus file."""
    with path.open(encoding="utf-8") as stream:
        return [Case.from_json(json.loads(line)) for line in stream if line.strip()]


def call_for(case: Case, owner: str | None = None) -> HelperCall:
    """The sample reply for a case's helper."""
    return HelperCall(owner or case.id, case.source, SAMPLE_VARIABLES, SAMPLE_COMMANDS, SAMPLE_TEXT)


class Measurer:
    """A sandbox without spare children, so that every case has a child of its own whose end the kernel reports."""

    def __init__(self, budget: Budget = DEFAULT_BUDGET) -> None:
        self.exits: list[Exit] = []
        self.sandbox = ProcessSandbox(budget, on_exit=self.exits.append)
        self.budget = budget
        self.idle_kib = self._idle()

    def _idle(self) -> int:
        """The peak of a child that answered one harmless call."""
        self.sandbox.run(HelperCall("idle", GOOD, SAMPLE_VARIABLES, SAMPLE_COMMANDS, SAMPLE_TEXT))
        self.sandbox.retire("idle")
        return self.exits[-1].peak_kib

    def measure(self, case: Case) -> Measured:
        """Run one case, then a good call of the same owner, and judge both."""
        self.exits.clear()
        started = time.perf_counter()
        outcome, bound, kept = "ok", "none", None
        try:
            result = self.sandbox.run(call_for(case))
            kept = tuple(int(command["full_match"].split("'hp")[1].split("'")[0]) for command in result.commands)
        except SandboxError as error:
            outcome, bound = error.code, error.bound
        except (IndexError, ValueError):
            outcome = "ok"
        wall = (time.perf_counter() - started) * _MS
        self.sandbox.retire(case.id)
        grown = max((ended.peak_kib for ended in self.exits), default=0) - self.idle_kib if self.exits else None
        faults = [*self._judge(case, outcome, bound, kept), *self._bounds(wall, grown), *self._next_call(case)]
        return Measured(case, outcome, bound, wall, grown, tuple(faults))

    def _judge(self, case: Case, outcome: str, bound: str, kept: tuple[int, ...] | None) -> Iterator[str]:
        if outcome != case.expect:
            yield f"expected {case.expect}"
        elif outcome != "ok" and case.bounds and bound not in case.bounds and not self._slow(case, bound):
            yield f"expected to be bound by {' or '.join(case.bounds)}"
        elif outcome == "ok" and case.kept is not None and kept != case.kept:
            yield f"expected the commands {list(case.kept)}, found {list(kept or ())}"

    def _slow(self, case: Case, bound: str) -> bool:
        """On a busy machine the parent's deadline comes before the child has had its CPU time."""
        return bound == "deadline" and not {"time", "cpu"}.isdisjoint(case.bounds)

    def _bounds(self, wall: float, grown: int | None) -> Iterator[str]:
        allowed = self.budget.deadline_ms + WALL_ALLOWANCE_MS
        if wall > allowed:
            yield f"expected at most {allowed} ms"
        if grown is not None and grown > MEMORY_ALLOWANCE_KIB:
            yield f"expected at most {MEMORY_ALLOWANCE_KIB // 1024} MiB above an idle child"

    def _next_call(self, case: Case) -> Iterator[str]:
        try:
            result = self.sandbox.run(HelperCall(case.id, GOOD, SAMPLE_VARIABLES, SAMPLE_COMMANDS, SAMPLE_TEXT))
        except SandboxError as error:
            yield f"the next good call failed with {error.code}"
            return
        finally:
            self.sandbox.retire(case.id)
        if list(result.commands) != [SAMPLE_COMMANDS[index] for index in GOOD_KEPT]:
            yield "the next good call gave another answer"

    def close(self) -> None:
        """End the sandbox."""
        self.sandbox.close()


def run(corpus: Path | Iterable[Case] | None = None, budget: Budget = DEFAULT_BUDGET) -> Iterator[str]:
    """Run a corpus on this machine: one line per case, then the counts and which locks hold.

    The last line ends with ``0 failed`` when everything held.
    """
    cases = read_corpus(corpus or corpus_path()) if corpus is None or isinstance(corpus, Path) else list(corpus)
    measurer = Measurer(budget)
    failed = 0
    by_bound: dict[str, int] = {}
    try:
        status = measurer.sandbox.status()
        yield f"engine {status['engine']}, seccomp {'yes' if status['seccomp'] else 'NO'}, idle child {measurer.idle_kib} KiB"
        for case in cases:
            measured = measurer.measure(case)
            failed += bool(measured.faults)
            by_bound[measured.bound] = by_bound.get(measured.bound, 0) + 1
            yield measured.line()
    finally:
        measurer.close()
    yield "bound by: " + ", ".join(f"{bound} {count}" for bound, count in sorted(by_bound.items()))
    yield f"{len(cases) - failed} passed, {failed} failed"


__all__ = ["Case", "Measured", "Measurer", "corpus_path", "read_corpus", "run"]
