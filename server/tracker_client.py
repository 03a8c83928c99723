"""A tracker on any OpenAI-compatible chat endpoint: streaming, tool calls, patience in measured portions.

The rules of ``spec/dimensions.md`` §5.5 are configuration: how long a run, a call and the wait for a first token may
take, and how often a call is repeated. Quick failures are repeated without waiting. Off unless configured.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from runtime.dimensions import limits
from runtime.dimensions.domain import BUILT_IN
from runtime.dimensions.tracker import TrackerFailed, TrackerTask
from runtime.values.rows import InnkeeperError

WRITE_TOOL: Final = "update-dimensions"
_TRANSIENT: Final = frozenset({408, 409, 425, 429, *range(500, 600)})
_ERROR_TEXT: Final = 300
_SSE_END: Final = "[DONE]"


@dataclass(frozen=True, slots=True)
class TrackerSettings:
    """The configuration of a tracker's model; seconds may be fractions."""

    url: str
    model: str
    api_key: str | None = None
    total: float = limits.TRACKER_TOTAL.default
    call: float = limits.TRACKER_CALL.default
    retries: int = limits.TRACKER_RETRIES.default
    first_token: tuple[float, ...] = (
        limits.TRACKER_FIRST_TOKEN.default,
        limits.TRACKER_SECOND_TOKEN.default,
        limits.TRACKER_LATER_TOKEN.default,
        limits.TRACKER_LATER_TOKEN.default,
    )
    # Sent with every call: how this endpoint is told not to reason.
    extra: Mapping[str, Any] = field(default_factory=lambda: {"reasoning_effort": "none"})


_KEYS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "url": str,
    "model": str,
    "apiKey": str,
    "apiKeyEnv": str,
    "totalSeconds": (int, float),
    "callSeconds": (int, float),
    "retries": int,
    "firstTokenSeconds": list,
    "extra": dict,
}


def read_settings(section: Any, environment: Mapping[str, str] | None = None) -> TrackerSettings | None:
    """The section ``tracker`` of the configuration file; ``None`` (off) when there is none."""
    if section is None:
        return None
    if not isinstance(section, Mapping):
        raise InnkeeperError("CONFIG_INVALID", f"expected a table tracker, found {type(section).__name__}")
    for key, value in section.items():
        wanted = _KEYS.get(key)
        if wanted is None:
            raise InnkeeperError("CONFIG_INVALID", f"unknown key tracker.{key}; known are {', '.join(_KEYS)}")
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise InnkeeperError("CONFIG_INVALID", f"the value of tracker.{key} has the wrong type: {value!r:.80}")
    if not section.get("url") or not section.get("model"):
        raise InnkeeperError("CONFIG_INVALID", "a tracker needs tracker.url and tracker.model")
    chosen: dict[str, Any] = {"url": str(section["url"]).rstrip("/"), "model": section["model"]}
    names = {
        "totalSeconds": "total",
        "callSeconds": "call",
        "retries": "retries",
        "extra": "extra",
        "apiKey": "api_key",
    }
    chosen |= {name: section[key] for key, name in names.items() if key in section}
    if "apiKeyEnv" in section:
        chosen["api_key"] = (os.environ if environment is None else environment).get(section["apiKeyEnv"])
    if "firstTokenSeconds" in section:
        waits = section["firstTokenSeconds"]
        if not waits or not all(isinstance(wait, int | float) and wait > 0 for wait in waits):
            raise InnkeeperError("CONFIG_INVALID", "expected tracker.firstTokenSeconds as a list of positive numbers")
        chosen["first_token"] = tuple(waits)
    for key in ("total", "call"):
        if chosen.get(key, 1) <= 0:
            raise InnkeeperError("CONFIG_INVALID", f"expected a positive number of seconds for the tracker's {key}")
    if not 0 <= chosen.get("retries", 0) <= 100:
        raise InnkeeperError("CONFIG_INVALID", f"expected tracker.retries from 0 to 100, found {chosen['retries']}")
    return TrackerSettings(**chosen)


