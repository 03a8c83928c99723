"""A fresh stage for each scenario."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mvu.stage import Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A stage without a sandbox."""
    made = Stage()
    yield made
    made.close()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Stage]:
    """A stage on a file, so that it can be restarted."""
    made = Stage(tmp_path / "ledger.sqlite")
    yield made
    made.close()
