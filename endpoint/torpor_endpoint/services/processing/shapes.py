"""Writes processing jobs in the API's shapes. `aws.wire.pruning` removes members that are None."""

from typing import Any

from torpor_endpoint.services.jobs.scripts.script_runs import RUNTIME_MAX_S
from torpor_endpoint.services.processing.lifecycle import ProcessingJob


def description(job: ProcessingJob) -> dict[str, Any]:
    return {
        **job.request,
        **summary(job),
        "StoppingCondition": {"MaxRuntimeInSeconds": RUNTIME_MAX_S, **job.request.get("StoppingCondition", {})},
        "ProcessingStartTime": job.started_s,
    }


def summary(job: ProcessingJob) -> dict[str, Any]:
    return {
        "ProcessingJobName": job.name,
        "ProcessingJobArn": job.arn,
        "CreationTime": job.created_s,
        "ProcessingEndTime": job.ended_s,
        "LastModifiedTime": job.modified_s,
        "ProcessingJobStatus": job.status,
        "FailureReason": job.failure_reason,
        "ExitMessage": job.exit_message,
    }
