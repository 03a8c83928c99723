"""Play a pack in the terminal."""

from __future__ import annotations

import argparse
from pathlib import Path

from runtime.values.rows import InnkeeperError
from server.bundled import example_packs
from server.config import read_file
from server.narrator import ChatNarrator
from server.play import main as play_pack
from server.tracker_client import read_settings


def add(parser: argparse.ArgumentParser) -> None:
    """The options of ``innkeeper play``."""
    parser.add_argument("pack", metavar="PACK", help="the folder of a pack, or the name of an example")
    parser.add_argument("--seed", help="the seed of the dice; the same seed and words give the same story")
    parser.add_argument("--character", help="whose seat to take")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML; the endpoint of its section tracker tells the story"
    )


def find_pack(name: str) -> Path:
    """A folder, or an example by its name."""
    path = Path(name)
    if path.is_dir():
        return path
    known = {found.name: found for found in example_packs()}
    if name in known:
        return known[name]
    raise InnkeeperError("CONFIG_INVALID", f"no such pack folder: {name}; examples are {', '.join(sorted(known))}")


def run(arguments: argparse.Namespace) -> int:
    """Play until the player leaves."""
    pack = find_pack(arguments.pack)
    settings = None if arguments.config is None else read_settings(read_file(arguments.config).get("tracker"))
    if settings is None:
        return play_pack(pack, seed=arguments.seed, character=arguments.character)
    with ChatNarrator(settings) as narrate:
        return play_pack(pack, seed=arguments.seed, character=arguments.character, narrate=narrate)
