"""CreateProcessingJob, DescribeProcessingJob, ListProcessingJobs, StopProcessingJob, DeleteProcessingJob, which the
service `sagemaker` includes."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.job_roles import CheckRole, any_role
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.processing import errors, rules, shapes
from torpor_endpoint.services.processing.lifecycle import ProcessingJob, ProcessingStage
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.sagemaker.tag_operations import first_tags


@dataclass(frozen=True)
class Processing:
    """What the operations act on. `tag` is called with an ARN and the tags of a new job, `untag` with the ARN of a
    deleted one."""

    jobs: JobRecords[ProcessingJob]
    queue: JobQueue[ProcessingJob]
    tag: Callable[[str, Mapping[str, str]], None]
    untag: Callable[[str], None]
    clock: Callable[[], float]
    scripts: bool = True
    """Whether scripts may run."""
    check_role: CheckRole = any_role


async def create_processing_job(processing: Processing, call: Call) -> dict[str, Any]:
    check(rules.JOB_RULES, call.params)
    for given in call.params.get("ProcessingInputs", ()):
        check(rules.INPUT_RULES, given, name=given["InputName"])
    for given in call.params.get("ProcessingOutputConfig", {}).get("Outputs", ()):
        check(rules.OUTPUT_RULES, given, name=given["OutputName"])
    if not processing.scripts:
        raise INVALID("This endpoint runs no script of a job: it was started with --refuse scripts.")
    name = call.params["ProcessingJobName"]
    arn = f"arn:aws:sagemaker:{call.region}:{call.account}:processing-job/{name.lower()}"
    await asyncio.to_thread(processing.check_role, call.params["RoleArn"], arn)
    tags = first_tags(call)
    request = {member: value for member, value in call.params.items() if member not in ("Tags", "ProcessingJobName")}
    job = begun(ProcessingJob, name, arn, request, processing.clock())
    if not await asyncio.to_thread(processing.jobs.add, job):
        raise errors.EXISTS(arn=arn)
    await asyncio.to_thread(processing.tag, arn, tags)
    processing.queue.begin(name)
    return {"ProcessingJobArn": arn}


def describe_processing_job(processing: Processing, call: Call) -> dict[str, Any]:
    return shapes.description(_found(processing, call))


def list_processing_jobs(processing: Processing, call: Call) -> dict[str, Any]:
    jobs, token = page(processing.jobs.all(), call.params)
    return {"ProcessingJobSummaries": list(map(shapes.summary, jobs)), "NextToken": token}


async def stop_processing_job(processing: Processing, call: Call) -> dict[str, Any]:
    job = await asyncio.to_thread(_found, processing, call)
    if job.is_over:
        raise INVALID(f"The request was rejected because the processing job is in status {job.status}.")
    if job.stage is not ProcessingStage.STOPPING:
        await processing.queue.stop(job.name)
    return {}


def delete_processing_job(processing: Processing, call: Call) -> dict[str, Any]:
    job = _found(processing, call)
    if not processing.jobs.remove(job.name):
        raise INVALID(
            f"The request was rejected because the processing job is in status {job.status}: only one that is over "
            "can be deleted."
        )
    processing.untag(job.arn)
    return {}


OPERATIONS: dict[str, Operation[Processing]] = {
    "CreateProcessingJob": create_processing_job,
    "DescribeProcessingJob": describe_processing_job,
    "ListProcessingJobs": list_processing_jobs,
    "StopProcessingJob": stop_processing_job,
    "DeleteProcessingJob": delete_processing_job,
}


def _found(processing: Processing, call: Call) -> ProcessingJob:
    name = call.params["ProcessingJobName"]
    job = processing.jobs.get(name)
    if job is None:
        raise errors.NO_JOB(name=name)
    return job
