"""Sync (§7.3) and world packages (§7.1); scenarios 74 and 75."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.dimensions.binding import bind, sync
from runtime.dimensions.domain import edit, initialize, move
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.package import check_world, read_directory, read_world
from runtime.dimensions.state import State, read_state
from tests.dimensions.worlds import STORM, STUDY, WALL, held, session, told, world

CHANGED = {**STUDY, "initialValue": 3}


def run(
    state: State, definitions: dict[str, Any], *, dry_run: bool = False, force: bool = False
) -> tuple[State, dict[str, Any]]:
    """One sync; the new state and the report."""
    result = sync(state, world(definitions), dry_run=dry_run, force=force)
    return result.state, result.answer


def edited(state: State, value: int = 9) -> State:
    """The state after a player's edit."""
    update = {"id": "study", "expectedVersion": state.records["study"].version, "value": value}
    return edit(state, {"updates": [update]}).state


def test_an_untouched_dimension_is_replaced() -> None:
    state, report = run(session({"study": STUDY}), {"study": CHANGED})
    assert held(state, "study") == (3, 2)
    assert (report["planned"], report["upserted"], report["conflicts"]) == (1, 1, [])
    _, again = run(state, {"study": CHANGED})
    assert (again["planned"], again["unchanged"]) == (0, 1)


def test_a_dry_run_writes_nothing() -> None:
    start = session({"study": STUDY})
    state, report = run(start, {"study": CHANGED}, dry_run=True)
    assert state is start
    assert (report["planned"], report["upserted"], report["dryRun"]) == (1, 0, True)


@pytest.mark.parametrize("force", [False, True])
def test_progress_is_never_reset_and_the_rest_is_written(force: bool) -> None:
    start = edited(session({"study": STUDY, "cityWall": WALL}))
    back = edited(start, 0)
    state, report = run(back, {"study": CHANGED, "cityWall": {**WALL, "initialValue": 50}, "storm": STORM}, force=force)
    assert held(state, "study") == (0, 3)
    assert held(state, "cityWall") == (50, 2)
    assert held(state, "storm")[1] == 1
    assert [(entry["key"], entry["reason"]) for entry in report["conflicts"]] == [("study", "modified")]


def test_pending_debts_block_and_same_declarations_keep() -> None:
    state, report = run(told(session({"study": STUDY})), {"study": CHANGED})
    assert report["conflicts"][0]["reason"] == "modified"
    assert held(state, "study") == (0, 1)
    _, same = run(told(session({"study": STUDY})), {"study": STUDY})
    assert same["unchanged"] == 1


def test_removed_declarations() -> None:
    state, report = run(session({"study": STUDY, "cityWall": WALL}), {"study": STUDY})
    assert list(state.records) == ["study"]
    assert list(state.ledger) == ["study"]
    assert report["deleted"] == 1
    _, kept = run(edited(session({"study": STUDY, "cityWall": WALL})), {"cityWall": WALL})
    assert kept["conflicts"][0]["key"] == "study"


def test_dimensions_created_in_play_are_adopted() -> None:
    state = initialize(session({"cityWall": WALL}), {"definitions": {"study": STUDY}}).state
    adopted, report = run(state, {"cityWall": WALL, "study": STUDY})
    assert report["outcomes"]["study"] == "adopt"
    assert held(adopted, "study") == (0, 1)
    assert "study" in adopted.ledger
    _, modified = run(edited(state), {"cityWall": WALL, "study": STUDY})
    assert modified["conflicts"][0]["key"] == "study"
    untouched, gone = run(state, {"cityWall": WALL})
    assert "study" in untouched.records
    assert gone["planned"] == 0


def test_clock_moves_count_as_evolution() -> None:
    state = move(session({"storm": STORM}), "turn-1", {"amount": 20}).state
    _, report = run(state, {"storm": {**STORM, "name": "Front"}})
    assert report["conflicts"][0]["reason"] == "modified"


