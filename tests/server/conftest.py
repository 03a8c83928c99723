"""One server for a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.stage import Client, serving


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a running server."""
    with serving(tmp_path_factory.mktemp("server")) as made:
        yield made
