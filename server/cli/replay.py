"""Re-run every reply of a playthrough and prove each stored version."""

from __future__ import annotations

import argparse

from runtime.mvu.replay import replay_playthrough
from server.cli.store import add_data_dir, opened


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper replay``."""
    parser.add_argument("playthrough", metavar="PLAYTHROUGH")
    parser.add_argument("--quiet", action="store_true", help="only the closing line and differences")
    add_data_dir(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print each version; exit status 1 at the first that differs."""
    proved = 0
    with opened(arguments) as runtime:
        for item in replay_playthrough(runtime.ledger, runtime.mvu.processors, arguments.playthrough):
            if item.difference is not None:
                print(
                    f"DIFFERS  session {item.session_id} turn {item.turn} revision {item.revision}: {item.difference}"
                )
                print(f"{proved} versions proved, then the first difference")
                return 1
            proved += 1
            if not arguments.quiet:
                print(f"same     session {item.session_id} turn {item.turn} revision {item.revision}")
    print(f"{proved} versions proved, none differs")
    return 0
