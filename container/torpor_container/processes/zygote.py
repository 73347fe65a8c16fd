"""The zygote: a process with libraries imported, up to a step, which forks instances and script processes on request.

It never predicts and never starts a thread, since a fork of a process with threads may hang. It listens on a Unix
socket. Each connection asks for one child, and is that child's lifeline from then on:

    client ──► {"run": "module:function", "arguments": {...}, "log": path, ...}\\n   (+ descriptors)
    client ◄── {"pid": 123, "ready_s": 4.5}\\n … {"exit": 0}\\n

When the client closes the connection, or dies, the zygote kills the child with its whole session. When the owner of
the zygote dies, the zygote's standard input ends: it ends too, and the kernel kills the children. So no process
outlives the endpoint, whichever is killed. Where standard input is a socket, one byte on it tells the owner that the
imports are done.
"""

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from torpor_container.processes.guardian import guarded
from torpor_container.processes.holes import fill
from torpor_container.processes.import_steps import Step, reach
from torpor_container.processes.process_tree import (
    adopt_orphans,
    confine_to_cores,
    end,
    end_with_parent,
    kill_descendants,
    kill_group,
    kill_session,
    kill_tree,
)

PRELOAD: Mapping[Step, tuple[str, ...]] = {
    Step.BARE: (
        "numpy",
        "starlette.applications",
        "uvloop",
        "msgspec",
        "torpor_container.forked_instance",
        "torpor_container.trials.trial_child",
    ),
    Step.WHOLE: ("torpor_container.formats.script.child_main", "torpor_container.isolation.script_watch"),
}
"""Modules that children find imported beside the libraries of a step: scripts are forked from a whole zygote. Not
onnxruntime: its import starts threads, and takes a child only 0.2 s."""

PREPARE = "torpor_container.forked_instance:prepare"
"""Does once what every child would do, and starts no thread."""

LIBRARY_VARIABLES = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Numeric libraries start thread pools at their import unless these variables forbid it, and pyarrow, which pandas
imports, a thread of its allocator. Its default allocator takes 1 GiB of a script's limit for the first byte."""

MESSAGE_MAX = 256 * 1024
DESCRIPTORS_MAX = 8
GUARDIAN_ENDS_WITHIN_S = 1.0
PAUSE_S = 0.1
"""Seconds between two tries to accept a connection. Children that end, and connections that close, wait for it too."""


@dataclass
class ChildConnection:
    """One connection and the child it asked for. `pid` is 0 until the request is read."""

    connection: socket.socket
    pid: int = 0
    guarded: bool = False
    received: bytearray = field(default_factory=bytearray)
    descriptors: list[int] = field(default_factory=list)

    def close_descriptors(self) -> None:
        while self.descriptors:
            os.close(self.descriptors.pop())


