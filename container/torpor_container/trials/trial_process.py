"""Loads versions of artifacts in processes of their own before the instance loads them, and tells how each ended.

A process that ended well is used for the next trial: to fork one takes longer than to load a small model. What ends in
such a process is tried once more in a new one, so that no version answers for what another one did there.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from torpor_container.core.trials import MIB, QUICK_MAX, SLOW_MAX, End, limit_s, share_bytes
from torpor_container.errors import ContainerError, LoadFailed
from torpor_container.formats import Conventions
from torpor_container.formats.script.process import RAISED
from torpor_container.processes.process_tree import resident_bytes
from torpor_container.processes.zygote_access import Parent
from torpor_container.processes.zygote_client import Child, Job

START = "torpor_container.trials.trial_child:start"
OUTPUT = (1, 2)
IDLE_S = 60.0
"""So long a process waits for the next trial."""
QUICK_S = 1.0
"""A trial that takes longer makes way: it goes on beside the quick ones."""
WATCH_S = 0.1
ASKED_MAX = 1000
"""So many trials in one process, for what they leave there."""
SLACK_BYTES = 64 * 1024 * 1024
"""Pages are watched too, for the limit is on private memory alone. Those of libraries that it reads in are no harm."""
LINE_MAX_BYTES = 1024 * 1024
GOOD = {"end": "good"}
END_OF = {"refused": End.REFUSED, "exceeded": End.EXCEEDED}
"""What a process of trials says of itself."""


@dataclass(frozen=True)
class TrialCandidate:
    """What is to be tried: a model's file and its format, and the bytes of its folder."""

    format: str
    path: Path
    disk_bytes: int


class TrialEnd(NamedTuple):
    """How a trial ended; what there is to say of it; and the error that the instance would have raised, if any."""

    end: End
    how: str = ""
    error: ContainerError | None = None


class Trials:
    """The trials of one instance. `environment` is all that a model's own code sees of any."""

    def __init__(
        self,
        budget_bytes: int,
        load_timeout_s: float,
        conventions: Conventions,
        parent: Parent,
        environment: Mapping[str, str],
    ) -> None:
        self.budget_bytes = budget_bytes
        self._load_timeout_s = load_timeout_s
        self._arguments = {
            "conventions": asdict(conventions),
            "environment": dict(environment),
            "search_path": sys.path,
            "directory": os.getcwd(),
        }
        self._parent = parent
        self._quick, self._slow = asyncio.Semaphore(QUICK_MAX), asyncio.Semaphore(SLOW_MAX)
        self._alone = asyncio.Lock()
        self._idle: list[_Tester] = []
        self._busy: set[_Tester] = set()
        self._closing: asyncio.TimerHandle | None = None
        self._expecting: asyncio.Task[None] | None = None
        self._closed = False

    async def share(self, candidate: TrialCandidate, loaded: Callable[[], None] = lambda: None) -> TrialEnd:
        """Try with as much memory as one of several has. `loaded` is called once the model has been loaded there."""
        await self._quick.acquire()
        with ExitStack() as place:
            place.callback(self._quick.release)
            trial = asyncio.ensure_future(self._tried(candidate, share_bytes(self.budget_bytes), loaded))
            try:
                if (await asyncio.wait({trial}, timeout=QUICK_S))[1]:
                    async with self._slow:
                        place.close()
                        await asyncio.wait({trial})
                return await trial
            finally:
                trial.cancel()

    async def alone(self, candidate: TrialCandidate, limit_bytes: int) -> TrialEnd:
        """Try with so much memory, one after the other."""
        async with self._alone:
            return await self._tried(candidate, limit_bytes)

    def expect(self) -> None:
        """A version that is new here will come soon: a process for it is made ready meanwhile."""
        if self._expecting is None and not self._idle:
            self._expecting = asyncio.create_task(self._made_ready())

    async def close(self) -> None:
        self._closed = True
        if self._expecting is not None:
            self._expecting.cancel()
            await asyncio.gather(self._expecting, return_exceptions=True)
        if self._closing is not None:
            self._closing.cancel()
        testers, self._idle = [*self._idle, *self._busy], []
        await asyncio.gather(*(tester.close() for tester in testers))

    # -- inside ----------------------------------------------------------------------------------------------------
    async def _tried(
        self, candidate: TrialCandidate, limit_bytes: int, loaded: Callable[[], None] = lambda: None
    ) -> TrialEnd:
        if self._expecting is not None and not self._idle:
            await asyncio.wait({self._expecting})
        used = bool(self._idle)
        tester = self._idle.pop() if used else await self._forked()
        ended = await self._asked(tester, candidate, limit_bytes, loaded)
        if used and ended.end is End.DIED and not self._closed:
            ended = await self._asked(await self._forked(), candidate, limit_bytes, loaded)
        return ended

    async def _asked(
        self, tester: "_Tester", candidate: TrialCandidate, limit_bytes: int, loaded: Callable[[], None]
    ) -> TrialEnd:
        self._busy.add(tester)
        async with AsyncExitStack() as unless_good:
            unless_good.callback(self._busy.discard, tester)
            unless_good.push_async_callback(tester.close)
            within_s = limit_s(candidate.disk_bytes, self._load_timeout_s)
            ended = await tester.ask(candidate, limit_bytes, within_s, loaded)
            if ended.end is End.GOOD and tester.asked < ASKED_MAX:
                unless_good.pop_all()
                self._busy.discard(tester)
                self._keep(tester)
        return ended

    def _keep(self, tester: "_Tester") -> None:
        self._idle.append(tester)
        if self._closing is not None:
            self._closing.cancel()
        self._closing = asyncio.get_running_loop().call_later(IDLE_S, self._let_go)

    def _let_go(self) -> None:
        while self._idle:
            self._idle.pop().end()

    async def _made_ready(self) -> None:
        """Where none can be had, the first trial says why."""
        try:
            with suppress(LoadFailed):
                self._keep(await self._forked())
        finally:
            self._expecting = None

    async def _forked(self) -> "_Tester":
        ours, theirs = socket.socketpair()
        acts, told = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with theirs, ExitStack() as forked, ExitStack() as unfinished:
            forked.callback(os.close, told)
            unfinished.callback(os.close, acts)
            unfinished.enter_context(ours)
            try:
                child = await self._parent.fork(Job(START, self._arguments), [theirs.fileno(), told, *OUTPUT])
            except (OSError, ValueError) as error:
                raise LoadFailed(f"no process could be started to try the model in: {error}") from error
            ours.setblocking(False)
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LINE_MAX_BYTES)
            unfinished.pop_all()
        tester = _Tester(child, reader, writer, acts)
        await tester.ready()
        return tester


