"""Print the limits table."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from server.limits import LIMITS


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper limits``."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print every limit with what it protects."""
    if arguments.json:
        print(json.dumps([asdict(limit) for limit in LIMITS], indent=2))
        return 0
    width = max(len(limit.name) for limit in LIMITS)
    for limit in LIMITS:
        print(f"{limit.name:<{width}}  {limit.default:>11,} {limit.unit}  [{limit.error}] {limit.protects}")
    return 0
