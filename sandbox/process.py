"""``ProcessSandbox``: helpers in QuickJS, in child processes that can be ended (design §7, spec/mvu.md §6)."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from sandbox.calls import HelperCall, HelperResult
from sandbox.channel import Answer, Child, Expired, Gone
from sandbox.errors import DECLARATION, DISPOSED, EXECUTION, LIMIT, OUTPUT, REGISTRATION, Bound, SandboxError, bounded
from sandbox.limits import DEFAULT_BUDGET, Budget
from sandbox.pool import Exit, Pool
from sandbox.protocol import DONE, LOAD, RUN, WANTED, request

_MS = 1_000
_NO_FILTER = "this system has no seccomp filter for us; resource limits, the deadline and the kill still hold"
_CODES = {"DECLARATION": DECLARATION, "EXECUTION": EXECUTION, "REGISTRATION": REGISTRATION, "OUTPUT": OUTPUT}
_BOUNDS: frozenset[Bound] = frozenset({"time", "cpu", "memory", "stack", "script", "output"})


def utf16_units(text: str) -> int:
    """The length of ``text`` as JavaScript counts it."""
    return len(text) + sum(1 for character in text if character > "\uffff")


def _head(source: str, gate: str | None) -> tuple[bytes, bytes]:
    return _literal(source), (gate or "").encode("utf-8", "replace")


def _variables(call: HelperCall) -> bytes:
    text = call.variables_json
    return (text if isinstance(text, str) else text()).encode("utf-8", "backslashreplace")


def _literal(text: str) -> bytes:
    """``text`` as a JSON string; lone surrogates stay readable as escapes."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "backslashreplace")


