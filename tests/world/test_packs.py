"""Packs: scenarios 33-38 and every diagnostic with its place (spec/worldkernel.md §6, §8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.world.pack import check_pack, github_line, text_line
from runtime.world.pack.findings import Finding
from runtime.world.pack.load import load_pack, split_front_matter
from runtime.world.pack.report import exit_status
from runtime.world.pack.yaml_source import YamlError, parse_yaml
from tests.world.support import CLOCKHOUSE, FERRY

PACK = "id: own\ntitle: Own\nentry_scene: own.start\n"
INDEX = "checks: [row]\ncharacters: [lin]\nlore: [axioms, commission]\n"
ROW = """id: row
kind: generic
inputs:
  oar: "characters.{hand}.oar"
formula: |
  gap = oar
  p = gap / 4
outcomes:
  success:
    apply: { facts.done: true }
"""
FILES = {
    "pack.yaml": PACK,
    "index.yaml": INDEX,
    "checks/row.yaml": ROW,
    "characters/lin.md": "---\nname: Lin\n---\n\nHums.\n",
    "lore/axioms.md": "Rivers remember.\n",
    "lore/commission.md": "Carry the bell.\n",
}


def found(files: dict[str, str]) -> list[tuple[str, str, str, int | None]]:
    return [(item.code, item.severity, item.place.file, item.place.line) for item in load_pack(files).findings]


def changed(**files: str) -> dict[str, str]:
    """The small pack with other texts; ``checks__row`` names ``checks/row.yaml``."""
    names = {name.rsplit(".", 1)[0].replace("/", "__"): name for name in FILES}
    return FILES | {names[key]: text for key, text in files.items()}


def test_scenario_033_a_minimal_pack_loads_and_keeps_its_sequence() -> None:
    loaded = load_pack(changed(characters__lin="---\nname: Lin\nsequence_declared: 9\n---\nHums.\n"))
    assert loaded.ok
    assert loaded.canon is not None
    assert loaded.canon.cards["lin"].sequence_declared == 9


def test_scenario_034_index_ghost() -> None:
    files = changed(index="checks: [row]\ncharacters:\n  - lin\n  - ghost\nlore: [axioms, commission]\n")
    assert ("MISSING_CARD", "error", "index.yaml", 4) in found(files)


def test_scenario_035_condition_eval() -> None:
    loaded = load_pack(changed(checks__row=ROW + "condition:\n  eval: 1 == 1\n"))
    assert not loaded.ok
    assert [item.code for item in loaded.findings] == ["BAD_CONDITION"]
    assert loaded.findings[0].place.line == 12


def test_scenario_036_progress_and_no_commission() -> None:
    files = changed(characters__lin="---\nname: Lin\n---\n\nHums.\ndigest: 0.4\n")
    del files["lore/commission.md"]
    files["index.yaml"] = "checks: [row]\ncharacters: [lin]\nlore: [axioms]\n"
    assert [row for row in found(files) if row[1] == "warning"] == [
        ("PROGRESS_IN_CARD", "warning", "characters/lin.md", 6),
        ("MISSING_COMMISSION", "warning", "lore", None),
    ]


def test_scenario_037_lore_over_budget() -> None:
    assert ("LORE_BUDGET", "error", "lore/axioms.md", None) in found(changed(pack=PACK + "loreBudgetChars: 8\n"))


def test_scenario_038_scene_without_lore() -> None:
    assert ("MISSING_SCENE", "warning", "index.yaml", 4) in found(changed(index=INDEX + "scenes: [own.attic]\n"))


# changed files -> the finding that must be among the findings: code, severity, file, line
FINDINGS: tuple[tuple[dict[str, str], tuple[str, str, str, int | None]], ...] = (
    ({"pack": "# only a comment\n"}, ("BAD_YAML", "error", "pack.yaml", 1)),
    ({"pack": "id: own\ntitle: Own\nid: two\n"}, ("BAD_YAML", "error", "pack.yaml", 3)),
    ({"pack": "id: &a own\ntitle: *a\n"}, ("BAD_YAML", "error", "pack.yaml", 1)),
    ({"pack": "id: !!python/object own\n"}, ("BAD_YAML", "error", "pack.yaml", 1)),
    ({"pack": "id: own\n---\ntitle: Own\n"}, ("BAD_YAML", "error", "pack.yaml", 2)),
    ({"pack": "id: own\x07\n"}, ("BAD_YAML", "error", "pack.yaml", 1)),
    ({"pack": "id: own\ntitle: Own\nstats: {x: .inf}\n"}, ("BAD_YAML", "error", "pack.yaml", 3)),
    ({"pack": "id: " + "[" * 60 + "]" * 60}, ("BAD_YAML", "error", "pack.yaml", 1)),
    ({"checks__row": ROW.replace("id: row", "# id: row")}, ("BAD_CHECK", "error", "checks/row.yaml", 2)),
    ({"checks__row": "- a\n- list\n"}, ("BAD_YAML", "error", "checks/row.yaml", 1)),
    ({"checks__row": ROW.split("outcomes:", maxsplit=1)[0]}, ("BAD_CHECK", "error", "checks/row.yaml", 1)),
    ({"checks__row": ROW.replace("gap / 4", "gap % 4")}, ("BAD_FORMULA", "error", "checks/row.yaml", 7)),
    ({"checks__row": ROW.replace("gap / 4", "gulp / 4")}, ("BAD_FORMULA", "error", "checks/row.yaml", 7)),
    ({"checks__row": ROW.replace("p = gap / 4", "if gap > 1: p = 1")}, ("BAD_FORMULA", "error", "checks/row.yaml", 7)),
    ({"checks__row": ROW.replace("p = gap / 4", "if ghost: p = 1")}, ("IF_NAME", "warning", "checks/row.yaml", 7)),
    ({"checks__row": ROW.replace("p = gap / 4", "q = gap")}, ("NO_P", "notice", "checks/row.yaml", 5)),
    ({"checks__row": ROW.replace('"characters.{hand}.oar"', "7")}, ("BAD_INPUT", "error", "checks/row.yaml", 4)),
    (
        {"checks__row": ROW + "condition: { tag: row }\n"},
        ("UNSURE_SLOT", "notice", "checks/row.yaml", 4),
    ),
    (
        {"checks__row": ROW + "condition: { gt: [facts.a, x] }\n"},
        ("BAD_ARGUMENT", "error", "checks/row.yaml", 11),
    ),
    (
        {"checks__row": ROW + "condition: { all: { tag: a } }\n"},
        ("BAD_ARGUMENT", "error", "checks/row.yaml", 11),
    ),
    (
        {"checks__row": ROW + "condition: plain words\n"},
        ("BAD_CONDITION", "error", "checks/row.yaml", 11),
    ),
    (
        {"checks__row": ROW.replace("facts.done: true", "facts.done: +1")},
        ("UNQUOTED_DELTA", "notice", "checks/row.yaml", 10),
    ),
    ({"checks__row": ROW.replace("facts.done", "done")}, ("BAD_POINTER", "error", "checks/row.yaml", 10)),
    ({"checks__row": ROW.replace("facts.done", "facts..done")}, ("BAD_POINTER", "error", "checks/row.yaml", 10)),
    ({"checks__row": ROW.replace("facts.done", "turn.x")}, ("BAD_POINTER", "error", "checks/row.yaml", 10)),
    ({"checks__row": ROW.replace("facts.done", "moods.lin")}, ("UNKNOWN_ROOT", "notice", "checks/row.yaml", 10)),
    ({"checks__row": ROW.replace("facts.done: true", "present: 3")}, ("STAGE_VALUE", "notice", "checks/row.yaml", 10)),
    ({"checks__row": ROW + "colour: red\n"}, ("UNKNOWN_KEY", "notice", "checks/row.yaml", 11)),
    (
        {"checks__row": ROW.replace("kind: generic", "kind: contest") + "fact_schema: { scene: text }\n"},
        ("GUARDED_IN_FACT_SCHEMA", "error", "checks/row.yaml", 11),
    ),
    (
        {"characters__lin": "---\nname: [Lin\n---\n\nHums.\n"},
        ("BAD_YAML", "error", "characters/lin.md", 3),
    ),
    ({"lore__axioms": "# A\n## B\n### C\n"}, ("MULTI_CONCEPT", "warning", "lore/axioms.md", 3)),
    ({"lore__axioms": "Hello\n{{user}}\n"}, ("MACRO_SPEAK", "warning", "lore/axioms.md", 2)),
    (
        {"pack": PACK + "opening:\n  present:\n    - ghost\n"},
        ("OPENING_ABSENT", "error", "pack.yaml", 6),
    ),
    (
        {"pack": PACK + "opening:\n  revealed: [a, b, c, d, e, f, g]\n"},
        ("REVEALED_OVERFLOW", "warning", "pack.yaml", 5),
    ),
    (
        {"pack": PACK + "places:\n  own.start:\n    edges:\n      own.attic: { need: depth>3 }\n"},
        ("BAD_PLACE", "error", "pack.yaml", 7),
    ),
    (
        {"pack": PACK + "places:\n  own.start:\n    edges:\n      own.attic: {}\n"},
        ("BAD_PLACE", "warning", "pack.yaml", 7),
    ),
    ({"pack": PACK + "stats: { oar: 2 }\n"}, ("UNGUARDED_STAT", "notice", "pack.yaml", 4)),
    ({"pack": PACK + "rng: d7\n"}, ("UNKNOWN_RNG", "notice", "pack.yaml", 4)),
    ({"pack": PACK + "bounds: { oar: [3, 1] }\n"}, ("BAD_BOUNDS", "notice", "pack.yaml", 4)),
    ({"pack": PACK + "opening: { present: lin }\n"}, ("BAD_META", "notice", "pack.yaml", 4)),
    ({"pack": PACK + "guarded: [3]\n"}, ("BAD_META", "notice", "pack.yaml", 4)),
    ({"pack": PACK + "loreBudgetChars: much\n"}, ("BAD_META", "notice", "pack.yaml", 4)),
    ({"checks__row": ROW.replace("p = gap / 4", "p = 1\n  p += gap")}, ("ODD_TARGET", "notice", "checks/row.yaml", 8)),
    ({"checks__row": ROW.replace("characters.{hand}.oar", "rng_seed")}, ("BAD_INPUT", "error", "checks/row.yaml", 4)),
    ({"checks__row": ROW.replace("characters.{hand}.oar", "facts")}, ("BAD_INPUT", "error", "checks/row.yaml", 4)),
    ({"checks__row": ROW.replace("characters.{hand}.oar", "facts.__x")}, ("BAD_INPUT", "error", "checks/row.yaml", 4)),
    ({"pack": PACK.replace("own.start", "[own]")}, ("BAD_META", "notice", "pack.yaml", 3)),
    ({"pack": "title: Own\n"}, ("BAD_PACK_ID", "error", "pack.yaml", 1)),
    ({"pack": "id: own\n"}, ("BAD_META", "notice", "pack.yaml", 1)),
    ({"pack": PACK + "titel: x\n"}, ("UNKNOWN_KEY", "notice", "pack.yaml", 4)),
    ({"pack": PACK + "tags: { row: row }\n"}, ("BAD_LEXICON", "notice", "pack.yaml", 4)),
)


@pytest.mark.parametrize(("files", "finding"), FINDINGS, ids=[f"{row[1][0]}-{i}" for i, row in enumerate(FINDINGS)])
def test_every_diagnostic_says_where(files: dict[str, str], finding: tuple[str, str, str, int | None]) -> None:
    loaded = load_pack(changed(**files))
    rows = [(item.code, item.severity, item.place.file, item.place.line) for item in loaded.findings]
    assert finding in rows
    assert loaded.ok == (not any(row[1] == "error" for row in rows))
    assert all(item.message for item in loaded.findings)


def test_the_small_pack_has_no_finding_but_its_unguarded_stat() -> None:
    assert found(FILES) == []


def test_an_index_of_comments_is_empty_and_front_matter_may_be_missing() -> None:
    loaded = load_pack(changed(index="# nothing yet\n", characters__lin="Just prose.\n"))
    assert loaded.ok
    assert loaded.canon is not None
    assert (loaded.canon.cards["lin"].name, loaded.canon.cards["lin"].body) == ("lin", "Just prose.\n")


def test_a_repeated_check_id_keeps_its_place_and_takes_the_later_text() -> None:
    files = changed() | {
        "checks/aaa.yaml": ROW.replace("/ 4", "/ 2"),
        "checks/mid.yaml": ROW.replace("id: row", "id: mid"),
    }
    loaded = load_pack(files)
    assert loaded.canon is not None
    assert list(loaded.canon.checks) == ["row", "mid"]
    assert "/ 4" in loaded.canon.checks["row"].formula.source


def test_checks_stand_in_the_byte_order_of_their_files() -> None:
    names = ["a2", "a10", "B", "é", "z"]
    files = changed() | {f"checks/{name}.yaml": ROW.replace("id: row", f"id: {name}") for name in names}
    loaded = load_pack(files)
    assert loaded.canon is not None
    assert list(loaded.canon.checks) == ["B", "a10", "a2", "row", "z", "é"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nid: a\n---\n\nBody\n", ("id: a\n", "Body\n", 5)),
        ("---\nid: a\nno end\n", (None, "---\nid: a\nno end\n", 1)),
        ("Body\n", (None, "Body\n", 1)),
        ("---\n---\nBody", ("", "Body", 3)),
        ("---\nid: a\n---", ("id: a\n", "", 3)),
        ("---", (None, "---", 1)),
    ],
)
def test_front_matter(text: str, expected: tuple[str | None, str, int]) -> None:
    assert split_front_matter(text) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", {"a": "no"}),
        ("a: on", {"a": "on"}),
        ("a: 1:30", {"a": "1:30"}),
        ("a: 2026-01-01", {"a": "2026-01-01"}),
        ("a: +2", {"a": 2}),
        ("a: 0o17", {"a": 15}),
        ("a: 0x1F", {"a": 31}),
        ("a: 017", {"a": 17}),
        ("a: 1e3", {"a": 1000}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: ~\nb:\nc: null", {"a": None, "b": None, "c": None}),
        ("a: True", {"a": True}),
        ("a: 'true'", {"a": "true"}),
        ("- 1\n- [2, {b: 3}]", [1, [2, {"b": 3}]]),
        ("<<: 1", {"<<": 1}),
    ],
)
def test_yaml_is_read_by_the_core_schema_of_1_2(text: str, value: object) -> None:
    parsed = parse_yaml(text).value
    assert parsed == value
    assert repr(parsed) == repr(value)


@pytest.mark.parametrize("text", ["{[a]: 1}", "a: 1e999", "[" * 100_000, "a: [1", "? {x: 1}\n: 2", "a: \ud800"])
def test_bad_yaml_is_refused_with_a_place(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    assert caught.value.line >= 1
    assert caught.value.message


@pytest.mark.parametrize("path", [CLOCKHOUSE, FERRY])
def test_the_examples_are_without_findings(path: Path) -> None:
    assert check_pack(path) == []


def test_reports(tmp_path: Path) -> None:
    missing = check_pack(tmp_path / "none")
    assert [item.code for item in missing] == ["UNREADABLE"]
    assert exit_status(missing) == 2
    (tmp_path / "pack.yaml").write_text("id: own\ntitle: Own\nrng: d7\n", encoding="utf-8")
    (tmp_path / "index.yaml").write_text("checks: [row]\n", encoding="utf-8")
    findings = check_pack(tmp_path)
    assert exit_status(findings) == 1
    lines = [text_line(item) for item in findings]
    assert lines[0].startswith("error MISSING_FILE index.yaml:1:10 ")
    assert lines[-1].startswith("notice UNKNOWN_RNG pack.yaml:3:6 ")
    assert github_line(findings[0]).startswith("::error file=index.yaml,line=1,col=10,title=MISSING_FILE::")
    assert exit_status([]) == 0
    (tmp_path / "pack.yaml").write_bytes(b"id: \xff\n")
    assert [item.code for item in check_pack(tmp_path)] == ["UNREADABLE"]


def test_a_github_line_escapes_what_would_end_it(tmp_path: Path) -> None:
    item = Finding("X", "warning", "a\nb%", check_pack(tmp_path / "n:one,")[0].place)
    assert "%0A" in github_line(item)
    assert "%25" in github_line(item)
    assert "%3A" in github_line(item)
    assert "%2C" in github_line(item)
