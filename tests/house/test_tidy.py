"""Tidiness: sizes of modules and functions, docstrings of public names, no machine paths, no stray files."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("interpreter", "sandbox", "runtime", "server")
MODULE_LINES = 500
FUNCTION_LINES = 60
REASON = re.compile(r"(?i)\bover \d+ lines\b|\blong because\b")
# Paths of one machine, names of package registries, words about how the work is organised.
FORBIDDEN = re.compile(
    r"/(?:home|root|work|Users)/[A-Za-z.]|files\.pythonhosted|pypi\.org|registry\.npmjs|deb\.debian\.org", re.IGNORECASE
)
KNOWN_TOP = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "bench",
    "docs",
    "examples",
    "interpreter",
    "pyproject.toml",
    "requirements-dev.lock",
    "runtime",
    "sandbox",
    "server",
    "tests",
    "vendor_fixtures",
}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def test_modules_are_short_or_say_why() -> None:
    long = []
    for path in [*sources(), *sorted((ROOT / "tests").rglob("*.py"))]:
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > MODULE_LINES and not REASON.search(ast.get_docstring(ast.parse(text)) or ""):
            long.append(f"{path.relative_to(ROOT)}: {lines} lines")
    assert long == []


def test_functions_are_short() -> None:
    long = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines")
    assert long == []


def test_public_names_have_docstrings() -> None:
    bare = []
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if ast.get_docstring(tree) is None:
            bare.append(str(path.relative_to(ROOT)))
        named = (node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)))
        bare += [
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
            for node in named
            if not node.name.startswith("_") and ast.get_docstring(node) is None
        ]
    assert bare == []


def test_nothing_names_a_machine_or_a_registry() -> None:
    found = []
    for path in tracked():
        if path == Path(__file__) or path.suffix in (".png", ".jsonl"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if FORBIDDEN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


def test_the_top_level_holds_what_the_plan_names() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} - KNOWN_TOP == set()


@pytest.mark.parametrize("folder", sorted(path.name for path in (ROOT / "vendor_fixtures").iterdir() if path.is_dir()))
def test_recorded_data_has_its_licence_note(folder: str) -> None:
    assert (ROOT / "vendor_fixtures" / folder / "LICENCE.md").is_file()