class _Transient(Exception):
    """A call that may work when it is repeated."""


@dataclass(slots=True)
class _Message:
    """An assistant message as it grows out of a stream."""

    content: str = ""
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    finished: bool = False
    size: int = 0

    def take(self, delta: Mapping[str, Any]) -> bool:
        """Add one delta; whether it held a token."""
        text = delta.get("content")
        if isinstance(text, str):
            self.content += text
        found = bool(text) or bool(delta.get("reasoning_content")) or bool(delta.get("reasoning"))
        for position, part in enumerate(delta.get("tool_calls") or ()):
            index = part.get("index", position)
            call = self.calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
            function = part.get("function") or {}
            call["id"] = part.get("id") or call["id"]
            call["name"] += function.get("name") or ""
            arguments = function.get("arguments")
            call["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
            found = True
        return found

    def tool_calls(self) -> list[dict[str, str]]:
        """The calls in order, each with an id."""
        return [{**call, "id": call["id"] or f"call-{index}"} for index, call in sorted(self.calls.items())]


class ChatTracker:
    """The built-in tracker: one chat model, asked until its arguments would be stored or time is up."""

    provider = BUILT_IN

    def __init__(
        self,
        settings: TrackerSettings,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._transport = transport
        self._clock = clock

    def run(self, task: TrackerTask) -> Any:
        """The final arguments; ``TrackerFailed`` says what went wrong last."""
        # A thread of its own: the caller may run in an event loop already, and loops do not nest.
        with ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(lambda: asyncio.run(self._run(task))).result()

    async def _run(self, task: TrackerTask) -> Any:
        last = ["no call was finished"]
        try:
            async with asyncio.timeout(self.settings.total):
                async with httpx.AsyncClient(transport=self._transport, timeout=None) as client:
                    return await self._converse(client, task, last)
        except TimeoutError:
            raise TrackerFailed(f"the tracker was not done within {self.settings.total:g} s: {last[0]}") from None

    async def _converse(self, client: httpx.AsyncClient, task: TrackerTask, last: list[str]) -> Any:
        """Call, answer the tools, call again; refused arguments go back to the model with the reason."""
        messages = opening_messages(task)
        refusals = 0
        while True:
            message = await self._patiently(client, messages, task, last)
            calls = message.tool_calls()
            messages.append(_assistant(message, calls))
            for call in calls:
                arguments, fault = _arguments(call)
                if fault is None and call["name"] == WRITE_TOOL:
                    fault = task.attempt(arguments)
                    if fault is None:
                        return arguments
                if fault is not None:
                    refusals += 1
                    last[0] = f"the model's arguments were refused: {fault}"
                text = fault if fault is not None else task.read(call["name"], arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
            if refusals > self.settings.retries:
                raise TrackerFailed(last[0])

    async def _patiently(
        self, client: httpx.AsyncClient, messages: list[dict[str, Any]], task: TrackerTask, last: list[str]
    ) -> _Message:
        """One model call with its repeats; each repeat waits less for a first token."""
        waits = self.settings.first_token
        for attempt in range(self.settings.retries + 1):
            try:
                return await self._call(client, messages, task, waits[min(attempt, len(waits) - 1)])
            except _Transient as error:
                last[0] = str(error)
        raise TrackerFailed(f"{last[0]} (given up after {self.settings.retries + 1} calls)")

    async def _call(
        self, client: httpx.AsyncClient, messages: list[dict[str, Any]], task: TrackerTask, first_wait: float
    ) -> _Message:
        message = _Message()
        try:
            async with asyncio.timeout(min(first_wait, self.settings.call)) as patience:
                started = asyncio.get_running_loop().time()
                async with client.stream(
                    "POST",
                    f"{self.settings.url}/chat/completions",
                    json=self._body(messages, task),
                    headers=self._headers(),
                ) as response:
                    await _check_status(response)
                    async for delta in _deltas(response, message):
                        if message.take(delta):
                            # From the first token on, only the bound of the whole call counts.
                            patience.reschedule(started + self.settings.call)
        except TimeoutError:
            what = "gave no token" if not message.size else "was not done"
            raise _Transient(f"the model {what} in time") from None
        except httpx.HTTPError as error:
            raise _Transient(f"the model cannot be reached: {type(error).__name__}") from None
        if not message.finished:
            raise _Transient("the model's answer broke off")
        if not message.calls:
            raise _Transient("the model called no tool")
        return message

    def _body(self, messages: list[dict[str, Any]], task: TrackerTask) -> dict[str, Any]:
        return {
            "model": self.settings.model,
            "messages": messages,
            "tools": [{"type": "function", "function": tool} for tool in task.tools],
            "tool_choice": "required",
            "stream": True,
            **self.settings.extra,
        }

    def _headers(self) -> dict[str, str]:
        return {} if self.settings.api_key is None else {"authorization": f"Bearer {self.settings.api_key}"}


def opening_messages(task: TrackerTask) -> list[dict[str, Any]]:
    """The stable rules as the system prompt; values, clock and narrative as this turn's message."""
    parts = [task.values]
    if task.clock is not None:
        parts.append(f"<world-time>\n{json.dumps(dict(task.clock), ensure_ascii=False)}\n</world-time>")
    narrative = task.narrative.replace("</narrative", "<\\/narrative")
    parts.append(f"<narrative>\n{narrative}\n</narrative>")
    return [{"role": "system", "content": task.rules}, {"role": "user", "content": "\n\n".join(parts)}]


def _assistant(message: _Message, calls: list[dict[str, str]]) -> dict[str, Any]:
    tool_calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in calls
    ]
    return {"role": "assistant", "content": message.content or None, "tool_calls": tool_calls}


def _arguments(call: Mapping[str, str]) -> tuple[Any, str | None]:
    """A call's arguments, or what is wrong with their text."""
    try:
        return json.loads(call["arguments"] or "{}"), None
    except (ValueError, RecursionError) as error:
        return None, f"the arguments are no JSON: {error}"


async def _check_status(response: httpx.Response) -> None:
    if response.status_code == 200:
        return
    text = ""
    async for part in response.aiter_text():
        text += part
        if len(text) > _ERROR_TEXT:
            break
    message = f"the model's endpoint answered {response.status_code}: {' '.join(text.split())[:_ERROR_TEXT]}"
    if response.status_code in _TRANSIENT:
        raise _Transient(message)
    raise TrackerFailed(message)


async def _deltas(response: httpx.Response, message: _Message) -> AsyncIterator[Mapping[str, Any]]:
    """The deltas of a streamed answer, or the one message of an endpoint that does not stream."""
    streamed = "text/event-stream" in response.headers.get("content-type", "text/event-stream")
    whole: list[str] = []
    async for line in response.aiter_lines():
        message.size += len(line)
        if message.size > limits.TRACKER_ANSWER.default:
            raise TrackerFailed(f"the model's answer is longer than {limits.TRACKER_ANSWER.default} bytes")
        if not streamed:
            whole.append(line)
        elif line.startswith("data:"):
            data = line[5:].strip()
            if data == _SSE_END:
                message.finished = True
                return
            for delta in _choices(data, "delta", message):
                yield delta
    if not streamed:
        for delta in _choices("\n".join(whole), "message", message):
            yield delta


def _choices(text: str, key: str, message: _Message) -> list[Mapping[str, Any]]:
    try:
        chunk = json.loads(text)
        choice = chunk["choices"][0] if chunk.get("choices") else {}
        if chunk.get("error"):
            raise _Transient(f"the model's endpoint failed: {str(chunk['error'])[:_ERROR_TEXT]}")
        if choice.get("finish_reason") == "length":
            raise _Transient("the model's answer was cut off at its length limit")
        if choice.get("finish_reason"):
            message.finished = True
        delta = choice.get(key)
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError, IndexError):
        raise _Transient("the model's endpoint sent something that is no answer") from None
    return [delta] if isinstance(delta, Mapping) else []
