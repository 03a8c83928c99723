"""Application in the dialect ``magvarupdate``: the upstream's rules under the shared receipts (spec/magvarupdate.md §5).

Without a declaration the upstream's own rules work, with one those of its Zod companion. A refused command changes
nothing and the others go on. What JSON cannot hold (NaN out of a text, ``undefined``) is stored as the upstream's host
stores it, and the receipt says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from runtime.mvu import envelope
from runtime.mvu.apply import Applied, ApplyError, Receipt, SchemaLike, check_with
from runtime.mvu.commands.magvarupdate import paths
from runtime.mvu.commands.magvarupdate.commands import instruction_of
from runtime.mvu.commands.magvarupdate.companion import Companion
from runtime.mvu.commands.magvarupdate.display import Texts
from runtime.mvu.commands.magvarupdate.engine import Engine, Outcome
from runtime.mvu.commands.magvarupdate.lazy import fold, unfold
from runtime.mvu.commands.magvarupdate.refusal import Refusal
from runtime.mvu.commands.magvarupdate.values import as_json, is_container
from runtime.mvu.commands.model import Command
from runtime.mvu.errors import Refused, fatal
from runtime.mvu.metadata import IMPLICIT, derive_root
from runtime.values.bounds import quick_size
from runtime.values.limits import DEFAULT
from runtime.values.patch import diff
from runtime.values.paths import pointer_text
from runtime.values.rows import InnkeeperError

_MISSING = ("add.path_missing", "delete.no_match", "delete.path_missing", "move.path_missing", "set.path_missing")
_OWN_CODES = ("MVU_LIMIT", "MVU_PATH", "MVU_JSON")
_SUGGESTIONS = 200
_SUGGESTED = 20
_LOSSY = "JSON cannot hold the value (a number that is none, or undefined): it is stored as null or left out"
_UNCHANGED = "nothing changed: the declaration gives the same data"


@dataclass(frozen=True, slots=True)
class LooseApplied(Applied):
    """An outcome of this dialect: also the upstream's display and delta texts (None under a declaration)."""

    texts: Texts | None = None

    def served(self) -> envelope.Variables:
        """The envelope as readers see it after this update, with the upstream's texts where it writes them.

        Texts that would take the envelope over its budget give way to the shared form.
        """
        plain = envelope.served(self.variables, self.changes)
        if self.texts is None:
            return plain
        display, delta = self.texts.settle()
        texts = {"display_data": as_json(display)[0], "delta_data": as_json(delta)[0]}
        others = {key: value for key, value in plain.items() if key not in texts}
        size = quick_size({**others, **texts})
        fits = size.charge <= DEFAULT.charge and size.nodes <= DEFAULT.nodes
        return {**plain, **texts} if fits else plain


def _code(refusal: Refusal) -> str:
    if refusal.code in _OWN_CODES:
        return refusal.code
    return "MVU_PATH_MISSING" if refusal.code in _MISSING else "MVU_SCHEMA"


def _dropped(receipts: list[Receipt], code: str) -> tuple[Receipt, ...]:
    """The receipts of a reply that failed as a whole: what was applied is taken back, and says so."""
    message = "nothing of the reply is kept: the reply as a whole is refused"
    return tuple(
        receipt if receipt.code else Receipt(receipt.command, "refused", code, message) for receipt in receipts
    )


def _nearest(root: Any, keys: tuple[str, ...]) -> str:
    """The nearest existing path of keys, by spelling at the first key that leads nowhere."""
    for depth, key in enumerate(keys):
        if paths.has_own(root, key) and is_container(root):
            root = paths.member(root, key)
            continue
        if isinstance(root, dict):
            close = difflib.get_close_matches(key[:64], islice(root, _SUGGESTIONS), n=1, cutoff=0.5)
            if close:
                return pointer_text((*keys[:depth], close[0]))
        return pointer_text(keys[:depth])
    return pointer_text(keys)


