"""The processes: isolation, locks, deadlines, deaths at random, threads, flat memory (design §7)."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from sandbox import DEFAULT_BUDGET, LIMITS, Budget, HelperCall, ProcessSandbox, SandboxError
from sandbox.errors import DISPOSED, ERRORS, EXECUTION, LIMIT
from sandbox.pool import Exit
from sandbox.seccomp import build_filter
from tests.sandbox.helpers import VARIABLES, commands, kept, listener, refused

LINUX = sys.platform.startswith("linux")
GOOD = listener("commands.splice(1, 1);")
ENDLESS = listener("for (;;);")
NATIVE = listener("Array.prototype.reverse.call({length: 2 ** 53 - 1});")
MARGIN_S = 1.0  # what a loaded machine may add to any measured wait
SOAK_CALLS = int(os.environ.get("SANDBOX_SOAK_CALLS", "2000"))


@pytest.fixture
def own() -> Iterator[ProcessSandbox]:
    """A sandbox of the test's own."""
    with ProcessSandbox() as sandbox:
        yield sandbox


def children(sandbox: ProcessSandbox) -> list[int]:
    found = sandbox.status()["children"]
    assert isinstance(found, list)
    return found


def persistently(sandbox: ProcessSandbox, source: str, owner: str = "owner") -> list[int]:
    """The answer at the latest at the third try: a call may meet a child that the kernel is just ending."""
    for _ in range(2):
        try:
            return kept(sandbox, source, owner=owner)
        except SandboxError as error:
            assert error.code == EXECUTION and error.retryable, error
    return kept(sandbox, source, owner=owner)


def resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def test_a_child_never_serves_two_owners() -> None:
    exits: list[Exit] = []
    with ProcessSandbox(on_exit=exits.append) as sandbox:
        for round_number in range(3):
            for owner in ("ann", "bob", "cid"):
                assert kept(sandbox, GOOD, owner=owner) == [0, 2, 3], round_number
        for owner in ("ann", "bob", "cid"):
            sandbox.retire(owner)
    served = [(ended.pid, ended.owner) for ended in exits]
    assert sorted(owner or "" for _pid, owner in served) == ["ann", "bob", "cid"]
    assert len({pid for pid, _owner in served}) == 3


def test_one_owner_keeps_its_child_until_something_goes_wrong(own: ProcessSandbox) -> None:
    kept(own, GOOD)
    before = set(children(own))
    kept(own, GOOD)
    assert set(children(own)) == before
    refused(own, ENDLESS)
    kept(own, GOOD)
    assert len(set(children(own)) & before) == len(before) - 1


@pytest.mark.skipif(not LINUX or os.geteuid() != 0, reason="only root may look into a process that hides itself")
def test_a_child_holds_nothing_but_its_pipe(own: ProcessSandbox) -> None:
    os.environ["INNKEEPER_SECRET_FOR_TEST"] = "do not leak"
    try:
        with ProcessSandbox() as sandbox:
            kept(sandbox, GOOD)
            zygote = sandbox.status()["zygote"]
            for pid in [zygote, *children(sandbox)]:
                environment = Path(f"/proc/{pid}/environ").read_bytes()
                assert b"SECRET" not in environment
                assert b"PATH=" not in environment
            for pid in children(sandbox):
                deadline = time.monotonic() + 5  # a spare child may still be locking itself
                while (held := os.listdir(f"/proc/{pid}/fd")) != ["0"]:
                    assert time.monotonic() < deadline, held
                    time.sleep(0.01)
                assert os.readlink(f"/proc/{pid}/fd/0").startswith("socket:")
    finally:
        del os.environ["INNKEEPER_SECRET_FOR_TEST"]


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_a_child_is_locked(own: ProcessSandbox) -> None:
    kept(own, GOOD)
    pid = children(own)[0]  # the eldest: it has answered
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    assert own.status()["seccomp"] is (status["Seccomp"].strip() == "2")
    assert status["NoNewPrivs"].strip() == "1"
    limits = Path(f"/proc/{pid}/limits").read_text()
    rows = {line[:26].strip(): line[26:].split()[:2] for line in limits.splitlines()[1:]}
    assert rows["Max file size"] == ["0", "0"]
    assert rows["Max open files"] == ["0", "0"]
    assert rows["Max core file size"] == ["0", "0"]
    assert rows["Max processes"] == ["0", "0"]
    assert rows["Max address space"][0] == rows["Max address space"][1] != "unlimited"
    space = int(rows["Max address space"][1]) - int(status["VmSize"].split()[0]) * 1024
    assert 0 < space <= DEFAULT_BUDGET.address_bytes
    assert rows["Max cpu time"] == [str(DEFAULT_BUDGET.cpu_total_s)] * 2


