"""One sandbox for the whole room, and short ways to call it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox import ProcessSandbox


@pytest.fixture(scope="session")
def shared() -> Iterator[ProcessSandbox]:
    """A sandbox with the default budget."""
    with ProcessSandbox() as sandbox:
        yield sandbox
