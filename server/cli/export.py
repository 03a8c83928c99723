"""Write a playthrough with all its states and history to a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from runtime.archive import export_playthrough
from runtime.values.jsontext import dumps
from server.cli.store import add_data_dir, opened


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper export``."""
    parser.add_argument("playthrough", metavar="PLAYTHROUGH")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file, standard output by default")
    add_data_dir(parser)


def run(arguments: argparse.Namespace) -> int:
    """Export; the same playthrough gives the same bytes."""
    with opened(arguments) as runtime:
        text = dumps(export_playthrough(runtime.ledger, arguments.playthrough))
    if arguments.out is None:
        sys.stdout.buffer.write(text + b"\n")
    else:
        arguments.out.write_bytes(text + b"\n")
        print(f"{len(text) + 1} bytes written to {arguments.out.name}")
    return 0
