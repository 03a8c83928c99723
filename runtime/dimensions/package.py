"""World packages: ``world.yaml``, data files, language files (``spec/dimensions.md`` §7.1, §0.8)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Final, Literal

import yaml

from runtime.dimensions import clock as clocks
from runtime.dimensions import limits
from runtime.dimensions.binding import World
from runtime.dimensions.declaration import check_table, warnings
from runtime.dimensions.domain import check_identifier
from runtime.dimensions.errors import DimensionError
from runtime.dimensions.issues import Path
from runtime.dimensions.localise import read_tag
from runtime.dimensions.overlay import Overlay, inline_text_maps
from runtime.dimensions.turn import PROTECTED
from runtime.dimensions.values import Json, bounds_issue, quoted
from runtime.values import yaml12
from runtime.values.canonical import sha
from runtime.values.jsontext import loads_strict
from runtime.values.rows import InnkeeperError

Severity = Literal["error", "warning"]
MAIN: Final = "world.yaml"
DESCRIPTOR: Final = "data/world.data.yaml"
SCHEMA: Final = "covel://world/dimensions"
TARGET: Final = "world:metadata.dimensions"
_KEYS: Final = ("dimensions", "locale", "clock")
_LANGUAGE_FILE: Final = re.compile(
    r"(?P<stem>.+)\.(?P<locale>[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*)\.(?P<ext>ya?ml|json)\Z"
)
# What no mark knows (a missing key, a whole file) stands at the first line.
_FIRST_LINE: Final = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """One issue of a package: where it stands and what to do."""

    severity: Severity
    file: str
    line: int
    path: str
    reason: str
    message: str

    @property
    def code(self) -> str:
        """The stable name of the cause."""
        return self.reason

    def to_json(self) -> dict[str, Any]:
        """The finding for machines."""
        return {
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "path": self.path,
            "reason": self.reason,
            "message": self.message,
        }

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.severity}: {self.message} [{self.reason}] at {self.path or 'the root'}"


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed file: its value, and the line of every place in it."""

    file: str
    value: Json
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of a path, or of the nearest place above it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, _FIRST_LINE)


def _lines(text: str) -> dict[Path, int]:
    """The line of every key and element; the text is known to be acceptable YAML of bounded depth."""
    found: dict[Path, int] = {}

    def walk(node: Any, path: Path) -> None:
        found.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                place = (*path, key.value)
                found[place] = key.start_mark.line + 1
                walk(value, place)
        elif isinstance(node, yaml.SequenceNode):
            for index, part in enumerate(node.value):
                walk(part, (*path, index))

    loader = yaml.CSafeLoader(text)
    try:
        root = loader.get_single_node()
    finally:
        loader.dispose()
    if root is not None:
        walk(root, ())
    return found


