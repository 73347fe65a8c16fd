"""What tests of other people's code need: assertions on an endpoint's answers, models and metrics, and its clock."""

from torpor.hosting.process import Start
from torpor.pages.observed import NamedEndpoint
from torpor.testing.answers import assert_cold, assert_warm
from torpor.testing.clock import MovableClock
from torpor.testing.endpoints import (
    assert_asleep,
    assert_awake,
    assert_evicted,
    assert_metric,
)
from torpor.testing.unittests import EndpointTestCase, endpoint_process

__all__ = [
    "EndpointTestCase",
    "MovableClock",
    "NamedEndpoint",
    "Start",
    "assert_asleep",
    "assert_awake",
    "assert_cold",
    "assert_evicted",
    "assert_metric",
    "assert_warm",
    "endpoint_process",
]
