"""Display and delta texts: what an update says about each command, written when somebody reads it (§9).

Both trees are shared and immutable; the texts of a batch wait until ``settle``, since most updates are never shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.mvu.commands.magvarupdate import paths

Text = str | Callable[[], str]


class Texts:
    """The texts of one update; ``display`` starts as the whole state, ``delta`` empty."""

    def __init__(self, state: Any) -> None:
        self._display: Any = state
        self._delta: Any = {}
        self._waiting: list[tuple[str | tuple[str, ...], Text, str]] = []

    def note(self, place: str | tuple[str, ...], text: Text, reason: str) -> None:
        """One text at a command's place; a path text is read anew on each tree, as lodash does."""
        self._waiting.append((place, text, reason))

    def settle(self) -> tuple[Any, Any]:
        """The display and delta trees with every text in its place."""
        for place, text, reason in self._waiting:
            entry = f"{text if isinstance(text, str) else text()} {f'({reason})' if reason else ''}"
            self._display = paths.write(self._display, self._keys(place, self._display), entry)
            self._delta = paths.write(self._delta, self._keys(place, self._delta), entry)
        self._waiting.clear()
        return self._display, self._delta

    @staticmethod
    def _keys(place: str | tuple[str, ...], tree: Any) -> tuple[str, ...]:
        return paths.keys_of(place, tree) if isinstance(place, str) else place or ("",)
