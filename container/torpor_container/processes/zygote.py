"""The zygote: one process with the frameworks imported, which forks instances and script processes on request.

It never predicts and never starts a thread: a fork of a process that did may hang. It listens on a Unix socket; each
connection asks for one child and is that child's lifeline from then on:

    client ──► {"run": "module:function", "arguments": {...}, "log": path, ...}\\n   (+ descriptors)
    client ◄── {"pid": 123}\\n … {"exit": 0}\\n

When the client closes the connection, or dies, its child is killed with its whole session. When the owner of the
zygote dies, its standard input ends, it goes, and the kernel takes the children along. So nothing outlives the
endpoint, whatever is killed.
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
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from torpor_container.processes.guardian import guarded
from torpor_container.processes.holes import fill
from torpor_container.processes.process_tree import (
    adopt_orphans,
    end,
    end_with_parent,
    kill_descendants,
    kill_group,
    kill_session,
    kill_tree,
)

PRELOAD: tuple[str, ...] = (
    "numpy",
    "xgboost",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.pipeline",
    "starlette.applications",
    "uvloop",
    "torpor_container.forked_instance",
    "torpor_container.trials.trial_child",
)
"""What children find imported. Not onnxruntime: its import starts threads, and it costs a child only 0.2 s."""

PREPARE = "torpor_container.forked_instance:prepare"
"""Does what children would all do alike, and starts no thread."""

NOT_YET = ("pyarrow",)
"""Their import starts a thread, and pandas imports them where they are installed. A child may do so."""

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Numeric libraries start their thread pools as they are imported, unless told otherwise."""

