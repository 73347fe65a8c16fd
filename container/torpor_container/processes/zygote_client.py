"""The client of the zygote: starts one, and asks it for children. It forks no process itself."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from torpor_container.frozen_class import frozen
from torpor_container.processes.import_steps import Step
from torpor_container.processes.inherited_variables import inherited
from torpor_container.processes.process_tree import kill_tree, parent, resume

MESSAGE_MAX_BYTES = 200_000
"""A Unix socket takes in this much at once, so that a zygote that still imports holds up no client."""

CLOSED_WITHIN_S = 2.0
RESUMED_AFTER_S = 1.0
GUARDIAN_ENDS_WITHIN_S = 1.0
"""A guardian kills and reaps what it guards, which takes milliseconds."""

ZYGOTE = (sys.executable, "-P", "-m", "torpor_container.processes.zygote")
"""`-P`: files in the working directory are not modules."""


@frozen
class Job:
    """What a child runs: `module:function(arguments, descriptors) -> exit code`.

    It inherits the zygote's environment without variables whose names begin with one of `forgotten`. A guarded child
    counts as ended once all that it started has ended, daemons too; see `guardian`. `watch` is
    `module:function(watch_arguments)`, which makes the guardian's `GuardianWatch`; the last descriptor of the child is
    then its end of the line to the watch.
    """

    run: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None
    forgotten: tuple[str, ...] = ()
    guarded: bool = False
    watch: str = ""
    watch_arguments: Mapping[str, Any] = field(default_factory=dict)

    def message(self) -> bytes:
        """The request for this job, as one line of JSON."""
        job = {
            "run": self.run,
            "arguments": dict(self.arguments),
            "environment": dict(self.environment),
            "log": str(self.log) if self.log else None,
            "forgotten": self.forgotten,
            "guarded": self.guarded,
            "watch": self.watch,
            "watch_arguments": dict(self.watch_arguments),
        }
        return json.dumps(job).encode() + b"\n"


class Child:
    """One forked process, or its guardian. It ends when its connection closes or its owner dies, if not before.

    `imports_s` are the seconds that its request waited until the zygote had its imports."""

    def __init__(
        self,
        pid: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        guarded: bool = False,
        imports_s: float = 0.0,
    ) -> None:
        self.pid = pid
        self.imports_s = imports_s
        self._guarded = guarded
        self._writer = writer
        self._kill_timer: asyncio.TimerHandle | None = None
        self._resume_timer: asyncio.TimerHandle | None = None
        self._exit = asyncio.ensure_future(self._watch(reader))

    async def wait(self) -> int:
        """The exit code, negative for a signal as in `subprocess`; -9 if the zygote itself is gone."""
        return await asyncio.shield(self._exit)

    @property
    def running(self) -> bool:
        return not self._exit.done()

    def terminate(self) -> None:
        """Ask it to end (SIGTERM). A stopped process cannot: this resumes the zygote, which reports the end, and a
        guardian now, and another child after RESUMED_AFTER_S seconds."""
        if not self.running:
            return
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        if zygote := parent(self.pid):
            resume(zygote)
        if self._guarded:
            resume(self.pid)
        elif self._resume_timer is None:
            self._resume_timer = asyncio.get_running_loop().call_later(RESUMED_AFTER_S, self._resume)

    def _resume(self) -> None:
        if self.running:
            resume(self.pid)

    def kill(self) -> None:
        """Kill it and all it started, now, as the zygote does when the connection closes."""
        if not self.running:
            return
        if self._guarded:
            self.terminate()  # the guardian kills what it guards, and then ends
            if self._kill_timer is None:
                self._kill_timer = asyncio.get_running_loop().call_later(GUARDIAN_ENDS_WITHIN_S, self._kill_guardian)
        else:
            kill_tree(self.pid)  # processes that left the group are found only while this one lives

    def _kill_guardian(self) -> None:
        """Kill a guardian that has not ended: a guarded child may stop its guardian again and again."""
        if self.running:
            kill_tree(self.pid)

    async def _watch(self, reader: asyncio.StreamReader) -> int:
        try:
            answer = await reader.readline()
            return int(json.loads(answer)["exit"]) if answer else self._orphaned()
        except ConnectionError:
            return self._orphaned()
        finally:
            self._writer.close()
            for timer in (self._kill_timer, self._resume_timer):
                if timer is not None:
                    timer.cancel()

    def _orphaned(self) -> int:
        """The zygote was killed, and the kernel killed the child: kill what that had started. A guardian does so
        itself, since the kernel sends it SIGTERM."""
        if self._guarded:
            return -signal.SIGKILL
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return -signal.SIGKILL


class ZygoteClient:
    """A zygote that listens at `path`. Another process may have started it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def fork(self, job: Job, descriptors: Sequence[int] = ()) -> Child:
        """Fork a child with these open descriptors.

        Raises ConnectionError if the zygote is gone, ChildProcessError if it lives and cannot fork.
        """
        message = job.message()
        if len(message) > MESSAGE_MAX_BYTES:
            raise ValueError(f"the job's arguments and environment are over {MESSAGE_MAX_BYTES} bytes")
        asked_s = time.monotonic()
        with ExitStack() as unfinished:
            connection = unfinished.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.connect(str(self.path))
            socket.send_fds(connection, [message], list(descriptors))
            connection.setblocking(False)
            reader, writer = await asyncio.open_unix_connection(sock=connection)
            unfinished.pop_all()
        with ExitStack() as unfinished:
            unfinished.callback(writer.close)  # which ends the child, if it was forked already
            answer = json.loads(await reader.readline() or b"{}")
            if "error" in answer:
                raise ChildProcessError(answer["error"])
            if "pid" not in answer:
                raise ConnectionError("the zygote ended before it forked")
            unfinished.pop_all()
        return Child(answer["pid"], reader, writer, job.guarded, max(0.0, answer["ready_s"] - asked_s))


def listening(path: Path) -> socket.socket:
    """A socket that listens at this path, in place of an older one."""
    path.unlink(missing_ok=True)
    with ExitStack() as unless_bound:
        listener = unless_bound.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        listener.bind(str(path))
        listener.listen(512)
        unless_bound.pop_all()
    return listener


class ZygoteProcess(Protocol):
    """The process of a zygote, as its owner sees it."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int: ...


class OwnedZygote(ZygoteClient):
    """A zygote that this process started, and that ends with it."""

    def __init__(
        self,
        path: Path,
        process: ZygoteProcess,
        lifeline: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        closed_within_s: float,
        lends_path: bool,
    ) -> None:
        super().__init__(path)
        self._process = process
        self._told, self._lifeline = lifeline
        self._closed_within_s = closed_within_s
        self._lends_path = lends_path
        self._children: list[Child] = []

    @classmethod
    async def start(
        cls,
        path: Path,
        command: Sequence[str] = ZYGOTE,
        closed_within_s: float = CLOSED_WITHIN_S,
        forgotten: tuple[str, ...] = (),
        step: Step = Step.WHOLE,
        listener: socket.socket | None = None,
        launch: Callable[..., Awaitable[ZygoteProcess]] = asyncio.create_subprocess_exec,
    ) -> "OwnedZygote":
        """Start it. It listens at `path` at once: requests wait until it has imported what the step has. `listener`
        listens there already, and stays the caller's. `launch` takes what `asyncio.create_subprocess_exec` takes.

        It gets the variables of this process that `inherited` lets through, without names that begin with one of
        `forgotten`: its children can read with which variables it was started.
        """
        with ExitStack() as started, ExitStack() as unless_started:
            descriptor = (listener or started.enter_context(listening(path))).fileno()
            ours, its = socket.socketpair()
            started.enter_context(its)
            with ExitStack() as unfinished:
                unfinished.enter_context(ours)
                lifeline = await asyncio.open_unix_connection(sock=ours)
                unfinished.pop_all()
            unless_started.callback(lifeline[1].close)
            process = await launch(
                *command,
                str(descriptor),
                step.name,
                stdin=its.fileno(),
                pass_fds=[descriptor],
                start_new_session=True,
                env=inherited(os.environ, forgotten),
            )
            unless_started.pop_all()
        return cls(path, process, lifeline, closed_within_s, lends_path=listener is not None)

    async def ready(self) -> None:
        """Wait until its imports are done. Raises ConnectionError if it ends before. To be called once."""
        if not await self._told.read(1):
            raise ConnectionError("the zygote ended before its imports were done")

    async def fork(self, job: Job, descriptors: Sequence[int] = ()) -> Child:
        self._resume()
        child = await super().fork(job, descriptors)
        self._children = [one for one in (*self._children, child) if one.running]
        return child

    @property
    def has_children(self) -> bool:
        """Whether one of the children that were forked here still runs."""
        return any(child.running for child in self._children)

    async def ended(self) -> None:
        """Wait for its end."""
        await self._process.wait()
        self._lifeline.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    async def close(self) -> None:
        """End it and its children. A zygote that does not end in time is killed with all its descendants."""
        self._lifeline.close()
        self._resume()
        try:
            async with asyncio.timeout(self._closed_within_s):
                await self._process.wait()
        except TimeoutError:
            kill_tree(self._process.pid)
            await self._process.wait()
        if not self._lends_path:
            self.path.unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill it with its children at once; `close` then waits for its end."""
        if self.running:
            kill_tree(self._process.pid)

    def _resume(self) -> None:
        """Resume the zygote: a child, which runs foreign code, may have stopped it."""
        if self.running:
            resume(self._process.pid)
