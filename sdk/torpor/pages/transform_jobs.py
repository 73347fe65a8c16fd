"""Reads the transform jobs of an endpoint: SageMaker's records, each with its progress where the endpoint has that."""

from dataclasses import dataclass
from typing import Any

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.transform_jobs import JobProgress, read_transform_jobs


@dataclass(frozen=True)
class ShownJob:
    """One job. `progress` is None for one that waits for its turn, and for one of before the endpoint's last start."""

    name: str
    status: str
    failure_reason: str
    created_s: float
    ended_s: float | None
    progress: JobProgress | None


def transform_jobs(connection: EndpointConnection) -> list[ShownJob]:
    """All jobs, the newest last."""
    progress = {one.name: one for one in read_transform_jobs(connection.json_page(PageName.TRANSFORM_JOBS))}
    pages = connection.client("sagemaker").get_paginator("list_transform_jobs")
    found = [job for page in pages.paginate(SortOrder="Ascending") for job in page["TransformJobSummaries"]]
    return [_shown(job, progress.get(job["TransformJobName"])) for job in found]


def transform_job(connection: EndpointConnection, name: str) -> ShownJob:
    """Raises ClientError if there is no such job."""
    described = connection.client("sagemaker").describe_transform_job(TransformJobName=name)
    found = read_transform_jobs(connection.json_page(PageName.TRANSFORM_JOBS, {"job": name}))
    return _shown(described, found[0] if found else None)


def stop_transform_job(connection: EndpointConnection, name: str) -> None:
    """Raises ClientError if there is no such job, or if it has ended."""
    connection.client("sagemaker").stop_transform_job(TransformJobName=name)


def _shown(job: dict[str, Any], progress: JobProgress | None) -> ShownJob:
    ended = job.get("TransformEndTime")
    return ShownJob(
        job["TransformJobName"],
        job["TransformJobStatus"],
        job.get("FailureReason", ""),
        job["CreationTime"].timestamp(),
        None if ended is None else ended.timestamp(),
        progress,
    )
