"""An evening at the terminal (innkeeper play)."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from server.play import main
from tests.world.support import CLOCKHOUSE, FERRY


def evening(path: Path, *lines: str, seed: str = "table") -> list[str]:
    sink = io.StringIO()
    assert main(path, seed=seed, source=io.StringIO("\n".join(lines) + "\n"), sink=sink) == 0
    return sink.getvalue().splitlines()


def test_the_ferry_crosses() -> None:
    told = evening(
        FERRY,
        "/note commission=accepted",
        "/go ferry.chandlery",
        "Pip, I look closely at the ledger.",
        "/go ferry.moon",
        "/do cost",
        "/do insight seer=pip",
        "/retry insight",
        "/retry cost",
        "/lore pip",
        "/who",
        "/ways",
        "/checks",
        "/look facts.commission",
        "/state",
        "/gm characters.wren.light+=0.2 :: Pip sells oil",
        "/gm nonsense",
        "/ooc this is fun",
        "I hum.",
        "",
        "/quit",
        "never read",
    )
    text = "\n".join(told)
    assert told[0] == "== The Last Ferry to Corrow =="
    assert "facts.commission = accepted" in told
    assert "# The chandlery" in told
    assert "+ pip" in told
    assert any(line.startswith("> insight: ") and "facts.truth_known" in line for line in told)
    assert "! TRAVEL_BLOCKED" in text
    assert any(line.startswith("> cost: ") for line in told)
    assert any(line.startswith("<< insight") for line in told)
    assert any(line.startswith("<< cost") and line.endswith("~retry~retry") for line in told)
    assert "! HOST_COMMAND" in text
    assert "accepted" in told
    assert "characters.wren.light = 0.6" in told
    assert "Wren Alder (wren), Pip Sorrel (pip)" in told
    assert "never read" not in text
    assert "table" not in [word for line in told for word in line.split() if word == "table"] or "rng_seed" not in text
    assert "__check_ordinal" not in text


def test_the_same_seed_tells_the_same_evening() -> None:
    lines = ("动手，拦住阮三更", "静听钟声", "稳住", "/look")
    assert evening(CLOCKHOUSE, *lines) == evening(CLOCKHOUSE, *lines)
    assert evening(CLOCKHOUSE, *lines) != evening(CLOCKHOUSE, *lines, seed="another")


def test_the_clockhouse_speaks_chinese_and_walks_without_a_graph() -> None:
    told = evening(CLOCKHOUSE, "/go wuqiao.market", "/help", "沈砚动手拦住阮三更。")
    assert told[0] == "== 雾桥钟楼 =="
    assert "# 夜市" in told
    assert "+ ruansangeng" in told
    assert any(line.startswith("> contest: ") for line in told)


def test_a_narrator_tells_and_decides_nothing() -> None:
    heard: list[int] = []

    def narrate(context: str, text: str, receipts: list[dict[str, object]]) -> str:
        assert "Numbers change only" in context
        heard.append(len(receipts))
        return f"You say: {text}"

    sink = io.StringIO()
    source = io.StringIO("I examine the crate.\nI hum.\n")
    assert main(FERRY, seed="s", narrate=narrate, source=source, sink=sink) == 0
    assert heard == [1, 0]
    assert "You say: I hum." in sink.getvalue()


@pytest.mark.parametrize(("name", "status"), [("broken", 1), ("absent", 2)])
def test_a_pack_that_cannot_be_played(tmp_path: Path, name: str, status: int) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "pack.yaml").write_text("id: own\ntitle: Own\n", encoding="utf-8")
    (tmp_path / "broken" / "index.yaml").write_text("checks: [row]\n", encoding="utf-8")
    sink = io.StringIO()
    assert main(tmp_path / name, source=io.StringIO(""), sink=sink) == status
    assert sink.getvalue().startswith("error ")


def test_another_seat_at_the_table() -> None:
    sink = io.StringIO()
    assert main(FERRY, seed="s", character="ines", source=io.StringIO("/who\n"), sink=sink) == 0
    assert "Ines Quill (ines), Wren Alder (wren)" in sink.getvalue()
    assert main(FERRY, seed="s", character="nobody", source=io.StringIO(""), sink=sink) == 2
