"""Evaluates MetricDataQuery: time series from the registry, and expressions over them, for GetMetricData and alarms."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from torpor_account.cloudwatch import errors
from torpor_account.cloudwatch.arithmetic import Allowance, ExpressionError, TimeSeries
from torpor_account.cloudwatch.expressions import evaluate
from torpor_account.cloudwatch.lookup import exact
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.statistics import statistic
from torpor_account.metrics.windows import PeriodWindow, is_period

QUERIES_MAX = 500
ID = re.compile(r"[a-z][a-zA-Z0-9_]*")

Query = dict[str, Any]


def check(queries: Sequence[Query]) -> None:
    """Raises a ValidationError for queries that are invalid for any samples."""
    ids = [query["Id"] for query in queries]
    if not 0 < len(queries) <= QUERIES_MAX:
        raise errors.INVALID(f"The collection MetricDataQueries must have 1 to {QUERIES_MAX} items.")
    if len(set(ids)) < len(ids):
        raise errors.INVALID("The values for parameter id in MetricDataQueries are not unique.")
    for query in queries:
        _check_one(query)


def lines(
    registry: MetricRegistry, queries: Sequence[Query], window_of: Callable[[int], PeriodWindow]
) -> dict[str, list[TimeSeries]]:
    """The time series by the queries' ids; an expression may have several. `window_of` takes a period in seconds."""
    return _evaluated(queries, lambda stat: _sampled(registry, stat, window_of))


def rehearsed(queries: Sequence[Query], grid: range) -> dict[str, list[TimeSeries]]:
    """Like `lines`, with a value at every time. Raises a ValidationError if no samples make an expression valid."""
    full = TimeSeries(dict.fromkeys(grid, 1.0), grid)
    return _evaluated(queries, lambda _: full)


def _evaluated(
    queries: Sequence[Query], sampled: Callable[[dict[str, Any]], TimeSeries]
) -> dict[str, list[TimeSeries]]:
    allowance, read = Allowance(), dict[str, TimeSeries]()
    formulas = {query["Id"]: query["Expression"] for query in queries if "Expression" in query}
    try:
        for query in queries:
            if "MetricStat" in query:
                read[query["Id"]] = line = sampled(query["MetricStat"])
                allowance.spend(len(line.values))
        found = evaluate(formulas, read, allowance)
    except ExpressionError as error:
        raise errors.INVALID(f"Error in expression: {error}") from error
    return {name: [value] if isinstance(value, TimeSeries) else value for name, value in found.items()}


def _check_one(query: Query) -> None:
    if not ID.fullmatch(query["Id"]):
        raise errors.INVALID(f"The id {query['Id']} must begin with a lower-case letter and be a plain word.")
    if ("MetricStat" in query) == ("Expression" in query):
        raise errors.INVALID(f"The query {query['Id']} must have either MetricStat or Expression.")
    stat = query.get("MetricStat")
    if stat is None:
        return
    if not is_period(stat["Period"]):
        raise errors.INVALID(f"The period {stat['Period']} must be 1, 5, 10, 20, 30 or a multiple of 60.")
    try:
        statistic(stat["Stat"])
    except ValueError as error:
        raise errors.INVALID(f"The statistic {error} is not supported.") from error


def _sampled(registry: MetricRegistry, stat: dict[str, Any], window_of: Callable[[int], PeriodWindow]) -> TimeSeries:
    window, calculate = window_of(stat["Period"]), statistic(stat["Stat"])
    tallies = window.tallies(exact(registry, stat["Metric"], stat.get("Unit")))
    values = {at_s: value for at_s, tally in tallies.items() if (value := calculate(tally)) is not None}
    return TimeSeries(values, window.grid)
