"""Reads one variant's metrics through CloudWatch's API, and formats their values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from torpor_endpoint.core.pages.plain_figures import milliseconds

SAGEMAKER = "AWS/SageMaker"
INSTANCES = "/aws/sagemaker/Endpoints"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _microseconds(value: float) -> str:
    return milliseconds(value / 1e6)


@dataclass(frozen=True)
class Row:
    """One metric with its useful statistics, each with the function that formats it."""

    metric: str
    statistics: Mapping[str, Callable[[float], str]]
    namespace: str = SAGEMAKER
    latest: bool = False
    """True for a level: its value is that of the last minute, not of the whole period."""

    @property
    def unit(self) -> str:
        """CloudWatch's unit of its values: `Microseconds`, `Count`."""
        return "Microseconds" if _microseconds in self.statistics.values() else "Count"

    def shown(self, numbers: "MetricNumbers", statistic: str) -> str:
        """The formatted value; empty if there is none."""
        value = numbers.values.get((self.metric, statistic))
        return self.statistics[statistic](value) if statistic in self.statistics and value is not None else ""


_TIMED = {"Average": _microseconds, "p50": _microseconds, "p99": _microseconds}

ROWS: tuple[Row, ...] = (
    Row("Invocations", {"Sum": _count}),
    Row("ModelCacheHit", {"Sum": _count, "Average": _percent}),
    Row("LoadedModelCount", {"Average": _count}, INSTANCES, latest=True),
    Row("ModelLatency", _TIMED),
    Row("OverheadLatency", _TIMED),
    Row("ModelLoadingWaitTime", _TIMED),
    Row("ModelDownloadingTime", _TIMED),
    Row("ModelLoadingTime", _TIMED),
    Row("ModelUnloadingTime", _TIMED),
    Row("Invocation4XXErrors", {"Sum": _count}),
    Row("Invocation5XXErrors", {"Sum": _count}),
)


@dataclass(frozen=True)
class VariantWindow:
    """One variant, and the period of its metrics."""

    endpoint: str
    variant: str
    start: datetime
    end: datetime

    @property
    def from_minute(self) -> datetime:
        """CloudWatch: "Start time less than 15 days ago - Round down to the nearest whole minute"."""
        return self.start.replace(second=0, microsecond=0)

    @property
    def dimensions(self) -> list[dict[str, str]]:
        return [{"Name": "EndpointName", "Value": self.endpoint}, {"Name": "VariantName", "Value": self.variant}]

    @property
    def whole_s(self) -> int:
        """The seconds of one CloudWatch period that covers the whole window: whole minutes, from a whole minute on."""
        return 60 * (1 + (self.end - self.from_minute) // timedelta(minutes=1))


@dataclass(frozen=True)
class MetricNumbers:
    """The values by metric and statistic. A metric without samples is absent."""

    values: Mapping[tuple[str, str], float]

    @classmethod
    def read(cls, cloudwatch: Any, window: VariantWindow) -> "MetricNumbers":
        """Read every row of the table, through GetMetricStatistics."""
        values: dict[tuple[str, str], float] = {}
        for row in ROWS:
            for kind in ("Statistics", "ExtendedStatistics"):
                wanted = [name for name in row.statistics if name.startswith("p") == (kind == "ExtendedStatistics")]
                found = _read(cloudwatch, window, row, {kind: wanted}) if wanted else {}
                values |= {(row.metric, statistic): value for statistic, value in found.items()}
        return cls(values)


def _read(cloudwatch: Any, window: VariantWindow, row: Row, statistics: dict[str, list[str]]) -> dict[str, float]:
    """The statistics of the last period that has samples."""
    answer = cloudwatch.get_metric_statistics(
        Namespace=row.namespace,
        MetricName=row.metric,
        Dimensions=window.dimensions,
        StartTime=window.from_minute,
        EndTime=window.end,
        Period=60 if row.latest else window.whole_s,
        **statistics,
    )
    if not answer["Datapoints"]:
        return {}
    last = max(answer["Datapoints"], key=lambda datapoint: datapoint["Timestamp"])
    known = {**last, **last.get("ExtendedStatistics", {})}
    return {name: known[name] for names in statistics.values() for name in names}
