"""Cancellation: a caller that gives up before its commit begins leaves nothing behind (design §4; spec/http.md).

The signal travels with the calling thread, so that no room in between needs to know of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Signal = Callable[[], bool]
"""Answers ``True`` once the caller has given up."""


class Cancelled(Exception):
    """The caller's signal was set before the commit; nothing was changed."""


_current = threading.local()


@contextmanager
def cancellable(signal: Signal) -> Iterator[None]:
    """Writes of this thread inside the block are left undone when ``signal`` is set before they begin."""
    before = current_signal()
    _current.signal = signal
    try:
        yield
    finally:
        _current.signal = before


def current_signal() -> Signal | None:
    """The signal of the calling thread."""
    found: Signal | None = getattr(_current, "signal", None)
    return found
