"""Samples of a load become data points."""

from collections.abc import Callable, Sequence

import pytest

from torpor_account.core.alarms import State
from torpor_endpoint.core.autoscaling.samples import (
    POINTS_MAX,
    DataPoint,
    FleetPart,
    LoadReading,
    Samples,
    VariantLoad,
    concurrent_requests_per_instance,
    invocations_per_instance,
    load_of,
    of_copies,
    provisioned_utilization,
)
from torpor_endpoint.core.autoscaling.tracking import Tracking, state


def seen(at_s: float, invocations: int = 0, ready: int = 1, in_flight: int = 0, provisioned: int = 0) -> LoadReading:
    return LoadReading(at_s, VariantLoad(invocations, in_flight, ready, ready, provisioned), ready)


def noted(*looks: LoadReading, period_s: float = 60.0) -> Samples:
    samples = Samples()
    for look in looks:
        samples = samples.noted(look, period_s, invocations_per_instance)
    return samples


def test_a_minute_of_looks_is_one_data_point_with_the_rate_by_instance() -> None:
    looks = [seen(10.0 * turn, 4 * turn, ready=2) for turn in range(13)]
    assert noted(*looks).points == (DataPoint(60.0, 12.0, 2), DataPoint(120.0, 12.0, 2))


def test_a_rate_is_a_minutes_whatever_the_period() -> None:
    assert noted(seen(0.0), seen(1.0, 5), period_s=1.0).points == (DataPoint(1.0, 300.0, 1),)


def test_each_invocation_counts_with_the_instances_of_its_time() -> None:
    [point] = noted(seen(0.0), seen(30.0, 10, ready=1), seen(60.0, 30, ready=4)).points
    assert point == DataPoint(60.0, 10 + 20 / 4, 1)


def test_without_an_instance_invocations_count_as_those_of_one() -> None:
    assert noted(seen(0.0, ready=0), seen(60.0, 5, ready=0)).points == (DataPoint(60.0, 5.0, 0),)


def test_a_count_that_restarts_is_never_negative() -> None:
    assert noted(seen(0.0, 900), seen(60.0, 7)).points == (DataPoint(60.0, 7.0, 1),)


def test_a_clock_that_is_set_back_begins_a_new_period() -> None:
    samples = noted(seen(0.0), seen(60.0, 1), seen(120.0, 2), seen(90.0, 3), seen(120.0, 9))
    assert samples.points == (DataPoint(60.0, 1.0, 1), DataPoint(120.0, 12.0, 1))


def test_two_looks_at_one_moment_take_nothing_away() -> None:
    samples = noted(seen(0.0), seen(60.0, 1), seen(60.0, 2), seen(120.0, 5))
    assert samples.points == (DataPoint(60.0, 1.0, 1), DataPoint(120.0, 4.0, 1))
    assert noted(seen(0.0), seen(60.0, 1), seen(120.0, 2), seen(60.0, 3)).points == (DataPoint(60.0, 1.0, 1),)


def test_a_period_ends_after_a_multiple_of_it_wherever_it_began() -> None:
    assert noted(seen(30.0), seen(50.0, 10), seen(70.0, 20)).points == (DataPoint(70.0, 30.0, 1),)


def test_the_number_of_kept_samples_is_limited_and_recent_ones_can_be_excluded() -> None:
    samples = noted(*(seen(60.0 * minute) for minute in range(POINTS_MAX + 10)))
    assert len(samples.points) == POINTS_MAX
    assert samples.until(samples.points[-1].at_s - 1) == samples.points[:-1]
    assert samples.until(samples.points[-1].at_s) == samples.points


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (concurrent_requests_per_instance, 3.0),
        (provisioned_utilization, 1.0),
    ],
)
def test_levels(measure: Callable[[Sequence[LoadReading]], float | None], expected: float) -> None:
    row = [
        seen(0.0, in_flight=99),
        seen(5.0, in_flight=4, provisioned=8, ready=2),
        seen(10.0, in_flight=8, provisioned=4, ready=2),
    ]
    assert measure(row) == expected


def test_the_utilization_is_the_largest_share_in_use_since_the_period_before() -> None:
    before, most = seen(0.0, in_flight=9, provisioned=9), seen(5.0, in_flight=1, provisioned=4)
    assert provisioned_utilization([before, most, seen(10.0, in_flight=1, provisioned=8)]) == 0.25


def test_without_provisioned_concurrency_there_is_no_utilization() -> None:
    assert provisioned_utilization([seen(0.0), seen(60.0, in_flight=3)]) is None


def test_an_inference_component_has_a_value_only_while_it_has_copies_or_callers() -> None:
    measure = of_copies(concurrent_requests_per_instance)
    assert measure([seen(0.0, ready=1), seen(10.0, ready=0)]) is None
    assert measure([seen(0.0, ready=0), seen(10.0, ready=0, in_flight=3)]) == 3.0
    assert measure([seen(0.0, ready=0), seen(10.0, ready=1)]) == 0.0
    assert measure([seen(0.0, ready=0), seen(5.0, ready=1), seen(10.0, ready=0)]) == 0.0, "it had a copy for a while"


def test_a_period_without_copies_ends_what_was_measured_before_it() -> None:
    """Else a copy that has just been started ends at once, by the idle quarter of an hour before it was wanted."""
    samples = Samples()
    for turn in range(100):
        ready = 0 if 20 <= turn < 60 else 1
        samples = samples.noted(seen(10.0 * turn, ready=ready), 10.0, of_copies(concurrent_requests_per_instance))
    assert [(point.value, point.capacity) for point in samples.points] == [(None, 0), (0.0, 0), *[(0.0, 1)] * 39]
    assert state(Tracking(3.0, points_in=90).low, samples.points) is State.OK


@pytest.mark.parametrize(
    ("fleets", "bears"),
    [
        ([FleetPart(1.0, 3, 4, 4), FleetPart(0.0, 0, 4, 1)], 4),  # the new fleet starts
        ([FleetPart(0.9, 3, 4, 4), FleetPart(0.1, 0, 4, 4)], 4),  # a canary takes little from the old one
        ([FleetPart(0.5, 3, 4, 4), FleetPart(0.5, 0, 4, 4)], 8),
        ([FleetPart(0.0, 3, 4, 4), FleetPart(1.0, 0, 6, 6)], 6),
        ([FleetPart(2 / 3, 3, 2, 2), FleetPart(1 / 3, 0, 1, 1)], 3),  # a rolling update, whose fleets are one together
        ([FleetPart(0.9, 3, 4, 4), FleetPart(0.1, 0, 0, 0)], 0),
    ],
)
def test_two_fleets_bear_what_their_busiest_instances_let_them(fleets: Sequence[FleetPart], bears: int) -> None:
    load = load_of(7, fleets)
    assert (load.invocations, load.in_flight, load.ready, load.desired) == (7, 3, bears, bears)


def test_a_fleet_without_requests_bears_none_of_the_load() -> None:
    idle = FleetPart(0.0, 1, 9, 9, provisioned=9)
    assert load_of(7, []) == VariantLoad(7, 0, 0, 0)
    assert load_of(7, [idle]) == VariantLoad(7, 1, 0, 0)
    fleets = [FleetPart(0.5, 1, 4, 3, provisioned=2), FleetPart(0.5, 1, 5, 4, provisioned=5), idle]
    assert load_of(7, fleets) == VariantLoad(7, 3, desired=8, ready=6, provisioned=5)
    assert load_of(7, [FleetPart(1.0, 1, 2, 2)]).provisioned == VariantLoad(7, 1, 2, 2).provisioned == 0