MESSAGE_MAX = 256 * 1024
DESCRIPTORS_MAX = 8
GUARDIAN_ENDS_WITHIN_S = 1.0
PAUSE_S = 0.1
"""Between two tries to take a connection. Children that end meanwhile, and lines that close, wait for it too."""


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
        self._lines: dict[int, ChildConnection] = {}
        self._ending: dict[int, float] = {}  # guardians without a line, until when
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()

    def run(self) -> None:
        """Serve until the owner is gone."""
        os.set_blocking(self._wake_write, False)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._listener.setblocking(False)
        for watched in (self._listener, self._lifeline, self._wake_read):
            self._selector.register(watched, selectors.EVENT_READ)
        while self._turn():
            pass
        for line in self._lines.values():
            self._kill(line)
        kill_descendants()

    def _turn(self) -> bool:
        for key, _ in self._selector.select(PAUSE_S if self._ending else None):
            if key.fileobj == self._lifeline:
                return False
            if key.fileobj == self._wake_read:
                os.read(self._wake_read, 4096)
                self._reap()
            elif key.fileobj is self._listener:
                self._accept()
            elif key.fd in self._lines:
                self._read(self._lines[key.fd])
        self._kill_the_late()
        return True

    def _kill_the_late(self) -> None:
        """Guardians that were asked to end and did not: a guarded child may stop its guardian, again and again."""
        now_s = time.monotonic()
        for pid in [pid for pid, until_s in self._ending.items() if until_s <= now_s]:
            del self._ending[pid]
            kill_tree(pid)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except (
            OSError
        ):  # nobody there any more; or no descriptor left, and whoever waits would be found again and again
            time.sleep(PAUSE_S)
            return
        connection.setblocking(False)
        self._lines[connection.fileno()] = ChildConnection(connection)
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, line: ChildConnection) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(line.connection, 65536, DESCRIPTORS_MAX)
        except BlockingIOError:
            return
        except OSError:
            message, descriptors = b"", []
        line.descriptors += descriptors
        line.received += message
        if not message or len(line.received) > MESSAGE_MAX:
            self._kill(line)
            self._forget(line)
        elif not line.pid and line.received.endswith(b"\n"):
            self._fork(line)

    def _fork(self, line: ChildConnection) -> None:
        try:
            job = json.loads(line.received)
            line.guarded = isinstance(job, dict) and bool(job.get("guarded"))
            pid = os.fork()
        except (ValueError, OSError) as error:  # this child's trouble is no other child's
            self._tell(line, {"error": str(error)})
            self._forget(line)
            return
        if pid == 0:
            self._become_child(line, job)
        line.pid = pid
        line.received.clear()
        line.close_descriptors()
        self._tell(line, {"pid": pid})

    def _become_child(self, line: ChildConnection, job: dict[str, Any]) -> NoReturn:
        """In the child: let go of everything of the parent's, then do the job."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        self._listener.close()
        for other in self._lines.values():
            other.connection.close()
            if other is not line:
                other.close_descriptors()
        for descriptor in (self._wake_read, self._wake_write):
            os.close(descriptor)
        run_job(job, line.descriptors)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._ending.pop(pid, None)
            for line in [line for line in self._lines.values() if line.pid == pid]:
                kill_group(pid)  # whatever it started goes with it
                line.pid = -1
                self._tell(line, {"exit": os.waitstatus_to_exitcode(status)})
                self._forget(line)

    def _tell(self, line: ChildConnection, answer: dict[str, int | str]) -> None:
        with suppress(OSError):  # the client is gone: its end of the line is read next
            line.connection.sendall(json.dumps(answer).encode() + b"\n")

    def _kill(self, line: ChildConnection) -> None:
        if line.pid > 0 and line.guarded:
            end(line.pid)
            self._ending[line.pid] = time.monotonic() + GUARDIAN_ENDS_WITHIN_S
        elif line.pid > 0:
            kill_session(line.pid)

    def _forget(self, line: ChildConnection) -> None:
        self._selector.unregister(line.connection)
        del self._lines[line.connection.fileno()]
        line.connection.close()
        line.close_descriptors()


def run_job(job: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Run `module:function(arguments, descriptors)` in this fresh child and leave with its exit code."""
    code = 1
    try:
        parent = os.getppid()
        os.setsid()
        end_with_parent()
        if os.getppid() != parent:
            os._exit(1)  # the zygote ended in between
        _read_nothing()
        if job.get("guarded"):
            guarded(descriptors)
        if job.get("log"):
            _redirect_output(job["log"])
        for name in ONE_THREAD:
            os.environ.pop(name, None)
        _see(job.get("environment") or {}, tuple(job.get("forgotten") or ()))
        code = _named(job["run"])(job.get("arguments") or {}, descriptors) or 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:  # noqa: BLE001  the outermost edge of a process: say what happened, then go
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # broken, closed, or replaced by a script's None
                stream.flush()
        os._exit(code)


def _see(environment: Mapping[str, str], forgotten: tuple[str, ...]) -> None:
    """These variables, beside those that are inherited and do not begin with one of the forgotten."""
    for name in [name for name in os.environ if name.startswith(forgotten)]:
        del os.environ[name]
    os.environ.update(environment)


def _read_nothing() -> None:
    """Standard input is the zygote's lifeline: who reads from it would wait as long as that lives."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _redirect_output(path: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def preload() -> None:
    """Import what children shall find, and start no thread by it."""
    for name in NOT_YET:
        sys.modules[name] = None  # type: ignore[assignment]  # Python's own way to forbid an import
    for name in PRELOAD:
        importlib.import_module(name)
    _named(PREPARE)()
    for name in NOT_YET:
        del sys.modules[name]


def _named(function: str) -> Any:
    """`module:function`"""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)


def main() -> None:
    """`python -m torpor_container.processes.zygote N`: listens on descriptor N; standard input is the lifeline."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    listener = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()  # what is imported stays: to look through it again and again takes a tenth of all this time
    preload()
    adopt_orphans()
    gc.collect()
    filled = fill()  # what they allocate goes to pages of their own
    gc.freeze()  # a collection in a child would touch, and so copy, every shared page
    gc.enable()
    Zygote(listener, sys.stdin.fileno()).run()
    filled.clear()


if __name__ == "__main__":
    os.environ.update(ONE_THREAD)
    main()
