"""Generated source: the success-only fast path of a schema (design §6).

For each container a Python function is generated that gives the output, or raises :class:`Fail` as soon as anything is
not plainly right; the exact parser then runs and tells the issues. Names and structure of the source are ours; what an
author wrote enters it only through bound names. What a node's text cannot say simply is left to the exact parser, node
by node. The steps charged are the exact parser's.

With a memory, containers that are known fix points answer at once, and a container that differs from one in a single
key parses that key only (``interpreter.parse.memory``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from operator import is_
from typing import Any

from interpreter import javascript as js
from interpreter.budget import Run
from interpreter.compile.author import check_output
from interpreter.compile.exact import ExactCompiler
from interpreter.compile.inline import clamp, larger
from interpreter.compile.payload import Payload
from interpreter.compile.text import number_text_to_number
from interpreter.declare import nodes as n
from interpreter.errors import BudgetExceeded, EvaluationError
from interpreter.evaluate.values import Thrown, key_of
from interpreter.javascript import UNDEFINED, js_key_order

_REMEMBERED_LENGTH, _REMEMBERED_TEXTS = 64, 256
_ATOMS = frozenset({int, float, str})
_SIMPLE_REST = frozenset({"unknown", "any", "never"})
FastParse = Callable[[Any, Run, Any], Any]
_SAFE = js.MAX_SAFE_INTEGER


def plain_container(node: n.Node) -> bool:
    """Whether a container is generated, not left to the exact parser."""
    if isinstance(node, n.ObjectNode):
        rest = node.catchall
        simple = rest is None or (isinstance(rest, n.SimpleNode) and not rest.checks and rest.kind in _SIMPLE_REST)
        return simple and not node.checks and "__proto__" not in node.shape
    if isinstance(node, n.RecordNode):
        key = node.key
        return not node.checks and not node.loose and isinstance(key, n.StringNode) and not key.checks
    return isinstance(node, n.ArrayNode) and all(plain_length(check) for check in node.checks)


def plain_length(check: n.Check) -> bool:
    """Whether a length check has a plain bound."""
    bound = getattr(check, "minimum", getattr(check, "maximum", None))
    return isinstance(check, n.MinLength | n.MaxLength) and check.when is None and type(bound) is int


class Fail(Exception):
    """The value is not plainly right: the exact parser decides."""


FAIL = Fail()


def coerce_number(value: Any, run: Run) -> Any:
    """A number out of anything but a container."""
    if type(value) is dict or (type(value) is list and run.version == 1):
        raise FAIL
    number = number_text_to_number(run, value)
    if type(number) is float and number - number != 0:
        raise FAIL
    return number


def check_int(value: Any) -> None:
    """``int()`` of a float."""
    if not js.is_safe_integer(value):
        raise FAIL


class RememberedTest:
    """A pattern's answers to short texts, with the steps that they cost: states repeat their texts."""

    __slots__ = ("known", "pattern")

    def __init__(self, pattern: Any) -> None:
        self.pattern = pattern
        self.known: dict[str, tuple[bool, int]] = {}

    def test(self, text: str, charge: Callable[[int], None]) -> bool:
        """Whether the text matches."""
        found = self.known.get(text)
        if found is None:
            spent: list[int] = []
            found = self.pattern.test(text, spent.append), sum(spent)
            if len(text) <= _REMEMBERED_LENGTH and len(self.known) < _REMEMBERED_TEXTS:
                self.known[text] = found
        charge(found[1])
        return found[0]