def _refused(command: Command, refusal: Refusal, root: Any, earlier: int) -> Receipt:
    """The receipt of a refused command; only the first of many get the search for the nearest path."""
    code = _code(refusal)
    details: dict[str, Any] = {"reason": refusal.code, "path": pointer_text(refusal.keys), **refusal.details}
    message = refusal.message
    if code == "MVU_PATH_MISSING" and refusal.keys and earlier < _SUGGESTED:
        details["nearest"] = _nearest(root, refusal.keys)
        message = f"{message}; the nearest existing path is '{details['nearest']}'"
    return Receipt(command, "refused", code, InnkeeperError(code, f"{message}, at '{details['path']}'", details))


def _done(command: Command, note: str = "") -> Receipt:
    """The receipt of an applied command, with what its reader should know."""
    return Receipt(command, "applied", None, note)


def apply_loose(
    variables: envelope.Variables,
    commands: Iterable[Command],
    schema: SchemaLike | None,
    *,
    clock: int | None,
    memory: Any,
) -> Applied:
    """``apply_commands`` for this dialect; ``variables`` is a normalised envelope and is not mutated."""
    listed = list(commands)
    version = envelope.version_of(variables)
    if version is not None and schema is None:
        raise fatal("MVU_SCHEMA_CODE", "expected the compiled declaration of the variables, found none")
    if schema is not None:
        return _declared(variables, listed, schema, clock, memory)
    return _plain(variables, listed)


def _plain(variables: envelope.Variables, commands: list[Command]) -> Applied:
    before, sparse = variables["stat_data"], variables["schema"]
    if sparse.get(IMPLICIT) is not True:
        before, sparse = derive_root(before, sparse)
    engine = Engine(before, unfold(before, sparse), schema_fits=True)
    outcome = engine.run([instruction_of(command) for command in commands])
    receipts: list[Receipt] = []
    refused = 0
    for command, done in zip(commands, outcome.done, strict=True):
        if done.refusal:
            receipts.append(_refused(command, done.refusal, before, refused))
            refused += 1
        else:
            receipts.append(_done(command, _LOSSY if done.lossy else ""))
    data = before
    if outcome.modified:
        data = as_json(outcome.stat_data)[0] if engine.exotic else outcome.stat_data
    stored = {**fold(outcome.schema), IMPLICIT: True} if outcome.modified else sparse
    return _finished(variables, receipts, data, stored, outcome)


def _finished(
    variables: envelope.Variables, receipts: list[Receipt], data: Any, schema: Any, outcome: Outcome | None
) -> Applied:
    diagnostics = tuple(
        {"command": position, "code": receipt.code} for position, receipt in enumerate(receipts) if receipt.code
    )
    result = dict(variables)
    result["stat_data"] = data
    result["schema"] = schema
    result["update_diagnostics"] = list(diagnostics)
    changes = tuple(diff(variables["stat_data"], data))
    try:
        envelope.check_budget(result)
    except InnkeeperError as error:
        raise ApplyError(error, _dropped(receipts, error.code)) from error
    return LooseApplied(result, diagnostics, tuple(receipts), changes, outcome.texts if outcome else None)


def _declared(
    variables: envelope.Variables, commands: list[Command], schema: SchemaLike, clock: int | None, memory: Any
) -> Applied:
    def check(candidate: Any) -> Any:
        try:
            return check_with(schema, candidate, clock, memory)
        except Refused as refused:
            raise Refusal("schema.refused", refused.message, (), refused.details) from refused

    companion = Companion(
        variables["stat_data"],
        check,
        hint=None if memory is None else memory.hint,
        rejected=None if memory is None else memory.reject,
        accepted=None if memory is None else memory.accept,
    )
    receipts: list[Receipt] = []
    for position, command in enumerate(commands):
        try:
            changed = companion.run(instruction_of(command))
        except Refusal as refusal:
            companion.drop()
            receipts.append(_refused(command, refusal, companion.state, sum(1 for item in receipts if item.code)))
        except InnkeeperError as error:
            companion.drop()
            error.details.setdefault("command", position)
            receipts.append(Receipt(command, "refused", error.code, error))
            raise ApplyError(error, _dropped(receipts, error.code)) from error
        else:
            receipts.append(_done(command, "" if changed else _UNCHANGED))
    return _finished(variables, receipts, companion.state, variables["schema"], None)
