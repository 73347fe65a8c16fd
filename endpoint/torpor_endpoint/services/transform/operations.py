"""The operations on transform jobs, which the service `sagemaker` includes."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_endpoint.services.jobs.job_operations import JobContext, JobForm
from torpor_endpoint.services.sagemaker.errors import INVALID, Resource
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.transform import errors, rules, shapes
from torpor_endpoint.services.transform.lifecycle import TransformJob
from torpor_endpoint.storage.store import Store


@dataclass(frozen=True, kw_only=True)
class Transforming(JobContext[TransformJob]):
    """`store` has the models."""

    store: Store
    strict: bool = False
    """Whether to refuse what AWS refuses, even if Torpor can do it."""


FORM = JobForm(
    noun="TransformJob",
    job=TransformJob,
    segment="transform-job",
    name="TransformJobName",
    arn="TransformJobArn",
    summaries="TransformJobSummaries",
    exists=errors.EXISTS,
    missing=errors.NO_JOB,
    description=shapes.description,
    summary=shapes.summary,
    deleted=False,
)


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
    containers = model.containers
    return await FORM.created(transforming, call, containers[0].role, lambda job: replace(job, containers=containers))


OPERATIONS: dict[str, Operation[Transforming]] = {"CreateTransformJob": create_transform_job, **FORM.operations()}
