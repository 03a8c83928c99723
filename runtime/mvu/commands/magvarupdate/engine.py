"""Commands at work: what the upstream does with each of them, on shared immutable trees (spec/magvarupdate.md §5-§10).

``Engine`` keeps the state of one update: data, display and delta texts, schema, what happened to each command, and the
trace of notices that the upstream's scripts would see. Values are JavaScript's here (``values``); the caller turns the
result into JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from interpreter.javascript import UNDEFINED, add_numbers, round12, text_to_number
from runtime.mvu.commands.magvarupdate import paths
from runtime.mvu.commands.magvarupdate.dates import date_of, iso_text
from runtime.mvu.commands.magvarupdate.display import Text, Texts
from runtime.mvu.commands.magvarupdate.limits import PATH_TEXT
from runtime.mvu.commands.magvarupdate.members import Insertion, delete_from, guard, insert_into
from runtime.mvu.commands.magvarupdate.reading import read_value
from runtime.mvu.commands.magvarupdate.refusal import Refusal
from runtime.mvu.commands.magvarupdate.scan import ALIASES
from runtime.mvu.commands.magvarupdate.schema import INTERNAL, Deriver, node_at, strict_set, strip, strip_new, with_node
from runtime.mvu.commands.magvarupdate.values import (
    NamedList,
    equal,
    is_container,
    is_exotic,
    is_number,
    json_text,
    trim_ends,
)

UPDATE_STARTED = "mag_variable_update_started"
COMMAND_PARSED = "mag_command_parsed"
PARSED_FOR_ZOD = "mag_command_parsed_for_zod"
PARSED_ENDED_FOR_ZOD = "mag_command_parsed_ended_for_zod"
VARIABLE_UPDATED = "mag_variable_updated"
UPDATE_ENDED = "mag_variable_update_ended"
UPDATE_ENDED_FOR_ZOD = "mag_variable_update_ended_for_zod"

_HOLDER: Any = type("Internal", (), {"__repr__": lambda self: "INTERNAL"})()


class Instruction(NamedTuple):
    """One command to run: ``args`` are source texts or values; ``keys`` are given for pointers."""

    type: str
    args: tuple[Any, ...]
    reason: str = ""
    keys: tuple[tuple[str, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class Listeners:
    """What scripts may do at the upstream's four notices; each returns the state (and commands) that go on."""

    started: Callable[[Any], Any] | None = None
    parsed: Callable[[Any, list[Instruction]], tuple[Any, list[Instruction]]] | None = None
    updated: Callable[[Any, str, Any, Any], Any] | None = None
    ended: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What happened to one command: applied, or refused with a code; ``lossy`` when JSON cannot hold its value."""

    instruction: Instruction
    path: str
    keys: tuple[str, ...]
    refusal: Refusal | None = None
    lossy: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one update."""

    stat_data: Any
    texts: Texts
    schema: Any
    modified: bool
    done: tuple[Done, ...]
    warnings: tuple[str, ...]
    trace: tuple[tuple[Any, ...], ...]

    @property
    def display_data(self) -> Any:
        """The state with a text wherever a command worked."""
        return self.texts.settle()[0]

    @property
    def delta_data(self) -> Any:
        """The texts alone."""
        return self.texts.settle()[1]


