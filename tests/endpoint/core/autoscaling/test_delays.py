"""The delays of AWS's automatic scaling, as its pages have them, and the factor that shortens them."""

import pytest

from torpor_endpoint.core.autoscaling.delays import Delay, TimeScale
from torpor_endpoint.core.autoscaling.tracking import BY_MINUTES, HIGH_RESOLUTION


def test_without_a_factor_the_delays_are_those_of_aws() -> None:
    assert {delay.name: TimeScale().of(delay) for delay in Delay} == {
        "LOOK": 10,
        "PERIOD": 60,
        "SHORT_PERIOD": 10,
        "LAG": 60,
        "RETRY": 60,
        "COOLDOWN": 300,
    }


def test_a_factor_shortens_all_of_them_but_looks_are_a_second_apart() -> None:
    assert (TimeScale(5).of(Delay.COOLDOWN), TimeScale(5).shortened(60.0)) == (60, 12)
    assert [TimeScale(factor).look_s for factor in (1, 5, 60)] == [10, 2, 1]


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_a_factor_is_greater_than_0(factor: float) -> None:
    with pytest.raises(ValueError, match="the time scale must be greater than 0"):
        TimeScale(factor)


def test_metrics_of_a_minute_scale_out_after_three_and_in_after_fifteen_and_finer_ones_in_as_long() -> None:
    assert (BY_MINUTES.period_s, BY_MINUTES.points_out, BY_MINUTES.points_in) == (60, 3, 15)
    assert (HIGH_RESOLUTION.period_s, HIGH_RESOLUTION.points_out, HIGH_RESOLUTION.points_in) == (10, 3, 90)
