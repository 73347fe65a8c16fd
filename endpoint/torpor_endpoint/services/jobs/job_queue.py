"""Runs the jobs of one kind, a few in parallel; the others wait in the first stage. Stops jobs, and resumes after a
restart."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Generic, Protocol, TypeVar

from torpor_account.outer_edge import outer_edge
from torpor_account.storage.outage_log import OutageLog
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.stages import J, JobRecord
from torpor_endpoint.services.jobs.work import Failed, Stopped, finished, internal_error, outlasting, unless

INTERRUPTED = "The endpoint stopped while the {noun} was {stage}. Create the job again."

JobOfWork = TypeVar("JobOfWork", bound=JobRecord[StrEnum], contravariant=True)

log = logging.getLogger(__name__)


class JobWork(Protocol[JobOfWork]):
    """What a job does when its turn has come."""

    async def run(
        self, job: JobOfWork, stop: asyncio.Event, entered: Callable[[StrEnum], Awaitable[object]]
    ) -> StrEnum:
        """Run the job, and return its final stage. Call `entered` at each stage before. Raises Stopped, Failed."""

    def resumes(self, job: JobOfWork) -> bool:
        """Whether a job that was interrupted in this stage goes on after a restart: it is run again."""

    async def clear(self, name: str) -> None:
        """Remove what an interrupted job left."""


@dataclass(frozen=True)
class RunningJob:
    task: asyncio.Task[None]
    stop: asyncio.Event


class JobQueue(Generic[J]):
    """Runs at most `parallel` jobs at a time. All methods are for the event loop's thread."""

    def __init__(self, records: JobRecords[J], work: JobWork[J], parallel: int = 1) -> None:
        self._records = records
        self._kind = records.kind
        self._work = work
        self._turns = asyncio.Semaphore(parallel)
        self._running: dict[str, RunningJob] = {}
        self._outage = OutageLog(f"{records.kind.noun}s wait for their records", f"{records.kind.noun}s go on")

    async def start(self) -> None:
        """Resume after a restart: jobs that waited wait again, and jobs that ran go on, or have failed."""
        left = [job for job in await asyncio.to_thread(self._records.all) if not job.is_over]
        for job in sorted(left, key=lambda job: job.created_s):
            if job.stage is self._kind.first or self._work.resumes(job):
                self.begin(job.name)
                continue
            await self._work.clear(job.name)
            if not await self._move(job.name, self._kind.stopped):  # it was already stopping
                why = INTERRUPTED.format(noun=self._kind.noun, stage=job.stage)
                await self._move(job.name, self._kind.failed, internal_error(why))

    def begin(self, name: str) -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(self._run_job(name, stop))
        self._running[name] = RunningJob(task, stop)
        task.add_done_callback(partial(self._gone, name))

    def _gone(self, name: str, task: asyncio.Task[None]) -> None:
        """A job that was removed may have left its name to another one."""
        running = self._running.get(name)
        if running is not None and running.task is task:
            del self._running[name]

    async def stop(self, name: str) -> None:
        """Stop a job. It may still keep what it has done."""
        await finished(self._records.move, name, self._kind.stopping)
        if running := self._running.get(name):
            running.stop.set()

    async def ended(self, name: str) -> None:
        """Wait until nothing of the job runs."""
        if running := self._running.get(name):
            await asyncio.wait({running.task})

    async def close(self) -> None:
        """Cancel the running jobs. Their records stay as they are, for the next `start`."""
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run_job(self, name: str, stop: asyncio.Event) -> None:
        with outer_edge(log, "%s %s failed", self._kind.noun, name) as edge:
            try:
                ended = await self._in_turn(name, stop)
                if not await self._move(name, ended):  # it was stopped in the moment when it ended
                    await self._move(name, self._kind.stopped)
            except Stopped:
                await self._move(name, self._kind.stopped)
            except Failed as failed:
                await self._move(name, self._kind.failed, str(failed))
        if edge.fault is not None:
            await self._move(name, self._kind.failed, internal_error(edge.fault))

    async def _in_turn(self, name: str, stop: asyncio.Event) -> StrEnum:
        await unless(stop, self._turns.acquire())
        try:
            job = await outlasting(self._outage, lambda: finished(self._records.get, name))
            assert job is not None  # only a job that is over can be removed
            if job.stage is self._kind.stopping:  # it was stopped before its task began
                raise Stopped
            return await self._work.run(job, stop, partial(self._move, name))
        finally:
            self._turns.release()

    async def _move(self, name: str, stage: StrEnum, reason: str | None = None) -> bool:
        """Move the job in a thread, since that waits for the disk; also if this task is cancelled meanwhile. While the
        machine fails, it waits: a job that runs has an end."""
        return await outlasting(self._outage, lambda: finished(self._records.move, name, stage, reason))
