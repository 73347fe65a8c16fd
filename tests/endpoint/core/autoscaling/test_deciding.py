"""Decisions on the proposals of several policies, with bounds and cooldowns; and a whole loop over random load."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.autoscaling.deciding import (
    Change,
    Cooldown,
    NoChange,
    Proposal,
    Reason,
    ScalableCapacity,
    base,
    decide,
    within,
)
from torpor_endpoint.core.autoscaling.samples import LoadReading, Samples, VariantLoad, invocations_per_instance
from torpor_endpoint.core.autoscaling.tracking import Causes, Tracking, agrees_to_scale_in, proposal

FOUR = ScalableCapacity(4, least=1, most=8)
OUT_UNTIL_100 = Cooldown(out=True, base=2, until_s=100.0)
IN_UNTIL_100 = Cooldown(out=False, base=6, until_s=100.0)


def out(to: int) -> Proposal:
    return Proposal(True, to, f"out to {to}", 300.0)


def inwards(to: int) -> Proposal:
    return Proposal(False, to, f"in to {to}", 300.0, yields=True)


def to_of(decision: Change | NoChange | None) -> int | None:
    return decision.to if isinstance(decision, Change) else None


def test_the_largest_capacity_wins_and_out_before_in() -> None:
    assert to_of(decide(FOUR, [out(5), out(7)], None, 0.0)) == 7
    assert to_of(decide(FOUR, [inwards(1), inwards(3)], None, 0.0)) == 3
    assert to_of(decide(FOUR, [inwards(1), out(5)], None, 0.0)) == 5


def test_tracking_scales_in_only_if_all_that_track_agree_and_steps_do_not_ask() -> None:
    assert decide(FOUR, [inwards(1)], None, 0.0, agreed=False) is None
    step = Proposal(False, 2, "a step", 300.0)
    assert to_of(decide(FOUR, [inwards(1), step], None, 0.0, agreed=False)) == 2


def test_a_cooldown_lets_a_larger_scale_out_through_and_no_scale_in() -> None:
    assert decide(FOUR, [out(4)], OUT_UNTIL_100, 99.0) is None
    assert decide(FOUR, [out(5)], OUT_UNTIL_100, 99.0) == Change(5, "out to 5", True, 2, 300.0)
    assert decide(FOUR, [inwards(1)], OUT_UNTIL_100, 99.0) is None
    assert decide(FOUR, [inwards(1)], IN_UNTIL_100, 99.0) is None
    assert to_of(decide(FOUR, [out(5)], IN_UNTIL_100, 99.0)) == 5
    assert to_of(decide(FOUR, [inwards(1)], OUT_UNTIL_100, 100.0)) == 1


def test_a_step_counts_from_where_the_scale_out_began_while_it_cools_down() -> None:
    assert base(FOUR, OUT_UNTIL_100, 99.0) == 2
    assert base(FOUR, OUT_UNTIL_100, 100.0) == base(FOUR, IN_UNTIL_100, 99.0) == 4
    assert base(FOUR, Cooldown(out=True, base=6, until_s=100.0), 99.0) == 4, "it has been scaled in since"


def test_why_a_target_is_not_scaled() -> None:
    assert decide(ScalableCapacity(8, 1, 8), [out(9)], None, 0.0) == NoChange(Reason.AT_MAX, "out to 9")
    assert decide(ScalableCapacity(1, 1, 8), [inwards(0)], None, 0.0) == NoChange(Reason.AT_MIN, "in to 0")
    assert decide(FOUR, [inwards(4)], None, 0.0) == NoChange(Reason.FLAPPING, "in to 4")
    assert decide(ScalableCapacity(0, 0, 8), [out(0)], None, 0.0) == NoChange(Reason.AT_DESIRED, "out to 0")
    assert decide(FOUR, [out(4)], IN_UNTIL_100, 99.0) == NoChange(Reason.AT_DESIRED, "out to 4")
    assert decide(FOUR, [out(4)], OUT_UNTIL_100, 100.0) == NoChange(Reason.AT_DESIRED, "out to 4")
    assert decide(FOUR, [Proposal(False, 4, "a step", 300.0)], None, 0.0) == NoChange(Reason.AT_DESIRED, "a step")
    assert [reason.value for reason in Reason] == [
        "AlreadyAtMaxCapacity",
        "AlreadyAtMinCapacity",
        "AlreadyAtDesiredCapacity",
        "AutoScalingAnticipatedFlapping",
    ]


def test_a_suspended_direction_of_scaling_decides_nothing() -> None:
    assert decide(ScalableCapacity(4, 1, 8, may_out=False), [out(5)], None, 0.0) is None
    assert decide(ScalableCapacity(4, 1, 8, may_in=False), [inwards(1)], None, 0.0) is None


def test_new_bounds_move_a_capacity_that_lies_outside() -> None:
    assert within(ScalableCapacity(1, 3, 8)) == Change(3, "minimum capacity was set to 3", True, 1)
    assert within(ScalableCapacity(9, 3, 8)) == Change(8, "maximum capacity was set to 8", False, 9)
    assert within(FOUR) is None
    assert Change(3, "so", True, 1).cooldown(0.0) is None
    assert Change(3, "so", True, 1, 300.0).cooldown(5.0) == Cooldown(True, 1, 305.0)


proposals = st.builds(Proposal, st.booleans(), st.integers(-5, 20), st.just("so"), st.just(300.0), st.booleans())
reaches = st.builds(
    lambda capacity, ends: ScalableCapacity(capacity, *sorted(ends)),
    st.integers(0, 20),
    st.tuples(*[st.integers(0, 15)] * 2),
)
cooldowns = st.none() | st.builds(Cooldown, st.booleans(), st.integers(0, 20), st.floats(0, 200))


@given(reaches, st.lists(proposals, max_size=4), cooldowns, st.booleans())
def test_no_change_leaves_the_bounds_or_scales_in_during_a_cooldown(
    capacity: ScalableCapacity, wanted: list[Proposal], cooldown: Cooldown | None, agreed: bool
) -> None:
    decision = decide(capacity, wanted, cooldown, 100.0, agreed)
    if isinstance(decision, Change):
        assert capacity.least <= decision.to <= capacity.most
        assert decision.out == (decision.to > capacity.current)
        assert decision.to != capacity.current
        assert decision.out or cooldown is None or cooldown.until_s <= 100.0


RULE = Tracking(60.0, scale_out_cooldown_s=300.0, scale_in_cooldown_s=300.0)


def capacities(rates: list[int]) -> list[tuple[float, int]]:
    """Every change of a target that is looked at each ten seconds, where each rate lasts five minutes."""
    now_s, came, capacity, cooldown, samples = 0.0, 0, 1, None, Samples()
    changes: list[tuple[float, int]] = []
    for rate in rates:
        for _ in range(30):
            now_s, came = now_s + 10.0, came + rate
            seen = LoadReading(now_s, VariantLoad(came, 0, capacity, capacity), capacity)
            samples = samples.noted(seen, 60.0, invocations_per_instance)
            wanted = proposal(RULE, samples.points, capacity, Causes("high", "low"))
            agreed = agrees_to_scale_in(RULE, samples.points)
            decision = decide(ScalableCapacity(capacity, 1, 10), [wanted] if wanted else [], cooldown, now_s, agreed)
            if isinstance(decision, Change):
                capacity, cooldown = decision.to, decision.cooldown(now_s)
                changes.append((now_s, capacity))
    return changes


rates = st.lists(st.integers(0, 120), min_size=1, max_size=12)


@given(rates)
def test_nothing_flaps_inside_a_cooldown(rates: list[int]) -> None:
    changes = [(0.0, 1), *capacities(rates)]
    for (at_s, before), (next_s, after) in pairwise(changes[1:]):
        assert after > before or next_s - at_s >= 300.0
    assert all(1 <= capacity <= 10 for _, capacity in changes)


@given(st.integers(0, 120))
def test_a_steady_load_settles_at_the_capacity_that_it_needs(rate: int) -> None:
    changes = capacities([rate] * 12)
    needed = max(1, min(-(-rate * 6 // 60), 10))
    assert len(changes) <= 1
    assert (changes[-1][1] if changes else 1) == needed


@given(st.integers(0, 60))
def test_a_variant_without_calls_shrinks_to_its_minimum(rate: int) -> None:
    changes = capacities([rate] * 4 + [0] * 6)
    assert (changes[-1][1] if changes else 1) == 1
