"""Keeps the zygotes of this machine: one starts when a process is wanted, and ends when it has had none for a while.

Instances on this machine and training jobs are their children. `core.warm_steps` decides which zygote forks; this room
carries it out. The socket of the whole zygote, which has all libraries, is there all the time: a connection to it
starts that zygote, if it does not run, and waits for it.
"""

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from torpor_container.processes.import_steps import Step
from torpor_container.processes.process_tree import children
from torpor_container.processes.zygote_client import Child, Job, OwnedZygote
from torpor_endpoint.core.warm_steps import WantedStep, WarmZygote, rest_s, source
from torpor_endpoint.host.awaited_socket import AwaitedSocket

RETIRE_PERIOD_S = 5.0
WHOLE = WantedStep(Step.WHOLE)


JobOf = Callable[[OwnedZygote], Job]
"""What this zygote's child runs."""


class StartZygote(Protocol):
    """Starts a zygote of this step at the path; `listener`, if there is one, listens there already."""

    async def __call__(self, path: Path, *, step: Step, listener: socket.socket | None) -> OwnedZygote: ...


@dataclass
class RunningZygote:
    """One that runs. `unused`: it was started on a guess, and has had no child yet."""

    step: Step
    zygote: OwnedZygote
    unused: bool
    idle_since_s: float = field(default_factory=monotonic)
    forking: int = 0
    ready: bool = False

    def is_busy(self) -> bool:
        """Whether it forks, or has children, whoever asked for them; or still imports, for which others may wait."""
        has_children = self.forking > 0 or self.zygote.has_children or bool(children(self.zygote.pid))
        self.unused &= not has_children
        return has_children or not self.ready

    def seen(self) -> WarmZygote:
        return WarmZygote(self.step, self.ready, self.unused)


