"""Opening a data directory for the commands that work on it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.assembly import Runtime, open_runtime
from runtime.values.rows import InnkeeperError
from server import config as configuration


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """The option that names a data directory."""
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where states are kept (INNKEEPER_DATA_DIR)")


@contextmanager
def opened(arguments: argparse.Namespace, *, create: bool = False) -> Iterator[Runtime]:
    """The runtime of the named data directory."""
    chosen = configuration.load(data_dir=arguments.data_dir)
    path = chosen.data_dir / "innkeeper.sqlite"
    if not path.exists() and not create:
        raise InnkeeperError(
            "CONFIG_INVALID",
            f"the data directory holds no states: {chosen.data_dir.name}; name another with --data-dir",
        )
    chosen.data_dir.mkdir(parents=True, exist_ok=True)
    runtime = open_runtime(path)
    try:
        yield runtime
    finally:
        runtime.close()
