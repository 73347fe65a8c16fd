"""Puts a multi-model endpoint into service through SageMaker's own API, as on AWS, and waits until it is."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor.errors import EndpointFailed

ROLE = "arn:aws:iam::123456789012:role/torpor"
"""SageMaker's API wants one; nothing here assumes it."""
IMAGE = "torpor"
IN_SERVICE_WITHIN_S = 300.0
POLL_S = 0.02
"""botocore's own waiter polls every 30 s, for deployments that take minutes."""


@dataclass(frozen=True)
class Plan:
    """A multi-model endpoint to be."""

    name: str
    model_data_url: str
    environment: Mapping[str, str] = field(default_factory=dict)
    instance_type: str = "ml.m5.large"
    instance_count: int = 1
    variant: str = "AllTraffic"


def deploy(sagemaker: Any, plan: Plan) -> None:
    """Create the endpoint, or update it if there is one, and wait. Raises EndpointFailed with its FailureReason."""
    revision = f"{plan.name}-{uuid.uuid4().hex[:8]}"
    container = {
        "Image": IMAGE,
        "Mode": "MultiModel",
        "ModelDataUrl": plan.model_data_url,
        "Environment": dict(plan.environment),
    }
    variant = {
        "VariantName": plan.variant,
        "ModelName": revision,
        "InstanceType": plan.instance_type,
        "InitialInstanceCount": plan.instance_count,
    }
    sagemaker.create_model(ModelName=revision, ExecutionRoleArn=ROLE, PrimaryContainer=container)
    sagemaker.create_endpoint_config(EndpointConfigName=revision, ProductionVariants=[variant])
    exists = sagemaker.list_endpoints(NameContains=plan.name)["Endpoints"]
    known = any(endpoint["EndpointName"] == plan.name for endpoint in exists)
    put = sagemaker.update_endpoint if known else sagemaker.create_endpoint
    put(EndpointName=plan.name, EndpointConfigName=revision)
    until_in_service(sagemaker, plan.name)


def until_in_service(sagemaker: Any, name: str, within_s: float = IN_SERVICE_WITHIN_S) -> None:
    """Wait until the endpoint is in service. Raises EndpointFailed with its FailureReason."""
    deadline_s = time.monotonic() + within_s
    while (found := sagemaker.describe_endpoint(EndpointName=name))["EndpointStatus"] != "InService":
        if found["EndpointStatus"] == "Failed":
            raise EndpointFailed(f"endpoint {name}: {found.get('FailureReason', 'no reason was given')}")
        if time.monotonic() > deadline_s:
            raise EndpointFailed(f"endpoint {name} is still {found['EndpointStatus']} after {within_s:g} s")
        time.sleep(POLL_S)
