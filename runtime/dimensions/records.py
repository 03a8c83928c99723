"""Records and the two write operations, as pure functions over a table of records (``spec/dimensions.md`` §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from interpreter.javascript import utf16_length
from runtime.dimensions import limits
from runtime.dimensions.declaration import check_declaration, check_table, has_rule
from runtime.dimensions.errors import VERSION_CONFLICT, DimensionError
from runtime.dimensions.issues import Issue, issues_json, issues_text
from runtime.dimensions.localise import resolve_definition
from runtime.dimensions.validate import validate_checked
from runtime.dimensions.values import Json, is_integer, quoted, same

Settlement = Literal["no-change", "manual", "skipped"]
SETTLEMENTS: Final = ("no-change", "manual", "skipped")
FaultKind = Literal["conflict", "validation", "payload"]


@dataclass(frozen=True, slots=True)
class Source:
    """The narrative that a settlement is about."""

    result_id: str
    turn_number: int

    def to_json(self) -> dict[str, Any]:
        """The form in payloads and receipts."""
        return {"resultId": self.result_id, "turnNumber": self.turn_number}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Source:
        """Read a checked form."""
        return cls(data["resultId"], int(data["turnNumber"]))


@dataclass(frozen=True, slots=True)
class Record:
    """What a session stores for one dimension (§4.1)."""

    definition: dict[str, Json]
    value: Json
    version: int
    source: Source | None = None

    def to_json(self) -> dict[str, Any]:
        """The stored form."""
        data: dict[str, Any] = {"definition": self.definition, "value": self.value, "version": self.version}
        if self.source is not None:
            data["lastTrackedSource"] = self.source.to_json()
        return data

    def public(self) -> dict[str, Any]:
        """The entry of public reads: no rule, no initial value, no tracking source (§6.1)."""
        entry: dict[str, Any] = {"name": self.definition["name"]}
        if "description" in self.definition:
            entry["description"] = self.definition["description"]
        entry.update(schema=self.definition["schema"], value=self.value, version=self.version)
        return entry

    @property
    def has_rule(self) -> bool:
        """Whether a tracker maintains this dimension."""
        return has_rule(self.definition)


Records = Mapping[str, Record]


class Fault(Exception):
    """A refused operation on records; nothing was written. ``about`` is the dimension, if one is to blame."""

    def __init__(
        self, kind: FaultKind, message: str, about: str | None = None, issues: list[Issue] | None = None
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message
        self.about = about
        self.issues = issues or []

    def as_error(self, records: Records) -> DimensionError:
        """The refusal for callers: a conflict names the current versions (§4.4)."""
        if self.kind == "conflict":
            return DimensionError(
                VERSION_CONFLICT, f"{VERSION_CONFLICT}: {self.message}", {"currentVersions": versions(records)}
            )
        code = "DIMENSION_INVALID" if self.kind == "validation" else "DIMENSION_PAYLOAD"
        details: dict[str, object] = {"issues": issues_json(self.issues)} if self.issues else {}
        if self.about is not None:
            details["dimension"] = self.about
        return DimensionError(code, self.message, details)


def versions(records: Records) -> dict[str, int]:
    """The version of every record."""
    return {key: record.version for key, record in records.items()}


def read_record(key: str, data: Any) -> Record:
    """Read one stored record; raises ``DIMENSION_UNREADABLE`` when it is not one (§4.1)."""
    issues = record_issues(data)
    if issues:
        raise DimensionError(
            "DIMENSION_UNREADABLE",
            f"the stored record {quoted(key)} cannot be read: {issues_text(issues)}",
            {"issues": issues_json(issues), "dimension": key},
        )
    source = data.get("lastTrackedSource")
    return Record(data["definition"], data["value"], int(data["version"]), Source.from_json(source) if source else None)


def record_issues(data: Any) -> list[Issue]:
    """Every fault of a stored record (§4.1)."""
    if not isinstance(data, dict):
        return [Issue((), "bad-field", f"expected a record object, found {quoted(data)}")]
    known = {"definition", "value", "version", "lastTrackedSource"}
    issues = [Issue((key,), "unknown-key", f"unknown key {quoted(key)}") for key in data if key not in known]
    version = data.get("version")
    if not is_integer(version) or version < 1:
        issues.append(Issue(("version",), "bad-field", f"expected an integer from 1, found {quoted(version)}"))
    if data.get("lastTrackedSource") is not None and (fault := source_fault(data["lastTrackedSource"])):
        issues.append(Issue(("lastTrackedSource",), "bad-field", fault))
    faults = check_declaration(data.get("definition"), mode="resolved", initial=False)
    issues.extend(issue.under("definition") for issue in faults)
    if faults:
        return issues
    if not isinstance(data["definition"].get("updateRule", ""), str):
        issues.append(Issue(("definition", "updateRule"), "text-locale-map", "a stored rule is one plain text"))
    if "value" not in data:
        issues.append(Issue(("value",), "bad-field", "the value is missing"))
    else:
        found = validate_checked(data["definition"]["schema"], data["value"], "resolved")
        issues.extend(issue.under("value") for issue in found)
    return issues


def source_fault(source: Json) -> str | None:
    """Why ``source`` is not ``{resultId, turnNumber}``, or ``None``."""
    if not isinstance(source, dict) or set(source) != {"resultId", "turnNumber"}:
        return f"expected {{resultId, turnNumber}}, found {quoted(source)}"
    result_id, number = source["resultId"], source["turnNumber"]
    if not isinstance(result_id, str) or not 1 <= len(result_id) <= limits.RESULT_ID.default:
        return f"expected resultId of 1 to {limits.RESULT_ID.default} characters, found {quoted(result_id)}"
    if not is_integer(number) or number < 0:
        return f"expected turnNumber of 0 or more, found {quoted(number)}"
    return None


# --- dimension.initialize -------------------------------------------------------------------------------------------


def initialise(records: Records, payload: Json, locale: str | None) -> Records:
    """Create the records that do not exist yet; a different definition of an existing one conflicts (§4.2)."""
    if not isinstance(payload, dict) or set(payload) != {"definitions"}:
        raise Fault("payload", f"expected {{definitions}}, found {quoted(payload)}")
    definitions = payload["definitions"]
    issues = check_table(definitions)
    if issues:
        about = str(issues[0].path[0]) if issues[0].path else None
        raise Fault("validation", f"the declarations are not valid: {issues_text(issues)}", about, issues)
    created: dict[str, Record] = {}
    for key, authored in definitions.items():
        definition = resolve_definition(authored, locale)
        known = records.get(key)
        if known is None:
            created[key] = new_record(key, definition)
        elif not same(known.definition, definition):
            raise Fault("conflict", f"dimension {quoted(key)} exists with another definition", key)
    return {**records, **created} if created else records


def new_record(key: str, definition: dict[str, Json], version: int = 1) -> Record:
    """A fresh record; the resolved initial value must hold under the resolved rules."""
    issues = validate_checked(definition["schema"], definition["initialValue"], "resolved")
    if issues:
        raise Fault(
            "validation", f"the initial value of {quoted(key)} is not valid: {issues_text(issues)}", key, issues
        )
    return Record(definition, definition["initialValue"], version)


# --- dimension.update -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Update:
    """One entry of a batch."""

    id: str
    expected: int
    value: Json


@dataclass(frozen=True, slots=True)
class Batch:
    """A checked payload of ``dimension.update`` (§4.3)."""

    updates: tuple[Update, ...]
    source: Source | None = None
    read_versions: Mapping[str, int] | None = None
    settlement: Settlement | None = None


_UPDATE_KEYS: Final = frozenset({"id", "expectedVersion", "value", "reason"})
_BATCH_KEYS: Final = frozenset({"updates", "source", "readVersions", "settlement"})


def is_version(value: Json) -> bool:
    """Whether ``value`` is a version: an integer of 1 or more."""
    return is_integer(value) and value >= 1


def read_batch(payload: Json) -> Batch:
    """Check the payload rules; any violation is a payload fault (§4.3)."""
    if not isinstance(payload, dict):
        raise Fault("payload", f"expected an object with updates, found {quoted(payload)}")
    unknown = [key for key in payload if key not in _BATCH_KEYS]
    if unknown:
        raise Fault("payload", f"unknown key {quoted(unknown[0])}; known are {', '.join(sorted(_BATCH_KEYS))}")
    updates = read_updates(payload.get("updates"))
    source = _read_source(payload)
    reads = _read_versions(payload)
    settlement = payload.get("settlement")
    if "settlement" in payload and settlement not in SETTLEMENTS:
        raise Fault("payload", f"expected settlement {' or '.join(SETTLEMENTS)}, found {quoted(settlement)}")
    if source is not None and reads is None:
        raise Fault("payload", "source needs readVersions: everything the evaluation read")
    if settlement is not None and source is None:
        raise Fault("payload", "settlement needs source: the narrative that is being settled")
    if not updates and (source is None or settlement is None):
        raise Fault("payload", "an empty batch needs both source and settlement")
    if settlement in ("no-change", "skipped") and updates:
        raise Fault("payload", f"settlement {settlement} needs empty updates, found {len(updates)}")
    return Batch(updates, source, reads, settlement)


def _read_source(payload: dict[str, Json]) -> Source | None:
    if "source" not in payload:
        return None
    fault = source_fault(payload["source"])
    if fault is not None:
        raise Fault("payload", fault)
    return Source.from_json(payload["source"])


def _read_versions(payload: dict[str, Json]) -> Mapping[str, int] | None:
    if "readVersions" not in payload:
        return None
    reads = payload["readVersions"]
    if not isinstance(reads, dict) or not all(is_version(version) for version in reads.values()):
        raise Fault("payload", f"expected readVersions as an object from id to version, found {quoted(reads)}")
    return {key: int(version) for key, version in reads.items()}


def read_updates(updates: Json, *, reasons: bool = True) -> tuple[Update, ...]:
    """Check the entries of a batch; ``reasons=False`` refuses ``reason`` too (§4.3, §5.6)."""
    if not isinstance(updates, list):
        raise Fault("payload", f"expected updates as a list, found {quoted(updates)}")
    if len(updates) > limits.UPDATES.default:
        raise Fault("payload", f"at most {limits.UPDATES.default} updates in one batch, found {len(updates)}")
    known = _UPDATE_KEYS if reasons else _UPDATE_KEYS - {"reason"}
    seen: dict[str, Update] = {}
    for index, entry in enumerate(updates):
        update = _read_update(index, entry, known)
        if update.id in seen:
            raise Fault("payload", f"dimension {quoted(update.id)} occurs twice in updates", update.id)
        seen[update.id] = update
    return tuple(seen.values())


def _read_update(index: int, entry: Json, known: frozenset[str]) -> Update:
    where = f"updates[{index}]"
    if not isinstance(entry, dict):
        raise Fault("payload", f"expected an object, found {quoted(entry)} at {where}")
    unknown = [key for key in entry if key not in known]
    if unknown:
        raise Fault("payload", f"unknown key {quoted(unknown[0])} at {where}")
    key = entry.get("id")
    if not isinstance(key, str) or not 1 <= len(key) <= limits.ID_CHARS.default:
        raise Fault("payload", f"expected a dimension id, found {quoted(key)} at {where}.id")
    if not is_version(entry.get("expectedVersion")):
        found = quoted(entry.get("expectedVersion"))
        raise Fault("payload", f"expected an integer of 1 or more, found {found} at {where}.expectedVersion", key)
    if "value" not in entry:
        raise Fault("payload", f"the value is missing at {where}.value", key)
    reason = entry.get("reason", "")
    if not isinstance(reason, str) or utf16_length(reason) > limits.REASON.default:
        raise Fault(
            "payload", f"expected a reason of at most {limits.REASON.default} characters at {where}.reason", key
        )
    return Update(key, int(entry["expectedVersion"]), entry["value"])


def evaluate(records: Records, batch: Batch) -> dict[str, Record]:
    """The records that the batch changes; stops at the first fault and writes nothing then (§4.3)."""
    for key, version in (batch.read_versions or {}).items():
        known = records.get(key)
        if known is None or known.version != version:
            found = "is gone" if known is None else f"is at version {known.version}"
            raise Fault("conflict", f"dimension {quoted(key)} was read at version {version} and {found}", key)
    changed: dict[str, Record] = {}
    for update in batch.updates:
        record = _evaluate_update(records, update, batch.source)
        if record is not records[update.id]:
            changed[update.id] = record
    return changed


def _evaluate_update(records: Records, update: Update, source: Source | None) -> Record:
    known = records.get(update.id)
    if known is None:
        ids = ", ".join(records) or "none"
        raise Fault("validation", f"unknown dimension {quoted(update.id)}; the session has {ids}", update.id)
    if known.version != update.expected:
        message = f"dimension {quoted(update.id)} is at version {known.version}, expected {update.expected}"
        raise Fault("conflict", message, update.id)
    if source is not None and known.source is not None and known.source.turn_number > source.turn_number:
        message = (
            f"dimension {quoted(update.id)} already follows turn {known.source.turn_number}, later than this source"
        )
        raise Fault("conflict", message, update.id)
    issues = validate_checked(known.definition["schema"], update.value, "resolved")
    if issues:
        message = f"the value of {quoted(update.id)} is not valid: {issues_text(issues)}"
        raise Fault("validation", message, update.id, issues)
    if same(update.value, known.value):
        return known if source is None else replace(known, source=source)
    return replace(known, value=update.value, version=known.version + 1, source=source or known.source)