class _Reader:
    """Reads one package and collects what is wrong with it."""

    def __init__(self, files: Mapping[str, str], *, strict: bool) -> None:
        self.files = files
        self.strict = strict
        self.findings: list[Finding] = []

    def note(self, severity: Severity, document: Document | str, path: Path, reason: str, message: str) -> None:
        """Add a finding."""
        file, line = (document, _FIRST_LINE) if isinstance(document, str) else (document.file, document.line(path))
        self.findings.append(Finding(severity, file, line, ".".join(map(str, path)), reason, message))

    def parse(self, file: str) -> Document | None:
        """Parse one YAML or JSON file; a fault is a finding with its line."""
        text = self.files[file]
        try:
            value = loads_strict(text) if file.endswith(".json") else yaml12.load(text)
        except InnkeeperError as error:
            line = error.details.get("line", _FIRST_LINE)
            at = int(line) if isinstance(line, int) else _FIRST_LINE
            self.findings.append(Finding("error", file, at, "", "syntax", error.message))
            return None
        outside = bounds_issue(value)
        if outside is not None:
            self.findings.append(Finding("error", file, _FIRST_LINE, "", outside.reason, outside.message))
            return None
        try:
            lines = _lines(text)
        except yaml.YAMLError:
            lines = {}
        return Document(file, value, lines)

    # -- the table --------------------------------------------------------------------------------------------------

    def read(self) -> tuple[dict[str, Json], str, Json, dict[str, str]]:
        """The effective table, the default locale, the clock and the source of each entry."""
        document = self.parse(MAIN)
        if document is None:
            return {}, "", None, {}
        if not isinstance(document.value, dict):
            message = f"expected an object with {', '.join(_KEYS)}, found {quoted(document.value)}"
            self.note("error", document, (), "bad-field", message)
            return {}, "", None, {}
        for key in document.value:
            if key not in _KEYS:
                self.note("warning", document, (key,), "unknown-key", f"the key {quoted(key)} is not read here")
        locale = self.locale(document)
        clock = document.value.get("clock")
        if clock is not None:
            for issue in clocks.check_clock(clock):
                self.note("error", document, ("clock", *issue.path), issue.reason, issue.message)
        table, holder = document.value.get("dimensions", {}), document
        prefix: Path = ("dimensions",)
        for file in self.descriptor_files():
            other = self.parse(file)
            if other is not None:
                table, holder, prefix = other.value, other, ()
        merged = self.check(table, holder, prefix, locale)
        return merged, locale, clock, dict.fromkeys(merged, holder.file)

    def locale(self, document: Document) -> str:
        """The world's default locale."""
        locale = document.value.get("locale", "")
        if not isinstance(locale, str) or (locale and read_tag(locale) is None):
            self.note("error", document, ("locale",), "bad-field", f"expected a locale tag, found {quoted(locale)}")
            return ""
        return locale

    def descriptor_files(self) -> Iterator[str]:
        """The dimension files that the descriptor names, in order; the last wins."""
        if DESCRIPTOR not in self.files:
            return
        document = self.parse(DESCRIPTOR)
        if document is None:
            return
        value = document.value
        if not isinstance(value, dict) or value.get("version") != 1 or not isinstance(value.get("sources"), list):
            self.note("error", document, (), "bad-field", "expected {version: 1, sources: [...]}")
            return
        for index, source in enumerate(value["sources"]):
            where: Path = ("sources", index)
            if not isinstance(source, dict) or not isinstance(source.get("path"), str):
                self.note("error", document, where, "bad-field", "expected {kind, path, schema, to}")
                continue
            target = source.get("to")
            if isinstance(target, str) and any(name in re.split(r"[^A-Za-z_-]+", target) for name in PROTECTED):
                message = f"{quoted(target)} is written by dimension operations only"
                self.note("error", document, (*where, "to"), "bad-field", message)
                continue
            if source.get("schema") != SCHEMA and target != TARGET:
                continue
            fault = self.source_fault(source)
            if fault is not None:
                self.note("error", document, (*where, fault[0]), "bad-field", fault[1])
                continue
            yield posixpath.normpath(source["path"])

    def source_fault(self, source: Mapping[str, Json]) -> tuple[str, str] | None:
        """What is wrong with a dimension source of the descriptor, and under which key."""
        file = posixpath.normpath(source["path"])
        if source.get("schema") != SCHEMA:
            return "schema", f"expected {SCHEMA} for this target, found {quoted(source.get('schema'))}"
        if source.get("to") != TARGET:
            return "to", f"expected {TARGET}; protected plugin data is no target, found {quoted(source.get('to'))}"
        if source.get("kind") not in ("yaml", "json"):
            return "kind", f"expected yaml or json, found {quoted(source.get('kind'))}"
        if file not in self.files:
            return "path", f"the package has no file {quoted(source['path'])}"
        return None

    def check(self, table: Json, holder: Document, prefix: Path, locale: str) -> dict[str, Json]:
        """Check the table as written, then with every language joined."""
        if isinstance(table, dict):
            self.inline_maps(table, holder, prefix)
            table = self.join_languages(table, holder, prefix, locale)
        issues = check_table(table)
        for issue in issues:
            self.note("error", holder, (*prefix, *issue.path), issue.reason, issue.message)
        if issues or not isinstance(table, dict):
            return {}
        for key, definition in table.items():
            for issue in warnings(definition):
                self.note("warning", holder, (*prefix, key, *issue.path), issue.reason, issue.message)
        return table

    def inline_maps(self, table: dict[str, Json], holder: Document, prefix: Path) -> None:
        """A main file holds one language: an error of the package check, a warning on loading."""
        severity: Severity = "error" if self.strict else "warning"
        for key, definition in table.items():
            for path in inline_text_maps(definition):
                message = "a main file holds one language: move the other ones to language files"
                self.note(severity, holder, (*prefix, key, *path), "inline-locale-map", message)

    def join_languages(self, table: dict[str, Json], holder: Document, prefix: Path, locale: str) -> dict[str, Json]:
        """Lay every language file of the main file over the table."""
        stem = holder.file.rpartition(".")[0]
        for file in sorted(self.files):
            match = _LANGUAGE_FILE.match(file)
            if match is None or match["stem"] != stem or read_tag(match["locale"]) is None:
                continue
            document = self.parse(file)
            if document is None:
                continue
            over, inner = document.value, prefix
            if prefix:
                over = document.value.get("dimensions", {}) if isinstance(document.value, dict) else document.value
            overlay = Overlay(locale or "und", match["locale"].replace("_", "-"))
            table = overlay.table(table, over)
            for issue in overlay.warnings:
                self.note("warning", document, (*inner, *issue.path), issue.reason, issue.message)
        return table


