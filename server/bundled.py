"""The example cards and packs that come with the product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runtime.mvu.library import CardLibrary
from runtime.values.rows import InnkeeperError


def examples_directory() -> Path:
    """Where the examples lie: inside the installed package, or beside it in a checkout."""
    here = Path(__file__).resolve().parent
    for candidate in (here / "_examples", here.parent / "examples"):
        if (candidate / "cards").is_dir():
            return candidate
    raise InnkeeperError("CONFIG_INVALID", "the examples are missing from this installation: install innkeeper anew")


def example_cards() -> list[Path]:
    """The example cards as PNG files, by name."""
    return sorted((examples_directory() / "cards").glob("*.png"))


def example_packs() -> list[Path]:
    """The folders of the example packs."""
    return sorted(path for path in (examples_directory() / "packs").iterdir() if path.is_dir())


def import_examples(cards: CardLibrary) -> list[dict[str, Any]]:
    """Import the example cards under their file names."""
    return [cards.add(path.read_bytes(), f"example-{path.stem}") for path in example_cards()]
