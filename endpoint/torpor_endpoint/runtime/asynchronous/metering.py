"""Counts asynchronous requests in AWS's metrics of them."""

from collections.abc import Callable
from typing import NamedTuple

from torpor_account.metrics import metrics
from torpor_account.metrics.registry import MetricRegistry

POOL = "queue"
MILLI, MICRO = 1e3, 1e6

RARE = (
    metrics.REQUEST_DOWNLOAD_FAILURES,
    metrics.RESPONSE_UPLOAD_FAILURES,
    metrics.NOTIFICATION_FAILURES,
    metrics.EXPIRED_REQUESTS,
    metrics.INVOCATION_FAILURES,
)


class QueueLevel(NamedTuple):
    """The requests of one endpoint that wait or run."""

    waiting: int = 0
    running: int = 0
    oldest_s: float | None = None  # epoch seconds when the oldest one that waits came

    @property
    def size(self) -> int:
        return self.waiting + self.running


class AsyncMeter:
    """`clock` gives epoch seconds."""

    def __init__(self, registry: MetricRegistry, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._clock = clock

    def count(self, metric: metrics.Metric, endpoint: str, variant: str) -> None:
        """Add one."""
        self._add(metric, endpoint, variant, 1.0)

    def took(self, metric: metrics.Metric, endpoint: str, variant: str, seconds: float) -> None:
        """Add a time, in the metric's unit."""
        self._add(metric, endpoint, variant, seconds * (MICRO if metric.unit == "Microseconds" else MILLI))

    def level(self, endpoint: str, backlog: QueueLevel, ready: int) -> None:
        """Put the levels of an endpoint's queue. `ready` counts its ready instances."""
        now_s, dimensions = self._clock(), {"EndpointName": endpoint}
        age_s = 0.0 if backlog.oldest_s is None else max(0.0, now_s - backlog.oldest_s)
        levels = {
            metrics.APPROXIMATE_BACKLOG_SIZE: float(backlog.size),
            metrics.APPROXIMATE_BACKLOG_SIZE_PER_INSTANCE: backlog.size / max(1, ready),
            metrics.APPROXIMATE_AGE_OF_OLDEST_REQUEST: age_s,
            metrics.HAS_BACKLOG_WITHOUT_CAPACITY: float(backlog.size > 0 and not ready),
        }
        for metric, level in levels.items():
            self._registry.series(metric, dimensions).put(POOL, level, now_s)

    def begin(self, endpoint: str, variant: str) -> None:
        """Counters of what is rare begin at 0."""
        for metric in RARE:
            self._registry.series(metric, {"EndpointName": endpoint, "VariantName": variant})

    def _add(self, metric: metrics.Metric, endpoint: str, variant: str, value: float) -> None:
        dimensions = {"EndpointName": endpoint, "VariantName": variant}
        self._registry.series(metric, dimensions).add(value, self._clock())
