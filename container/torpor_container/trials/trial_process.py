"""Tries versions of artifacts in processes of their own before the instance loads them, and reports each result.

A process whose trial succeeded serves the next one: to fork one takes longer than to load a small model. A version that
ends such a process is tried once more in a new one, so that it is not blamed for what an earlier version did there.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from torpor_container.core.trials import MIB, QUICK_MAX, SLOW_MAX, End, limit_s, share_bytes
from torpor_container.core.work_wait import GaveUp, WorkWait
from torpor_container.errors import ContainerError, LoadFailed
from torpor_container.formats import Conventions
from torpor_container.formats.script.child_process import RAISED
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.process_tree import resident_bytes
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import Child, Job
from torpor_container.typed_json import written
from torpor_container.waiting.process_work import looked_at

START = "torpor_container.trials.trial_child:start"
OUTPUT = (1, 2)
IDLE_S = 60.0
"""How long a process waits for the next trial, in seconds."""
QUICK_S = 1.0
"""A trial that takes longer leaves its place to quick ones, and goes on in a place for slow ones."""
WATCH_S = 0.1
TRIALS_MAX = 1000
"""How many trials one process serves, since each may leave something behind."""
SLACK_BYTES = 64 * 1024 * 1024
"""All pages are watched too, since the limit is on private memory alone. This much is for libraries that it loads."""
LINE_MAX_BYTES = 1024 * 1024
GOOD = {"end": "good"}
END_OF = {"refused": End.REFUSED, "exceeded": End.EXCEEDED}
"""The results that a process of trials reports itself, by their words."""


@dataclass(frozen=True)
class TrialCandidate:
    """What to try: a model's file and its format, and the bytes of its folder."""

    format: str
    path: Path
    disk_bytes: int


class TrialEnd(NamedTuple):
    """The result of a trial, its text for a person, and the error that the instance would have raised, if any.

    `starved`: it took too long, and got little of the processor time that it wanted.
    """

    end: End
    how: str = ""
    error: ContainerError | None = None
    starved: bool = False


