"""Writes recommendations jobs in the API's shapes. `aws.wire.pruning` removes members that are None."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from torpor_endpoint.core.recommendations.benchmark_records import Benchmark
from torpor_endpoint.services.recommendations.recommendation_stages import RecommendationsJob, RecommendationStage

VARIANT = "AllTraffic"
MINUTE_S = 60


def description(job: RecommendationsJob) -> dict[str, Any]:
    existing = "Endpoints" in job.request["InputConfig"]
    done = job.stage is RecommendationStage.COMPLETED
    return {
        **_shown(job),
        "InputConfig": job.request["InputConfig"],
        "StoppingConditions": job.request.get("StoppingConditions"),
        "InferenceRecommendations": _recommendations(job) if done and not existing else None,
        "EndpointPerformances": [_performance(job, one) for one in good(job)] if done and existing else None,
    }


def summary(job: RecommendationsJob) -> dict[str, Any]:
    given = job.request["InputConfig"]
    return {
        **_shown(job),
        "JobDescription": job.request.get("JobDescription", ""),
        "ModelName": given.get("ModelName"),
        "ModelPackageVersionArn": given.get("ModelPackageVersionArn"),
        "SamplePayloadUrl": given.get("ContainerConfig", {}).get("PayloadConfig", {}).get("SamplePayloadUrl"),
    }


def steps(job: RecommendationsJob) -> list[dict[str, Any]]:
    """Each setup that was tried, also without success."""
    tried = () if job.answer is None else job.answer.benchmarks
    return [
        {
            "StepType": "BENCHMARK",
            "JobName": job.name,
            "Status": "FAILED" if one.trouble else "COMPLETED",
            "InferenceBenchmark": {
                "Metrics": None if one.trouble else _metrics(one),
                "EndpointConfiguration": _endpoint(job, one, number),
                "ModelConfiguration": _model(one),
                "FailureReason": one.trouble or None,
                **_times(job),
            },
        }
        for number, one in enumerate(tried, 1)
    ]


def good(job: RecommendationsJob) -> list[Benchmark]:
    """The benchmarks that are recommendations, the cheapest answer first."""
    return [] if job.answer is None else [one for one in job.answer.benchmarks if not one.trouble]


def recommendation_id(job: RecommendationsJob, number: int) -> str:
    return f"{job.name}/{number:02}"


# -- inside ------------------------------------------------------------------------------------------------------------
def _shown(job: RecommendationsJob) -> dict[str, Any]:
    return {
        "JobName": job.name,
        "JobDescription": job.request.get("JobDescription"),
        "JobType": job.request["JobType"],
        "JobArn": job.arn,
        "RoleArn": job.request["RoleArn"],
        "Status": job.status,
        "CreationTime": job.created_s,
        "CompletionTime": job.ended_s,
        "LastModifiedTime": job.modified_s,
        "FailureReason": job.failure_reason,
    }


def _recommendations(job: RecommendationsJob) -> list[dict[str, Any]]:
    return [
        {
            "RecommendationId": recommendation_id(job, number),
            "Metrics": _metrics(one),
            "EndpointConfiguration": _endpoint(job, one, number),
            "ModelConfiguration": _model(one),
            **_times(job),
        }
        for number, one in enumerate(good(job), 1)
    ]


def _performance(job: RecommendationsJob, one: Benchmark) -> dict[str, Any]:
    metrics = {"MaxInvocations": one.invocations_per_minute, "ModelLatency": ceil(one.latency_ms)}
    return {"Metrics": metrics, "EndpointInfo": {"EndpointName": job.measured[0]}}


def _metrics(one: Benchmark) -> dict[str, Any]:
    return {
        "CostPerHour": one.usd_per_hour,
        "CostPerInference": one.usd_per_invocation,
        "MaxInvocations": one.invocations_per_minute,
        "ModelLatency": ceil(one.latency_ms),
        "CpuUtilization": one.processor_percent,
        "MemoryUtilization": one.memory_percent,
        "ModelSetupTime": one.setup_ms,
    }


def _endpoint(job: RecommendationsJob, one: Benchmark, number: int) -> dict[str, Any]:
    if one.setup.instance_type is None and one.setup.serverless is None:  # the endpoint that is there
        return {"EndpointName": job.measured[0], "VariantName": job.measured[1]}
    found: dict[str, Any] = {"EndpointName": f"{job.name[:60]}-{number:02}", "VariantName": VARIANT}
    if one.setup.serverless is None:
        return {**found, "InstanceType": one.setup.instance_type, "InitialInstanceCount": 1}
    config = {
        "MemorySizeInMB": one.setup.serverless.memory_mib,
        "MaxConcurrency": one.setup.serverless.max_concurrency,
        "ProvisionedConcurrency": one.setup.serverless.provisioned_concurrency or None,
    }
    return {**found, "ServerlessConfig": config}


def _model(one: Benchmark) -> dict[str, Any]:
    return {
        "InferenceSpecificationName": one.setup.specification,
        "EnvironmentParameters": _parameters(one.setup.environment) or None,
    }


def _parameters(environment: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": name, "ValueType": "String", "Value": value} for name, value in environment.items()]


def _times(job: RecommendationsJob) -> dict[str, Any]:
    return {"InvocationStartTime": job.begun_s, "InvocationEndTime": job.ended_s}
