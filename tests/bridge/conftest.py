"""Chromium for the tests of this room: Debian's own binary, driven over its debugging port."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.bridge.real import RealServer
from tests.bridge.stub import World, stub_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One headless browser for the package: its event loop must end before other rooms run loops of their own."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture
def stub() -> Iterator[tuple[str, World]]:
    """A fresh stub server."""
    with stub_server() as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page in a context of its own; an error in the page's own code fails the test."""
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(30_000)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert not errors


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """One real server for the whole room."""
    server = RealServer(tmp_path_factory.mktemp("innkeeper"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="package")
def cookies(browser: Browser, real: RealServer) -> list[Any]:
    """The pages' session cookie, from the link that opens once."""
    context = browser.new_context()
    context.new_page().goto(real.link)
    found: list[Any] = list(context.cookies())
    context.close()
    return found


@pytest.fixture
def inn(page: Page, cookies: list[Any]) -> Page:
    """A page that has the session cookie."""
    page.context.add_cookies(cookies)
    return page
