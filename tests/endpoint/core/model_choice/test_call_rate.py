"""How many calls a load would serve: those of about the last minute."""

from math import e

import pytest

from torpor_endpoint.core.model_choice.call_rate import WINDOW_S, CallRate


def test_each_call_counts_one_and_less_the_longer_ago_it_came() -> None:
    rate = CallRate()
    assert rate.called(1000.0) == 1.0
    assert rate.called(1000.0) == 2.0
    assert rate.called(1060.0) == pytest.approx(2 / e + 1)
    assert rate.called(1e6) == pytest.approx(1.0)


def test_a_steady_rate_is_about_the_calls_of_a_minute() -> None:
    rate = CallRate()
    for at in range(6000):
        found = rate.called(at / 10)
    assert found == pytest.approx(10 * WINDOW_S, rel=0.01)


def test_a_clock_that_goes_back_takes_no_call_away() -> None:
    rate = CallRate()
    assert [rate.called(at_s) for at_s in (100.0, 50.0, 50.0)] == [1.0, 2.0, 3.0]
