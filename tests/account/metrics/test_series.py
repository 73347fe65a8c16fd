import asyncio
from collections import Counter, defaultdict
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.counted_calls import calls_of
from torpor_account.cloudwatch.list_metrics import list_metrics
from torpor_account.metrics import sketch
from torpor_account.metrics.distribution import percentile
from torpor_account.metrics.fine_series import FINE_KEPT_S, FineSeries
from torpor_account.metrics.metrics import INVOCATIONS, LOADED_MODEL_COUNT, METRICS
from torpor_account.metrics.registry import SERIES_OF_ENDPOINT, MetricRegistry, age
from torpor_account.metrics.series import FIVE_MINUTES_S, KEPT_S, MINUTES_KEPT_S, Series, SeriesKey
from torpor_account.metrics.statistics import statistic
from torpor_account.metrics.tally import Tally

NOON_S = 1_772_366_400
VARIANT = {"EndpointName": "houses", "VariantName": "AllTraffic"}
KEY = SeriesKey("shop", "Orders", (), "Count")

samples = st.floats(min_value=-1e9, max_value=1e9).map(lambda value: round(value, 6))


def series() -> Series:
    return Series(KEY, lambda _: None)


@given(st.lists(st.tuples(st.integers(0, 7200), samples), min_size=1, max_size=40))
def test_minutes_hold_exactly_their_samples_in_whatever_order_these_came(given: list[tuple[int, float]]) -> None:
    orders = series()
    expected: dict[int, list[float]] = defaultdict(list)
    for after_s, value in given:
        orders.add(value, NOON_S + after_s)
        expected[NOON_S + after_s - after_s % 60].append(value)
    found = orders.buckets(0, float("inf"))
    assert [at_s for at_s, _ in found] == sorted(expected)
    for at_s, tally in found:
        assert (tally.count, tally.minimum) == (len(expected[at_s]), min(expected[at_s]))
        assert tally.sum == pytest.approx(sum(expected[at_s]), abs=1e-3)
    assert orders.total().count == len(given)


@given(st.lists(st.tuples(st.integers(0, 7200), samples), min_size=1, max_size=40))
def test_a_metric_of_high_resolution_has_its_samples_by_ten_seconds_too(given: list[tuple[int, float]]) -> None:
    orders = FineSeries(KEY, lambda _: None)
    expected: dict[int, list[float]] = defaultdict(list)
    for number, (after_s, value) in enumerate(given):
        add = (orders.add, lambda v, at_s: orders.add_all([v], at_s), lambda v, at_s: orders.merge(Tally.of([v]), at_s))
        add[number % 3](value, NOON_S + after_s)
        expected[NOON_S + after_s - after_s % 10].append(value)
    found = orders.fine_buckets(0, float("inf"))
    assert [(at_s, tally.count) for at_s, tally in found] == [(at_s, len(expected[at_s])) for at_s in sorted(expected)]
    assert orders.total().count == sum(tally.count for _, tally in orders.buckets(0, float("inf"))) == len(given)


def test_a_level_counts_once_for_each_source_and_ten_seconds_and_is_forgotten_after_three_hours() -> None:
    levels = FineSeries(KEY, lambda _: None)
    for at_s, source, value in ((0, "a", 1.0), (5, "a", 3.0), (6, "b", 5.0), (12, "b", 7.0)):
        levels.put(source, value, NOON_S + at_s)
    levels.put("c", 9.0, NOON_S + 14, present={"c"})
    assert [(at_s - NOON_S, one.count, one.sum) for at_s, one in levels.fine_buckets(0, 2e9)] == [(0, 2, 8), (10, 1, 9)]
    levels.age(NOON_S + FINE_KEPT_S + 5)
    assert [at_s - NOON_S for at_s, _ in levels.fine_buckets(0, 2e9)] == [10]
    assert len(levels.buckets(0, 2e9)) == 1


@given(st.lists(st.sampled_from([0, 1, True, *range(2, 30), 0.25, -7.5]), min_size=1, max_size=90))
def test_a_tally_is_exact_but_for_its_sketch_however_many_values_come_again(values: list[float]) -> None:
    for tally in (Tally.of(values), Tally.of(values).packed()):
        assert (tally.count, tally.sum) == (len(values), sum(values))
        assert (tally.minimum, tally.maximum) == (min(values), max(values))
        assert dict(tally.items()) == Counter(map(sketch.key, values))