def test_missing_records_need_force() -> None:
    state = session({"study": STUDY, "cityWall": WALL})
    gone = read_state(state.with_records({}, ["study"]).to_json())
    _, report = run(gone, {"study": CHANGED, "cityWall": WALL})
    assert report["conflicts"][0]["reason"] == "missing"
    forced, report = run(gone, {"study": CHANGED, "cityWall": WALL}, force=True)
    assert held(forced, "study") == (3, 1)
    dropped, report = run(gone, {"cityWall": WALL})
    assert report["outcomes"]["study"] == "drop-ledger"
    assert "study" not in dropped.ledger


def test_another_world_is_refused() -> None:
    state = session({"study": STUDY})
    with pytest.raises(DimensionError):
        bind(state, world({"study": STUDY}))
    with pytest.raises(DimensionError) as refused:
        sync(State(), world({"study": STUDY}), dry_run=False, force=False)
    assert refused.value.code == "DIMENSION_NOT_BOUND"


# --- packages -------------------------------------------------------------------------------------------------------

MAIN = """\
locale: zh-CN
dimensions:
  study:
    name: 学习进度
    schema: { type: integer, minimum: 0 }
    initialValue: 0
    updateRule: 本轮明确完成一次学习时加一。
clock:
  kind: phases
  phases: [晨, 昼, 夜]
  cycleLabel: 第
  initial: { cycle: 1, phase: 0 }
  evolution: { mode: forward, defaultStep: 1, maxStep: 9 }
"""
TABLE = """\
board:
  name: 告示板
  schema:
    type: object
    properties:
      motto: { type: string, x-i18n: true }
      count: { type: integer }
      lines: { type: array, items: { type: string, x-i18n: true } }
      posts:
        type: array
        items:
          type: object
          properties:
            id: { type: string }
            text: { type: string, x-i18n: true }
  initialValue:
    motto: 平安
    count: 3
    lines: [一, 二]
    posts:
      - { id: p1, text: 雾 }
      - { id: p2, text: 潮 }
"""
DESCRIPTOR = """\
version: 1
sources:
  - { kind: yaml, path: data/dimensions.yaml, schema: covel://world/dimensions, to: world:metadata.dimensions }
"""
ENGLISH = """\
board:
  name: Board
  ghost: x
  initialValue:
    motto: Peace
    count: 4
    lines: [null, two]
    posts:
      - { id: p2, text: Tide }
      - { id: p9, text: Lost }
harbour: {}
"""
JAPANESE = "board: { name: 掲示板, initialValue: { motto: [平和] } }\n"


def test_an_inline_table_with_a_clock() -> None:
    found, warnings = read_world("w", {"world.yaml": MAIN})
    assert warnings == []
    assert found.locale == "zh-CN"
    state = bind(State(), found).state
    assert held(state, "study") == (0, 1)
    assert state.clock is not None
    assert state.locale == "zh-CN"


def test_scenario_074_language_files() -> None:
    files = {
        "world.yaml": MAIN,
        "data/world.data.yaml": DESCRIPTOR,
        "data/dimensions.yaml": TABLE,
        "data/dimensions.en-US.yaml": ENGLISH,
        "data/dimensions.ja-JP.yaml": JAPANESE,
    }
    found, warnings = read_world("w", files)
    board = found.definitions["board"]
    assert list(found.definitions) == ["board"]
    assert board["name"] == {"zh-CN": "告示板", "en-US": "Board", "ja-JP": "掲示板"}
    initial = board["initialValue"]
    assert initial["motto"] == {"zh-CN": "平安", "en-US": "Peace"}
    assert initial["count"] == 3
    assert initial["lines"] == ["一", {"zh-CN": "二", "en-US": "two"}]
    assert initial["posts"][1] == {"id": "p2", "text": {"zh-CN": "潮", "en-US": "Tide"}}
    places = {(finding.file, finding.line, finding.path) for finding in warnings}
    assert places == {
        ("data/dimensions.en-US.yaml", 3, "board.ghost"),
        ("data/dimensions.en-US.yaml", 6, "board.initialValue.count"),
        ("data/dimensions.en-US.yaml", 10, "board.initialValue.posts.1"),
        ("data/dimensions.en-US.yaml", 11, "harbour"),
        ("data/dimensions.ja-JP.yaml", 1, "board.initialValue.motto"),
    }
    assert bind(State(), found, locale="en-GB").state.records["board"].value["motto"] == "Peace"
    assert found.sources == {"board": "data/dimensions.yaml"}


