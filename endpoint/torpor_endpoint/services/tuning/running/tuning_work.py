"""Runs one tuning job: proposes, begins and awaits its training jobs until there are enough."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from random import Random
from typing import Any

from torpor_endpoint.core.tuning.parameter_ranges import read_ranges
from torpor_endpoint.core.tuning.tuning_course import TrialSeen, TuningGoal, planned
from torpor_endpoint.core.tuning.tuning_proposals import TrialResult, bayesian, drawn, on_grid
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.work import Failed, Stopped, finished
from torpor_endpoint.services.tuning.lifecycle import Trial, TuningJob, TuningStage
from torpor_endpoint.services.tuning.rules import goal_of
from torpor_endpoint.services.tuning.running.trial_jobs import TrialJobs

NONE_COMPLETED = "No training job completed with a value of the objective metric. The last one: {last}"


class TuningWork:
    """What a tuning job does when its turn has come."""

    def __init__(self, records: JobRecords[TuningJob], trial_jobs: TrialJobs) -> None:
        self._records = records
        self._trial_jobs = trial_jobs

    async def run(
        self, job: TuningJob, stop: asyncio.Event, entered: Callable[[StrEnum], Awaitable[object]]
    ) -> TuningStage:
        """As `JobWork` has it."""
        if job.stage is not TuningStage.TUNING:
            await entered(TuningStage.TUNING)
        course = TuningCourse(job, self._records, self._trial_jobs)
        try:
            late = await course.run(stop)
        finally:
            await course.leave()
        if stop.is_set():
            raise Stopped
        if late:
            return TuningStage.RAN_TOO_LONG
        if all(trial.value is None for trial in course.trials):
            last = course.trials[-1]
            raise Failed(NONE_COMPLETED.format(last=last.failure_reason or f"{last.status} without a value"))
        return TuningStage.COMPLETED

    def resumes(self, job: TuningJob) -> bool:
        """A job that tuned goes on: its training jobs that ran have failed, and count."""
        return job.stage is TuningStage.TUNING

    async def clear(self, job: TuningJob) -> None:
        """Note how the training jobs of an interrupted job ended."""
        await finished(self._records.update, job, self.current)

    def current(self, job: TuningJob) -> TuningJob:
        """The job with its trials as they are now. It waits for the disk."""
        return replace(job, trials=tuple(map(self._trial_jobs.seen, job.trials)))

    def all(self) -> tuple[TuningJob, ...]:
        """All tuning jobs, as `current` gives each."""
        return tuple(map(self.current, self._records.all()))


class TuningCourse:
    """The course of one tuning job, from its first training job to its last. `trials` is what is recorded."""

    def __init__(self, job: TuningJob, records: JobRecords[TuningJob], trial_jobs: TrialJobs) -> None:
        config = job.request["HyperParameterTuningJobConfig"]
        self.trials = list(job.trials)
        self._job = job
        self._records = records
        self._trial_jobs = trial_jobs
        self._goal: TuningGoal = goal_of(job.request)
        self._ranges = read_ranges(config["ParameterRanges"])
        self._strategy = config["Strategy"]
        self._seed = str(config.get("RandomSeed", f"{job.arn} {job.created_s}"))
        self._until_s = job.created_s + config["ResourceLimits"].get("MaxRuntimeInSeconds", float("inf"))
        self._running: dict[asyncio.Task[Trial], int] = {}

    async def run(self, stop: asyncio.Event) -> bool:
        """Run to the end. True if the time was over before the training jobs were."""
        late, ending = False, False
        stopped = asyncio.ensure_future(stop.wait())
        try:
            for at, trial in enumerate(self.trials):
                if not trial.is_over:  # from a life of the endpoint before this one
                    await self._await(at, trial)
            while True:
                plan = planned(self._goal, [TrialSeen(trial.is_over, trial.value) for trial in self.trials])
                left_s = self._until_s - self._trial_jobs.clock()
                late = late or (left_s <= 0 and not plan.over)
                if not ending and (plan.enough or late or stop.is_set()):
                    ending = True
                    for at in self._running.values():
                        await self._trial_jobs.stop(self.trials[at])
                if plan.over or (ending and not self._running):
                    return late
                for _ in range(0 if ending else plan.launch):
                    await self._launch()
                await self._some(stopped, None if ending or left_s == float("inf") else left_s, ending)
        finally:
            stopped.cancel()

    async def leave(self) -> None:
        """Wait no longer for training jobs."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _some(self, stopped: "asyncio.Future[Any]", left_s: float | None, ending: bool) -> None:
        """Wait for a training job to end, or for the stop. Record what has ended."""
        waits: set[asyncio.Future[Any]] = {*self._running, *(() if ending else (stopped,))}
        done, _ = await asyncio.wait(waits, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        for task in [task for task in self._running if task in done]:
            at = self._running.pop(task)
            self.trials[at] = task.result()
        await self._record()

    async def _launch(self) -> None:
        """Begin one training job. It is recorded first, so that a restart finds it."""
        number = len(self.trials)
        suffix = sha256(f"{self._job.arn} {self._job.created_s} {number}".encode()).hexdigest()[:8]
        name = f"{self._job.name}-{number + 1:03d}-{suffix}"
        arn = f"{self._job.arn.rpartition(':')[0]}:training-job/{name.lower()}"
        trial = Trial(name, arn, self._proposed(number), self._trial_jobs.clock())
        self.trials.append(trial)
        await self._record()
        await self._await(number, trial)

    async def _await(self, at: int, trial: Trial) -> None:
        await self._trial_jobs.begin(self._job, trial)
        self._running[asyncio.ensure_future(self._trial_jobs.ended(self._job, trial))] = at

    def _proposed(self, number: int) -> dict[str, str]:
        dice = Random(f"{self._seed} {number}").random
        if self._strategy == "Grid":
            return on_grid(self._ranges, number)
        if self._strategy == "Random":
            return drawn(self._ranges, dice)
        results = [
            TrialResult(trial.tuned, self._goal.loss(trial.value)) for trial in self.trials if trial.value is not None
        ]
        return bayesian(self._ranges, results, dice)

    async def _record(self) -> None:
        trials = tuple(self.trials)
        await finished(self._records.update, self._job, lambda job: replace(job, trials=trials))
