"""Event streams: notices of commits reach subscribers at once; a slow reader is dropped, never waited for (spec/http.md)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from server.limits import EVENT_QUEUE

Notice = dict[str, Any]


@dataclass(eq=False, slots=True)
class Subscriber:
    """One open stream; ``wake`` is called in the stream's own event loop."""

    keys: frozenset[str]
    loop: asyncio.AbstractEventLoop
    queue: asyncio.Queue[Notice | None] = field(default_factory=lambda: asyncio.Queue(EVENT_QUEUE.default))
    dropped: bool = False

    def push(self, notice: Notice) -> None:
        """Queue a notice; an overfull queue ends the stream."""
        try:
            self.queue.put_nowait(notice)
        except asyncio.QueueFull:
            self.dropped = True


class Streams:
    """The subscribers of one server process, by session (``*`` hears everything)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[str, set[Subscriber]] = {}
        self._closed = False

    def subscribe(self, *keys: str) -> Subscriber:
        """Open a subscription in the running event loop."""
        subscriber = Subscriber(frozenset(keys), asyncio.get_running_loop())
        with self._lock:
            for key in keys:
                self._by_key.setdefault(key, set()).add(subscriber)
        return subscriber

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """End a subscription."""
        with self._lock:
            for key in subscriber.keys:
                members = self._by_key.get(key)
                if members is not None:
                    members.discard(subscriber)
                    if not members:
                        del self._by_key[key]

    def publish(self, session_id: str, notice: Notice) -> None:
        """Tell the subscribers of a session; callable from any thread."""
        with self._lock:
            members = list(self._by_key.get(session_id, ()))
            if session_id == "*":
                members = list({m for found in self._by_key.values() for m in found})
        self._send(members, lambda member: member.push(notice))

    @staticmethod
    def _send(members: list[Subscriber], action: Callable[[Subscriber], None]) -> None:
        for member in members:
            try:
                member.loop.call_soon_threadsafe(action, member)
            except RuntimeError:  # the loop has ended: so has the stream
                continue

    def close(self) -> None:
        """End all streams, so that the server can stop."""
        with self._lock:
            self._closed = True
            members = list({m for found in self._by_key.values() for m in found})

        def end(member: Subscriber) -> None:
            member.dropped = True
            while not member.queue.empty():
                member.queue.get_nowait()
            member.queue.put_nowait(None)

        self._send(members, end)

    @property
    def closed(self) -> bool:
        """Whether the server is stopping."""
        return self._closed