def _clean_files(files: Json) -> dict[str, str]:
    """The files of a request or directory by normal path."""
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise DimensionError("DIMENSION_WORLD_INVALID", "expected files as an object from path to text")
    if len(files) > limits.WORLD_FILES.default:
        most = limits.WORLD_FILES.default
        raise DimensionError("DIMENSION_WORLD_INVALID", f"a package has at most {most} files, found {len(files)}")
    if sum(len(text.encode("utf-8", "surrogatepass")) for text in files.values()) > limits.WORLD_BYTES.default:
        most = limits.WORLD_BYTES.default
        raise DimensionError("DIMENSION_WORLD_INVALID", f"the files of a package have at most {most} bytes together")
    result = {posixpath.normpath(path): text for path, text in files.items()}
    if MAIN not in result:
        found = ", ".join(sorted(files)[:5]) or "nothing"
        raise DimensionError("DIMENSION_WORLD_UNREADABLE", f"the package has no {MAIN}; found {found}")
    return result


def read_world(world_id: str | None, files: Json) -> tuple[World, list[Finding]]:
    """A package as a world with its warnings; any error refuses it whole, with every issue (§7.1)."""
    clean = _clean_files(files)
    reader = _Reader(clean, strict=False)
    table, locale, clock, sources = reader.read()
    errors = [finding for finding in reader.findings if finding.severity == "error"]
    if errors:
        raise DimensionError(
            "DIMENSION_WORLD_INVALID",
            f"the world package has {len(errors)} error(s), the first: {errors[0]}",
            {"issues": [finding.to_json() for finding in reader.findings]},
        )
    key = world_id or f"world-{sha([table, locale, clock])[:16]}"
    return World(check_identifier(key, "worldId"), table, locale, clock, sources), reader.findings


def read_directory(path: FilePath) -> dict[str, str]:
    """The files of a package on disk; ``DIMENSION_WORLD_UNREADABLE`` when it is none."""
    root = path.parent if path.is_file() and path.name == MAIN else path
    if not (root / MAIN).is_file():
        raise DimensionError("DIMENSION_WORLD_UNREADABLE", f"expected a folder with {MAIN}, found none at {path.name}")
    files: dict[str, str] = {}
    try:
        for file in sorted({*root.glob("*.y*ml"), *root.glob("data/**/*.y*ml"), *root.glob("data/**/*.json")}):
            if file.is_file() and file.resolve().is_relative_to(root.resolve()):
                files[file.relative_to(root).as_posix()] = file.read_text(encoding="utf-8")
            if len(files) > limits.WORLD_FILES.default:
                break
    except (OSError, UnicodeDecodeError) as error:
        raise DimensionError("DIMENSION_WORLD_UNREADABLE", f"the package cannot be read: {error}") from None
    return files


def check_world(path: FilePath) -> list[Finding]:
    """Every issue of a package on disk, for ``innkeeper check WORLD``; raises when it cannot be read at all."""
    reader = _Reader(_clean_files(read_directory(path)), strict=True)
    reader.read()
    return reader.findings
