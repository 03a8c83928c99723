"""Documents that can fail: generated tables are current, the README's commands and links are real."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.generate import TARGET, render
from server.cli import COMMANDS, build_parser

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_reference_is_what_the_code_gives() -> None:
    assert TARGET.read_text(encoding="utf-8") == render(), "run make docs"


def test_the_readme_names_every_command() -> None:
    named = set(re.findall(r"`innkeeper (\w+)", README))
    assert named == set(COMMANDS)
    build_parser()


def test_every_make_target_of_the_documents_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"`?make (\w+)`?", (ROOT / document).read_text(encoding="utf-8")):
            assert target in targets | {"are"}, f"{document}: make {target}"


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/hosting.md", "docs/configuration.md"])
def test_links_lead_somewhere(document: str) -> None:
    path = ROOT / document
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_of_the_readme_runs(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "cards" in done.stdout


def readme_commands() -> list[str]:
    lines = [line for block in blocks("sh") for line in block.replace("\\\n", " ").splitlines() if line.strip()]
    return [line for line in lines if line.startswith(".venv/bin/")]


@pytest.mark.parametrize("command", readme_commands())
def test_the_commands_of_the_readme_run(command: str) -> None:
    words = shlex.split(command)
    program = words.pop(0).removeprefix(".venv/bin/")
    start = (
        [sys.executable]
        if program == "python"
        else [sys.executable, "-c", "import sys; from server.cli import main; sys.exit(main(sys.argv[1:]))"]
    )
    done = subprocess.run([*start, *words], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_the_readme_calls_what_continuous_integration_runs() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "```sh\nmake test\n```" in README
