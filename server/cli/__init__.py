"""The command line: one module per command (design §9)."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from runtime.values.rows import InnkeeperError

COMMANDS: tuple[str, ...] = (
    "serve",
    "demo",
    "check",
    "apply",
    "play",
    "sandbox",
    "replay",
    "migrate",
    "export",
    "import",
    "mcp",
    "limits",
    "errors",
)
"""Each is a module of this package (``import`` lies in ``import_``) with ``add(parser)`` and ``run(arguments) -> int``."""


def module_of(command: str) -> str:
    """The module of a command."""
    return f"server.cli.{'import_' if command == 'import' else command}"


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(prog="innkeeper", description="Keeps the state of role-play worlds honest.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        module = importlib.import_module(module_of(name))
        text = (module.__doc__ or name).strip().splitlines()[0]
        module.add(commands.add_parser(name, help=text, description=module.__doc__))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; exit status 0 done, 1 refused or found errors, 2 unusable input."""
    chosen = build_parser().parse_args(arguments)
    module = importlib.import_module(module_of(chosen.command))
    try:
        status: int = module.run(chosen)
        return status
    except InnkeeperError as error:
        print(f"innkeeper {chosen.command}: {error.code}: {error.message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
