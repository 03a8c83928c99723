"""The pages in real Chromium against the real server (spec/http.md; design §9)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.bridge.real import CARDS, RealServer

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, Page

pytestmark = pytest.mark.chromium


def until(condition: Callable[[], Any], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "condition not met in time"
        time.sleep(0.05)


def frame(page: Page) -> FrameLocator:
    return page.frame_locator("iframe.card-frame")


def begin(page: Page, real: RealServer, name: str) -> dict[str, Any]:
    """A fresh playthrough shown on the live page."""
    body = {"characterId": real.card(name), "userName": "Robin", "operationId": f"begin-{time.monotonic_ns()}"}
    begun: dict[str, Any] = real.call("POST", "/host/playthroughs", body)
    page.goto(f"{real.base}/live#playthrough={begun['playthroughId']}")
    return begun


def turn(real: RealServer, session: str, reply: str) -> dict[str, Any]:
    body = {"user": {"text": "Go on."}, "reply": {"text": reply}, "operationId": f"turn-{time.monotonic_ns()}"}
    answer: dict[str, Any] = real.call("POST", f"/host/sessions/{session}/turns", body)
    return answer


def test_playground_shows_every_command_with_its_reason(inn: Page, real: RealServer) -> None:
    real.card("wayhouse")
    inn.goto(f"{real.base}/")
    inn.locator("#card option", has_text="Wayhouse").wait_for(state="attached")
    inn.select_option("#card", label="The Wayhouse at Fernpass")
    inn.locator("#card-state", has_text="declaration inline (version 3) · helper found").wait_for()
    assert inn.locator("#opening option").count() == 3
    for index, tally in enumerate(("5 applied", "3 applied1 refused", "2 applied1 refused1 struck out by the helper")):
        inn.fill("#reply", real.story("wayhouse")["turns"][index]["reply"])
        inn.locator("#reply").press("Control+Enter")
        inn.locator("#apply:not([disabled])").wait_for()
        inn.locator(".tally", has_text=tally).wait_for()
        if index == 1:
            refused = inn.locator("#commands li.refused")
            assert "raining frogs" in refused.inner_text() and "MVU_SCHEMA" in refused.inner_text()
            rows = inn.locator("#state tr.changed").all_inner_texts()
            assert [row.replace("\n", " ").split() for row in rows] == [
                ["hour", "(changed)", "16", "19"],
                ["mood", "(changed)", '"content"', '"wary"'],
            ]
            inn.check("#only-changes")
            assert inn.locator("#state tr").count() == 7


def test_playground_takes_an_uploaded_card_and_says_what_is_wrong_with_others(inn: Page, real: RealServer) -> None:
    inn.goto(f"{real.base}/")
    inn.set_input_files("#file", str(CARDS / "lighthouse.json"))
    inn.locator("#card option:checked", has_text="雾港守灯人").wait_for(state="attached")
    inn.locator("#card-state", has_text="helper found").wait_for()
    inn.set_input_files("#file", {"name": "cat.png", "mimeType": "image/png", "buffer": b"\xff\xd8\xff not a card"})
    inn.locator("#banner", has_text="found a JPEG picture").wait_for()
    inn.fill("#reply", "_.set('世界.地点', ")
    inn.click("#apply")
    inn.locator("#summary .banner", has_text="MVU_PARSE").wait_for()


def test_playground_by_hand_points_at_the_line_of_a_bad_declaration(inn: Page, real: RealServer) -> None:
    inn.goto(f"{real.base}/")
    inn.locator("#card option:nth-child(2)").wait_for(state="attached")
    inn.select_option("#card", "")
    inn.fill(".initvar >> nth=0", "hp: 1")
    for area in inn.locator(".initvar").all()[1:]:
        area.fill("")
    inn.fill("#helper", "")
    inn.fill("#declaration", "const Schema = z.object({\n  hp: fetch(),\n});")
    inn.click("#apply")
    inn.locator("#banner", has_text="line 2").wait_for()


HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def test_everything_of_a_card_is_text(inn: Page, real: RealServer) -> None:
    book = {"entries": [{"comment": "[initvar]", "content": json.dumps({HOSTILE: HOSTILE})}]}
    scripts = [{"type": "script", "name": HOSTILE, "content": f"throw new Error({HOSTILE!r})", "enabled": True}]
    data = {
        "name": HOSTILE,
        "first_mes": HOSTILE,
        "character_book": book,
        "extensions": {"tavern_helper": {"scripts": scripts}},
    }
    raw = json.dumps({"spec": "chara_card_v2", "data": data}).encode()
    card = real.call("POST", "/host/cards", raw=raw)["characterId"]
    inn.goto(f"{real.base}/")
    inn.locator(f"#card option[value='{card}']").wait_for(state="attached")
    inn.select_option("#card", card)
    inn.fill("#reply", f"_.set('{HOSTILE[:4]}', 1)")
    until(lambda: inn.locator("#opening option").count() == 2)
    inn.click("#apply")
    inn.locator("#commands li").wait_for()
    assert inn.locator("main img, main script").count() == 0
    begun = real.call("POST", "/host/playthroughs", {"characterId": card, "operationId": "hostile"})
    inn.goto(f"{real.base}/live#playthrough={begun['playthroughId']}")
    inn.locator(".card-errors p").first.wait_for()
    assert inn.locator("main img, main script").count() == 0
    assert inn.title() != "owned"
    real.call("DELETE", f"/host/cards/{card}", {"operationId": "forget"})


def test_without_the_cookie_the_page_says_what_to_do(page: Page, real: RealServer) -> None:
    page.goto(f"{real.base}/")
    page.locator("#banner", has_text="link that the server printed").wait_for()


@pytest.mark.parametrize("path", ["/", "/live"])
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_pages_fit_and_are_named(inn: Page, real: RealServer, path: str, width: int, scheme: Any) -> None:
    inn.emulate_media(color_scheme=scheme)
    inn.set_viewport_size({"width": width, "height": 800})
    inn.goto(f"{real.base}{path}")
    inn.locator("#card option").first.wait_for(state="attached")
    assert inn.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    unnamed = inn.evaluate(
        "[...document.querySelectorAll('main input, main select, main textarea, main button')]"
        ".filter((e) => !e.labels?.length && !e.getAttribute('aria-label') && !e.textContent.trim()).map((e) => e.outerHTML)"
    )
    assert unnamed == []
    assert inn.evaluate("document.querySelectorAll('h1').length") == 1


def test_live_card_writes_follows_and_swipes_back(inn: Page, real: RealServer) -> None:
    begun = begin(inn, real, "wayhouse")
    frame(inn).locator("#feed").click()
    frame(inn).locator("#said", has_text="roars").wait_for()
    assert frame(inn).locator("#logs-text").inner_text() == "28"
    first, second, _ = (turn["reply"] for turn in real.story("wayhouse")["turns"])
    session = begun["sessionId"]
    turn(real, session, first)
    frame(inn).locator("#hour", has_text="17").wait_for()
    answer = turn(real, session, second)
    frame(inn).locator("#hour", has_text="19").wait_for()
    swipe = real.call(
        "POST", f"/host/sessions/{session}/swipe", {"atEventId": answer["endEventId"], "operationId": "swipe"}
    )
    turn(real, swipe["sessionId"], "_.set('house.hour', 23)")
    frame(inn).locator("#hour", has_text="23").wait_for()
    inn.locator("button[aria-label='Earlier version']").click()
    frame(inn).locator("#hour", has_text="19").wait_for()
    assert "read only" not in inn.locator("#revision").inner_text()


def test_two_tabs_stay_in_step(inn: Page, real: RealServer) -> None:
    begin(inn, real, "lighthouse")
    second = inn.context.new_page()
    second.goto(inn.url)
    frame(second).locator("#敲钟").wait_for()
    inn.bring_to_front()  # clicks reach the tab that is in front
    frame(inn).locator("#敲钟").click()
    frame(second).locator("#号钟", has_text="1").wait_for()
    second.bring_to_front()
    frame(second).locator("#敲钟").click()
    frame(inn).locator("#号钟", has_text="2").wait_for()


def test_another_opening_brings_its_own_values(inn: Page, real: RealServer) -> None:
    begin(inn, real, "lighthouse")
    frame(inn).locator("#地点", has_text="灯室").wait_for()
    inn.select_option("#opening", "1")
    frame(inn).locator("#地点", has_text="码头").wait_for()
    inn.select_option("#opening", "0")
    frame(inn).locator("#地点", has_text="灯室").wait_for()


def test_a_restart_in_the_middle_keeps_the_display_and_recovers(
    inn: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = RealServer(tmp_path_factory.mktemp("restarted"))
    own.start()
    try:
        inn.goto(own.link)
        begun = begin(inn, own, "lighthouse")
        turn(own, begun["sessionId"], "_.set('世界.时刻', '19:00')")
        frame(inn).locator("#时刻", has_text="19:00").wait_for()
        frame(inn).locator("#敲钟").click()
        frame(inn).locator("#号钟", has_text="1").wait_for()
        own.kill()
        inn.locator("#revision", has_text="server away").wait_for()
        assert frame(inn).locator("#号钟").inner_text() == "1"
        frame(inn).locator("#敲钟").click()
        inn.locator(".card-errors p").first.wait_for()
        own.start()
        until(lambda: "away" not in inn.locator("#revision").inner_text(), 15)

        def rung() -> bool:
            frame(inn).locator("#敲钟").click()
            time.sleep(0.4)
            return frame(inn).locator("#号钟").inner_text() != "1"

        until(rung, 15)
    finally:
        own.kill()


REQUEST = """async ([url, options]) => {
  try { const r = await fetch(url, options); return [r.status, (await r.json()).code]; } catch (error) { return [0, String(error)]; }
}"""


def test_scenario_248_a_foreign_origin_is_refused(page: Page, real: RealServer, stub: tuple[str, Any]) -> None:
    page.goto(f"{stub[0]}/static/runtime.html")
    answer = page.evaluate(REQUEST, [f"{real.base}/api/v1/rendering-write-grants", {"method": "POST", "body": "{}"}])
    assert answer[0] in (0, 403)
    page.goto(f"{real.base}/static/style.css")
    own = {"method": "POST", "body": "{}", "headers": {"Content-Type": "application/json"}}
    assert page.evaluate(REQUEST, [f"{real.base}/api/v1/rendering-write-grants", own])[0] == 400


def test_a_caller_without_origin_needs_the_request_token(page: Page, real: RealServer) -> None:
    request = page.context.request
    grants = f"{real.base}/api/v1/rendering-write-grants"
    headers = {"Content-Type": "application/json"}
    refused = request.post(grants, data="{}", headers=headers)
    assert (refused.status, refused.json()["code"]) == (403, "TAVERN_API_ORIGIN_FORBIDDEN")
    token_url = f"{real.base}/pmp-dsh-tavern/api/request-token"
    assert request.get(token_url).status == 403
    token = request.get(token_url, headers={"X-Tavern-Client": "embedded"}).json()["token"]
    assert request.post(grants, data="{}", headers={**headers, "X-Tavern-Request-Token": token}).status == 400
