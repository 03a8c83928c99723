"""The player's panel in a real browser: scenario 49, conflicts, debts, rows (``spec/dimensions.md`` §9)."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from server import pages
from server.app import open_context
from server.config import Config
from tests.dimensions.test_http import Client, _app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.chromium
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
TOWN: dict[str, Any] = {
    "name": {"en-US": "Town", "zh-CN": "小镇"},
    "schema": {
        "type": "object",
        "properties": {
            "wealth": {"type": "integer", "minimum": 0, "title": {"en-US": "Wealth", "zh-CN": "财富"}},
            "mood": {"type": "string", "enum": ["calm", "wild"], "x-enumLabels": {"calm": "Quiet", "wild": "Stormy"}},
            "places": {
                "type": "object",
                "additionalProperties": {"type": "object", "properties": {"depth": {"type": "integer"}}},
            },
        },
        "required": ["wealth", "mood"],
        "additionalProperties": False,
    },
    "initialValue": {"wealth": 1, "mood": "calm", "places": {}},
    "updateRule": "r",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One headless browser."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture
def town(tmp_path: Path) -> Iterator[tuple[str, Client]]:
    """A running server with one bound session ``s``."""
    context = open_context(Config(tmp_path, host_token="t"))
    client = Client(context)
    client.post("/dimensions/worlds", worldId="w", definitions={"town": TOWN})
    client.post("/host/sessions", sessionId="s")
    client.dims("bind", worldId="w", locale="en-US")
    app = _app(context)
    app.router.routes.extend(pages.routes(context))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", client
    context.streams.close()
    server.should_exit = True
    thread.join(10)
    context.runtime.close()


@pytest.fixture
def page(browser: Browser, town: tuple[str, Client]) -> Iterator[Page]:
    """The panel, open on the session; an error in its own code fails the test."""
    context = browser.new_context(extra_http_headers={"authorization": "Bearer t"}, locale="en-US")
    opened = context.new_page()
    opened.set_default_timeout(30_000)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(f"{town[0]}/dimensions?session=s")
    opened.get_by_role("heading", name="Town").wait_for()
    yield opened
    context.close()
    assert not errors


def value(client: Client) -> Any:
    """The committed value."""
    return client.get("")["dimensions"]["town"]["value"]


def test_scenario_049_edit_and_add_a_row(page: Page, town: tuple[str, Client]) -> None:
    client = town[1]
    assert page.get_by_text("Quiet", exact=True).is_visible()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Wealth").fill("-1")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("must be at least 0").wait_for()
    assert value(client)["wealth"] == 1
    page.get_by_label("Wealth").fill("4")
    page.get_by_label("mood").select_option(label="Stormy")
    page.get_by_label("New entry of places").fill("lake")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("version 2").wait_for()
    assert value(client) == {"wealth": 4, "mood": "wild", "places": {"lake": {}}}


def test_scenario_049_the_version_stays_and_a_conflict_is_shown(page: Page, town: tuple[str, Client]) -> None:
    client = town[1]
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Wealth").fill("9")
    other = {"wealth": 2, "mood": "calm", "places": {}}
    client.dims("edit", updates=[{"id": "town", "expectedVersion": 1, "value": other}])
    page.wait_for_timeout(300)
    assert page.get_by_text("Based on version 1.").is_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Nothing was saved").wait_for()
    assert page.get_by_role("heading", name="Theirs").is_visible()
    assert value(client)["wealth"] == 2
    page.get_by_role("button", name="Save mine over it").click()
    page.get_by_text("version 3").wait_for()
    assert value(client)["wealth"] == 9


def test_debts_and_json(page: Page, town: tuple[str, Client]) -> None:
    client = town[1]
    client.post("/host/sessions/s/turns", user={"text": "go"}, reply={"id": "r1", "text": "tale"})
    page.get_by_text("The changes of turn 1 are not settled yet").wait_for()
    page.get_by_role("button", name="Skip it").click()
    page.get_by_text("The changes of turn 1").wait_for(state="hidden")
    assert client.get("")["dimensionSettlements"][0]["status"] == "skipped"
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="As JSON").click()
    page.get_by_label("Town (JSON)").fill("{broken")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("This is no JSON").wait_for()
    page.get_by_label("Town (JSON)").fill('{"wealth": 7, "mood": "calm", "places": {}}')
    page.get_by_role("button", name="Save").click()
    page.get_by_text("version 2").wait_for()
    assert value(client)["wealth"] == 7


def test_what_an_author_writes_is_text(page: Page, town: tuple[str, Client]) -> None:
    client = town[1]
    place: dict[str, Any] = {"<img src=x onerror=alert(1)>": {}}
    client.dims(
        "edit", updates=[{"id": "town", "expectedVersion": 1, "value": {"wealth": 1, "mood": "calm", "places": place}}]
    )
    page.get_by_text("<img src=x onerror=alert(1)>").wait_for()
    assert page.locator("#list img").count() == 0
