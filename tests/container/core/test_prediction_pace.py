"""A model that is quick in processor time and wall time is cheap, on a busy machine too; one that waits never is."""

import pytest

from torpor_container.core.prediction_pace import CHEAP_S, FEW, LONG_S, TRIAL, WAITS_S, PredictionPace

QUICK_S = CHEAP_S / 2


def test_a_quick_prediction_makes_a_model_cheap_and_a_costly_one_does_not() -> None:
    quick, costly = PredictionPace(), PredictionPace()
    assert not quick.cheap
    quick.took(QUICK_S, QUICK_S)
    costly.took(2 * CHEAP_S, 2 * CHEAP_S)
    assert quick.cheap
    assert not costly.cheap


def test_a_model_that_waits_each_time_is_not_cheap_however_little_it_computes() -> None:
    pace = PredictionPace()
    for _ in range(100):
        pace.took(QUICK_S, WAITS_S)
        assert not pace.cheap


def test_a_busy_machine_leaves_a_model_cheap_while_one_of_its_last_few_predictions_was_quick() -> None:
    pace = PredictionPace()
    pace.took(QUICK_S, QUICK_S)
    for _ in range(20):
        for _ in range(FEW - 1):
            pace.took(QUICK_S, 2 * LONG_S)
            assert pace.cheap
        pace.took(QUICK_S, QUICK_S)
    for _ in range(FEW):
        pace.took(QUICK_S, WAITS_S)
    assert not pace.cheap


@pytest.mark.parametrize("waits_after", [0, 1, TRIAL - 1])
def test_a_model_that_held_up_the_loop_is_cheap_again_after_many_quick_predictions(waits_after: int) -> None:
    pace = PredictionPace()
    pace.took(QUICK_S, QUICK_S)
    pace.held_up()
    assert not pace.cheap
    for wall_s in [QUICK_S] * waits_after + [2 * LONG_S] + [QUICK_S] * (TRIAL - 1):
        pace.took(QUICK_S, wall_s)
        assert not pace.cheap
    pace.took(QUICK_S, QUICK_S)
    assert pace.cheap


def test_earlier_predictions_of_a_model_no_longer_count_once_it_held_up_the_loop() -> None:
    pace = PredictionPace()
    pace.took(QUICK_S, QUICK_S)
    pace.held_up()
    for _ in range(2 * TRIAL):
        pace.took(QUICK_S, 2 * WAITS_S)
    assert not pace.cheap
