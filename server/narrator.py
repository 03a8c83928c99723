"""The narrator of ``innkeeper play``: the same OpenAI-compatible chat endpoint that a tracker uses (spec/worldkernel.md §7).

Off unless the section ``tracker`` of the configuration names an endpoint. The rules have decided already when the
narrator is called: it only tells what the receipts say, so a failing endpoint costs a paragraph and never the game.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

import httpx

from server.limits import NARRATOR_ANSWER, NARRATOR_MEMORY
from server.tracker_client import TrackerSettings

RULES: Final = (
    "You narrate a game whose rules have already been applied. Tell what happens in one or two short paragraphs, in the"
    " language of the player's line. The receipts are final: never contradict, repeat or invent a result, never roll"
    " dice, never change a number, and stop where it is the player's turn to act."
)
_TRANSIENT: Final = frozenset({408, 409, 425, 429, *range(500, 600)})
_ERROR_TEXT: Final = 300


class _Failed(Exception):
    """A call that gave no text; ``again`` says whether it may work when it is repeated."""

    def __init__(self, message: str, *, again: bool) -> None:
        super().__init__(message)
        self.again = again


class ChatNarrator:
    """Calls itself ``narrate(context, text, receipts)``: the story's next words, or a line that says what went wrong."""

    def __init__(
        self,
        settings: TrackerSettings,
        *,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._client = httpx.Client(transport=transport)
        self._clock = clock
        self._told: list[dict[str, str]] = []

    def __enter__(self) -> ChatNarrator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def __call__(self, context: str, text: str, receipts: list[dict[str, Any]]) -> str:
        """One turn of the story; errors become a line in square brackets, and the next turn tries anew."""
        facts = json.dumps(receipts, ensure_ascii=False)
        asked = f"{context}\n\n<receipts>\n{facts}\n</receipts>\n\n<player>\n{text}\n</player>"
        messages = [{"role": "system", "content": RULES}, *self._told, {"role": "user", "content": asked}]
        try:
            story = self._patiently(messages)
        except _Failed as error:
            return f"[the narrator is silent: {error}; the game goes on]"
        # Only what was said, not the state of that moment: the next context carries the newer one.
        self._told += [{"role": "user", "content": text}, {"role": "assistant", "content": story}]
        del self._told[: -2 * NARRATOR_MEMORY.default]
        return story

    def _patiently(self, messages: list[dict[str, str]]) -> str:
        """Call and repeat what may work, within the time of one run."""
        end = self._clock() + self.settings.total
        attempt = 0
        while True:
            left = end - self._clock()
            if left <= 0:
                raise _Failed(f"no answer within {self.settings.total:g} s", again=False)
            try:
                return self._call(messages, min(left, self.settings.call))
            except _Failed as error:
                attempt += 1
                if not error.again or attempt > self.settings.retries:
                    raise

    def _call(self, messages: list[dict[str, str]], seconds: float) -> str:
        headers = {} if self.settings.api_key is None else {"authorization": f"Bearer {self.settings.api_key}"}
        body = {"model": self.settings.model, "messages": messages, "stream": False, **self.settings.extra}
        end = self._clock() + seconds
        raw = b""
        try:
            with self._client.stream(
                "POST", f"{self.settings.url}/chat/completions", json=body, headers=headers, timeout=seconds
            ) as response:
                for part in response.iter_bytes():
                    raw += part
                    if len(raw) > NARRATOR_ANSWER.default:
                        raise _Failed(f"the answer is longer than {NARRATOR_ANSWER.default} bytes", again=False)
                    # The client's own timeout counts between two parts; an endpoint may drip for ever.
                    if self._clock() > end:
                        raise _Failed("the answer was not done in time", again=True)
        except httpx.TimeoutException:
            raise _Failed("the model gave no answer in time", again=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _Failed(f"the model cannot be reached: {type(error).__name__}", again=True) from None
        if response.status_code != 200:
            shown = " ".join(raw.decode("utf-8", "replace").split())[:_ERROR_TEXT]
            again = response.status_code in _TRANSIENT
            raise _Failed(f"the endpoint answered {response.status_code}: {shown}", again=again)
        return _story(raw)


def _story(raw: bytes) -> str:
    """The text of a chat completion."""
    try:
        content = json.loads(raw)["choices"][0]["message"]["content"]
    except (ValueError, RecursionError, KeyError, IndexError, TypeError):
        raise _Failed("the endpoint sent something that is no chat completion", again=True) from None
    if not isinstance(content, str) or not content.strip():
        raise _Failed("the model said nothing", again=True)
    return content.strip()