class _Tester:
    """One process of trials. It writes a byte to `acts` for each model that it has loaded."""

    def __init__(self, child: Child, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, acts: int) -> None:
        self._child = child
        self._acts = acts
        self.asked = 0
        self._loaded = 0
        self._reader = reader
        self._writer = writer
        self._resident_bytes = resident_bytes(child.pid)

    async def ready(self) -> None:
        """Raises LoadFailed."""
        with ExitStack() as unless_ready:
            unless_ready.callback(self.end)
            with suppress(OSError, ValueError):
                if await self._reader.readline():
                    unless_ready.pop_all()
                    return
        raise LoadFailed("the process to try the model in ended before it began")

    async def ask(
        self, candidate: TrialCandidate, limit_bytes: int, limit_s: float, loaded: Callable[[], None]
    ) -> TrialEnd:
        """Within limits on memory and time. It may be asked again only if that ended well."""
        request = {
            "format": candidate.format,
            "path": os.fspath(candidate.path),
            "disk_bytes": candidate.disk_bytes,
            "limit_bytes": limit_bytes,
            "limit_s": limit_s,
        }
        self.asked += 1
        answered = asyncio.ensure_future(self._answer(json.dumps(request).encode() + b"\n"))
        asyncio.get_running_loop().add_reader(self._acts, self._heard, loaded)
        try:
            end = await self._watched(answered, limit_bytes, limit_s)
            told = await answered if end is None else None
            if end is None and told is None:
                code = await self._child.wait()
                end, how = (End.TOO_LONG, "") if code == -signal.SIGXCPU else (End.DIED, _how(code))
            else:
                how = ""
        finally:
            asyncio.get_running_loop().remove_reader(self._acts)
            answered.cancel()
        if told == GOOD:
            return TrialEnd(End.GOOD)
        name, act = candidate.path.name, self._act()
        exceeded = f"{name} took more than {limit_bytes // MIB} MiB of memory {act}"
        if told is not None:
            return _ended(told, exceeded)
        texts = {
            End.DIED: f"{name} ended its process with {how} {act}",
            End.EXCEEDED: exceeded,
            End.TOO_LONG: f"{name} did not come to an end within {limit_s:g} s {act}",
        }
        assert end is not None
        return TrialEnd(end, texts[end])

    async def close(self) -> None:
        self.end()
        await self._child.wait()

    def end(self) -> None:
        self._writer.close()
        self._child.kill()
        acts, self._acts = self._acts, -1
        if acts >= 0:
            os.close(acts)

    def _heard(self, loaded: Callable[[], None] = lambda: None) -> None:
        with suppress(BlockingIOError):
            self._loaded += len(os.read(self._acts, 4096))
        if self._loaded == self.asked:
            loaded()

    def _act(self) -> str:
        """What it does, or did when it ended."""
        self._heard()
        return "while it loaded" if self._loaded < self.asked else "while it predicted one row"

    async def _answer(self, request: bytes) -> Mapping[str, str] | None:
        """None where the process ended, or said what is no answer."""
        try:
            self._writer.write(request)
            if line := await self._reader.readline():
                told: dict[str, str] = json.loads(line)
                return told
        except (OSError, ValueError, TypeError):
            self._child.kill()
        return None

    async def _watched(
        self, answered: "asyncio.Future[Mapping[str, str] | None]", limit_bytes: int, limit_s: float
    ) -> End | None:
        """How it was ended; None if it answered, or ended by itself."""
        time_s = asyncio.get_running_loop().time
        until_s = time_s() + limit_s
        most_bytes = self._resident_bytes + limit_bytes + SLACK_BYTES
        while not (await asyncio.wait({answered}, timeout=WATCH_S))[0]:
            if time_s() > until_s:
                return End.TOO_LONG
            if resident_bytes(self._child.pid) > most_bytes:
                return End.EXCEEDED
        return None


def _ended(told: Mapping[str, str], exceeded: str) -> TrialEnd:
    end = END_OF.get(told["end"], End.DIED)
    if end is not End.REFUSED:
        return TrialEnd(end, exceeded if end is End.EXCEEDED else "")
    raised = RAISED.get(told.get("type", ""), LoadFailed)
    return TrialEnd(end, error=raised(told.get("message", "")))


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
