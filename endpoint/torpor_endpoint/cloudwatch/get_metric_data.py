"""GetMetricData: many metrics and expressions over them in one call, in pages of at most MaxDatapoints."""

import re
from dataclasses import dataclass
from typing import Any

from torpor_endpoint.cloudwatch import errors
from torpor_endpoint.cloudwatch.expressions import ExpressionError, Line, evaluate
from torpor_endpoint.cloudwatch.lookup import exact
from torpor_endpoint.cloudwatch.registry import MetricRegistry
from torpor_endpoint.cloudwatch.statistics import statistic
from torpor_endpoint.cloudwatch.tokens import offset, token
from torpor_endpoint.cloudwatch.windows import by_clock, is_period

QUERIES_MAX = 500
DATAPOINTS_MAX = 100_800
ID = re.compile(r"[a-z][a-zA-Z0-9_]*")

Query = dict[str, Any]


def get_metric_data(registry: MetricRegistry, params: dict[str, Any]) -> dict[str, Any]:
    _check(params)
    lines = _lines(registry, params)
    newest_first = params.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    results = [
        _Result(query["Id"], _label(query), lines[query["Id"]].points(newest_first))
        for query in params["MetricDataQueries"]
        if query.get("ReturnData", True)
    ]
    return _page(results, params)


def _check(params: dict[str, Any]) -> None:
    queries = params["MetricDataQueries"]
    ids = [query["Id"] for query in queries]
    if params["StartTime"] >= params["EndTime"]:
        raise errors.invalid_query("The parameter StartTime must be less than the parameter EndTime.")
    if not 0 < len(queries) <= QUERIES_MAX:
        raise errors.invalid_query(f"The collection MetricDataQueries must have 1 to {QUERIES_MAX} items.")
    if len(set(ids)) < len(ids):
        raise errors.invalid_query("The values for parameter id in MetricDataQueries are not unique.")
    if not 0 < params.get("MaxDatapoints", DATAPOINTS_MAX) <= DATAPOINTS_MAX:
        raise errors.invalid_query(f"The value for parameter MaxDatapoints must be from 1 to {DATAPOINTS_MAX}.")
    for query in queries:
        _check_query(query)


def _check_query(query: Query) -> None:
    if not ID.fullmatch(query["Id"]):
        raise errors.invalid_query(f"The id {query['Id']} must begin with a lower-case letter and be a plain word.")
    if ("MetricStat" in query) == ("Expression" in query):
        raise errors.invalid_query(f"The query {query['Id']} must have either MetricStat or Expression.")
    stat = query.get("MetricStat")
    if stat and not is_period(stat["Period"]):
        raise errors.invalid_query(f"The period {stat['Period']} must be 1, 5, 10, 20, 30 or a multiple of 60.")


def _lines(registry: MetricRegistry, params: dict[str, Any]) -> dict[str, Line]:
    span = params["StartTime"], params["EndTime"]
    queries = params["MetricDataQueries"]
    sampled = {q["Id"]: _sampled(registry, q["MetricStat"], *span) for q in queries if "MetricStat" in q}
    formulas = {q["Id"]: q["Expression"] for q in queries if "Expression" in q}
    try:
        return evaluate(formulas, sampled)
    except ExpressionError as error:
        raise errors.invalid_query(f"Error in expression: {error}") from error


def _sampled(registry: MetricRegistry, stat: dict[str, Any], start_s: float, end_s: float) -> Line:
    try:
        calculate = statistic(stat["Stat"])
    except ValueError as error:
        raise errors.invalid_query(f"The statistic {error} is not supported.") from error
    window = by_clock(start_s, end_s, stat["Period"])
    tallies = window.tallies(exact(registry, stat["Metric"], stat.get("Unit")))
    values = {at_s: value for at_s, tally in tallies.items() if (value := calculate(tally)) is not None}
    return Line(values, range(window.start_s, window.start_s + window.periods * window.period_s, window.period_s))


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
    """All results on every page; of their points, counted through from the first result on, one page's share."""
    first = offset(params.get("NextToken"), errors.invalid_token())
    last = first + params.get("MaxDatapoints", DATAPOINTS_MAX)
    shapes, passed = [], 0
    for result in results:
        shapes.append(result.shape(max(first - passed, 0), max(last - passed, 0)))
        passed += len(result.points)
    return {"MetricDataResults": shapes, "NextToken": token(last) if passed > last else None}
