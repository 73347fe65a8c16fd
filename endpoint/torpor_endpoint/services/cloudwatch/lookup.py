"""Finds the series that a call means: by namespace, name, exact dimensions and perhaps unit."""

from collections.abc import Mapping
from typing import Any

from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.metrics.series import Series

Dimensions = list[dict[str, str]]


def exact(registry: MetricRegistry, metric: Mapping[str, Any], unit: str | None) -> list[Series]:
    """`metric` has Namespace, MetricName and Dimensions. Without a unit there may be one series for each."""
    wanted = pairs(metric.get("Dimensions", []))
    return [
        series
        for series in registry.find(metric.get("Namespace", ""), metric.get("MetricName", ""))
        if series.key.dimensions == wanted and unit in (None, series.key.unit)
    ]


def pairs(dimensions: Dimensions) -> tuple[tuple[str, str], ...]:
    """CloudWatch's dimensions as a series has them."""
    return tuple(sorted((one["Name"], one["Value"]) for one in dimensions))


def shape(series: Series) -> dict[str, Any]:
    """A `Metric` of ListMetrics."""
    dimensions = [{"Name": name, "Value": value} for name, value in series.key.dimensions]
    return {"Namespace": series.key.namespace, "MetricName": series.key.name, "Dimensions": dimensions}
