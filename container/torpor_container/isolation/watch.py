"""Watches a script's processes from its guardian: how many there are, what they write, and what they hold together.

Memory that processes share is in no limit of the kernel's: it counts here, with what is in the script's own `/dev/shm`.

It runs on a thread of the guardian, once a second and whenever the script wants another process or thread.
"""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from torpor_container.isolation.box import LISTENER, SHARED, ScriptBox
from torpor_container.isolation.forks import ForkLimit
from torpor_container.isolation.unnamed_files import unnamed
from torpor_container.isolation.views import COUNTED
from torpor_container.isolation.written import Written, written
from torpor_container.processes.memory import anonymous_bytes, uss_bytes
from torpor_container.processes.process_tree import cpu_s, descendants

LOOK_S = 1.0
REST = 4
"""A look that takes long is followed by a rest of so many times its length."""
WROTE_TOO_MUCH = 122
"""The exit code of a script that wrote more than it may: EDQUOT."""
HELD_TOO_MUCH = 137
"""That of one whose processes held more memory together: as the kernel's own killer of processes."""
MADE_TOO_MANY = 28
"""That of one that made more files than it may: ENOSPC."""


class ScriptWatch:
    """Watches one script. `verdict` is the exit code that its end stands for, if the watch ended it."""

    def __init__(self, box: ScriptBox, look_s: float = LOOK_S) -> None:
        self._box = box
        self._look_s = look_s
        self._child = 0
        self._spent_s = 0.0
        self._began = Written(0, 0)
        self._shared: int | None = None  # a descriptor of the script's own shared memory
        self.verdict: int | None = None

    def begin(self, child: int, line: socket.socket) -> None:
        """Watch the process `child`, which sends a listener over the line once it is in its box."""
        self._child = child
        threading.Thread(target=self._run, args=(line,), daemon=True).start()

    def _run(self, line: socket.socket) -> None:
        with line:
            kinds, descriptors, _, _ = socket.recv_fds(line, 2, 2)
        given = dict(zip(kinds.decode(), descriptors, strict=True))
        self._began, self._shared = self._written(), given.get(SHARED.decode())
        listener = given.get(LISTENER.decode())
        forks = ForkLimit(listener, self._tasks, self._box.processes) if listener is not None else None
        asked = select.poll()
        if listener is not None:
            asked.register(listener, select.POLLIN)
        look_at_s = time.monotonic() + self._look_s
        while self.verdict is None:
            for _, event in asked.poll(max(0.0, look_at_s - time.monotonic()) * 1000):
                if not event & select.POLLIN:  # no process is left that could ask
                    return
                if forks is not None:
                    forks.answer()
            if (began_s := time.monotonic()) >= look_at_s:
                with suppress(OSError):  # a process cannot be read now: without this thread, each fork would wait
                    self._look()
                look_at_s = time.monotonic() + max(self._look_s, REST * (time.monotonic() - began_s))

    def _look(self) -> None:
        pids = [self._child, *descendants(self._child)]
        spent_s = sum(map(cpu_s, pids))
        if spent_s == self._spent_s:
            return  # it has done nothing since
        self._spent_s = spent_s
        has, holds = self._written(), unnamed(pids)
        if has.size_bytes + holds.disk_bytes > self._began.size_bytes + self._box.disk_bytes:
            self._end(WROTE_TOO_MUCH)
        elif has.files > self._began.files + self._box.files:
            self._end(MADE_TOO_MANY)
        elif self._hold_too_much(pids, holds.memory_bytes + self._shared_bytes()):
            self._end(HELD_TOO_MUCH)

    def _hold_too_much(self, pids: Sequence[int], shared_bytes: int) -> bool:
        """The kernel limits what one process holds alone."""
        return (len(pids) > 1 or shared_bytes > 0) and _hold_more_than(self._box.memory_bytes - shared_bytes, pids)

    def _shared_bytes(self) -> int:
        """What the files in the script's own shared memory take."""
        if self._shared is None:
            return 0
        status = os.fstatvfs(self._shared)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def _end(self, verdict: int) -> None:
        self.verdict = verdict
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)  # its guardian ends all others then

    def _tasks(self) -> int:
        """The processes and threads of the script."""
        return sum(map(_threads, [self._child, *descendants(self._child)]))

    def _written(self) -> Written:
        return written(os.path.join(self._box.scratch, name) for name in COUNTED)


def start(arguments: Mapping[str, Any]) -> ScriptWatch:
    """The watch for a box, from its fields."""
    return ScriptWatch(ScriptBox.of(arguments))


def _hold_more_than(most_bytes: int, pids: Sequence[int]) -> bool:
    """Whether processes hold more memory of their own. Its exact figure takes milliseconds, so a bound comes first."""
    return sum(map(anonymous_bytes, pids)) > most_bytes and sum(map(uss_bytes, pids)) > most_bytes


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0
