"""GetMetricData: many metrics, and expressions over them, in one call, in pages of at most MaxDatapoints."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from torpor_account.aws.wire.paging import offset, written_offset
from torpor_account.cloudwatch import errors, querying
from torpor_account.cloudwatch.arithmetic import TimeSeries
from torpor_account.cloudwatch.querying import Query
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.windows import by_clock

DATAPOINTS_MAX = 100_800


def get_metric_data(registry: MetricRegistry, params: dict[str, Any]) -> dict[str, Any]:
    _check(params)
    lines = querying.lines(
        registry, params["MetricDataQueries"], partial(by_clock, params["StartTime"], params["EndTime"])
    )
    newest_first = params.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    results = [
        _Result(query["Id"], label, line.points(newest_first))
        for query in params["MetricDataQueries"]
        if query.get("ReturnData", True)
        for label, line in _labelled(query, lines[query["Id"]])
    ]
    return _page(results, params)


def _check(params: dict[str, Any]) -> None:
    if params["StartTime"] >= params["EndTime"]:
        raise errors.INVALID("The parameter StartTime must be less than the parameter EndTime.")
    if not 0 < params.get("MaxDatapoints", DATAPOINTS_MAX) <= DATAPOINTS_MAX:
        raise errors.INVALID(f"The value for parameter MaxDatapoints must be from 1 to {DATAPOINTS_MAX}.")
    querying.check(params["MetricDataQueries"])


def _labelled(query: Query, lines: list[TimeSeries]) -> list[tuple[str, TimeSeries]]:
    """The results of a query with their labels: an expression of several time series has several results."""
    label = _label(query)
    return [(label if len(lines) == 1 else f"{label} {number}", line) for number, line in enumerate(lines, start=1)]


def _label(query: Query) -> str:
    metric = query.get("MetricStat", {}).get("Metric", {})
    return str(query.get("Label") or metric.get("MetricName") or query["Id"])


@dataclass(frozen=True)
class _Result:
    id: str
    label: str
    points: list[tuple[int, float]]

    def shape(self, first: int, last: int) -> dict[str, Any]:
        points = self.points[first:last]
        return {
            "Id": self.id,
            "Label": self.label,
            "Timestamps": [at_s for at_s, _ in points],
            "Values": [value for _, value in points],
            "StatusCode": "Complete" if last >= len(self.points) else "PartialData",
        }


def _page(results: list[_Result], params: dict[str, Any]) -> dict[str, Any]:
    """One page. It has all results, with the page's share of their points, which are counted through all results."""
    first = offset(params.get("NextToken"), errors.BAD_TOKEN())
    last = first + params.get("MaxDatapoints", DATAPOINTS_MAX)
    shapes, passed = [], 0
    for result in results:
        shapes.append(result.shape(max(first - passed, 0), max(last - passed, 0)))
        passed += len(result.points)
    return {"MetricDataResults": shapes, "NextToken": written_offset(last) if passed > last else None}
