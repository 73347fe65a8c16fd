"""GetMetricStatistics: one metric, with several statistics for every period."""

from typing import Any

from torpor_account.cloudwatch import errors
from torpor_account.cloudwatch.lookup import exact
from torpor_account.metrics.distribution import Statistic
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.statistics import SIMPLE, statistic
from torpor_account.metrics.tally import Tally
from torpor_account.metrics.windows import PeriodWindow, from_start, is_period

DATAPOINTS_MAX = 1440

Params = dict[str, Any]


def get_metric_statistics(registry: MetricRegistry, params: Params) -> dict[str, Any]:
    window, statistics = _window(params), _statistics(params)
    datapoints = []
    for series in exact(registry, params, params.get("Unit")):
        for at_s, tally in window.tallies([series]).items():
            datapoints.append({"Timestamp": at_s, "Unit": series.key.unit, **_values(tally, statistics)})
    return {"Label": params["MetricName"], "Datapoints": datapoints}


def _window(params: Params) -> PeriodWindow:
    if not is_period(params["Period"]):
        raise errors.OUTSIDE(
            parameter="Period", value=params["Period"], why="It must be 1, 5, 10, 20, 30 or a multiple of 60."
        )
    if params["StartTime"] >= params["EndTime"]:
        raise errors.BACKWARDS()
    window = from_start(params["StartTime"], params["EndTime"], params["Period"])
    if window.periods > DATAPOINTS_MAX:
        raise errors.TOO_MANY_DATAPOINTS(asked=window.periods, limit=DATAPOINTS_MAX)
    return window


def _statistics(params: Params) -> dict[str, Statistic]:
    """ "You must specify either Statistics or ExtendedStatistics, but not both." """
    names = params.get("Statistics", []), params.get("ExtendedStatistics", [])
    if all(names):
        raise errors.COMBINATION("Statistics and ExtendedStatistics cannot both be specified.")
    if not any(names):
        raise errors.MISSING("At least one of the parameters Statistics and ExtendedStatistics must be specified.")
    try:
        return {name: statistic(name) for some in names for name in some}
    except ValueError as error:
        raise errors.INVALID_VALUE(parameter="ExtendedStatistics", value=error) from error


def _values(tally: Tally, statistics: dict[str, Statistic]) -> dict[str, Any]:
    values = {name: calculate(tally) for name, calculate in statistics.items()}
    simple = {name: value for name, value in values.items() if name in SIMPLE}
    extended = {name: value for name, value in values.items() if name not in simple and value is not None}
    return {**simple, "ExtendedStatistics": extended}
