"""What cards declare: InitVar, declaration, helper, and every way in which they can be wrong."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from runtime.cards import Card, read_card
from runtime.mvu.discovery import declaration_source, describe_card, initvar_data, is_declaration, remote_imports
from runtime.values.rows import InnkeeperError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "cards"
URL = "https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js"
DECLARATION = f"import {{ registerMvuSchema }} from '{URL}';\nconst S = z.object({{ hp: z.number().prefault(9) }});\n$(() => {{ registerMvuSchema(S); }});"
HELPER = "eventOn('global_Mvu_initialized', () => { eventOn(Mvu.events.COMMAND_PARSED, () => {}); });"


def card(*scripts: str, book: tuple[tuple[str, str], ...] = (), off: tuple[str, ...] = ()) -> Card:
    entries = [{"type": "script", "content": text, "enabled": True} for text in scripts]
    entries += [{"type": "script", "content": text, "enabled": False} for text in off]
    data: dict[str, Any] = {
        "name": "Wren",
        "first_mes": "",
        "extensions": {"tavern_helper": {"scripts": entries}},
        "character_book": {"entries": [{"comment": comment, "content": content} for comment, content in book]},
    }
    return read_card(json.dumps({"spec": "chara_card_v2", "data": data}).encode())


@pytest.mark.parametrize("name", ["lighthouse", "wayhouse"])
def test_examples_are_whole(name: str) -> None:
    described = describe_card(read_card((EXAMPLES / f"{name}.png").read_bytes()))
    assert described["initvar"].keys() == {"entries"} and len(described["initvar"]["entries"]) == 2
    assert described["declaration"] == {"status": "inline", "interpreterVersion": 3}
    assert described["helper"] == {"status": "found"}
    assert [entry["id"] for entry in described["worldBook"]["entries"]] == list(range(6))


@pytest.mark.parametrize(
    ("made", "status", "words"),
    [
        (card(), "absent", ""),
        (card("console.log(1)"), "absent", ""),
        (card(DECLARATION), "inline", ""),
        (card(DECLARATION, DECLARATION), "inline", ""),
        (card(off=(DECLARATION,)), "absent", ""),
        (card(book=(("schema", DECLARATION),)), "inline", ""),
        (card(DECLARATION, book=(("schema", DECLARATION + "\n"),)), "conflict", "MVU_SCHEMA_CONFLICT"),
        (card(DECLARATION.replace("z.number()", "fetch()")), "invalid", "MVU_SCHEMA_CODE"),
        (card(DECLARATION.replace("});", "")), "invalid", "MVU_SCHEMA_CODE"),
        (card("import 'https://cdn.jsdelivr.net/gh/a/b/dist/schema.js'"), "remote", "schema.js"),
        (card("// the bundle\nimport 'https://x.y/MagVarUpdate/artifact/bundle.js';\n"), "absent", ""),
        (
            card("import 'https://x.y/MagVarUpdate@1.2/artifact/bundle.js';\nimport \"https://x.y/z.js\""),
            "remote",
            "z.js",
        ),
        (card("import 'https://x.y/z.js'; draw();"), "absent", ""),
    ],
)
def test_declaration_status(made: Card, status: str, words: str) -> None:
    described = describe_card(made)["declaration"]
    assert described["status"] == status, described
    assert words in json.dumps(described)
    if status == "invalid":
        assert described["error"]["details"]["line"] >= 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DECLARATION, True),
        ("import { registerMvuSchema as r } from './x.js'", True),
        ("import {\n  other,\n  registerMvuSchema,\n} from 'x'", True),
        ("let r; ({ registerMvuSchema: r } = await import(a));", True),
        ("import(a).then(m => { r = m.registerMvuSchema; })", True),
        ("registerMvuSchema(Schema)", False),
        ("import { z } from 'zod'; // not registerMvuSchema", False),
    ],
)
def test_forms_of_import(text: str, expected: bool) -> None:
    assert is_declaration(text) is expected


def test_detection_takes_linear_time() -> None:
    hostile = "import {" * 200_000 + "registerMvuSchema" + "import 'https://" * 100_000
    start = time.process_time()
    assert not is_declaration(hostile)
    assert remote_imports(card(hostile, "import '" * 2_000)) == []
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    ("made", "status", "code"),
    [
        (card(), "absent", None),
        (card(HELPER), "found", None),
        (card(off=(HELPER,)), "absent", None),
        (card(HELPER, HELPER + " "), "conflict", "MVU_COMMAND_HOOK_CONFLICT"),
        (card(HELPER + "}"), "invalid", "MVU_COMMAND_HOOK_DECLARATION"),
        (card(HELPER + " " * 70_000), "invalid", "MVU_COMMAND_HOOK_LIMIT"),
    ],
)
def test_scenario_040_helper_status(made: Card, status: str, code: str | None) -> None:
    described = describe_card(made)["helper"]
    assert described["status"] == status
    assert described.get("error", {}).get("code") == code


def test_initvar_entries_merge_in_order() -> None:
    made = card(
        book=(
            ("[InitVar]", "a: {x: 1, y: [1, 2]}\nb: 1"),
            ("no", "c: 1"),
            ("[INITVAR] two", "{a: {y: [3]}, // json5\n}"),
        )
    )
    assert initvar_data(made) == {"a": {"x": 1, "y": [3]}, "b": 1}
    assert initvar_data(card()) is None


def test_scenario_063_broken_initvar_is_said() -> None:
    made = card(DECLARATION, book=(("[initvar]", "a: [1"),))
    described = describe_card(made)["initvar"]
    assert described["error"]["code"] == "MVU_INITIALIZATION_INVALID"
    with pytest.raises(InnkeeperError):
        initvar_data(made)
    assert declaration_source(made) == DECLARATION
