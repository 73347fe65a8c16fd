"""A lifeline ends a program, and all that it started, when its owner ends: also one that is killed.

    owner ──pipe──► lifeline, nobody's direct child ──► program ──► what it starts, and what that starts

An owner that belongs to an engine, such as Ray, may be killed together with its direct children, or without them: what
they started would be left. So the lifeline leaves its owner at once, for a session of its own, and adopts all orphans
below it. It holds the reading end of a pipe whose only writer is the owner. At the end of the pipe, which is the end of
the owner, it ends the program.

`python -m torpor_container.processes.lifeline` is the lifeline. Standard input is the pipe: a line of JSON with what to
start (`Program`), and later the seconds of grace, on a line, to end it. It writes two lines to its standard output:
`started PID`, and `ended CODE` once nothing of the program is left. Only a lifeline that is killed itself leaves the
processes that its program moved to sessions of their own.
"""

import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import NoReturn, TypedDict

from torpor_container.processes.process_tree import (
    adopt_orphans,
    end,
    end_with_parent,
    kill,
    kill_descendants,
    kill_group,
)

LAST_GRACE_S = 1.0
"""How long a program has to end by itself when its owner is gone."""
MODULE = "torpor_container.processes.lifeline"
COMMAND = (sys.executable, "-P", "-m", MODULE)


class Program(TypedDict):
    """What a lifeline starts. The descriptors are inherited, under their own numbers; the output is appended to."""

    arguments: list[str]
    environment: dict[str, str]
    output: str
    descriptors: list[int]


def main() -> NoReturn:
    """Leave the owner, start the program of the first line, and stay until it has ended."""
    if os.fork():
        os._exit(0)
    os.setsid()
    adopt_orphans()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # an owner's threads may have blocked some
    woken = _woken_by(signal.SIGCHLD, signal.SIGTERM)
    program: Program = json.loads(_line())
    child = _started(program)
    for descriptor in program["descriptors"]:
        os.close(descriptor)
    _say(f"started {child}")
    _say(f"ended {_guarded(child, woken)}")
    os._exit(0)


def _woken_by(*signals: signal.Signals) -> socket.socket:
    """A socket that becomes readable with each of these signals."""
    woken, wakes = socket.socketpair()
    woken.setblocking(False)
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.detach(), warn_on_full_buffer=False)
    for number in signals:
        signal.signal(number, lambda number, frame: None)
    return woken


def _line() -> bytes:
    """The next line of the pipe, or what there is before its end. The owner writes no two lines at once."""
    line = b""
    while not line.endswith(b"\n") and (more := os.read(0, 65536)):
        line += more
    return line


def _started(program: Program) -> int:
    child = os.fork()
    if child:
        return child
    with suppress(BaseException):  # the outermost edge of a forked process: it ends below, whatever was raised
        end_with_parent(signal.SIGTERM)
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        _redirected(program["output"])
        for descriptor in program["descriptors"]:
            os.set_inheritable(descriptor, True)
        os.execvpe(program["arguments"][0], program["arguments"], program["environment"])
    os._exit(127)


def _redirected(output: str) -> None:
    """Standard input is empty, and both outputs are appended to the file."""
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (written, 1), (written, 2)):
        os.dup2(source, target)


def _guarded(child: int, woken: socket.socket) -> int:
    """Wait until the program ends, by itself or because the owner wants or needs it to. Its exit code."""
    deadline_s: float | None = None
    watched: list[int | socket.socket] = [0, woken]
    while (code := _reaped(child)) is None:
        patience_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
        readable = select.select(watched, [], [], patience_s)[0]
        grace_s = LAST_GRACE_S if woken in readable and signal.SIGTERM in _drained(woken) else None
        if 0 in readable:
            line = _line()
            grace_s = _grace_s(line)
            if not line:
                watched.remove(0)
        if grace_s is not None:
            sooner_s = time.monotonic() + grace_s
            deadline_s = sooner_s if deadline_s is None else min(deadline_s, sooner_s)
            end(child)
        if deadline_s is not None and time.monotonic() >= deadline_s:
            kill((child,))
            deadline_s = None
    kill_group(child)
    kill_descendants()
    return code


def _grace_s(line: bytes) -> float:
    """What the owner says. Without a word from it, it is gone."""
    with suppress(ValueError):
        return float(line)
    return LAST_GRACE_S


def _drained(woken: socket.socket) -> bytes:
    with suppress(BlockingIOError):
        return woken.recv(4096)
    return b""


def _reaped(child: int) -> int | None:
    """Reap all that has ended. The exit code of the child once it has."""
    code = None
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                code = os.waitstatus_to_exitcode(found[1])
    return code


def _say(line: str) -> None:
    with suppress(OSError):  # the owner is gone
        os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
