"""Run the hostile corpus against the sandbox on this machine."""

from __future__ import annotations

import argparse
import json

from sandbox import ProcessSandbox
from sandbox.selftest import run as selftest


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper sandbox``."""
    parser.add_argument("--selftest", action="store_true", help="run every hostile script and print what bound it")


def run(arguments: argparse.Namespace) -> int:
    """Print the sandbox's status, or the corpus line by line."""
    if not arguments.selftest:
        sandbox = ProcessSandbox()
        try:
            print(json.dumps(sandbox.status(), indent=2))
        finally:
            sandbox.close()
        return 0
    last = ""
    for line in selftest():
        print(line, flush=True)
        last = line
    return 0 if " 0 failed" in last else 1
