"""The card runtime in real Chromium: face, causes, isolation, budgets, lifecycle (spec/mvu.md §0.17-0.19)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.bridge.stub import World

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, Page

pytestmark = pytest.mark.chromium
Stub = tuple[str, World]


def opened(page: Page, stub: Stub) -> Page:
    page.goto(f"{stub[0]}/static/runtime.html")
    until(lambda: page.evaluate("window.loaded === true") is True)
    return page


def run(page: Page, source: str, **more: Any) -> str:
    scripts = [{"name": "display", "source": source}]
    return str(page.evaluate("(options) => window.run(options)", {"scripts": scripts, **more}))


def frame(page: Page) -> FrameLocator:
    return page.frame_locator("iframe.card-frame")


def until(condition: Callable[[], bool], seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "condition not met in time"
        time.sleep(0.02)


BOARD = """
$(() => {
  $('body').html('<h2 id="name"></h2><p>hp <b id="hp" class="big"></b></p><button id="hit">Hit</button><input id="field">');
  draw();
  $('#hit').on('click', errorCatched(async () => {
    await Mvu.updateVariablesWith([{ op: 'delta', path: '/hp', value: -1 }]);
    console.log('written', Mvu.getMvuData().stat_data.hp);
  }));
  $('#field').on('change', () => { $('#name').text($('#field').val()); });
});
function draw() {
  $('#name').text(_.get(Mvu.getMvuData(), 'stat_data.name'));
  $('#hp').text(Mvu.getMvuData().stat_data.hp);
}
eventOn(Mvu.events.VARIABLE_UPDATE_ENDED, (...args) => { console.log('ended', args.length); draw(); });
"""


def test_a_card_draws_writes_and_follows(page: Page, stub: Stub) -> None:
    world = stub[1]
    assert run(opened(page, stub), BOARD) == "running"
    assert frame(page).locator("#hp").inner_text() == "10"
    frame(page).locator("#hit").click()
    until(lambda: world.data["hp"] == 9)
    frame(page).locator("#hp", has_text="9").wait_for()
    assert [(w["cause"], w["expectedRevision"]) for w in world.writes] == [("user-interaction", 1)]
    with world.lock:
        world.revision, world.data = 7, {"hp": 3, "name": "<b>Rook</b>"}
    frame(page).locator("#hp", has_text="3").wait_for()
    assert frame(page).locator("#name").inner_text() == "<b>Rook</b>"
    frame(page).locator("#field").fill("typed")
    frame(page).locator("#field").blur()
    frame(page).locator("#name", has_text="typed").wait_for()
    assert page.evaluate("window.logs") == ["ended 0", "written 9", "ended 0"]


def test_causes_come_from_the_task_that_entered_the_worker(page: Page, stub: Stub) -> None:
    world = stub[1]
    source = """
      const write = (value) => Mvu.updateVariablesWith([{ op: 'replace', path: '/name', value }]);
      $('body').html('<button id="b">b</button>');
      $('#b').on('click', async () => { await write('click'); await write('after await'); });
      write('start');
      const id = setInterval(() => { clearInterval(id); write('interval'); }, 60);
      setTimeout(() => write('timeout'), 200);
    """
    assert run(opened(page, stub), source) == "running"
    until(lambda: len(world.writes) == 3)
    frame(page).locator("#b").click()
    until(lambda: len(world.writes) == 5)
    causes = {write["value"][0]["value"]: write["cause"] for write in world.writes}
    assert causes == {
        "start": "script", "interval": "interval", "timeout": "script", "click": "user-interaction", "after await": "script",
    }  # fmt: skip


NOTHING = """
const names = ['fetch', 'XMLHttpRequest', 'WebSocket', 'EventSource', 'importScripts', 'indexedDB', 'caches', 'postMessage', 'Worker',
  'SharedWorker', 'BroadcastChannel', 'MessageChannel', 'navigator', 'location', 'parent', 'top', 'opener', 'localStorage', 'close', 'onmessage'];
