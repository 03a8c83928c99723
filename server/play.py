"""``innkeeper play PACK``: the loop of the world kernel in a terminal, with a store in memory."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import TextIO

from runtime.values.rows import InnkeeperError
from runtime.world.pack.load import read_directory
from runtime.world.play import Narrator, Table, run_table
from runtime.world.service import WorldService, WorldSettings
from runtime.world.store import MemoryStore

SEED_BYTES = 16


def settings(packs_dir: Path | None = None, *, test_mode: bool = False) -> WorldSettings:
    """What the service is given: seeds of 128 random bits and ids of its own."""
    return WorldSettings(
        new_seed=lambda: secrets.token_hex(SEED_BYTES),
        new_id=lambda: f"world-{secrets.token_hex(8)}",
        packs_dir=packs_dir,
        test_mode=test_mode,
    )


def main(
    path: Path,
    *,
    seed: str | None = None,
    character: str | None = None,
    narrate: Narrator | None = None,
    source: TextIO | None = None,
    sink: TextIO | None = None,
) -> int:
    """Play a pack until its player leaves; 0 at the end, 1 when the pack has errors, 2 when it cannot be read."""
    source, sink = source or sys.stdin, sink or sys.stdout

    def write(text: str) -> None:
        sink.write(text + "\n")
        sink.flush()

    def read() -> str | None:
        if source.isatty():
            sink.write("> ")
            sink.flush()
        line = source.readline()
        return line if line else None

    service = WorldService(MemoryStore(), settings())
    try:
        pack = service.add_pack(read_directory(path))
        if not pack["ok"]:
            for item in pack["diagnostics"]:
                if item["severity"] == "error":
                    write(f"error {item['code']} {item['file']}:{item['line'] or 1} {item['message']}")
            return 1
        seat = {"character": character} if character else None
        opened = service.open_session(pack["packId"], "play", "open", seed=seed, seat=seat)
    except InnkeeperError as error:
        write(f"error {error.code} {error.message}")
        return 2
    run_table(Table(service, opened["sessionId"], narrate), read, write)
    return 0
