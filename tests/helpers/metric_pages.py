"""The page for Prometheus, whole."""

from collections.abc import Container

from torpor_account.metrics.prometheus import MetricPage
from torpor_account.metrics.registry import MetricRegistry


def written(registry: MetricRegistry, endpoints: Container[str]) -> str:
    """The page of these endpoints."""
    return b"".join(MetricPage(registry).portions(endpoints)).decode()
