"""The limits of calls, as token buckets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.core.access.principals import Principal, PrincipalKind
from torpor_account.core.access.rates import BadRate, CallKind, CallLimit, CallRates, burst

moments = st.lists(st.floats(0.0, 100.0), max_size=200).map(sorted)
rates = st.floats(0.1, 50.0)


@given(rates, moments)
def test_no_period_lets_through_more_than_its_rate_and_one_burst(rate: float, calls: list[float]) -> None:
    limit = CallLimit(rate)
    passed = [at_s for at_s in calls if limit.take("a", at_s)]
    for first, begins_s in enumerate(passed):
        for last, ends_s in enumerate(passed[first:], 1):
            assert last <= burst(rate) + rate * (ends_s - begins_s) + 1e-6


@given(rates, st.integers(1, 8), st.lists(st.tuples(st.floats(0.0, 20.0), st.integers(0, 7)), max_size=100))
def test_shares_together_let_through_no_more_than_the_rate_and_a_burst_of_each(
    rate: float, count: int, calls: list[tuple[float, int]]
) -> None:
    shares = [CallLimit(rate) for _ in range(count)]
    for share in shares:
        share.shared_by(count)
    passed = [at_s for at_s, port in sorted(calls) if shares[port % count].take("a", at_s)]
    for first, begins_s in enumerate(passed):
        for last, ends_s in enumerate(passed[first:], 1):
            assert last <= count * burst(rate / count) + rate * (ends_s - begins_s) + 1e-6


@given(rates, moments)
def test_who_keeps_to_the_rate_is_never_refused(rate: float, starts: list[float]) -> None:
    limit, at_s = CallLimit(rate), 0.0
    for pause_s in starts:
        at_s += 1.000001 / rate + pause_s
        assert limit.take("a", at_s)


@given(rates, moments)
def test_to_ask_changes_nothing(rate: float, calls: list[float]) -> None:
    asked, limit = CallLimit(rate), CallLimit(rate)
    for at_s in calls:
        allowed = asked.allows("a", at_s)
        assert allowed == asked.take("a", at_s) == limit.take("a", at_s)


def test_a_refused_call_costs_nothing() -> None:
    limit = CallLimit(1.0)
    assert [limit.take("a", at_s) for at_s in (0.0, 0.3, 0.6, 0.9, 1.0)] == [True, False, False, False, True]


def passes(limit: CallLimit, at_s: float) -> int:
    """How many calls it lets through at once, of more than enough."""
    return sum(limit.take("a", at_s) for _ in range(100))


def test_one_of_several_ports_lets_through_its_part_at_once_and_per_second() -> None:
    limit = CallLimit(12.0)
    limit.shared_by(3)
    assert [passes(limit, at_s) for at_s in (0.0, 0.5, 10.0)] == [4, 2, 4]


def test_a_port_that_joins_moves_no_more_than_its_share() -> None:
    first, second = CallLimit(12.0), CallLimit(12.0)
    assert passes(first, 0.0) == 12
    for limit in (first, second):
        limit.shared_by(2)
    assert [passes(limit, 0.0) for limit in (first, second)] == [0, 6]
    assert sum(passes(limit, 1.0) for limit in (first, second)) == 12


def test_a_share_that_shrinks_keeps_no_more_than_its_new_burst() -> None:
    limit = CallLimit(12.0)
    assert limit.take("a", 0.0)
    limit.shared_by(4)
    assert passes(limit, 0.0) == 3


def test_a_port_that_does_not_know_how_many_share_has_one_call_for_each_principal() -> None:
    limit = CallLimit(12.0)
    limit.shared_by(0)
    assert [passes(limit, at_s) for at_s in (0.0, 100.0)] == [1, 0]
    limit.shared_by(1)
    assert passes(limit, 100.0) == 12


def test_invocations_alone_come_to_several_ports() -> None:
    rates = CallRates.read(("invocations=9", "pages=9", "s3=9"))
    rates.shared_by(3)
    assert {kind: limit.rate for kind in CallKind if (limit := rates.of(kind))} == {
        CallKind.INVOCATIONS: 3.0,
        CallKind.S3: 9.0,
        CallKind.PAGES: 9.0,
    }


def test_each_principal_has_a_bucket_of_its_own() -> None:
    limit = CallLimit(1.0)
    assert [limit.take(name, 0.0) for name in ("a", "b", "a")] == [True, True, False]


def test_a_clock_that_goes_back_gives_and_takes_nothing() -> None:
    limit = CallLimit(2.0)
    assert [limit.take("a", at_s) for at_s in (10.0, 10.0, 5.0)] == [True, True, False]


def test_the_memory_is_bounded_and_the_longest_unused_bucket_goes() -> None:
    limit = CallLimit(1.0, principals_max=2)
    assert [limit.take(name, 0.0) for name in ("a", "b", "c")] == [True, True, True]
    assert limit.principals == 2
    assert not limit.take("b", 0.0)
    assert limit.take("a", 0.0)


def test_the_sessions_of_a_role_share_its_bucket() -> None:
    role = "arn:aws:iam::1:role/r"
    one, other = (Principal(PrincipalKind.ROLE, "1", f"arn:aws:sts::1:assumed-role/r/{name}", role) for name in "ab")
    assert one.counted_as == other.counted_as == role


def test_limits_are_read_by_kind() -> None:
    rates = CallRates.read(("invocations=100", "s3=0.5"))
    found = {kind: limit.rate for kind in CallKind if (limit := rates.of(kind))}
    assert found == {CallKind.INVOCATIONS: 100.0, CallKind.S3: 0.5}


@pytest.mark.parametrize(
    "texts", [("s3",), ("s3=0",), ("s3=-1",), ("s3=inf",), ("s3=nan",), ("x=1",), ("s3=1", "s3=2")]
)
def test_what_is_no_limit_is_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(BadRate, match=r"KIND=N|given twice"):
        CallRates.read(texts)


def test_the_bucket_that_was_used_longest_ago_goes_first() -> None:
    limit = CallLimit(2.0, principals_max=2)
    assert [limit.take(name, 0.0) for name in "abac"] == [True] * 4
    assert not limit.take("a", 0.0), "it is remembered"
    assert [limit.take("b", 0.0) for _ in range(2)] == [True, True], "it was forgotten, and is full again"


def test_calls_that_came_are_counted_with_those_that_are_refused() -> None:
    limit = CallLimit(1.0)
    assert [limit.take("a", 0.0), limit.take("a", 0.0), limit.allows("a", 0.0)] == [True, False, False]
    assert limit.asked == 2


def test_how_many_ports_share_is_known_where_invocations_have_no_limit_too() -> None:
    rates = CallRates.read(("s3=1",))
    assert rates.ports == 1
    rates.shared_by(3)
    assert (rates.ports, rates.of(CallKind.INVOCATIONS)) == (3, None)


def test_a_limit_that_cannot_be_read_says_what_to_write() -> None:
    with pytest.raises(BadRate) as refused:
        CallRates.read(("s3=many",))
    assert str(refused.value) == (
        "'s3=many' is not KIND=N: KIND is one of invocations, control, s3, pages, and N is in calls per second, "
        "more than 0"
    )
    with pytest.raises(BadRate, match="s3 is given twice"):
        CallRates.read(("s3=1", "s3=1"))


def test_a_limit_below_one_call_a_second_lets_one_through_at_once() -> None:
    assert [burst(rate) for rate in (0.5, 1.0, 2.5)] == [1.0, 1.0, 2.5]
    limit = CallLimit(0.5)
    assert [limit.take("a", at_s) for at_s in (0.0, 1.9, 2.0)] == [True, False, True]
