"""The page for Prometheus has the documented metrics."""

import re

from tests.helpers.metric_pages import written
from torpor_account.metrics.metrics import METRICS
from torpor_account.metrics.prometheus import KINDS, exposed
from torpor_account.metrics.registry import MetricRegistry

NOON_S = 1_772_366_400


def test_each_metric_is_exposed_by_its_documented_name_and_type() -> None:
    registry = MetricRegistry(lambda: NOON_S)
    for metric in METRICS:
        registry.series(metric, dict.fromkeys(metric.dimensions, "houses")).add(1, NOON_S)
    page = written(registry, {"houses"})
    found = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE))
    assert {exposed(metric): KINDS[metric.shown] for metric in METRICS} == found
