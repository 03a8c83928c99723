"""Print the error table."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from server.errors import ERRORS


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper errors``."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print every code with its status and its sentence."""
    rows = sorted(ERRORS.values(), key=lambda row: row.code)
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return 0
    width = max(len(row.code) for row in rows)
    for row in rows:
        print(f"{row.code:<{width}}  {row.status}  {row.kind:<10}  {row.sentence}")
    return 0
