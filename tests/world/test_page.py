"""The world page keeps the strict content policy: nothing inline, nothing from a pack as markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import server

STATIC = Path(server.__file__).parent / "static"


def test_the_page_holds_no_script_and_no_style() -> None:
    page = (STATIC / "world.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert "<style" not in page
    assert not re.search(r"\s(?:style|on[a-z]+)=", page)


@pytest.mark.parametrize(
    "word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
)
def test_the_script_inserts_text_only(word: str) -> None:
    assert word not in (STATIC / "world.js").read_text(encoding="utf-8")


def test_the_script_knows_every_element_of_the_page() -> None:
    script = (STATIC / "world.js").read_text(encoding="utf-8")
    page = (STATIC / "world.html").read_text(encoding="utf-8")
    named = set(re.findall(r"byId\(\"([a-z-]+)\"\)", script)) | set(re.findall(r"onSubmit\(\"([a-z-]+)\"", script))
    assert named
    assert named <= set(re.findall(r"\bid=\"([a-z-]+)\"", page))
