"""Batches: a caller gets the same bytes as alone, and a bad body harms no other call."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from tests.helpers.example_counts import tries
from torpor_container.content import Rows
from torpor_container.errors import BadInput, ContainerError, UnsupportedContentType
from torpor_container.formats import Conventions, pickled
from torpor_container.formats.format import ServableModel
from torpor_container.invocation import Invocation, Reply

COLUMNS = 4
TOGETHER = {
    "xgboost": lambda: booster(),
    "xgboost, dart": lambda: booster(booster="dart", rate_drop=0.5),
    "xgboost, linear": lambda: booster(booster="gblinear"),
    "xgboost, classes": lambda: booster(objective="multi:softprob", num_class=3),
    "tree": lambda: DecisionTreeRegressor(random_state=1),
    "forest": lambda: RandomForestRegressor(9, random_state=1),
    "forest of classes": lambda: RandomForestClassifier(9, random_state=1),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=9, random_state=1),
    "boosting by histograms": lambda: HistGradientBoostingRegressor(max_iter=9, random_state=1),
}
ALONE = {"linear": LinearRegression, "stacked": lambda: StackingRegressor([("tree", DecisionTreeRegressor())])}

bodies = st.lists(
    arrays.arrays(np.float32, st.tuples(st.integers(1, 3), st.just(COLUMNS)), elements=st.floats(-9, 9, width=32)),
    min_size=2,
    max_size=6,
)


def rows() -> tuple[Rows, Rows]:
    random = np.random.default_rng(3)
    return random.normal(size=(90, COLUMNS)), random.integers(0, 3, 90).astype(np.float64)


def booster(**parameters: Any) -> Any:
    return xgboost.train({"nthread": 1, "seed": 7, **parameters}, xgboost.DMatrix(*rows()), 9)


@cache
def model(kind: str) -> ServableModel:
    made = {**TOGETHER, **ALONE}[kind]()
    return pickled.adopt(made.fit(*rows()) if hasattr(made, "fit") else made, Conventions())


def csv(values: Rows) -> Invocation:
    lines = (",".join(map(repr, row)) for row in values.tolist())
    return Invocation("\n".join(lines).encode(), "text/csv", "application/json")


def alone(kind: str, invocation: Invocation) -> Reply | type[Exception]:
    try:
        return model(kind).invoke(invocation)
    except ContainerError as error:
        return type(error)


@pytest.mark.parametrize("kind", TOGETHER)
@given(values=bodies)
@settings(deadline=None, max_examples=tries(10))
def test_together_they_are_answered_as_alone_to_the_last_bit(kind: str, values: list[Rows]) -> None:
    calls = [csv(one) for one in values]
    assert model(kind).rowwise
    assert model(kind).invoke_together(calls) == [alone(kind, call) for call in calls]


@pytest.mark.parametrize("kind", ["xgboost", "forest"])
def test_a_bad_body_among_good_ones_has_its_own_error_and_the_others_their_answers(kind: str) -> None:
    good, other = rows()[0][:2], rows()[0][5:6]
    bad = [Invocation(b"a,b", "text/csv"), Invocation(b"1,2,3,4", "image/png"), csv(rows()[0][:1, :2])]
    outcomes = model(kind).invoke_together([csv(good), bad[0], csv(other), *bad[1:]])
    assert [outcomes[0], outcomes[2]] == [alone(kind, csv(good)), alone(kind, csv(other))]
    assert [type(outcomes[number]) for number in (1, 3, 4)] == [BadInput, UnsupportedContentType, BadInput]


@pytest.mark.parametrize("kind", ALONE)
def test_a_model_whose_rounding_depends_on_other_rows_is_predicted_alone(kind: str) -> None:
    assert not model(kind).rowwise
