"""Starts programs as forks of one process. This one starts it when it needs it first, and ends with itself; or another
process has started it for all that share the tests."""

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from io import FileIO
from pathlib import Path
from select import select
from typing import IO, NamedTuple

from tests.helpers.forked_starts import forking_process
from torpor_container.processes.process_tree import children, is_named
from torpor_container.processes.zygote import LIBRARY_VARIABLES

FORKING = Path(forking_process.__file__)
READ_AT_THE_START = "PYTHON", "LD_", "MALLOC_", "LC_", "LANG", *LIBRARY_VARIABLES
"""The variables that Python and what it imports read once begin with one of these."""

AT_THE_START = {name: value for name, value in os.environ.items() if name.startswith(READ_AT_THE_START)}


def zygote_name(owner: int) -> str:
    return f"for {owner}"


def forked_zygotes(owner: int) -> list[int]:
    """The forked zygotes of this endpoint's process. Its own children they are not."""
    kinds = [kind for forking in _forking() for kind in children(forking.pid)]
    return [pid for kind in kinds for pid in children(kind) if is_named(pid, zygote_name(owner))]


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
    if not can_be_forked(command, variables):
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
    with ExitStack() as closed:
        read, write = os.pipe() if lifeline else (os.open(os.devnull, os.O_RDONLY), None)
        closed.callback(os.close, read)
        told = sent(
            forking_process.ENDPOINT, command[1:], variables, (read, output.fileno(), output.fileno()), pass_fds
        )
    return Forked(FileIO(told), None if write is None else FileIO(write, "w"))


def sent(
    kind: str,
    program: Sequence[str],
    variables: Mapping[str, str],
    streams: Sequence[int],
    descriptors: Sequence[int],
    name: str = "",
) -> int:
    """Let a program be forked. Returns a descriptor that tells its process id on a line, and later its exit code."""
    asked = forking()
    request = {
        "kind": kind,
        "program": [word for word in program if word != "-P"],
        "environment": dict(variables),
        "folder": os.getcwd(),
        "descriptors": [*descriptors],
        "name": name,
        "owner": asked.owner,
    }
    ours, its = os.pipe()
    try:
        forking_process.send(asked.address, json.dumps(request).encode(), [its, *streams, *descriptors])
    finally:
        os.close(its)
    return ours


def can_be_forked(command: Sequence[str], variables: Mapping[str, str], **also: str) -> bool:
    read = {name: value for name, value in variables.items() if name.startswith(READ_AT_THE_START)}
    return command[0] == sys.executable and {**read, **also} == {**AT_THE_START, **also}


class SharedForking(NamedTuple):
    """A process that forks, which another process has started; and whose the forked programs are: they end with it."""

    address: bytes
    pid: int
    owner: int


_shared: list[SharedForking] = []


def share(forking: SharedForking) -> None:
    _shared[:] = [forking]


def forking() -> SharedForking:
    """The process that forks for this one. It is started if there is none."""
    return _shared[0] if _shared else _own()


def _forking() -> list[SharedForking]:
    """The process that forks for this one, if there is one."""
    return _shared or ([_own()] if _own.cache_info().currsize else [])


@cache
def _own() -> SharedForking:
    address, process = forking_process.started(forking_process.ENDPOINT, AT_THE_START)
    atexit.register(_end, process)
    return SharedForking(address, process.pid, os.getpid())


def _end(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
