"""The operations of the executions of pipelines, which the service `sagemaker` includes."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_account.aws.wire import tokens
from torpor_endpoint.core.pipelines.pipeline_definition import BadDefinition, PipelineDefinition, read_definition
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.pipelines import errors, shapes
from torpor_endpoint.services.pipelines.pipeline_operations import (
    Pipelines,
    checked_definition,
    found_pipeline,
    listing_params,
    refuse_unknown,
)
from torpor_endpoint.services.pipelines.pipeline_records import (
    BegunStep,
    Pipeline,
    PipelineExecution,
)
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.listing import DEFAULT_MAX_RESULTS, page

OF_CALL = (
    "PipelineExecutionDisplayName", "PipelineExecutionDescription", "ParallelismConfiguration", "RoleArn",
)  # fmt: skip


@dataclass(frozen=True)
class ListedStep:
    """A step as `listing.page` sorts it: `name` is its place."""

    step: BegunStep
    name: str
    created_s: float


def new_execution(pipeline: Pipeline, call: Call, values: Mapping[str, Any], now_s: float) -> PipelineExecution:
    """An execution of the pipeline as it is now. The same ClientRequestToken makes the same one."""
    identity = f"{pipeline.arn} {pipeline.created_s} {call.params['ClientRequestToken']}"
    name = sha256(identity.encode()).hexdigest()[:12]
    request = {
        **{
            member: pipeline.request[member]
            for member in ("RoleArn", "ParallelismConfiguration")
            if member in pipeline.request
        },
        **{member: call.params[member] for member in OF_CALL if member in call.params},
        "PipelineName": pipeline.name,
        "PipelineArn": pipeline.arn,
        "PipelineDefinition": pipeline.request["PipelineDefinition"],
    }
    made = begun(PipelineExecution, name, f"{pipeline.arn}/execution/{name}", request, now_s)
    return replace(made, parameters=values)


async def start_pipeline_execution(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    refuse_unknown(call)
    if not pipelines.runs:
        raise INVALID(
            "StartPipelineExecution is not supported by Torpor for an endpoint that was started with --auth and "
            "--s3-endpoint, where roles are names only: the steps would act without the policies of the pipeline's "
            "role. Call their operations one after another."
        )
    return await asyncio.to_thread(_started, pipelines, call, asyncio.get_running_loop())


def _started(pipelines: Pipelines, call: Call, loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
    pipeline = found_pipeline(pipelines, call)
    definition = checked_definition(pipeline.request["PipelineDefinition"])
    execution = new_execution(pipeline, call, _values(definition, call), pipelines.clock())
    pipelines.check_role(execution.request["RoleArn"], pipeline.arn)
    if pipelines.executions.add(execution):
        pipelines.pipelines.put(replace(pipeline, last_run_s=execution.created_s))
        loop.call_soon_threadsafe(pipelines.queue.begin, execution)
    return {"PipelineExecutionArn": execution.arn}


def describe_pipeline_execution(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    return shapes.execution_description(_found(pipelines, call))


def describe_pipeline_definition_for_execution(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    execution = _found(pipelines, call)
    return {"PipelineDefinition": execution.request["PipelineDefinition"], "CreationTime": execution.created_s}


def list_pipeline_executions(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    refuse_unknown(call)
    params = listing_params(call)
    if params.get("SortBy") == "PipelineExecutionArn":
        params["SortBy"] = "Name"
    executions, token = page(pipelines.of(found_pipeline(pipelines, call)), params)
    return {"PipelineExecutionSummaries": list(map(shapes.execution_summary, executions)), "NextToken": token}


def list_pipeline_execution_steps(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    if "PipelineExecutionArn" not in call.params:
        raise INVALID("PipelineExecutionArn must be given.")
    execution = _found(pipelines, call)
    definition = read_definition(execution.request["PipelineDefinition"])
    steps = [ListedStep(step, f"{at:06d}", step.began_s) for at, step in enumerate(execution.steps)]
    listed, token = page(steps, {**call.params, "SortBy": "Name"})
    return {
        "PipelineExecutionSteps": [shapes.step_summary(one.step, definition) for one in listed],
        "NextToken": token,
    }


def list_pipeline_parameters_for_execution(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    values = list(_found(pipelines, call).parameters.items())
    refusal = INVALID("NextToken is not one that this request was given.")
    begin = 0
    if token := call.params.get("NextToken"):
        match tokens.read(token, refusal):
            case [int(begin)]:
                pass
            case _:
                raise refusal
    end = begin + call.params.get("MaxResults", DEFAULT_MAX_RESULTS)
    return {
        "PipelineParameters": [{"Name": name, "Value": _text(value)} for name, value in values[begin:end]],
        "NextToken": tokens.written((end,)) if end < len(values) else None,
    }


async def stop_pipeline_execution(pipelines: Pipelines, call: Call) -> dict[str, Any]:
    execution = await asyncio.to_thread(_found, pipelines, call)
    if execution.is_over:
        text = f"The execution cannot be stopped: it is in status {execution.status}."
        raise errors.CONFLICT(text=text)
    await pipelines.queue.stop(execution)
    return {"PipelineExecutionArn": execution.arn}


OPERATIONS: dict[str, Operation[Pipelines]] = {
    "StartPipelineExecution": start_pipeline_execution,
    "DescribePipelineExecution": describe_pipeline_execution,
    "DescribePipelineDefinitionForExecution": describe_pipeline_definition_for_execution,
    "ListPipelineExecutions": list_pipeline_executions,
    "ListPipelineExecutionSteps": list_pipeline_execution_steps,
    "ListPipelineParametersForExecution": list_pipeline_parameters_for_execution,
    "StopPipelineExecution": stop_pipeline_execution,
}


def _values(definition: PipelineDefinition, call: Call) -> dict[str, Any]:
    """The value of each parameter of an execution."""
    given = {one["Name"]: one["Value"] for one in call.params.get("PipelineParameters", ())}
    for name in sorted(set(given) - {one.name for one in definition.parameters}):
        raise INVALID(f"PipelineParameters: {name} is no parameter of the pipeline.")
    for one in definition.parameters:
        if one.name not in given and one.default is None:
            raise INVALID(f"PipelineParameters: {one.name} must be given, since it has no default.")
    try:
        return {
            one.name: one.read(given[one.name]) if one.name in given else one.default for one in definition.parameters
        }
    except BadDefinition as bad:
        raise INVALID(str(bad)) from None


def _found(pipelines: Pipelines, call: Call) -> PipelineExecution:
    arn = call.params["PipelineExecutionArn"]
    execution = pipelines.executions.get(arn.rpartition("/")[2])
    if execution is None or execution.arn != arn.lower():
        raise errors.NO_EXECUTION(arn=arn)
    return execution


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
