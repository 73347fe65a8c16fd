"""Puts an event on the account's event bus for each model package that is made, and for each change of its approval.

Source: "Model package state change" in the SageMaker guide, whose example has times as ISO 8601 and statuses as the API
has them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from torpor_account.aws.service_models import service_model
from torpor_account.aws.wire.pruning import pruned
from torpor_account.event_bus import BusEvent
from torpor_account.event_queue import EventQueue
from torpor_endpoint.core.registry.package_records import ModelPackage
from torpor_endpoint.services.sagemaker.registry.package_shapes import package_description

SOURCE: Final = "aws.sagemaker"
OF_THE_PACKAGE: Final = "SageMaker Model Package State Change"


class PackageStateEvents:
    """Any thread may call `changed`."""

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue

    def changed(self, package: ModelPackage) -> None:
        """Say that the package was made, or that its approval is another one. Costs nothing while nobody listens."""
        if self._queue.heard:
            region = package.arn.split(":")[3]
            detail = event_detail(package)
            self._queue.say(BusEvent(SOURCE, OF_THE_PACKAGE, region, package.modified_s, [package.arn], detail))


def event_detail(package: ModelPackage) -> Mapping[str, Any]:
    """The `detail` of an event: DescribeModelPackage's answer, with its times in ISO 8601."""
    shape = service_model("sagemaker").operation_model("DescribeModelPackage").output_shape
    assert shape is not None
    detail: dict[str, Any] = pruned(package_description(package), shape)
    return {"CertifyForMarketplace": False, **{name: _in_iso(name, value) for name, value in detail.items()}}


def _in_iso(name: str, value: Any) -> Any:
    if not name.endswith("Time") or not isinstance(value, int | float):
        return value
    return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
