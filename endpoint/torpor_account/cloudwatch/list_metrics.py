"""ListMetrics: lists the metrics that match the filters, 500 on a page."""

from typing import Any

from torpor_account.aws.wire.paging import cut
from torpor_account.cloudwatch import errors
from torpor_account.cloudwatch.lookup import shape
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import Series

PAGE = 500
RECENT_S = 3 * 3600


def list_metrics(registry: MetricRegistry, params: dict[str, Any]) -> dict[str, Any]:
    since_s = registry.clock() - RECENT_S if "RecentlyActive" in params else 0.0
    found = {
        (series.key.namespace, series.key.name, series.key.dimensions): series
        for series in registry.find(params.get("Namespace"), params.get("MetricName"))
        if not series.empty and series.last_s >= since_s and _has(series, params.get("Dimensions", []))
    }
    given = params.get("NextToken")
    page, next_token = cut(sorted(found), given, PAGE, errors.INVALID_VALUE(parameter="NextToken", value=given))
    return {"Metrics": [shape(found[name]) for name in page], "NextToken": next_token}


def _has(series: Series, filters: list[dict[str, str]]) -> bool:
    """Every filter names a dimension that the series has, and its value if it gives one."""
    dimensions = dict(series.key.dimensions)
    return all(one["Name"] in dimensions and one.get("Value") in (None, dimensions[one["Name"]]) for one in filters)
