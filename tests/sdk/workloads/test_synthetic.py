"""Synthetic traffic follows its distributions, and is the same each time."""

from collections import deque
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from tests.helpers.memory import peak_bytes
from torpor.workloads import (
    BURSTY,
    DAILY,
    POISSON,
    SESSIONS,
    TIMER,
    BadTrace,
    Gamma,
    Gaps,
    Rhythm,
    Sessions,
    Synthetic,
    Trace,
    calibrated,
    drawn,
    zipf,
)

DAY_S = 86_400.0


def columns(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    chunks = list(trace.chunks())
    return np.concatenate([one.times_s for one in chunks]), np.concatenate([one.models for one in chunks])


def digest(trace: Trace) -> str:
    return sha256(b"".join(column.tobytes() for column in columns(trace))).hexdigest()


@pytest.mark.parametrize(
    "make", [lambda seed: zipf(50, seed=seed, duration_s=900), lambda seed: calibrated(50, duration_s=900, seed=seed)]
)
def test_a_seed_gives_the_same_trace_and_stands_in_its_repr(make: Callable[[int], Synthetic]) -> None:
    trace = make(7)
    assert digest(trace) == digest(trace) == digest(make(7)) != digest(make(8))
    assert "seed=7" in repr(trace)


@settings(max_examples=tries(8), deadline=None)
@given(
    gaps=st.sampled_from([TIMER, POISSON, BURSTY, SESSIONS]),
    rhythm=st.sampled_from([Rhythm(sharpness=0), DAILY]),
    models=st.integers(1, 30),
    rate_hz=st.floats(0.05, 500),
    seed=st.integers(0, 99),
)
def test_times_ascend_within_the_duration(gaps: Gaps, rhythm: Rhythm, models: int, rate_hz: float, seed: int) -> None:
    trace = zipf(models, 1.0, rate_hz, duration_s=2_000 / rate_hz, seed=seed, gaps=gaps, rhythm=rhythm, constant=1.0)
    times_s, ids = columns(trace)
    assert (np.diff(times_s) >= 0).all()
    assert times_s[0] >= 0
    assert times_s[-1] < trace.duration_s
    assert set(ids.tolist()) <= set(range(models))


def test_popularity_is_zipfs_and_the_rate_is_as_asked() -> None:
    times_s, ids = columns(zipf(100, 1.2, rate_hz=200, duration_s=1_000, seed=3))
    shares = np.bincount(ids, minlength=100) / len(ids)
    asked = np.arange(1, 101) ** -1.2
    assert len(times_s) == pytest.approx(200_000, rel=0.01)
    assert np.abs(shares - asked / asked.sum()).max() < 0.005


@pytest.mark.parametrize("gaps", [TIMER, POISSON, BURSTY, SESSIONS, Sessions(3, 5.0)])
def test_rates_hold_for_rare_models_from_the_first_moment(gaps: Gaps) -> None:
    # Each is called 0.3 times in this trace: a start that is not the law's own would show.
    times_s, _ = columns(zipf(100_000, 0.0, rate_hz=30.0, duration_s=1_000, seed=5, gaps=gaps))
    assert len(times_s) == pytest.approx(30_000, rel=0.06)
    assert (times_s < 500).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("cv", [0.2, 1.0, 4.0])
def test_gaps_have_the_variation_that_was_asked_for(cv: float) -> None:
    times_s, _ = columns(zipf(1, rate_hz=10, duration_s=20_000, seed=1, gaps=Gamma(cv)))
    gaps_s = np.diff(times_s)
    assert gaps_s.std() / gaps_s.mean() == pytest.approx(cv, rel=0.05)


def test_sessions_are_calls_close_together_and_long_rests() -> None:
    times_s, _ = columns(zipf(1, rate_hz=1 / 600, duration_s=6_000_000, seed=1, gaps=Sessions(calls=5, gap_s=10)))
    gaps_s = np.diff(times_s)
    assert gaps_s.mean() == pytest.approx(600, rel=0.1)
    assert (gaps_s < 100).mean() == pytest.approx(0.8 + 0.2 * 100 / 2_960, abs=0.02)


@pytest.mark.thorough
def test_half_of_the_load_constant_puts_the_peak_at_twice_the_mean() -> None:
    trace = zipf(10, rate_hz=5.0, duration_s=7 * DAY_S, seed=2, rhythm=Rhythm(weekend=1.0), constant=0.5)
    by_hour = np.bincount((columns(trace)[0] % DAY_S // 3600).astype(int), minlength=24)
    assert int(by_hour.argmax()) in (13, 14)
    assert by_hour.max() / by_hour.mean() == pytest.approx(2.0, abs=0.06)


def test_a_rhythm_turns_even_time_into_the_clocks_and_back() -> None:
    moments_s = np.linspace(0, 20 * DAY_S, 1_001)
    even_s = np.array([DAILY.even_s(moment_s, 0.25) for moment_s in moments_s.tolist()])
    assert np.allclose(DAILY.clock_s(even_s, 0.25), moments_s)


def test_calibrated_rates_are_azures() -> None:
    trace = calibrated(20_000, seed=1)
    per_day = np.concatenate([group.rates_hz for group in trace.groups]) * DAY_S
    assert (per_day <= 24).mean() == pytest.approx(0.45, abs=0.015)
    assert (per_day <= 1440).mean() == pytest.approx(0.81, abs=0.015)
    assert per_day[per_day > 1440].sum() / per_day.sum() == pytest.approx(0.996, abs=0.003)


def test_calibrated_traffic_has_the_rate_that_was_asked_for() -> None:
    times_s, _ = columns(calibrated(1_000, duration_s=7 * DAY_S, seed=4, rate_hz=0.5))
    assert len(times_s) == pytest.approx(0.5 * 7 * DAY_S, rel=0.1)


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_length() -> None:
    def peak(duration_s: float) -> int:
        trace = zipf(100, rate_hz=2_000, duration_s=duration_s)
        return peak_bytes(lambda: deque(trace.chunks(), maxlen=0))

    assert peak(1_000) < 1.3 * peak(200)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"models": 0}, "models is 1 or more, not 0"),
        ({"rate_hz": 0.0}, "rate_hz is more than 0"),
        ({"rate_hz": float("nan")}, "rate_hz is more than 0, not nan"),
        ({"duration_s": -1.0}, "duration_s is more than 0"),
        ({"models": 2.5}, r"models is a whole number, not 2\.5"),
        ({"rate_hz": "20"}, "rate_hz is a number, not '20'"),
        ({"s": float("inf")}, "s is from -20 to 20, not inf"),
        ({"seed": None}, "seed is a whole number, not None"),
        ({"constant": 7}, "constant is from 0 to 1, not 7"),
        ({"gaps": "bursty"}, "gaps is one of workloads.POISSON, .*, not 'bursty'"),
        ({"rhythm": "daily"}, "rhythm is workloads.EVEN or DAILY, not 'daily'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadTrace, match=complaint):
        zipf(**options)


def test_a_trace_without_requests_is_refused() -> None:
    with pytest.raises(BadTrace, match="has no requests"):
        list(zipf(1, rate_hz=1e-9, duration_s=1.0).chunks())


def test_profiles_follow_their_laws_and_their_seed() -> None:
    names = [f"m{number}" for number in range(5_000)]
    profiles = drawn(names, seed=3)
    sizes_bytes = np.array([one.memory_bytes for one in profiles.values()])
    assert list(profiles) == names
    assert profiles == drawn(names, seed=3) != drawn(names, seed=4)
    assert np.median(sizes_bytes) == pytest.approx(64e6, rel=0.06)
    assert sizes_bytes.max() <= 4_000_000_000
    assert min(one.load_s for one in profiles.values()) > 0
