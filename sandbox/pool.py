"""The children of one sandbox: started by the zygote, kept per owner, ended after anything abnormal.

A child that ran one owner's script never serves another owner. A spare one has run nothing and may be given to anyone.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from sandbox.channel import Child, Expired, Gone
from sandbox.limits import Budget
from sandbox.zygote import ANSWER, READY, REQUEST, SPAWN, WAIT

_MS = 1_000

_START = (
    "import sys,json;a=json.loads(sys.argv[1]);sys.path[:0]=a['path'];"
    "from sandbox.limits import Budget;from sandbox.zygote import main;"
    "main(a['fd'],open(a['prelude'],encoding='utf-8').read(),Budget(**a['budget']))"
)


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended, as the kernel tells it: wait status and the most memory it ever had resident, in KiB."""

    pid: int
    owner: str | None
    status: int
    peak_kib: int


class Zygote:
    """The parent's handle of the process that forks. One request at a time."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._greeted = False
        self._broken = False
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._control = ours
        with theirs:
            arguments = {
                "fd": theirs.fileno(),
                "path": _import_path(),
                "prelude": str(files("sandbox") / "prelude.js"),
                "budget": asdict(budget),
            }
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", _START, json.dumps(arguments)],
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                cwd=os.path.sep,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether the process runs."""
        return not self._broken and self._process.poll() is None

    def ready(self) -> None:
        """Wait until the process has prepared itself; ``Gone`` when it does not."""
        if self._greeted:
            return
        with self._lock:
            if not self._greeted:
                try:
                    self._control.settimeout(self._budget.start_ms / _MS)
                    self._read()
                except OSError:
                    raise Gone from None
                self._greeted = True

    def _ask(self, operation: bytes, argument: int, descriptor: int | None) -> tuple[int, int, int]:
        self.ready()
        with self._lock:
            try:
                self._control.settimeout(self._budget.start_ms / _MS)
                data = REQUEST.pack(operation, argument)
                if descriptor is None:
                    self._control.sendall(data)
                else:
                    socket.send_fds(self._control, [data], [descriptor])
                return self._read()
            except (OSError, Gone):
                self._broken = True  # a late answer would be taken for the next request's
                raise

    def _read(self) -> tuple[int, int, int]:
        data = b""
        while len(data) < ANSWER.size:
            part = self._control.recv(ANSWER.size - len(data))
            if not part:
                raise Gone
            data += part
        letter, pid, status, peak = ANSWER.unpack(data)
        if letter != READY:
            raise Gone  # it knows no such child: it is not the process that we started
        return pid, status, peak

    def spawn(self) -> Child:
        """A new child that has run nothing."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with theirs:
                pid, _status, _peak = self._ask(SPAWN, 0, theirs.fileno())
        except (OSError, Gone):
            ours.close()
            raise Gone from None
        return Child(pid, ours, idle_since=time.monotonic(), handle=_handle(pid), parent=self.pid)

    def wait(self, child: Child) -> Exit | None:
        """Release the pid of a child that was ended, and tell how it ended."""
        try:
            pid, status, peak = self._ask(WAIT, child.pid, None)
        except (OSError, Gone):
            return None
        return Exit(pid, child.owner, status, peak)

    def close(self) -> None:
        """Hang up; the zygote ends its children and itself."""
        self._control.close()
        try:
            self._process.wait(self._budget.deadline_ms / _MS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _handle(pid: int) -> int | None:
    """A handle of the process that no later process can inherit, where the system has such."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _import_path() -> list[str]:
    """Where the zygote finds this package and the engine: nothing else of the server's path."""
    places = [str(Path(__file__).resolve().parent.parent)]
    for name in ("quickjs", "_quickjs"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin).resolve()
            places.append(str(origin.parent.parent if name == "quickjs" else origin.parent))
    return places


