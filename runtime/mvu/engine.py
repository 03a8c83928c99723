"""The one way from a proposal to new variables: replies, card writes, edits, greetings and cards all pass here.

Pure functions of their arguments, apart from two caches that change no result: compiled declarations, and what the
interpreter remembers of a state (design §4).
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from interpreter import CompiledSchema, Memory, compile_declaration
from runtime.cards import Card
from runtime.mvu import apply, discovery, envelope, greeting
from runtime.mvu.commands import STRICT, Parsed, ParseOptions, commands_from_patch, parse_commands
from runtime.mvu.metadata import OPEN_SCHEMA
from runtime.mvu.service_limits import SCHEMA_CACHE
from runtime.values.canonical import ordered_json
from runtime.values.patch import diff
from runtime.values.rows import InnkeeperError

if TYPE_CHECKING:
    from runtime.mvu.processors import FilterOutcome

Variables = dict[str, Any]


@dataclass(slots=True)
class Update:
    """What a reply did: the new stored ``variables`` and a line for everything that looked like a command."""

    variables: Variables
    status: str
    commands: list[dict[str, Any]] = field(default_factory=list)
    diagnostics: list[dict[str, Any]] = field(default_factory=list)
    ignored: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    shown: Variables | None = None


def system_clock() -> int:
    """Milliseconds since the epoch; the default clock of a service that was given none."""
    return time.time_ns() // 1_000_000


# -- declarations and memory ----------------------------------------------------------------------------------------


def schema_of(variables: Mapping[str, Any]) -> CompiledSchema | None:
    """The compiled declaration of an envelope."""
    version = envelope.version_of(variables)
    if version is None:
        return None
    return compile_declaration(variables["mvu_schema"]["source"], version)


class _Memories:
    """What the interpreter remembers, by state; a state in use is checked out, so no two threads share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: OrderedDict[str, Memory] = OrderedDict()

    @contextmanager
    def of(self, key: str | None) -> Iterator[Memory]:
        """The memory of a state, a fresh one for ``None``."""
        if key is None:
            yield Memory()
            return
        with self._lock:
            memory = self._items.pop(key, None) or Memory()
        try:
            yield memory
        finally:
            with self._lock:
                self._items[key] = memory
                while len(self._items) > SCHEMA_CACHE.default:
                    self._items.popitem(last=False)


_memories = _Memories()


def _memory_key(variables: Mapping[str, Any], state: str | None) -> str | None:
    descriptor = variables.get("mvu_schema")
    if descriptor is None or state is None:
        return None
    return f"{state}:{descriptor['interpreterVersion']}:{hash(descriptor['source'])}"


# -- replies ---------------------------------------------------------------------------------------------------------


def update(
    variables: Variables,
    text: str,
    *,
    clock: int,
    outcome: FilterOutcome | None = None,
    dialect: str = "strict",
    options: ParseOptions = STRICT,
    state: str | None = None,
) -> Update:
    """Apply a reply; ``outcome`` is what the resource's helper made of it. Raises the reply's fatal error."""
    dropped: tuple[Any, ...] = ()
    if outcome is not None:
        if outcome.error is not None:
            raise outcome.error
        parsed, commands, dropped = outcome.parsed or Parsed(), outcome.kept, outcome.dropped
    else:
        parsed = parse_commands(text, dialect=dialect, options=options)
        commands = parsed.commands
    if dialect == "strict" and not commands and not dropped:
        return _nothing(variables, parsed)
    with _memories.of(_memory_key(variables, state)) as memory:
        applied = apply.apply_commands(
            variables, commands, schema_of(variables), dialect=dialect, clock=clock, memory=memory
        )
    return _update(variables, parsed, applied, dropped)


def _nothing(variables: Variables, parsed: Parsed) -> Update:
    """No command: no transform, the envelope stays with empty diagnostics (spec/mvu.md §4.6)."""
    unchanged = (
        variables if variables.get("update_diagnostics") in (None, []) else {**variables, "update_diagnostics": []}
    )
    return Update(unchanged, "no-update", ignored=[item.to_json() for item in parsed.ignored])


def _update(variables: Variables, parsed: Parsed, applied: apply.Applied, dropped: tuple[Any, ...]) -> Update:
    commands = [receipt.to_json() for receipt in applied.receipts]
    diagnostics = [
        {
            "command": position,
            "code": receipt.code,
            "path": receipt.to_json()["path"],
            "text": receipt.command.source,
            "message": receipt.message,
            **({"details": receipt.details} if receipt.details else {}),
        }
        for position, receipt in enumerate(applied.receipts)
        if receipt.code is not None
    ]
    ignored = [item.to_json() for item in parsed.ignored]
    ignored += [
        {
            "status": "ignored",
            "reason": "helper-filtered",
            "message": "the card's helper took this command out",
            "source": item.full_match,
        }
        for item in dropped
    ]
    kept = sum(1 for receipt in applied.receipts if receipt.status == "applied")
    status = "applied" if kept else "rejected" if applied.receipts else "no-update"
    repairs = sorted({name for receipt in applied.receipts for name in receipt.command.repairs})
    changes = list(applied.changes)
    return Update(applied.variables, status, commands, diagnostics, ignored, changes, repairs, applied.served())


