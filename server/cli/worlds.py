"""Printing the findings of a world package."""

from __future__ import annotations

import json
from pathlib import Path

from runtime.dimensions.errors import DimensionError
from runtime.dimensions.package import check_world as findings_of


def check_world(path: Path, *, as_json: bool) -> int:
    """Every issue with file, line and path; exit status 0 no error, 1 errors, 2 unreadable."""
    try:
        findings = findings_of(path)
    except DimensionError as error:
        print(f"error {error.code} {path.name}: {error.message}")
        return 2
    if as_json:
        print(json.dumps([finding.to_json() for finding in findings], ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            print(finding)
        errors = sum(1 for finding in findings if finding.severity == "error")
        print(f"{path.name}: {errors} errors, {len(findings) - errors} warnings")
    return 1 if any(finding.severity == "error" for finding in findings) else 0
