"""The configuration file: what the document shows can be served, what is unknown stops the start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.ledger.limits import PLAY_STORAGE
from server import config as configuration
from server.adjust import adjust_limits
from tests.mvu.stage import refuses
from tests.server.stage import serving

ROOT = Path(__file__).parents[2]


@pytest.fixture
def restored() -> Iterator[None]:
    """The limits as they were."""
    before = PLAY_STORAGE.default
    yield
    object.__setattr__(PLAY_STORAGE, "default", before)


def test_the_documented_file_serves(tmp_path: Path, restored: None) -> None:
    document = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    found = re.search(r"```toml\n(.*?)```", document, re.DOTALL)
    assert found is not None
    legacy = tmp_path / "mvu-state.json"
    legacy.write_text('{"version":1,"resources":{}}')
    path = tmp_path / "innkeeper.toml"
    path.write_text(found.group(1).replace('"mvu-state.json"', f'"{legacy}"'))
    with serving(tmp_path / "data", config_file=path) as client:
        record = client.post("/host/sessions", {"sessionId": "s"})
        assert [item["id"] for item in record["resources"]] == ["mvu:campaign"]
        rows = {row["name"]: row["default"] for row in client.raw.get("/limits").json()["limits"]}
        assert rows["ledger.playStorage"] == 67_108_864


@pytest.mark.parametrize(
    "text",
    [
        "[other]\nx = 1\n",
        "not toml",
        "[tracker]\nunknown = 1\n",
        '[limits]\n"mvu.commands" = 5\n',
        '[limits]\n"mvu.grants" = 0\n',
    ],
)
def test_what_is_unknown_stops_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "innkeeper.toml"
    path.write_text(text)
    with refuses("CONFIG_INVALID"):
        with serving(tmp_path / "data", config_file=path):
            pass


def test_limits_are_a_table() -> None:
    with refuses("CONFIG_INVALID"):
        adjust_limits([1])
    adjust_limits(None)
    with refuses("CONFIG_INVALID"):
        configuration.load(port=70_000, environment={})
