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


def paces(*measured: tuple[float, float], pace: PredictionPace | None = None) -> list[bool]:
    """After each prediction, by its processor time and its wall time in milliseconds, whether the model is cheap."""
    pace, found = pace or PredictionPace(), []
    for cpu_ms, wall_ms in measured:
        pace.took(cpu_ms / 1000, wall_ms / 1000)
        found.append(pace.cheap)
    return found


def test_a_cheap_model_takes_less_than_a_millisecond_and_waits_less_than_ten() -> None:
    assert paces((0.9, 9.9)) == [True]
    assert paces((1.0, 1.0)) == [False]
    assert paces((0.9, 10.1)) == [False]


def test_the_usual_time_moves_by_a_fifth_with_each_prediction() -> None:
    assert paces((0.5, 0.5), (2.9, 2.9), (2.9, 2.9)) == [True, True, False]


def test_the_last_five_predictions_show_whether_a_model_waits() -> None:
    assert paces((0.5, 0.5), *[(0.5, 20.0)] * 5) == [True, True, True, True, True, False]


def test_a_trial_is_of_sixteen_predictions_of_at_most_fifty_milliseconds() -> None:
    for wall_ms, cheap in ((50.0, True), (50.1, False)):
        pace = PredictionPace()
        paces((1000.0, 1000.0), pace=pace)
        pace.held_up()
        assert paces(*[(0.5, wall_ms)] * 15, (0.5, 0.5), pace=pace) == [False] * 15 + [cheap]


def test_a_first_prediction_that_is_long_needs_no_trial() -> None:
    assert paces((0.5, 60.0), (0.5, 0.5)) == [False, True]
