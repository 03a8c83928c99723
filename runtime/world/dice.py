"""Draws: two recipes that turn (seed, check, ordinal) into u, and the dice read from it (§3.4, §3.5, §00.2)."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any, Literal

Recipe = Literal["fnv1a-v1", "sha256-v1"]
Kind = Literal["none", "bernoulli", "d20", "2d6"]

FNV: Recipe = "fnv1a-v1"
SHA: Recipe = "sha256-v1"
RECIPES: tuple[Recipe, ...] = (FNV, SHA)
KINDS: tuple[Kind, ...] = ("bernoulli", "none", "d20", "2d6")

_FNV_START = 2_166_136_261
_FNV_PRIME = 16_777_619
_FNV_STEPS = 1_000_000
_EVEN = 0.5
_D20 = 20
_PAIRS = 36
# How many of the 36 ordered pairs of two dice have a sum below the index.
_BELOW = tuple(sum(1 for a in range(1, 7) for b in range(1, 7) if a + b < total) for total in range(14))


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw: the record that receipts show, and whether it succeeds against ``p``."""

    xi: dict[str, Any]
    success: bool


def derive_u(recipe: str, seed: str, check_id: str, ordinal: int) -> float:
    """The uniform draw of one check; the same arguments give the same draw for ever."""
    if recipe == FNV:
        text = f"{seed}:{check_id}:{ordinal}".encode("utf-16-le", "surrogatepass")
        value = _FNV_START
        for index in range(0, len(text), 2):
            value = ((value ^ (text[index] | text[index + 1] << 8)) * _FNV_PRIME) & 0xFFFFFFFF
        return (value % _FNV_STEPS) / _FNV_STEPS
    if recipe == SHA:
        digest = hashlib.sha256()
        for part in (SHA, seed, check_id, str(ordinal)):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        return (int.from_bytes(digest.digest()[:8], "big") >> 11) / 2**53
    raise ValueError(f"expected a recipe out of {', '.join(RECIPES)}, found {recipe!r}")


def draw(kind: str, u: float, p: float) -> Draw:
    """Read ``u`` as dice of ``kind``: success when u < p, for ``none`` when p is at least 0.5."""
    if kind == "none":
        return Draw({"kind": kind, "u": u}, p >= _EVEN)
    if kind == "d20":
        roll = min(_D20, math.floor(u * _D20) + 1)
        u = (roll - 1) / _D20
        return Draw({"kind": kind, "roll": roll, "u": u}, u < p)
    if kind == "2d6":
        first, second = divmod(min(_PAIRS - 1, math.floor(u * _PAIRS)), 6)
        roll = first + second + 2
        u = _BELOW[roll] / _PAIRS
        return Draw({"kind": kind, "roll": roll, "u": u}, u < p)
    return Draw({"kind": kind, "u": u}, u < p)
