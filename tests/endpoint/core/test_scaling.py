"""The number of instances: none without calls, one with calls, more when these are busy; within the allowed range."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.keepalive import Fixed, Histogram, KeepAlive
from torpor_endpoint.core.resource_records import AsyncInference, Container, Serverless, Variant
from torpor_endpoint.core.scaling import (
    GROW_S,
    SHRINK_S,
    Demand,
    Habits,
    InstanceRange,
    KeepAliveState,
    after_update,
    at_start,
    desired,
    may_be_empty,
    may_sleep,
    size_range,
)
from torpor_endpoint.core.traffic import Traffic

PLAIN = Variant("AllTraffic", "houses", (Container("torpor"),), instance_type="ml.m5.large", instance_count=2)
MANAGED = replace(PLAIN, instances_min=0, instances_max=4)
SERVERLESS = Variant("AllTraffic", "houses", (Container("torpor"),), serverless=Serverless(1024, 20))
AWAKE, ASLEEP, DUE = KeepAliveState(True), KeepAliveState(False), KeepAliveState(True, due=True)

ranges = st.builds(
    lambda floor, more, each: InstanceRange(floor, max(1, floor + more), each),
    st.integers(0, 4),
    st.integers(0, 6),
    st.integers(1, 20),
)


def seen(in_flight: list[int], now_s: float = 1000.0) -> Demand:
    """One number a second, the last of them now."""
    demand = Demand()
    for ago, number in zip(range(len(in_flight) - 1, -1, -1), in_flight, strict=True):
        demand.seen(number, now_s - ago)
    return demand


def size(allowed: InstanceRange, present: int, rest: KeepAliveState, in_flight: list[int]) -> int:
    wanted = desired(allowed, present, rest, seen(in_flight), 1000.0)
    return present if wanted is None else wanted.size


@given(ranges, st.integers(0, 10), st.sampled_from([AWAKE, ASLEEP, DUE]), st.lists(st.integers(0, 200), max_size=80))
def test_the_desired_size_is_never_outside_its_range_except_for_sleep(
    allowed: InstanceRange, more: int, rest: KeepAliveState, in_flight: list[int]
) -> None:
    present = min(allowed.floor + more, allowed.ceiling)
    wanted = desired(allowed, present, rest, seen(in_flight), 1000.0)
    if wanted is not None:
        assert allowed.floor <= wanted.size <= allowed.ceiling
        assert wanted.size != present
        assert wanted.why


def test_a_fixed_instance_count_is_never_changed() -> None:
    assert size_range(PLAIN, 8) is None
    assert not may_sleep(PLAIN)
    assert (at_start(PLAIN, 8), after_update(PLAIN, 8, 1)) == (2, 2)


def test_a_variant_that_may_sleep_sleeps_when_its_keep_alive_is_over() -> None:
    for variant in (MANAGED, SERVERLESS):
        allowed = size_range(variant, 8)
        assert allowed is not None
        assert size(allowed, 1, AWAKE, [0]) == 1
        assert size(allowed, 2, ASLEEP, [0]) == 0
        assert size(allowed, 0, ASLEEP, [0]) == 0
        assert size(allowed, 0, AWAKE, [0]) == 0  # whoever calls wakes it by himself
        assert size(allowed, 0, DUE, [0]) == 1


def test_a_burst_starts_no_second_instance_and_lasting_demand_does() -> None:
    allowed = InstanceRange(0, 5, 8)
    assert size(allowed, 1, AWAKE, [0, 0, 0, 0, 0, 1000]) == 1
    assert size(allowed, 1, AWAKE, [0] * 9 + [1000] * 3) == 1
    assert size(allowed, 1, AWAKE, [24] * (int(GROW_S) + 1)) == 3
    assert size(allowed, 1, AWAKE, [100] * 10) == 5


@given(st.lists(st.integers(0, 40), max_size=80), st.integers(0, 30))
def test_excess_is_the_mean_of_the_last_seconds_if_more_than_the_limit_was_there_in_each(
    in_flight: list[int], limit: int
) -> None:
    last = in_flight[-int(GROW_S) :]
    lasting = len(last) == GROW_S and min(last) > limit
    assert seen(in_flight).excess(limit, GROW_S, 1000.0) == (sum(last) / len(last) if lasting else 0.0)


def test_a_variant_shrinks_when_fewer_instances_have_been_enough_for_a_while() -> None:
    allowed = InstanceRange(0, 5, 8)
    assert size(allowed, 3, AWAKE, [1] * 20) == 3
    assert size(allowed, 3, AWAKE, [1] * int(SHRINK_S)) == 1
    assert size(allowed, 3, AWAKE, [1] * 30 + [20] + [1] * 29) == 3


@given(ranges, st.integers(1, 10), st.integers(0, 300), st.integers(0, 300))
def test_more_callers_never_get_fewer_instances(allowed: InstanceRange, present: int, fewer: int, more: int) -> None:
    present = allowed.clamped(present)
    low, high = sorted((fewer, more))
    assert size(allowed, present, AWAKE, [low] * 70) <= size(allowed, present, AWAKE, [high] * 70)


@pytest.mark.parametrize(("provisioned", "kept"), [(1, 1), (8, 1), (9, 2), (20, 3)])
def test_provisioned_concurrency_keeps_as_many_awake_as_it_needs(provisioned: int, kept: int) -> None:
    variant = replace(SERVERLESS, serverless=Serverless(1024, 20, provisioned))
    allowed = size_range(variant, 8)
    assert allowed is not None
    assert not may_sleep(variant)
    assert at_start(variant, 8) == kept
    assert size(allowed, 5, ASLEEP, [0]) == kept
    assert size(allowed, 0, ASLEEP, [0]) == kept


def test_the_requests_an_instance_is_meant_to_have_can_be_set() -> None:
    assert size_range(SERVERLESS, 2) == InstanceRange(0, 10, 2)


def test_an_update_wakes_no_variant_and_keeps_the_instances_that_callers_need() -> None:
    assert (after_update(SERVERLESS, 8, 0), after_update(SERVERLESS, 8, 2), after_update(MANAGED, 8, 9)) == (0, 2, 4)
    assert at_start(replace(MANAGED, instance_count=0), 8) == 0
    assert at_start(SERVERLESS, 8) == 1


def regular(gap_s: float) -> Histogram:
    """One that has seen calls come at this distance."""
    histogram = Histogram(1200.0)
    for _ in range(20):
        histogram.used_after(gap_s)
    return histogram


@pytest.mark.parametrize(("keep_alive", "sleeps_after_s"), [(Fixed(1200.0), 1200), (regular(7200.0), int(SHRINK_S))])
def test_a_size_set_by_hand_stays_for_a_minute_and_the_last_instance_for_its_keep_alive(
    keep_alive: KeepAlive, sleeps_after_s: int
) -> None:
    habits, traffic, allowed = Habits(keep_alive), Traffic(), InstanceRange(0, 5, 8)
    for second in range(3600):
        habits.wanted(allowed, 0, traffic, float(second))
    habits.resized(3600.0)
    present, sizes = 3, []
    for second in range(3600, 3600 + 1300):
        wanted = habits.wanted(allowed, present, traffic, float(second))
        present = present if wanted is None else wanted.size
        sizes.append(present)
    assert set(sizes[: int(SHRINK_S) - 2]) == {3}
    assert sizes.index(0) == sleeps_after_s
    assert max(sizes[int(SHRINK_S) :]) <= 1


@given(ranges, st.integers(0, 20))
def test_instances_that_an_update_waits_for_are_wanted_even_above_the_ceiling(
    allowed: InstanceRange, size: int
) -> None:
    assert allowed.with_at_least(size).clamped(0) == max(allowed.floor, size)
    wanted = desired(allowed.with_at_least(size), size, ASLEEP, seen([0] * 70), 1000.0)
    assert wanted is None or wanted.size >= size


@given(
    st.lists(st.floats(1.0, 8000.0), min_size=1, max_size=30),
    st.integers(0, 1),
    st.integers(0, 1),
    st.booleans(),
    st.booleans(),
    st.floats(0.0, 0.999999),  # a share closer to 1 is rounded to the end itself
)
def test_nothing_changes_while_it_is_quiet(
    gaps: list[float], floor: int, more: int, learns: bool, resized: bool, share: float
) -> None:
    """So that a clock that is moved may go to the end of that time at once."""
    keep_alive: KeepAlive = Histogram(1200.0) if learns else Fixed(1200.0)
    habits, traffic, allowed, now_s = Habits(keep_alive), Traffic(), InstanceRange(floor, max(1, floor), 8), 0.0
    for gap_s in gaps:
        now_s += gap_s
        traffic.came(now_s)
        traffic.went(now_s)
    if resized:
        habits.resized(now_s)
    now_s += 1.0
    first = habits.wanted(allowed, floor + more, traffic, now_s)
    present = floor + more if first is None else first.size
    quiet_s = min(habits.quiet_s(allowed, present, traffic, now_s), 1e6)
    assert habits.wanted(allowed, present, traffic, now_s + share * quiet_s) is None


def test_it_is_not_quiet_while_requests_wait_for_more_instances() -> None:
    habits, traffic, allowed = Habits(Fixed(1200.0)), Traffic(), InstanceRange(0, 4, 2)
    traffic.came(0.0)
    assert habits.quiet_s(allowed, 0, traffic, 1.0) == 0.0
    assert habits.quiet_s(allowed, 1, traffic, 1.0) == float("inf")
    traffic.came(1.0)
    traffic.came(1.0)
    assert habits.quiet_s(allowed, 1, traffic, 1.0) == 0.0


def test_the_windows_are_knatives() -> None:
    assert (GROW_S, SHRINK_S) == (6.0, 60.0)


def test_a_range_has_room_for_one_instance_at_least() -> None:
    assert size_range(replace(SERVERLESS, serverless=Serverless(1024, 3)), 8) == InstanceRange(0, 1, 8)
    assert size_range(replace(PLAIN, instances_min=0, instance_count=1), 8) == InstanceRange(0, 1, 8)
    assert size_range(replace(PLAIN, instances_min=0, instance_count=0), 8) == InstanceRange(0, 1, 8)


def test_a_new_serverless_variant_starts_one_instance_whatever_its_count_says() -> None:
    assert at_start(replace(SERVERLESS, instance_count=0), 8) == 1


@pytest.mark.parametrize(
    ("least", "asynchronous", "empty"),
    [(None, False, False), (0, False, True), (1, False, False), (None, True, True), (0, True, True), (1, True, False)],
)
def test_who_may_set_the_size_to_zero(least: int | None, asynchronous: bool, empty: bool) -> None:
    config = AsyncInference("s3://results/out") if asynchronous else None
    variant = replace(PLAIN, instances_min=least, asynchronous=config)
    assert may_be_empty(variant) is empty
    assert may_sleep(variant) is (least == 0)


def test_a_sample_counts_for_a_minute() -> None:
    demand = Demand()
    assert demand.most() == 0
    demand.seen(9, 0.0)
    demand.seen(1, SHRINK_S - 0.1)
    assert demand.most() == 9
    demand.seen(1, SHRINK_S)
    assert demand.most() == 1


def test_demand_that_began_a_second_too_late_does_not_last() -> None:
    assert seen([9] * 5).excess(1, GROW_S, 1000.0) == 0.0
    assert seen([9] * 6).excess(1, GROW_S, 1000.0) == 9.0


def test_demand_that_nobody_has_looked_at_for_a_while_is_none() -> None:
    demand = Demand()
    demand.seen(5, 0.0)
    assert demand.excess(0, GROW_S, 100.0) == 0.0


def test_demand_has_settled_when_it_is_known_for_two_seconds_less_than_a_minute() -> None:
    demand = Demand()
    demand.seen(1, 942.0)
    assert demand.settled(1000.0)
    assert not demand.settled(999.9)


def test_a_second_of_rest_between_busy_ones_starts_no_further_instance() -> None:
    assert size(InstanceRange(0, 5, 8), 1, AWAKE, [20, 20, 20, 1, 20, 20]) == 1


def test_the_second_instance_leaves_too_and_one_that_is_needed_stays() -> None:
    allowed = InstanceRange(0, 5, 8)
    assert size(allowed, 2, AWAKE, [1] * 60) == 1
    assert desired(allowed, 3, AWAKE, seen([20] * 60), 1000.0) is None


def test_a_variant_that_nobody_has_resized_sleeps() -> None:
    habits, traffic = Habits(Fixed(10.0)), Traffic()
    traffic.came(0.0)
    traffic.went(0.0)
    wanted = habits.wanted(InstanceRange(0, 5, 8), 1, traffic, 11.0)
    assert wanted is not None
    assert (wanted.size, wanted.why) == (0, "nobody calls")


def quiet_s(present: int, now_s: float, floor: int = 0, resized_s: float | None = None, in_flight: int = 0) -> float:
    """Of a variant that was called once, at 0, and stays awake for 1200 s."""
    habits, traffic = Habits(Fixed(1200.0)), Traffic()
    traffic.came(0.0)
    traffic.went(0.0)
    if resized_s is not None:
        habits.resized(resized_s)
    habits.wanted(InstanceRange(floor, 5, 8), present, traffic, now_s)
    for _ in range(in_flight):
        traffic.came(now_s)
    traffic.gaps.clear()
    return habits.quiet_s(InstanceRange(floor, 5, 8), present, traffic, now_s)


def test_it_is_quiet_until_the_next_moment_that_may_change_the_size() -> None:
    assert quiet_s(1, 100.0) == 1100.0
    assert quiet_s(1, 1199.5) == 0.5
    assert quiet_s(1, 1200.0) == float("inf")
    assert quiet_s(1, 100.0, resized_s=50.0) == SHRINK_S - 50.0
    assert quiet_s(1, 100.0, floor=1) == 1100.0
    assert quiet_s(1, 100.0, in_flight=8) == float("inf")
    assert quiet_s(1, 100.0, in_flight=9) == 0.0
    assert quiet_s(2, 100.0) == 0.0, "one may leave at any time"


def test_it_is_not_quiet_while_the_keep_alive_has_something_to_learn() -> None:
    habits, traffic = Habits(Fixed(1200.0)), Traffic()
    for at_s in (0.0, 50.0):
        traffic.came(at_s)
        traffic.went(at_s)
    assert traffic.gaps
    assert habits.quiet_s(InstanceRange(0, 5, 8), 1, traffic, 100.0) == 0.0
