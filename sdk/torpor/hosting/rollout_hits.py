"""How many requests found their model in memory, before a rollout and in its new fleet, as CloudWatch counts them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

METRIC = {"Namespace": "AWS/SageMaker", "MetricName": "ModelCacheHit"}
BEFORE = timedelta(minutes=15)
MINUTE_S = 60


@dataclass(frozen=True)
class HitRatios:
    """Of one variant, from 0 to 1. None where no request named a model."""

    before: float | None
    after: float | None

    @property
    def told(self) -> str:
        """`99.1 % before, and 80.0 % in the new fleet`"""
        return f"{_percent(self.before)} before, and {_percent(self.after)} in the new fleet"


class RolloutHits:
    """Reads the ratio of the last quarter of an hour when it is made; `ratios` has that of the new fleet since then."""

    def __init__(self, cloudwatch: Any, endpoint: str, variants: list[str]) -> None:
        self._cloudwatch = cloudwatch
        self._endpoint = endpoint
        self._began = datetime.now(UTC)
        self._before = {name: self._ratio({"VariantName": name}, self._began - BEFORE) for name in variants}

    def ratios(self, config: str) -> Mapping[str, HitRatios]:
        """By variant, those that have any. `config` is the endpoint configuration of the new fleet."""
        found = {
            name: HitRatios(before, self._ratio({"VariantName": name, "EndpointConfigName": config}, self._began))
            for name, before in self._before.items()
        }
        return {name: one for name, one in found.items() if (one.before, one.after) != (None, None)}

    def _ratio(self, of: Mapping[str, str], start: datetime) -> float | None:
        dimensions = [{"Name": name, "Value": value} for name, value in {"EndpointName": self._endpoint, **of}.items()]
        times = {"StartTime": start, "EndTime": datetime.now(UTC) + timedelta(minutes=1), "Period": MINUTE_S}
        wanted = {"Dimensions": dimensions, "Statistics": ["Sum", "SampleCount"]}
        points = self._cloudwatch.get_metric_statistics(**METRIC, **wanted, **times)["Datapoints"]
        count = sum(point["SampleCount"] for point in points)
        return sum(point["Sum"] for point in points) / count if count else None


def _percent(ratio: float | None) -> str:
    return "no request" if ratio is None else f"{100 * ratio:.1f} %"
