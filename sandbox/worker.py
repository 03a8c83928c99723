"""The child: takes requests from its one descriptor and runs them, each in a fresh context (spec/mvu.md §6).

It runs after ``fork`` in a process that holds nothing. A context is prepared while nobody waits: after an answer the
next one is built and the same helper's text is loaded into it, which is possible because loading depends on nothing
else. A failed preparation is forgotten; the next request then loads for itself and reports.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import quickjs

from sandbox.limits import Budget
from sandbox.protocol import DONE, FAILED, HEAD, LOAD, PART, WANTED, frame, split_sections
from sandbox.settings import prelude_settings

_MS = 1_000


class Hangup(Exception):
    """The parent closed its end."""


@dataclass(slots=True)
class World:
    """One fresh context: the prelude's entry and, once a helper is loaded, which one and with what answer."""

    context: Any
    enter: Callable[..., Any]
    loaded: tuple[str, str] | None = None
    answer: str = ""


def build_world(prelude: str, budget: Budget) -> World:
    """A context with the frozen prelude. Limits go on later: a start-up that runs out of memory can corrupt itself."""
    context = quickjs.Context()
    enter = context.eval(prelude)
    enter("configure", prelude_settings(budget))
    return World(context, enter)


def _entry(world: World, budget: Budget, *arguments: Any) -> str:
    """Enter the engine once under its CPU budget; the kernel ends the process if the engine does not stop in time."""
    signal.setitimer(signal.ITIMER_PROF, budget.cpu_kill_ms / _MS)
    try:
        answer = world.enter(*arguments)
    except quickjs.StackOverflow:
        answer = _failed("stack", "the helper used up its stack")
    except quickjs.JSException as error:
        answer = _engine_failure(str(error))
    except MemoryError:
        answer = _failed("memory", "the helper used up its memory")
    except TypeError:
        answer = _failed("script", "the engine gave an answer of a kind that is not text")
    signal.setitimer(signal.ITIMER_PROF, 0)
    return answer if isinstance(answer, str) else _failed("script", "the engine gave no answer")


def _failed(bound: str, message: str) -> str:
    return "f" + json.dumps(["EXECUTION", bound, message])


def _engine_failure(text: str) -> str:
    if "interrupted" in text:
        return _failed("time", "the helper used up its CPU time")
    if "out of memory" in text or text.strip() in {"null", ""}:
        return _failed("memory", "the helper used up its memory")
    if "Maximum call stack" in text or "stack overflow" in text:
        return _failed("stack", "the helper used up its stack")
    return _failed("script", "the engine stopped the helper: " + text[:200])


def _load(world: World, budget: Budget, source: str, gate: str) -> str:
    if world.loaded != (source, gate):
        world.context.set_memory_limit(budget.heap_bytes)
        world.context.set_max_stack_size(budget.stack_bytes)
        world.context.set_time_limit(budget.cpu_ms / _MS)
        world.answer = _entry(world, budget, "load", source, gate)
        world.loaded = (source, gate)
    return world.answer


class Worker:
    """The loop of one child over ``descriptor``; ``world`` is the context that the zygote prepared before the fork."""

    def __init__(self, descriptor: int, world: World, prelude: str, budget: Budget) -> None:
        self.descriptor = descriptor
        self.world: World | None = world
        self.prelude = prelude
        self.budget = budget

    def serve(self) -> None:
        """Answer requests until the parent hangs up."""
        while True:
            head = self._read(HEAD.size)
            size, kind = HEAD.unpack(head)
            if size > self.budget.input_bytes:
                raise Hangup  # nobody but the parent writes here, and it asks for no more
            source, gate, commands, text, user, variables = split_sections(self._read(size))
            world, self.world = self.world, None
            if world is None or world.loaded not in (None, (source, gate)):
                world = build_world(self.prelude, self.budget)  # another text was loaded into the prepared one
            answer = _load(world, self.budget, source, gate)
            if kind != LOAD and answer[:1] == "o":
                answer = self._reply(world, commands, text, user, variables)
            del commands, text, user, variables
            self._answer(world, answer)
            del world
            self._prepare(source, gate, answer[:1])

    def _reply(self, world: World, commands: str, text: str, user: str, variables: str) -> str:
        answer = _entry(world, self.budget, "reply", commands, text, user, variables)
        # A script can swallow the refusal of variables that were not sent and only then run out of a budget.
        if answer[:1] == "f" and not variables and world.enter("touched") == "v":
            return "v"
        return answer

    def _answer(self, world: World, answer: str) -> None:
        letter, body = answer[:1], answer[1:]
        if letter == "p":
            for index in range(int(body)):
                piece = _entry(world, self.budget, "piece", index)
                self._write(frame(PART, piece.encode("utf-8")))
            body = ""
        kind = {"f": FAILED, "v": WANTED}.get(letter, DONE)
        self._write(frame(kind, body.encode("utf-8")))

    def _prepare(self, source: str, gate: str, letter: str) -> None:
        self.world = build_world(self.prelude, self.budget)
        if letter in "opv" and _load(self.world, self.budget, source, gate)[:1] != "o":
            self.world = None

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            part = os.read(self.descriptor, min(size, self.budget.chunk_units * 4))
            if not part:
                raise Hangup
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]
