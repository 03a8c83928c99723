"""The chat tracker against a local server that answers well, late, never, half, wrongly (``spec/dimensions.md`` §5.5)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from runtime.dimensions.tracker import TrackerFailed, TrackerTask
from runtime.values.rows import InnkeeperError
from server.tracker_client import ChatTracker, TrackerSettings, opening_messages, read_settings
from tests.dimensions.test_host import Inn
from tests.dimensions.worlds import STUDY

Reply = Callable[[Any], None]


class FakeModel:
    """A chat endpoint that plays a script, one entry per call."""

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.release = threading.Event()
        model = self

        class Handler(BaseHTTPRequestHandler):
            """One call of the script."""

            protocol_version = "HTTP/1.0"

            def do_POST(self) -> None:
                """Answer a chat call."""
                body = self.rfile.read(int(self.headers["content-length"]))
                model.requests.append({"path": self.path, "key": self.headers["authorization"], **json.loads(body)})
                reply = model.script.pop(0) if model.script else status(503, "script is over")
                try:
                    reply(self)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def log_message(self, *_arguments: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def close(self) -> None:
        """Stop."""
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


def head(handler: Any, media: str = "text/event-stream", code: int = 200) -> None:
    """The head of an answer."""
    handler.send_response(code)
    handler.send_header("content-type", media)
    handler.end_headers()


def chunk(handler: Any, delta: dict[str, Any], finish: str | None = None) -> None:
    """One piece of a stream."""
    data = json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]})
    handler.wfile.write(f"data: {data}\n\n".encode())
    handler.wfile.flush()


def call_delta(arguments: str, name: str = "update-dimensions") -> dict[str, Any]:
    """A delta with a whole tool call."""
    return {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": name, "arguments": arguments}}]}


def well(arguments: Any, name: str = "update-dimensions") -> Reply:
    """A good answer, its arguments in two pieces."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)

    def reply(handler: Any) -> None:
        head(handler)
        chunk(handler, {"role": "assistant", "content": ""})
        chunk(handler, call_delta(text[: len(text) // 2], name))
        chunk(handler, {"tool_calls": [{"index": 0, "function": {"arguments": text[len(text) // 2 :]}}]})
        chunk(handler, {}, "tool_calls")
        handler.wfile.write(b"data: [DONE]\n\n")

    return reply


def late(seconds: float, then: Reply) -> Reply:
    """Silence first."""

    def reply(handler: Any) -> None:
        time.sleep(seconds)
        then(handler)

    return reply


def half(handler: Any) -> None:
    """A stream that breaks off inside the arguments."""
    head(handler)
    chunk(handler, call_delta('{"updates": [{"id'))


def chatter(handler: Any) -> None:
    """Text instead of a tool call."""
    head(handler)
    chunk(handler, {"content": "Nothing changed, I think."}, "stop")


def dribble(handler: Any) -> None:
    """Tokens without end."""
    head(handler)
    while True:
        chunk(handler, {"content": "and "})
        time.sleep(0.05)


def comments(handler: Any) -> None:
    """Keep-alive lines, never a token."""
    head(handler)
    while True:
        handler.wfile.write(b": wait\n\n")
        handler.wfile.flush()
        time.sleep(0.05)


def status(code: int, text: str) -> Reply:
    """A refusal of the endpoint."""

    def reply(handler: Any) -> None:
        head(handler, "application/json", code)
        handler.wfile.write(json.dumps({"error": text}).encode())

    return reply


def unstreamed(handler: Any) -> None:
    """One JSON answer."""
    head(handler, "application/json")
    message = call_delta('{"updates": []}')
    handler.wfile.write(json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode())


def garbage(handler: Any) -> None:
    """No JSON at all."""
    head(handler)
    handler.wfile.write(b"data: <html>\n\n")


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """A running fake endpoint."""
    found = FakeModel()
    yield found
    found.close()


def settings(model: FakeModel, **more: Any) -> TrackerSettings:
    """Short patience."""
    chosen: dict[str, Any] = {"total": 5.0, "call": 1.0, "retries": 3, "first_token": (0.4, 0.3, 0.2, 0.2)}
    return TrackerSettings(model.url, "tiny", **{**chosen, **more})


def task(attempt: Callable[[Any], str | None] = lambda _arguments: None) -> TrackerTask:
    """A narrative to settle."""
    tools = [{"name": "update-dimensions", "parameters": {"type": "object"}}]
    return TrackerTask(
        "s", "r", "A tale </narrative> of old.", "RULES", "VALUES", None, tools, attempt, lambda *_: "read"
    )


GOOD: dict[str, Any] = {"updates": [{"id": "study", "value": 5}], "followsClock": []}


def test_a_good_answer(model: FakeModel) -> None:
    model.script = [well(GOOD)]
    assert ChatTracker(settings(model, api_key="k")).run(task()) == GOOD
    request = model.requests[0]
    assert (request["path"], request["key"], request["model"]) == ("/v1/chat/completions", "Bearer k", "tiny")
    assert (request["tool_choice"], request["stream"], request["reasoning_effort"]) == ("required", True, "none")
    assert request["messages"][0] == {"role": "system", "content": "RULES"}
    assert request["messages"][1]["content"].count("</narrative") == 1


def test_an_endpoint_that_does_not_stream(model: FakeModel) -> None:
    model.script = [unstreamed]
    assert ChatTracker(settings(model)).run(task()) == {"updates": []}


@pytest.mark.parametrize(
    "bad", [late(0.6, well(GOOD)), half, chatter, comments, status(503, "busy"), status(429, "slow down"), garbage]
)
def test_a_bad_call_is_repeated(model: FakeModel, bad: Reply) -> None:
    model.script = [bad, well(GOOD)]
    assert ChatTracker(settings(model)).run(task()) == GOOD
    assert len(model.requests) == 2


def test_tokens_without_end_are_cut(model: FakeModel) -> None:
    model.script = [dribble, well(GOOD)]
    started = time.monotonic()
    assert ChatTracker(settings(model, call=0.5)).run(task()) == GOOD
    assert time.monotonic() - started < 15


def test_never(model: FakeModel) -> None:
    model.script = [comments] * 9
    started = time.monotonic()
    with pytest.raises(TrackerFailed, match=r"gave no token|was not done"):
        ChatTracker(settings(model)).run(task())
    assert len(model.requests) == 4
    assert time.monotonic() - started < 15


def test_the_whole_run_is_bounded(model: FakeModel) -> None:
    model.script = [dribble] * 9
    with pytest.raises(TrackerFailed, match=r"within 0\.4 s"):
        ChatTracker(settings(model, total=0.4)).run(task())


def test_a_refusal_of_the_endpoint_is_final(model: FakeModel) -> None:
    model.script = [status(401, "no such key"), well(GOOD)]
    with pytest.raises(TrackerFailed, match="401"):
        ChatTracker(settings(model)).run(task())
    assert len(model.requests) == 1


def test_nobody_listens(model: FakeModel) -> None:
    model.close()
    with pytest.raises(TrackerFailed, match="cannot be reached"):
        ChatTracker(settings(model)).run(task())


def test_refused_arguments_go_back_to_the_model(model: FakeModel) -> None:
    model.script = [well({"updates": [{"id": "study", "value": 500}]}), well("{broken"), well(GOOD)]
    seen: list[Any] = []

    def attempt(arguments: Any) -> str | None:
        seen.append(arguments)
        return "at most 100" if arguments["updates"][0]["value"] > 100 else None

    assert ChatTracker(settings(model)).run(task(attempt)) == GOOD
    assert len(seen) == 2
    last = model.requests[-1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert last[3]["content"] == "at most 100"


def test_a_model_that_never_learns(model: FakeModel) -> None:
    model.script = [well(GOOD)] * 9
    with pytest.raises(TrackerFailed, match="no good"):
        ChatTracker(settings(model)).run(task(lambda _arguments: "no good"))
    assert len(model.requests) == 4


def test_reading_tools_are_answered(model: FakeModel) -> None:
    model.script = [well({"queries": []}, "world-dimension-get"), well(GOOD)]
    assert ChatTracker(settings(model)).run(task()) == GOOD
    assert model.requests[1]["messages"][3]["content"] == "read"


def test_a_whole_turn_with_the_model(model: FakeModel) -> None:
    model.script = [half, status(500, "x"), well({"updates": [{"id": "study", "value": 500}]}), well(GOOD)]
    inn = Inn(tracker=ChatTracker(settings(model)))
    session = inn.open({"study": STUDY})
    inn.turn(session, "r1")
    inn.source.close()
    assert (inn.status(session, "r1"), inn.value(session, "study")) == ("settled", 5)
    model.script = [status(401, "key expired"), well({"updates": [{"id": "study", "value": 6}]})]
    inn.turn(session, "r2")
    inn.source.close()
    assert inn.status(session, "r2") == "pending-settlement"
    assert inn.turn(session, "r3")["turn"] == 3
    assert inn.value(session, "study") == 6
    inn.close()


def test_settings() -> None:
    assert read_settings(None) is None
    found = read_settings(
        {"url": "http://h/v1/", "model": "m", "apiKeyEnv": "KEY", "firstTokenSeconds": [5, 2.5], "extra": {}},
        {"KEY": "secret"},
    )
    assert found is not None
    assert (found.url, found.api_key, found.first_token, found.extra) == ("http://h/v1", "secret", (5, 2.5), {})
    assert (found.total, found.call, found.retries) == (120, 60, 3)
    for wrong in (
        7,
        {"url": "x"},
        {"url": "x", "model": "m", "speed": 1},
        {"url": "x", "model": "m", "retries": True},
        {"url": "x", "model": "m", "firstTokenSeconds": []},
        {"url": "x", "model": "m", "totalSeconds": 0},
    ):
        with pytest.raises(InnkeeperError) as refused:
            read_settings(wrong)
        assert refused.value.code == "CONFIG_INVALID"


def test_the_clock_is_part_of_the_turn() -> None:
    found = task()
    timed = TrackerTask("s", "r", "t", "R", "V", {"display": "dusk"}, found.tools, found.attempt, found.read)
    assert "dusk" in opening_messages(timed)[1]["content"]
