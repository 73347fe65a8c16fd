"""`python -P forking_process.py N KIND` waits for messages at descriptor N, a socket of datagrams, and forks a child
for each. With the first one it imports what programs of this kind import. It ends when its standard input ends, and
its children get SIGTERM; so do those of one owner when that process ends.

A message is a `Start` as JSON, with descriptors: the first gets the child's process id, and then how it ended; three
are the child's standard input, output and error; the others are those that it inherits. What is of another kind goes to
a process of that kind, which is started for it. A forked endpoint lets its zygotes be forked here, for its own owner.

A child ends as a process of Python does, but for the last step: it does not free, one by one, all modules that it has
imported, which would take as much processor time as the rest of its start and its end.
"""

import atexit
import ctypes
import fcntl
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
ENDPOINT = "endpoint"
IMPORTED = (
    "torpor_endpoint.app",
    "torpor_endpoint.composed_jobs",
    "torpor_endpoint.routing.router.router_process",
    "torpor_endpoint.services.sagemaker.service",
    "torpor_account.s3.service",
    "torpor_account.cloudwatch.service",
    "torpor_container.http.gunicorn_server",
    "torpor_container.http.worker",
    "torpor_endpoint.up",
    "gunicorn.glogging",
    "botocore.auth",
    "tests.helpers.forked_starts.forked_zygotes",
    "botocore.loaders",
    "logging.config",
    "msgspec.json",
    "uvloop",
)
"""What the processes of an endpoint and of a router import until they answer their first request."""
MESSAGE_MAX = 128 * 1024
DESCRIPTORS_MAX = 16
PR_SET_PDEATHSIG = 1
OWN_FROM = 256
"""Descriptors of this process itself have this number or a higher one."""
ROOM = "ROOM_FOR_VARIABLES_OF_CHILDREN"
VARIABLES_MAX = 64 * 1024
"""/proc shows a process's variables where they stood when its program began: this process's own leave so much room."""


@dataclass(frozen=True)
class Start:
    """A program as Python's command line has it: `-m` and a module or the path of a file, and arguments. `descriptors`
    are the numbers that its inherited descriptors have. `name` is what /proc calls it, if not as it calls Python.
    `owner` is the process of tests that it does not outlive."""

    kind: str
    program: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    descriptors: tuple[int, ...]
    name: str
    owner: int


