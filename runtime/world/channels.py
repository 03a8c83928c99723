"""Who may write what (§4): one rule for facts, corrections and the extra patch of a check.

A pointer is normalised first (no empty segment, no reserved name, a root that facts may touch), then refused when a
guarded pattern lies at, below or above it. The original looked only at and below, and let the extra patch through.
"""

from __future__ import annotations

from dataclasses import dataclass

from runtime.world.limits import POINTER_CHARS, POINTER_SEGMENTS
from runtime.world.pointers import PointerError, Segments, strict_segments

_STATS = (
    "sequence",
    "digest",
    "lose_control",
    "grade",
    "skill",
    "insight",
    "candle",
    "moth",
    "yin",
    "cost",
    "mobility",
)
BUILT_IN: tuple[str, ...] = (
    "scene",
    "present",
    "clock.beat",
    "facts.last_contest",
    "facts.__check_ordinal",
    *(f"characters.*.{stat}" for stat in _STATS),
)
FACT_ROOTS: tuple[str, ...] = ("facts", "revealed", "characters")
ENGINE_ROOTS: tuple[str, ...] = ("turn", "rng_seed", "recipe")
ORDINAL: Segments = ("facts", "__check_ordinal")


@dataclass(frozen=True, slots=True)
class Guards:
    """The effective list of guarded patterns: the built-in one and what the pack adds."""

    patterns: tuple[Segments, ...]
    roots: frozenset[str]


def guards_of(pack_patterns: tuple[str, ...]) -> Guards:
    """Unite the built-in list with a pack's; a pack can add, never remove."""
    texts = dict.fromkeys((*BUILT_IN, *pack_patterns))
    patterns = tuple(tuple(part for part in text.split(".") if part) for text in texts)
    patterns = tuple(pattern for pattern in patterns if pattern)
    return Guards(patterns, frozenset(pattern[0] for pattern in patterns))


def related(pattern: Segments, pointer: Segments) -> bool:
    """Whether a guarded pattern lies at, above or below the pointer; ``*`` stands for any one segment."""
    return all(want in ("*", have) for want, have in zip(pattern, pointer, strict=False))


def covers(pattern: Segments, pointer: Segments) -> bool:
    """Whether the pointer lies at or below the pattern."""
    return len(pattern) <= len(pointer) and related(pattern, pointer)


def is_guarded(guards: Guards, pointer: Segments) -> bool:
    """Whether a guard covers the pointer."""
    return any(covers(pattern, pointer) for pattern in guards.patterns)


def fact_refusal(pointer: str, guards: Guards) -> str | None:
    """Why a fact, a correction or an extra patch may not write ``pointer``; ``None`` when it may."""
    try:
        segments = _bounded(pointer)
    except PointerError as error:
        return str(error)
    root = segments[0]
    if root not in FACT_ROOTS:
        return f"expected a pointer below {', '.join(FACT_ROOTS)}; only rules write {root!r}: {pointer}"
    if any(segment.startswith("__") for segment in segments):
        return f"names that start with two underscores belong to the engine: {pointer}"
    if root == "facts" and len(segments) > 1 and segments[1] in guards.roots:
        return f"a fact may not be a copy of the guarded {segments[1]!r}: {pointer}"
    for pattern in guards.patterns:
        if related(pattern, segments):
            return f"the pointer meets the guarded {'.'.join(pattern)}; only a check or a ruling moves it: {pointer}"
    return None


def ruling_refusal(pointer: str) -> str | None:
    """Why neither a ruling nor an outcome may write ``pointer``: bad shape, engine bookkeeping, parts of the stage."""
    try:
        segments = _bounded(pointer)
    except PointerError as error:
        return str(error)
    root = segments[0]
    if root in ENGINE_ROOTS:
        return f"the engine alone keeps {root!r}: {pointer}"
    if root in ("present", "scene") and len(segments) > 1:
        return f"expected {root!r} itself, it is written as a whole: {pointer}"
    return None


def _bounded(pointer: str) -> Segments:
    if len(pointer) > POINTER_CHARS.default:
        raise PointerError(f"expected a pointer of at most {POINTER_CHARS.default} characters, found {len(pointer)}")
    segments = strict_segments(pointer)
    if len(segments) > POINTER_SEGMENTS.default:
        raise PointerError(f"expected at most {POINTER_SEGMENTS.default} segments, found {len(segments)}")
    return segments
