"""Whatever the rows, the short way into XGBoost answers what `Booster.predict` does, to the last bit."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import inf, nan
from typing import Any

import numpy as np
import pytest
import xgboost
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from torpor_container.content import Rows
from torpor_container.formats import dense

COLUMNS = 4
KINDS: dict[str, dict[str, Any]] = {
    "squared error": {"objective": "reg:squarederror"},
    "logistic": {"objective": "binary:logistic"},
    "probabilities": {"objective": "multi:softprob", "num_class": 3},
    "classes": {"objective": "multi:softmax", "num_class": 3},
    "poisson": {"objective": "count:poisson"},
    "forests": {"objective": "reg:absoluteerror", "num_parallel_tree": 3, "subsample": 0.5},
}
MISSING = [nan, 0.0, -999.0, inf]
shapes = st.tuples(st.integers(1, 5), st.just(COLUMNS))
finite = arrays.arrays(np.float32, shapes, elements=st.floats(width=32, allow_infinity=False))
infinite = arrays.arrays(np.float32, shapes, elements=st.sampled_from([1.0, nan, inf, -inf]))


@cache
def booster(kind: str) -> Any:
    random = np.random.default_rng(7)
    values = random.normal(size=(120, COLUMNS))
    target = random.integers(0, KINDS[kind].get("num_class", 2), 120)
    trained = xgboost.train({"nthread": 1, "seed": 7, **KINDS[kind]}, xgboost.DMatrix(values, target), 8)
    trained.set_param({"nthread": 1, "device": "cpu"})
    return trained


def expected(kind: str, rows: Rows, missing: float, iterations: tuple[int, int] = (0, 0)) -> Rows:
    matrix = xgboost.DMatrix(rows, missing=missing, nthread=1)
    return np.asarray(booster(kind).predict(matrix, iteration_range=iterations))


@given(
    kind=st.sampled_from(sorted(KINDS)),
    rows=finite | infinite,
    missing=st.sampled_from(MISSING),
    end=st.integers(0, 8),
)
@example(kind="logistic", rows=np.full((1, COLUMNS), -inf, np.float32), missing=nan, end=0)
@settings(deadline=None)
def test_it_answers_as_the_booster_does_to_the_last_bit(kind: str, rows: Rows, missing: float, end: int) -> None:
    answered = outcome(lambda: dense.predictor(booster(kind), (0, end), missing)(rows))
    assert answered == outcome(lambda: expected(kind, rows, missing, (0, end)))


def outcome(predict: Callable[[], Any]) -> tuple[tuple[int, ...], bytes] | str:
    """The answer's shape and bytes, or why there is none: XGBoost's words, which stand behind the name of its check."""
    try:
        answered = predict()
    except xgboost.core.XGBoostError as error:
        return str(error).splitlines()[0].rpartition(": ")[2]
    return answered.shape, answered.tobytes()


def test_a_number_that_is_too_large_is_refused() -> None:
    with pytest.raises(xgboost.core.XGBoostError, match="a value too large"), np.errstate(over="ignore"):
        dense.predictor(booster("logistic"), (0, 0), nan)(np.full((1, COLUMNS), 1e39))


@pytest.mark.parametrize("count", [6, 2000])
def test_rows_may_lie_in_memory_in_any_order_and_be_of_any_type(count: int) -> None:
    wide = np.random.default_rng(2).normal(size=(COLUMNS, count))
    answered = dense.predictor(booster("probabilities"), (0, 0), nan)(wide.T)
    assert answered.tobytes() == expected("probabilities", wide.T.astype(np.float32), nan).tobytes()


def test_an_answer_stays_as_it_is_when_the_next_one_comes() -> None:
    predict = dense.predictor(booster("squared error"), (0, 0), nan)
    first = predict(np.zeros((1, COLUMNS), np.float32))
    before = first.tolist()
    assert predict(np.ones((1, COLUMNS), np.float32)).tolist() != before == first.tolist()


def test_threads_do_not_get_each_others_answers() -> None:
    predict = dense.predictor(booster("squared error"), (0, 0), nan)
    many = np.random.default_rng(1).normal(size=(300, 1, COLUMNS)).astype(np.float32)
    with ThreadPoolExecutor(4) as threads:
        answered = list(threads.map(predict, many))
    assert [answer.tobytes() for answer in answered] == [predict(one).tobytes() for one in many]


def test_what_the_booster_refuses_it_refuses_with_the_same_error() -> None:
    wide = np.zeros((1, COLUMNS + 1), np.float32)
    for predict in (
        lambda: booster("logistic").inplace_predict(wide, validate_features=False),
        lambda: dense.predictor(booster("logistic"), (0, 0), nan)(wide),
    ):
        with pytest.raises(xgboost.core.XGBoostError, match="Number of columns in data must equal"):
            predict()
