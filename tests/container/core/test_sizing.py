"""Sizes are predicted from measured ones."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.sizing import ALIKE, LEARNING, MEASURED_EVERY, TRUSTED_AFTER, Prior, Sizing


def test_a_model_never_seen_is_predicted_by_its_format() -> None:
    sizing = Sizing({"xgboost": Prior(fixed_bytes=1000, ratio=3.0)})
    assert sizing.predict("a", "xgboost", 500) == 2500


def test_a_measured_model_is_predicted_by_its_measurement() -> None:
    sizing = Sizing({})
    sizing.measured("a", "onnx", 500, 12_345)
    assert sizing.predict("a", "onnx", 500) == 12_345


@given(st.floats(0.5, 20), st.integers(10_000, 10_000_000))
def test_predictions_come_closer_with_every_measurement(true_ratio: float, artifact_bytes: int) -> None:
    sizing = Sizing({"xgboost": Prior(0, 4.0)})
    true_bytes = int(true_ratio * artifact_bytes)
    errors = []
    for number in range(12):
        errors.append(abs(sizing.predict("unseen", "xgboost", artifact_bytes) - true_bytes))
        sizing.measured(str(number), "xgboost", artifact_bytes, true_bytes)
    assert all(later <= earlier + 1 for earlier, later in pairwise(errors))
    assert errors[-1] <= 0.05 * max(errors[0], true_bytes) + 1


def test_the_number_of_remembered_measurements_is_limited() -> None:
    sizing = Sizing({"onnx": Prior(0, 1.0)}, known_max=2)
    for name in "abc":
        sizing.measured(name, "onnx", 100, 700)
    assert sizing.predict("c", "onnx", 100) == 700
    assert sizing.predict("a", "onnx", 100) != 700


def test_a_model_is_measured_until_two_measurements_agree() -> None:
    sizing = Sizing({})
    seen = [sizing.to_be_measured("a", "onnx", 100)]
    for size_bytes in (900, 700, 710):
        sizing.measured("a", "onnx", 100, size_bytes)
        seen.append(sizing.to_be_measured("a", "onnx", 100))
    assert seen == [True, True, True, False]
    assert sizing.predict("a", "onnx", 100) == 710


def trusted(*artifact_bytes: int) -> Sizing:
    """As many models as are needed were as large as the rule says, and it knows of no other."""
    sizing = Sizing({"xgboost": Prior(0, 2.0)})
    for number in range(TRUSTED_AFTER):
        size = artifact_bytes[number % len(artifact_bytes)]
        assert sizing.to_be_measured(f"first-{number}", "xgboost", size)
        sizing.measured(f"first-{number}", "xgboost", size, 2 * size)
    return sizing


def asked(sizing: Sizing, artifact_bytes: int, times: int) -> list[bool]:
    return [sizing.to_be_measured(f"next-{number}", "xgboost", artifact_bytes) for number in range(times)]


@given(st.integers(1000, 2000))
def test_few_models_of_a_well_predicted_format_are_measured(artifact_bytes: int) -> None:
    assert (
        asked(trusted(1000, 2000), artifact_bytes, MEASURED_EVERY * 2) == ([False] * (MEASURED_EVERY - 1) + [True]) * 2
    )


def test_a_model_outside_the_range_of_measured_sizes_is_measured() -> None:
    sizing = trusted(1000, 2000)
    assert all(asked(sizing, 999, 20))
    assert all(asked(sizing, 2001, 20))
    assert all(sizing.to_be_measured(str(number), "onnx", 1500) for number in range(20))


@given(st.floats(0.1, 10.0))
def test_a_model_far_from_its_predicted_size_makes_all_models_measured_again(odd: float) -> None:
    sizing = trusted(1000)
    sizing.measured("odd", "xgboost", 1000, int(2000 * odd))
    again = asked(sizing, 1000, MEASURED_EVERY - 1)
    assert all(again) if abs(odd - 1.0) > 0.06 else not any(again) or abs(odd - 1.0) > 0.04


def test_the_rule_is_right_about_those_that_were_not_measured() -> None:
    sizing = trusted(1000, 3000)
    sizing.measured("a", "xgboost", 2000, 4150)
    assert abs(sizing.predict("b", "xgboost", 2000) - 4000) <= 0.05 * 4000


def test_a_model_of_a_format_without_figures_is_taken_for_four_times_its_artifact_and_a_quarter_mebibyte() -> None:
    assert Sizing({}).predict("a", "unheard of", 1000) == 4000 + 2**18


def test_a_measurement_moves_the_rule_by_a_part_of_what_it_was_wrong() -> None:
    """The fixed part is none of the artifact's, and no model is smaller than it."""
    assert 0.0 < LEARNING < 1.0
    for size_bytes, ratio in [(1000 + 500, 5.0), (1000, 0.0), (400, 0.0)]:
        sizing = Sizing({"xgboost": Prior(1000, 10.0)})
        sizing.measured("a", "xgboost", 100, size_bytes)
        assert sizing.predict("b", "xgboost", 10_000) == 1000 + int((10.0 + LEARNING * (ratio - 10.0)) * 10_000)


def test_an_artifact_of_a_byte_or_none_moves_the_rule_like_one_of_a_byte() -> None:
    predicted = []
    for artifact_bytes in (0, 1):
        sizing = Sizing({"xgboost": Prior(0, 1.0)})
        sizing.measured("a", "xgboost", artifact_bytes, 5)
        predicted.append(sizing.predict("b", "xgboost", 1000))
    assert predicted == [1000 + int(1000 * LEARNING * 4)] * 2


def test_as_many_measurements_are_remembered_as_are_allowed_and_those_of_the_last_loads() -> None:
    sizing = Sizing({"onnx": Prior(0, 1.0)}, known_max=2)
    for name in "abac":
        sizing.measured(name, "onnx", 100, 700)
    assert [sizing.predict(name, "onnx", 10**6) == 700 for name in "abc"] == [True, False, True]


def test_two_measurements_agree_that_differ_by_a_twentieth_of_the_larger_one() -> None:
    for first, second, settled in [(1000, 950, True), (950, 1000, True), (1000, 949, False), (949, 1000, False)]:
        sizing = Sizing({})
        for size_bytes in (first, second):
            sizing.measured("a", "onnx", 100, size_bytes)
        assert sizing.to_be_measured("a", "onnx", 100) is not settled
    assert ALIKE == 0.05


def test_one_measurement_settles_no_size() -> None:
    sizing = Sizing({})
    sizing.measured("a", "onnx", 100, 0)
    assert sizing.to_be_measured("a", "onnx", 100)
