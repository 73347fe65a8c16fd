"""A quickened forest, asked tree by tree, answers like the original to the bit, and refuses the same rows."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.helpers.example_counts import tries
from torpor_container.formats import Conventions
from torpor_container.formats.sklearn import estimators
from torpor_container.formats.sklearn.forests import quicken
from torpor_container.invocation import Invocation

COLUMNS, TREES = 4, 7
KINDS: dict[str, Callable[[], Any]] = {
    "regressor": lambda: RandomForestRegressor(TREES, random_state=1),
    "classifier": lambda: RandomForestClassifier(TREES, random_state=1),
    "extra regressor": lambda: ExtraTreesRegressor(TREES, random_state=1, criterion="absolute_error"),
    "extra classifier": lambda: ExtraTreesClassifier(TREES, random_state=1),
}
FITTED = [*((kind, outputs) for kind in KINDS for outputs in (1, 2)), ("classes by name", 1)]

wild = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.just(COLUMNS)), elements=st.floats(-1e30, 1e30) | st.sampled_from([0.5])
)


@cache
def fitted(kind: str, outputs: int) -> tuple[Any, Any]:
    """One as scikit-learn has it, and the same one, quickened."""
    random = np.random.default_rng(5)
    rows = random.normal(size=(90, COLUMNS))
    target: NDArray[Any] = (rows[:, :outputs] * 3).astype(int if "class" in kind else float)
    target = target[:, 0] if outputs == 1 else target
    if kind == "classes by name":
        kind, target = "classifier", np.where(target > 0, "dear", "cheap")
    forest = KINDS[kind]().fit(rows, target)
    quick = deepcopy(forest)
    quicken(quick)
    return forest, quick


def bytes_of(answer: Any) -> Any:
    return [one.tobytes() for one in answer] if isinstance(answer, list) else (answer.dtype, answer.tobytes())


@pytest.mark.parametrize(("kind", "outputs"), FITTED)
@settings(max_examples=tries(12))
@given(wild)
def test_the_answers_are_the_forests_own_to_the_bit(kind: str, outputs: int, rows: NDArray[np.float64]) -> None:
    forest, quick = fitted(kind, outputs)
    assert type(quick) is not type(forest)
    assert bytes_of(quick.predict(rows)) == bytes_of(forest.predict(rows))
    if hasattr(forest, "predict_proba"):
        assert bytes_of(quick.predict_proba(rows)) == bytes_of(forest.predict_proba(rows))


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [[1.0, np.inf, 3.0, 4.0]], [1.0], []], ids=str)
def test_a_quickened_forest_refuses_rows_in_the_same_words(rows: Any) -> None:
    texts = []
    for forest in fitted("regressor", 1):
        with pytest.raises(ValueError, match=r".") as refused:
            forest.predict(rows)
        texts.append(str(refused.value))
    assert texts[0] == texts[1]


def test_a_forest_that_was_never_fitted_raises_not_fitted() -> None:
    forest = RandomForestRegressor()
    quicken(forest)
    with pytest.raises(NotFittedError):
        forest.predict([[1.0]])


def test_forests_are_found_wherever_they_sit_and_no_job_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(5).normal(size=(60, COLUMNS))
    deep = VotingRegressor([("scaled", make_pipeline(StandardScaler(), RandomForestRegressor(TREES, random_state=1)))])
    expected = deep.fit(rows, rows[:, 0]).predict(rows)
    model = estimators.serve(deep, Conventions())
    monkeypatch.setattr("sklearn.ensemble._forest.Parallel", None)
    body = "\n".join(",".join(map(repr, row)) for row in rows.tolist()).encode()
    assert model.invoke(Invocation(body, "text/csv")).body == repr(expected.tolist()).encode()
    assert not model.foreign


def test_other_estimators_are_left_as_they_are() -> None:
    scaler = StandardScaler()
    quicken(scaler)
    assert type(scaler) is StandardScaler
