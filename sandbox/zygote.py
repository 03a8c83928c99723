"""The process that forks children. It starts clean, imports the engine, builds one frozen context and never runs a
script itself; each child is a copy of that, locked before it reads its first byte.

Started as a program of its own (``python -I -c …``) so that nothing of the server's memory, descriptors or environment
reaches it. It reads fixed-size requests: ``S`` (spawn, with the child's socket attached) and ``W`` (wait for a child
that the parent has ended). A child is waited for only on request, so its pid cannot belong to another process before.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import resource
import signal
import socket
import struct
import time
from typing import NoReturn

from sandbox import seccomp
from sandbox.limits import Budget
from sandbox.protocol import HELLO, frame
from sandbox.worker import Hangup, Worker, World, build_world

REQUEST = struct.Struct("!cI")
ANSWER = struct.Struct("!cIiI")
SPAWN = b"S"
WAIT = b"W"
READY = b"R"
REFUSED = b"X"


def _address_space() -> int:
    """What this process has mapped already: some systems map large tables into every process."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _limit_resources(budget: Budget) -> None:
    rows = (
        (resource.RLIMIT_AS, _address_space() + budget.address_bytes),
        (resource.RLIMIT_CPU, budget.cpu_total_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_NPROC, 0),
    )
    for which, value in rows:
        # A system without one of these still has the others, the parent's deadline and the kill.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (value, value))


def _child(descriptor: int, zygote: int, world: World, prelude: str, budget: Budget) -> NoReturn:
    status = 1
    try:
        os.dup2(descriptor, 0, inheritable=False)
        os.closerange(1, os.sysconf("SC_OPEN_MAX") if descriptor >= _SMALL else _SMALL)
        seccomp.set_death_signal(signal.SIGKILL)
        if os.getppid() != zygote:
            os._exit(status)
        _limit_resources(budget)
        locked = seccomp.install()
        worker = Worker(0, world, prelude, budget)
        worker._write(frame(HELLO, json.dumps({"seccomp": locked}).encode()))
        worker.serve()
    except Hangup:
        status = 0
    finally:
        os._exit(status)


_SMALL = 64


def _spawn(control: socket.socket, descriptor: int, world: World, prelude: str, budget: Budget) -> int:
    zygote = os.getpid()
    pid = os.fork()
    if pid == 0:
        _child(descriptor, zygote, world, prelude, budget)
    os.close(descriptor)
    return pid


def _receive(control: socket.socket) -> tuple[bytes, int, list[int]]:
    received = array.array("i")
    data, ancillary, _flags, _address = control.recvmsg(REQUEST.size, socket.CMSG_SPACE(received.itemsize))
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            received.frombytes(payload[: len(payload) - len(payload) % received.itemsize])
    if len(data) < REQUEST.size:
        return b"", 0, list(received)
    operation, pid = REQUEST.unpack(data)
    return operation, pid, list(received)


def main(descriptor: int, prelude: str, budget: Budget) -> None:
    """Serve spawn and wait requests until the parent goes away, then end every child."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    control = socket.socket(fileno=descriptor)
    world = build_world(prelude, budget)
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    control.sendall(ANSWER.pack(READY, os.getpid(), 0, 0))
    while True:
        operation, pid, descriptors = _receive(control)
        if operation == SPAWN and descriptors:
            child = _spawn(control, descriptors[0], world, prelude, budget)
            children.add(child)
            control.sendall(ANSWER.pack(READY, child, 0, 0))
        elif operation == WAIT and pid in children:
            _pid, status, usage = os.wait4(pid, 0)
            children.discard(pid)
            control.sendall(ANSWER.pack(READY, pid, status, usage.ru_maxrss))
        elif operation in (SPAWN, WAIT):
            control.sendall(ANSWER.pack(REFUSED, pid, 0, 0))
        else:
            break
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