class ForkingProcess:
    def __init__(self, requests: socket.socket, kind: str) -> None:
        self._requests = requests
        self._kind = kind
        self._prepared = False
        self._of_other_kinds: dict[str, Forking] = {}
        self._told: dict[int, int] = {}  # the descriptor for the end of each child
        self._ends: dict[int, int] = {}  # of each owner, by the descriptor that tells that it has ended
        self._owned: dict[int, set[int]] = {}  # the children of each owner
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)

    def next_child(self) -> Start | None:
        """Returns in each child what it is to run, and in this process None, at its end."""
        while True:
            ready, _, _ = select.select([0, self._requests.fileno(), self._woken, *self._ends], [], [])
            if 0 in ready:
                return None
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            for descriptor in self._ends.keys() & {*ready}:
                self._end_children(descriptor)
            if self._requests.fileno() in ready:
                message, descriptors, _, _ = socket.recv_fds(self._requests, MESSAGE_MAX, DESCRIPTORS_MAX)
                start = Start(**json.loads(message))
                if start.kind != self._kind:
                    self._hand_on(start.kind, message, descriptors)
                elif self._forked(start, descriptors):
                    return start

    def _hand_on(self, kind: str, message: bytes, descriptors: list[int]) -> None:
        if kind not in self._of_other_kinds:
            self._of_other_kinds[kind] = started(kind, os.environ)
        send(self._of_other_kinds[kind].address, message, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def _forked(self, start: Start, descriptors: list[int]) -> bool:
        """Whether this is the child."""
        if not self._prepared:
            prepare(self._kind)
            self._prepared = True
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setsid()
            show_variables(start.environment)
            tell(descriptors[0], os.getpid())  # whoever hears of it finds its session and its variables
            take_place(start, descriptors[1:], parent)
            for descriptor in (*descriptors, *self._told.values(), *self._ends, self._woken, self._wakes):
                os.close(descriptor)
            self._requests.close()
            for other in self._of_other_kinds.values():
                assert other.process.stdin is not None
                other.process.stdin.close()
            return True
        told, *others = descriptors
        for descriptor in others:
            os.close(descriptor)
        self._told[pid] = told
        self._belongs(pid, start.owner)
        return False

    def _belongs(self, pid: int, owner: int) -> None:
        if owner not in self._owned:
            try:
                self._ends[os.pidfd_open(owner)] = owner
            except ProcessLookupError:  # it has ended in between
                os.kill(pid, signal.SIGTERM)
                return
        self._owned.setdefault(owner, set()).add(pid)

    def _end_children(self, descriptor: int) -> None:
        os.close(descriptor)
        for pid in self._owned.pop(self._ends.pop(descriptor)) & self._told.keys():
            os.kill(pid, signal.SIGTERM)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if told := self._told.pop(ended[0], None):
                    tell(told, os.waitstatus_to_exitcode(ended[1]))
                    os.close(told)


class Forking(NamedTuple):
    """A process that forks, and the address of the socket that takes its messages."""

    address: bytes
    process: "subprocess.Popen[bytes]"


def started(kind: str, environment: Mapping[str, str]) -> Forking:
    """A process of this kind. It ends when its standard input is closed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as requests:
        requests.bind("")  # the kernel gives it a name, which is no file
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(requests.fileno()), kind],
            stdin=subprocess.PIPE,
            pass_fds=[requests.fileno()],
            start_new_session=True,
            env={**environment, ROOM: "." * VARIABLES_MAX},
        )
        return Forking(requests.getsockname(), process)


def send(address: bytes, message: bytes, descriptors: Sequence[int]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.connect(address)
        socket.send_fds(client, [message], descriptors)


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
    if start.name:
        Path("/proc/self/comm").write_text(start.name)


def show_variables(variables: Mapping[str, str]) -> None:
    """Let /proc show these variables for this process and what it forks, in the place of those of its parent."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[47]), int(fields[48])
    shown = b"".join(f"{name}={value}\0".encode(errors="surrogateescape") for name, value in variables.items())
    assert len(shown) <= end - begin, f"more than {VARIABLES_MAX} bytes of variables"
    ctypes.memmove(begin, shown.ljust(end - begin, b"\0"), end - begin)


def keep_free_below(number: int) -> None:
    """Let this process open nothing below this number, which is free for what children inherit."""
    while (opened := os.open(os.devnull, os.O_RDONLY)) < number:
        pass
    os.close(opened)


class PromptEnd:
    """Ends this process after all other functions of `atexit`, if a program has ended in it or in a fork of it."""

    def __init__(self) -> None:
        self._code: int | None = None
        atexit.register(self._leave)  # the first that is registered is the last that is called

    def run(self, start: Start) -> None:
        try:
            run(start)
            self._code = 0
        except SystemExit as end:
            self._code = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
            raise
        except Exception:
            self._code = 1
            raise

    def _leave(self) -> None:
        if self._code is not None:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError, AttributeError):  # broken, closed, or none
                    stream.flush()
            os._exit(self._code & 0xFF)


def run(start: Start) -> None:
    kind, *arguments = start.program
    if kind == "-m":
        sys.argv = arguments
        sys.path.insert(0, start.folder)
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [*start.program]
        runpy.run_path(kind, run_name="__main__")


def prepare(kind: str) -> None:
    """Import what programs of this kind import."""
    gc.disable()
    sys.path.append(str(ROOT))
    if kind == ENDPOINT:
        for name in IMPORTED:
            import_module(name)
    else:
        from tests.helpers.forked_starts.forked_zygotes import prepare_zygotes

        prepare_zygotes(kind)
    gc.freeze()
    gc.enable()
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1, "a thread would be lost in each child"


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    requests = socket.socket(fileno=fcntl.fcntl(int(sys.argv[1]), fcntl.F_DUPFD_CLOEXEC, OWN_FROM))
    address = requests.getsockname()
    keep_free_below(OWN_FROM)
    end = PromptEnd()
    start = ForkingProcess(requests, sys.argv[2]).next_child()
    if start is not None:
        if start.kind == ENDPOINT:
            from tests.helpers.forked_starts.forked_zygotes import fork_zygotes

            fork_zygotes(address, start.owner)
        end.run(start)


if __name__ == "__main__":
    main()
