"""One variant's numbers from CloudWatch's API: which metrics, which statistics, and how they are written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from torpor.story import milliseconds

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
    """One metric, and how each statistic of it that means something is written."""

    metric: str
    statistics: Mapping[str, Callable[[float], str]]
    namespace: str = SAGEMAKER

    def shown(self, numbers: "Numbers", statistic: str) -> str:
        value = numbers.values.get((self.metric, statistic))
        return self.statistics[statistic](value) if statistic in self.statistics and value is not None else ""


_TIMED = {"Average": _microseconds, "p50": _microseconds, "p99": _microseconds}

ROWS: tuple[Row, ...] = (
    Row("Invocations", {"Sum": _count}),
    Row("ModelCacheHit", {"Sum": _count, "Average": _percent}),
    Row("LoadedModelCount", {"Average": _count}, INSTANCES),
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
class Numbers:
    """Values by metric and statistic; what has no sample is absent."""

    values: Mapping[tuple[str, str], float]

    @classmethod
    def read(cls, cloudwatch: Any, endpoint: str, variant: str, start: datetime, end: datetime) -> "Numbers":
        """Every row of the table in one call, each statistic over the whole time."""
        wanted = [(row, statistic) for row in ROWS for statistic in row.statistics]
        dimensions = [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}]
        start, period_s = _whole(start, end)
        queries = [
            {
                "Id": f"q{number}",
                "MetricStat": {
                    "Metric": {"Namespace": row.namespace, "MetricName": row.metric, "Dimensions": dimensions},
                    "Period": period_s,
                    "Stat": statistic,
                },
            }
            for number, (row, statistic) in enumerate(wanted)
        ]
        answer = cloudwatch.get_metric_data(MetricDataQueries=queries, StartTime=start, EndTime=end)
        found = {result["Id"]: result["Values"] for result in answer["MetricDataResults"]}
        return cls(
            {
                (row.metric, statistic): found[f"q{number}"][0]
                for number, (row, statistic) in enumerate(wanted)
                if found.get(f"q{number}")
            }
        )


def _whole(start: datetime, end: datetime) -> tuple[datetime, int]:
    """One period over all of it: periods are whole minutes, and CloudWatch starts them at whole minutes."""
    began = start.replace(second=0, microsecond=0)
    minutes = -(-(end - began) // timedelta(minutes=1))
    return began, 60 * minutes
