"""Begins the training jobs of a tuning job, waits for them, and reads their objective metric."""

import asyncio
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.jobs.work import finished
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.services.tuning.lifecycle import Trial, TuningJob
from torpor_endpoint.services.tuning.rules import metric_regex, training_request
from torpor_endpoint.services.tuning.running import metric_reading


@dataclass(frozen=True)
class TrialJobs:
    """The training jobs of the endpoint. `logs` has a folder for each, with its log."""

    records: JobRecords[TrainingJob]
    queue: JobQueue[TrainingJob]
    logs: Path
    clock: Callable[[], float]

    async def begin(self, job: TuningJob, trial: Trial) -> None:
        """Begin the trial's training job, unless it is there already."""
        request = training_request(job.request, trial.tuned)
        made = replace(begun(TrainingJob, trial.name, trial.arn, request, trial.created_s), tuning_job_arn=job.arn)
        if await finished(self.records.add, made):
            self.queue.begin(made)

    async def ended(self, job: TuningJob, trial: Trial) -> Trial:
        """The trial once its training job is over."""
        await self.queue.ended(trial.name)
        seen = await finished(self.seen, trial)
        if not seen.is_over:  # its record was deleted, or never written
            seen = replace(seen, status="Failed", ended_s=self.clock(), failure_reason="The training job is not there.")
        if seen.status != "Completed":
            return seen
        return replace(seen, value=await self._value(trial.name, metric_regex(job.request) or ""))

    async def stop(self, trial: Trial) -> None:
        await self.queue.stop(trial)

    def seen(self, trial: Trial) -> Trial:
        """The trial as its training job is now. It waits for the disk."""
        training = None if trial.is_over else self.records.of(trial)
        if training is None:
            return trial
        return replace(
            trial,
            status=training.status,
            started_s=training.started_s,
            ended_s=training.ended_s,
            failure_reason=training.failure_reason,
        )

    async def _value(self, name: str, regex: str) -> float | None:
        """The last value of the metric in the training job's log."""
        log = await finished(_newest, self.logs / name)
        if log is None:
            return None
        program: list[Any] = [sys.executable, "-I", "-S", metric_reading.__file__, log, regex]
        process = await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        end = asyncio.ensure_future(process.communicate())
        try:
            output, _ = await asyncio.shield(end)
        except asyncio.CancelledError:
            process.kill()
            await end
            raise
        text = output.decode().strip()
        value = float(text) if process.returncode == 0 and text != "None" else math.nan
        return value if math.isfinite(value) else None


def _newest(folder: Path) -> Path | None:
    return max(folder.glob("algo-1-*.log"), default=None)
