"""Random stories give what the model predicts; a failure prints its seed and its steps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.mvu.stage import Stage
from tests.simulation.story import CARD, Story

STORIES = int(os.environ.get("INNKEEPER_STORIES", "2000"))
STEPS = 50
BATCH = 100


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, STORIES, BATCH))
def test_stories(first: int, tmp_path: Path) -> None:
    """A batch of stories on one ledger, which is opened anew in the middle of the batch."""
    stage = Stage(tmp_path / "ledger.sqlite" if first % (5 * BATCH) == 0 else None)
    try:
        stage.card("story", **CARD)
        for seed in range(first, min(first + BATCH, STORIES)):
            story = Story(stage, seed)
            story.run(STEPS // 2)
            if seed % 50 == 25 and first % (5 * BATCH) == 0:
                stage.restart()
            story.run(STEPS - STEPS // 2)
    finally:
        stage.close()
