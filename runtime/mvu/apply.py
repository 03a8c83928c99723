"""Application: one pure function from variables, commands and a declaration to the next variables (spec/mvu.md §4.6).

Replies, card writes, greetings and the playground all call ``apply_commands``. Each command works on a candidate that
shares everything it does not change; ``MVU_SCHEMA`` and ``MVU_PATH_MISSING`` refuse one command, every other code ends
the batch and nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from interpreter import errors as interpreter_errors
from runtime.mvu import envelope
from runtime.mvu.commands.model import Command, Ignored
from runtime.mvu.creating import CreatingRules
from runtime.mvu.errors import DIAGNOSTIC_CODES, Refused, fatal, refuse_schema
from runtime.mvu.metadata import IMPLICIT, derive_root
from runtime.mvu.native import NativeRules
from runtime.mvu.steps import Edit, Hint, no_hint
from runtime.mvu.weigh import NOTHING, Weight, change, weigh
from runtime.values.bounds import container_bound
from runtime.values.patch import Change, diff, to_merge_patch, to_rfc6902
from runtime.values.rows import InnkeeperError

_STALE_SHARE = 16
_STALE_FEW = 16


class ResultLike(Protocol):
    """What a declaration answers."""

    @property
    def ok(self) -> bool:
        """Whether the value is accepted."""

    @property
    def value(self) -> Any:
        """What the declaration makes of it."""

    @property
    def issues(self) -> Sequence[Any]:
        """Why it is refused."""


class SchemaLike(Protocol):
    """What application needs of ``interpreter.CompiledSchema``."""

    @property
    def version(self) -> int:
        """The interpreter version."""

    def parse(self, value: Any, *, clock: int | None = None, memory: Any = None) -> ResultLike:
        """Parse a value."""


class Receipt:
    """What became of one command: ``applied``, or ``refused`` with a code.

    ``message`` and ``details`` say what was expected, what was found and where; an error says it only when asked,
    since looking for the nearest path costs more than a command.
    """

    __slots__ = ("_said", "code", "command", "status")

    def __init__(
        self,
        command: Command,
        status: str,
        code: str | None = None,
        said: InnkeeperError | str | None = None,
    ) -> None:
        self.command, self.status, self.code = command, status, code
        self._said = said

    @property
    def message(self) -> str:
        """The sentence for people."""
        return self._said.message if isinstance(self._said, InnkeeperError) else self._said or ""

    @property
    def details(self) -> dict[str, Any]:
        """The same for machines."""
        return self._said.details if isinstance(self._said, InnkeeperError) else {}

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; ``normalised`` reads as the very same command."""
        command = self.command
        body: dict[str, Any] = {
            "index": command.order,
            "span": [command.start, command.end],
            "type": command.type,
            "form": command.form,
            "path": command.arguments()[0],
            "args": command.arguments(),
            "source": command.source,
            "normalised": command.normalised(),
            "status": self.status,
            "repairs": list(command.repairs),
        }
        if self.code is not None:
            body.update(code=self.code, message=self.message)
            body.update({key: value for key, value in self.details.items() if key not in body})
        elif self.message:
            body["note"] = self.message
        return body


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of a batch: new stored ``variables``, ``diagnostics`` as stored, receipts, and what changed."""

    variables: envelope.Variables
    diagnostics: tuple[dict[str, Any], ...]
    receipts: tuple[Receipt, ...]
    changes: tuple[Change, ...]

    def served(self) -> envelope.Variables:
        """The envelope as readers see it after this update."""
        return envelope.served(self.variables, self.changes)

    def json_patch(self) -> list[Change]:
        """The changes as an RFC 6902 patch of ``stat_data``."""
        return to_rfc6902(self.changes)

    def merge_patch(self, before: envelope.Variables) -> Any:
        """The changes as an RFC 7386 merge patch; ``MVU_UNSUPPORTED`` where one cannot say them (a new null)."""
        return to_merge_patch(before["stat_data"], self.variables["stat_data"])


class ApplyError(InnkeeperError):
    """A fatal error of a batch; ``receipts`` tell of each command up to it, and that none was kept."""

    def __init__(self, error: InnkeeperError, receipts: tuple[Receipt, ...]) -> None:
        super().__init__(error.code, error.message, error.details)
        self.receipts = receipts


def _from_interpreter(error: Exception) -> InnkeeperError:
    code = getattr(error, "code", "MVU_SCHEMA_CODE")
    message = getattr(error, "message", str(error))
    return InnkeeperError(code, message, getattr(error, "details", None) or {})


def check_with(schema: SchemaLike, value: Any, clock: int | None, memory: Any) -> Any:
    """``value`` as the declaration makes it; ``MVU_SCHEMA`` with its issues, or a fatal error."""
    try:
        result = schema.parse(value, clock=clock, memory=memory)
    except interpreter_errors.InterpreterError as error:
        raise _from_interpreter(error) from error
    if not result.ok:
        issues = [issue.to_json() for issue in result.issues]
        first = result.issues[0].message if result.issues else "refused"
        raise refuse_schema(f"the declaration refuses the data: {first}", issues=issues)
    if not isinstance(result.value, dict):
        raise refuse_schema("expected the declaration to give an object as the whole data")
    return result.value


class _Batch:
    """The state of one batch."""

    def __init__(
        self, variables: envelope.Variables, schema: SchemaLike | None, clock: int | None, memory: Any
    ) -> None:
        self.root = variables["stat_data"]
        self.version = envelope.version_of(variables)
        if self.version is None and schema is not None:
            self.version = schema.version
        if self.version is not None and schema is None:
            raise fatal("MVU_SCHEMA_CODE", "expected the compiled declaration of the variables, found none")
        self.schema, self.clock, self.memory = schema, clock, memory
        self.meta = variables["schema"]
        if self.version is None and self.meta.get(IMPLICIT) is not True:
            self.root, self.meta = derive_root(self.root, self.meta)
        self.weight = envelope.data_weight(self.root)
        self.rest = envelope.rest_weight(variables)
        self.exact = False
        self.hint: Hint = memory.hint if memory is not None else no_hint
        self.native = NativeRules(self.version == 1, None if schema is not None else {})
        self.creating = CreatingRules()

    def run(self, command: Command) -> None:
        """Apply one command or raise ``Refused`` or a fatal error; the state moves only on success."""
        if self.schema is None:
            self._accept(self.native.apply(self.root, self.meta, command, no_hint))
            return
        refusal: Refused | None = None
        for edit in self._candidates(command):
            try:
                self._accept(edit)
            except Refused as error:
                self._reject()
                refusal = refusal or error
                continue
            if self.memory is not None:
                self.memory.accept()
            return
        if refusal is None:
            raise fatal("MVU_UNSUPPORTED", f"the command {command.type} offers nothing to apply")
        raise refusal

    def _candidates(self, command: Command) -> Iterator[Edit]:
        if self.version == 1:
            yield self.native.apply(self.root, self.meta, command, self.hint)
        else:
            yield from self.creating.candidates(self.root, self.meta, command, self.hint)

    def _reject(self) -> None:
        if self.memory is not None:
            self.memory.reject()

    def _accept(self, edit: Edit) -> None:
        root, meta, gained = edit
        if self.schema is not None:
            candidate, root = root, check_with(self.schema, root, self.clock, self.memory)
            if root is not candidate:
                more = change(candidate, root)
                gained = Weight(gained.nodes + more.nodes, gained.charge + more.charge)
        if gained is not NOTHING:
            weight = Weight(self.weight.nodes + gained.nodes, self.weight.charge + gained.charge)
            if envelope.exceeds(weight, self.rest):
                weight = self._exactly(root)
            self.weight = weight
        self.root, self.meta = root, meta

    def _exactly(self, root: Any) -> Weight:
        """The totals seem too large: measure instead of bounding, and refuse what is too large indeed."""
        weight = Weight(*weigh(root, 1))
        if envelope.exceeds(weight, self.rest):
            raise envelope.over_budget(2 * weight.charge + self.rest.charge, 2 * weight.nodes + self.rest.nodes)
        return weight


def apply_commands(
    variables: envelope.Variables,
    commands: Iterable[Command],
    schema: SchemaLike | None = None,
    *,
    dialect: str = "strict",
    clock: int | None = None,
    memory: Any = None,
) -> Applied:
    """The variables after ``commands`` in order; ``variables`` is a normalised envelope and is not mutated.

    ``schema`` is the compiled declaration of the envelope, ``clock`` the milliseconds its author functions may see,
    ``memory`` the interpreter's memory of this state. Raises ``ApplyError`` for a fatal error; then nothing is kept.
    """
    if dialect == "magvarupdate":
        from runtime.mvu.loose import apply_loose

        return apply_loose(variables, commands, schema, clock=clock, memory=memory)
    if dialect != "strict":
        raise fatal("MVU_CONFIG", f"expected a known dialect, found {dialect!r:.40}")
    batch = _Batch(variables, schema, clock, memory)
    before = variables["stat_data"]
    receipts: list[Receipt] = []
    diagnostics: list[dict[str, Any]] = []
    for position, command in enumerate(commands):
        try:
            batch.run(command)
        except InnkeeperError as error:
            if memory is not None:
                memory.reject()
            receipts.append(Receipt(command, "refused", error.code, error))
            if error.code not in DIAGNOSTIC_CODES:
                error.details.setdefault("command", position)
                raise ApplyError(error, _none_kept(receipts)) from error
            diagnostics.append({"command": position, "code": error.code})
        else:
            receipts.append(Receipt(command, "applied"))
    result = dict(variables)
    result["stat_data"] = batch.root
    result["schema"] = batch.meta
    result["update_diagnostics"] = diagnostics
    if memory is not None and schema is not None:
        _trim(memory, batch.root)
    changes = tuple(diff(before, batch.root))
    if envelope.exceeds(batch.weight, batch.rest, weigh(diagnostics)):
        try:
            envelope.check_budget(result)
        except InnkeeperError as error:
            raise ApplyError(error, tuple(receipts)) from error
    return Applied(result, tuple(diagnostics), tuple(receipts), changes)


def _trim(memory: Any, root: Any) -> None:
    """Let a memory start anew once a sixteenth of it is of containers that the state no longer holds.

    What a command takes out of a state stays remembered; without this a long session would remember all of it.
    """
    containers = container_bound(root)
    if len(memory) > containers + containers // _STALE_SHARE + _STALE_FEW:
        memory.attach(None)


def _none_kept(receipts: list[Receipt]) -> tuple[Receipt, ...]:
    """Receipts of a batch that failed: what was applied before the error is taken back, and says so."""
    last = receipts[-1]
    return tuple(
        Receipt(receipt.command, "refused", last.code, "nothing of the batch is kept: a later command is fatal")
        if receipt.status == "applied"
        else receipt
        for receipt in receipts
    )


def explain(receipts: Iterable[Receipt], ignored: Iterable[Ignored]) -> list[dict[str, Any]]:
    """One line for everything in a reply that is or looks like a command, in order of place."""
    lines = [receipt.to_json() for receipt in receipts] + [item.to_json() for item in ignored]
    return sorted(lines, key=lambda line: int(line["span"][0]))
