"""CreateTrainingJob, DescribeTrainingJob, ListTrainingJobs, StopTrainingJob, DeleteTrainingJob, which the service
`sagemaker` includes."""

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
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.sagemaker.tag_operations import first_tags
from torpor_endpoint.services.training import errors, rules, shapes
from torpor_endpoint.services.training.lifecycle import TrainingJob, TrainingStage


@dataclass(frozen=True)
class Training:
    """What the operations act on. `tag` is called with an ARN and the tags of a new job, `untag` with the ARN of a
    deleted one."""

    jobs: JobRecords[TrainingJob]
    trainer: JobQueue[TrainingJob]
    tag: Callable[[str, Mapping[str, str]], None]
    untag: Callable[[str], None]
    clock: Callable[[], float]
    scripts: bool = True
    """Whether scripts may run. The built-in algorithm always may."""
    check_role: CheckRole = any_role


async def create_training_job(training: Training, call: Call) -> dict[str, Any]:
    check(rules.JOB_RULES, call.params)
    for channel in call.params.get("InputDataConfig", ()):
        check(rules.CHANNEL_RULES, channel, name=channel["ChannelName"])
    if not training.scripts and rules.runs_script(call.params):
        raise INVALID("This endpoint runs no training script: it was started with --refuse scripts.")
    name = call.params["TrainingJobName"]
    arn = f"arn:aws:sagemaker:{call.region}:{call.account}:training-job/{name.lower()}"
    await asyncio.to_thread(training.check_role, call.params["RoleArn"], arn)
    tags = first_tags(call)
    request = {member: value for member, value in call.params.items() if member not in ("Tags", "TrainingJobName")}
    if not await asyncio.to_thread(training.jobs.add, begun(TrainingJob, name, arn, request, training.clock())):
        raise errors.EXISTS(arn=arn)
    await asyncio.to_thread(training.tag, arn, tags)
    training.trainer.begin(name)
    return {"TrainingJobArn": arn}


def describe_training_job(training: Training, call: Call) -> dict[str, Any]:
    return shapes.description(_found(training, call))


def list_training_jobs(training: Training, call: Call) -> dict[str, Any]:
    jobs, token = page(training.jobs.all(), call.params)
    return {"TrainingJobSummaries": list(map(shapes.summary, jobs)), "NextToken": token}


async def stop_training_job(training: Training, call: Call) -> dict[str, Any]:
    job = await asyncio.to_thread(_found, training, call)
    if job.is_over:
        raise INVALID(f"The request was rejected because the training job is in status {job.status}.")
    if job.stage is not TrainingStage.STOPPING:
        await training.trainer.stop(job.name)
    return {}


def delete_training_job(training: Training, call: Call) -> dict[str, Any]:
    job = _found(training, call)
    if not training.jobs.remove(job.name):
        raise INVALID(
            f"The request was rejected because the training job is in status {job.status}: only one that is over "
            "can be deleted."
        )
    training.untag(job.arn)
    return {}


OPERATIONS: dict[str, Operation[Training]] = {
    "CreateTrainingJob": create_training_job,
    "DescribeTrainingJob": describe_training_job,
    "ListTrainingJobs": list_training_jobs,
    "StopTrainingJob": stop_training_job,
    "DeleteTrainingJob": delete_training_job,
}


def _found(training: Training, call: Call) -> TrainingJob:
    job = training.jobs.get(call.params["TrainingJobName"])
    if job is None:
        raise INVALID("Requested resource not found.")
    return job