class Zygote:
    """The loop of the zygote: requests in, children out, exits reported."""

    def __init__(self, listener: socket.socket, lifeline: int) -> None:
        self._listener = listener
        self._lifeline = lifeline
        self._connections: dict[int, ChildConnection] = {}
        self._ending: dict[int, float] = {}  # when to kill each guardian that was asked to end
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        self._ready_s = time.monotonic()

    def run(self) -> None:
        """Serve until the owner is gone."""
        os.set_blocking(self._wake_write, False)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._listener.setblocking(False)
        for watched in (self._listener, self._lifeline, self._wake_read):
            self._selector.register(watched, selectors.EVENT_READ)
        while self._serve_once():
            pass
        for child in self._connections.values():
            self._kill(child)
        kill_descendants()

    def _serve_once(self) -> bool:
        for key, _ in self._selector.select(PAUSE_S if self._ending else None):
            if key.fileobj == self._lifeline:
                return False
            if key.fileobj == self._wake_read:
                os.read(self._wake_read, 4096)
                self._reap()
            elif key.fileobj is self._listener:
                self._accept()
            elif key.fd in self._connections:
                self._read(self._connections[key.fd])
        self._kill_overdue_guardians()
        return True

    def _kill_overdue_guardians(self) -> None:
        """Kill guardians that were asked to end and did not: a guarded child may stop its guardian again and again."""
        now_s = time.monotonic()
        for pid in [pid for pid, until_s in self._ending.items() if until_s <= now_s]:
            del self._ending[pid]
            kill_tree(pid)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # the client is gone, or no descriptor is free: then the same client is found again and again
            time.sleep(PAUSE_S)
            return
        connection.setblocking(False)
        self._connections[connection.fileno()] = ChildConnection(connection)
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, child: ChildConnection) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(child.connection, 65536, DESCRIPTORS_MAX)
        except BlockingIOError:
            return
        except OSError:
            message, descriptors = b"", []
        child.descriptors += descriptors
        child.received += message
        if not message or len(child.received) > MESSAGE_MAX:
            self._kill(child)
            self._forget(child)
        elif not child.pid and child.received.endswith(b"\n"):
            self._fork(child)

    def _fork(self, child: ChildConnection) -> None:
        try:
            job = json.loads(child.received)
            child.guarded = isinstance(job, dict) and bool(job.get("guarded"))
            zygote, pid = os.getpid(), os.fork()
        except (ValueError, OSError) as error:  # a failure to fork one child must not end the others
            self._send(child, {"error": str(error)})
            self._forget(child)
            return
        if pid == 0:
            self._become_child(child, job, zygote)
        child.pid = pid
        child.received.clear()
        child.close_descriptors()
        self._send(child, {"pid": pid, "ready_s": self._ready_s})

    def _become_child(self, child: ChildConnection, job: dict[str, Any], zygote: int) -> NoReturn:
        """In the child: close everything that belongs to the zygote, then do the job."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        self._listener.close()
        for other in self._connections.values():
            other.connection.close()
            if other is not child:
                other.close_descriptors()
        for descriptor in (self._wake_read, self._wake_write):
            os.close(descriptor)
        run_job(job, child.descriptors, zygote)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._ending.pop(pid, None)
            for child in [child for child in self._connections.values() if child.pid == pid]:
                kill_group(pid)  # and all that it started
                child.pid = -1
                self._send(child, {"exit": os.waitstatus_to_exitcode(status)})
                self._forget(child)

    def _send(self, child: ChildConnection, answer: dict[str, int | float | str]) -> None:
        with suppress(OSError):  # the client is gone: the next read finds that its end is closed
            child.connection.sendall(json.dumps(answer).encode() + b"\n")

    def _kill(self, child: ChildConnection) -> None:
        if child.pid > 0 and child.guarded:
            end(child.pid)
            self._ending[child.pid] = time.monotonic() + GUARDIAN_ENDS_WITHIN_S
        elif child.pid > 0:
            kill_session(child.pid)

    def _forget(self, child: ChildConnection) -> None:
        self._selector.unregister(child.connection)
        del self._connections[child.connection.fileno()]
        child.connection.close()
        child.close_descriptors()


def run_job(job: dict[str, Any], descriptors: list[int], zygote: int) -> NoReturn:
    """Run `module:function(arguments, descriptors)` in this fresh child and leave with its exit code.

    `zygote` is the process that forked it, as that knew itself: by now, the child may be an orphan.
    """
    code = 1
    try:
        os.setsid()
        end_with_parent()
        if os.getppid() != zygote:
            os._exit(1)  # the zygote has ended
        _detach_standard_input()
        confine_to_cores(job.get("environment") or {})
        if job.get("guarded"):
            watch = _function_of(job["watch"])(job["watch_arguments"]) if job.get("watch") else None
            line = guarded(descriptors, watch)
            if watch is not None:
                descriptors.append(line.detach())
        if job.get("log"):
            _redirect_output(job["log"])
        for name in LIBRARY_VARIABLES:
            os.environ.pop(name, None)
        _set_environment(job.get("environment") or {}, tuple(job.get("forgotten") or ()))
        code = _function_of(job["run"])(job.get("arguments") or {}, descriptors) or 0
    except SystemExit as leaving:
        code = _exit_code(leaving.code)
    except BaseException:  # noqa: BLE001  the outermost edge of a process, whose code may raise anything: report it, and exit
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # broken, closed, or replaced by a script's None
                stream.flush()
        os._exit(code)


def _exit_code(leaving: object) -> int:
    """The exit code of `SystemExit(leaving)`, as Python makes it: a text goes to standard error, and is a failure."""
    if leaving is None or isinstance(leaving, int):
        return int(leaving or 0)
    print(leaving, file=sys.stderr)
    return 1


def _set_environment(environment: Mapping[str, str], forgotten: tuple[str, ...]) -> None:
    """Remove inherited variables whose names begin with one of `forgotten`, and add those of `environment`."""
    for name in [name for name in os.environ if name.startswith(forgotten)]:
        del os.environ[name]
    os.environ.update(environment)


def _detach_standard_input() -> None:
    """Standard input is the zygote's lifeline: a read from it would wait as long as that lives."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _redirect_output(path: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def preload(step: Step, libraries: Callable[[Step], None]) -> None:
    """Import what the children of this step need, without starting a thread."""
    libraries(step)
    for needed_at, names in PRELOAD.items():
        if needed_at <= step:
            for name in names:
                importlib.import_module(name)
    _function_of(PREPARE)()


def _function_of(function: str) -> Any:
    """The function that `module:function` names."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)


def main(libraries: Callable[[Step], None] = reach) -> None:
    """`python -m torpor_container.processes.zygote N STEP`: listens on descriptor N, with the libraries of the step
    imported; standard input is the lifeline. `libraries` imports them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    listener = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()  # imported objects stay: to look through them again and again takes a tenth of this time
    preload(Step[sys.argv[2]], libraries)
    adopt_orphans()
    filled = fill()  # so that children allocate on pages of their own
    gc.freeze()  # a collection in a child would touch, and so copy, every shared page, for a thousand objects
    gc.enable()
    with suppress(OSError):  # the owner reads nothing, or is gone
        os.write(sys.stdin.fileno(), b"\n")
    Zygote(listener, sys.stdin.fileno()).run()
    filled.clear()


if __name__ == "__main__":
    os.environ.update(LIBRARY_VARIABLES)
    main()
