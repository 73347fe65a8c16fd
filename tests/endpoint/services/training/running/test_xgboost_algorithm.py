"""The failure reasons of the built-in XGBoost, which a person can act on."""

import numpy as np
import pytest
import xgboost

from torpor_endpoint.services.training.running.xgboost_algorithm import REASON_MAX, reason


def failed(labels: list[float], **parameters: object) -> Exception:
    with pytest.raises(xgboost.core.XGBoostError) as caught:
        xgboost.train(parameters, xgboost.DMatrix(np.zeros((len(labels), 2)), labels), 1)
    return caught.value


@pytest.mark.parametrize(
    ("labels", "parameters", "told"),
    [
        ([5.0, 7.0], {"objective": "binary:logistic", "base_score": 0.5}, "label must be in"),
        ([5.0, 7.0], {"objective": "multi:softmax", "num_class": 2}, "SoftmaxMultiClassObj: label must be discrete"),
        ([0.0, float("nan")], {}, "Label contains NaN"),
        ([0.0, 1.0], {"objective": "reg:nope"}, "Unknown objective function: `reg:nope`"),
        ([0.0, 1.0], {"eta": "x"}, "Invalid Parameter format for learning_rate"),
    ],
)
def test_xgboosts_own_sentence_is_left_and_nothing_of_cpp(
    labels: list[float], parameters: dict[str, object], told: str
) -> None:
    shown = reason(failed(labels, **parameters))
    assert shown.startswith(told)
    assert "Stack trace" not in shown
    assert len(shown) <= REASON_MAX


def test_a_plain_reason_is_kept_and_only_shortened() -> None:
    assert reason(ValueError("No data in the channel train")) == "No data in the channel train"
    assert reason(ValueError("x" * 600)) == "x" * (REASON_MAX - 1) + "…"
