"""The parent's end of one child: a socket with a deadline, a pid that can be ended, and what the child said."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from sandbox.errors import OUTPUT, SandboxError, bounded
from sandbox.limits import Budget
from sandbox.protocol import ANSWER_KINDS, DONE, FAILED, HEAD, HELLO, PART, WANTED

_BYTES_PER_UNIT = 3  # UTF-8 of one UTF-16 unit is at most this long
_SLACK = 65_536


class Expired(Exception):
    """The deadline passed before the child answered."""


class Gone(Exception):
    """The child died, or said something that no child of ours says."""


@dataclass(slots=True)
class Answer:
    """One closed answer: its ``kind`` and the whole text."""

    kind: int
    text: str


@dataclass(slots=True)
class Child:
    """A live child. ``owner`` is ``None`` until it first serves someone, and never changes afterwards.

    ``parent`` is the pid of the zygote that forked it, the only process that can wait for it.
    """

    pid: int
    channel: socket.socket
    owner: str | None = None
    calls: int = 0
    spent: float = 0.0
    handle: int | None = None
    parent: int = 0
    idle_since: float = 0.0
    hello: dict[str, Any] | None = None
    _buffer: bytearray = field(default_factory=bytearray)

    def hung_up(self) -> bool:
        """Whether the child is gone although nobody asked it anything."""
        poller = select.poll()
        poller.register(self.channel, select.POLLIN)
        ready = poller.poll(0)
        if not ready:
            return False
        return bool(ready[0][1] & (select.POLLHUP | select.POLLERR)) or self.hello is not None

    def kill(self) -> None:
        """End the child at once: through its handle, which can never mean another process.

        Where the system has no such handles the pid is used; it is released only by the zygote's wait.
        """
        with contextlib.suppress(ProcessLookupError):
            if self.handle is None:
                os.kill(self.pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        self.forget()

    def forget(self) -> None:
        """Close what the parent holds of the child."""
        self.channel.close()
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None

    def exchange(self, pieces: list[bytes], deadline: float, budget: Budget) -> Answer:
        """Send one request and read its answer, or raise ``Expired`` or ``Gone``."""
        started = time.monotonic()
        try:
            for piece in pieces:
                self.channel.settimeout(_left(deadline))
                self.channel.sendall(piece)
            return self._answer(deadline, budget.output_units * _BYTES_PER_UNIT + _SLACK)
        except TimeoutError:
            raise Expired from None
        except (OSError, UnicodeDecodeError):
            raise Gone from None
        finally:
            self.spent += time.monotonic() - started

    def _answer(self, deadline: float, bound: int) -> Answer:
        parts: list[bytes] = []
        total = 0
        while True:
            size, kind = HEAD.unpack(self._read(HEAD.size, deadline))
            total += size
            if kind not in ANSWER_KINDS:
                raise Gone
            if total > bound:
                raise bounded(OUTPUT, "output", f"expected at most {bound} bytes of output from the helper")
            payload = self._read(size, deadline)
            if kind == HELLO:
                self._greet(payload)
            elif kind == PART:
                parts.append(payload)
            else:
                parts.append(payload)
                return Answer(kind, b"".join(parts).decode("utf-8"))

    def _greet(self, payload: bytes) -> None:
        try:
            hello = json.loads(payload)
        except ValueError:
            raise Gone from None
        self.hello = hello if isinstance(hello, dict) else {}

    def greet(self, deadline: float) -> None:
        """Read the child's first frame if that has not happened yet."""
        if self.hello is not None:
            return
        try:
            size, kind = HEAD.unpack(self._read(HEAD.size, deadline))
            if kind != HELLO or size > _SLACK:
                raise Gone
            self._greet(self._read(size, deadline))
        except TimeoutError:
            raise Expired from None
        except OSError:
            raise Gone from None

    def _read(self, size: int, deadline: float) -> bytes:
        buffer = self._buffer
        while len(buffer) < size:
            self.channel.settimeout(_left(deadline))
            part = self.channel.recv(max(size - len(buffer), _SLACK))
            if not part:
                raise Gone
            buffer += part
        data = bytes(buffer[:size])
        del buffer[:size]
        return data


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Expired
    return left


__all__ = ["DONE", "FAILED", "WANTED", "Answer", "Child", "Expired", "Gone", "SandboxError"]
