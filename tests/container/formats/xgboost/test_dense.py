"""The direct path into XGBoost answers any rows as `Booster.predict` does, to the last bit."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from io import BytesIO
from math import inf, nan
from typing import Any

import numpy as np
import pytest
import xgboost
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.helpers.thorough_values import thorough
from torpor_container.content import Rows
from torpor_container.content.media import NPY
from torpor_container.formats import Conventions
from torpor_container.formats.xgboost import boosters, dense
from torpor_container.formats.xgboost.boosters import PIECE_ROWS
from torpor_container.invocation import Invocation
from torpor_container.processes.memory import allocated_bytes

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
    target = random.integers(0, KINDS.get(kind, {}).get("num_class", 2), 120)
    trained = xgboost.train({"nthread": 1, "seed": 7, **{**KINDS, **OTHERS}[kind]}, xgboost.DMatrix(values, target), 8)
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
def test_the_dense_predictor_answers_as_the_booster_to_the_last_bit(
    kind: str, rows: Rows, missing: float, end: int
) -> None:
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


def test_an_answer_is_not_overwritten_by_the_next_one() -> None:
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


def test_the_dense_predictor_refuses_rows_with_the_boosters_error() -> None:
    wide = np.zeros((1, COLUMNS + 1), np.float32)
    refused = pytest.raises(xgboost.core.XGBoostError, match="Number of columns in data must equal")
    with refused:
        booster("logistic").inplace_predict(wide, validate_features=False)
    with refused:
        dense.predictor(booster("logistic"), (0, 0), nan)(wide)


# -- many rows ---------------------------------------------------------------------------------------------------------
OTHERS: dict[str, dict[str, Any]] = {"linear": {"booster": "gblinear"}, "dart": {"booster": "dart", "rate_drop": 0.5}}


def many(count: int) -> Rows:
    return np.random.default_rng(5).normal(size=(count, COLUMNS)).astype(np.float32)


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
@pytest.mark.parametrize("count", [PIECE_ROWS, PIECE_ROWS + 1, 2 * PIECE_ROWS + 5])
def test_many_rows_are_answered_as_the_booster_answers_them_all_at_once(kind: str, count: int) -> None:
    model = boosters.serve(booster(kind), Conventions())
    assert outcome(lambda: model.predict(many(count))) == outcome(lambda: expected(kind, many(count), nan))


@pytest.mark.parametrize("count", [1, PIECE_ROWS, PIECE_ROWS + 1, 3 * PIECE_ROWS])
def test_no_more_rows_than_a_piece_has_are_predicted_at_once(count: int) -> None:
    counts: list[int] = []

    def predict(rows: Rows) -> Rows:
        counts.append(len(rows))
        return rows[:, 0]

    assert boosters.in_pieces(predict)(many(count)).tobytes() == many(count)[:, 0].tobytes()
    assert max(counts) <= PIECE_ROWS
    assert len(counts) == -(-count // PIECE_ROWS)


@pytest.mark.skipif(not allocated_bytes(), reason="the C library does not tell what malloc holds")
@pytest.mark.parametrize("kind", [*thorough("squared error", "linear"), "dart"])
def test_no_large_answer_stays_with_the_thread_that_predicted_once_the_model_is_closed(kind: str) -> None:
    """XGBoost lets go of it only where the booster is freed on that same thread."""
    held: list[int] = []
    for count in (1, 100_000):
        stream = BytesIO()
        np.save(stream, many(count))
        models = [boosters.serve(booster(kind).copy(), Conventions()) for _ in range(8)]
        for model in models:
            model.invoke(Invocation(stream.getvalue(), NPY, NPY))
            model.close()
        models.clear()
        del stream
        held.append(allocated_bytes())
    assert held[1] - held[0] < 8 * 4 * 100_000 / 2
