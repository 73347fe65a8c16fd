"""Sizes are predicted from what was measured."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.sizing import Prior, Sizing


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


def test_only_so_many_measurements_are_remembered() -> None:
    sizing = Sizing({"onnx": Prior(0, 1.0)}, known_max=2)
    for name in "abc":
        sizing.measured(name, "onnx", 100, 700)
    assert sizing.predict("c", "onnx", 100) == 700
    assert sizing.predict("a", "onnx", 100) != 700


def test_a_size_is_settled_once_two_measurements_agree() -> None:
    sizing = Sizing({})
    seen = [sizing.settled("a")]
    for size_bytes in (900, 700, 710):
        sizing.measured("a", "onnx", 100, size_bytes)
        seen.append(sizing.settled("a"))
    assert seen == [False, False, False, True]
    assert sizing.predict("a", "onnx", 100) == 710