def test_errors_name_file_line_and_path(tmp_path: Path) -> None:
    broken = MAIN.replace("initialValue: 0", "initialValue: -1").replace("minimum: 0", "minimum: 0, pattern: x")
    (tmp_path / "world.yaml").write_text(broken + "extra: 1\n", encoding="utf-8")
    found = [(entry.severity, entry.line, entry.path) for entry in check_world(tmp_path)]
    assert ("error", 5, "dimensions.study.schema.pattern") in found
    assert ("warning", 14, "extra") in found
    with pytest.raises(DimensionError) as refused:
        read_world("w", {"world.yaml": broken})
    assert refused.value.code == "DIMENSION_WORLD_INVALID"
    assert refused.value.details["issues"][0]["line"] == 5


@pytest.mark.parametrize(
    ("text", "line"),
    [("dimensions: [", 1), ("a: 1\na: 2\n", 2), ("x: &a 1\ny: *a\n", 2), ("- 1\n", 1), ("locale: '!!'\n", 1)],
)
def test_unacceptable_yaml_is_a_finding(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "world.yaml").write_text(text, encoding="utf-8")
    found = check_world(tmp_path)
    assert [entry.severity for entry in found] == ["error"]
    assert found[0].line >= line or text.startswith("x: ")


def test_inline_locale_maps_are_an_error_of_the_check(tmp_path: Path) -> None:
    text = "dimensions: { a: { name: { en-US: A, zh-CN: 甲 }, schema: { type: integer }, initialValue: 1 } }\n"
    (tmp_path / "world.yaml").write_text(text, encoding="utf-8")
    assert [(entry.severity, entry.reason) for entry in check_world(tmp_path)] == [("error", "inline-locale-map")]
    found, warnings = read_world("w", {"world.yaml": text})
    assert found.definitions["a"]["name"] == {"en-US": "A", "zh-CN": "甲"}
    assert [entry.severity for entry in warnings] == ["warning"]


@pytest.mark.parametrize(
    "source",
    [
        "{ kind: yaml, path: data/none.yaml, schema: covel://world/dimensions, to: world:metadata.dimensions }",
        "{ kind: yaml, path: ../world.yaml, schema: covel://world/dimensions, to: world:metadata.dimensions }",
        "{ kind: toml, path: world.yaml, schema: covel://world/dimensions, to: world:metadata.dimensions }",
        "{ kind: yaml, path: world.yaml, schema: covel://world/dimensions, to: world:metadata.lore }",
        "{ kind: yaml, path: world.yaml, schema: other, to: plugin-data:_dimensions }",
    ],
)
def test_bad_sources_of_the_descriptor(source: str) -> None:
    files = {"world.yaml": MAIN, "data/world.data.yaml": f"version: 1\nsources:\n  - {source}\n"}
    with pytest.raises(DimensionError) as refused:
        read_world("w", files)
    assert refused.value.details["issues"][0]["file"] == "data/world.data.yaml"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for files in ({}, {"other.yaml": "a: 1"}):
        with pytest.raises(DimensionError) as refused:
            read_world("w", files)
        assert refused.value.code == "DIMENSION_WORLD_UNREADABLE"
    with pytest.raises(DimensionError):
        check_world(tmp_path / "nowhere")
    (tmp_path / "world.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DimensionError):
        check_world(tmp_path)


def test_the_example_package_is_sound() -> None:
    package = Path(__file__).parents[2] / "examples" / "worlds" / "lighthouse"
    assert check_world(package) == []
    found, _ = read_world("lighthouse", read_directory(package))
    state = bind(State(), found, locale="zh-CN").state
    assert state.records["notices"].value["harbour"]["text"] == "第二次钟响之后不得出船。"
    moved = move(state, "1", {"amount": 2, "unit": "hour"}).state
    assert moved.records["storm"].value["stage"] == "approaching"
