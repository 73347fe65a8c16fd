"""`python -P forking_process.py N MODULE…` imports the modules, and then forks a child for each message at descriptor
N, a socket of packets. It ends when the other end of the socket is closed, and its children get SIGTERM.

A message is a `Start` as JSON, with descriptors: the first is told the child's process id, and then how it ended; three
are the child's standard input, output and error; the others are those that it inherits.
"""

import ctypes
import fcntl
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

MESSAGE_MAX = 128 * 1024
DESCRIPTORS_MAX = 16
PR_SET_PDEATHSIG = 1
OWN_FROM = 256
"""Descriptors of this process itself have this number or a higher one."""


@dataclass(frozen=True)
class Start:
    """A program as Python's command line has it: `-m` and a module or the path of a file, and arguments. `descriptors`
    are the numbers that its inherited descriptors have."""

    program: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    descriptors: tuple[int, ...]


class ForkingProcess:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._told: dict[int, int] = {}  # the descriptor for the end of each child
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)

    def next_child(self) -> Start | None:
        """Returns in each child what it is to run, and in this process None, at its end."""
        while True:
            ready, _, _ = select.select([self._requests.fileno(), self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            if self._requests.fileno() in ready:
                message, descriptors, _, _ = socket.recv_fds(self._requests, MESSAGE_MAX, DESCRIPTORS_MAX)
                if not message:
                    return None
                if start := self._forked(Start(**json.loads(message)), descriptors):
                    return start

    def _forked(self, start: Start, descriptors: list[int]) -> Start | None:
        """In the child, what it is to run."""
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setsid()
            tell(descriptors[0], os.getpid())  # whoever hears of it finds its session
            take_place(start, descriptors[1:], parent)
            for descriptor in (*descriptors, *self._told.values(), self._woken, self._wakes):
                os.close(descriptor)
            self._requests.close()
            return start
        told, *others = descriptors
        for descriptor in others:
            os.close(descriptor)
        self._told[pid] = told
        return None

    def _reap(self) -> None:
        while self._told:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            told = self._told.pop(pid)
            tell(told, os.waitstatus_to_exitcode(status))
            os.close(told)


def tell(descriptor: int, number: int) -> None:
    with suppress(BrokenPipeError):  # nobody asks any more
        os.write(descriptor, f"{number}\n".encode())


def take_place(start: Start, descriptors: list[int], parent: int) -> None:
    """In a child: the descriptors, folder and variables of the program. What is open beyond OWN_FROM belongs to what
    is imported."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)  # it has ended already
    os.closerange(0, OWN_FROM)
    for descriptor, number in zip(descriptors, (0, 1, 2, *start.descriptors), strict=True):
        os.dup2(descriptor, number)
    os.chdir(start.folder)
    os.environ.clear()
    os.environ.update(start.environment)


def keep_free_below(number: int) -> None:
    """Let this process open nothing below this number, which is free for what children inherit."""
    while (opened := os.open(os.devnull, os.O_RDONLY)) < number:
        pass
    os.close(opened)


def run(start: Start) -> None:
    kind, *arguments = start.program
    if kind == "-m":
        sys.argv = arguments
        sys.path.insert(0, start.folder)
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [*start.program]
        runpy.run_path(kind, run_name="__main__")


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    requests = socket.socket(fileno=fcntl.fcntl(int(sys.argv[1]), fcntl.F_DUPFD_CLOEXEC, OWN_FROM))
    keep_free_below(OWN_FROM)
    gc.disable()
    for name in sys.argv[2:]:
        import_module(name)
    gc.freeze()
    gc.enable()
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1, "a thread would be lost in each child"
    start = ForkingProcess(requests).next_child()
    if start is not None:
        run(start)


if __name__ == "__main__":
    main()
