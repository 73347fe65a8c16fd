"""Runs training jobs, a few in parallel; the others wait as Starting. It stops jobs, and resumes after a restart."""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torpor_endpoint.services.training.jobs import Jobs
from torpor_endpoint.services.training.lifecycle import MOVES, JobStage
from torpor_endpoint.services.training.reasons import INTERRUPTED, internal_error
from torpor_endpoint.services.training.running.job_runner import Failed, JobRunner, JobSite, Stopped, unless
from torpor_endpoint.services.training.running.transport import finished

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunningJob:
    task: asyncio.Task[None]
    stop: asyncio.Event


class Trainer:
    """Runs at most `parallel` jobs at a time. All methods are for the event loop's thread."""

    def __init__(self, jobs: Jobs, site: JobSite, parallel: int = 1) -> None:
        self._jobs = jobs
        self._runner = JobRunner(site)
        self._turns = asyncio.Semaphore(parallel)
        self._running: dict[str, RunningJob] = {}

    async def start(self) -> None:
        """Resume after a restart: jobs that waited wait again, and jobs that ran have failed."""
        left = [job for job in await asyncio.to_thread(self._jobs.all) if MOVES[job.stage]]
        for job in sorted(left, key=lambda job: job.created_s):
            if job.stage is JobStage.STARTING:
                self.begin(job.name)
                continue
            await self._runner.clear(job.name)
            if not await self._move(job.name, JobStage.STOPPED):  # it was already stopping
                await self._move(job.name, JobStage.FAILED, INTERRUPTED.format(stage=job.stage))

    def begin(self, name: str) -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(self._run_job(name, stop))
        self._running[name] = RunningJob(task, stop)
        task.add_done_callback(lambda _: self._running.pop(name, None))

    async def stop(self, name: str) -> None:
        """Stop a job. Its script gets SIGTERM, and may still save its model."""
        await self._move(name, JobStage.STOPPING)
        if running := self._running.get(name):
            running.stop.set()

    async def ended(self, name: str) -> None:
        """Wait until nothing of the job runs."""
        if running := self._running.get(name):
            await asyncio.wait({running.task})

    @property
    def writing(self) -> set[Path]:
        """The logs of the running scripts."""
        return self._runner.writing

    async def close(self) -> None:
        """Kill the running scripts. Their records stay as they are; the next `start` marks them as failed."""
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run_job(self, name: str, stop: asyncio.Event) -> None:
        try:
            ended = await self._in_turn(name, stop)
            if not await self._move(name, ended):  # it was stopped in the moment when it ended
                await self._move(name, JobStage.STOPPED)
        except Stopped:
            await self._move(name, JobStage.STOPPED)
        except Failed as failed:
            await self._move(name, JobStage.FAILED, str(failed))
        except Exception as error:  # outer edge of one job's task: its fault must not stop the others
            log.exception("training job %s failed", name)
            await self._move(name, JobStage.FAILED, internal_error(error))

    async def _in_turn(self, name: str, stop: asyncio.Event) -> JobStage:
        await unless(stop, self._turns.acquire())
        try:
            job = await finished(self._jobs.get, name)
            assert job is not None  # jobs are never deleted
            if job.stage is JobStage.STOPPING:  # it was stopped before its task began
                raise Stopped
            return await self._runner.train(job, stop, partial(self._move, name))
        finally:
            self._turns.release()

    async def _move(self, name: str, stage: JobStage, reason: str | None = None) -> bool:
        """Move the job in a thread, since that waits for the disk; also if this task is cancelled meanwhile."""
        return await finished(self._jobs.move, name, stage, reason)