@dataclass
class Engine:
    """One update of one state. ``schema_fits`` says that ``schema`` was derived from this very ``stat_data``."""

    stat_data: Any
    schema: Any = None
    listeners: Listeners = Listeners()
    schema_fits: bool = False
    texts: Texts = field(init=False)
    state: Any = field(init=False)
    trace: list[tuple[Any, ...]] = field(init=False, default_factory=list)
    warnings: list[str] = field(init=False, default_factory=list)
    marks_set: bool = field(init=False, default=False)
    exotic: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.texts = Texts(self.stat_data)
        self.state = {**self.stat_data, INTERNAL: _HOLDER} if isinstance(self.stat_data, dict) else self.stat_data

    # -- the run

    def run(self, instructions: Sequence[Instruction]) -> Outcome:
        """Run all commands; a refused one changes nothing and the others go on."""
        self.trace.append((UPDATE_STARTED,))
        if self.listeners.started:
            self._edited(self.listeners.started(self._view()))
        folded = [item._replace(type=ALIASES.get(item.type, item.type)) for item in instructions]
        self.trace.append((COMMAND_PARSED,))
        if self.listeners.parsed:
            state, folded = self.listeners.parsed(self._view(), folded)
            self._edited(state)
        self.trace += [(PARSED_FOR_ZOD,), (PARSED_ENDED_FOR_ZOD,)]
        done = tuple(self._one(item) for item in folded)
        self.trace.append((UPDATE_ENDED,))
        if self.listeners.ended:
            self._edited(self.listeners.ended(self._view(), self.stat_data))
        return self._outcome(done)

    def _outcome(self, done: tuple[Done, ...]) -> Outcome:
        state = self._without_internal()
        modified = not equal(self.stat_data, state)
        if modified and not isinstance(self.schema, str):
            deriver = Deriver()
            previous = self.stat_data if self.schema_fits and not self.marks_set else None
            self.schema = deriver.root(state, self.schema, previous)
            self.warnings += deriver.warnings
        self.trace.append((UPDATE_ENDED_FOR_ZOD,))
        warnings = tuple(self.warnings)
        return Outcome(state, self.texts, self.schema, modified, done, warnings, tuple(self.trace))

    def _edited(self, state: Any) -> None:
        """Take over what a listener left; its state may hold the view of the internal holder."""
        self.schema_fits = False
        if isinstance(state, dict) and INTERNAL in state:
            state = {**state, INTERNAL: _HOLDER}
        self.state = state

    def _without_internal(self) -> Any:
        if isinstance(self.state, dict) and self.state.get(INTERNAL) is _HOLDER:
            return {key: value for key, value in self.state.items() if key != INTERNAL}
        return self.state

    def _view(self) -> Any:
        """The state as scripts see it during an update."""
        if isinstance(self.state, dict) and self.state.get(INTERNAL) is _HOLDER:
            display, delta = self.texts.settle()
            return {**self.state, INTERNAL: {"display_data": display, "delta_data": delta}}
        return self.state

    def _one(self, instruction: Instruction) -> Done:
        exotic, self.exotic = self.exotic, False
        done = self._run_one(instruction)
        lossy, self.exotic = self.exotic, exotic or self.exotic
        return replace(done, lossy=True) if lossy else done

    def _run_one(self, instruction: Instruction) -> Done:
        keys: tuple[str, ...] = ()
        path = ""
        try:
            path, keys, shown = self._place(instruction)
            operation = getattr(self, f"_{instruction.type}", None)
            if instruction.type not in ("set", "add", "insert", "delete", "move") or operation is None:
                raise Refusal("command.unknown", f"expected set, add, insert, delete or move, found {instruction.type}")
            operation(instruction, path, keys, shown)
        except Refusal as refusal:
            return Done(instruction, path, keys, refusal)
        return Done(instruction, path, keys)

    def _place(self, instruction: Instruction) -> tuple[str, tuple[str, ...], str | tuple[str, ...]]:
        """Path text, keys into the state, and what leads into the display texts."""
        if not instruction.args:
            raise Refusal(f"{instruction.type}.bad_argument_count", "expected a path as first argument, found none")
        text = instruction.args[0] if isinstance(instruction.args[0], str) else json_text(instruction.args[0])
        if instruction.keys is not None:
            keys = instruction.keys[0]
            return text, keys, keys
        if len(text) > PATH_TEXT.default:
            raise Refusal(PATH_TEXT.error, f"expected a path of at most {PATH_TEXT.default} characters")
        text = paths.repair(text)
        return text, paths.keys_of(text, self.state) if text else (), text

    # -- what every command does when it succeeds

    def _write(self, keys: tuple[str, ...], value: Any) -> None:
        """Put a value into the state; ``exotic`` remembers that something went in that JSON cannot hold."""
        self.state = paths.write(self.state, keys, value) if keys else value

    def _note(self, shown: str | tuple[str, ...], text: Text, reason: str) -> None:
        self.texts.note(shown, text, reason)

    def _updated(self, path: str, old: Any, new: Any) -> None:
        self.trace.append((VARIABLE_UPDATED, path, old, new))
        if self.listeners.updated:
            self._edited(self.listeners.updated(self._view(), path, old, new))

    # -- commands

    def _set(self, instruction: Instruction, path: str, keys: tuple[str, ...], shown: str | tuple[str, ...]) -> None:
        if len(instruction.args) < 2:
            raise Refusal("set.bad_argument_count", "expected a path and a value", keys)
        if keys and not paths.has(self.state, keys):
            raise Refusal("set.path_missing", "expected something to stand at the path, found nothing", keys)
        old = paths.get(self.state, keys) if keys else self._view()
        new = read_value(instruction.args[-1])
        guard(new, len(keys), keys)
        if not keys and not isinstance(new, dict):
            raise Refusal("set.root_not_object", "expected an object for the whole state", keys)
        self.marks_set = self.marks_set or (is_container(new) and strip(new) is not new)
        pair = not strict_set(self.schema) and _is_pair(old)
        if pair and not isinstance(old[0], list):
            new = _as_number(old[0], new)
            self.exotic = self.exotic or is_exotic(new)
            self._write(keys, [new, old[1]])
            before: Any = old[0]
            shown_old, shown_new = before, new
        else:
            new = _as_number(old, new)
            before = old
            shown_old, shown_new = (old[0], _first(new)) if pair else (old, new)
            inside_text = isinstance(paths.get(self.state, keys[:-1]), str)  # becomes a list, perhaps with holes
            self.exotic = self.exotic or inside_text or is_exotic(new)
            self._write(keys, new)
        self._note(shown, lambda: _change(trim_ends, shown_old, shown_new), instruction.reason)
        self._updated(path, before, new)

    def _add(self, instruction: Instruction, path: str, keys: tuple[str, ...], shown: str | tuple[str, ...]) -> None:
        if len(instruction.args) != 2:
            raise Refusal("add.bad_argument_count", "expected a path and one number", keys)
        if not keys or not paths.has(self.state, keys):
            raise Refusal("add.path_missing", "expected something to stand at the path, found nothing", keys)
        old = paths.get(self.state, keys)
        pair = _is_pair(old) and not isinstance(old[0], list)
        base = old[0] if pair else old
        delta = read_value(instruction.args[1])
        result = _sum(base, delta, keys)
        new = [result, old[1]] if pair else result
        self.exotic = self.exotic or is_exotic(result)
        self._write(keys, new)
        self._note(shown, lambda: _change(str, base, result), instruction.reason)
        self._updated(path, old, new)

    def _insert(self, instruction: Instruction, path: str, keys: tuple[str, ...], shown: str | tuple[str, ...]) -> None:
        if len(instruction.args) < 2:
            raise Refusal("insert.bad_argument_count", "expected a collection, perhaps a key, and a value", keys)
        target = self._view() if not keys else paths.get(self.state, keys)
        if target is UNDEFINED or not (is_container(target) or target is None):
            raise Refusal("insert.target_is_primitive", "expected an object, a list or null at the path", keys)
        node = node_at(self.schema, keys) if isinstance(self.schema, dict) else None
        if node is None and len(keys) == 1:
            raise Refusal("insert.parent_missing", "expected a schema that knows the path, found none", keys)
        values = [read_value(argument) for argument in instruction.args[1:3]]
        insertion = Insertion(path, keys, target, node, self.schema, values)
        new, text = insert_into(insertion, self.warnings)
        self.exotic = self.exotic or isinstance(new, NamedList) or any(map(is_exotic, values))
        self._note(shown, text, instruction.reason)
        if node is not None:
            self._refresh(keys, target, new, node)
        else:
            self._take(keys, new)
        self._updated(path, target, new)

    def _take(self, keys: tuple[str, ...], new: Any) -> None:
        if not keys and INTERNAL in new:
            new = {**new, INTERNAL: _HOLDER}
        self._write(keys, new)

    def _refresh(self, keys: tuple[str, ...], old: Any, new: Any, node: dict[str, Any]) -> None:
        """Marks in what was inserted take effect at once and go away."""
        deriver = Deriver()
        former = old if self.schema_fits and not self.marks_set else None
        if keys:
            fresh = deriver.node(new, node, recursive=False, previous=former)
        else:
            new = {**new, INTERNAL: _HOLDER} if INTERNAL in new else new
            fresh = deriver.root(new, node, former)
        self.schema = with_node(self.schema, keys, fresh)
        self.warnings += deriver.warnings
        self._take(keys, strip_new(new, former) if former is not None else strip(new))

    def _delete(self, instruction: Instruction, path: str, keys: tuple[str, ...], shown: str | tuple[str, ...]) -> None:
        if not keys:
            raise Refusal("delete.path_missing", "the whole state cannot be deleted", keys)
        if len(instruction.args) == 1 and self._delete_item(keys):
            return
        if not paths.has(self.state, keys):
            raise Refusal("delete.path_missing", "expected something to stand at the path, found nothing", keys)
        if len(instruction.args) > 1:
            self._delete_from(instruction, path, keys, shown)
            return
        node = node_at(self.schema, keys)
        if node is not None and node.get("required") is True:
            raise Refusal("delete.schema_required_key", "the key is required by the schema", keys)
        old = paths.get(self.state, keys)
        self.state = paths.remove(self.state, keys)
        self.exotic = self.exotic or isinstance(paths.get(self.state, keys[:-1]), list)
        self._note(shown, f"REMOVED path '{path}'", instruction.reason)
        self._updated(path, old, UNDEFINED)

    def _delete_item(self, keys: tuple[str, ...]) -> bool:
        """A path that ends in an index of an array removes that item, whatever the schema says."""
        items = paths.get(self.state, keys[:-1])
        if not isinstance(items, list) or not keys[-1].isascii() or not keys[-1].isdigit():
            return False
        index = int(keys[-1]) if len(keys[-1]) < len(str(len(items))) + 20 else len(items)
        if index >= len(items):
            return False
        rest = items[:index] + items[index + 1 :]
        self._write(keys[:-1], rest)
        self._updated(paths.bracket_text(keys[:-1]), items, rest)
        return True

    def _delete_from(
        self, instruction: Instruction, path: str, keys: tuple[str, ...], shown: str | tuple[str, ...]
    ) -> None:
        target = read_value(instruction.args[1])
        collection = paths.get(self.state, keys)
        rest, text = delete_from(collection, target, path, keys, node_at(self.schema, keys))
        self._write(keys, rest)
        self._note(shown, text, instruction.reason)
        if isinstance(collection, list):
            self._updated(path, collection, rest)

    def _move(self, instruction: Instruction, path: str, keys: tuple[str, ...], shown: str | tuple[str, ...]) -> None:
        raise Refusal("move.without_declaration", "move works only under a declaration; nothing was moved", keys)


def _change(trim: Callable[[str], str], old: Any, new: Any) -> str:
    return f"{trim(json_text(old))}->{trim(json_text(new))}"


def _is_pair(value: Any) -> bool:
    """A value with its description: two items, the second a text (spec/magvarupdate.md §7)."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[1], str)


def _as_number(old: Any, new: Any) -> Any:
    return text_to_number(new) if is_number(old) and isinstance(new, str) else new


def _first(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return value[0] if value else UNDEFINED


def _sum(base: Any, delta: Any, keys: tuple[str, ...]) -> Any:
    if is_number(base):
        if not is_number(delta):
            raise Refusal("add.delta_not_number", "expected a number to add", keys)
        return round12(add_numbers(base, delta))
    instant = date_of(base)
    if instant is None:
        raise Refusal("add.value_not_number_or_date", "expected a number or a date at the path", keys)
    text = iso_text(instant + delta) if is_number(delta) else None
    if text is None:
        raise Refusal("add.date_delta_not_number", "expected milliseconds to add to the date", keys)
    return text
