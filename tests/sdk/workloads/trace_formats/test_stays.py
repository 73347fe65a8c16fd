"""The time of a warm request within its minute, as far as the loads of a ledger show it."""

import numpy as np
import pytest

from torpor.workloads.trace_formats.stays import KNOWN_WITHIN_S, ReportedLoad, Stays, WarmStretch

MINUTE = WarmStretch(3, 0.0, 60.0, seen=False)


def stays(*told: ReportedLoad) -> Stays:
    return Stays.of(told)


def placed(known: Stays, called: WarmStretch = MINUTE, model: str = "a") -> list[float]:
    moments_s = known.placed(np.random.default_rng(1), called, model)
    assert moments_s is not None
    return sorted(moments_s.tolist())


def test_a_warm_request_found_its_model_so_it_came_between_the_load_and_the_last_use() -> None:
    known = stays(ReportedLoad("i", "a", 10.0, 0.1, {}), ReportedLoad("i", "b", 30.0, 0.1, {"a": (5.0, 3)}))
    first, second, last = placed(known)
    assert 10.0 <= first <= second <= last == 25.0


def test_each_of_several_stays_in_a_minute_has_its_own_hits() -> None:
    known = stays(
        ReportedLoad("i", "a", 10.0, 0.1, {}),
        ReportedLoad("i", "b", 20.0, 0.1, {"a": (6.0, 1)}),
        ReportedLoad("i", "a", 40.0, 0.2, {}),
        ReportedLoad("i", "c", 50.0, 0.1, {"a": (7.0, 2)}),
    )
    first, second, last = placed(known)
    assert (first, last) == (14.0, 43.0)
    assert 40.0 <= second <= 43.0


def test_gaps_between_uses_are_shorter_than_the_idle_time_of_evicted_models() -> None:
    known = stays(ReportedLoad("i", "a", 0.0, 0.1, {}), ReportedLoad("i", "b", 59.0, 0.1, {"a": (6.0, 20)}))
    moments_s = placed(known, WarmStretch(20, 0.0, 60.0, seen=False))
    assert max(np.diff([0.0, *moments_s])) <= 0.6 * 6.0 + 1e-9


def test_the_first_and_the_last_of_a_minute_are_where_they_were_seen() -> None:
    known = stays(ReportedLoad("i", "a", 1.0, 0.1, {}))
    moments_s = placed(known, WarmStretch(5, 20.0, 30.0 + KNOWN_WITHIN_S, seen=True))
    assert moments_s[0] == pytest.approx(20.0, abs=KNOWN_WITHIN_S)
    assert moments_s[-1] == pytest.approx(30.0, abs=KNOWN_WITHIN_S)


def test_a_load_that_several_waited_for_is_one_stay() -> None:
    twice = [ReportedLoad("i", "a", 10.0 + late_s, 0.25, {}) for late_s in (0.0, 0.001)]
    assert len(stays(*twice).by_model["a"]) == 1


def test_a_model_whose_loads_are_unknown_is_not_placed() -> None:
    known = stays(ReportedLoad("i", "a", 10.0, 0.1, {}))
    assert known.placed(np.random.default_rng(1), MINUTE, "b") is None
    assert known.placed(np.random.default_rng(1), WarmStretch(3, 0.0, 5.0, seen=False), "a") is None, "not loaded yet"
