"""The import direction of the plan (design §3), read from the syntax trees of all modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("interpreter", "sandbox", "runtime", "server")
ALLOWED: dict[str, set[str]] = {
    "interpreter": set(),
    "sandbox": set(),
    "runtime": {"interpreter", "sandbox"},
    "server": {"runtime", "interpreter", "sandbox"},
}
ROOMS: dict[str, set[str]] = {
    "values": set(),
    "ledger": {"values"},
    "sessions": {"ledger", "values"},
    "cards": {"ledger", "values"},
    "mvu": {"cards", "sessions", "ledger", "values"},
    "dimensions": {"cards", "sessions", "ledger", "values"},
    "world": {"cards", "sessions", "ledger", "values"},
}
"""What each room of ``runtime`` may import; the modules beside the rooms wire and may import all of them."""


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.relative_to(ROOT)}:{node.lineno}: a relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_downwards(package: str) -> None:
    wrong = []
    for path in modules(package):
        for name in imports(path):
            top = name.split(".")[0]
            if top in PACKAGES and top != package and top not in ALLOWED[package]:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_rooms_import_downwards(room: str) -> None:
    wrong = []
    for path in modules(f"runtime/{room}"):
        for name in imports(path):
            parts = name.split(".")
            if parts[0] != "runtime" or len(parts) < 2 or parts[1] == room:
                continue
            if parts[1] not in ROOMS[room]:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


ORDER = ("syntax", "declare", "compile", "parse")


def test_the_interpreter_is_a_pipeline() -> None:
    wrong = []
    for place, stage in enumerate(ORDER):
        for path in modules(f"interpreter/{stage}"):
            for name in imports(path):
                parts = name.split(".")
                if parts[0] == "interpreter" and len(parts) > 1 and parts[1] in ORDER[place + 1 :]:
                    wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []
