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
from torpor_endpoint.services.jobs.job_records import CreatedJob, JobRecords
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

    async def clear(self, job: JobOfWork) -> None:
        """Remove what an interrupted job left."""


@dataclass(frozen=True)
class RunningJob:
    created_s: float
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
                self.begin(job)
                continue
            await self._work.clear(job)
            if not await self._move(job, self._kind.stopped):  # it was already stopping
                why = INTERRUPTED.format(noun=self._kind.noun, stage=job.stage)
                await self._move(job, self._kind.failed, internal_error(why))

    def begin(self, job: J) -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(self._run_job(job, stop))
        self._running[job.name] = RunningJob(job.created_s, task, stop)
        task.add_done_callback(partial(self._gone, job.name))

    def _gone(self, name: str, task: asyncio.Task[None]) -> None:
        """A job that was removed may have left its name to another one."""
        running = self._running.get(name)
        if running is not None and running.task is task:
            del self._running[name]

    async def stop(self, job: CreatedJob) -> None:
        """Stop a job. It may still keep what it has done."""
        await finished(self._records.move, job, self._kind.stopping)
        running = self._running.get(job.name)
        if running is not None and running.created_s == job.created_s:
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

    async def _run_job(self, job: J, stop: asyncio.Event) -> None:
        with outer_edge(log, "%s %s failed", self._kind.noun, job.name) as edge:
            try:
                ended = await self._in_turn(job, stop)
                if not await self._move(job, ended):  # it was stopped in the moment when it ended
                    await self._move(job, self._kind.stopped)
            except Stopped:
                await self._move(job, self._kind.stopped)
            except Failed as failed:
                await self._move(job, self._kind.failed, str(failed))
        if edge.fault is not None:
            await self._move(job, self._kind.failed, internal_error(edge.fault))

    async def _in_turn(self, begun: J, stop: asyncio.Event) -> StrEnum:
        await unless(stop, self._turns.acquire())
        try:
            job = await outlasting(self._outage, lambda: finished(self._records.of, begun))
            assert job is not None  # only a job that is over can be removed
            if job.stage is self._kind.stopping:  # it was stopped before its task began
                raise Stopped
            return await self._work.run(job, stop, partial(self._move, job))
        finally:
            self._turns.release()

    async def _move(self, job: J, stage: StrEnum, reason: str | None = None) -> bool:
        """Move the job in a thread, since that waits for the disk; also if this task is cancelled meanwhile. While the
        machine fails, it waits: a job that runs has an end."""
        return await outlasting(self._outage, lambda: finished(self._records.move, job, stage, reason))
