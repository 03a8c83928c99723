"""The table of scenarios is whole, and the tests that it names exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mvu.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]


def test_every_scenario_is_listed() -> None:
    assert sorted(SCENARIOS) == list(range(1, 261))


@pytest.mark.parametrize("number", [n for n, where in SCENARIOS.items() if where.startswith("tests/")])
def test_the_named_test_exists(number: int) -> None:
    file, _, what = SCENARIOS[number].partition("::")
    assert what in (ROOT / file).read_text(encoding="utf-8"), SCENARIOS[number]


def test_what_is_open_is_said() -> None:
    for number, where in SCENARIOS.items():
        assert where.startswith(("tests/", "open: ", "§", "comes with")) or len(where) > 20, number
