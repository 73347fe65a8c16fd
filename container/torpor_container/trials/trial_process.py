"""Tries versions of artifacts in processes of their own before the instance loads them, and reports each result.

A process whose trial succeeded serves the next one: to fork one takes longer than to load a small model. A version that
ends such a process is tried once more in a new one, so that it is not blamed for what an earlier version did there.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import field
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from torpor_container.core.trials import QUICK_MAX, SLOW_MAX, End, limit_s, share_bytes
from torpor_container.errors import ContainerError, LoadFailed
from torpor_container.formats import Conventions
from torpor_container.formats.script.child_process import RAISED
from torpor_container.frozen_class import frozen
from torpor_container.processes.import_steps import Step
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.trials.tester import Bounds, Ended, Tester, Told
from torpor_container.typed_json import written

IDLE_S = 60.0
"""How long a process waits for the next trial, or for the next work after one, in seconds."""
QUICK_S = 1.0
"""A trial that takes longer leaves its place to quick ones, and goes on in a place for slow ones."""
TRIALS_MAX = 1000
"""How many trials one process serves, since each may leave something behind."""


@frozen
class TrialCandidate:
    """What to try: a model's file and its format, the bytes of its folder, and what must be imported first."""

    format: str
    path: Path
    disk_bytes: int
    step: Step = Step.WHOLE


@frozen
class Afterwork:
    """Work on a version that has passed its trial, away from every request: `run` is `module:function(arguments,
    descriptors)`, which returns a JSON object.

    It runs in a process like those of trials: under their limits, in their box, which lets it write to `descriptors`
    and to nothing else. `disk_bytes` is the size of the files that it reads; `limit_bytes` is the memory that it may
    take beside the libraries of `step`, which are imported first.
    """

    run: str
    arguments: Mapping[str, Any]
    disk_bytes: int
    limit_bytes: int
    descriptors: Sequence[int] = field(default=())
    step: Step = Step.WHOLE


class TrialEnd(NamedTuple):
    """The result of a trial, its text for a person, and the error that the instance would have raised, if any.

    `starved`: it took too long, and got little of the processor time that it wanted. `predicted_s`: see `Verdict`.
    `imports_s`: how long it waited for a process with all libraries, which serves later trials too.
    """

    end: End
    how: str = ""
    error: ContainerError | None = None
    starved: bool = False
    predicted_s: float = 0.0
    imports_s: float = 0.0