@pytest.mark.skipif(not LINUX or build_filter(platform.machine()) is None, reason="no filter for this machine")
@pytest.mark.parametrize(
    "act",
    [
        "open('/etc/hostname')",
        "os.socketpair() if hasattr(os, 'socketpair') else __import__('socket').socketpair()",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.kill(os.getppid(), 0)",
        "os.stat('/')",
        "os.pipe()",
        "os.dup(0)",
        "__import__('mmap').mmap(-1, 4096, prot=7)",
        "os.getuid()",
        "os.ptrace if hasattr(os, 'ptrace') else libc.ptrace(0, 0, 0, 0)",
    ],
)
def test_a_forbidden_call_ends_the_process(act: str) -> None:
    code = (
        "import ctypes, mmap, os, socket, sys\nlibc = ctypes.CDLL(None)\nfrom sandbox import seccomp\n"
        f"assert seccomp.install()\n{act}\nos.write(1, b'escaped')\nos._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=_root())
    assert done.returncode == -signal.SIGSYS, (done.returncode, done.stdout, done.stderr)


def _root() -> Path:
    return Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not LINUX or build_filter(platform.machine()) is None, reason="no filter for this machine")
def test_allowed_calls_go_on_under_the_filter() -> None:
    code = (
        "import os, signal, time\nfrom sandbox import seccomp\nassert seccomp.install()\n"
        "signal.setitimer(signal.ITIMER_PROF, 5)\ntime.process_time()\nbytearray(8 << 20)\n"
        "os.write(1, b'alive')\nos._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=_root())
    assert (done.returncode, done.stdout) == (0, b"alive")


def test_the_kernel_ends_what_the_engine_cannot_interrupt() -> None:
    with ProcessSandbox(Budget(deadline_ms=30_000)) as patient:  # however busy the machine is
        error = refused(patient, NATIVE)
    assert (error.code, error.retryable, error.bound) == (EXECUTION, True, "cpu")


def test_the_deadline_holds_from_outside() -> None:
    budget = Budget(cpu_ms=60, cpu_kill_ms=80, deadline_ms=100)
    with ProcessSandbox(budget) as sandbox:
        kept(sandbox, GOOD)
        pid = next(pid for pid in children(sandbox))
        if not LINUX:
            return
        os.kill(pid, signal.SIGSTOP)  # a child that neither works nor dies
        started = time.monotonic()
        errors: list[SandboxError] = []
        for _ in range(2):  # the stopped child may be the spare one
            try:
                kept(sandbox, GOOD)
            except SandboxError as error:
                errors.append(error)
        assert time.monotonic() - started < 2 * budget.deadline_ms / 1000 + MARGIN_S
        for late in errors:
            assert (late.code, late.retryable, late.bound) == (EXECUTION, True, "deadline")
        assert kept(sandbox, GOOD) == [0, 2, 3]


def test_waiting_for_a_child_counts_against_the_deadline() -> None:
    budget = Budget(workers=1, spares=0, deadline_ms=400, cpu_ms=250, cpu_kill_ms=350)
    with ProcessSandbox(budget) as sandbox, ThreadPoolExecutor(6) as threads:
        kept(sandbox, GOOD)

        def attempt(number: int) -> tuple[float, str]:
            started = time.monotonic()
            try:
                kept(sandbox, ENDLESS, owner=f"o{number}")
            except SandboxError as error:
                assert error.code == EXECUTION and error.retryable
                return time.monotonic() - started, error.bound
            raise AssertionError("an endless helper answered")

        results = list(threads.map(attempt, range(6)))
        assert all(took < budget.deadline_ms / 1000 + MARGIN_S for took, _bound in results), results
        assert {bound for _took, bound in results} <= {"time", "cpu", "deadline", "busy"}
        assert "busy" in {bound for _took, bound in results}


def test_sixteen_threads_get_their_own_answers() -> None:
    patient = Budget(workers=6, deadline_ms=20_000)  # a small pool, and time enough on a busy machine

    def work(small: ProcessSandbox, number: int) -> None:
        owner = f"owner{number % 5}"
        for round_number in range(12):
            wanted = (number + round_number) % 4
            source = listener(f"const c = commands[{wanted}]; commands.length = 0; commands.push(c);")
            assert kept(small, source, owner=owner) == [wanted]

    with ProcessSandbox(patient) as small:
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(partial(work, small), range(16)))
        assert len(children(small)) <= patient.workers


