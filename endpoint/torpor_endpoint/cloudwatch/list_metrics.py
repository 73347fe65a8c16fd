"""ListMetrics: which metrics there are, filtered, 500 to a page."""

from typing import Any

from torpor_endpoint.cloudwatch import errors
from torpor_endpoint.cloudwatch.lookup import shape
from torpor_endpoint.cloudwatch.registry import MetricRegistry
from torpor_endpoint.cloudwatch.series import Series
from torpor_endpoint.cloudwatch.tokens import offset, token

PAGE = 500
RECENT_S = 3 * 3600


def list_metrics(registry: MetricRegistry, params: dict[str, Any]) -> dict[str, Any]:
    first = offset(params.get("NextToken"), errors.invalid_value("NextToken", params.get("NextToken")))
    since_s = registry.clock() - RECENT_S if "RecentlyActive" in params else 1.0  # nothing without a sample
    found = {
        (series.key.namespace, series.key.name, series.key.dimensions): series
        for series in registry.find(params.get("Namespace"), params.get("MetricName"))
        if series.last_s >= since_s and _has(series, params.get("Dimensions", []))
    }
    page = [shape(found[name]) for name in sorted(found)[first : first + PAGE]]
    return {"Metrics": page, "NextToken": token(first + PAGE) if len(found) > first + PAGE else None}


def _has(series: Series, filters: list[dict[str, str]]) -> bool:
    """Every filter names a dimension that the series has, and its value if it gives one."""
    dimensions = dict(series.key.dimensions)
    return all(one["Name"] in dimensions and one.get("Value") in (None, dimensions[one["Name"]]) for one in filters)
