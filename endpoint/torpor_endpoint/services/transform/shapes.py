"""Writes transform jobs in the API's shapes. `aws.wire.pruning` removes members that are None."""

from typing import Any

from torpor_endpoint.services.transform.lifecycle import TransformJob


def description(job: TransformJob) -> dict[str, Any]:
    return {
        **job.request,
        "TransformJobName": job.name,
        "TransformJobArn": job.arn,
        "TransformJobStatus": job.status,
        "FailureReason": job.failure_reason,
        "CreationTime": job.created_s,
        "TransformStartTime": job.started_s,
        "TransformEndTime": job.ended_s,
    }


def summary(job: TransformJob) -> dict[str, Any]:
    return {
        "TransformJobName": job.name,
        "TransformJobArn": job.arn,
        "CreationTime": job.created_s,
        "TransformEndTime": job.ended_s,
        "LastModifiedTime": job.modified_s,
        "TransformJobStatus": job.status,
        "FailureReason": job.failure_reason,
    }
