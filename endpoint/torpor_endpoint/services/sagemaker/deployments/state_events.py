"""Puts an event on the account's event bus for each change of an endpoint's status, and of a variant's in a deployment.

Source: "Events that Amazon SageMaker AI sends to Amazon EventBridge" in the SageMaker guide.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from torpor_account.aws.service_models import service_model
from torpor_account.aws.wire.pruning import pruned
from torpor_account.event_bus import BusEvent
from torpor_account.event_queue import EventQueue
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus
from torpor_endpoint.services.sagemaker import shapes
from torpor_endpoint.services.sagemaker.context import Observed

SOURCE: Final = "aws.sagemaker"
OF_THE_STATUS: Final = "SageMaker Endpoint State Change"
OF_THE_DEPLOYMENT: Final = "SageMaker Endpoint Deployment State Change"
SUMMARIES: Final = ("ProductionVariants", "ShadowProductionVariants", "PendingDeploymentSummary", "FailureReason")


class EndpointStateEvents:
    """Any thread may call `changed` with the record of an endpoint that was stored."""

    def __init__(self, queue: EventQueue, observed: Observed) -> None:
        self._queue = queue
        self._observed = observed
        self._seen: dict[str, tuple[str, str]] = {}  # by ARN, the status and the stages of the last event

    def changed(self, endpoint: EndpointRecord) -> None:
        """Remember what there is to say of this record. Costs nothing while nobody listens."""
        if not self._queue.heard:
            return
        described = self._described(endpoint)
        stages = "\n".join(_stages(described))
        before, self._seen[endpoint.arn] = self._seen.get(endpoint.arn), (endpoint.status, stages)
        if before is None or before[0] != endpoint.status:
            self._say(OF_THE_STATUS, endpoint, described)
        if stages and (before is None or before[1] != stages):
            self._say(OF_THE_DEPLOYMENT, endpoint, described)
        if endpoint.status is EndpointStatus.DELETING:  # nothing comes after it
            del self._seen[endpoint.arn]

    def _described(self, endpoint: EndpointRecord) -> dict[str, Any]:
        """DescribeEndpoint's answer."""
        ready, green = (
            counts(endpoint.name) for counts in (self._observed.instance_counts, self._observed.green_counts)
        )
        shape = service_model("sagemaker").operation_model("DescribeEndpoint").output_shape
        assert shape is not None
        return pruned(shapes.endpoint_description(endpoint, ready, green), shape)

    def _say(self, detail_type: str, endpoint: EndpointRecord, described: Mapping[str, Any]) -> None:
        region = endpoint.arn.split(":")[3]
        detail = event_detail(endpoint, described)
        self._queue.say(BusEvent(SOURCE, detail_type, region, endpoint.modified_s, [endpoint.arn], detail))


def event_detail(endpoint: EndpointRecord, described: Mapping[str, Any]) -> dict[str, Any]:
    """The `detail` of an event: as DescribeEndpoint, with statuses in capitals and times in milliseconds."""
    return {
        "EndpointName": endpoint.name,
        "EndpointArn": endpoint.arn,
        "EndpointConfigName": endpoint.config_name,
        "EndpointStatus": in_capitals(endpoint.status),
        "CreationTime": _ms(endpoint.created_s),
        "LastModifiedTime": _ms(endpoint.modified_s),
        "Tags": {},
        **{name: _in_ms(described[name]) for name in SUMMARIES if name in described},
    }


def in_capitals(status: str) -> str:
    """`IN_SERVICE` for InService."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", status).upper()


def _stages(described: Mapping[str, Any]) -> Iterator[str]:
    """Each variant with each of its stages that has a message."""
    pending = described.get("PendingDeploymentSummary", {}).get("ProductionVariants", [])
    for variant in (*described["ProductionVariants"], *pending):
        for one in variant.get("VariantStatus", ()):
            if "StatusMessage" in one:
                yield f"{variant['VariantName']}: {one['StatusMessage']}"


def _in_ms(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _ms(item) if name.endswith("Time") else _in_ms(item) for name, item in value.items()}
    return [_in_ms(item) for item in value] if isinstance(value, list) else value


def _ms(at_s: float) -> int:
    return round(at_s * 1000)
