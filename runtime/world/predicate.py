"""Conditions of checks: JSON to a small AST at load, AST to true or false in a turn (§2.1, §2.4)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.world.limits import PREDICATE_DEPTH, PREDICATE_NODES
from runtime.world.pointers import MISSING, Segments, State, bind_text, is_number, read, segments_of, slots_in

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class PathRef:
    """A path of a condition or an input; the segments are ready when the text holds no slot."""

    text: str
    fixed: Segments | None

    def segments(self, actors: dict[str, str]) -> Segments:
        """The segments with every bound slot filled in."""
        return self.fixed if self.fixed is not None else segments_of(bind_text(self.text, actors))

    def slots(self) -> list[str]:
        """The slots that the text names."""
        return slots_in(self.text) if self.fixed is None else []


def path_ref(text: str) -> PathRef:
    """Prepare a path."""
    return PathRef(text, None if "{" in text else segments_of(text))


@dataclass(frozen=True, slots=True)
class All:
    """True when every part is."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """True when one part is."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Tag:
    """True when the tag was given; always true in an explicit check."""

    tag: str


@dataclass(frozen=True, slots=True)
class Present:
    """True when every item, an id or a ``$slot``, is on stage."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Equals:
    """Strict equality with a JSON value; a missing path equals nothing, two containers never do."""

    path: PathRef
    value: Any


@dataclass(frozen=True, slots=True)
class Compare:
    """A numeric comparison; false unless the path leads to a number."""

    path: PathRef
    test: Callable[[Any, Any], bool]
    number: float


Predicate = All | OneOf | Tag | Present | Equals | Compare

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}
NODES: tuple[str, ...] = ("all", "any", "tag", "present", "eq", *_COMPARE)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a condition: ``code`` BAD_CONDITION (shape) or BAD_ARGUMENT (type), and the path to the node."""

    code: str
    message: str
    path: Path


@dataclass(slots=True)
class _Compiler:
    faults: list[Fault]
    nodes: int = 0

    def build(self, node: Any, path: Path, depth: int) -> Predicate | None:
        """The predicate of a node, or ``None`` with a fault; siblings are looked at all the same."""
        self.nodes += 1
        if depth > PREDICATE_DEPTH.default or self.nodes > PREDICATE_NODES.default:
            limit = PREDICATE_DEPTH if depth > PREDICATE_DEPTH.default else PREDICATE_NODES
            if self.nodes <= PREDICATE_NODES.default + 1:
                self._fault("BAD_ARGUMENT", f"expected at most {limit.default} {limit.unit} ({limit.name})", path)
            return None
        if not isinstance(node, dict) or len(node) != 1 or next(iter(node)) not in NODES:
            found = f"keys {', '.join(map(str, node)) or 'none'}" if isinstance(node, dict) else type(node).__name__
            self._fault("BAD_CONDITION", f"expected an object with one key of {', '.join(NODES)}; found {found}", path)
            return None
        key, argument = next(iter(node.items()))
        here = (*path, key)
        if key in ("all", "any"):
            return self._group(key, argument, here, depth)
        if key == "tag":
            if isinstance(argument, str):
                return Tag(argument)
            return self._fault("BAD_ARGUMENT", f"expected a tag as text, found {argument!r}", here)
        if key == "present":
            if isinstance(argument, list) and all(isinstance(item, str) for item in argument):
                return Present(tuple(argument))
            return self._fault("BAD_ARGUMENT", "expected a list of character ids or $slots", here)
        return self._binary(key, argument, here)

    def _group(self, key: str, argument: Any, path: Path, depth: int) -> Predicate | None:
        if not isinstance(argument, list):
            return self._fault("BAD_ARGUMENT", f"expected a list of conditions, found {type(argument).__name__}", path)
        parts = [self.build(part, (*path, index), depth + 1) for index, part in enumerate(argument)]
        ready = tuple(part for part in parts if part is not None)
        if len(ready) != len(parts):
            return None
        return All(ready) if key == "all" else OneOf(ready)

    def _binary(self, key: str, argument: Any, path: Path) -> Predicate | None:
        if not isinstance(argument, list) or len(argument) != 2 or not isinstance(argument[0], str):
            return self._fault("BAD_ARGUMENT", f"expected [path, value] for {key}", path)
        reference = path_ref(argument[0])
        if key == "eq":
            return Equals(reference, argument[1])
        if not is_number(argument[1]):
            return self._fault("BAD_ARGUMENT", f"expected [path, number] for {key}, found {argument[1]!r}", path)
        return Compare(reference, _COMPARE[key], argument[1])

    def _fault(self, code: str, message: str, path: Path) -> Predicate | None:
        self.faults.append(Fault(code, message, path))
        return None


def compile_predicate(source: Any) -> tuple[Predicate | None, tuple[Fault, ...]]:
    """Compile a condition; with faults there is no predicate."""
    compiler = _Compiler([])
    predicate = compiler.build(source, (), 1)
    return (None if compiler.faults else predicate), tuple(compiler.faults)


def condition_slots(predicate: Predicate | None) -> tuple[str, ...]:
    """The distinct slots named by ``$slot``, in order (§2.3); placeholders in paths do not count."""
    found: dict[str, None] = {}
    stack = [predicate] if predicate is not None else []
    while stack:
        node = stack.pop()
        if isinstance(node, (All, OneOf)):
            stack.extend(reversed(node.parts))
        elif isinstance(node, Present):
            found.update((item[1:], None) for item in node.items if item.startswith("$"))
    return tuple(found)


def path_slots(predicate: Predicate | None) -> tuple[str, ...]:
    """The distinct ``{slot}`` names in paths, in order."""
    found: dict[str, None] = {}
    stack = [predicate] if predicate is not None else []
    while stack:
        node = stack.pop()
        if isinstance(node, (All, OneOf)):
            stack.extend(reversed(node.parts))
        elif isinstance(node, (Equals, Compare)):
            found.update((slot, None) for slot in node.path.slots())
    return tuple(found)


def holds(predicate: Predicate, state: State, tags: Collection[str] | None, actors: dict[str, str]) -> bool:
    """Whether the predicate is true; ``tags=None`` is the explicit mode, where every tag counts as given (§2.4)."""
    if isinstance(predicate, All):
        return all(holds(part, state, tags, actors) for part in predicate.parts)
    if isinstance(predicate, OneOf):
        return any(holds(part, state, tags, actors) for part in predicate.parts)
    if isinstance(predicate, Tag):
        return tags is None or predicate.tag in tags
    if isinstance(predicate, Present):
        stage = state["present"]
        return all(_on_stage(item, stage, actors) for item in predicate.items)
    value = read(state, predicate.path.segments(actors))
    if isinstance(predicate, Equals):
        return value is not MISSING and scalar_equal(value, predicate.value)
    return is_number(value) and predicate.test(value, predicate.number)


def _on_stage(item: str, stage: list[str], actors: dict[str, str]) -> bool:
    if not item.startswith("$"):
        return item in stage
    actor = actors.get(item[1:], "")
    return bool(actor) and actor in stage


def scalar_equal(left: Any, right: Any) -> bool:
    """Strict equality of two JSON values that are not the same node: containers never are equal (§2.1)."""
    if isinstance(left, (dict, list)) or isinstance(right, (dict, list)):
        return False
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_number(left) and is_number(right):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)
