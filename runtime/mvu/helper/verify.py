"""The verification of what a helper hands back: nothing but commands of the reply itself, in their order (spec/mvu.md §6).

What the helper returns is only used to recognise originals. The commands that are applied afterwards are always the
reply's own, as this package read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from runtime.mvu.helper.errors import HelperError
from sandbox.errors import OUTPUT

FIELDS = ("type", "args", "full_match", "reason")
_SHOWN = 120

Matches = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A command of the reply that the helper took out: its ``index`` and its text."""

    index: int
    full_match: str


def same_view(original: Mapping[str, Any], returned: Mapping[str, Any]) -> bool:
    """Whether two views agree in every field."""
    return all(original.get(field) == returned.get(field) for field in FIELDS)


def verify_output(
    originals: Sequence[Mapping[str, Any]],
    returned: Sequence[Mapping[str, Any]],
    matches: Matches = same_view,
) -> list[int]:
    """The indices of the originals that the helper kept, or ``MVU_COMMAND_HOOK_OUTPUT`` naming the difference."""
    kept: list[int] = []
    following = 0
    for place, view in enumerate(returned):
        index = following
        while index < len(originals) and not matches(originals[index], view):
            index += 1
        if index == len(originals):
            _refuse(originals, following, place, view, matches)
        kept.append(index)
        following = index + 1
    return kept


def dropped(originals: Sequence[Mapping[str, Any]], kept: Sequence[int]) -> tuple[Dropped, ...]:
    """What the helper took out."""
    stayed = set(kept)
    return tuple(Dropped(index, str(view["full_match"])) for index, view in enumerate(originals) if index not in stayed)


def _refuse(
    originals: Sequence[Mapping[str, Any]], following: int, place: int, view: Mapping[str, Any], matches: Matches
) -> NoReturn:
    where = f"commands[{place}]"
    for index in range(following):
        if matches(originals[index], view):
            what = f"the commands in their own order, each at most once; found command {index} again or too late"
            raise _output(where, what, {"index": place, "original": index, "difference": "order"})
    for index, original in enumerate(originals):
        if original.get("full_match") == view.get("full_match"):
            for field in FIELDS:
                if original.get(field) != view.get(field):
                    _changed(place, index, field, original.get(field), view.get(field))
    for index, original in enumerate(originals):
        if original.get("type") == view.get("type") and original.get("args") == view.get("args"):
            _changed(place, index, "full_match", original.get("full_match"), view.get("full_match"))
    found = _short(view.get("full_match"))
    raise _output(where, f"a command of the reply, found {found}", {"index": place, "difference": "added"})


def _changed(place: int, original: int, field: str, expected: Any, found: Any) -> NoReturn:
    details = {
        "index": place,
        "original": original,
        "difference": "changed",
        "field": field,
        "expected": _short(expected),
        "found": _short(found),
    }
    raise _output(f"commands[{place}].{field}", f"{_short(expected)}, found {_short(found)}", details)


def _output(where: str, what: str, details: dict[str, Any]) -> HelperError:
    return HelperError(
        OUTPUT, f"the helper may only take commands out: expected {what} ({where})", {**details, "retryable": False}
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