@given(st.lists(samples, min_size=1, max_size=60), st.floats(0, 1))
def test_a_percentile_is_within_the_sketchs_error_of_the_exact_one(values: list[float], share: float) -> None:
    rank = max(share * len(values), 1e-12)
    exact = sorted(values)[min(-int(-rank // 1), len(values)) - 1]
    found = percentile(Tally.of(values), share)
    assert found == pytest.approx(exact, rel=sketch.ERROR * 1.001, abs=1e-12)


@given(samples, samples)
def test_the_sketchs_keys_sort_as_the_values_do(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert sketch.key(low) <= sketch.key(high)


def test_after_a_day_minutes_become_five_and_after_fifteen_days_nothing() -> None:
    orders = series()
    for minute in range(10):
        orders.add(1, NOON_S + 60 * minute)
    orders.add(1, NOON_S + MINUTES_KEPT_S + 600)
    old = [(at_s, tally.count) for at_s, tally in orders.buckets(0, NOON_S + 3600)]
    assert old == [(NOON_S, 5), (NOON_S + FIVE_MINUTES_S, 5)]
    orders.add(1, NOON_S + KEPT_S + 600)
    assert orders.buckets(0, NOON_S + 3600) == []
    assert orders.total().count == 12


@pytest.mark.parametrize("given", ["added", "put"])
def test_a_silent_series_ages_by_the_clock(given: str) -> None:
    orders = series()
    for minute in range(10):
        at_s = NOON_S + 60 * minute
        orders.add(1, at_s) if given == "added" else orders.put("i", 1, at_s)

    def seen() -> list[tuple[int, float]]:
        return [(at_s, tally.count) for at_s, tally in orders.buckets(0, float("inf"))]

    orders.age(NOON_S + MINUTES_KEPT_S - 1)
    assert len(seen()) == 10
    orders.age(NOON_S + MINUTES_KEPT_S + 540)
    assert seen() == [(NOON_S, 5), (NOON_S + FIVE_MINUTES_S, 5)]
    orders.age(NOON_S + KEPT_S)
    assert seen() == [(NOON_S + FIVE_MINUTES_S, 5)]
    orders.age(NOON_S + KEPT_S + 300)
    assert (seen(), orders.empty, orders.total().count) == ([], True, 10)
    orders.add(1, NOON_S + KEPT_S + 360)
    assert (seen(), orders.total().count) == ([(NOON_S + KEPT_S + 360, 1)], 11)


def test_empty_series_go_unless_their_endpoint_is_there_and_come_back_when_written() -> None:
    now_s = [float(NOON_S)]
    registry = MetricRegistry(lambda: now_s[0])
    there, deleted = (registry.series(INVOCATIONS, {**VARIANT, "EndpointName": name}) for name in ("there", "deleted"))
    custom = registry.at(KEY)
    for one in (there, deleted, custom):
        one.add(1, NOON_S)

    async def aged() -> None:
        """Until it pauses for the second time before a round."""
        rounds = iter((True, False))

        async def pause(pause_s: float) -> None:
            if pause_s and not next(rounds):
                raise asyncio.CancelledError

        with suppress(asyncio.CancelledError):
            await age(registry, {"there"}, pause)

    now_s[0] += KEPT_S - 1
    asyncio.run(aged())
    assert set(registry.find()) == {there, deleted, custom}
    now_s[0] += 1
    asyncio.run(aged())
    assert list(registry.find()) == [there]
    assert list_metrics(registry, {})["Metrics"] == []
    deleted.add(1, now_s[0])
    assert set(registry.find()) == {there, deleted}


def test_a_sample_of_long_ago_is_kept_by_five_minutes_or_not_at_all() -> None:
    orders = series()
    orders.add(1, NOON_S)
    orders.add(2, NOON_S - 2 * 86_400 + 61)
    orders.add(4, NOON_S - 16 * 86_400)
    assert [(at_s, tally.sum) for at_s, tally in orders.buckets(0, NOON_S)] == [(NOON_S - 2 * 86_400, 2)]


def test_a_level_counts_once_per_source_and_minute() -> None:
    loaded = MetricRegistry(lambda: NOON_S).series(LOADED_MODEL_COUNT, VARIANT)
    for instance, models, after_s in [("a", 3, 0), ("b", 5, 1), ("a", 4, 30), ("a", 6, 60)]:
        loaded.put(instance, models, NOON_S + after_s)
    minutes = [(tally.count, tally.sum) for _, tally in loaded.buckets(0, float("inf"))]
    assert minutes == [(2, 9), (1, 6)]


def test_a_source_that_has_left_is_in_no_level_beside_the_one_after_it() -> None:
    """An update replaces three instances by two within a minute: their models are not added up."""
    series = Series(KEY, lambda one: None)
    for source in ("old-1", "old-2", "old-3"):
        series.put(source, 100.0, 60.0, {"old-1", "old-2", "old-3"})
    series.put("new-1", 20.0, 70.0, {"new-1", "new-2"})
    series.put("new-2", 16.0, 71.0, {"new-1", "new-2"})
    assert [(tally.count, tally.sum) for _, tally in series.buckets(0, 200)] == [(2, 36)]


def test_ready_made_sums_have_no_percentile() -> None:
    tally = Tally.of_sums(4, 10, 1, 4)
    assert percentile(tally, 0.5) is None
    assert statistic("tm90")(tally) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("p0", 1),
        ("p100", 100),
        ("p90.5", 91),
        ("tm50", 25.5),
        ("tc50", 50),
        ("ts10", 55),
        ("TM(10%:90%)", 50.5),
        ("TC(90%:)", 10),
        ("IQM", 50.5),
        ("wm90", 50.05),
        ("WM(10%:90%)", 50.5),
        ("TM(10.5:30.5)", 20.5),
        ("TC(:20.5)", 20),
        ("TS(:10.5)", 55),
        ("PR(:20.5)", 20),
        ("PR(10.5:30.5)", 20),
    ],
)
def test_statistics_of_one_to_a_hundred(name: str, expected: float) -> None:
    assert statistic(name)(Tally.of(range(1, 101))) == pytest.approx(expected, rel=0.012)


@pytest.mark.parametrize(
    "name",
    [
        "p",
        "p101",
        "p-1",
        "median",
        "tm",
        "p50%",
        "",
        "TM(10%:90)",
        "TM(90%:10%)",
        "TM(:)",
        "PR(1%:2%)",
        "wm",
        "PR(9:1)",
    ],
)
def test_an_unknown_statistic_raises_an_error(name: str) -> None:
    with pytest.raises(ValueError):
        statistic(name)


def test_a_deleted_endpoint_is_forgotten_and_its_namesake_starts_afresh() -> None:
    registry = MetricRegistry(lambda: NOON_S)
    registry.series(INVOCATIONS, VARIANT).add(1, NOON_S)
    registry.series(INVOCATIONS, {**VARIANT, "EndpointName": "other"}).add(1, NOON_S)
    registry.forget({"EndpointName": "houses"})
    assert [one.key.dimensions[0][1] for one in registry.find()] == ["other"]
    assert registry.series(INVOCATIONS, VARIANT).total().count == 0


def test_the_series_silent_for_longest_is_dropped_past_the_limit_and_can_be_written_again() -> None:
    registry = MetricRegistry(lambda: NOON_S, series_max=3)
    handles = [registry.series(INVOCATIONS, {**VARIANT, "EndpointName": f"e{n}"}) for n in range(3)]
    for number, handle in enumerate(handles):
        handle.add(1, NOON_S + 60 * number)
    registry.series(INVOCATIONS, VARIANT).add(1, NOON_S + 300)
    assert handles[0] not in list(registry.find())
    handles[0].add(1, NOON_S + 360)
    assert handles[0] in list(registry.find())
    assert len(list(registry.find())) == 3


def test_endpoints_in_service_have_room_for_their_series_and_callers_have_no_more() -> None:
    there = [2]
    registry = MetricRegistry(lambda: NOON_S, series_max=3, endpoints=lambda: there[0])
    written = [
        registry.series(INVOCATIONS, {**VARIANT, "VariantName": f"v{n}"}) for n in range(2 * SERIES_OF_ENDPOINT + 1)
    ]
    for one in written:
        one.add(1, NOON_S)
    assert len(list(registry.find())) == 2 * SERIES_OF_ENDPOINT
    there[0] = 3
    written[0].add(1, NOON_S + 60)
    assert len(list(registry.find())) == 2 * SERIES_OF_ENDPOINT + 1
    for number in range(10):
        registry.at(SeriesKey("shop", f"m{number}", (), "None")).add(1, NOON_S)
    assert len(list(registry.find("shop"))) == 3


def test_a_series_has_the_dimensions_of_its_metric() -> None:
    with pytest.raises(ValueError, match="Invocations has the dimensions"):
        MetricRegistry(lambda: NOON_S).series(INVOCATIONS, {"EndpointName": "houses"})


def test_no_two_metrics_share_a_name_and_dimensions() -> None:
    assert len({(metric.namespace, metric.name, metric.dimensions) for metric in METRICS}) == len(METRICS)
    assert len({metric.prometheus for metric in METRICS}) == len(METRICS)


def test_custom_series_never_displace_the_endpoints_own() -> None:
    registry = MetricRegistry(lambda: NOON_S, series_max=3)
    ours = registry.series(INVOCATIONS, VARIANT)
    ours.add(1, NOON_S)
    for number in range(10):
        registry.at(SeriesKey("shop", f"m{number}", (), "None")).add(1, NOON_S + 60 * number)
    assert ours in list(registry.find())
    assert [series.key.name for series in registry.find("shop")] == ["m7", "m8", "m9"]


def test_making_room_does_not_look_at_every_series() -> None:
    def calls(series_max: int) -> int:
        """Of twice as many series as there is room for."""
        registry = MetricRegistry(lambda: NOON_S, series_max)
        series = [SeriesKey("shop", f"m{number}", (), "None") for number in range(2 * series_max)]

        def add() -> None:
            for key in series:
                registry.at(key).add(1, NOON_S)

        counted = calls_of(add)
        assert len(list(registry.find())) == series_max
        return counted

    assert calls(1000) < 11 * calls(100)