class WarmParent:
    """The zygotes that run now, at most one of each step. `folder` holds their sockets. `guesses`: the whole one starts
    behind where nothing is known of an instance's models."""

    def __init__(self, folder: Path, start: StartZygote = OwnedZygote.start, guesses: bool = True) -> None:
        self._folder = folder
        self._start = start
        self._guesses = guesses
        self._running: dict[Step, RunningZygote] = {}
        self._changing = asyncio.Lock()  # held while one starts or ends
        self._closed = False
        self._whole_socket = AwaitedSocket(folder / f"whole-{secrets.token_hex(4)}")
        self._tasks: set[asyncio.Task[Any]] = set()

    async def fork(self, job: Job, descriptors: Sequence[int], wanted: WantedStep) -> Child:
        """Start a child with these descriptors. Its variables name the sockets of its zygote and of the whole one.

        Raises OSError, ValueError.
        """
        child = await self._forked(partial(self._told, job), descriptors, wanted)
        if wanted.guessed and self._guesses:
            self._keep(self._find(WantedStep(Step.WHOLE, guessed=True)))
        return child

    async def fork_untold(self, job: Job, descriptors: Sequence[int]) -> Child:
        """Start a child that has all libraries, ends with the endpoint, and learns no socket of a zygote.

        Raises OSError, ValueError.
        """
        return await self._forked(lambda zygote: job, descriptors, WHOLE)

    async def retire(self, idle_s: float, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Watch the zygotes for ever, and end each after `idle_s` without any child: at last only the endpoint runs."""
        while True:
            await pause(min(idle_s, RETIRE_PERIOD_S))
            for running in tuple(self._running.values()):
                if running.is_busy():
                    running.idle_since_s = monotonic()
                elif monotonic() - running.idle_since_s >= rest_s(running.seen(), self._seen(), idle_s):
                    await self._end(running, unless_busy=True)

    def _seen(self) -> list[WarmZygote]:
        return [running.seen() for running in self._running.values()]

    async def close(self) -> None:
        """End the zygotes and their children. One that is starting now has started then, and ends with the others."""
        async with self._changing:
            self._closed = True
        for running in tuple(self._running.values()):
            await self._end(running)
        while self._tasks:
            tasks = tuple(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._whole_socket.close()

    # -- forks -----------------------------------------------------------------------------------------------------
    def _told(self, job: Job, zygote: OwnedZygote) -> Job:
        sockets = {"TORPOR_WARM_PARENT": zygote.path, "TORPOR_WHOLE_PARENT": self._whole_socket.path}
        return replace(job, environment={**job.environment, **{name: str(path) for name, path in sockets.items()}})

    async def _forked(self, job: JobOf, descriptors: Sequence[int], needs: WantedStep) -> Child:
        """Fork, also where every zygote was killed a moment ago: each may be tried before its end is known here, and
        then a new one."""
        for _ in range(len(self._running) + 1):
            with suppress(ConnectionError):
                return await self._fork(job, descriptors, needs)
        return await self._fork(job, descriptors, needs)

    async def _fork(self, job: JobOf, descriptors: Sequence[int], needs: WantedStep) -> Child:
        running = await self._find(needs)
        running.forking += 1
        try:
            return await running.zygote.fork(job(running.zygote), descriptors)
        except ConnectionError:
            await self._end(running)
            raise
        finally:
            running.forking -= 1

    # -- starts and ends -------------------------------------------------------------------------------------------
    async def _find(self, needs: WantedStep) -> RunningZygote:
        """The zygote to fork from, which may still import. Each but the whole one has a socket of its own, so that an
        old socket is never reused."""
        async with self._changing:
            if self._closed:
                raise ConnectionError("the endpoint ends")
            self._running = {step: one for step, one in self._running.items() if one.zygote.running}
            step = source(needs, self._seen())
            if step not in self._running:
                self._running[step] = RunningZygote(step, await self._started(step), unused=needs.guessed)
                self._keep(self._follow(self._running[step]))
            return self._running[step]

    async def _started(self, step: Step) -> OwnedZygote:
        if step is Step.WHOLE:
            self._whole_socket.await_none()
            with ExitStack() as unless_started:
                unless_started.callback(self._refuse)
                whole = await self._start(self._whole_socket.path, step=step, listener=self._whole_socket.listener())
                unless_started.pop_all()
            return whole
        self._await_asking()
        return await self._start(self._folder / f"warm-{secrets.token_hex(4)}", step=step, listener=None)

    def _refuse(self) -> None:
        """Tell those who wait for the whole zygote that it did not start; the next one that asks starts another."""
        self._whole_socket.refuse()
        self._await_asking()

    def _await_asking(self) -> None:
        """Start the whole zygote for the first that connects, unless it runs and takes connections itself."""
        if Step.WHOLE not in self._running:
            self._whole_socket.await_one(lambda: self._keep(self._find(WHOLE)))

    async def _follow(self, running: RunningZygote) -> None:
        """Wait until the zygote is ready, and then for its end."""
        ended = asyncio.ensure_future(running.zygote.ended())
        ready = asyncio.ensure_future(running.zygote.ready())
        try:
            await asyncio.wait({ready, ended}, return_when=asyncio.FIRST_COMPLETED)
            running.ready = ready.done() and ready.exception() is None
            await ended
        finally:
            ready.cancel()
            ended.cancel()
        async with self._changing:
            if self._running.get(running.step) is running:
                del self._running[running.step]
            if running.step is Step.WHOLE and Step.WHOLE not in self._running:
                if running.ready:
                    self._await_asking()
                else:
                    self._refuse()

    async def _end(self, running: RunningZygote, unless_busy: bool = False) -> None:
        """End a zygote with its children. Another one starts when it is wanted."""
        async with self._changing:
            if self._running.get(running.step) is running and not (unless_busy and running.is_busy()):
                del self._running[running.step]
                if not running.ready and not running.forking:  # it would see its end only after its imports
                    running.zygote.kill()
                await running.zygote.close()

    def _keep(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run this in the background."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # a zygote that could not start: its waiters get the error
