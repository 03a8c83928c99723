"""Serve a session's world tools over the Model Context Protocol."""

from __future__ import annotations

import argparse

from server.cli.store import add_data_dir, opened
from server.mcp_tools import WorldTools, serve_stdio


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper mcp``."""
    parser.add_argument("--session", required=True, metavar="ID", help="the session whose world is played")
    add_data_dir(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve on standard input and output until the client leaves."""
    with opened(arguments) as runtime:
        serve_stdio(WorldTools(runtime.world.write, arguments.session))
    return 0
