"""Puts an endpoint into service through SageMaker's own API, as on AWS, and waits for that."""

import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from torpor.errors import EndpointFailed
from torpor_container.waiting.quiet_time import QuietClock

IMAGE = "torpor"
IN_SERVICE_WITHIN_S = 300.0
POLL_S = 0.02
"""The shortest pause between two polls. botocore's own waiter polls every 30 s, for deployments that take minutes."""
POLL_SHARE = 0.05
"""The pause as a share of the time so far. Frequent polls would take processor time from the deployment itself."""
REVISION_DIGITS = 8
IN_PROGRESS = ("Creating", "Updating", "RollingBack", "SystemUpdating", "Deleting")


@dataclass(frozen=True)
class EndpointPlan:
    """The configuration of an endpoint with one variant."""

    name: str
    model_data_url: str
    environment: Mapping[str, str] = field(default_factory=dict)
    instance_type: str = "ml.m5.large"
    instance_count: int = 1
    serverless: Mapping[str, int] | None = None
    """A `ServerlessConfig`, in place of instances of a type."""
    image: str = IMAGE
    instances_min: int | None = None
    """With `instances_max`, a `ManagedInstanceScaling`; 0 lets the instances scale to zero. Those of a serverless
    variant always may."""
    instances_max: int | None = None
    variant: str = "AllTraffic"
    multi_model: bool = True
    """Whether `model_data_url` is the prefix of many models, and not the artifact of one."""
    capture: Mapping[str, Any] | None = None
    """A `DataCaptureConfig`."""
    asynchronous: Mapping[str, Any] | None = None
    """An `AsyncInferenceConfig`."""
    hostname: str = ""
    """The `ContainerHostname`; "" for a container that is the only one."""
    before: Sequence[Mapping[str, Any]] = ()
    after: Sequence[Mapping[str, Any]] = ()
    """The definitions of the other containers of a pipeline."""

    @property
    def capacity(self) -> dict[str, Any]:
        """The members of the production variant that give its instances or its serverless size."""
        if self.serverless is not None:
            return {"ServerlessConfig": dict(self.serverless)}
        low, high = self.instances_min, self.instances_max
        if low is None and high is None:
            return {"InstanceType": self.instance_type, "InitialInstanceCount": self.instance_count}
        most = max(self.instance_count, low or 0) if high is None else high
        least = min(1, most) if low is None else low
        return {
            "InstanceType": self.instance_type,
            "InitialInstanceCount": max(1, least, min(self.instance_count, most)),
            "ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": least, "MaxInstanceCount": most},
        }


def new_revision(name: str) -> str:
    """A name for the next model and endpoint configuration of this endpoint."""
    return f"{name}-{uuid.uuid4().hex[:REVISION_DIGITS]}"


def deploy(sagemaker: Any, plan: EndpointPlan, revision: str | None = None) -> None:
    """Create or update the endpoint, and wait until it serves. It replaces a failed endpoint, as AWS demands.

    `revision` names the new model and endpoint configuration, so that the caller can delete them later.
    Raises EndpointFailed with the FailureReason, or with the error of SageMaker's API.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        revision = revision or new_revision(plan.name)
        put(sagemaker, plan, revision)
    except (BotoCoreError, ClientError) as error:
        raise EndpointFailed(f"endpoint {plan.name}: {error}") from error
    until_in_service(sagemaker, plan.name, revision)


class EndpointChange(StrEnum):
    """What a deployment does to the endpoint of its name."""

    CREATED = "created"
    UPDATED = "updated"
    REPLACED = "replaced the failed endpoint"


def put(sagemaker: Any, plan: EndpointPlan, revision: str) -> EndpointChange:
    """Create or update the endpoint, and do not wait until it serves. What it has made is deleted if that fails.

    Raises botocore's ClientError and ParamValidationError; EndpointFailed if an earlier change does not end.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        _configure(sagemaker, plan, revision)
        return _put(sagemaker, plan.name, revision)
    except (BotoCoreError, ClientError):
        with suppress(BotoCoreError, ClientError):  # the first error says more
            discard(sagemaker, revision)
        raise