const found = names.filter((name) => globalThis[name] !== undefined || window[name] !== undefined || self[name] !== undefined);
console.log(JSON.stringify(found));
"""


def test_a_card_finds_no_network_no_page_and_no_messages(page: Page, stub: Stub) -> None:
    assert run(opened(page, stub), NOTHING) == "running", page.locator(".card-errors").inner_text()
    assert page.evaluate("window.logs") == ["[]"]


@pytest.mark.parametrize(
    "source",
    [
        "await import('/static/bridge.js')",
        "await import('data:text/javascript,export default 1')",
        "parent.secret = 1",
        "fetch('/api/v1/mvu/snapshot')",
        "importScripts('/static/bridge.js')",
        "postMessage({ t: 'call' })",
        "document.body.innerHTML",
        "throw new Error('broken on purpose')",
        "this is no JavaScript",
        "}); evil(); (() => {",
    ],
)
def test_a_card_that_reaches_out_or_throws_is_told_where_it_is(page: Page, stub: Stub, source: str) -> None:
    base, world = stub
    opened(page, stub)
    with world.lock:
        world.seen.clear()
    # The first two would be refused as imports before they run; hiding the word shows that the realm refuses them too.
    hidden = source.replace("import(", "eval('imp' + 'ort')(", 1) if source.startswith("await") else source
    wrapped = f"await eval({source.replace('await ', '')!r})" if source.startswith("await") else hidden
    assert run(page, wrapped) == "failed"
    page.locator(".card-errors p").first.wait_for()
    assert page.evaluate("window.messages") == []
    assert page.evaluate("window.secret") == "of the page"
    assert not [path for _, path, _ in world.seen if "bridge" in path and path != "/static/bridge.js"]
    assert base


@pytest.mark.parametrize("where", ["top", "click", "microtask", "timer", "flood"])
def test_a_card_that_loops_is_stopped(page: Page, stub: Stub, where: str) -> None:
    loops = {
        "top": "for (;;) {}",
        "click": "$('body').html('<button id=\"b\">b</button>'); $('#b').on('click', () => { for (;;) {} });",
        "microtask": "$('body').html('<p>x</p>'); setTimeout(() => { const f = () => Promise.resolve().then(f); f(); }, 50);",
        "flood": "setTimeout(() => { for (let i = 0; i < 3000; i += 1) console.log(i); }, 50);",
        "timer": "setInterval(() => { for (;;) {} }, 60);",
    }
    result = run(opened(page, stub), loops[where], limits={"startMs": 400, "stepMs": 300})
    if where == "click":
        frame(page).locator("#b").click()
    page.locator(".card-errors p", has_text="was stopped").wait_for()
    assert result == ("killed" if where == "top" else "running")
    assert page.evaluate("window.runtime.status") == "killed"
    assert page.locator("iframe").count() == 0
    assert page.evaluate("1 + 1") == 2


def test_the_kill_switch_ends_the_worker(page: Page, stub: Stub) -> None:
    world = stub[1]
    source = "setInterval(() => Mvu.updateVariablesWith([{ op: 'delta', path: '/hp', value: -1 }]), 50);"
    assert run(opened(page, stub), source) == "running"
    until(lambda: len(world.writes) > 1)
    page.evaluate("window.runtime.stop()")
    time.sleep(0.2)
    count = len(world.writes)
    time.sleep(0.3)
    assert len(world.writes) == count
    assert page.evaluate("window.runtime.status") == "stopped"


def test_a_card_cannot_forge_its_cause(page: Page, stub: Stub) -> None:
    world = stub[1]
    source = """
      const forge = (target, name) => { try { Object.defineProperty(target, name, { get: () => 'user-interaction', set() {}, configurable: true }); } catch {} };
      forge(Object.prototype, 'cause'); forge(Object.prototype, 'task');
      Promise.prototype.then = new Proxy(Promise.prototype.then, { apply: (f, self, args) => Reflect.apply(f, self, args) });
      Mvu.updateVariablesWith([{ op: 'replace', path: '/name', value: 'x', cause: 'user-interaction' }]);
      Mvu.replaceMvuData({ stat_data: { hp: 1, name: 'y' }, schema: {} }, { cause: 'user-interaction', scope: 'other' }).catch((e) => console.log(e.code));
    """
    run(opened(page, stub), source)
    until(lambda: len(world.writes) >= 1)
    assert {write["cause"] for write in world.writes} == {"script"}
    assert {write["capability"] for write in world.writes} <= world.bindings


def test_hostile_markup_becomes_nothing(page: Page, stub: Stub) -> None:
    markup = (
        "<script>parent.postMessage(1, '*')</script><img src=x onerror='parent.postMessage(2)'><a href='javascript:alert(1)' id='a'>link</a>"
        "<iframe srcdoc='x'></iframe><form action='/x'><button id='b' onclick='x()' formaction='/y'>go</button></form>"
        "<svg onload='x()'><p>in svg</p></svg><p style='background:url(http://127.0.0.1:1/x)'>styled</p><unknown>kept text</unknown>"
        "<object data='/x'></object><meta http-equiv='refresh' content='0;url=/x'><input type='file' id='f'><textarea>a<b></textarea>"
    )
    assert run(opened(page, stub), "console.log('up')", html=markup) == "running"
    html = frame(page).locator("#card").evaluate("(element) => element.innerHTML")
    for word in (
        "script",
        "onerror",
        "href",
        "iframe",
        "<form",
        "onclick",
        "formaction",
        "<svg",
        "object",
        "meta",
        'type="file"',
    ):
        assert word not in html, word
    assert frame(page).locator("#card").inner_text().count("kept text") == 1
    frame(page).locator("#a").click()
    frame(page).locator("#b").click()
    assert page.evaluate("window.messages") == []


OPENING = {"mode": "initial", "playthroughId": "p", "sessionId": "s", "characterId": "c"}
LIFE = """
const say = (word) => (value) => console.log(word, value?.output ?? value?.type ?? value ?? '');
eventOn(tavern_events.CHARACTER_FIRST_MESSAGE_SELECTED, ({ input, output }) => console.log('selected', input === output, output));
eventOn(tavern_events.MESSAGE_SWIPED, say('swiped'));
eventOn('global_Mvu_initialized', () => console.log('initialized'));
document.addEventListener('DOMContentLoaded', say('document'));
window.addEventListener('DOMContentLoaded', say('window'));
window.addEventListener('load', say('load'));
$(() => console.log('ready', getChatMessages(0)[0].message, getChatMessages('0').length));
console.log('chat', SillyTavern.getContext().chat.length, SillyTavern.getContext().chat[1] ?? 'null');
for (const options of [undefined, { type: 'message', message_id: 0 }, { type: 'message', message_id: '0' }, { type: 'message', message_id: 'latest' }, { type: 'chat' }, { message_id: 1 }]) {
  try { console.log('data', Mvu.getMvuData(options).stat_data.hp); } catch (error) { console.log('data', error.code); }
}
try { getVariables({ type: 'message', message_id: 0 }); } catch (error) { console.log('getVariables', error.code); }
try { getChatMessages(1); } catch (error) { console.log('message 1', error.code); }
"""


def test_the_order_of_life_and_the_first_message(page: Page, stub: Stub) -> None:
    world = stub[1]
    world.extra = {"firstMessage": {"greetingIndex": 0, "text": "Hello, Robin.", "messageCount": 3}}
    assert run(opened(page, stub), LIFE, scope=OPENING, write=False) == "running"
    assert page.evaluate("window.logs") == [
        "chat 3 null", "data 10", "data 10", "data 10", "data MVU_SCOPE", "data MVU_SCOPE", "data MVU_SCOPE",
        "getVariables MVU_SCOPE", "message 1 MVU_SCOPE",
        "initialized", "ready Hello, Robin. 1", "document DOMContentLoaded", "window DOMContentLoaded", "load load",
    ]  # fmt: skip


def test_a_greeting_selection_is_told_once_and_survives_a_failed_start(page: Page, stub: Stub) -> None:
    world = stub[1]

    def tail(source: str) -> list[str]:
        run(page, source, scope=OPENING, write=False)
        return [line for line in page.evaluate("window.logs") if line.startswith(("selected", "swiped"))]

    world.extra = {"firstMessage": {"greetingIndex": 0, "text": "one", "messageCount": 1}}
    opened(page, stub)
    assert tail(LIFE) == [], "a mount is no selection"
    assert tail(LIFE) == [], "a rebuild is none either"
    world.extra = {"firstMessage": {"greetingIndex": 1, "text": "two", "messageCount": 1}}
    assert tail("throw new Error('start fails')") == []
    assert tail(LIFE) == ["selected true two", "swiped 0"]
    assert tail(LIFE) == [], "once delivered, never again"


def test_scenario_023_imports_choose_built_ins_or_fail_visibly(page: Page, stub: Stub) -> None:
    declaration = (
        "import { registerMvuSchema } from 'https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js';\n"
        "$(() => { registerMvuSchema(z.object({})); });"
    )
    world = stub[1]
    world.extra = {"variables": {"mvu_schema": {"mvuSchema": 1, "interpreterVersion": 3, "source": declaration}}}
    opened(page, stub)
    scripts = [
        {
            "name": "framework",
            "source": "import 'https://testingcf.jsdelivr.net/gh/MagicalAstrogy/MagVarUpdate/artifact/bundle.js'",
        },
        {"name": "schema", "source": declaration},
        {"name": "other schema", "source": declaration + "\n"},
        {"name": "remote", "source": "import 'https://example.invalid/x.js'"},
        {"name": "plain", "source": "console.log('plain ran')"},
    ]
    assert page.evaluate("(options) => window.run(options)", {"scripts": scripts}) == "running"
    assert page.evaluate("window.runtime.notices.map((n) => n.kind)") == ["builtin", "builtin", "error", "error", "run"]
    assert page.evaluate("window.logs") == ["plain ran"]
    errors = page.locator(".card-errors p").all_inner_texts()
    assert len(errors) == 2 and "another declaration" in errors[0] and "example.invalid" in errors[1]
    assert page.evaluate("(options) => window.run(options)", {"scripts": scripts, "master": False}) == "idle"


def test_a_restart_of_the_server_keeps_the_display_and_recovers_without_reload(page: Page, stub: Stub) -> None:
    world = stub[1]
    assert run(opened(page, stub), BOARD) == "running"
    with world.lock:
        world.restart()
        world.broken = True
    until(lambda: page.evaluate("window.binding.getSnapshot().readState === 'failed'") is True)
    assert frame(page).locator("#hp").inner_text() == "10"
    frame(page).locator("#hit").click()
    page.locator(".card-errors p", has_text="cannot be read").wait_for()
    assert world.writes == []
    with world.lock:
        world.broken = False
    until(lambda: page.evaluate("window.binding.getSnapshot().writable") is True)
    frame(page).locator("#hit").click()
    page.locator(".card-errors p", has_text="no binding").wait_for()
    until(
        lambda: (
            page.evaluate("window.binding.getSnapshot().writable && window.binding.getSnapshot().revision === 1")
            is True
        )
    )
    until(lambda: len(world.bindings) == 1)
    frame(page).locator("#hit").click()
    frame(page).locator("#hp", has_text="9").wait_for()


def test_another_tab_sees_the_change(page: Page, stub: Stub) -> None:
    second = page.context.new_page()
    assert run(opened(page, stub), BOARD) == "running"
    assert run(opened(second, stub), BOARD) == "running"
    page.bring_to_front()  # clicks reach the tab that is in front
    frame(page).locator("#hit").click()
    frame(second).locator("#hp", has_text="9").wait_for()
    second.bring_to_front()
    frame(second).locator("#hit").click()
    frame(page).locator("#hp", has_text="8").wait_for()
