"""Read an exported playthrough into a data directory."""

from __future__ import annotations

import argparse
from pathlib import Path

from runtime.archive import import_playthrough
from runtime.values.jsontext import loads_strict
from runtime.values.rows import InnkeeperError
from server.cli.store import add_data_dir, opened
from server.limits import JSON_DEPTH


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper import``."""
    parser.add_argument("file", type=Path, metavar="FILE")
    add_data_dir(parser)


def run(arguments: argparse.Namespace) -> int:
    """Import; nothing is stored when any part is malformed or an id is taken."""
    try:
        raw = arguments.file.read_bytes()
    except OSError as error:
        raise InnkeeperError("IMPORT_INVALID", f"the file cannot be read: {error.strerror}") from None
    with opened(arguments, create=True) as runtime:
        answer = import_playthrough(runtime.ledger, loads_strict(raw, depth=JSON_DEPTH.default))
    print(
        f"playthrough {answer['playthroughId']}: {len(answer['sessions'])} sessions, {len(answer['resources'])} states"
    )
    return 0
