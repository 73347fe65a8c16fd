"""CreateTransformJob, DescribeTransformJob, ListTransformJobs, StopTransformJob, which the service `sagemaker`
includes."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.job_roles import CheckRole, any_role
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.sagemaker.errors import INVALID, Resource
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.sagemaker.tag_operations import first_tags
from torpor_endpoint.services.transform import errors, rules, shapes
from torpor_endpoint.services.transform.lifecycle import TransformJob, TransformStage
from torpor_endpoint.storage.store import Store


@dataclass(frozen=True)
class Transforming:
    """What the operations act on. `tag` is called with an ARN and the tags of a new job."""

    jobs: JobRecords[TransformJob]
    queue: JobQueue[TransformJob]
    store: Store
    tag: Callable[[str, Mapping[str, str]], None]
    clock: Callable[[], float]
    strict: bool = False  # refuse what AWS refuses, even if Torpor can do it
    check_role: CheckRole = any_role


async def create_transform_job(transforming: Transforming, call: Call) -> dict[str, Any]:
    check(rules.JOB_RULES, call.params)
    if (why := rules.bad_filter(call.params)) is not None:
        raise INVALID(why)
    model = await asyncio.to_thread(transforming.store.model, call.params["ModelName"])
    if model is None:
        raise errors.NO_MODEL(arn=Resource.MODEL.arn(call, call.params["ModelName"]))
    check(rules.MODEL_RULES, model)
    if transforming.strict:
        check(rules.STRICT_MODEL_RULES, model)
    if (why := rules.bad_pair(call.params, model)) is not None:
        raise INVALID(why)
    name = call.params["TransformJobName"]
    arn = f"arn:aws:sagemaker:{call.region}:{call.account}:transform-job/{name.lower()}"
    await asyncio.to_thread(transforming.check_role, model.containers[0].role, arn)
    tags = first_tags(call)
    request = rules.without(call.params, "Tags", "TransformJobName")
    job = replace(begun(TransformJob, name, arn, request, transforming.clock()), containers=model.containers)
    if not await asyncio.to_thread(transforming.jobs.add, job):
        raise errors.EXISTS(arn=arn)
    await asyncio.to_thread(transforming.tag, arn, tags)
    transforming.queue.begin(name)
    return {"TransformJobArn": arn}


def describe_transform_job(transforming: Transforming, call: Call) -> dict[str, Any]:
    return shapes.description(_found(transforming, call))


def list_transform_jobs(transforming: Transforming, call: Call) -> dict[str, Any]:
    jobs, token = page(transforming.jobs.all(), call.params)
    return {"TransformJobSummaries": list(map(shapes.summary, jobs)), "NextToken": token}


async def stop_transform_job(transforming: Transforming, call: Call) -> dict[str, Any]:
    job = await asyncio.to_thread(_found, transforming, call)
    if job.is_over:
        raise INVALID(f"The request was rejected because the transform job is in status {job.status}.")
    if job.stage is not TransformStage.STOPPING:
        await transforming.queue.stop(job.name)
    return {}


OPERATIONS: dict[str, Operation[Transforming]] = {
    "CreateTransformJob": create_transform_job,
    "DescribeTransformJob": describe_transform_job,
    "ListTransformJobs": list_transform_jobs,
    "StopTransformJob": stop_transform_job,
}


def _found(transforming: Transforming, call: Call) -> TransformJob:
    name = call.params["TransformJobName"]
    job = transforming.jobs.get(name)
    if job is None:
        raise errors.NO_JOB(name=name)
    return job