class Trials:
    """Runs the trials of one instance. `environment` has all variables that a model's own code sees."""

    def __init__(
        self,
        memory: MemoryBudget,
        load_timeout_s: float,
        conventions: Conventions,
        zygote: ZygoteAccess,
        environment: Mapping[str, str],
        idle_s: float = IDLE_S,
    ) -> None:
        """A process that has had no work for `idle_s` ends."""
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
        self._idle: list[Tester] = []
        self._busy: set[Tester] = set()
        self._afterworker: Tester | None = None
        self._afterwork = asyncio.Lock()
        self._idle_timer, self._afterworker_timer = (
            _IdleTimer(idle_s, self._end_idle),
            _IdleTimer(idle_s, self._end_afterworker),
        )
        self._preparing: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def budget_bytes(self) -> int:
        """The instance's memory as it is now."""
        return self._memory.size_bytes

    async def share(self, candidate: TrialCandidate, loaded: Callable[[], None] = lambda: None) -> TrialEnd:
        """Try with one share of the memory for trials. `loaded` is called once the trial has loaded the model."""
        async with _Place(self._quick, self._slow):
            return await self._try(candidate, share_bytes(self.budget_bytes), loaded)

    async def alone(self, candidate: TrialCandidate, limit_bytes: int) -> TrialEnd:
        """Try with `limit_bytes` of memory, one trial after the other."""
        async with self._alone:
            return await self._try(candidate, limit_bytes)

    def expect(self) -> None:
        """Prepare a process, since a new version will come soon."""
        if self._preparing is None and not self._idle:
            self._preparing = asyncio.create_task(self._prepare())

    async def after(self, work: Afterwork) -> Told:
        """Do work on a version after its verdict, one at a time, in a place for slow trials. Raises LoadFailed with the
        reason if it fails, ends its process, or exceeds its limits."""
        bounds = Bounds(work.limit_bytes, limit_s(work.disk_bytes, self._load_timeout_s))
        request = {
            "act": "work",
            "run": work.run,
            "arguments": work.arguments,
            "step": work.step.name,
            **_limits(bounds),
        }
        async with self._afterwork, self._slow, AsyncExitStack() as unless_good:
            worker = await self._worker_with(work.step)
            self._busy.add(worker)
            unless_good.callback(self._busy.discard, worker)
            unless_good.push_async_callback(worker.close)
            worker.trials += 1
            told = await worker.ask(request, bounds, descriptors=work.descriptors)
            if isinstance(told, Ended):
                raise LoadFailed(f"{work.run} {told.how}")
            if told.get("end") != "done":
                raise LoadFailed(f"{work.run} failed: {told.get('message', '')}")
            if worker.trials < TRIALS_MAX and not self._closed:
                unless_good.pop_all()
                self._busy.discard(worker)
                self._afterworker = worker
                self._afterworker_timer.begin()
        result: Told = told.get("result") or {}
        return result

    async def close(self) -> None:
        self._closed = True
        if self._preparing is not None:
            self._preparing.cancel()
            await asyncio.gather(self._preparing, return_exceptions=True)
        self._idle_timer.end()
        self._afterworker_timer.end()
        testers = {*self._idle, *self._busy} | ({self._afterworker} if self._afterworker else set())
        self._idle, self._afterworker = [], None
        await asyncio.gather(*(tester.close() for tester in testers))

    # -- inside ----------------------------------------------------------------------------------------------------
    async def _try(
        self, candidate: TrialCandidate, limit_bytes: int, loaded: Callable[[], None] = lambda: None
    ) -> TrialEnd:
        if self._preparing is not None and not self._idle:
            await asyncio.wait({self._preparing})
        idle = self._idle_with(candidate.step)
        if idle is not None:
            ended = await self._try_in(idle, candidate, limit_bytes, loaded)
            if ended.end is not End.DIED or self._closed:
                return ended
        began_s = monotonic()
        forked = await self._fork(candidate.step)
        imports_s = monotonic() - began_s
        ended = await self._try_in(forked, candidate, limit_bytes, loaded)
        return ended._replace(imports_s=imports_s)

    def _idle_with(self, step: Step) -> Tester | None:
        """A process that waits for a trial, with these libraries: the last one that worked."""
        for place in reversed(range(len(self._idle))):
            if self._idle[place].has(step):
                return self._idle.pop(place)
        return None

    async def _worker_with(self, step: Step) -> Tester:
        worker, self._afterworker = self._afterworker, None
        if worker is not None and worker.has(step):
            return worker
        if worker is not None:
            worker.end()
        return await self._fork(step)

    async def _try_in(
        self, tester: Tester, candidate: TrialCandidate, limit_bytes: int, loaded: Callable[[], None]
    ) -> TrialEnd:
        bounds = Bounds(limit_bytes, limit_s(candidate.disk_bytes, self._load_timeout_s))
        request = {
            "act": "try",
            "format": candidate.format,
            "path": os.fspath(candidate.path),
            "disk_bytes": candidate.disk_bytes,
            "step": candidate.step.name,
            **_limits(bounds),
        }
        self._busy.add(tester)
        async with AsyncExitStack() as unless_good:
            unless_good.callback(self._busy.discard, tester)
            unless_good.push_async_callback(tester.close)
            tester.trials += 1
            ended = _end_of(candidate, await tester.ask(request, bounds, loaded))
            if ended.end is End.GOOD and tester.trials < TRIALS_MAX:
                unless_good.pop_all()
                self._busy.discard(tester)
                self._idle.append(tester)
                self._idle_timer.begin()
        return ended

    def _end_idle(self) -> None:
        while self._idle:
            self._idle.pop().end()

    def _end_afterworker(self) -> None:
        worker, self._afterworker = self._afterworker, None
        if worker is not None:
            worker.end()

    async def _prepare(self) -> None:
        """Make a process ready. If that fails, the first trial reports why."""
        try:
            with suppress(LoadFailed):
                self._idle.append(await self._fork(Step.BARE))
                self._idle_timer.begin()
        finally:
            self._preparing = None

    async def _fork(self, step: Step) -> Tester:
        conventions = self._conventions.within(self._memory.size_bytes)
        return await Tester.forked(self._zygote, {**self._arguments, "conventions": written(conventions)}, step)


class _IdleTimer:
    """Calls `over` once `lasts_s` have passed since it last began."""

    def __init__(self, lasts_s: float, over: Callable[[], None]) -> None:
        self._lasts_s = lasts_s
        self._over = over
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        self.end()
        self._timer = asyncio.get_running_loop().call_later(self._lasts_s, self._over)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class _Place:
    """A place for a quick trial, which becomes one for a slow trial after QUICK_S."""

    def __init__(self, quick: asyncio.Semaphore, slow: asyncio.Semaphore) -> None:
        self._held, self._slow = quick, slow
        self._moving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        await self._held.acquire()
        self._timer = asyncio.get_running_loop().call_later(QUICK_S, self._begin_to_move)

    async def __aexit__(self, *error: object) -> None:
        self._timer.cancel()
        if self._moving is not None:
            self._moving.cancel()
        self._held.release()

    def _begin_to_move(self) -> None:
        self._moving = asyncio.create_task(self._move())

    async def _move(self) -> None:
        await self._slow.acquire()
        self._held.release()
        self._held = self._slow


def _limits(bounds: Bounds) -> Told:
    return {"limit_bytes": bounds.bytes_max, "limit_s": bounds.limit_s}


def _end_of(candidate: TrialCandidate, told: Told | Ended) -> TrialEnd:
    name = candidate.path.name
    if isinstance(told, Ended):
        return TrialEnd(told.end, f"{name} {told.how}", starved=told.starved)
    if told.get("end") == "good":
        predicted_s = told.get("predicted_s")
        return TrialEnd(End.GOOD, predicted_s=predicted_s if isinstance(predicted_s, float) else 0.0)
    error = RAISED.get(told.get("type", ""), LoadFailed)
    return TrialEnd(End.REFUSED, error=error(told.get("message", "")))
