"""Starts programs as forks of one process, which this one starts when it needs it first and ends with itself."""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from io import FileIO
from pathlib import Path
from select import select
from typing import IO

from torpor_container.processes.zygote import ONE_THREAD

FORKING = Path(__file__).with_name("forking_process.py")
IMPORTED = (
    "torpor_endpoint.app",
    "torpor_endpoint.composed_jobs",
    "torpor_endpoint.routing.router.router_process",
    "torpor_endpoint.services.sagemaker.service",
    "torpor_account.s3.service",
    "torpor_account.cloudwatch.service",
    "torpor_container.http.gunicorn_server",
    "torpor_container.http.worker",
    "botocore.loaders",
    "logging.config",
    "msgspec.json",
    "uvloop",
)
"""What the processes of an endpoint and of a router import until they answer their first request."""
READ_AT_THE_START = "PYTHON", "LD_", "MALLOC_", "LC_", "LANG", *ONE_THREAD
"""The variables that Python and what it imports read once begin with one of these."""

AT_THE_START = {name: value for name, value in os.environ.items() if name.startswith(READ_AT_THE_START)}

_sessions: dict[int, Mapping[str, str]] = {}


def marked_sessions(mark: str) -> frozenset[int]:
    """The sessions of forked programs that were started with this text in their variables. /proc shows those of the
    process that forked them."""
    return frozenset(pid for pid, variables in _sessions.items() if any(mark in value for value in variables.values()))


class Forked:
    """A forked program, with those methods of `subprocess.Popen` that tests and product need."""

    def __init__(self, told: FileIO, stdin: FileIO | None) -> None:
        self.returncode: int | None = None
        self.stdin = stdin
        self._told = told
        self.pid = int(told.readline() or 0)
        assert self.pid, f"{FORKING.name} has ended: its output says why"

    def poll(self) -> int | None:
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative for a signal. Raises subprocess.TimeoutExpired."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(FORKING.name, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, within_s: float | None) -> int | None:
        if self.returncode is None and select([self._told], [], [], within_s)[0]:
            self.returncode = int(self._told.readline())
            self._told.close()
        return self.returncode


Started = Forked | subprocess.Popen[bytes]


def start(
    command: Sequence[str],
    output: IO[bytes],
    *,
    pass_fds: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
    lifeline: bool = False,
) -> Started:
    """Start a command in a session of its own, as `subprocess.Popen` does. With a `lifeline`, its standard input is a
    pipe, and otherwise it is empty.

    `sys.executable` with a file, or with `-m` and a module, is forked. What Python itself would read variables for,
    and every other command, gets a process of its own.
    """
    variables = {**(os.environ if env is None else env)}
    if not _can_be_forked(command, variables):
        stdin = subprocess.PIPE if lifeline else subprocess.DEVNULL
        return subprocess.Popen(
            [*command],
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=pass_fds,
            env=variables,
            start_new_session=True,
        )
    program = [word for word in command[1:] if word != "-P"]
    request = {"program": program, "environment": variables, "folder": os.getcwd(), "descriptors": [*pass_fds]}
    with ExitStack() as closed:
        read, write = os.pipe() if lifeline else (os.open(os.devnull, os.O_RDONLY), None)
        closed.callback(os.close, read)
        ours, its = os.pipe()
        closed.callback(os.close, its)
        descriptors = [its, read, output.fileno(), output.fileno(), *pass_fds]
        socket.send_fds(_requests(), [json.dumps(request).encode()], descriptors)
    forked = Forked(FileIO(ours), None if write is None else FileIO(write, "w"))
    _sessions[forked.pid] = variables
    return forked


def _can_be_forked(command: Sequence[str], variables: Mapping[str, str]) -> bool:
    read = {name: value for name, value in variables.items() if name.startswith(READ_AT_THE_START)}
    return command[0] == sys.executable and read == AT_THE_START


@cache
def _requests() -> socket.socket:
    """The socket of the forking process."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen(
            [sys.executable, "-P", str(FORKING), str(its.fileno()), *IMPORTED],
            stdin=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
            start_new_session=True,
            env=AT_THE_START,
        )
    atexit.register(_end, ours, process)
    return ours


def _end(requests: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    requests.close()
    process.wait()
