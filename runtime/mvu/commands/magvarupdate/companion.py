"""Commands under a declaration, as the Zod companion runs them (spec/magvarupdate.md §18).

Each command is tried alone on a candidate and kept only if the declaration takes the whole state. Values are read
without mathematics, paths get no repair but trimmed ends and dropped prefixes, and keys that start with ``_`` are
read-only. ``Companion`` never mutates a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from interpreter.javascript import UNDEFINED, add_numbers, round12, to_number
from runtime.mvu.commands.magvarupdate import paths
from runtime.mvu.commands.magvarupdate.engine import Instruction
from runtime.mvu.commands.magvarupdate.limits import PATH_TEXT
from runtime.mvu.commands.magvarupdate.members import guard
from runtime.mvu.commands.magvarupdate.reading import read_value
from runtime.mvu.commands.magvarupdate.refusal import Refusal
from runtime.mvu.commands.magvarupdate.scan import ALIASES
from runtime.mvu.commands.magvarupdate.values import as_json, equal, is_number, json_text, key_text, trim_ends

_PREFIXES = ("stat_data.", "status_current_variables.")
READ_ONLY = "_"
"""Keys that start with this are read-only."""

Check = Callable[[Any], Any]
"""The declaration: the state that it makes of a candidate; raises ``Refusal`` (or a fatal error) when it refuses."""


def _plain(value: Any) -> Any:
    """A value as JSON has it; ``undefined`` stays, since a member of that value is left out."""
    return value if value is UNDEFINED else as_json(value)[0]


@dataclass
class Companion:
    """The state of one batch; ``notices`` counts the refusals that the upstream's script would show."""

    state: Any
    check: Check
    hint: paths.Hint | None = None
    rejected: Callable[[], None] | None = None
    accepted: Callable[[], None] | None = None
    notices: int = field(init=False, default=0)

    def run(self, instruction: Instruction) -> bool:
        """Apply one command; whether the state changed. Raises ``Refusal`` when it is not kept."""
        name = ALIASES.get(instruction.type, instruction.type)
        candidates = {
            "set": self._set,
            "add": self._add,
            "insert": self._insert,
            "delete": self._delete,
            "move": self._move,
        }.get(name)
        if candidates is None or not instruction.args:
            raise Refusal("command.unknown", f"expected set, add, insert, delete or move, found {instruction.type}")
        refusal: Refusal | None = None
        tried = False
        for candidate in candidates(instruction):
            tried = True
            try:
                checked = self.check(candidate)
            except Refusal as error:
                refusal = refusal or error
                self.drop()
                continue
            if equal(checked, self.state):
                self.drop()
                continue
            self.state = checked
            if self.accepted is not None:
                self.accepted()
            return True
        if refusal is not None:
            self.notices += 1
            raise refusal
        if not tried:
            raise Refusal("companion.no_effect", "the command offers nothing to apply")
        return False

    def drop(self) -> None:
        """Forget what was remembered of a candidate that is not kept."""
        if self.rejected is not None:
            self.rejected()

    # -- paths

    def _keys(self, instruction: Instruction, position: int = 0) -> tuple[str, ...]:
        if instruction.keys is not None and position < len(instruction.keys):
            keys = instruction.keys[position]
        else:
            keys = self._read_keys(instruction.args[position])
        return self._writable(keys)

    def _read_keys(self, argument: Any) -> tuple[str, ...]:
        text = argument if isinstance(argument, str) else json_text(argument)
        if len(text) > PATH_TEXT.default:
            raise Refusal(PATH_TEXT.error, f"expected a path of at most {PATH_TEXT.default} characters")
        text = trim_ends(text)
        for prefix in _PREFIXES:
            text = text.removeprefix(prefix)
        return paths.keys_of(text, self.state) if text else ()

    def _writable(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        locked = next((key for key in keys if key.startswith(READ_ONLY)), None)
        if locked is not None:
            raise Refusal("companion.read_only", f"the key {locked!r} is read-only: it starts with '_'", keys)
        return keys

    def _write(self, keys: tuple[str, ...], value: Any) -> Any:
        return paths.write(self.state, keys, value, self.hint, None) if keys else value

    def _value(self, argument: Any, keys: tuple[str, ...]) -> Any:
        value = _plain(read_value(argument, mathematics=False))
        guard(value, len(keys), keys)
        return value

    # -- commands: each gives candidates, the first that the declaration takes is kept

    def _set(self, instruction: Instruction) -> Iterator[Any]:
        keys = self._keys(instruction)
        value = self._value(instruction.args[-1], keys)
        if value is UNDEFINED:
            value = None
        if not keys and not isinstance(value, dict):
            raise Refusal("set.root_not_object", "expected an object for the whole state", keys)
        yield self._write(keys, value)

    def _add(self, instruction: Instruction) -> Iterator[Any]:
        keys = self._keys(instruction)
        old = paths.get(self.state, keys)
        if old is UNDEFINED:
            self.notices += 1
            raise Refusal("add.path_missing", "expected something to stand at the path, found nothing", keys)
        if not is_number(old):
            self.notices += 1
            raise Refusal("add.value_not_number", "expected a number at the path", keys)
        delta = to_number(read_value(instruction.args[1], mathematics=False))
        if delta != delta or abs(delta) == float("inf"):
            self.notices += 1
            raise Refusal("add.delta_not_number", "expected a number to add", keys)
        yield self._write(keys, round12(add_numbers(old, delta)))

    def _insert(self, instruction: Instruction) -> Iterator[Any]:
        keys = self._keys(instruction)
        target = self.state if not keys else paths.get(self.state, keys)
        arguments = instruction.args[1:3]
        if not arguments:
            raise Refusal("insert.bad_argument_count", "expected a collection, perhaps a key, and a value", keys)
        value = self._value(arguments[-1], (*keys, ""))
        key = read_value(arguments[0], mathematics=False) if len(arguments) > 1 else UNDEFINED
        if key is not UNDEFINED:
            self._writable((key_text(key),))
        if target is UNDEFINED or target is None:
            starts: list[Any] = [{}, []]
        elif isinstance(target, dict | list):
            starts = [target]
        else:
            raise Refusal("insert.target_is_primitive", "expected an object or a list at the path", keys)
        for start in starts:
            fresh = _merged(start, value) if key is UNDEFINED else _placed(start, key, value, keys)
            if fresh is not None:
                yield self._write(keys, fresh)

    def _delete(self, instruction: Instruction) -> Iterator[Any]:
        keys = self._keys(instruction)
        if len(instruction.args) > 1:
            target = key_text(read_value(instruction.args[1], mathematics=False))
            keys = self._writable((*keys, *paths.keys_of(target, self.state)))
        yield self._without(keys)

    def _without(self, keys: tuple[str, ...]) -> Any:
        if not keys or not paths.has(self.state, keys):
            raise Refusal("delete.path_missing", "expected something to stand at the path, found nothing", keys)
        parent = paths.get(self.state, keys[:-1])
        index = paths.index_of(keys[-1])
        if isinstance(parent, list):
            if index is None:
                raise Refusal("delete.path_missing", "expected an index of the list", keys)
            return self._write(keys[:-1], parent[:index] + parent[index + 1 :])
        if not isinstance(parent, dict):
            raise Refusal("delete.target_not_collection", "expected an object or a list at the path", keys)
        return paths.remove(self.state, keys, self.hint)

    def _move(self, instruction: Instruction) -> Iterator[Any]:
        source, target = self._keys(instruction), self._keys(instruction, 1)
        if not source or not target or target[: len(source)] == source:
            raise Refusal("move.into_itself", "expected a destination outside of what is moved", source)
        value = paths.get(self.state, source)
        if value is UNDEFINED:
            self.notices += 1
            raise Refusal("move.path_missing", "expected something to stand at the source, found nothing", source)
        taken = self._without(source)
        guard(value, len(target), target)
        yield paths.write(taken, target, value, None, None)
        try:
            self.check(taken)
        except Refusal:
            self.notices += 1  # refused: the upstream deletes first, and says so when that alone is refused
        finally:
            self.drop()


def _merged(start: Any, value: Any) -> Any:
    """A collection with a value put in without a key; None when that cannot be."""
    if isinstance(start, list):
        return [*start, None if value is UNDEFINED else value]
    return {**start, **value} if isinstance(value, dict) else None


def _placed(start: Any, key: Any, value: Any, keys: tuple[str, ...]) -> Any:
    """A collection with a value under a key or at an index; None when that cannot be."""
    if value is UNDEFINED:
        return start
    if isinstance(start, dict):
        name = key_text(key)
        guard({name: None}, len(keys), keys)
        return paths.put(start, name, value)
    if key == "-":
        return [*start, value]
    if isinstance(key, str) and paths.index_of(key) is not None:
        key = paths.index_of(key)
    if not is_number(key) or key != key or abs(key) == float("inf"):
        return None
    items = list(start)
    items.insert(int(key), value)
    return items


def initialised(state: dict[str, Any], check: Check) -> tuple[dict[str, Any], Refusal | None]:
    """A first state as the companion leaves it: the declaration's, or untouched with the refusal."""
    try:
        checked = check(state)
    except Refusal as refusal:
        return state, refusal
    return {**state, **checked}, None
