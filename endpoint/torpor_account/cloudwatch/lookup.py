"""Finds the series of a call: by namespace, name, exact dimensions and an optional unit."""

from collections.abc import Mapping
from typing import Any

from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import Series

Dimensions = list[dict[str, str]]


def exact(registry: MetricRegistry, metric: Mapping[str, Any], unit: str | None) -> list[Series]:
    """The series of a metric with Namespace, MetricName and Dimensions. Without `unit` there may be one per unit."""
    dimensions = pairs(metric.get("Dimensions", []))
    return [
        series
        for series in registry.find(metric.get("Namespace", ""), metric.get("MetricName", ""))
        if series.key.dimensions == dimensions and unit in (None, series.key.unit)
    ]


def pairs(dimensions: Dimensions) -> tuple[tuple[str, str], ...]:
    """CloudWatch's dimensions in the form of a series' key."""
    return tuple(sorted((one["Name"], one["Value"]) for one in dimensions))


def shape(series: Series) -> dict[str, Any]:
    """A `Metric` of ListMetrics."""
    dimensions = [{"Name": name, "Value": value} for name, value in series.key.dimensions]
    return {"Namespace": series.key.namespace, "MetricName": series.key.name, "Dimensions": dimensions}
