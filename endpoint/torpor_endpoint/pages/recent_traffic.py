"""Reads from the metrics what requests each variant got of late: counts, hit ratio, and percentiles."""

from torpor_account.metrics import metrics
from torpor_account.metrics.distribution import percentile
from torpor_account.metrics.metrics import Metric
from torpor_account.metrics.registry import MetricRegistry, key_of
from torpor_account.metrics.series import MINUTE_S, Series
from torpor_account.metrics.tally import Tally, merged
from torpor_endpoint.core.components.component_variants import component_of
from torpor_endpoint.core.pages.state import VariantTraffic

SECOND_MICROSECONDS = 1e6


class RecentTraffic:
    """The traffic of each variant at one moment. It looks each metric's series up once, however many variants ask."""

    def __init__(self, registry: MetricRegistry) -> None:
        self._now_s = registry.clock()
        self._since_s = self._now_s // MINUTE_S * MINUTE_S - MINUTE_S
        self._series = {
            metric: {one.key: one for one in registry.find(metric.namespace, metric.name)}
            for metric in (
                metrics.INVOCATIONS,
                metrics.INVOCATION_MODEL_ERRORS,
                metrics.COLD_START_TIME,
                metrics.MODEL_CACHE_HIT,
                metrics.MODEL_LATENCY,
            )
        }

    def of(self, endpoint: str, variant: str) -> VariantTraffic:
        def series(metric: Metric) -> Series | None:
            dimensions = {"EndpointName": endpoint, "VariantName": variant}
            if (component := component_of(variant)) is not None:
                dimensions = {"InferenceComponentName": component}
            return self._series[metric].get(key_of(metric.namespace, metric.name, dimensions.items(), metric.unit))

        def total(metric: Metric) -> int:
            return 0 if (one := series(metric)) is None else int(one.total().sum)

        def count(metric: Metric) -> int:
            return 0 if (one := series(metric)) is None else int(one.total().count)

        def recent(metric: Metric) -> Tally:
            one = series(metric)
            return Tally() if one is None else merged(bucket for _, bucket in one.buckets(self._since_s, float("inf")))

        latency, hits = recent(metrics.MODEL_LATENCY), recent(metrics.MODEL_CACHE_HIT)
        return VariantTraffic(
            total(metrics.INVOCATIONS),
            count(metrics.COLD_START_TIME),
            total(metrics.INVOCATION_MODEL_ERRORS),
            recent_s=self._now_s - self._since_s,
            recent_requests=int(recent(metrics.INVOCATIONS).sum),
            hit_ratio=hits.sum / hits.count if hits.count else None,
            p50_s=_seconds(latency, 0.5),
            p99_s=_seconds(latency, 0.99),
        )


def _seconds(latency: Tally, share: float) -> float | None:
    """A percentile in seconds; None without samples."""
    microseconds = percentile(latency, share) if latency.count else None
    return None if microseconds is None else microseconds / SECOND_MICROSECONDS
