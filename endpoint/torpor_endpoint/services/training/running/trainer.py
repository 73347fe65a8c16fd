"""Gives jobs their turn, so many at a time; the others wait as Starting. It stops them, and takes up what was left."""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torpor_endpoint.services.training.jobs import Jobs
from torpor_endpoint.services.training.lifecycle import MOVES, JobStage
from torpor_endpoint.services.training.reasons import INTERRUPTED, internal_error
from torpor_endpoint.services.training.running.transport import finished
from torpor_endpoint.services.training.running.workbench import Failed, JobSite, Stopped, Workbench, unless

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunningJob:
    task: asyncio.Task[None]
    stop: asyncio.Event


class Trainer:
    """`at_once` jobs run side by side. All methods are for the event loop's thread."""

    def __init__(self, jobs: Jobs, ground: JobSite, at_once: int = 1) -> None:
        self._jobs = jobs
        self._workbench = Workbench(ground)
        self._turns = asyncio.Semaphore(at_once)
        self._running: dict[str, RunningJob] = {}

    async def start(self) -> None:
        """Take up what an earlier endpoint left: jobs that still waited wait again, those that ran have failed."""
        left = [job for job in await asyncio.to_thread(self._jobs.all) if MOVES[job.stage]]
        for job in sorted(left, key=lambda job: job.created_s):
            if job.stage is JobStage.STARTING:
                self.begin(job.name)
                continue
            await self._workbench.clear(job.name)
            if not await self._move(job.name, JobStage.STOPPED):  # where it was going
                await self._move(job.name, JobStage.FAILED, INTERRUPTED.format(stage=job.stage))

    def begin(self, name: str) -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(self._carry_out(name, stop))
        self._running[name] = RunningJob(task, stop)
        task.add_done_callback(lambda _: self._running.pop(name, None))

    async def stop(self, name: str) -> None:
        """Have a job stopped: its script is told, and may save its model yet."""
        await self._move(name, JobStage.STOPPING)
        if running := self._running.get(name):
            running.stop.set()

    async def ended(self, name: str) -> None:
        """Once nothing of the job runs any more."""
        if running := self._running.get(name):
            await asyncio.wait({running.task})

    @property
    def writing(self) -> set[Path]:
        """The logs that are being written."""
        return self._workbench.writing

    async def close(self) -> None:
        """Kill what runs. Its jobs stay as they are, for the next `start` to say what became of them."""
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, name: str, stop: asyncio.Event) -> None:
        try:
            ended = await self._in_turn(name, stop)
            if not await self._move(name, ended):  # told to stop just as it ended
                await self._move(name, JobStage.STOPPED)
        except Stopped:
            await self._move(name, JobStage.STOPPED)
        except Failed as failed:
            await self._move(name, JobStage.FAILED, str(failed))
        except Exception as error:  # an outer edge: one job's trouble is no other's
            log.exception("the training job %s failed", name)
            await self._move(name, JobStage.FAILED, internal_error(error))

    async def _in_turn(self, name: str, stop: asyncio.Event) -> JobStage:
        await unless(stop, self._turns.acquire())
        try:
            job = await finished(self._jobs.get, name)
            assert job is not None  # jobs are never deleted
            if job.stage is JobStage.STOPPING:  # told so before its task began
                raise Stopped
            return await self._workbench.train(job, stop, partial(self._move, name))
        finally:
            self._turns.release()

    async def _move(self, name: str, stage: JobStage, reason: str | None = None) -> bool:
        """Off the event loop, since it waits for the disk; and to its end, whoever is cancelled."""
        return await finished(self._jobs.move, name, stage, reason)
