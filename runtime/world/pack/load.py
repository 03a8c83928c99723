"""Files of a pack to a document (§6.1, §6.2). Reading the disk is a function of its own; loading is pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from runtime.values.rows import InnkeeperError
from runtime.world.canon import Canon, compile_canon
from runtime.world.channels import BUILT_IN
from runtime.world.limits import PACK_BYTES, PACK_CHECKS, PACK_FILE_CHARS, PACK_FILES
from runtime.world.pack.findings import Finding, Place, Source
from runtime.world.pack.validate import validate
from runtime.world.pack.yaml_source import YamlError, YamlText, parse_yaml

_SUFFIXES = (".yaml", ".yml", ".md")
_FOLDERS = ("checks", "characters", "lore")


@dataclass(frozen=True, slots=True)
class LoadedPack:
    """What loading answers: the Canon (``None`` when the two main files are unusable) and all findings in order."""

    canon: Canon | None
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """No finding of severity error."""
        return not any(finding.severity == "error" for finding in self.findings)


@dataclass(slots=True)
class _Loader:
    files: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)

    def error(self, code: str, message: str, place: Place) -> None:
        self.findings.append(Finding(code, "error", message, place))

    def main_file(self, name: str) -> dict[str, Any] | None:
        """``pack.yaml`` or ``index.yaml``; comments alone count as no entries for the index only."""
        text = self.files[name]
        try:
            parsed = parse_yaml(text)
        except YamlError as error:
            self.error("BAD_YAML", error.message, Place(name, error.line, error.column))
            return None
        if parsed.empty and name == "index.yaml":
            parsed.value = {}
        if not isinstance(parsed.value, dict):
            self.error("BAD_YAML", f"expected a mapping with {_wanted(name)}, found none", Place(name, 1, 1))
            return None
        self.sources[name] = _source(name, parsed)
        return parsed.value

    def checks(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in _sorted(self.files, "checks", (".yaml", ".yml")):
            body = self.check_file(name)
            if body is not None:
                key = body["id"]
                if key in found:
                    self.findings.append(
                        Finding(
                            "DUPLICATE_CHECK",
                            "notice",
                            f"the id {key!r} appears twice; this file wins",
                            self.sources[f"checks/{key}"].place(("id",)),
                        )
                    )
                found[key] = body
        if len(found) > PACK_CHECKS.default:
            self.error(
                "PACK_LIMIT", f"expected at most {PACK_CHECKS.default} checks, found {len(found)}", Place("checks")
            )
        return found

    def check_file(self, name: str) -> dict[str, Any] | None:
        try:
            parsed = parse_yaml(self.files[name])
        except YamlError as error:
            self.error("BAD_YAML", error.message, Place(name, error.line, error.column))
            return None
        if not isinstance(parsed.value, dict):
            self.error("BAD_YAML", "expected a mapping with id, inputs, formula and outcomes", Place(name, 1, 1))
            return None
        source = _source(name, parsed)
        key = parsed.value.get("id")
        if not isinstance(key, str) or not key:
            self.error("BAD_CHECK", f"expected an id as text, found {key!r}", source.place(("id",)))
            return None
        self.sources[f"checks/{key}"] = source
        return parsed.value

    def characters(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in _sorted(self.files, "characters", (".md",)):
            if _is_skipped(name):
                continue
            card = self.card_file(name)
            self.sources[f"characters/{card['id']}"] = self.sources.pop(name)
            found[card["id"]] = card
        return found

    def card_file(self, name: str) -> dict[str, Any]:
        stem = name.rsplit("/", 1)[1].removesuffix(".md")
        front, body, line = split_front_matter(self.files[name])
        source = Source(name, body_line=line)
        head: dict[str, Any] = {}
        if front is not None:
            try:
                parsed = parse_yaml(front)
                # The opening hyphens are line 1, so the front matter starts on line 2.
                source = _source(name, parsed, first_line=2, body_line=line)
                if isinstance(parsed.value, dict):
                    head = parsed.value
                elif not parsed.empty:
                    self.error("BAD_YAML", "expected a mapping as front matter", Place(name, 2, 1))
            except YamlError as error:
                self.error("BAD_YAML", error.message, Place(name, error.line + 1, error.column))
        self.sources[name] = source
        return _card(stem, head, body)

    def lore(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in _sorted(self.files, "lore", (".md",)):
            if not _is_skipped(name):
                key = name.split("/", 1)[1].removesuffix(".md")
                self.sources[f"lore/{key}"] = Source(name)
                found[key] = {"key": key, "body": self.files[name]}
        return found


def _wanted(name: str) -> str:
    return "id and title" if name == "pack.yaml" else "checks, characters and lore"


def _source(name: str, parsed: YamlText, first_line: int = 1, body_line: int = 1) -> Source:
    positions = {path: (line + first_line - 1, column) for path, (line, column) in parsed.positions.items()}
    return Source(name, positions, parsed.styles, frozenset(parsed.plain_numbers), body_line)


def _sorted(files: Mapping[str, str], folder: str, suffixes: tuple[str, ...]) -> list[str]:
    """Files directly in a folder, by the bytes of their names (§2.5)."""
    names = [name for name in files if name.startswith(f"{folder}/") and name.endswith(suffixes)]
    return sorted((name for name in names if name.count("/") == 1), key=lambda name: name.encode("utf-8", "replace"))


def _is_skipped(name: str) -> bool:
    stem = name.rsplit("/", 1)[1]
    return stem.startswith("_") or stem == "README.md"


def split_front_matter(text: str) -> tuple[str | None, str, int]:
    """Front matter (or ``None``), the left-trimmed body, and the line the body starts on (§6.1)."""
    if not text.startswith("---"):
        return None, text.lstrip(), 1 + _leading_lines(text)
    first = text.find("\n")
    end = text.find("\n---", first) if first >= 0 else -1
    if end < 0:
        return None, text.lstrip(), 1 + _leading_lines(text)
    front = text[first + 1 : end + 1] if end > first else ""
    after = text.find("\n", end + 1)
    rest = text[after + 1 :] if after >= 0 else ""
    line = text.count("\n", 0, len(text) - len(rest)) + 1
    return front, rest.lstrip(), line + _leading_lines(rest)


def _leading_lines(text: str) -> int:
    return text[: len(text) - len(text.lstrip())].count("\n")


def _card(stem: str, head: dict[str, Any], body: str) -> dict[str, Any]:
    key = head.get("id") if isinstance(head.get("id"), str) and head.get("id") else stem
    card: dict[str, Any] = {
        "id": key,
        "name": head["name"] if isinstance(head.get("name"), str) else key,
        "keys": [item for item in head["keys"] if isinstance(item, str)] if isinstance(head.get("keys"), list) else [],
    }
    if head.get("pathway") is not None:
        card["pathway"] = head["pathway"]
    declared = head.get("sequence_declared")
    if isinstance(declared, (int, float)) and not isinstance(declared, bool):
        card["sequence_declared"] = declared
    if isinstance(head.get("stats"), dict):
        card["stats"] = head["stats"]
    return card | {"provisional": head.get("provisional") is True, "body": body}


def load_pack(files: Mapping[str, str]) -> LoadedPack:
    """Load and validate a pack from its texts; never raises for content, only for size."""
    if len(files) > PACK_FILES.default:
        raise InnkeeperError("WORLD_PACK_LIMIT", f"expected at most {PACK_FILES.default} files, found {len(files)}")
    size = sum(len(text) for text in files.values())
    if size > PACK_BYTES.default:
        raise InnkeeperError("WORLD_PACK_LIMIT", f"expected at most {PACK_BYTES.default} bytes, found {size}")
    loader = _Loader(files)
    for name in ("pack.yaml", "index.yaml"):
        if not files.get(name, ""):
            loader.error("MISSING_FILE", f"expected {name} with {_wanted(name)}, found none", Place(name))
    if loader.findings:
        return LoadedPack(None, tuple(loader.findings))
    meta = loader.main_file("pack.yaml")
    index = loader.main_file("index.yaml") if meta is not None else None
    if meta is None or index is None:
        return LoadedPack(None, tuple(loader.findings))
    document = {
        "meta": meta,
        "index": index,
        "checks": loader.checks(),
        "characters": loader.characters(),
        "lore": loader.lore(),
        "guarded": meta["guarded"] if isinstance(meta.get("guarded"), list) else list(BUILT_IN),
    }
    loader.findings.extend(validate(document, loader.sources))
    return LoadedPack(compile_canon(document), tuple(loader.findings))


def read_directory(directory: FilePath) -> dict[str, str]:
    """Read the texts of a pack from a folder; raises ``WORLD_PACK_UNREADABLE``."""
    if not directory.is_dir():
        raise InnkeeperError("WORLD_PACK_UNREADABLE", f"expected a folder with pack.yaml, found none at {directory}")
    files: dict[str, str] = {}
    try:
        names = [entry.name for entry in os.scandir(directory) if entry.is_file()]
        for folder in _FOLDERS:
            if (directory / folder).is_dir():
                names += [f"{folder}/{entry.name}" for entry in os.scandir(directory / folder) if entry.is_file()]
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                files[name] = _read_text(directory, name)
    except OSError as error:
        raise InnkeeperError("WORLD_PACK_UNREADABLE", f"the folder could not be read: {error.strerror}") from None
    return files


def _read_text(directory: FilePath, name: str) -> str:
    path = directory / name
    if path.stat().st_size > PACK_FILE_CHARS.default * 4:
        raise InnkeeperError("WORLD_PACK_LIMIT", f"expected at most {PACK_FILE_CHARS.default} characters in {name}")
    try:
        return path.read_bytes().decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InnkeeperError(
            "WORLD_PACK_UNREADABLE", f"expected UTF-8, found a broken byte at offset {error.start} of {name}"
        ) from None
