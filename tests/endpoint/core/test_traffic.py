"""The router's view of calls: the gaps between uses, and the time since the last call."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.traffic import (
    GAPS_MAX,
    NO_TRAFFIC,
    SHADOW_LIMITS,
    Touched,
    Traffic,
    TrafficReport,
    shadow_share,
)


def test_a_gap_is_from_the_end_of_one_use_to_the_next() -> None:
    traffic = Traffic()
    traffic.came(10.0)
    traffic.came(11.0)
    traffic.went(12.0)
    traffic.went(15.0)
    traffic.came(35.0)
    assert list(traffic.gaps) == [20.0]


def test_idle_time_without_any_call_counts_from_the_first_look() -> None:
    traffic = Traffic()
    assert traffic.idle_s(100.0) == 0.0
    assert traffic.idle_s(160.0) == 60.0


def test_having_waited_for_the_first_call_is_no_gap() -> None:
    traffic = Traffic()
    traffic.idle_s(100.0)
    traffic.came(1000.0)
    assert list(traffic.gaps) == []
    assert traffic.idle_s(1001.0) == 0.0


@pytest.mark.parametrize(
    ("weight", "production_weight", "expected"),
    [(1.0, 1.0, 1.0), (0.25, 1.0, 0.25), (1.0, 4.0, 0.25), (3.0, 1.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)],
)
def test_the_share_is_the_ratio_of_the_weights(weight: float, production_weight: float, expected: float) -> None:
    assert shadow_share(weight, production_weight) == expected


def seen(traffic: Traffic) -> tuple[int, ...]:
    """In flight, of those elsewhere; held; invocations, of those elsewhere."""
    return (
        *(traffic.in_flight, traffic.elsewhere, traffic.held),
        *(traffic.invocations, traffic.invocations_elsewhere),
    )


def test_a_new_variant_has_no_traffic() -> None:
    traffic = Traffic()
    assert (seen(traffic), traffic.held_bytes, traffic.demand, traffic.last_s) == ((0, 0, 0, 0, 0), 0, 0, -inf)
    assert traffic.report(5.0) == NO_TRAFFIC == TrafficReport(0, 0, 0, inf)


def test_requests_come_are_held_and_go() -> None:
    traffic = Traffic()
    for now_s in (10.0, 11.0, 12.0):
        traffic.came(now_s)
        assert traffic.last_s == now_s
    traffic.hold(100)
    traffic.hold(30)
    assert (seen(traffic), traffic.held_bytes) == ((3, 0, 2, 3, 0), 130)
    traffic.release(100)
    traffic.went(14.0)
    assert (seen(traffic), traffic.held_bytes) == ((2, 0, 1, 3, 0), 30)
    assert traffic.report(20.0) == TrafficReport(2, 1, 3, 0.0)
    traffic.release(30)
    traffic.went(15.0)
    traffic.went(16.0)
    assert traffic.report(20.0) == TrafficReport(0, 0, 3, 4.0)
    assert traffic.report(15.0).idle_s == 0.0  # a clock of another thread


def test_a_request_that_waits_for_its_turn_is_demand_too() -> None:
    traffic = Traffic()
    traffic.came(1.0)
    traffic.queued = 2
    assert traffic.demand == 3
    traffic.went(2.0)
    assert (traffic.demand, traffic.idle_s(9.0)) == (2, 0.0)
    traffic.queued = 0
    assert traffic.idle_s(9.0) == 7.0


def test_each_change_at_this_router_marks_the_owner() -> None:
    touched: Touched = {}
    traffic = Traffic(touched, "variant")
    changes = [
        lambda: traffic.came(1.0),
        lambda: traffic.hold(1),
        lambda: traffic.release(1),
        lambda: traffic.went(2.0),
        traffic.touch,
    ]
    for change in changes:
        touched.clear()
        change()
        assert list(touched) == ["variant"]


def test_what_another_router_reports_replaces_what_it_reported_before() -> None:
    traffic = Traffic()
    traffic.came(1.0)
    first, second = TrafficReport(3, 2, 10, 0.0), TrafficReport(1, 0, 14, 0.0)
    traffic.reported(NO_TRAFFIC, first, 5.0)
    assert (seen(traffic), traffic.last_s) == ((4, 3, 2, 11, 10), 5.0)
    traffic.reported(first, second, 6.0)
    assert (seen(traffic), traffic.last_s) == ((2, 1, 0, 15, 14), 6.0)
    traffic.reported(second, TrafficReport(0, 0, 2, 1.0), 7.0)  # it has started anew, and counts from 0
    assert seen(traffic) == (1, 0, 0, 15, 14)


def test_a_router_that_stops_takes_its_requests_along_and_no_invocations() -> None:
    traffic, before = Traffic(), TrafficReport(3, 2, 10, 0.0)
    traffic.reported(NO_TRAFFIC, before, 5.0)
    traffic.left(before, 9.0)
    assert (seen(traffic), traffic.last_s) == ((0, 0, 0, 10, 10), 9.0)  # what it had in flight ended then
    rested = TrafficReport(0, 0, 4, 1.0)
    traffic.reported(NO_TRAFFIC, rested, 9.5)
    traffic.left(rested, 20.0)
    assert (seen(traffic), traffic.last_s) == ((0, 0, 0, 14, 14), 9.0)
    traffic.left(TrafficReport(0, 0, 0, 1.0), 2.0)
    assert traffic.last_s == 9.0


def test_a_gap_that_ended_at_another_router_is_a_gap() -> None:
    def gaps(traffic: Traffic, before: TrafficReport, after: TrafficReport, now_s: float) -> list[float]:
        traffic.gaps.clear()
        traffic.reported(before, after, now_s)
        return list(traffic.gaps)

    traffic = Traffic()
    rested = TrafficReport(0, 0, 1, 2.0)
    assert gaps(traffic, NO_TRAFFIC, rested, 10.0) == []  # the first request ends none
    assert traffic.last_s == 8.0
    assert gaps(traffic, rested, rested._replace(idle_s=11.0), 20.0) == []  # nothing came, and the report took its time
    assert gaps(traffic, rested, TrafficReport(0, 0, 2, 5.0), 30.0) == [16.0]
    assert traffic.last_s == 25.0
    assert gaps(traffic, rested, TrafficReport(0, 0, 2, 5.0), 30.0) == []  # no time has passed
    traffic.came(31.0)
    assert gaps(traffic, rested, TrafficReport(0, 0, 3, 1.0), 40.0) == []  # one was in flight here


def test_the_clock_of_a_router_that_is_behind_takes_no_time_back() -> None:
    traffic = Traffic()
    traffic.came(10.0)
    traffic.went(20.0)
    traffic.reported(NO_TRAFFIC, TrafficReport(0, 0, 1, 15.0), 30.0)
    assert traffic.last_s == 20.0
    assert not traffic.gaps


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=30, unique=True).map(sorted))
def test_the_gaps_of_one_router_are_those_of_its_reports(times: list[float]) -> None:
    """Requests without length: whoever hears of each by a report learns the same gaps."""
    here, there, before = Traffic(), Traffic(), NO_TRAFFIC
    for now_s in times:
        here.came(now_s)
        here.went(now_s)
        there.reported(before, before := here.report(now_s), now_s)
    assert list(there.gaps) == list(here.gaps)
    assert (there.invocations, there.last_s) == (here.invocations, here.last_s)


def test_what_is_remembered_and_copied_is_bounded() -> None:
    assert Traffic().gaps.maxlen == GAPS_MAX == 1000
    assert (SHADOW_LIMITS.requests, SHADOW_LIMITS.bytes) == (256, 67_108_864)
