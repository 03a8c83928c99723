"""The packs that stand in some folders: what a player or author may choose from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runtime.values.rows import InnkeeperError
from runtime.world.pack.load import load_pack, read_directory


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One pack on disk; ``ok`` says whether it may be played."""

    id: str
    title: str
    locale: str
    description: str
    path: Path
    ok: bool


def catalogue(folders: Iterable[Path]) -> list[CatalogueEntry]:
    """Every folder with a readable ``pack.yaml`` below the given ones, by folder and name; a later equal id is left out."""
    entries: dict[str, CatalogueEntry] = {}
    for folder in folders:
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not (path / "pack.yaml").is_file():
                continue
            try:
                loaded = load_pack(read_directory(path))
            except InnkeeperError:
                continue
            if loaded.canon is None or not loaded.canon.id:
                continue
            meta = loaded.canon.document["meta"]
            about = meta.get("description")
            entries.setdefault(
                loaded.canon.id,
                CatalogueEntry(
                    loaded.canon.id,
                    loaded.canon.title,
                    loaded.canon.locale,
                    about if isinstance(about, str) else "",
                    path,
                    loaded.ok,
                ),
            )
    return list(entries.values())