class Trials:
    """Runs the trials of one instance. `environment` has all variables that a model's own code sees."""

    def __init__(
        self,
        memory: MemoryBudget,
        load_timeout_s: float,
        conventions: Conventions,
        zygote: ZygoteAccess,
        environment: Mapping[str, str],
    ) -> None:
        self._memory = memory
        self._conventions = conventions
        self._load_timeout_s = load_timeout_s
        self._arguments = {
            "environment": dict(environment),
            "search_path": sys.path,
            "directory": os.getcwd(),
        }
        self._zygote = zygote
        self._quick, self._slow = asyncio.Semaphore(QUICK_MAX), asyncio.Semaphore(SLOW_MAX)
        self._alone = asyncio.Lock()
        self._idle: list[_Tester] = []
        self._busy: set[_Tester] = set()
        self._closing: asyncio.TimerHandle | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def budget_bytes(self) -> int:
        """The instance's memory as it is now."""
        return self._memory.size_bytes

    async def share(self, candidate: TrialCandidate, loaded: Callable[[], None] = lambda: None) -> TrialEnd:
        """Try with one share of the memory for trials. `loaded` is called once the trial has loaded the model."""
        await self._quick.acquire()
        with ExitStack() as place:
            place.callback(self._quick.release)
            trial = asyncio.ensure_future(self._try(candidate, share_bytes(self.budget_bytes), loaded))
            try:
                if (await asyncio.wait({trial}, timeout=QUICK_S))[1]:
                    async with self._slow:
                        place.close()
                        await asyncio.wait({trial})
                return await trial
            finally:
                trial.cancel()

    async def alone(self, candidate: TrialCandidate, limit_bytes: int) -> TrialEnd:
        """Try with `limit_bytes` of memory, one trial after the other."""
        async with self._alone:
            return await self._try(candidate, limit_bytes)

    def expect(self) -> None:
        """Prepare a process, since a new version will come soon."""
        if self._preparing is None and not self._idle:
            self._preparing = asyncio.create_task(self._prepare())

    async def close(self) -> None:
        self._closed = True
        if self._preparing is not None:
            self._preparing.cancel()
            await asyncio.gather(self._preparing, return_exceptions=True)
        if self._closing is not None:
            self._closing.cancel()
        testers, self._idle = [*self._idle, *self._busy], []
        await asyncio.gather(*(tester.close() for tester in testers))

    # -- inside ----------------------------------------------------------------------------------------------------
    async def _try(
        self, candidate: TrialCandidate, limit_bytes: int, loaded: Callable[[], None] = lambda: None
    ) -> TrialEnd:
        if self._preparing is not None and not self._idle:
            await asyncio.wait({self._preparing})
        used = bool(self._idle)
        tester = self._idle.pop() if used else await self._fork()
        ended = await self._try_in(tester, candidate, limit_bytes, loaded)
        if used and ended.end is End.DIED and not self._closed:
            ended = await self._try_in(await self._fork(), candidate, limit_bytes, loaded)
        return ended

    async def _try_in(
        self, tester: "_Tester", candidate: TrialCandidate, limit_bytes: int, loaded: Callable[[], None]
    ) -> TrialEnd:
        self._busy.add(tester)
        async with AsyncExitStack() as unless_good:
            unless_good.callback(self._busy.discard, tester)
            unless_good.push_async_callback(tester.close)
            within_s = limit_s(candidate.disk_bytes, self._load_timeout_s)
            ended = await tester.try_one(candidate, limit_bytes, within_s, loaded)
            if ended.end is End.GOOD and tester.trials < TRIALS_MAX:
                unless_good.pop_all()
                self._busy.discard(tester)
                self._keep(tester)
        return ended

    def _keep(self, tester: "_Tester") -> None:
        self._idle.append(tester)
        if self._closing is not None:
            self._closing.cancel()
        self._closing = asyncio.get_running_loop().call_later(IDLE_S, self._end_idle)

    def _end_idle(self) -> None:
        while self._idle:
            self._idle.pop().end()

    async def _prepare(self) -> None:
        """Make a process ready. If that fails, the first trial reports why."""
        try:
            with suppress(LoadFailed):
                self._keep(await self._fork())
        finally:
            self._preparing = None

    async def _fork(self) -> "_Tester":
        conventions = self._conventions.within(self._memory.size_bytes)
        arguments = {**self._arguments, "conventions": written(conventions)}
        ours, theirs = socket.socketpair()
        loaded_read, loaded_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with theirs, ExitStack() as forked, ExitStack() as unfinished:
            forked.callback(os.close, loaded_write)
            unfinished.callback(os.close, loaded_read)
            unfinished.enter_context(ours)
            try:
                child = await self._zygote.fork(Job(START, arguments), [theirs.fileno(), loaded_write, *OUTPUT])
            except (OSError, ValueError) as error:
                raise LoadFailed(f"no process could be started to try the model in: {error}") from error
            ours.setblocking(False)
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LINE_MAX_BYTES)
            unfinished.pop_all()
        tester = _Tester(child, reader, writer, loaded_read)
        await tester.ready()
        return tester


