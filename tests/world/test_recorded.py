"""The recorded cases of the world kernel, both tiers, through the conformance runner."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.runner import Options, read_entries, run_suite

RECORD = Path(__file__).resolve().parents[2] / "vendor_fixtures" / "worldkernel" / "worldkernel.jsonl"


@pytest.mark.parametrize(("tier", "least"), [("core", 226), ("quirk", 27)])
def test_every_recorded_case_passes(tier: str, least: int) -> None:
    outcomes = list(run_suite("worldkernel", read_entries(RECORD), Options(tier=tier)))
    assert [outcome for outcome in outcomes if outcome.status != "passed"] == []
    assert len(outcomes) == least
