"""Watches a script's processes from its guardian: how many there are, what they write, and what they hold together.

It runs on a thread of the guardian, once a second and whenever the script wants another process or thread.
"""

import os
import select
import signal
import socket
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from torpor_container.isolation.box import ScriptBox
from torpor_container.isolation.forks import ForkLimit
from torpor_container.processes.memory import anonymous_bytes, uss_bytes
from torpor_container.processes.process_tree import cpu_s, descendants

LOOK_S = 1.0
REST = 4
"""A look that takes long is followed by a rest of so many times its length."""
WROTE_TOO_MUCH = 122
"""The exit code of a script that wrote more than it may: EDQUOT."""
HELD_TOO_MUCH = 137
"""That of one whose processes held more memory together: as the kernel's own killer of processes."""


class ScriptWatch:
    """Watches one script. `verdict` is the exit code that its end stands for, if the watch ended it."""

    def __init__(self, box: ScriptBox, look_s: float = LOOK_S) -> None:
        self._box = box
        self._look_s = look_s
        self._child = 0
        self._spent_s = 0.0
        self._began_bytes = 0
        self.verdict: int | None = None

    def begin(self, child: int, line: socket.socket) -> None:
        """Watch the process `child`, which sends a listener over the line once it is in its box."""
        self._child = child
        threading.Thread(target=self._run, args=(line,), daemon=True).start()

    def _run(self, line: socket.socket) -> None:
        with line:
            _, descriptors, _, _ = socket.recv_fds(line, 1, 1)
        self._began_bytes = self._written_bytes()
        forks = ForkLimit(descriptors[0], self._tasks, self._box.processes) if descriptors else None
        asked = select.poll()
        if descriptors:
            asked.register(descriptors[0], select.POLLIN)
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
        if self._written_bytes() + deleted_bytes(pids) > self._began_bytes + self._box.disk_bytes:
            self._end(WROTE_TOO_MUCH)
        elif len(pids) > 1 and _hold_more_than(self._box.memory_bytes, pids):
            self._end(HELD_TOO_MUCH)

    def _end(self, verdict: int) -> None:
        self.verdict = verdict
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)  # its guardian ends all others then

    def _tasks(self) -> int:
        """The processes and threads of the script."""
        return sum(map(_threads, [self._child, *descendants(self._child)]))

    def _written_bytes(self) -> int:
        return written_bytes((self._box.scratch, self._box.model))


def start(arguments: Mapping[str, Any]) -> ScriptWatch:
    """The watch for a box, from its fields."""
    return ScriptWatch(ScriptBox.of(arguments))


def written_bytes(folders: Iterable[str]) -> int:
    """The disk space of all files in folders and below them."""
    return sum(map(_below_bytes, folders))


def _below_bytes(folder: str) -> int:
    size_bytes = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    size_bytes += _below_bytes(entry.path)
                else:
                    size_bytes += entry.stat(follow_symlinks=False).st_blocks * 512
    return size_bytes


def deleted_bytes(pids: Iterable[int]) -> int:
    """The disk space of files that these processes hold open and that no folder has any more."""
    held = {(status.st_dev, status.st_ino): status.st_blocks * 512 for pid in pids for status in _open_files(pid)}
    return sum(held.values())


def _open_files(pid: int) -> Iterator[os.stat_result]:
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for one in descriptors:
            with suppress(OSError):
                status = one.stat()
                if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                    yield status


def _hold_more_than(most_bytes: int, pids: Sequence[int]) -> bool:
    """Whether processes hold more memory of their own. Its exact figure takes milliseconds, so a bound comes first."""
    return sum(map(anonymous_bytes, pids)) > most_bytes and sum(map(uss_bytes, pids)) > most_bytes


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0