# -- card writes and edits --------------------------------------------------------------------------------------------


def card_patch(variables: Variables, value: Any, *, clock: int, state: str | None = None) -> Variables:
    """A card's JSON Patch, applied like a reply: refused operations become diagnostics (spec/mvu.md §7.3)."""
    if not isinstance(value, list):
        raise InnkeeperError("MVU_PARSE", f"expected a JSON Patch array, found {type(value).__name__}")
    parsed = commands_from_patch(value)
    with _memories.of(_memory_key(variables, state)) as memory:
        return apply.apply_commands(
            variables, parsed.commands, schema_of(variables), clock=clock, memory=memory
        ).variables


def card_replace(variables: Variables, value: Any, *, clock: int) -> Variables:
    """A card's whole envelope: the source's schema stays, the declaration is applied once (spec/mvu.md §7.3)."""
    if not isinstance(value, dict):
        raise InnkeeperError("MVU_SCHEMA", f"expected the whole variables object, found {type(value).__name__}")
    content = {key: item for key, item in value.items() if key not in ("schema", "mvu_schema")}
    content["schema"] = variables["schema"]
    if "mvu_schema" in variables:
        content["mvu_schema"] = variables["mvu_schema"]
    return validate_edit(envelope.normalise(content), clock)


def normalise_edit(current: Variables, content: object) -> Variables:
    """An edit's content with the source's declaration restored; another one is refused (spec/mvu.md §11b)."""
    normalised = envelope.normalise(content)
    descriptor = current.get("mvu_schema")
    supplied = normalised.get("mvu_schema")
    if descriptor is None:
        if supplied is not None:
            raise InnkeeperError("MVU_SCHEMA_CODE", "the source has no declaration: an edit cannot bring one")
        return normalised
    if supplied is not None and supplied != descriptor:
        raise InnkeeperError(
            "MVU_SCHEMA_CODE", "the source's declaration cannot be replaced by an edit: leave mvu_schema as it was read"
        )
    return {**normalised, "mvu_schema": descriptor, "schema": current["schema"]}


def validate_edit(normalised: Variables, clock: int) -> Variables:
    """Apply the declaration once; refused values raise ``MVU_SCHEMA`` with all issues."""
    schema = schema_of(normalised)
    if schema is None:
        return normalised
    data = apply.check_with(schema, normalised["stat_data"], clock, None)
    found = {**normalised, "stat_data": data}
    if schema.version >= 2:
        found["schema"] = OPEN_SCHEMA
    envelope.check_budget(found)
    return found


def normalise_fresh(content: dict[str, Any]) -> Variables:
    """An envelope whose values were parsed by its declaration already: normalised, not parsed again."""
    return envelope.normalise(content)


def served(variables: Mapping[str, Any], before: Mapping[str, Any] | None) -> Variables:
    """The envelope as readers see it; ``before`` is the content that the last update started from (design §12)."""
    changes = [] if before is None else diff(before.get("stat_data"), variables.get("stat_data"))
    return envelope.served(variables, changes)


def stat_changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the data itself differs."""
    left, right = before.get("stat_data"), after.get("stat_data")
    return left is not right and ordered_json(left) != ordered_json(right)


# -- cards and greetings ----------------------------------------------------------------------------------------------


def initial_envelope(card: Card, clock: int) -> Variables:
    """A card's first variables: InitVar entries merged, the declaration applied once (spec/mvu.md §9.1)."""
    return build_envelope(discovery.initvar_data(card), discovery.declaration_source(card), clock)


def build_envelope(data: dict[str, Any] | None, source: str | None, clock: int) -> Variables:
    """The first variables of InitVar data and a declaration's text; either may be missing, not both."""
    if data is None and source is None:
        raise InnkeeperError("MVU_INITIALIZATION_MISSING", "the card has neither InitVar nor declaration")
    content: dict[str, Any] = {"stat_data": {} if data is None else data}
    if source is not None:
        content["mvu_schema"] = compile_declaration(source).descriptor()
    return validate_edit(envelope.normalise(content), clock)


def greeting_envelope(variables: Variables, text: str, clock: int) -> Variables:
    """The variables of one greeting: its explicit update blocks applied once (spec/mvu.md §0.11, §4.6)."""
    built: Variables = greeting.initialise(text, variables, schema_of(variables), clock=clock)
    return built
