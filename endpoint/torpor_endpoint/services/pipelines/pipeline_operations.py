"""The operations of pipelines, which the service `sagemaker` includes. Those of their executions are in
`execution_operations`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_account.storage.record_table import RecordTable
from torpor_endpoint.core.pipelines.pipeline_definition import BadDefinition, PipelineDefinition, read_definition
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.job_roles import CheckRole, any_role
from torpor_endpoint.services.pipelines import errors, shapes
from torpor_endpoint.services.pipelines.pipeline_records import Pipeline, PipelineExecution
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.sagemaker.tag_operations import first_tags

NOT_DONE = {
    "PipelineDefinitionS3Location": "give PipelineDefinition",
    "PipelineVersionAliases": "a pipeline has one definition here",
    "PipelineVersionAlias": "a pipeline has one definition here",
    "PipelineVersionId": "a pipeline has one definition here",
    "SelectiveExecutionConfig": "all steps of an execution run",
    "MlflowExperimentName": "keep runs in a tracking server of your own",
}
"""Members of calls that are refused, and what to do."""
KEPT = ("PipelineSummaries", "PipelineExecutionSummaries", "PipelineExecutionSteps", "PipelineParameters")
"""Lists that clients index without looking."""
UNKEPT = ("PipelineName", "Tags", "ClientRequestToken")


@dataclass(frozen=True)
class Pipelines:
    """What the operations act on. `tag` and `untag` are those of `Training`; `runs` says whether executions may
    start."""

    pipelines: RecordTable[Pipeline]
    executions: JobRecords[PipelineExecution]
    queue: JobQueue[PipelineExecution]
    tag: Callable[[str, Mapping[str, str]], None]
    untag: Callable[[str], None]
    clock: Callable[[], float]
    runs: bool = True
    check_role: CheckRole = any_role

    def of(self, pipeline: Pipeline) -> Iterable[PipelineExecution]:
        """The executions of the pipeline."""
        return (one for one in self.executions.all() if one.request["PipelineArn"] == pipeline.arn)


def create_pipeline(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    refuse_unknown(call)
    checked_definition(call.params.get("PipelineDefinition"))
    name, now_s = call.params["PipelineName"], pipelines.clock()
    arn = f"arn:aws:sagemaker:{call.region}:{call.account}:pipeline/{name.lower()}"
    pipelines.check_role(call.params["RoleArn"], arn)
    tags = first_tags(call)
    if not pipelines.pipelines.add(Pipeline(name, arn, now_s, now_s, _kept(call))):
        raise errors.EXISTS(name=name)
    pipelines.tag(arn, tags)
    return {"PipelineArn": arn}


def update_pipeline(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    refuse_unknown(call)
    pipeline = found_pipeline(pipelines, call)
    if "PipelineDefinition" in call.params:
        checked_definition(call.params["PipelineDefinition"])
    if "RoleArn" in call.params:
        pipelines.check_role(call.params["RoleArn"], pipeline.arn)
    request = {**pipeline.request, **_kept(call)}
    pipelines.pipelines.put(replace(pipeline, request=request, modified_s=pipelines.clock()))
    return {"PipelineArn": pipeline.arn}


def delete_pipeline(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    pipeline = found_pipeline(pipelines, call)
    executions = list(pipelines.of(pipeline))
    if running := [one.arn for one in executions if not one.is_over]:
        raise errors.CONFLICT(text=f"The execution {running[0]} is not over: stop it before its pipeline is deleted.")
    for one in executions:
        pipelines.executions.remove(one)
    pipelines.pipelines.remove_if(pipeline.name, lambda _: True, partial(pipelines.untag, pipeline.arn))
    return {"PipelineArn": pipeline.arn}


def describe_pipeline(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    refuse_unknown(call)
    return shapes.description(found_pipeline(pipelines, call))


def list_pipelines(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    if "ManagedBy" in call.params and call.params["ManagedBy"] != "CUSTOMER":
        return {"PipelineSummaries": []}
    prefix = call.params.get("PipelineNamePrefix", "")
    named = [one for one in pipelines.pipelines.all() if one.name.startswith(prefix)]
    listed, token = page(named, listing_params(call))
    return {"PipelineSummaries": list(map(shapes.summary, listed)), "NextToken": token}


OPERATIONS: dict[str, Operation[Pipelines]] = {
    "CreatePipeline": create_pipeline,
    "UpdatePipeline": update_pipeline,
    "DeletePipeline": delete_pipeline,
    "DescribePipeline": describe_pipeline,
    "ListPipelines": list_pipelines,
}


def found_pipeline(pipelines: Pipelines, call: Call) -> Pipeline:
    """The pipeline that the call names, by its name or its ARN."""
    given = call.params["PipelineName"]
    key = given.rpartition("/")[2].lower() if given.startswith("arn:") else given.lower()
    pipeline = pipelines.pipelines.at(key)
    arn = f"arn:aws:sagemaker:{call.region}:{call.account}:pipeline/{key}"
    if pipeline is None or (given.startswith("arn:") and given.lower() != pipeline.arn):
        raise errors.NO_PIPELINE(arn=given if given.startswith("arn:") else arn)
    return pipeline


def refuse_unknown(call: Call) -> None:
    """Raises ValidationException for a member that Torpor does not carry out."""
    for name, instead in NOT_DONE.items():
        if name in call.params:
            raise INVALID(f"{name} is not supported by Torpor: {instead}.")


def listing_params(call: Call) -> dict[str, Any]:
    """The parameters as `listing.page` names them."""
    names = {"CreatedAfter": "CreationTimeAfter", "CreatedBefore": "CreationTimeBefore"}
    return {names.get(name, name): value for name, value in call.params.items()}


def checked_definition(text: str | None) -> PipelineDefinition:
    """The definition in this text. Raises ValidationException."""
    if text is None:
        raise INVALID("PipelineDefinition must be given.")
    try:
        return read_definition(text)
    except BadDefinition as bad:
        raise INVALID(str(bad)) from None


def _kept(call: Call) -> dict[str, Any]:
    return {member: value for member, value in call.params.items() if member not in UNKEPT}
