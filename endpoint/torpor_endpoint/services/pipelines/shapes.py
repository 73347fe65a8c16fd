"""Writes pipelines and executions in the API's shapes. `aws.wire.pruning` removes members that are None."""

from typing import Any

from torpor_endpoint.core.pipelines.pipeline_definition import PipelineDefinition
from torpor_endpoint.services.pipelines.pipeline_records import BegunStep, Pipeline, PipelineExecution
from torpor_endpoint.services.pipelines.running.step_actions import ACTIONS


def description(pipeline: Pipeline) -> dict[str, Any]:
    return {
        **pipeline.request,
        "PipelineArn": pipeline.arn,
        "PipelineName": pipeline.name,
        "PipelineStatus": "Active",
        "CreationTime": pipeline.created_s,
        "LastModifiedTime": pipeline.modified_s,
        "LastRunTime": pipeline.last_run_s,
    }


def summary(pipeline: Pipeline) -> dict[str, Any]:
    shown = ("PipelineDisplayName", "PipelineDescription", "RoleArn")
    return {
        **{name: pipeline.request.get(name) for name in shown},
        "PipelineArn": pipeline.arn,
        "PipelineName": pipeline.name,
        "CreationTime": pipeline.created_s,
        "LastModifiedTime": pipeline.modified_s,
        "LastExecutionTime": pipeline.last_run_s,
    }


def execution_description(execution: PipelineExecution) -> dict[str, Any]:
    shown = ("PipelineArn", "PipelineExecutionDisplayName", "PipelineExecutionDescription", "ParallelismConfiguration")
    return {
        **{name: execution.request.get(name) for name in (*shown, "RoleArn")},
        "PipelineExecutionArn": execution.arn,
        "PipelineExecutionStatus": execution.status,
        "FailureReason": execution.failure_reason,
        "CreationTime": execution.created_s,
        "LastModifiedTime": execution.modified_s,
    }


def execution_summary(execution: PipelineExecution) -> dict[str, Any]:
    shown = ("PipelineExecutionDisplayName", "PipelineExecutionDescription")
    return {
        **{name: execution.request.get(name) for name in shown},
        "PipelineExecutionArn": execution.arn,
        "StartTime": execution.created_s,
        "PipelineExecutionStatus": execution.status,
        "PipelineExecutionFailureReason": execution.failure_reason,
    }


def step_summary(step: BegunStep, definition: PipelineDefinition) -> dict[str, Any]:
    defined = definition.step(step.name)
    return {
        "StepName": step.name,
        "StepDisplayName": defined.display_name,
        "StepDescription": defined.description,
        "StartTime": step.began_s,
        "EndTime": step.ended_s,
        "StepStatus": step.status,
        "FailureReason": step.failure_reason,
        "AttemptCount": step.tried,
        "Metadata": _metadata(step, defined.kind),
    }


def _metadata(step: BegunStep, kind: str) -> dict[str, Any]:
    if kind == "Condition":
        return {} if step.outcome is None else {"Condition": {"Outcome": str(step.outcome)}}
    if kind == "Fail":
        return {"Fail": {"ErrorMessage": step.failure_reason or ""}}
    return {ACTIONS[kind].shown: {"Arn": step.arn}} if step.arn else {}
