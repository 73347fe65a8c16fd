"""The operations on recommendations jobs, which the service `sagemaker` includes."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_account.aws.wire import tokens
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.job_roles import CheckRole, any_role
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.recommendations import recommendation_errors as errors
from torpor_endpoint.services.recommendations import recommendation_shapes as shapes
from torpor_endpoint.services.recommendations.recommendation_rules import JOB_RULES
from torpor_endpoint.services.recommendations.recommendation_stages import RecommendationsJob, RecommendationStage
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.listing import DEFAULT_MAX_RESULTS, page
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.sagemaker.tag_operations import first_tags


@dataclass(frozen=True)
class Recommending:
    """What the operations act on. `tag` is called with an ARN and the tags of a new job."""

    jobs: JobRecords[RecommendationsJob]
    queue: JobQueue[RecommendationsJob]
    tag: Callable[[str, Mapping[str, str]], None]
    clock: Callable[[], float]
    check_role: CheckRole = any_role


async def create_inference_recommendations_job(recommending: Recommending, call: Call) -> dict[str, Any]:
    check(JOB_RULES, call.params)
    name = call.params["JobName"]
    arn = f"arn:aws:sagemaker:{call.region}:{call.account}:inference-recommendations-job/{name.lower()}"
    await asyncio.to_thread(recommending.check_role, call.params["RoleArn"], arn)
    tags = first_tags(call)
    request = {member: value for member, value in call.params.items() if member not in ("Tags", "JobName")}
    job = begun(RecommendationsJob, name, arn, request, recommending.clock())
    if not await asyncio.to_thread(recommending.jobs.add, job):
        raise errors.EXISTS(arn=arn)
    await asyncio.to_thread(recommending.tag, arn, tags)
    recommending.queue.begin(name)
    return {"JobArn": arn}


def describe_inference_recommendations_job(recommending: Recommending, call: Call) -> dict[str, Any]:
    return shapes.description(_found(recommending, call.params["JobName"]))


def list_inference_recommendations_jobs(recommending: Recommending, call: Call) -> dict[str, Any]:
    given = {"ModelName": "ModelNameEquals", "ModelPackageVersionArn": "ModelPackageVersionArnEquals"}
    wanted = {member: call.params[option] for member, option in given.items() if option in call.params}
    jobs = [one for one in recommending.jobs.all() if wanted.items() <= one.request["InputConfig"].items()]
    found, token = page(jobs, call.params)
    return {"InferenceRecommendationsJobs": list(map(shapes.summary, found)), "NextToken": token}


def list_inference_recommendations_job_steps(recommending: Recommending, call: Call) -> dict[str, Any]:
    params = call.params
    job = _found(recommending, params["JobName"])
    found = [one for one in shapes.steps(job) if params.get("Status", one["Status"]) == one["Status"]]
    refusal = INVALID("NextToken is not one that this request was given.")
    since = 0
    if token := params.get("NextToken"):
        match tokens.read(token, refusal):
            case [str(name), int(since)] if name == job.name and 0 < since < len(found):
                pass
            case _:
                raise refusal
    until = since + params.get("MaxResults", DEFAULT_MAX_RESULTS)
    more = tokens.written((job.name, until)) if until < len(found) else None
    return {"Steps": found[since:until], "NextToken": more}


async def stop_inference_recommendations_job(recommending: Recommending, call: Call) -> dict[str, Any]:
    job = await asyncio.to_thread(_found, recommending, call.params["JobName"])
    if not job.is_over and job.stage is not RecommendationStage.STOPPING:
        await recommending.queue.stop(job.name)
    return {}


OPERATIONS: dict[str, Operation[Recommending]] = {
    "CreateInferenceRecommendationsJob": create_inference_recommendations_job,
    "DescribeInferenceRecommendationsJob": describe_inference_recommendations_job,
    "ListInferenceRecommendationsJobs": list_inference_recommendations_jobs,
    "ListInferenceRecommendationsJobSteps": list_inference_recommendations_job_steps,
    "StopInferenceRecommendationsJob": stop_inference_recommendations_job,
}


def _found(recommending: Recommending, name: str) -> RecommendationsJob:
    job = recommending.jobs.get(name)
    if job is None:
        raise errors.NO_JOB(name=name)
    return job