def test_hostile_and_good_callers_at_once(own: ProcessSandbox) -> None:
    def bad(number: int) -> str:
        return refused(own, ENDLESS if number % 2 else NATIVE, owner=f"bad{number % 3}").code

    def good(number: int) -> list[int]:
        for _ in range(3):  # a good caller may find no free child among so many bad ones, and may try again
            try:
                return kept(own, GOOD, owner=f"good{number % 3}")
            except SandboxError as error:
                assert error.retryable and error.code == EXECUTION
        return [0, 2, 3]

    with ThreadPoolExecutor(8) as threads:
        bads = [threads.submit(bad, number) for number in range(8)]
        goods = [threads.submit(good, number) for number in range(16)]
        assert {future.result() for future in bads} == {EXECUTION}
        assert all(future.result() == [0, 2, 3] for future in goods)


def test_random_kills_of_children_leave_every_caller_with_an_answer(own: ProcessSandbox) -> None:
    dice = random.Random(7)
    stop = threading.Event()

    def killer() -> None:
        while not stop.is_set():
            pids = own._pool.pids()
            if pids:
                with_handle = dice.choice(pids)
                try:
                    os.kill(with_handle, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            stop.wait(dice.random() * 0.01)

    answers = {"right": 0, "died": 0}
    slowest = 0.0
    lock = threading.Lock()

    def work(number: int) -> None:
        nonlocal slowest
        for _ in range(25):
            started = time.monotonic()
            try:
                assert kept(own, GOOD, owner=f"o{number % 4}") == [0, 2, 3]
                outcome = "right"
            except SandboxError as error:
                assert error.code == EXECUTION and error.retryable, error
                outcome = "died"
            with lock:
                answers[outcome] += 1
                slowest = max(slowest, time.monotonic() - started)

    thread = threading.Thread(target=killer)
    kept(own, GOOD)
    thread.start()
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8)))
    finally:
        stop.set()
        thread.join()
    assert sum(answers.values()) == 200
    assert answers["right"] > 0
    assert slowest < DEFAULT_BUDGET.deadline_ms / 1000 + MARGIN_S
    assert persistently(own, GOOD) == [0, 2, 3]


