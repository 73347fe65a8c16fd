"""Hyperparameter tuning in a folder, over the real training of `training_in_folder`."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.endpoint.services.helpers.training_in_folder import TrainingApi, TrainingFolder
from tests.endpoint.services.helpers.training_in_folder import job as training_job
from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.tuning.lifecycle import TuningJob
from torpor_endpoint.services.tuning.operations import OPERATIONS, Tuning
from torpor_endpoint.services.tuning.running.trial_jobs import TrialJobs
from torpor_endpoint.services.tuning.running.tuning_work import TuningWork


@dataclass(frozen=True)
class TuningApi:
    tuning: Tuning
    training: TrainingApi

    async def __call__(self, operation: str, **params: Any) -> Any:
        answer = OPERATIONS[operation](self.tuning, Call(operation, params, "us-east-1", "123456789012", "id"))
        return await answer if inspect.isawaitable(answer) else answer

    async def refusal(self, operation: str, **params: Any) -> str:
        """The message of a refused call."""
        try:
            await self(operation, **params)
        except AwsError as error:
            return error.message
        raise AssertionError(f"{operation} was not refused")

    async def describe(self, name: str = "tuning") -> Any:
        return await self("DescribeHyperParameterTuningJob", HyperParameterTuningJobName=name)

    async def ended(self, name: str = "tuning") -> Any:
        """DescribeHyperParameterTuningJob's answer once the job has ended."""
        await asyncio.wait_for(self.tuning.queue.ended(name), 120.0)
        return await self.describe(name)

    async def tuned(self, **config: Any) -> Any:
        await self("CreateHyperParameterTuningJob", **tuning_job(**config))
        return await self.ended()

    async def trials(self, **params: Any) -> Any:
        listed = await self(
            "ListTrainingJobsForHyperParameterTuningJob", HyperParameterTuningJobName="tuning", **params
        )
        return listed["TrainingJobSummaries"]


@asynccontextmanager
async def open_tuning(folder: TrainingFolder) -> AsyncIterator[TuningApi]:
    """One life of the endpoint."""
    folder.bucket.mkdir(parents=True, exist_ok=True)
    async with folder.open(at_once=2, grace_s=1.0) as training:
        jobs = JobRecords(training.database, "tuning_jobs", TuningJob, time.time)
        trial_jobs = TrialJobs(training.training.records, training.training.queue, folder.logs, time.time)
        work = TuningWork(jobs, trial_jobs)
        queue = JobQueue(jobs, work)
        await queue.start()
        try:
            no_tags = (lambda arn, tags: None, lambda arn: None)
            yield TuningApi(Tuning(jobs, queue, *no_tags, time.time, current=work.current), training)
        finally:
            await queue.close()


def tuning_job(jobs: int = 3, parallel: int = 2, **config: Any) -> dict[str, Any]:
    """A CreateHyperParameterTuningJob request for `train.py`, which prints `loss=…` for its hyperparameter rate."""
    script = training_job()
    definition = {name: value for name, value in script.items() if name not in ("TrainingJobName", "HyperParameters")}
    metric = {"MetricDefinitions": [{"Name": "loss", "Regex": "loss=([0-9.]+)"}]}
    return {
        "HyperParameterTuningJobName": "tuning",
        "HyperParameterTuningJobConfig": {
            "Strategy": "Random",
            "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "loss"},
            "ResourceLimits": {"MaxNumberOfTrainingJobs": jobs, "MaxParallelTrainingJobs": parallel},
            "ParameterRanges": {"ContinuousParameterRanges": [{"Name": "rate", "MinValue": "0", "MaxValue": "1"}]},
            **config,
        },
        "TrainingJobDefinition": {
            **definition,
            "StaticHyperParameters": script["HyperParameters"],
            "AlgorithmSpecification": {**script["AlgorithmSpecification"], **metric},
        },
    }
