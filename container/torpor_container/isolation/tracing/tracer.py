"""Traces a script's processes and threads: its guardian decides some of their calls before the kernel makes them.

Source: ptrace(2), seccomp(2) (SECCOMP_RET_TRACE). A task stands still at such a call, and at its birth, until the
guardian lets it go on; no signal interrupts it there, unlike a wait for a listener of the filter (seccomp_unotify(2)).
The kernel traces each task that a traced one starts, and kills all of them with the guardian. Only the thread that
began to trace may do these calls.
"""

import ctypes
import os
import signal
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from torpor_container.isolation.kernel import machine, syscall

NUMBERS = {"x86_64": 101, "aarch64": 117}
"""The numbers of ptrace(2) itself."""

CONT, POKE_USER, SEIZE, LISTEN, GET_CALL = 7, 6, 0x4206, 0x4208, 0x420E
GET_REGISTERS, SET_REGISTERS = 0x4204, 0x4205
"""PTRACE_CONT, POKEUSER, SEIZE, LISTEN, GET_SYSCALL_INFO, GETREGSET and SETREGSET."""
FORK, VFORK, CLONE, CALL, KILLED_WITH_TRACER = 1 << 1, 1 << 2, 1 << 3, 1 << 7, 1 << 20
OPTIONS = FORK | VFORK | CLONE | CALL | KILLED_WITH_TRACER
"""PTRACE_O_TRACEFORK, TRACEVFORK, TRACECLONE, TRACESECCOMP and EXITKILL."""
AT_CALL, AT_STOP = 7, 128
"""PTRACE_EVENT_SECCOMP and PTRACE_EVENT_STOP: the latter is a birth, or a stop by a signal of STOPS."""
STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

CALL_INFO = struct.Struct("=B3xIQQQ6QI")
"""`struct ptrace_syscall_info` at a call of the filter: kind, architecture, two pointers, number, arguments, data."""
OF_CALL, OF_ARCHITECTURE = 0, 1
NO_CALL = -1
ORIG_RAX, RAX = 120, 80
"""Offsets in x86_64's `struct user`."""
GENERAL, CALL_NUMBER = 1, 0x404
"""NT_PRSTATUS and NT_ARM_SYSTEM_CALL."""
REGISTERS_BYTES = 272
"""aarch64's `struct user_pt_regs`; its first 8 bytes are the result."""

ADMINISTRATORS_ONLY = 2
"""The value of kernel.yama.ptrace_scope from which a process may not trace its own children."""
SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")

Ptrace = Callable[..., int]


class TracedCall(NamedTuple):
    """A call of the kernel that a task (process or thread) is about to make, by number."""

    task: int
    number: int
    arguments: tuple[int, ...]


Decide = Callable[[TracedCall], int | None]
"""None: the kernel makes the call. Otherwise it is not made, and this is its result: a negative one is an error."""


def available(scope: Path = SCOPE) -> bool:
    """Whether this machine lets a process trace those that it started."""
    try:
        return int(scope.read_text()) < ADMINISTRATORS_ONLY or not os.geteuid()
    except (OSError, ValueError):
        return True  # its kernel has no such rule


def begin(task: int) -> None:
    """Trace a process that has one thread, and all that it starts from now on. Raises OSError."""
    _ptrace(SEIZE, task, 0, OPTIONS)


def go_on(task: int, status: int, decide: Decide) -> None:
    """Let a traced task go on from its stop, with the status that `waitpid` gave. It may be gone by now."""
    event, number = status >> 16, os.WSTOPSIG(status)
    with suppress(ProcessLookupError):
        if event == AT_CALL and (call := _call(task)) is not None and (result := decide(call)) is not None:
            _answer(task, result)
        if event == AT_STOP and number in STOPS:
            _ptrace(LISTEN, task, 0, 0)
        else:
            _ptrace(CONT, task, 0, 0 if event else number)


def _call(task: int) -> TracedCall | None:
    """The call at which a task stands, by this machine's convention."""
    buffer = ctypes.create_string_buffer(CALL_INFO.size)
    _ptrace(GET_CALL, task, len(buffer), ctypes.addressof(buffer))
    _, _, _, _, number, *arguments, _ = CALL_INFO.unpack(buffer.raw)
    return TracedCall(task, number, tuple(arguments))


def _answer(task: int, result: int) -> None:
    """Keep the kernel from making the call at which a task stands, and give it this result."""
    if machine() == "x86_64":
        _ptrace(POKE_USER, task, ORIG_RAX, NO_CALL)
        _ptrace(POKE_USER, task, RAX, result)
        return
    number = struct.pack("=i", NO_CALL)
    _register_set(SET_REGISTERS, task, CALL_NUMBER, ctypes.create_string_buffer(number, len(number)))
    registers = ctypes.create_string_buffer(REGISTERS_BYTES)
    _register_set(GET_REGISTERS, task, GENERAL, registers)
    struct.pack_into("=q", registers, 0, result)
    _register_set(SET_REGISTERS, task, GENERAL, registers)


def _register_set(request: int, task: int, kind: int, buffer: "ctypes.Array[ctypes.c_char]") -> None:
    place = ctypes.create_string_buffer(struct.pack("=QQ", ctypes.addressof(buffer), len(buffer)), 16)
    _ptrace(request, task, kind, ctypes.addressof(place))


def _ptrace(request: int, task: int, address: int, value: int) -> None:
    syscall(NUMBERS[machine()], *map(ctypes.c_long, (request, task, address, value)))
