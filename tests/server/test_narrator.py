"""The narrator of ``innkeeper play`` against a local endpoint that answers well, late, oddly or not at all."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from server.bundled import example_packs
from server.cli import main as cli
from server.limits import NARRATOR_ANSWER, NARRATOR_MEMORY
from server.narrator import ChatNarrator
from server.tracker_client import TrackerSettings

Answer = Callable[[int], tuple[int, bytes]]


def told(text: Any) -> bytes:
    """A chat completion."""
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


@contextmanager
def endpoint(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An endpoint that answers the n-th call with ``answer(n)``; yields its address and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append({"path": self.path, "authorization": self.headers["authorization"], **body})
            status, raw = answer(len(asked))
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.end_headers()
            try:
                self.wfile.write(raw)
            except OSError:
                return

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def settings(url: str, **more: Any) -> TrackerSettings:
    """An impatient narrator."""
    return TrackerSettings(url, "teller", **{"total": 5.0, "call": 2.0, "retries": 1, **more})


def test_a_turn_is_told_with_context_receipts_and_the_story_so_far() -> None:
    with endpoint(lambda number: (200, told(f" Part {number}. "))) as (url, asked):
        with ChatNarrator(settings(url, api_key="secret")) as narrate:
            assert narrate("<state>fog</state>", "I look", [{"check": "look", "outcome": "success"}]) == "Part 1."
            assert narrate("<state>sun</state>", "I wait", []) == "Part 2."
    first, second = asked
    assert (first["path"], first["authorization"], first["model"]) == (
        "/v1/chat/completions",
        "Bearer secret",
        "teller",
    )
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    for part in ("<state>fog</state>", '"outcome": "success"', "I look"):
        assert part in first["messages"][-1]["content"]
    shown = [(message["role"], message["content"]) for message in second["messages"][1:3]]
    assert shown == [("user", "I look"), ("assistant", "Part 1.")]
    assert "fog" not in json.dumps(second["messages"])


def test_the_story_so_far_is_bounded() -> None:
    with endpoint(lambda number: (200, told(f"Part {number}."))) as (url, asked):
        with ChatNarrator(settings(url)) as narrate:
            for number in range(NARRATOR_MEMORY.default + 3):
                narrate("", f"line {number}", [])
    assert len(asked[-1]["messages"]) == 2 + 2 * NARRATOR_MEMORY.default


def test_a_passing_fault_is_repeated() -> None:
    with endpoint(lambda number: (503, b"busy") if number == 1 else (200, told("At last."))) as (url, asked):
        with ChatNarrator(settings(url)) as narrate:
            assert narrate("", "hello", []) == "At last."
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("status", "raw", "calls", "says"),
    [
        (401, b"no key", 1, "answered 401: no key"),
        (500, b"oops", 2, "answered 500: oops"),
        (200, b"<html>", 2, "no chat completion"),
        (200, b'{"choices": []}', 2, "no chat completion"),
        (200, b"[" * 100_000, 2, "no chat completion"),
        (200, told(None), 2, "said nothing"),
        (200, told("  "), 2, "said nothing"),
        (200, b"x" * (NARRATOR_ANSWER.default + 1), 1, "longer than"),
    ],
    ids=["key", "fault", "html", "empty", "deep", "null", "blank", "long"],
)
def test_a_bad_answer_is_told(status: int, raw: bytes, calls: int, says: str) -> None:
    with endpoint(lambda _: (status, raw)) as (url, asked), ChatNarrator(settings(url)) as narrate:
        line = narrate("", "hello", [])
    assert line.startswith("[the narrator is silent: ") and says in line
    assert len(asked) == calls


def test_a_late_and_an_absent_endpoint_are_told() -> None:
    def late(_: int) -> tuple[int, bytes]:
        time.sleep(0.5)
        return 200, told("too late")

    with endpoint(late) as (url, _), ChatNarrator(settings(url, call=0.1, total=0.3)) as narrate:
        assert "in time" in narrate("", "hello", [])
    with ChatNarrator(settings(url)) as narrate:
        assert "cannot be reached" in narrate("", "hello", [])


def play(monkeypatch: pytest.MonkeyPatch, config: Path | None) -> int:
    """One line of an example pack, then leave."""
    pack = sorted(found.name for found in example_packs())[0]
    monkeypatch.setattr(sys, "stdin", io.StringIO("I look around\n/quit\n"))
    return cli(["play", pack, "--seed", "s", *([] if config is None else ["--config", str(config)])])


def test_play_with_a_configuration_has_a_narrator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "innkeeper.toml"
    with endpoint(lambda number: (200, told("A lamp is lit far off."))) as (url, asked):
        config.write_text(f'[tracker]\nurl = "{url}"\nmodel = "teller"\nretries = 0\n', "utf-8")
        assert play(monkeypatch, config) == 0
        assert "A lamp is lit far off." in capsys.readouterr().out
        assert len(asked) == 1
        assert play(monkeypatch, None) == 0
        assert len(asked) == 1, "off without a configuration"
    assert play(monkeypatch, config) == 0
    assert "the game goes on" in capsys.readouterr().out


def test_a_configuration_without_the_section_has_no_narrator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "innkeeper.toml"
    config.write_text("", "utf-8")
    assert play(monkeypatch, config) == 0
    assert "narrator" not in capsys.readouterr().out
