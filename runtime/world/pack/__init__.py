"""Packs: reading files into a document with positions, judging it, and reporting (§6)."""

from runtime.world.pack.findings import Finding
from runtime.world.pack.load import LoadedPack, load_pack, read_directory
from runtime.world.pack.report import check_pack, github_line, text_line
from runtime.world.pack.validate import validate

__all__ = [
    "Finding",
    "LoadedPack",
    "check_pack",
    "github_line",
    "load_pack",
    "read_directory",
    "text_line",
    "validate",
]
