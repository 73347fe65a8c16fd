"""The outcome of a simulation: every request counts once, the timeline adds up, and instances determine the cost."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor.simulator.engine.call_records import FAILED, FOUND, LOADED, SimulatedCall
from torpor.simulator.engine.simulated_variant import VariantReading
from torpor.simulator.request_tally import OutcomeTally
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulated_timeline import PERIOD_S, ROWS_MAX, Timeline
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import simulate
from torpor.workloads import Recorded, recorded, zipf
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.pricing.prices import PRICES
from torpor_endpoint.core.pricing.quotes import S3_GETS, S3_STORED

MIB = 1024 * 1024
HOUR_USD = (PRICES.usd_per_hour("ml.m5.large") or 0.0) + 30 * 0.14 / 730
SMALL = {name: ModelProfile(name, MIB, MIB, 0.2, 0.1, 0.7, 0.0, 0.01) for name in "abcdef"}


def call(
    model: str, arrived_s: float, *, held_s: float = 0.0, load_s: float = 0.0, failed: bool = False
) -> SimulatedCall:
    """Predicted in 10 ms, if it was."""
    one = SimulatedCall(model, arrived_s)
    one.routed_s = arrived_s + held_s
    one.ready_s = one.routed_s + load_s
    one.done_s = one.ready_s + (0.0 if failed else 0.01)
    one.outcome = FAILED if failed else LOADED if load_s else FOUND
    return one


def every(gap_s: float, models: Iterable[str]) -> Recorded:
    return recorded((number * gap_s, model) for number, model in enumerate(models))


def at_one_per_hour(result: SimulationResult) -> float:
    """The cost of its instances and of their volumes at the shipped price."""
    return result.instance_s / 3600 * HOUR_USD


# -- the timeline ------------------------------------------------------------------------------------------------------
@given(st.lists(st.lists(st.floats(0, 1e7), min_size=1, max_size=20).map(np.array), min_size=1, max_size=8))
def test_the_timeline_has_every_request_in_its_step_after_any_doubling(batches: list[np.ndarray]) -> None:
    timeline = Timeline()
    for arrived_s in batches:
        timeline.calls(arrived_s, arrived_s > 100.0)
    columns, arrived_s = timeline.columns(), np.concatenate(batches)
    assert (columns["requests"].sum(), columns["cold"].sum()) == (len(arrived_s), (arrived_s > 100.0).sum())
    assert len(columns["at_s"]) <= ROWS_MAX
    assert {len(column) for column in columns.values()} == {len(columns["at_s"])}
    assert columns["requests"].tolist() == np.bincount((arrived_s / timeline.period_s).astype(int)).tolist()


def test_a_step_of_the_timeline_shows_the_count_at_its_end() -> None:
    timeline = Timeline()
    timeline.calls(np.array([1.0, 130.0]), np.array([True, False]))
    for at_s, instances in ((60.0, 1), (120.0, 2), (180.0, 3)):
        timeline.add(VariantReading(at_s, instances, 0, 0, 0))
    assert timeline.columns()["instances"].tolist() == [1, 2, 3]


def test_a_timeline_of_weeks_has_a_limited_number_of_rows_each_with_its_last_reading() -> None:
    timeline = Timeline()
    for minute in range(1, 20_001):
        timeline.add(VariantReading(minute * PERIOD_S, minute, 0, 0, 0))
    columns = timeline.columns()
    step = round(timeline.period_s / PERIOD_S)
    assert ROWS_MAX / 2 <= len(columns["at_s"]) <= ROWS_MAX
    assert columns["instances"].tolist() == [min((row + 1) * step, 20_000) for row in range(len(columns["at_s"]))]
    assert len(timeline._readings) <= ROWS_MAX


# -- the count ---------------------------------------------------------------------------------------------------------
def test_a_request_is_warm_cold_or_failed() -> None:
    tally = OutcomeTally(overhead_s=1.0, beside_load_s=5.0)
    tally.add([call("a", 0.0, load_s=2.0), call("b", 1.0, held_s=3.0)])
    tally.add([call("a", 2.0), call("a", 3.0, load_s=1.0, failed=True)])
    assert (tally.warm.count, tally.cold.count, tally.failed, tally.held) == (1, 2, 1, 1)
    assert tally.warm.most_s == pytest.approx(1.01)
    assert [tally.cold.least_s, tally.cold.most_s] == pytest.approx([4.01, 8.01])
    assert tally.timeline.columns()["cold"].sum() == 2
    assert tally.predict_ms == 3 * 10  # what a load takes beside its steps is no prediction
    uses = {use.model: use for use in tally.models()}
    assert [(use.requests, use.cold, use.failed) for use in (uses["a"], uses["b"])] == [(3, 1, 1), (1, 1, 0)]


def test_a_first_prediction_is_billed_and_what_a_load_takes_beside_its_steps_is_not() -> None:
    usual, slow = OutcomeTally(beside_load_s=5.0), OutcomeTally(beside_load_s=5.0, first_predict_s=0.5)
    for tally in (usual, slow):
        tally.add([call("a", 0.0, load_s=2.0), call("a", 3.0)])
    assert slow.predict_ms - usual.predict_ms == 500
    assert slow.cold.most_s - usual.cold.most_s == pytest.approx(0.5)


def test_a_model_that_comes_late_has_its_row_and_the_others_keep_theirs() -> None:
    tally, names = OutcomeTally(), [f"m{number}" for number in range(50)]
    for turn in range(1, 51):
        tally.add([call(name, float(turn)) for name in names[:turn]])
    assert {use.model: use.requests for use in tally.models()} == {name: 50 - place for place, name in enumerate(names)}


# -- the result --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("changes", [{}, {"instances": 3}, {"instances_min": 0, "idle_s": 20.0}, {"instances_min": 1}])
def test_the_parts_of_a_result_add_up(changes: dict[str, Any]) -> None:
    trace = zipf(60, 0.9, 8.0, 300.0, seed=4)
    result = simulate(trace, memory_bytes=900 * 1000**2, **changes)
    asked = sum(len(chunk) for chunk in trace.chunks())
    assert result.requests == asked == result.warm + result.cold + result.failed
    assert (result.warm_latencies.count, result.cold_latencies.count) == (result.warm, result.cold)
    assert (result.timeline["requests"].sum(), result.timeline["cold"].sum()) == (asked, result.cold)
    uses = [(use.requests, use.cold, use.failed) for use in result.models]
    assert np.sum(uses, axis=0).tolist() == [asked, result.cold, result.failed]
    assert sum(use.total_s for use in result.models) == pytest.approx(result.latencies.total_s)
    assert result.hit_ratio == result.warm / asked
    assert 0 < result.loads <= result.cold


def test_an_always_on_variant_costs_instances_times_hours_times_price() -> None:
    result = simulate(every(10.0, "abcdef" * 60), SMALL, instances=3)
    hours = result.duration_s / 3600
    assert held_usd(result) == pytest.approx(3 * hours * HOUR_USD) == pytest.approx(at_one_per_hour(result))
    stored_usd = result.stored_bytes / 2**30 * 0.023
    assert result.usd_per_month() == pytest.approx(3 * 730 * HOUR_USD + stored_usd)


def held_usd(result: SimulationResult) -> float:
    """The cost of the instances with their volumes, without the objects in S3."""
    return (result.cost().usd or 0.0) - result.cost().bill.usd_of(S3_STORED, S3_GETS)


def test_the_models_artifacts_are_stored_all_the_time_and_fetched_with_each_download() -> None:
    disk_bytes = SMALL["a"].disk_bytes  # has one of them at a time
    naps = simulate(every(600.0, "ab" * 5), SMALL, instances_min=0, idle_s=60.0, disk_bytes=disk_bytes)
    assert (naps.downloads, naps.stored_bytes) == (10, sum(SMALL[name].disk_bytes for name in "ab"))
    lines = {line.item: line.quantity for line in naps.cost().bill.lines}
    assert lines[S3_GETS] == 10
    assert lines[S3_STORED] == pytest.approx(naps.stored_bytes / 2**30 * naps.duration_s / 3600 / 730)
    month = {line.item: line.quantity for line in naps.bill_per_month().lines}
    assert month[S3_STORED] == pytest.approx(naps.stored_bytes / 2**30)
    # The first download of each model is once.
    assert month[S3_GETS] == pytest.approx(8 * 730 * 3600 / naps.duration_s)
    packed = {name: replace(one, artifact_bytes=1000) for name, one in SMALL.items()}
    assert simulate(every(600.0, "ab" * 5), packed).stored_bytes == 2000


def test_the_time_ends_with_the_last_answer() -> None:
    result = simulate(recorded([(100.0, "a"), (105.0, "b")]), SMALL)
    assert result.duration_s == pytest.approx(5.0 + 0.2 + 0.1 + 0.7 + 0.01)
    assert result.instance_s == result.duration_s


def test_the_time_of_a_variant_that_sleeps_ends_with_its_sleep() -> None:
    result = simulate(every(2.0, "aaaa"), SMALL, instances_min=0, idle_s=150.0)
    assert result.duration_s == pytest.approx(6.01 + 150.0, abs=1.5)
    assert result.instance_s == pytest.approx(result.duration_s)
    assert result.timeline["instances"].tolist() == [1, 1, 0]


@pytest.mark.parametrize("lasts_s", [3600.0, 86_400.0])
def test_the_quiet_around_a_trace_is_part_of_the_month_where_it_is_known(lasts_s: float) -> None:
    calls, asleep = every(2.0, "aaaa"), Scenario(instances_min=0, idle_s=150.0)
    known, until_the_last = replace(calls, lasts_s=lasts_s), simulate(calls, SMALL, asleep)
    result = simulate(known, SMALL, asleep)
    assert (result.duration_s, result.instance_s) == (lasts_s, until_the_last.instance_s)
    stored_usd = result.stored_bytes / 2**30 * 0.023
    month_usd = at_one_per_hour(until_the_last) * 730 * 3600 / lasts_s
    assert result.usd_per_month() == pytest.approx(month_usd + stored_usd)
    assert result.timeline["instances"].tolist()[:4] == [1, 1, 0, 0]
    always = simulate(known, SMALL, instances=2)
    assert (always.duration_s, always.instance_s) == (lasts_s, 2 * lasts_s)


def test_an_instance_started_before_an_expected_call_also_starts_in_the_quiet() -> None:
    """Twelve calls, an hour apart: it is awake once more for the thirteenth, which does not come."""
    calls = every(3600.0, "a" * 12)
    learned = Scenario(instances_min=0, idle_s=60.0, keep_alive="histogram")
    result = simulate(replace(calls, lasts_s=14 * 3600.0), SMALL, learned)
    assert result.instance_s > simulate(calls, SMALL, learned).instance_s + 60.0


def test_a_variant_that_sleeps_between_calls_is_awake_and_costs_less() -> None:
    trace = every(600.0, "ab" * 5)
    always = simulate(trace, SMALL)
    naps = [simulate(trace, SMALL, instances_min=0, idle_s=idle_s) for idle_s in (60.0, 200.0, 400.0)]
    awake_s = [one.instance_s for one in (*naps, always)]
    assert awake_s == sorted(awake_s)
    assert [one.wakes for one in naps] == [10, 10, 10]
    assert naps[0].instance_s == pytest.approx(10 * 61, rel=0.03)
    for one in naps:
        assert held_usd(one) == pytest.approx(at_one_per_hour(one))
        assert not one.cost().sold_by_aws


def test_a_month_is_more_of_the_same_at_any_length_and_price() -> None:
    result = simulate(every(1.0, "ab" * 100), SMALL, instances_min=0, idle_s=30.0)
    once, usd = result.usd_per_month(), result.cost().usd
    assert once is not None and usd is not None  # noqa: PT018
    once_only_usd = result.cost().bill.usd_of(S3_GETS)  # the first download of each model
    assert once == pytest.approx((usd - once_only_usd) * 730 * 3600 / result.duration_s)
    assert result.usd_per_month(hours=365) == pytest.approx(once / 2)
    a_dollar = {"ml.m5.large": replace(PRICES.quotes["ml.m5.large"], usd=1.0)}
    assert result.cost(replace(PRICES, quotes=a_dollar)).usd == pytest.approx(result.instance_s / 3600)


def test_a_price_that_is_not_known_is_no_cost_of_zero() -> None:
    result = simulate(every(1.0, "ab"), SMALL, Scenario("ml.m6g.large"))
    assert (result.cost().usd, result.usd_per_month(), result.summary()["usd"]) == (None, None, None)


def test_no_time_at_all_has_no_month() -> None:
    instant = {"a": ModelProfile("a", MIB, MIB, 0.0, 0.0, 0.0, 0.0, 0.0)}
    result = simulate(recorded([(7.0, "a")]), instant, wake_s=0.0)
    assert (result.duration_s, result.usd_per_month()) == (0.0, None)


def test_a_model_larger_than_the_instance_fails_and_is_late_but_not_cold() -> None:
    sizes = {**SMALL, "f": ModelProfile("f", 10**12, MIB)}
    result = simulate(every(5.0, "aabbff"), sizes)
    assert (result.requests, result.warm, result.cold, result.failed) == (6, 2, 2, 2)
    assert result.hit_ratio == pytest.approx(1 / 3)
    assert result.slo_misses(100.0) == pytest.approx(1 / 3)
    assert {use.model: (use.cold, use.failed) for use in result.models} == {"a": (1, 0), "b": (1, 0), "f": (0, 2)}


def test_a_result_without_answers_says_so_and_draws_no_latencies() -> None:
    result = simulate(every(5.0, "ff"), {"f": ModelProfile("f", 10**12, MIB)})
    assert "2 requests, 2 of them failed" in result.note
    assert result.plot_time() is not None
    with pytest.raises(BadScenario, match="none of 2 requests was answered, so there is no latency to draw"):
        result.plot_latency()


def test_a_single_request_that_took_no_time_is_drawn() -> None:
    instant = {"a": ModelProfile("a", MIB, MIB, 0.0, 0.0, 0.0, 0.0, 0.0)}
    result = simulate(recorded([(7.0, "a")]), instant, wake_s=0.0)
    assert len(result.plot_time().axes) == 4
    assert len(result.plot_latency(slo_s=0.1).axes) == 1


@pytest.mark.parametrize("slo_s", [float("nan"), "0.1", None])
def test_an_slo_that_is_none_is_refused(slo_s: Any) -> None:
    result = simulate(every(5.0, "aab"), SMALL)
    with pytest.raises(BadScenario, match="slo_s is a "):
        result.slo_misses(slo_s)
    with pytest.raises(ValueError, match=r"a quantile is a number, not '0\.5'"):
        result.latencies.quantile("0.5")  # type: ignore[arg-type]  # that is the point


def test_the_longer_the_slo_the_fewer_miss_it() -> None:
    result = simulate(zipf(40, 0.8, 5.0, 200.0, seed=2), memory_bytes=2000 * 1000**2)
    misses = [result.slo_misses(slo_s) for slo_s in np.geomspace(1e-4, 100, 60).tolist()]
    assert misses == sorted(misses, reverse=True)
    assert (misses[0], misses[-1]) == (1.0, 0.0)
    assert result.slo_misses(result.p99_s) <= 0.01


def test_each_frame_has_a_row_for_each_of_its_subjects() -> None:
    result = simulate(every(1.0, "abcaba" * 30), SMALL)
    assert result.frame().loc[0, "scenario"] == "1 x ml.m5.large, LRU"
    assert result.timeline_frame()["requests"].sum() == 180
    assert result.models_frame()[["model", "requests"]].to_numpy().tolist() == [["a", 90], ["b", 60], ["c", 30]]


def test_a_result_is_shown_in_some_lines_however_many_models_and_steps_it_has() -> None:
    shown = repr(simulate(zipf(models=300, rate_hz=1.0, duration_s=3600.0), seed=1))
    assert len(shown) < 2_000
    assert "ml.m5.large" in shown
    assert "warm_latencies=Latencies(count=" in shown
