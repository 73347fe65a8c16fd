"""CloudWatch as a service: its operations on metrics in one table; those on alarms are in `alarms/operations.py`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.calls import Answer, Call, Operation, Otherwise, bound
from torpor_account.aws.service import Service
from torpor_account.cloudwatch.alarms import operations as alarm_operations
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.cloudwatch.get_metric_data import get_metric_data
from torpor_account.cloudwatch.get_metric_statistics import get_metric_statistics
from torpor_account.cloudwatch.list_metrics import list_metrics
from torpor_account.cloudwatch.put_metric_data import keep, measured_by
from torpor_account.metrics.registry import MetricRegistry, nothing_to_refresh

KEPT = (
    *("Datapoints", "Metrics", "Dimensions", "MetricDataResults", "Timestamps", "Values"),
    *("MetricAlarms", "CompositeAlarms", "AlarmHistoryItems", "Tags"),
    *("OKActions", "AlarmActions", "InsufficientDataActions"),
)
"""Lists that callers index without asking whether they are there; CloudWatch sends them even when empty."""


@dataclass(frozen=True)
class CloudWatch:
    """`refresh` brings levels, such as LoadedModelCount, up to date; it is awaited before anything is read."""

    registry: MetricRegistry
    refresh: Callable[[], Awaitable[None]] = nothing_to_refresh


KEPT_AT_ONCE = 20

Reading = Callable[[MetricRegistry, dict[str, Any]], dict[str, Any]]


def reading(read: Reading) -> Operation[CloudWatch]:
    """An operation that reads: after a refresh, and off the event loop, since a fortnight of minutes takes a while."""

    async def operation(cloudwatch: CloudWatch, call: Call) -> Answer:
        await cloudwatch.refresh()
        return await asyncio.to_thread(read, cloudwatch.registry, call.params)

    return operation


async def putting(cloudwatch: CloudWatch, call: Call) -> Answer:
    """Read in a thread, and kept on the event loop, the one thread that writes to series, a few at a time."""
    registry = cloudwatch.registry
    for at, measured in enumerate(await asyncio.to_thread(measured_by, call.params, registry.clock())):
        keep(registry, measured)
        if at % KEPT_AT_ONCE == KEPT_AT_ONCE - 1:
            await asyncio.sleep(0)
    return {}


OPERATIONS: dict[str, Operation[CloudWatch]] = {
    "GetMetricData": reading(get_metric_data),
    "GetMetricStatistics": reading(get_metric_statistics),
    "ListMetrics": reading(list_metrics),
    "PutMetricData": putting,
}


def service(
    cloudwatch: CloudWatch, alarms: Alarms | None = None, *, account: str, otherwise: Otherwise | None = None
) -> Service[CloudWatch]:
    """Without `alarms`, their operations are not ours."""
    of_alarms = {} if alarms is None else bound(alarm_operations.OPERATIONS, alarms)
    operations = {**OPERATIONS, **of_alarms}
    return Service("cloudwatch", cloudwatch, operations, account=account, kept=KEPT, otherwise=otherwise)
