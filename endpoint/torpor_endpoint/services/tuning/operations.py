"""The operations of hyperparameter tuning jobs, which the service `sagemaker` includes."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.job_roles import CheckRole, any_role
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.sagemaker.tag_operations import first_tags
from torpor_endpoint.services.training.rules import runs_script
from torpor_endpoint.services.tuning import errors, rules, shapes
from torpor_endpoint.services.tuning.lifecycle import Trial, TuningJob, TuningStage


@dataclass(frozen=True)
class Tuning:
    """What the operations act on. `current` brings the trials of a job up to date; it waits for the disk. `tag` and
    `untag` are those of `Training`."""

    jobs: JobRecords[TuningJob]
    queue: JobQueue[TuningJob]
    current: Callable[[TuningJob], TuningJob]
    tag: Callable[[str, Mapping[str, str]], None]
    untag: Callable[[str], None]
    clock: Callable[[], float]
    scripts: bool = True
    """Whether training scripts may run."""
    check_role: CheckRole = any_role


@dataclass(frozen=True)
class ListedTrial:
    """A trial as `listing.page` sorts it."""

    trial: Trial
    name: str
    created_s: float
    status: str


async def create_hyper_parameter_tuning_job(tuning: Tuning, call: Call) -> dict[str, Any]:
    rules.checked(call.params)
    if not tuning.scripts and runs_script(rules.training_request(call.params, {})):
        raise INVALID("This endpoint runs no training script: it was started with --refuse scripts.")
    name = call.params["HyperParameterTuningJobName"]
    arn = f"arn:aws:sagemaker:{call.region}:{call.account}:hyper-parameter-tuning-job/{name.lower()}"
    await asyncio.to_thread(tuning.check_role, call.params["TrainingJobDefinition"]["RoleArn"], arn)
    tags = first_tags(call)
    ours = ("Tags", "HyperParameterTuningJobName")
    request = {member: value for member, value in call.params.items() if member not in ours}
    if not await asyncio.to_thread(tuning.jobs.add, begun(TuningJob, name, arn, request, tuning.clock())):
        raise errors.EXISTS(arn=arn)
    await asyncio.to_thread(tuning.tag, arn, tags)
    tuning.queue.begin(name)
    return {"HyperParameterTuningJobArn": arn}


def describe_hyper_parameter_tuning_job(tuning: Tuning, call: Call) -> dict[str, Any]:
    return shapes.description(tuning.current(_found(tuning, call)))


def list_hyper_parameter_tuning_jobs(tuning: Tuning, call: Call) -> dict[str, Any]:
    jobs, token = page(tuning.jobs.all(), call.params)
    return {
        "HyperParameterTuningJobSummaries": [shapes.summary(tuning.current(job)) for job in jobs],
        "NextToken": token,
    }


def list_training_jobs_for_hyper_parameter_tuning_job(tuning: Tuning, call: Call) -> dict[str, Any]:
    job = tuning.current(_found(tuning, call))
    params = {"SortBy": "Name", "SortOrder": "Ascending", **call.params}
    listed = [ListedTrial(trial, trial.name, trial.created_s, trial.status) for trial in job.trials]
    if params["SortBy"] == "FinalObjectiveMetricValue":
        listed, params = _by_value(listed, params["SortOrder"] == "Descending"), {**params, "SortBy": "Name"}
        params["SortOrder"] = "Ascending"
    trials, token = page(listed, params)
    return {"TrainingJobSummaries": [shapes.trial_summary(job, one.trial) for one in trials], "NextToken": token}


async def stop_hyper_parameter_tuning_job(tuning: Tuning, call: Call) -> dict[str, Any]:
    job = await asyncio.to_thread(_found, tuning, call)
    if job.is_over:
        raise INVALID(f"The request was rejected because the tuning job is in status {job.status}.")
    if job.stage is not TuningStage.STOPPING:
        await tuning.queue.stop(job.name)
    return {}


def delete_hyper_parameter_tuning_job(tuning: Tuning, call: Call) -> dict[str, Any]:
    job = _found(tuning, call)
    if not tuning.jobs.remove(job.name):
        raise INVALID(
            f"The request was rejected because the tuning job is in status {job.status}: only one that is over can be "
            "deleted."
        )
    tuning.untag(job.arn)
    return {}


OPERATIONS: dict[str, Operation[Tuning]] = {
    "CreateHyperParameterTuningJob": create_hyper_parameter_tuning_job,
    "DescribeHyperParameterTuningJob": describe_hyper_parameter_tuning_job,
    "ListHyperParameterTuningJobs": list_hyper_parameter_tuning_jobs,
    "ListTrainingJobsForHyperParameterTuningJob": list_training_jobs_for_hyper_parameter_tuning_job,
    "StopHyperParameterTuningJob": stop_hyper_parameter_tuning_job,
    "DeleteHyperParameterTuningJob": delete_hyper_parameter_tuning_job,
}


def _by_value(listed: list[ListedTrial], descending: bool) -> list[ListedTrial]:
    """In order of their values, named by their places, so that a page sorts them so."""
    known = [one for one in listed if one.trial.value is not None]
    known.sort(key=lambda one: (one.trial.value or 0.0, one.name), reverse=descending)
    ordered = [*known, *(one for one in listed if one.trial.value is None)]
    return [ListedTrial(one.trial, f"{at:06d}", one.created_s, one.status) for at, one in enumerate(ordered)]


def _found(tuning: Tuning, call: Call) -> TuningJob:
    name = call.params["HyperParameterTuningJobName"]
    job = tuning.jobs.get(name)
    if job is None:
        raise errors.NO_JOB(name=name)
    return job
