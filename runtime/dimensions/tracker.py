"""The tracker's interface: a model that applies update rules after a narrative (``spec/dimensions.md`` §0.3, §5.5, §6.5).

The runtime knows no model. A tracker gets the prompt and a function that tries its arguments against the stored
records, so that a refused call can be corrected at once; what it hands back in the end is committed, and a tracker that
fails leaves the debt with the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from runtime.dimensions.domain import BUILT_IN

LOG: Final = logging.getLogger("innkeeper.dimensions")


class TrackerFailed(Exception):
    """A run without a usable answer; the text is what the player reads beside the debt."""


@dataclass(frozen=True, slots=True)
class TrackerTask:
    """One narrative to settle.

    ``rules`` is the same in every turn (system prompt), ``values`` and ``clock`` belong to this one; ``tools`` are
    function-calling descriptions. ``attempt`` says what is wrong with ``update-dimensions`` arguments (``None``: they
    would be stored); ``read`` answers one of the reading tools by name.
    """

    session_id: str
    result_id: str
    narrative: str
    rules: str
    values: str
    clock: Mapping[str, Any] | None
    tools: list[dict[str, Any]]
    attempt: Callable[[Any], str | None]
    read: Callable[[str, Any], str]


class Tracker(Protocol):
    """A provider's tracker; plug-ins offer one through the entry point group ``innkeeper.trackers``."""

    @property
    def provider(self) -> str:
        """The provider's id; ``innkeeper`` is the built-in one, which alone is retried automatically."""
        ...

    def run(self, task: TrackerTask) -> Any:
        """The final ``update-dimensions`` arguments, or ``TrackerFailed``."""
        ...


def recoverable(tracker: Tracker | None, provider: str | None) -> bool:
    """Whether a debt may be retried without the player: the built-in tracker of a session bound to it (§5.5)."""
    return tracker is not None and tracker.provider == BUILT_IN == provider
