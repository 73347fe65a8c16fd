"""`python -P forking_process.py N M KIND` imports what programs of this kind import, and then forks a child for each
message at descriptor N, a socket of packets whose other end is M. It ends when its standard input ends, and its
children get SIGTERM.

A message is a `Start` as JSON, with descriptors: the first is told the child's process id, and then how it ended; three
are the child's standard input, output and error; the others are those that it inherits. What is of another kind goes to
a process of that kind, which is started for it. Children have M too: a forked endpoint lets its zygotes be forked here.
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
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

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


@dataclass(frozen=True)
class Start:
    """A program as Python's command line has it: `-m` and a module or the path of a file, and arguments. `descriptors`
    are the numbers that its inherited descriptors have. `name` is what /proc calls it, if not as it calls Python."""

    kind: str
    program: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    descriptors: tuple[int, ...]
    name: str


class ForkingProcess:
    def __init__(self, requests: socket.socket, client: socket.socket, kind: str) -> None:
        self._requests = requests
        self._client = client
        self._kind = kind
        self._of_other_kinds: dict[str, tuple[socket.socket, subprocess.Popen[bytes]]] = {}
        self._told: dict[int, int] = {}  # the descriptor for the end of each child
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)

    def next_child(self) -> Start | None:
        """Returns in each child what it is to run, and in this process None, at its end."""
        while True:
            ready, _, _ = select.select([0, self._requests.fileno(), self._woken], [], [])
            if 0 in ready:
                return None
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
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
        socket.send_fds(self._of_other_kinds[kind][0], [message], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def _forked(self, start: Start, descriptors: list[int]) -> bool:
        """Whether this is the child."""
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
            for other, process in self._of_other_kinds.values():
                other.close()
                assert process.stdin is not None
                process.stdin.close()
            return True
        told, *others = descriptors
        for descriptor in others:
            os.close(descriptor)
        self._told[pid] = told
        return False

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if told := self._told.pop(ended[0], None):
                    tell(told, os.waitstatus_to_exitcode(ended[1]))
                    os.close(told)


def started(kind: str, environment: Mapping[str, str]) -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    """A process of this kind, and the socket that takes its messages. It ends when its standard input is closed."""
    client, requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with requests:
        numbers = requests.fileno(), client.fileno()
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, *map(str, numbers), kind],
            stdin=subprocess.PIPE,
            pass_fds=numbers,
            start_new_session=True,
            env=environment,
        )
    return client, process


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


def prepare(kind: str) -> None:
    """Import what programs of this kind import."""
    sys.path.append(str(ROOT))
    if kind == ENDPOINT:
        for name in IMPORTED:
            import_module(name)
    else:
        from tests.helpers.forked_starts.forked_zygotes import prepare_zygotes

        prepare_zygotes(kind)


def own(descriptor: str) -> socket.socket:
    return socket.socket(fileno=fcntl.fcntl(int(descriptor), fcntl.F_DUPFD_CLOEXEC, OWN_FROM))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    requests, client, kind = own(sys.argv[1]), own(sys.argv[2]), sys.argv[3]
    keep_free_below(OWN_FROM)
    gc.disable()
    prepare(kind)
    gc.freeze()
    gc.enable()
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1, "a thread would be lost in each child"
    start = ForkingProcess(requests, client, kind).next_child()
    if start is not None:
        if kind == ENDPOINT:
            from tests.helpers.forked_starts.forked_zygotes import fork_zygotes

            fork_zygotes(client)
        run(start)


if __name__ == "__main__":
    main()