class _Tester:
    """One process of trials. It writes a byte to the pipe `loaded_pipe` for each model that it has loaded."""

    def __init__(
        self, child: Child, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, loaded_pipe: int
    ) -> None:
        self._child = child
        self._loaded_pipe = loaded_pipe
        self.trials = 0
        self._loaded = 0
        self._reader = reader
        self._writer = writer
        self._resident_bytes = resident_bytes(child.pid)

    async def ready(self) -> None:
        """Wait until the process is ready. Raises LoadFailed."""
        with ExitStack() as unless_ready:
            unless_ready.callback(self.end)
            with suppress(OSError, ValueError):
                if await self._reader.readline():
                    unless_ready.pop_all()
                    return
        raise LoadFailed("the process to try the model in ended before it began")

    async def try_one(
        self, candidate: TrialCandidate, limit_bytes: int, limit_s: float, loaded: Callable[[], None]
    ) -> TrialEnd:
        """Run one trial, within limits on memory and time. Run another one only if this one succeeded."""
        request = {
            "format": candidate.format,
            "path": os.fspath(candidate.path),
            "disk_bytes": candidate.disk_bytes,
            "limit_bytes": limit_bytes,
            "limit_s": limit_s,
        }
        self.trials += 1
        answering = asyncio.ensure_future(self._answer(json.dumps(request).encode() + b"\n"))
        asyncio.get_running_loop().add_reader(self._loaded_pipe, self._count_loaded, loaded)
        exit_text = ""
        waiting = WorkWait(limit_s, looked_at(self._child.pid))
        try:
            end, late_for = await self._watch(answering, limit_bytes, waiting)
            answer = await answering if end is None else None
            if end is None and answer is None:
                code = await self._child.wait()
                end, exit_text = End.DIED, _exit_text(code)
                if code == -signal.SIGXCPU:
                    end, late_for = End.TOO_LONG, GaveUp.WORK
        finally:
            asyncio.get_running_loop().remove_reader(self._loaded_pipe)
            answering.cancel()
        if answer == GOOD:
            return TrialEnd(End.GOOD)
        name, step = candidate.path.name, self._current_step()
        within = f"{waiting.wall_s if late_for is GaveUp.CLOCK else limit_s:g} s"
        within += " of processor time" if late_for is GaveUp.WORK else ""
        exceeded = f"{name} took more than {limit_bytes // MIB} MiB of memory {step}"
        if answer is not None:
            return _reported(answer, exceeded)
        texts = {
            End.DIED: f"{name} ended its process with {exit_text} {step}",
            End.EXCEEDED: exceeded,
            End.TOO_LONG: f"{name} did not come to an end within {within} {step}",
        }
        assert end is not None
        return TrialEnd(end, texts[end], starved=waiting.starved and late_for in (GaveUp.WORK, GaveUp.CLOCK))

    async def close(self) -> None:
        self.end()
        await self._child.wait()

    def end(self) -> None:
        self._writer.close()
        self._child.kill()
        pipe, self._loaded_pipe = self._loaded_pipe, -1
        if pipe >= 0:
            os.close(pipe)

    def _count_loaded(self, loaded: Callable[[], None] = lambda: None) -> None:
        with suppress(BlockingIOError):
            self._loaded += len(os.read(self._loaded_pipe, 4096))
        if self._loaded == self.trials:
            loaded()

    def _current_step(self) -> str:
        """The step that the trial is in, or was in when it ended."""
        self._count_loaded()
        return "while it loaded" if self._loaded < self.trials else "while it predicted one row"

    async def _answer(self, request: bytes) -> Mapping[str, str] | None:
        """The answer; None if the process ended, or answered something else."""
        try:
            self._writer.write(request)
            if line := await self._reader.readline():
                answer: dict[str, str] = json.loads(line)
                return answer
        except (OSError, ValueError, TypeError):
            self._child.kill()
        return None

    async def _watch(
        self, answering: "asyncio.Future[Mapping[str, str] | None]", limit_bytes: int, waiting: WorkWait
    ) -> tuple[End | None, GaveUp | None]:
        """Watch time and memory. The limit that was exceeded; None if the process answered or ended."""
        most_bytes = self._resident_bytes + limit_bytes + SLACK_BYTES
        while not (await asyncio.wait({answering}, timeout=WATCH_S))[0]:
            if resident_bytes(self._child.pid) > most_bytes:
                return End.EXCEEDED, None
            if late_for := waiting.gave_up(looked_at(self._child.pid)):
                return End.TOO_LONG, late_for
        return None, None


def _reported(answer: Mapping[str, str], exceeded: str) -> TrialEnd:
    """The result that the process reports itself."""
    end = END_OF.get(answer["end"], End.DIED)
    if end is not End.REFUSED:
        return TrialEnd(end, exceeded if end is End.EXCEEDED else "")
    error = RAISED.get(answer.get("type", ""), LoadFailed)
    return TrialEnd(end, error=error(answer.get("message", "")))


def _exit_text(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
