"""Watches a script's processes from its guardian: how many there are, what they write, and what they hold together.

Memory that processes share is in no limit of the kernel's: it counts here, with what is in the script's own `/dev/shm`.

It looks at them once a second, on a thread of the guardian. The guardian's first thread traces them, and decides each
new process or thread, and each change of a file's metadata.
"""

import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from torpor_container.isolation.box import NOT_TRACED, TRACED, ScriptBox, told
from torpor_container.isolation.compiled import compile_modules
from torpor_container.isolation.kernel import machine
from torpor_container.isolation.system_calls import FORKS
from torpor_container.isolation.tracing import metadata, tracer
from torpor_container.isolation.tracing.calling_task import OwnPlaces
from torpor_container.isolation.tracing.forks import ForkLimit
from torpor_container.isolation.tracing.tracer import TracedCall
from torpor_container.isolation.unnamed_files import unnamed
from torpor_container.isolation.views import COUNTED
from torpor_container.isolation.written import WITHOUT_END, Written, written
from torpor_container.processes.memory import anonymous_bytes, uss_bytes
from torpor_container.processes.process_tree import cpu_s, descendants, run_ns
from torpor_container.typed_json import read

LOOK_S = 1.0
REST = 4
"""A look that takes long is followed by a rest of so many times its length."""
WROTE_TOO_MUCH = 122
"""The exit code of a script that wrote more than it may: EDQUOT."""
HELD_TOO_MUCH = 137
"""That of one whose processes held more memory together: as the kernel's own killer of processes."""
MADE_TOO_MANY = 28
"""That of one that made more files than it may: ENOSPC."""
HID = 13
"""That of one with a process that its guardian cannot read: EACCES."""


ENDED = (b"Z", b"X", b"x")
"""The states of a process without memory (proc(5))."""


class ScriptWatch:
    """Watches one script. `verdict` is the exit code that its end stands for, if the watch ended it. `began`: the files
    that were there before the script."""

    def __init__(self, box: ScriptBox, look_s: float = LOOK_S) -> None:
        self._box = box
        self._look_s = look_s
        self._child = 0
        self._worked = (-1, 0.0)
        self._hidden = frozenset[int]()
        self.began = Written(0, 0)
        self._shared: int | None = None  # a descriptor of the script's own shared memory
        self._starting: Collection[int | None] = ()
        self._changing: Mapping[int, str] = {}
        self._places = OwnPlaces(0, ())
        self._seen = set[int]()
        self._entered = threading.Event()
        self._over = threading.Event()
        self.verdict: int | None = None

    def begin(self, child: int, line: socket.socket) -> None:
        """Watch the process `child`, and tell it over the line whether it is traced. The thread that calls this is the
        one that traces."""
        self._child = child
        self._forks = ForkLimit(self._tasks, self._box.processes)
        answer = NOT_TRACED
        if self._box.filters:
            self._starting = {row.number(machine()) for row in FORKS}
            self._changing = metadata.by_number()
            answer = _traced(child)
        threading.Thread(target=self._run, args=(line, answer), daemon=True).start()

    def end(self) -> None:
        """Watch no more: the child was waited for, and its number may be another process's by now."""
        self._over.set()

    def stopped(self, task: int, status: int) -> None:
        """Let a process or thread go on that stopped, as the tracer sees it. Each does so at its birth."""
        self._seen.add(task)
        tracer.go_on(task, status, self._decide)

    def _decide(self, call: TracedCall) -> int | None:
        if call.number in self._starting:
            return -errno.EAGAIN if self._forks.is_full() else None
        name = self._changing.get(call.number)
        return None if name is None else self._made(call, name)

    def _made(self, call: TracedCall, name: str) -> int:
        self._entered.wait()  # it said what it may change before it had the filter
        return metadata.made(call, name, self._places)

    def _run(self, line: socket.socket, answer: bytes) -> None:
        with line:
            own, self._shared = told(line)
            self._places = OwnPlaces(self._child, own)
            self._entered.set()
            self.began = self._written()  # before the script runs: what it makes is not there yet
            with suppress(OSError):  # it has ended
                line.send(answer)
        pause_s, is_first = self._look_s, bool(self._box.compiled)
        while self.verdict is None and not self._over.wait(pause_s):
            began_s = time.monotonic()
            with suppress(OSError):  # a process cannot be read now
                self._look()
            if is_first and self.verdict is None:
                compile_modules(Path(self._box.model), Path(self._box.compiled))
            is_first = False
            pause_s = max(self._look_s, REST * (time.monotonic() - began_s))

    def _look(self) -> None:
        pids = descendants(os.getpid())
        worked = sum(map(run_ns, pids)), sum(map(cpu_s, pids))
        if worked == self._worked:
            return  # it has done nothing since
        self._worked = worked
        has, holds, hidden = (
            self._written(self.began.files + self._box.files),
            unnamed(pids),
            frozenset(filter(_is_hidden, pids)),
        )
        if hidden & self._hidden:  # and not only for a moment
            self._kill(HID)
        elif has.size_bytes + holds.disk_bytes > self.began.size_bytes + self._box.disk_bytes:
            self._kill(WROTE_TOO_MUCH)
        elif has.files > self.began.files + self._box.files:
            self._kill(MADE_TOO_MANY)
        elif self._hold_too_much(pids, holds.memory_bytes + self._shared_bytes()):
            self._kill(HELD_TOO_MUCH)
        self._hidden = hidden

    def _hold_too_much(self, pids: Sequence[int], shared_bytes: int) -> bool:
        """The kernel limits what one process holds alone."""
        return (len(pids) > 1 or shared_bytes > 0) and _hold_more_than(self._box.memory_bytes - shared_bytes, pids)

    def _shared_bytes(self) -> int:
        """What the files in the script's own shared memory take."""
        if self._shared is None:
            return 0
        status = os.fstatvfs(self._shared)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def _kill(self, verdict: int) -> None:
        if self._over.is_set():
            return
        self.verdict = verdict
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)  # its guardian ends all others then

    def _tasks(self) -> int:
        """The processes and threads of the script: those that its guardian sees below it, and those that it traced,
        which may change their parents while it looks."""
        self._seen = {task for task in self._seen if os.path.exists(f"/proc/{task}")}
        self._seen |= {task for pid in descendants(os.getpid()) for task in _threads(pid)}
        return len(self._seen)

    def _written(self, files_max: int = WITHOUT_END) -> Written:
        return written((os.path.join(self._box.scratch, name) for name in COUNTED), files_max)


def _traced(child: int) -> bytes:
    try:
        tracer.begin(child)
    except OSError:
        return NOT_TRACED
    return TRACED


def start(arguments: Mapping[str, Any]) -> ScriptWatch:
    """The watch for a box, from its fields."""
    return ScriptWatch(read(ScriptBox, arguments))


def _hold_more_than(most_bytes: int, pids: Sequence[int]) -> bool:
    """Whether processes hold more memory of their own. Its exact figure takes milliseconds, so a bound comes first."""
    return sum(map(anonymous_bytes, pids)) > most_bytes and sum(map(uss_bytes, pids)) > most_bytes


def _is_hidden(pid: int) -> bool:
    """Whether a process that lives cannot be read by the user who started it: its program cannot be read either. What
    it holds would be in no count."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as status:
            state = status.read().rpartition(b")")[2].split()[0]
        os.listdir(f"/proc/{pid}/fd")
    except PermissionError:
        return state not in ENDED
    except OSError:
        pass  # it has ended
    return False


def _threads(pid: int) -> list[int]:
    try:
        return [int(task) for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []
