"""The client's side of the zygote: start one, and ask it for children. It forks nothing itself."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torpor_container.processes.inherited_variables import inherited
from torpor_container.processes.process_tree import kill_tree, parent, resume

MESSAGE_MAX_BYTES = 200_000
"""What a Unix socket takes in at once, so that a zygote which is still importing holds nobody up."""

CLOSED_WITHIN_S = 2.0
RESUMED_AFTER_S = 1.0
GUARDIAN_ENDS_WITHIN_S = 1.0
"""It kills what it guards and reaps it, which takes milliseconds."""

ZYGOTE = (sys.executable, "-P", "-m", "torpor_container.processes.zygote")
"""Without the folder that it is started in: what lies there is no module of anybody's."""


@dataclass(frozen=True)
class Job:
    """What a child shall run: `module:function(arguments, descriptors) -> exit code`.

    It inherits the zygote's environment, but for variables that begin with one of `forgotten`. One that is guarded
    has ended once all that it started has, daemons too; see `guardian`.
    """

    run: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None
    forgotten: tuple[str, ...] = ()
    guarded: bool = False

    def message(self) -> bytes:
        job = {
            "run": self.run,
            "arguments": dict(self.arguments),
            "environment": dict(self.environment),
            "log": str(self.log) if self.log else None,
            "forgotten": self.forgotten,
            "guarded": self.guarded,
        }
        return json.dumps(job).encode() + b"\n"


class Child:
    """One forked process, or its guardian. It ends, at the latest, when this handle is closed or its owner dies."""

    def __init__(
        self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, guarded: bool = False
    ) -> None:
        self.pid = pid
        self._guarded = guarded
        self._writer = writer
        self._late: asyncio.TimerHandle | None = None
        self._resuming: asyncio.TimerHandle | None = None
        self._exit = asyncio.ensure_future(self._watch(reader))

    async def wait(self) -> int:
        """The exit code, negative for a signal as `subprocess` has it; -9 too if the zygote itself is gone."""
        return await asyncio.shield(self._exit)

    @property
    def running(self) -> bool:
        return not self._exit.done()

    def terminate(self) -> None:
        """Ask it to end. If it was stopped, it goes on a moment later, a guardian at once, and so does the zygote,
        which reports the end."""
        if not self.running:
            return
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        if warm := parent(self.pid):
            resume(warm)
        if self._guarded:
            resume(self.pid)
        elif self._resuming is None:
            self._resuming = asyncio.get_running_loop().call_later(RESUMED_AFTER_S, self._resume)

    def _resume(self) -> None:
        if self.running:
            resume(self.pid)

    def kill(self) -> None:
        """End it and all it started, now, as the zygote does when the line closes."""
        if not self.running:
            return
        if self._guarded:
            self.terminate()  # its guardian does the rest, and then ends too
            if self._late is None:
                self._late = asyncio.get_running_loop().call_later(GUARDIAN_ENDS_WITHIN_S, self._kill_guardian)
        else:
            kill_tree(self.pid)  # a process that left the group is found only while this one lives

    def _kill_guardian(self) -> None:
        """A guarded child may stop its guardian, again and again: then the guardian is killed too."""
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
            for timer in (self._late, self._resuming):
                if timer is not None:
                    timer.cancel()

    def _orphaned(self) -> int:
        """The zygote was killed. The kernel took the child along; what the child had started goes now. A guardian
        was told by the kernel, and sees to it."""
        if self._guarded:
            return -signal.SIGKILL
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return -signal.SIGKILL


class ZygoteClient:
    """A zygote that listens at `path`, whoever started it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def fork(self, job: Job, descriptors: Sequence[int] = ()) -> Child:
        """Fork a child with these open descriptors.

        Raises ConnectionError if the zygote is gone, ChildProcessError if it lives and cannot fork.
        """
        message = job.message()
        if len(message) > MESSAGE_MAX_BYTES:
            raise ValueError(f"the job's arguments and environment are over {MESSAGE_MAX_BYTES} bytes")
        with ExitStack() as unfinished:
            line = unfinished.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            line.connect(str(self.path))
            socket.send_fds(line, [message], list(descriptors))
            line.setblocking(False)
            reader, writer = await asyncio.open_unix_connection(sock=line)
            unfinished.pop_all()
        with ExitStack() as unfinished:
            unfinished.callback(writer.close)  # and so the child ends, if it was forked already
            answer = json.loads(await reader.readline() or b"{}")
            if "error" in answer:
                raise ChildProcessError(answer["error"])
            if "pid" not in answer:
                raise ConnectionError("the zygote ended before it forked")
            unfinished.pop_all()
        return Child(answer["pid"], reader, writer, job.guarded)


class OwnedZygote(ZygoteClient):
    """A zygote that this process started, and that ends with it."""

    def __init__(self, path: Path, process: asyncio.subprocess.Process, closed_within_s: float) -> None:
        super().__init__(path)
        self._process = process
        self._closed_within_s = closed_within_s

    @classmethod
    async def start(
        cls,
        path: Path,
        command: Sequence[str] = ZYGOTE,
        closed_within_s: float = CLOSED_WITHIN_S,
        forgotten: tuple[str, ...] = (),
    ) -> "OwnedZygote":
        """Start it, listening at `path` at once: what is asked before its imports are done waits in line.

        Of this process's environment it gets what `inherited` lets through, without names that begin with `forgotten`:
        its children can read what it was started with, whatever they are given themselves.
        """
        with suppress(FileNotFoundError):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(path))
            listener.listen(512)
            process = await asyncio.create_subprocess_exec(
                *command,
                str(listener.fileno()),
                stdin=asyncio.subprocess.PIPE,
                pass_fds=[listener.fileno()],
                start_new_session=True,
                env=inherited(os.environ, forgotten),
            )
        return cls(path, process, closed_within_s)

    async def fork(self, job: Job, descriptors: Sequence[int] = ()) -> Child:
        self._resume()
        return await super().fork(job, descriptors)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    async def close(self) -> None:
        """End it, and every child with it. One that does not hear is killed, with all below it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._resume()
        try:
            async with asyncio.timeout(self._closed_within_s):
                await self._process.wait()
        except TimeoutError:
            kill_tree(self._process.pid)
            await self._process.wait()
        with suppress(FileNotFoundError):
            os.unlink(self.path)

    def _resume(self) -> None:
        """A child, which runs anybody's code, may have stopped it."""
        if self.running:
            resume(self._process.pid)
