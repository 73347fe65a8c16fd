"""Lives and traffic become dollars: sums, shares, and unknown prices."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.ledger_with_pages import life
from torpor_endpoint.core.ledger import Sums
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.pricing.accounts import ModelTraffic, VariantUse, Window, accounts
from torpor_endpoint.core.pricing.alternatives import alternatives
from torpor_endpoint.core.pricing.costs import VariantCosts, costs, total
from torpor_endpoint.core.pricing.prices import PRICES
from torpor_endpoint.core.pricing.quotes import PROVISIONED, S3_GETS, S3_STORED

HOUR_S = 3600.0
SIZES = ("ml.m5.large", "ml.c5.xlarge", "serverless-1024", "serverless-6144")


def traffic(model: str = "a", size: str = "ml.m5.large", busy_s: float = 0.0, moved_bytes: int = 0) -> ModelTraffic:
    busy_ms = round(busy_s * 1000)
    sums = Sums(1, 0, 0, busy_s, 0.0, busy_s, busy_ms, busy_ms, moved_bytes, 0)
    return ModelTraffic("houses", "v", model, size, sums)


def of(lives: list[InstanceLife], called: list[ModelTraffic], window: Window) -> VariantCosts:
    return costs(VariantUse("houses", "v", [one for one in lives if window.alive_s(one)], called), window, PRICES)


def test_an_instance_costs_its_hours_and_idle_time_belongs_to_no_model() -> None:
    found = of([life(0.0, 2 * HOUR_S)], [traffic("a", busy_s=720.0), traffic("b", busy_s=72.0)], Window(0, 9 * HOUR_S))
    whole = 2 * 0.115 + 30 * 2 / 730 * 0.14  # two hours of an instance, and of its volume of 30 GB
    assert found.usd == pytest.approx(whole)
    assert [model.usd for model in found.models] == pytest.approx([0.1 * whole, 0.01 * whole])
    assert found.idle_usd == pytest.approx(0.89 * whole)


def test_serverless_costs_as_in_awss_own_example() -> None:
    """10 M requests of 100 ms at $0.00004 a second are $40.00, and 10 GB at $0.016 are $0.16."""
    calls = traffic(size="serverless-2048", busy_s=10_000_000 * 0.1, moved_bytes=10 * 2**30)
    found = of([life(0.0, size="serverless-2048")], [calls], Window(0, HOUR_S))
    assert found.usd == pytest.approx(40.16)
    assert found.idle_usd == 0.0


def test_a_price_that_is_not_known_is_never_nothing() -> None:
    for one in (life(size="ml.m4.xlarge"), life(size="ml.no.such")):
        found = of([replace(one, started_s=0.0)], [traffic(size=one.size, busy_s=1.0)], Window(0, HOUR_S))
        assert (found.usd, found.idle_usd, found.models[0].usd) == (None, None, None)
    lost = of([life(0.0)], [traffic(size="unknown", busy_s=1.0)], Window(0, HOUR_S))
    assert lost.usd is None
    assert total([1.0, None]) is None


def test_without_a_serverless_price_the_sum_is_not_known() -> None:
    account = VariantUse("houses", "v", [], [traffic(size="serverless-1024", busy_s=1.0)])
    found = costs(account, Window(0, HOUR_S), replace(PRICES, quotes={}))
    assert (found.usd, found.models[0].usd) == (None, None)


def test_without_a_price_of_provisioned_concurrency_the_sum_is_not_known() -> None:
    kept = life(0.0, size="serverless-1024", provisioned=True)
    account = VariantUse("houses", "v", [kept], [traffic(size="serverless-1024", busy_s=1.0)])
    without = {item: quote for item, quote in PRICES.quotes.items() if item != PROVISIONED}
    found = costs(account, Window(0, HOUR_S), replace(PRICES, quotes=without))
    assert (found.usd, found.bill.unpriced) == (None, (PROVISIONED,))


def test_a_request_that_never_reached_an_instance_costs_nothing() -> None:
    found = of([], [traffic(size="", moved_bytes=2**30)], Window(0, HOUR_S))
    assert (found.usd, found.models[0].requests) == (0.0, 1)


def test_only_time_within_the_window_counts() -> None:
    lives = [life(0.0, 10.0), replace(life(5.0), endpoint="other"), replace(life(0.0, 4.0), endpoint="gone")]
    assert [one.endpoint for one in accounts(lives, [], Window(5.0, 20.0))] == ["houses", "other"]
    assert [Window(5.0, 20.0).alive_s(one) for one in lives] == [5.0, 15.0, 0.0]


moments = st.floats(0, 10_000)
spans = st.tuples(moments, moments).map(sorted)
lives_of = st.lists(
    st.builds(
        lambda span, size, ended: life(span[0], span[1] if ended else None, size=size),
        spans, st.sampled_from(SIZES), st.booleans(),
    ),
    max_size=6,
)  # fmt: skip
timed_traffic = st.lists(
    st.tuples(
        st.integers(0, 160).map(lambda minute: minute * 60),
        st.builds(
            traffic,
            st.sampled_from("abc"), st.sampled_from(SIZES), st.floats(0, 50), st.integers(0, 2**40),
        ),
    ),
    max_size=8,
)  # fmt: skip


@given(lives_of, timed_traffic, spans, st.floats(0, 1))
def test_costs_of_windows_that_meet_add_up(
    lives: list[InstanceLife], called: list[tuple[int, ModelTraffic]], span: list[float], share: float
) -> None:
    since_s, until_s = span
    cut_s = since_s + share * (until_s - since_s)

    def cost(window: Window) -> float:
        inside = [one for minute_s, one in called if window.since_s <= minute_s < window.until_s]
        usd = of(lives, inside, window).usd
        assert usd is not None
        return usd

    parts = cost(Window(since_s, cut_s)) + cost(Window(cut_s, until_s))
    assert cost(Window(since_s, until_s)) == pytest.approx(parts, abs=1e-9)


@given(lives_of, timed_traffic)
def test_the_models_and_the_idle_time_are_the_whole(
    lives: list[InstanceLife], called: list[tuple[int, ModelTraffic]]
) -> None:
    found = of(lives, [one for _, one in called], Window(0, 10_000))
    shares = [model.usd for model in found.models]
    assert total([*shares, found.idle_usd]) == pytest.approx(found.usd)
    assert all(share is not None and share >= 0 for share in (*shares, found.idle_usd))
    assert sum(model.requests for model in found.models) == len(called)


@given(st.floats(0, 3600), st.floats(0, 3600), st.booleans())
def test_a_variant_that_an_update_promotes_costs_as_much_in_two_parts(began_s: float, lasts_s: float, to: bool) -> None:
    whole = life(began_s, 7200.0, shadow=to)
    window = Window(0.0, 7200.0)
    changed = replace(whole, changed_s=min(began_s + lasts_s, 7200.0))
    parts = accounts([changed], [], window)
    assert sum(costs(one, window, PRICES).usd or 0.0 for one in parts) == pytest.approx(
        of([whole], [], window).usd, abs=1e-9
    )
    before_s = sum(window.alive_s(one) for part in parts if part.shadow is not to for one in part.lives)
    assert before_s == pytest.approx(min(lasts_s, 7200.0 - began_s), abs=1e-6)


# -- objects in S3 -----------------------------------------------------------------------------------------------------
def stored(size: str = "ml.m5.large", shadow: bool = False) -> VariantUse:
    """Three models of 20 GB together, and 5,000 fetches of them, of an instance that lived for the last 73 hours."""
    called = traffic(size=size, busy_s=1.0)
    called.sums.fetches = 5000
    lives = [life(27 * HOUR_S, size=size)]
    return VariantUse("houses", "v", lives, [called], shadow=shadow, artifacts_bytes=20 * 2**30)


@pytest.mark.parametrize("size", ["ml.m5.large", "serverless-2048"])
def test_the_models_artifacts_are_stored_since_the_first_instance_and_each_fetch_is_a_request(size: str) -> None:
    """By hand: 20 GB for 73 of 730 hours at $0.023 a GB-month, and 5,000 requests at $0.0004 for 1,000."""
    account = stored(size)
    found = costs(account, Window(0.0, 100 * HOUR_S), PRICES)
    lines = {line.item: [line.quantity, line.usd] for line in found.bill.lines}
    assert lines[S3_STORED] == pytest.approx([2.0, 0.046])
    assert lines[S3_GETS] == pytest.approx([5000, 0.002])
    without = replace(account, artifacts_bytes=0, traffic=[traffic(size=size, busy_s=1.0)])
    less = costs(without, Window(0.0, 100 * HOUR_S), PRICES)
    assert found.usd == pytest.approx((less.usd or 0.0) + 0.048)
    assert found.idle_usd == pytest.approx((less.idle_usd or 0.0) + 0.048)


def test_a_shadow_variant_fetches_and_stores_nothing_more() -> None:
    items = {line.item for line in costs(stored(shadow=True), Window(0.0, 100 * HOUR_S), PRICES).bill.lines}
    assert S3_GETS in items
    assert S3_STORED not in items


def test_each_other_way_stores_the_same_artifacts() -> None:
    window = Window(0.0, 100 * HOUR_S)
    without = {one.way: one.usd for one in alternatives(replace(stored(), artifacts_bytes=0), window, PRICES)}
    for one in alternatives(stored(), window, PRICES):
        assert one.usd == pytest.approx((without[one.way] or 0.0) + 0.046)
