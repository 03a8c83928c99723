"""The allow-list of system calls of a child: a BPF program, installed with ``prctl``; no library is needed.

Whatever is not on the list ends the process. Memory may never become executable, and only the child's own descriptor
can be read and written because nothing else is open and nothing can be opened.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

_RET_KILL_PROCESS = 0x80000000
_RET_ALLOW = 0x7FFF0000
_LOAD_WORD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_SET = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06
_PROT_EXEC = 0x4

# Offsets in struct seccomp_data: number, architecture, low half of the third argument.
_NUMBER = 0
_ARCHITECTURE = 4
_THIRD_ARGUMENT = 16 + 8 * 2

_NAMES = (
    "read",
    "write",
    "close",
    "brk",
    "munmap",
    "mremap",
    "madvise",
    "futex",
    "rt_sigreturn",
    "rt_sigprocmask",
    "clock_gettime",
    "gettimeofday",
    "setitimer",
    "exit",
    "exit_group",
    "sched_yield",
    "getpid",
    "restart_syscall",
    "getrandom",
)
_PROTECTING = ("mmap", "mprotect")

# The numbers are the kernel's stable interface, per machine.
_TABLES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "read": 0,
            "write": 1,
            "close": 3,
            "mmap": 9,
            "mprotect": 10,
            "munmap": 11,
            "brk": 12,
            "rt_sigprocmask": 14,
            "rt_sigreturn": 15,
            "sched_yield": 24,
            "mremap": 25,
            "madvise": 28,
            "setitimer": 38,
            "getpid": 39,
            "exit": 60,
            "gettimeofday": 96,
            "futex": 202,
            "restart_syscall": 219,
            "clock_gettime": 228,
            "exit_group": 231,
            "getrandom": 318,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "close": 57,
            "read": 63,
            "write": 64,
            "exit": 93,
            "exit_group": 94,
            "futex": 98,
            "setitimer": 103,
            "clock_gettime": 113,
            "sched_yield": 124,
            "restart_syscall": 128,
            "rt_sigprocmask": 135,
            "rt_sigreturn": 139,
            "gettimeofday": 169,
            "getpid": 172,
            "brk": 214,
            "munmap": 215,
            "mremap": 216,
            "mmap": 222,
            "mprotect": 226,
            "madvise": 233,
            "getrandom": 278,
        },
    ),
}


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def _instruction(code: int, k: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jump_true, jump_false, k)


def build_filter(machine: str) -> bytes | None:
    """The program for ``machine``, or ``None`` when its numbers are not known here."""
    table = _TABLES.get(machine)
    if table is None:
        return None
    architecture, numbers = table
    program = [
        _instruction(_LOAD_WORD, _ARCHITECTURE),
        _instruction(_JUMP_EQUAL, architecture, 1, 0),
        _instruction(_RETURN, _RET_KILL_PROCESS),
        _instruction(_LOAD_WORD, _NUMBER),
    ]
    for name in _NAMES:
        program += [_instruction(_JUMP_EQUAL, numbers[name], 0, 1), _instruction(_RETURN, _RET_ALLOW)]
    for name in _PROTECTING:
        program += [
            _instruction(_JUMP_EQUAL, numbers[name], 0, 4),
            _instruction(_LOAD_WORD, _THIRD_ARGUMENT),
            _instruction(_JUMP_SET, _PROT_EXEC, 0, 1),
            _instruction(_RETURN, _RET_KILL_PROCESS),
            _instruction(_RETURN, _RET_ALLOW),
        ]
    program.append(_instruction(_RETURN, _RET_KILL_PROCESS))
    return b"".join(program)


def install() -> bool:
    """Lock this process for the rest of its life; ``False`` where the system or the machine has no filter for us."""
    if not sys.platform.startswith("linux") or sys.byteorder != "little":
        return False
    program = build_filter(platform.machine())
    if program is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    buffer = ctypes.create_string_buffer(program, len(program))
    described = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return bool(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0) == 0)


def set_death_signal(signal_number: int) -> None:
    """Have the kernel end this process when its parent ends (Linux only)."""
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