def same_dict(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether two objects have the same keys in the same order with the very same values."""
    return len(before) == len(after) and all(map(is_, before.values(), after.values())) and list(before) == list(after)


def same_list(before: list[Any], after: list[Any]) -> bool:
    """Whether two arrays have the very same items."""
    return len(before) == len(after) and all(map(is_, before, after))


def settle(run: Run, before: Any, after: Any) -> Any:
    """A function's result: the value itself where nothing changed, else looked at."""
    kind = type(after)
    if kind is not bool and kind in _ATOMS:
        # Equal numbers and texts are the very same value; a zero of type float is always -0.
        if kind is type(before) and after == before:
            return before
        return check_output(run, before, after)
    if (kind is dict and type(before) is dict and same_dict(before, after)) or (
        kind is list and type(before) is list and same_list(before, after)
    ):
        return before
    return check_output(run, before, after)


def extras(source: dict[str, Any], made: dict[str, Any], shape: Any, run: Run) -> dict[str, Any]:
    """The unknown keys of a loose object, after the known ones; index keys first."""
    added = 0
    for key, value in source.items():
        if key not in shape and key != "__proto__":
            made[key] = value
            added += 1
    run.charge(added)
    return ordered(made)


def ordered(made: dict[str, Any]) -> dict[str, Any]:
    """The object with index keys first."""
    keys = js_key_order(made.keys())
    return {key: made[key] for key in keys} if isinstance(keys, list) else made


def refuse_unknown(source: dict[str, Any], shape: Any) -> None:
    """A strict object has no unknown keys."""
    for key in source:
        if key not in shape and key != "__proto__":
            raise FAIL


def identical(a: Any, b: Any) -> bool:
    """Whether two values are the same JSON with the same key order and the same types of scalars."""
    stack = [(a, b)]
    while stack:
        left, right = stack.pop()
        if left is right:
            continue
        if type(left) is not type(right):
            return False
        if type(left) is dict:
            if len(left) != len(right) or list(left) != list(right):
                return False
            stack.extend(zip(left.values(), right.values(), strict=True))
        elif type(left) is list:
            if len(left) != len(right):
                return False
            stack.extend(zip(left, right, strict=True))
        elif left != right or type(left) is float:
            return False
    return True


class Writer:
    """The source being generated, and what its names stand for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = 1
        self.names: dict[str, Any] = {
            "U": UNDEFINED,
            "F": FAIL,
            "Fail": Fail,
            "K": clamp,
            "G": larger,
            "number": coerce_number,
            "check_int": check_int,
            "same_dict": same_dict,
            "same_list": same_list,
            "settle": settle,
            "extras": extras,
            "ordered": ordered,
            "refuse_unknown": refuse_unknown,
            "key_of": key_of,
            "length": js.utf16_length,
            "SAFE": _SAFE,
            "DIGITS": frozenset("0123456789"),
        }
        self.counter = 0

    def line(self, text: str) -> None:
        """Add a line at the current indentation."""
        self.lines.append("    " * self.indent + text)

    def bind(self, value: Any, kind: str) -> str:
        """A name for a constant."""
        if type(value) is int and abs(value) < 2**53:
            return f"({value})" if value < 0 else str(value)
        name = f"{kind}{len(self.names)}"
        self.names[name] = value
        return name

    def fresh(self, kind: str = "x") -> str:
        """A name for a variable."""
        self.counter += 1
        return f"{kind}_{self.counter}"


class FastCompiler:
    """Generates the functions of one schema. Each node that gets a function of its own has a slot in the memory."""

    def __init__(self, exact: ExactCompiler, free: Callable[[str], Any]) -> None:
        self.exact = exact
        self.free = free
        self.functions: dict[int, str] = {}
        self.namespace: dict[str, Any] = {}
        self.writer = Writer()
        self.chunks: list[list[str]] = []
        self.kept: list[n.Node] = []
        self.slots: list[n.Node] = []
        self.children: dict[tuple[int, Any], FastParse] = {}
        self.absent = UNDEFINED
        self.failure = Fail
        self.failures = (Fail, Thrown, BudgetExceeded, EvaluationError, RecursionError)
        self.parsers: dict[int, FastParse] = {}
        self.lock = threading.Lock()

    # --- functions -------------------------------------------------------------------------------------------------

    def function(self, node: n.Node) -> str:
        """The name of the function that parses a node; generated at the first use."""
        known = self.functions.get(id(node))
        if known is not None:
            return known
        slot = len(self.slots)
        name = f"parse_{slot}"
        self.functions[id(node)] = name
        self.slots.append(node)
        self.kept.append(node)
        from interpreter.compile.emit import emit_function

        outer_lines, outer_indent = self.writer.lines, self.writer.indent
        self.writer.lines, self.writer.indent = [], 1
        emit_function(self, node, name, slot)
        self.chunks.append(self.writer.lines)
        self.writer.lines, self.writer.indent = outer_lines, outer_indent
        return name

    def exact_call(self, node: n.Node) -> str:
        """The name of a function that lets the exact parser do a node."""
        known = self.functions.get(-id(node))
        if known is not None:
            return known
        name = f"exact_{len(self.functions)}"
        self.writer.names[name] = self._exact_parse(node)
        self.functions[-id(node)] = name
        self.kept.append(node)
        return name

    def _exact_parse(self, node: n.Node) -> FastParse:
        parse = self.exact.compile(node)
        slot = len(self.slots)
        self.slots.append(node)

        def call(value: Any, run: Run, memory: Any) -> Any:
            remembers = memory is not None and type(value) in (dict, list)
            if remembers:
                known = memory.recall(slot, value, run)
                if known is not None:
                    return known
            start, clock = run.steps, run.clock_reads
            payload = Payload(value)
            parse(payload, run)
            if payload.issues:
                raise FAIL
            if remembers and identical(value, payload.value):
                if run.clock_reads == clock:
                    memory.remember(slot, value, run.steps - start)
                return value
            return payload.value

        return call

    def build(self, root: n.Node) -> FastParse:
        """The fast parser of a schema."""
        name = self.function(root)
        self._load()
        found: FastParse = self.namespace[name]
        return found

    def parser(self, node: n.Node) -> FastParse:
        """The fast parser of any node of the schema; generated at the first use."""
        known = self.parsers.get(id(node))
        if known is None:
            with self.lock:  # the schema is shared between threads
                name = self.function(node)
                if self.chunks:
                    self._load()
                known = self.parsers[id(node)] = self.namespace[name]
        return known

    def _load(self) -> None:
        source = "\n".join(line for chunk in self.chunks for line in chunk)
        self.chunks.clear()
        self.namespace.update(self.writer.names)
        exec(compile(source, "<schema>", "exec"), self.namespace)  # noqa: S102 - text of ours, see the module's text

    def child(self, slot: int, key: Any) -> FastParse | None:
        """The parser of one field (or of the values of a record or array), for a container with one changed key."""
        node = self.slots[slot]
        if id(node) not in self.functions or not plain_container(node):
            return None
        place = key if isinstance(node, n.ObjectNode) else None
        known = self.children.get((slot, place))
        if known is not None:
            return known
        field: n.Node | None
        if isinstance(node, n.ObjectNode):
            field = node.shape.get(key)
        elif isinstance(node, n.RecordNode):
            field = node.value
        else:
            field = node.element if isinstance(node, n.ArrayNode) else None
        if field is None:
            return None
        found = self.children[(slot, place)] = self.parser(field)
        return found
