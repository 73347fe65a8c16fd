"""PutMetricData: stores callers' own metrics beside Torpor's, in namespaces of their own."""

from math import isfinite
from typing import Any

from torpor_account.cloudwatch import errors
from torpor_account.cloudwatch.lookup import pairs
from torpor_account.metrics.metrics import is_reserved
from torpor_account.metrics.registry import MetricRegistry, key_of
from torpor_account.metrics.series import SeriesKey
from torpor_account.metrics.tally import Tally

DATA_MAX = 1000
VALUES_MAX = 150
HIGH_RESOLUTION_S = 1
RESOLUTIONS_S = (HIGH_RESOLUTION_S, 60)
LARGEST = 2.0**360
PAST_S = 14 * 86_400
FUTURE_S = 2 * 3600

Datum = dict[str, Any]
Measured = tuple[SeriesKey, Tally, float, bool]
"""A series, its samples, their time, and whether they have a high resolution."""


def put_metric_data(registry: MetricRegistry, params: dict[str, Any]) -> dict[str, Any]:
    """Store all metrics of the call, or none if one is not valid."""
    for measured in measured_by(params, registry.clock()):
        keep(registry, measured)
    return {}


def measured_by(params: dict[str, Any], now_s: float) -> list[Measured]:
    """The metrics of a call, each with its time. They may be 300,000 values. It touches no series."""
    namespace, data = params["Namespace"], _data(params)
    if is_reserved(namespace):
        raise errors.OUTSIDE(
            parameter="Namespace", value=namespace, why="It is reserved for the service's own metrics."
        )
    if len(data) > DATA_MAX:
        raise errors.OUTSIDE(
            parameter="MetricData", value=f"of {len(data)} items", why=f"At most {DATA_MAX} are accepted."
        )
    return [
        (
            key_of(namespace, datum["MetricName"], pairs(datum.get("Dimensions", [])), datum.get("Unit", "None")),
            _tally(datum, f"MetricData.member.{number}"),
            _time(datum, now_s, f"MetricData.member.{number}"),
            datum.get("StorageResolution") == HIGH_RESOLUTION_S,
        )
        for number, datum in enumerate(data, start=1)
    ]


def keep(registry: MetricRegistry, measured: Measured) -> None:
    """Store one metric's samples."""
    key, tally, at_s, fine = measured
    registry.at(key, high_resolution=fine).merge(tally, at_s)


def _data(params: dict[str, Any]) -> list[Datum]:
    entities = [datum for entity in params.get("EntityMetricData", []) for datum in entity.get("MetricData", [])]
    data: list[Datum] = [*params.get("MetricData", []), *entities]
    if not data:
        raise errors.MISSING("The parameter MetricData is required.")
    return data


def _tally(datum: Datum, where: str) -> Tally:
    if datum.get("StorageResolution", 60) not in RESOLUTIONS_S:
        raise errors.INVALID_VALUE(parameter=f"{where}.StorageResolution", value=datum["StorageResolution"])
    given = [name for name in ("Value", "Values", "StatisticValues") if name in datum]
    if len(given) != 1:
        raise errors.COMBINATION(
            f"The parameters {where}.Value, {where}.Values and {where}.StatisticValues: exactly one must be specified."
        )
    if "StatisticValues" in datum:
        return _from_statistics(datum["StatisticValues"], f"{where}.StatisticValues")
    return _from_values(datum, where)


def _from_values(datum: Datum, where: str) -> Tally:
    values = datum.get("Values", [datum.get("Value")])
    counts = datum.get("Counts", [1.0] * len(values))
    if len(values) > VALUES_MAX or len(values) != len(counts):
        raise errors.OUTSIDE(
            parameter=f"{where}.Values", value=f"of {len(values)} items", why=f"Counts has {len(counts)}."
        )
    tally = Tally()
    for value, count in zip(values, counts, strict=True):
        if not _allowed(value) or not (isfinite(count) and count > 0):
            raise errors.INVALID_VALUE(parameter=f"{where}.Value", value=value)
        tally.add(value, count)
    return tally


def _from_statistics(statistics: dict[str, float], where: str) -> Tally:
    if not all(map(_allowed, statistics.values())) or statistics["SampleCount"] <= 0:
        raise errors.INVALID_VALUE(parameter=where, value=statistics)
    return Tally.of_sums(*(statistics[name] for name in ("SampleCount", "Sum", "Minimum", "Maximum")))


def _allowed(value: float) -> bool:
    """ "Values must be in the range of -2^360 to 2^360. In addition, special values (for example, NaN, +Infinity,
    -Infinity) are not supported." """
    return isfinite(value) and abs(value) <= LARGEST


def _time(datum: Datum, now_s: float, where: str) -> float:
    at_s: float = datum.get("Timestamp", now_s)
    if not now_s - PAST_S <= at_s <= now_s + FUTURE_S:
        raise errors.UNTIMELY(parameter=f"{where}.Timestamp")
    return at_s