class Pool:
    """Children by owner, at most ``budget.workers`` at once."""

    def __init__(self, budget: Budget, on_exit: Callable[[Exit], None] | None = None) -> None:
        self.budget = budget
        self._on_exit = on_exit
        self._condition = threading.Condition()
        self._idle: list[Child] = []
        self._busy: set[int] = set()
        self._ended: list[Child] = []
        self._closed = False
        self._starting = 0
        self._zygote: Zygote | None = Zygote(budget)
        self.restarts = 0
        self.hello: dict[str, object] | None = None

    def ready(self) -> None:
        """Wait for the first start; a zygote that cannot start shows when a child is asked of it."""
        zygote = self._zygote
        if zygote is not None:
            with contextlib.suppress(Gone):
                zygote.ready()

    # -- taking and giving back ------------------------------------------------------------------------------------

    def acquire(self, owner: str, deadline: float) -> Child | None:
        """A child for ``owner``, or ``None`` when the pool is closed; ``Expired`` when none came free in time."""
        retired: list[Child] = self._take_ended()
        try:
            with self._condition:
                while True:
                    if self._closed:
                        return None
                    child = self._take(owner, retired)
                    if child is not None:
                        return child
                    if len(self._busy) + self._starting < self.budget.workers:
                        self._starting += 1
                        break
                    left = deadline - time.monotonic()
                    if left <= 0 or not self._condition.wait(left):
                        raise Expired
            return self._start(owner, deadline)
        finally:
            self._reap(retired)

    def _take(self, owner: str, retired: list[Child]) -> Child | None:
        """Under the lock: the owner's idle child, else a spare. The rest goes to ``retired``."""
        now = time.monotonic()
        keep: list[Child] = []
        zygote = self._zygote
        living = zygote.pid if zygote is not None and zygote.alive() else None
        for child in self._idle:
            # The kernel ends the children of a dead zygote, but not at once.
            if child.parent != living or child.hung_up() or now - child.idle_since > self.budget.idle_s:
                retired.append(child)
            else:
                keep.append(child)
        self._idle = keep
        if len(self._busy) + self._starting >= self.budget.workers:
            return None
        own = [child for child in keep if child.owner == owner] or [child for child in keep if child.owner is None]
        if own:
            chosen = own[-1]
            keep.remove(chosen)
            chosen.owner = owner
            self._busy.add(chosen.pid)
            return chosen
        if len(self._busy) + self._starting + len(keep) >= self.budget.workers and keep:
            retired.append(keep.pop(0))
        return None

    def _start(self, owner: str, deadline: float) -> Child:
        child: Child | None = None
        try:
            child = self._spawn()
            child.owner = owner
            return child
        finally:
            with self._condition:
                self._starting -= 1
                if child is not None and not self._closed:
                    self._busy.add(child.pid)
                self._condition.notify()

    def _spawn(self) -> Child:
        zygote = self._living()
        try:
            return zygote.spawn()
        except Gone:
            return self._living(broken=zygote).spawn()

    def _living(self, broken: Zygote | None = None) -> Zygote:
        with self._condition:
            zygote = self._zygote
            if self._closed:
                raise Gone
            if zygote is not None and zygote is not broken and zygote.alive():
                return zygote
            # The kernel ends the children of a zygote that died; their handles find that out by themselves.
            fresh = self._zygote = Zygote(self.budget)
            self.restarts += 1
        if zygote is not None:
            zygote.close()
        return fresh

    def release(self, child: Child) -> None:
        """Give back a child that behaved; it is kept for its owner."""
        child.calls += 1
        child.idle_since = time.monotonic()
        # A child prepares as much as it answers, and the kernel counts both against its life.
        worn = child.calls >= self.budget.worker_calls or child.spent * 4 > self.budget.cpu_total_s
        with self._condition:
            self._busy.discard(child.pid)
            keep = not worn and not self._closed
            if keep:
                self._idle.append(child)
            self._condition.notify()
        if not keep:
            self._reap([child])

    def retire(self, owner: str) -> None:
        """End the idle children of one owner."""
        with self._condition:
            leaving = [*self._ended, *(child for child in self._idle if child.owner == owner)]
            self._ended = []
            self._idle = [child for child in self._idle if child.owner != owner]
            self._condition.notify_all()
        self._reap(leaving)

    def abandon(self, child: Child) -> None:
        """End a child whose caller has waited long enough; its pid is released with the next call."""
        child.kill()
        with self._condition:
            self._busy.discard(child.pid)
            if not self._closed:
                self._ended.append(child)
            self._condition.notify()

    def _take_ended(self) -> list[Child]:
        with self._condition:
            ended, self._ended = self._ended, []
            return ended

    def discard(self, child: Child) -> Exit | None:
        """End a child that did anything abnormal."""
        with self._condition:
            self._busy.discard(child.pid)
            self._condition.notify()
        return self._reap([child])

    def _reap(self, children: list[Child]) -> Exit | None:
        last: Exit | None = None
        for child in children:
            zygote = self._zygote
            if zygote is not None and (zygote.pid != child.parent or not zygote.alive()):
                zygote = None  # the child's own zygote is gone, and the kernel ended the child with it
            if zygote is None and child.handle is None:
                child.forget()  # its pid may be another process by now
                continue
            child.kill()
            last = zygote.wait(child) if zygote is not None else None
            if last is not None and self._on_exit is not None:
                self._on_exit(last)
        return last

    def refill(self, deadline: float) -> None:
        """Keep the wanted number of spare children, as far as there is room."""
        with self._condition:
            spare = sum(1 for child in self._idle if child.owner is None)
            room = self.budget.workers - len(self._busy) - len(self._idle) - self._starting
            if self._closed or deadline <= time.monotonic() or spare >= self.budget.spares or room <= 0:
                return
            self._starting += 1
        child: Child | None = None
        try:
            with contextlib.suppress(Gone):
                child = self._spawn()
        finally:
            with self._condition:
                self._starting -= 1
                keep = child is not None and not self._closed
                if keep and child is not None:
                    self._idle.append(child)
                self._condition.notify()
            if child is not None and not keep:
                self._reap([child])

    # -- looking and ending ----------------------------------------------------------------------------------------

    def pids(self) -> list[int]:
        """The pids of all children that live."""
        with self._condition:
            return sorted([*self._busy, *(child.pid for child in self._idle)])

    @property
    def zygote_pid(self) -> int | None:
        """The pid of the forking process."""
        return None if self._zygote is None else self._zygote.pid

    def close(self) -> None:
        """End everything; who waits is woken."""
        with self._condition:
            self._closed = True
            idle, self._idle = self._idle, []
            zygote, self._zygote = self._zygote, None
            self._condition.notify_all()
        for child in idle:
            child.forget()
        if zygote is not None:
            zygote.close()
