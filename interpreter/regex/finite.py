"""The finite regular expressions of interpreter versions 1 and 2 (spec/mvu.md §5.6): automaton and step counts.

A pattern becomes an automaton without cycles, because every repeat is bounded; a text is matched by following the set
of states that are reachable, one UTF-16 unit after the other. The number of steps depends on pattern and text alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lark import Lark, Token, Transformer, UnexpectedInput
from lark.exceptions import VisitError

from interpreter.errors import InterpreterError
from interpreter.javascript import to_units, utf16_length
from interpreter.limits import CODE, LIMIT
from interpreter.regex.errors import RegexRefused
from interpreter.regex.limits import FINITE_GROUPS, FINITE_PATTERN, FINITE_REPEAT, FINITE_STATES

Charge = Callable[[int], None]

_DIGITS = ((0x30, 0x39),)
_WHAT = {
    ".": ("the dot", "a class such as [a-z]"),
    "*": ("an unbounded repeat", "{0,64}"),
    "+": ("an unbounded repeat", "{1,64}"),
    "|": ("an alternative outside a group, or an empty one", "(a|b)"),
    "(": ("a group of this kind", "a plain group (a|b)"),
    ")": ("an empty or unopened group", "a group with content"),
    "[": ("a class of this kind", "a class such as [a-z]"),
    "]": ("an empty or unopened class", "a class such as [a-z]"),
    "?": ("a lazy or repeated repeat", "one repeat after a character, class or group"),
    "{": ("a repeat of this kind", "{m} or {m,n} up to 64"),
    "}": ("a repeat of this kind", "{m} or {m,n} up to 64"),
    "^": ("an anchor or negation", "^ at the start only"),
    "$": ("an anchor", "$ at the end only"),
    "\\": ("an escape of this kind", r"\d or an escaped sign"),
    "-": ("a bare hyphen in a class", r"\-"),
}


# --- syntax tree ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Units:
    """One UTF-16 unit out of inclusive ranges."""

    ranges: tuple[tuple[int, int], ...]
    depth: int = 0


@dataclass(frozen=True, slots=True)
class _Sequence:
    items: tuple[_Item, ...]
    depth: int = 0


@dataclass(frozen=True, slots=True)
class _Choice:
    options: tuple[_Item, ...]
    depth: int


@dataclass(frozen=True, slots=True)
class _Repeat:
    item: _Item
    least: int
    most: int
    depth: int


_Item = _Units | _Sequence | _Choice | _Repeat


class _Builder(Transformer[Token, _Item]):
    """Makes the tree inside the parse; refuses what the grammar alone cannot."""

    def start(self, children: list[_Item]) -> _Item:
        return children[0]

    def sequence(self, children: list[_Item]) -> _Item:
        return _Sequence(tuple(children), max((child.depth for child in children), default=0))

    branch = sequence

    def group(self, children: list[_Item]) -> _Item:
        depth = 1 + max(child.depth for child in children)
        if depth > FINITE_GROUPS.default:
            raise RegexRefused(
                LIMIT, f"expected at most {FINITE_GROUPS.default} nested groups, found more", 0, "nested groups"
            )
        return _Choice(tuple(children), depth)

    def plain(self, children: list[Token]) -> _Units:
        return _Units(((ord(children[0]), ord(children[0])),))

    def escaped(self, children: list[Token]) -> _Units:
        return _Units(((ord(children[0][1]), ord(children[0][1])),))

    def digit(self, children: list[Token]) -> _Units:
        return _Units(_DIGITS)

    def span(self, children: list[_Units]) -> _Units:
        low, high = children[0].ranges[0][0], children[1].ranges[0][0]
        if low > high:
            raise RegexRefused(CODE, f"expected a range in order, found {chr(low)!r} to {chr(high)!r}", 0, "a range")
        return _Units(((low, high),))

    def members(self, children: list[_Units]) -> _Units:
        return _Units(tuple(span for child in children for span in child.ranges))

    def count(self, children: list[Token]) -> int:
        return int("".join(children))

    def optional(self, children: list[_Item]) -> _Item:
        return _Repeat(children[0], 0, 1, children[0].depth)

    def exactly(self, children: list[object]) -> _Item:
        return self.between([*children, children[1]])

    def between(self, children: list[object]) -> _Item:
        item, least, most = children
        assert isinstance(item, _Units | _Choice) and isinstance(least, int) and isinstance(most, int)
        if not least <= most <= FINITE_REPEAT.default:
            raise RegexRefused(
                CODE,
                f"expected a repeat {{m,n}} with m <= n <= {FINITE_REPEAT.default}, found {{{least},{most}}}",
                0,
                "a repeat",
                "{m,n} up to 64",
            )
        return _Repeat(item, least, most, item.depth)


@functools.cache
def _grammar() -> Lark:
    text = (Path(__file__).parent / "finite.lark").read_text("utf-8")
    return Lark(text, parser="lalr", transformer=_Builder(), maybe_placeholders=False)


def _tree(pattern: str, units: str) -> _Item:
    if len(units) > FINITE_PATTERN.default:
        raise RegexRefused(
            CODE,
            f"expected a pattern of at most {FINITE_PATTERN.default} characters, found {len(units)}",
            FINITE_PATTERN.default,
            "a long pattern",
        )
    try:
        tree: _Item = _grammar().parse(units)  # type: ignore[assignment]
    except UnexpectedInput as error:
        raise _refusal(pattern, units, error) from None
    except VisitError as error:
        if isinstance(error.orig_exc, InterpreterError):
            raise error.orig_exc from None
        raise
    return tree


def _refusal(pattern: str, units: str, error: UnexpectedInput) -> RegexRefused:
    index = error.pos_in_stream if error.pos_in_stream is not None and error.pos_in_stream >= 0 else len(units)
    if not units.startswith("^") or not units.endswith("$"):
        index = 0 if not units.startswith("^") else len(units)
        construct, nearest = "a pattern without anchors", "^…$ around the whole pattern"
    else:
        here = "(" if units[index - 1 : index + 1] == "(?" else units[index : index + 1]
        construct, nearest = _WHAT.get(here, ("what stands here", "the finite subset"))
    message = f"expected {nearest} in /{pattern}/, found {construct} at position {index}"
    return RegexRefused(CODE, message, index, construct, nearest)


# --- automaton -----------------------------------------------------------------------------------------------------

_ACCEPT = 0


@dataclass(slots=True)
class _Automaton:
    """States by number; a state has ranges and one follower (it reads a unit) or only followers (it reads nothing)."""

    ranges: list[tuple[tuple[int, int], ...] | None] = field(default_factory=lambda: [None])
    followers: list[tuple[int, ...]] = field(default_factory=lambda: [()])

    def add(self, ranges: tuple[tuple[int, int], ...] | None, followers: tuple[int, ...]) -> int:
        if len(self.ranges) >= FINITE_STATES.default:
            message = f"expected an automaton of at most {FINITE_STATES.default} states, found more"
            raise RegexRefused(LIMIT, message, 0, "nested repeats")
        self.ranges.append(ranges)
        self.followers.append(followers)
        return len(self.ranges) - 1

    def build(self, item: _Item, after: int) -> int:
        """The state from which ``item`` leads to ``after``; built from the end, so that followers exist already."""
        if isinstance(item, _Units):
            return self.add(item.ranges, (after,))
        if isinstance(item, _Sequence):
            for part in reversed(item.items):
                after = self.build(part, after)
            return after
        if isinstance(item, _Choice):
            options = tuple(self.build(option, after) for option in item.options)
            return options[0] if len(options) == 1 else self.add(None, options)
        entry = after
        for _ in range(item.most - item.least):
            entry = self.add(None, (self.build(item.item, entry), after))
        for _ in range(item.least):
            size = len(self.ranges)
            entry = self.build(item.item, entry)
            if len(self.ranges) == size:  # nothing inside, however often: do not count to 64 at each level
                break
        return entry


@dataclass(frozen=True, slots=True, eq=False)
class FiniteRegex:
    """A compiled finite pattern. Immutable; matching keeps nothing."""

    pattern: str
    states: int
    _start: int
    _ranges: tuple[tuple[tuple[int, int], ...] | None, ...]
    _followers: tuple[tuple[int, ...], ...]

    @property
    def source(self) -> str:
        """The pattern, by the name that a general regular expression has for it."""
        return self.pattern

    @property
    def flags(self) -> str:
        """A finite pattern has no flags."""
        return ""

    def test(self, text: str, charge: Charge | None = None) -> bool:
        """Whether the whole text matches. ``charge`` gets the steps of each unit: states visited and edges tried."""
        units = to_units(text)
        current = {self._start}
        for index in range(0, len(units), 2):
            unit = units[index] | units[index + 1] << 8
            current, steps = self._step(self._closure(current), unit)
            if charge is not None:
                charge(steps)
            if not current:
                return False
        closed = self._closure(current)
        if charge is not None:
            charge(len(closed))
        return _ACCEPT in closed

    def _closure(self, states: set[int]) -> set[int]:
        closed: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state not in closed:
                closed.add(state)
                if self._ranges[state] is None:
                    waiting.extend(self._followers[state])
        return closed

    def _step(self, closed: set[int], unit: int) -> tuple[set[int], int]:
        following: set[int] = set()
        steps = len(closed)
        for state in closed:
            ranges = self._ranges[state]
            if ranges is not None:
                steps += 1
                if any(low <= unit <= high for low, high in ranges):
                    following.add(self._followers[state][0])
        return following, steps


def compile_finite(pattern: str, flags: str = "", charge: Charge | None = None) -> FiniteRegex:
    """Compile a pattern of the finite subset; ``charge`` gets one step for each state, also for a remembered result.

    Raises :class:`RegexRefused`: ``MVU_SCHEMA_CODE`` for anything outside the subset, ``MVU_LIMIT`` for too many
    nested groups or states.
    """
    if flags:
        raise RegexRefused(
            CODE, f"expected a pattern without flags, found flags {flags!r}", utf16_length(pattern), "flags", "no flags"
        )
    regex = _compiled(pattern)
    if charge is not None:
        charge(regex.states)
    return regex


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> FiniteRegex:
    encoded = to_units(pattern)
    units = "".join(chr(encoded[index] | encoded[index + 1] << 8) for index in range(0, len(encoded), 2))
    automaton = _Automaton()
    start = automaton.build(_tree(pattern, units), _ACCEPT)
    return FiniteRegex(pattern, len(automaton.ranges), start, tuple(automaton.ranges), tuple(automaton.followers))
