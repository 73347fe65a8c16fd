"""Assertions on a real endpoint's models, instances and metrics."""

import pytest

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.hosting.shared_process import SharedProcess
from torpor.testing import assert_asleep, assert_awake, assert_evicted, assert_metric
from torpor.testing.endpoint_assertions import Expected


def test_a_model_that_left_was_evicted(endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[3], ROWS)
    with pytest.raises(AssertionError, match=rf"(?s){CITIES[3]} is in memory\n{CITIES[3]}\n.*was loaded"):
        assert_evicted(endpoint, CITIES[3])
    endpoint.unload(CITIES[3])
    assert_evicted(endpoint, CITIES[3], reason="unloaded")
    with pytest.raises(AssertionError, match=r"(?s)did not leave for other\.tar\.gz, but for no model\n.*has to leave"):
        assert_evicted(endpoint, CITIES[3], for_model="other.tar.gz")
    with pytest.raises(AssertionError, match="left for another reason than 'room'"):
        assert_evicted(endpoint, CITIES[3], reason="room")


def test_a_model_that_never_came_was_not_evicted(endpoint: torpor.Local) -> None:
    with pytest.raises(AssertionError, match=r"(?s)has evicted never\.tar\.gz.*nothing is known about it"):
        assert_evicted(endpoint, "never.tar.gz")


def test_an_endpoint_with_an_instance_is_awake(endpoint: torpor.Local, shared: SharedProcess) -> None:
    assert_awake(endpoint)
    assert_awake(shared.named(endpoint.name), "AllTraffic", instances=1)
    with pytest.raises(AssertionError, match=r"shared is awake: AllTraffic wants 1: 1 ready"):
        assert_asleep(endpoint)
    with pytest.raises(AssertionError, match=r"(?s)shared has not 2 instances: AllTraffic wants 1.*last cold start"):
        assert_awake(endpoint, instances=2)


def test_a_name_that_is_not_there_is_named(endpoint: torpor.Local, shared: SharedProcess) -> None:
    with pytest.raises(AssertionError, match=r"no endpoint 'other' is in service; in service: .*shared"):
        assert_awake(shared.named("other"))
    with pytest.raises(AssertionError, match="shared has no variant 'Green'"):
        assert_awake(endpoint, "Green")


def test_a_metric_is_read_through_cloudwatch(endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[0], ROWS)
    assert_metric(endpoint, "Invocations", "Sum", at_least=1)
    assert_metric(endpoint, "ModelLatency", "p99", at_least=1, at_most=60e6)
    assert_metric(endpoint, "LoadedModelCount", "Maximum", at_least=1)
    assert_metric(endpoint, "Invocation5XXErrors", "Minimum", 0)


def test_a_metric_with_another_value_tells_what_it_is(endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[0], ROWS)
    with pytest.raises(
        AssertionError, match=r"Invocations \(Sum\) of shared/AllTraffic is \d+ in the last \d+ s, not 0"
    ):
        assert_metric(endpoint, "Invocations", "Sum", 0)
    with pytest.raises(
        AssertionError, match=r"without a sample in the last \d+ s \(metrics of this variant: .*Invocations"
    ):
        assert_metric(endpoint, "Invocatons", "Sum", at_least=1, last_s=60)


def test_an_assertion_on_a_metric_says_what_it_expects(endpoint: torpor.Local) -> None:
    with pytest.raises(TypeError, match="say what is expected"):
        assert_metric(endpoint, "Invocations", "Sum")


@pytest.mark.parametrize(
    ("expected", "found", "holds", "words"),
    [
        (Expected(3, None, None), 3.0, True, "3"),
        (Expected(0.3, None, None), 0.1 + 0.2, True, "0.3"),
        (Expected(3, None, None), 2.0, False, "3"),
        (Expected(None, 1, 2), 1.0, True, "at least 1 and at most 2"),
        (Expected(None, 1, 2), 2.5, False, "at least 1 and at most 2"),
        (Expected(None, 0, None), None, False, "at least 0"),
    ],
)
def test_an_expected_value(expected: Expected, found: float | None, holds: bool, words: str) -> None:
    assert expected.holds(found) is holds
    assert str(expected) == words
