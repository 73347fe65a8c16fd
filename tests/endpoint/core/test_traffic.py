"""The router's view of calls: the gaps between uses, and the time since the last call."""

import pytest

from torpor_endpoint.core.traffic import Traffic, shadow_share


def test_a_gap_is_from_the_end_of_one_use_to_the_next() -> None:
    traffic = Traffic()
    traffic.came(10.0)
    traffic.came(11.0)
    traffic.went(12.0)
    traffic.went(15.0)
    traffic.came(35.0)
    assert list(traffic.gaps) == [20.0]


def test_idle_time_without_any_call_counts_from_the_first_look() -> None:
    traffic = Traffic()
    assert traffic.idle_s(100.0) == 0.0
    assert traffic.idle_s(160.0) == 60.0


def test_having_waited_for_the_first_call_is_no_gap() -> None:
    traffic = Traffic()
    traffic.idle_s(100.0)
    traffic.came(1000.0)
    assert list(traffic.gaps) == []
    assert traffic.idle_s(1001.0) == 0.0


@pytest.mark.parametrize(
    ("weight", "production_weight", "expected"),
    [(1.0, 1.0, 1.0), (0.25, 1.0, 0.25), (1.0, 4.0, 0.25), (3.0, 1.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)],
)
def test_the_share_is_the_ratio_of_the_weights(weight: float, production_weight: float, expected: float) -> None:
    assert shadow_share(weight, production_weight) == expected
