"""One pass gives the same hits as a replay through the live residency at each size of memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from tests.helpers.thorough_values import thorough
from torpor.hit_rates.curves import lru_curve, sampled_lru_curve
from torpor.hit_rates.distances import BLOCK_REQUESTS, Distances
from torpor.workloads import BadTrace, Recorded, Trace, drawn, recorded, requests, zipf
from torpor_container.core.eviction import LRU
from torpor_container.core.residency import HIT, Admit, Residency


def replayed_hits(trace: Trace, memory_bytes: dict[str, int], capacity_bytes: int) -> int:
    """One request after another through the residency that serves, which knows nothing of curves."""
    residency, hits = Residency(capacity_bytes, LRU(), loads_max=1), 0
    for time_s, model in requests(trace):
        if residency.request(model, time_s) is HIT:
            hits += 1
        else:
            plan = residency.admit(model, memory_bytes[model], time_s)
            if not isinstance(plan, Admit):
                residency.failed(model, plan.reason, time_s)
                continue
            for victim in plan.victims:
                residency.unloaded(victim, 0.0, time_s)
            residency.loaded(model, memory_bytes[model], 0.1, time_s)
        residency.released(model)
    return hits


def story(models: list[int]) -> Recorded:
    return recorded((float(second), str(model)) for second, model in enumerate(models))


SIZES = st.lists(st.integers(1, 30), min_size=12, max_size=12)


@settings(max_examples=tries(30), deadline=None)
@given(models=st.lists(st.integers(0, 11), min_size=1, max_size=200), sizes=SIZES)
def test_every_capacity_has_the_hits_of_a_replay(models: list[int], sizes: list[int]) -> None:
    trace = story(models)
    memory_bytes = {str(model): size for model, size in enumerate(sizes)}
    capacities = [1, 7, 15, 30, 31, 60, 100, sum(sizes)]
    curve = lru_curve(trace, memory_bytes, capacities)
    for capacity, hits in zip(curve.capacities_bytes.tolist(), curve.hits.tolist(), strict=True):
        assert hits == replayed_hits(trace, memory_bytes, capacity), f"at {capacity} bytes"


@pytest.mark.parametrize("unit", [*thorough(True), False])
def test_a_trace_of_many_blocks_has_the_hits_of_a_replay(unit: bool) -> None:
    trace = zipf(300, 0.9, rate_hz=1_000, duration_s=34, seed=6)
    memory_bytes = {name: 1 if unit else one.memory_bytes for name, one in drawn(trace.names, seed=6).items()}
    largest, whole = max(memory_bytes.values()), sum(memory_bytes.values())
    capacities = [max(1, largest // 3), max(largest, whole // 10), whole // 3]
    curve = lru_curve(trace, memory_bytes, capacities)
    assert curve.requests > 4 * BLOCK_REQUESTS
    assert curve.hits.tolist() == [replayed_hits(trace, memory_bytes, int(size)) for size in curve.capacities_bytes]


@settings(max_examples=tries(20), deadline=None)
@given(models=st.lists(st.integers(0, 9), min_size=1, max_size=120), cuts=st.lists(st.integers(0, 120), max_size=4))
def test_blocks_may_be_cut_anywhere(models: list[int], cuts: list[int]) -> None:
    ids, size_bytes = np.array(models, np.int32), np.arange(1, 11, dtype=np.int64)
    ends = sorted({*(cut for cut in cuts if cut < len(ids)), len(ids)})
    distances, parts = Distances(), []
    for begin, end in zip([0, *ends], ends, strict=False):
        others, own = distances.of(ids[begin:end], size_bytes)
        parts += (others + own).tolist()
    others, own = Distances().of(ids, size_bytes)
    assert sorted(parts) == sorted((others + own).tolist())


def test_a_curve_gives_the_memory_that_a_hit_ratio_needs() -> None:
    curve = lru_curve(story([0, 1, 0, 1, 2, 0, 0]), {"0": 10, "1": 10, "2": 10}, [10, 20, 30])
    assert curve.hits.tolist() == [1, 3, 4]
    assert curve.cold_starts.tolist() == [6, 4, 3]
    assert curve.capacity_bytes(0.4) == 20
    assert curve.capacity_bytes(0.9) is None


def test_capacities_go_from_the_largest_model_to_all_of_them() -> None:
    trace = zipf(50, rate_hz=100, duration_s=100)
    memory_bytes = {name: one.memory_bytes for name, one in drawn(trace.names).items()}
    curve = lru_curve(trace, memory_bytes)
    assert curve.capacities_bytes[0] == max(memory_bytes.values())
    assert curve.capacities_bytes[-1] == sum(memory_bytes.values())
    assert curve.cold_starts[-1] == len({request.model for request in requests(trace)})
    assert (np.diff(curve.hits) >= 0).all()


def test_a_sample_lies_near_the_exact_curve_and_its_error_says_how_near() -> None:
    trace = zipf(20_000, 0.8, rate_hz=1_000, duration_s=200, seed=2)
    memory_bytes = dict.fromkeys(trace.names, 1)
    capacities = [500, 1_000, 2_000, 5_000, 10_000, 20_000]
    exact = lru_curve(trace, memory_bytes, capacities)
    sampled = sampled_lru_curve(trace, memory_bytes, 0.1, capacities, seed=3)
    off = np.abs(sampled.hit_ratio - exact.hit_ratio)
    assert off.max() < 0.03
    assert (off <= 4 * sampled.error + 0.002).all()
    assert (exact.error == 0).all()
    assert (sampled.error > 0).any()


def test_a_sample_of_everything_is_exact() -> None:
    trace, memory_bytes = story([0, 1, 2, 0, 1, 2, 0]), {"0": 3, "1": 4, "2": 5}
    whole = sampled_lru_curve(trace, memory_bytes, 1.0, [5, 8, 12])
    assert whole.hits.tolist() == lru_curve(trace, memory_bytes, [5, 8, 12]).hits.tolist()
    assert whole.error.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("memory_bytes", "complaint"),
    [
        ({"0": 1}, "model '1' is called, and its size is not given"),
        ({"0": 1, "1": -5}, "model '1' has a size of -5 bytes"),
        ({}, "no model has a size"),
    ],
)
def test_impossible_sizes_are_refused(memory_bytes: dict[str, int], complaint: str) -> None:
    with pytest.raises(BadTrace, match=complaint):
        lru_curve(story([0, 1]), memory_bytes)


def test_a_curve_without_a_trace_a_capacity_or_a_valid_rate_is_refused() -> None:
    with pytest.raises(BadTrace, match="has no requests"):
        lru_curve(story([]), {"0": 1})
    with pytest.raises(ValueError, match="a curve needs capacities"):
        lru_curve(story([0]), {"0": 1}, [0])
    with pytest.raises(ValueError, match="a sampling rate"):
        sampled_lru_curve(story([0]), {"0": 1}, 1.5)
