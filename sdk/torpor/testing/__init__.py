"""What tests of other people's code need: assertions on an endpoint's answers, models and metrics, and its clock."""

from torpor.hosting.endpoint_process import Start
from torpor.pages.observed_endpoint import NamedEndpoint
from torpor.testing.answer_assertions import assert_cold, assert_warm
from torpor.testing.endpoint_assertions import (
    assert_asleep,
    assert_awake,
    assert_evicted,
    assert_metric,
)
from torpor.testing.fault_injection import FaultInjection, NeverStruck, drawn
from torpor.testing.movable_clock import MovableClock
from torpor.testing.unittests import EndpointTestCase, endpoint_process
from torpor_endpoint.core.testing.fault_schedule import BadFault, FaultKind, FaultSchedule, InjectedFault

__all__ = [
    "BadFault",
    "EndpointTestCase",
    "FaultInjection",
    "FaultKind",
    "FaultSchedule",
    "InjectedFault",
    "MovableClock",
    "NamedEndpoint",
    "NeverStruck",
    "Start",
    "assert_asleep",
    "assert_awake",
    "assert_cold",
    "assert_evicted",
    "assert_metric",
    "assert_warm",
    "drawn",
    "endpoint_process",
]