def revision_of(sagemaker: Any, name: str) -> str | None:
    """The model and endpoint configuration that the endpoint has from here; None if it has others, or is not there."""
    config = str(_described(sagemaker, name).get("EndpointConfigName", ""))
    return config if re.fullmatch(rf"{re.escape(name)}-[0-9a-f]{{{REVISION_DIGITS}}}", config) else None


def discard(sagemaker: Any, revision: str) -> None:
    """Delete the model and the endpoint configuration of a revision. It skips what no longer exists."""
    _found(sagemaker.delete_endpoint_config, EndpointConfigName=revision)
    _found(sagemaker.delete_model, ModelName=revision)


def withdraw(sagemaker: Any, name: str, revisions: Iterable[str] = ()) -> None:
    """Delete the endpoint, wait until it is gone, and delete its revisions. It skips what no longer exists."""
    if _settled(sagemaker, name):  # an endpoint in progress cannot be deleted
        _found(sagemaker.delete_endpoint, EndpointName=name)
        _settled(sagemaker, name)
    for revision in revisions:
        discard(sagemaker, revision)


def until_in_service(sagemaker: Any, name: str, config: str) -> None:
    """Wait until the endpoint serves this configuration. Raises EndpointFailed with its FailureReason."""
    found = _settled(sagemaker, name)
    if found.get("EndpointStatus") != "InService" or found["EndpointConfigName"] != config:  # failed, or rolled back
        raise EndpointFailed(f"endpoint {name}: {found.get('FailureReason', 'no reason was given')}")


def _configure(sagemaker: Any, plan: EndpointPlan, revision: str) -> None:
    """Create a model and an endpoint configuration with the same new name."""
    container = {
        "Image": plan.image,
        "Mode": "MultiModel" if plan.multi_model else "SingleModel",
        "ModelDataUrl": plan.model_data_url,
        "Environment": dict(plan.environment),
    }
    if plan.hostname:
        container["ContainerHostname"] = plan.hostname
    others = [*plan.before, *plan.after]
    model = {"Containers": [*plan.before, container, *plan.after]} if others else {"PrimaryContainer": container}
    variant = {"VariantName": plan.variant, "ModelName": revision, **plan.capacity}
    sagemaker.create_model(ModelName=revision, **model)
    members = {"DataCaptureConfig": plan.capture, "AsyncInferenceConfig": plan.asynchronous}
    more = {name: dict(value) for name, value in members.items() if value is not None}
    sagemaker.create_endpoint_config(EndpointConfigName=revision, ProductionVariants=[variant], **more)


def _put(sagemaker: Any, name: str, config: str) -> EndpointChange:
    status = _settled(sagemaker, name).get("EndpointStatus")
    if status == "Failed":
        withdraw(sagemaker, name)  # a failed endpoint can only be deleted
    change = sagemaker.update_endpoint if status == "InService" else sagemaker.create_endpoint
    change(EndpointName=name, EndpointConfigName=config)
    done = {"InService": EndpointChange.UPDATED, "Failed": EndpointChange.REPLACED}
    return done.get(status or "", EndpointChange.CREATED)


def _settled(sagemaker: Any, name: str, within_s: float = IN_SERVICE_WITHIN_S) -> dict[str, Any]:
    """The endpoint's description once it is no longer in progress; empty if there is none. Raises EndpointFailed."""
    clock = QuietClock()
    while (found := _described(sagemaker, name)).get("EndpointStatus") in IN_PROGRESS:
        waited_s = clock()
        if waited_s > within_s:
            raise EndpointFailed(f"endpoint {name} is still {found['EndpointStatus']} after {within_s:g} s")
        time.sleep(max(POLL_S, POLL_SHARE * waited_s))
    return found


def _described(sagemaker: Any, name: str) -> dict[str, Any]:
    return _found(sagemaker.describe_endpoint, EndpointName=name)


def _found(operation: Callable[..., dict[str, Any]], **members: str) -> dict[str, Any]:
    """The answer of an operation on a resource; empty if there is no such resource."""
    from botocore.exceptions import ClientError

    try:
        return operation(**members)
    except ClientError as error:
        if "Could not find" in error.response["Error"]["Message"]:
            return {}
        raise
