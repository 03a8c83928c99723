"""Reports about a pack for people and for build systems (``innkeeper check PACK``)."""

from __future__ import annotations

from pathlib import Path

from runtime.values.rows import InnkeeperError
from runtime.world.pack.findings import Finding, Place
from runtime.world.pack.load import load_pack, read_directory

_GITHUB = {"error": "error", "warning": "warning", "notice": "notice"}


def check_pack(path: Path) -> list[Finding]:
    """Every finding of the pack in a folder; an unreadable one is a single finding ``UNREADABLE``."""
    try:
        return list(load_pack(read_directory(path)).findings)
    except InnkeeperError as error:
        return [Finding("UNREADABLE", "error", error.message, Place(str(path)))]


def exit_status(findings: list[Finding]) -> int:
    """0 without errors, 1 with errors, 2 when the pack could not be read."""
    if any(finding.code == "UNREADABLE" for finding in findings):
        return 2
    return 1 if any(finding.severity == "error" for finding in findings) else 0


def text_line(finding: Finding) -> str:
    """One line: severity, code, file:line and the sentence."""
    place = finding.place
    where = place.file if place.line is None else f"{place.file}:{place.line}"
    if place.line is not None and place.column is not None:
        where += f":{place.column}"
    return f"{finding.severity} {finding.code} {where} {finding.message}"


def github_line(finding: Finding) -> str:
    """One annotation line of a GitHub workflow log."""
    place = finding.place
    parts = [f"file={_escaped(place.file, True)}"]
    if place.line is not None:
        parts.append(f"line={place.line}")
    if place.column is not None:
        parts.append(f"col={place.column}")
    parts.append(f"title={finding.code}")
    return f"::{_GITHUB[finding.severity]} {','.join(parts)}::{_escaped(finding.message, False)}"


def _escaped(text: str, is_property: bool) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text