def test_a_dead_zygote_is_replaced(own: ProcessSandbox) -> None:
    kept(own, GOOD)
    before = own.status()["zygote"]
    os.kill(before, signal.SIGKILL)
    assert persistently(own, GOOD) == [0, 2, 3]
    while LINUX and _runs(before):
        time.sleep(0.01)
    assert persistently(own, GOOD, owner="new") == [0, 2, 3]
    status = own.status()
    assert status["zygote"] != before and status["restarts"] == 1


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_children_die_with_the_process_that_asked_for_them() -> None:
    code = (
        "import sys, time\nfrom sandbox import ProcessSandbox\nfrom tests.sandbox.helpers import kept\n"
        "from tests.sandbox.test_process import GOOD\ns = ProcessSandbox()\nkept(s, GOOD)\n"
        "found = s.status()\nprint(found['zygote'], *found['children'], flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=_root()) as server:
        assert server.stdout is not None
        pids = [int(word) for word in server.stdout.readline().split()]
        assert len(pids) >= 2
        server.kill()
    deadline = time.monotonic() + 5
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < deadline, pids
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_closed_sandbox_refuses_and_leaves_nothing() -> None:
    sandbox = ProcessSandbox()
    kept(sandbox, GOOD)
    status = sandbox.status()
    sandbox.close()
    sandbox.close()
    error = refused(sandbox, GOOD)
    assert (error.code, error.retryable) == (DISPOSED, False)
    assert not sandbox.status()["ready"]
    if LINUX:
        assert not any(_runs(pid) for pid in [status["zygote"], *status["children"]])


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_a_forgotten_sandbox_leaves_no_process() -> None:
    sandbox = ProcessSandbox()
    kept(sandbox, GOOD)
    status = sandbox.status()
    del sandbox
    gc.collect()
    assert not any(_runs(pid) for pid in [status["zygote"], *status["children"]])


def test_a_silent_zygote_is_given_up() -> None:
    with ProcessSandbox(Budget(start_ms=300, spares=0)) as sandbox:
        kept(sandbox, GOOD)
        if not LINUX:
            return
        before = sandbox.status()["zygote"]
        os.kill(before, signal.SIGSTOP)
        try:
            answers = []
            for number in range(4):
                try:
                    answers.append(kept(sandbox, GOOD, owner=f"new{number}"))
                except SandboxError as error:
                    assert error.code == EXECUTION and error.retryable
            assert answers[-1] == [0, 2, 3]
            assert sandbox.status()["zygote"] != before
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(before, signal.SIGKILL)


def test_closing_wakes_who_waits() -> None:
    sandbox = ProcessSandbox(Budget(workers=1, spares=0, deadline_ms=5_000, cpu_ms=3_000, cpu_kill_ms=4_000))
    kept(sandbox, GOOD)
    with ThreadPoolExecutor(2) as threads:
        futures = [threads.submit(refused, sandbox, ENDLESS, owner=f"o{n}") for n in range(2)]
        time.sleep(0.3)
        started = time.monotonic()
        sandbox.close()
        codes = {future.result().code for future in futures}
        assert time.monotonic() - started < 2
    assert codes == {DISPOSED}


def test_too_much_input_is_refused_before_it_is_sent(own: ProcessSandbox) -> None:
    huge = "x" * (DEFAULT_BUDGET.input_bytes + 1)
    error = refused(own, GOOD, text=huge)
    assert (error.code, error.retryable) == (LIMIT, False)
    assert kept(own, GOOD) == [0, 2, 3]


def test_the_largest_inputs_stay_within_the_memory_allowance() -> None:
    exits: list[Exit] = []
    with ProcessSandbox(on_exit=exits.append) as sandbox:
        kept(sandbox, GOOD, owner="idle")
        sandbox.retire("idle")
        idle = exits[-1].peak_kib
        state = '{"stat_data":{"a":"' + "值" * 650_000 + '"}}'
        source = listener("if (variables.stat_data.a.length === 650000) commands.length = 1;")
        assert kept(sandbox, source, owner="big", variables=state, text="文" * 1_000_000) == [0]
        sandbox.retire("big")
        assert exits[-1].owner == "big"
        assert exits[-1].peak_kib - idle <= 48 * 1024


def test_a_worn_child_is_replaced() -> None:
    exits: list[Exit] = []
    with ProcessSandbox(Budget(worker_calls=3), on_exit=exits.append) as sandbox:
        for _ in range(7):
            kept(sandbox, GOOD)
        assert [ended.owner for ended in exits] == ["owner", "owner"]


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_many_good_calls_leave_memory_flat_and_no_descriptor() -> None:
    """``SANDBOX_SOAK_CALLS=100000`` is the long run (``make soak``)."""
    with ProcessSandbox(replace(DEFAULT_BUDGET, spares=0, worker_calls=10**9, cpu_total_s=100_000)) as sandbox:
        source = listener("if (variables.stat_data.hp !== 10) throw 1; commands.pop();")
        for _ in range(200):
            kept(sandbox, source)
        pid = children(sandbox)[0]
        child_before, own_before = resident_kib(pid), resident_kib(os.getpid())
        descriptors = len(os.listdir("/proc/self/fd"))
        for _ in range(SOAK_CALLS):
            assert kept(sandbox, source) == [0, 1, 2]
        assert children(sandbox) == [pid]
        assert resident_kib(pid) - child_before <= 2 * 1024
        assert resident_kib(os.getpid()) - own_before <= 8 * 1024
        assert len(os.listdir("/proc/self/fd")) == descriptors


def test_many_owners_leave_no_descriptor_and_no_process(own: ProcessSandbox) -> None:
    kept(own, GOOD)
    descriptors = len(os.listdir("/proc/self/fd")) if LINUX else 0
    for number in range(60):
        kept(own, GOOD, owner=f"o{number}")
        if number % 3 == 0:
            refused(own, listener("throw 1"), owner=f"o{number}")
    assert len(children(own)) <= DEFAULT_BUDGET.workers
    if LINUX:
        assert len(os.listdir("/proc/self/fd")) - descriptors <= 2 * DEFAULT_BUDGET.workers


def test_limits_keep_their_relations() -> None:
    assert len({row.name for row in LIMITS}) == len(LIMITS)
    known = {row.code for row in ERRORS}
    assert {row.error for row in LIMITS} <= known
    with pytest.raises(ValueError, match="cpu"):
        Budget(cpu_ms=400)
    with pytest.raises(ValueError, match="heap"):
        Budget(heap_bytes=DEFAULT_BUDGET.address_bytes)
    with pytest.raises(ValueError, match="workers"):
        Budget(workers=0)


def test_the_status_names_engine_and_locks(own: ProcessSandbox) -> None:
    status = own.status()
    assert status["ready"] is True and status["engine"] == "quickjs-ng" and status["error"] is None
    assert status["seccomp"] or "seccomp" in status["warning"]


def test_the_plain_call_has_no_surprises(own: ProcessSandbox) -> None:
    call = HelperCall("o", GOOD, VARIABLES, commands(3), "text")
    assert own.run(call).commands == tuple(commands(3)[index] for index in (0, 2))
