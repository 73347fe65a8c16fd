"""The operations on recommendations jobs, which the service `sagemaker` includes."""

from collections.abc import Iterable, Mapping
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_account.aws.wire import tokens
from torpor_endpoint.services.jobs.job_operations import JobContext, JobForm
from torpor_endpoint.services.recommendations import recommendation_errors as errors
from torpor_endpoint.services.recommendations import recommendation_shapes as shapes
from torpor_endpoint.services.recommendations.recommendation_rules import JOB_RULES
from torpor_endpoint.services.recommendations.recommendation_stages import RecommendationsJob
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.listing import DEFAULT_MAX_RESULTS
from torpor_endpoint.services.sagemaker.rules import check

Recommending = JobContext[RecommendationsJob]


def of_model(jobs: Iterable[RecommendationsJob], params: Mapping[str, Any]) -> Iterable[RecommendationsJob]:
    """The jobs whose input is the model, or the model package, of ListInferenceRecommendationsJobs."""
    given = {"ModelName": "ModelNameEquals", "ModelPackageVersionArn": "ModelPackageVersionArnEquals"}
    wanted = {member: params[option] for member, option in given.items() if option in params}
    return (one for one in jobs if wanted.items() <= one.request["InputConfig"].items())


FORM = JobForm(
    noun="InferenceRecommendationsJob",
    job=RecommendationsJob,
    segment="inference-recommendations-job",
    name="JobName",
    arn="JobArn",
    summaries="InferenceRecommendationsJobs",
    exists=errors.EXISTS,
    missing=errors.NO_JOB,
    description=shapes.description,
    summary=shapes.summary,
    wanted=of_model,
    deleted=False,
    stopped_twice=True,
)


async def create_inference_recommendations_job(recommending: Recommending, call: Call) -> dict[str, Any]:
    check(JOB_RULES, call.params)
    return await FORM.created(recommending, call, call.params["RoleArn"])


def list_inference_recommendations_job_steps(recommending: Recommending, call: Call) -> dict[str, Any]:
    params = call.params
    job = FORM.found(recommending, call)
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


OPERATIONS: dict[str, Operation[Recommending]] = {
    "CreateInferenceRecommendationsJob": create_inference_recommendations_job,
    **FORM.operations(),
    "ListInferenceRecommendationsJobSteps": list_inference_recommendations_job_steps,
}