class ProcessSandbox:
    """Runs helpers in locked child processes; safe to call from several threads at once."""

    def __init__(self, budget: Budget = DEFAULT_BUDGET, *, on_exit: Callable[[Exit], None] | None = None) -> None:
        self.budget = budget
        self._pool = Pool(budget, on_exit)
        self._readers: OrderedDict[str, None] = OrderedDict()
        self._readers_lock = threading.Lock()
        self._hello: dict[str, Any] | None = None
        self._closed = False
        self._end = weakref.finalize(self, self._pool.close)  # a forgotten sandbox leaves no process behind

    # -- the interface ---------------------------------------------------------------------------------------------

    def run(self, call: HelperCall) -> HelperResult:
        """Run the helper over the call's commands, in a context that nothing ran in before."""
        deadline = self._deadline()
        self._check_source(call.source)
        head = _head(call.source, call.gate)
        commands = json.dumps(list(call.commands), ensure_ascii=False).encode("utf-8", "backslashreplace")
        body = (commands, _literal(call.text), _literal(call.user_text))
        reader = hashlib.sha256(f"{call.owner}\0".encode("utf-8", "replace") + head[0]).hexdigest()
        reads = self._reads(reader)

        def pieces(with_variables: bool) -> list[bytes]:
            return request(RUN, (*head, *body, _variables(call) if with_variables else b""))

        answer = self._ask(call.owner, pieces(reads), deadline, None if reads else lambda: pieces(True), reader)
        return HelperResult(commands_from(answer.text))

    def register(self, owner: str, source: str, gate: str | None = None) -> int:
        """Load the helper's text and answer how many listeners of COMMAND_PARSED it registers."""
        deadline = self._deadline()
        self._check_source(source)
        pieces = request(LOAD, (*_head(source, gate), b"", b"", b"", b""))
        answer = self._ask(owner, pieces, deadline, None, None)
        if not answer.text.isdecimal() or not 1 <= int(answer.text) <= self.budget.listeners:
            raise bounded(EXECUTION, "died", "the child gave no count of listeners")
        return int(answer.text)

    def status(self) -> dict[str, Any]:
        """What ``/readyz`` shows: the engine, whether a child answers, and which locks hold it."""
        error: str | None = None
        if self._hello is None and not self._closed:
            try:
                deadline = time.monotonic() + self.budget.start_ms / _MS
                child = self._pool.acquire("", deadline)
                if child is not None:
                    self._finish_status(child, deadline)
            except (Expired, Gone):
                error = "no child could be started"
        seccomp = bool((self._hello or {}).get("seccomp"))
        return {
            "engine": "quickjs-ng",
            "ready": self._hello is not None and not self._closed,
            "seccomp": seccomp,
            "warning": None if seccomp or self._hello is None else _NO_FILTER,
            "error": error,
            "zygote": self._pool.zygote_pid,
            "children": self._pool.pids(),
            "restarts": self._pool.restarts,
        }

    def retire(self, owner: str) -> None:
        """End the idle children of one owner: its helper was switched off, or its card is gone."""
        self._pool.retire(owner)

    def close(self) -> None:
        """End every child; later calls raise ``MVU_COMMAND_HOOK_DISPOSED``."""
        self._closed = True
        self._end()

    def __enter__(self) -> ProcessSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- one exchange ----------------------------------------------------------------------------------------------

    def _finish_status(self, child: Child, deadline: float) -> None:
        try:
            child.greet(deadline)
            self._hello = child.hello
        finally:
            self._pool.discard(child)

    def _deadline(self) -> float:
        self._pool.ready()
        return time.monotonic() + self.budget.deadline_ms / _MS

    def _check_source(self, source: str) -> None:
        if self._closed:
            raise bounded(DISPOSED, "closed", "the sandbox is closed")
        units = utf16_units(source)
        if units > self.budget.source_units:
            raise bounded(
                LIMIT,
                "source",
                f"expected at most {self.budget.source_units} UTF-16 units of helper text, found {units}",
            )

    def _reads(self, reader: str) -> bool:
        with self._readers_lock:
            if reader not in self._readers:
                return False
            self._readers.move_to_end(reader)
            return True

    def _remember(self, reader: str | None) -> None:
        if reader is None:
            return
        with self._readers_lock:
            self._readers[reader] = None
            while len(self._readers) > self.budget.readers:
                self._readers.popitem(last=False)

    def _ask(
        self,
        owner: str,
        pieces: list[bytes],
        deadline: float,
        again: Callable[[], list[bytes]] | None,
        reader: str | None,
    ) -> Answer:
        """One request to one child of ``owner``; ``again`` gives it with the variables, if they are wanted."""
        child = self._child(owner, deadline)
        answer: Answer | None = None
        ended: Exit | None = None
        broken: Expired | Gone | None = None
        try:
            self._check_size(pieces)
            answer = child.exchange(pieces, deadline, self.budget)
            if answer.kind == WANTED and again is not None:
                self._remember(reader)
                wanted = again()
                self._check_size(wanted)
                answer = child.exchange(wanted, deadline, self.budget)
        except (Expired, Gone) as error:
            # A script that looked at absent variables may have been ended before it could say so: next time they come.
            self._remember(reader)
            broken = error
        finally:
            if answer is not None and answer.kind == DONE and broken is None:
                self._hello = child.hello
                self._pool.release(child)
            elif isinstance(broken, Expired):
                self._pool.abandon(child)
            else:
                ended = self._pool.discard(child)
            self._pool.refill(deadline)
        if broken is not None:
            raise self._why(broken, ended)
        assert answer is not None
        if answer.kind != DONE:
            raise failure_from(answer.text)
        return answer

    def _child(self, owner: str, deadline: float) -> Child:
        try:
            child = self._pool.acquire(owner, deadline)
        except Expired:
            raise bounded(EXECUTION, "busy", f"no child came free within {self.budget.deadline_ms} ms") from None
        except Gone:
            raise bounded(EXECUTION, "died", "no child could be started") from None
        if child is None:
            raise bounded(DISPOSED, "closed", "the sandbox is closed")
        return child

    def _check_size(self, pieces: list[bytes]) -> None:
        size = sum(len(piece) for piece in pieces)
        if size > self.budget.input_bytes:
            raise bounded(LIMIT, "source", f"expected at most {self.budget.input_bytes} bytes of input, found {size}")

    def _why(self, broken: Expired | Gone, ended: Exit | None) -> SandboxError:
        if self._closed:
            return bounded(DISPOSED, "closed", "the sandbox was closed during the call")
        if isinstance(broken, Expired):
            return bounded(EXECUTION, "deadline", f"the helper did not answer within {self.budget.deadline_ms} ms")
        if ended is not None and os.WIFSIGNALED(ended.status) and os.WTERMSIG(ended.status) == signal.SIGPROF:
            return bounded(EXECUTION, "cpu", f"the helper was ended after {self.budget.cpu_kill_ms} ms of CPU time")
        return bounded(EXECUTION, "died", "the helper’s process ended before it answered")


def failure_from(text: str) -> SandboxError:
    """The error that the child reported; what it says is checked, because a broken child can say anything."""
    try:
        kind, bound, message = json.loads(text)
        code = _CODES[kind]
    except (ValueError, TypeError, KeyError, RecursionError):
        return bounded(EXECUTION, "died", "the child gave an answer that no child of ours gives")
    if bound not in _BOUNDS or not isinstance(message, str):
        return bounded(EXECUTION, "died", "the child gave an answer that no child of ours gives")
    return bounded(code, bound, message)


def commands_from(text: str) -> tuple[dict[str, Any], ...]:
    """The flat answer (type, full_match, reason or null, number of arguments, arguments…) as command views."""
    wrong = bounded(OUTPUT, "output", "the child gave commands in a form that no child of ours gives")
    try:
        flat = json.loads(f"[{text}]")
    except (ValueError, RecursionError):
        raise wrong from None
    commands: list[dict[str, Any]] = []
    at = 0
    while at < len(flat):
        kind, match, reason, count = (*flat[at : at + 4], *[None] * 4)[:4]
        if not isinstance(kind, str) or not isinstance(match, str) or not isinstance(count, int):
            raise wrong
        arguments = flat[at + 4 : at + 4 + count]
        if len(arguments) != count or not all(isinstance(argument, str) for argument in arguments):
            raise wrong
        if reason is not None and not isinstance(reason, str):
            raise wrong
        commands.append({"type": kind, "args": arguments, "full_match": match, "reason": reason})
        at += 4 + count
    return tuple(commands)
