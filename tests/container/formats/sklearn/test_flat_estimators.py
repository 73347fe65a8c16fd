"""Estimators as flat trees: the same predictions, types and refusals as scikit-learn, and no scikit-learn to serve."""

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from tests.container.helpers.estimators_of_trees import CASES, COLUMNS, fitted, rows
from torpor_container.errors import BadInput
from torpor_container.formats import Conventions, pickled
from torpor_container.formats.format import Mapped, ServableModel
from torpor_container.formats.sklearn import estimators_to_trees, flat_estimators
from torpor_container.invocation import Invocation
from torpor_container.trees import sklearn_trees, walking
from torpor_container.trees.flat_trees import FlatTrees, NotFlat
from torpor_container.trees.sklearn_trees import EstimatorTrees

pytestmark = pytest.mark.skipif(walking.extension() is None, reason="no compiler built the extension")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """As in an instance: threads of OpenMP would wait for one another here."""
    with threadpool_limits(1, "openmp"):
        yield


NPY, NPZ, JSON, CSV = "application/x-npy", "application/x-npz", "application/json", "text/csv"


@cache
def file_of(name: str) -> bytes:
    return estimators_to_trees.converted(deepcopy(fitted(name)))


def opened(file: bytes) -> ServableModel:
    return flat_estimators.serve(file, Mapped("trees", len(file)), Conventions())


def served(name: str) -> tuple[ServableModel, ServableModel]:
    """By flat trees, and by scikit-learn."""
    return opened(file_of(name)), pickled.adopt(deepcopy(fitted(name)), Conventions())


def outcome(model: ServableModel, body: bytes, content_type: str = CSV, accept: str = JSON) -> Any:
    try:
        return model.invoke(Invocation(body, content_type, accept))
    except BadInput as error:
        return str(error)


def npy(array: Any) -> bytes:
    body = BytesIO()
    np.save(body, array)
    return body.getvalue()


def takes_missing(name: str) -> bool:
    return "missing" in name or "histograms" in name


@pytest.mark.parametrize("name", CASES)
def test_predictions_are_those_of_scikit_learn_to_the_bit(name: str) -> None:
    by_trees, by_library = served(name)
    cells = rows(takes_missing(name), count=2_000, seed=9)
    for accept in (JSON, CSV) if np.asarray(fitted(name).predict(np.zeros((1, COLUMNS)))).dtype == object else (NPY,):
        answers = [outcome(model, npy(cells), NPY, accept) for model in (by_trees, by_library)]
        assert answers[0] == answers[1]
        assert answers[0].status == 200


@pytest.mark.filterwarnings("ignore:overflow encountered in cast", "ignore:invalid value encountered in reduce")
@pytest.mark.parametrize("name", CASES)
def test_rows_are_refused_as_scikit_learn_refuses_them(name: str) -> None:
    by_trees, by_library = served(name)
    for cells in ("nan,1,1,1,1", "1,inf,1,1,1", "1,1,1,-inf,nan", "nan,1,inf,1,1", "1e39,1,1,1,1", "1,1,1", "1,,1,1,1"):
        body = f"1,2,3,4,5\n{cells}" if cells != "1,1,1" else cells
        assert outcome(by_trees, body.encode()) == outcome(by_library, body.encode()), cells


@pytest.mark.parametrize("name", ["forest, missing", "forest of classes", "boosted", "by histograms, two classes"])
def test_a_sparse_matrix_answers_as_with_scikit_learn(name: str) -> None:
    by_trees, by_library = served(name)
    cells = rows(missing=False, count=300)
    cells[np.random.default_rng(4).random(cells.shape) < 0.5] = 0.0
    for holding in (cells, np.where(cells > 2, np.nan, cells)):
        body = BytesIO()
        scipy.sparse.save_npz(body, scipy.sparse.csr_matrix(holding))
        sent = (body.getvalue(), NPZ, JSON)
        assert outcome(by_trees, *sent) == outcome(by_library, *sent)


def test_columns_go_by_the_names_it_was_fitted_with() -> None:
    frame = pd.DataFrame(rows(missing=False), columns=list("abcde"))
    forest = RandomForestRegressor(3, random_state=1).fit(frame, frame["a"] * 2)
    model = opened(estimators_to_trees.converted(deepcopy(forest)))
    row = dict(zip("edcba", [5, 4, 3, 2, 1], strict=True))
    answer = json.loads(outcome(model, json.dumps([row]).encode(), JSON).body)
    assert answer == forest.predict(pd.DataFrame([row])[list("abcde")]).tolist()
    other = json.dumps([{("f" if name == "a" else name): cell for name, cell in row.items()}])
    assert "unknown: f; missing: a" in outcome(model, other.encode(), JSON)


def test_the_note_says_how_it_was_proved() -> None:
    assert opened(file_of("forest")).note.startswith("flat trees answer, equal to scikit-learn ")  # type: ignore[attr-defined]
    assert "to the bit on" in opened(file_of("forest")).note  # type: ignore[attr-defined]


class Own(RandomForestRegressor):  # type: ignore[misc]
    """It might predict otherwise."""


NUMBERS = rows(missing=False)
TARGET = NUMBERS[:, 0]
NOT_FLAT = {
    "do not know the estimator LinearRegression": LinearRegression(),
    "do not know the estimator Pipeline": make_pipeline(StandardScaler(), RandomForestRegressor(2)),
    "do not know the estimator Own": Own(2),
    "do not know the estimator IsolationForest": IsolationForest(n_estimators=2),
    r"are those of another estimator \(init\)": GradientBoostingRegressor(init=LinearRegression(), n_estimators=2),
    "some of its columns are categories": HistGradientBoostingRegressor(categorical_features=[4], max_iter=2),
}


@pytest.mark.parametrize("reason", NOT_FLAT)
def test_what_is_no_flat_tree_says_why(reason: str) -> None:
    with pytest.raises(NotFlat, match=reason):
        estimators_to_trees.converted(deepcopy(NOT_FLAT[reason]).fit(NUMBERS, TARGET))


def test_trees_that_answer_otherwise_stay_with_scikit_learn() -> None:
    """The proof meets every leaf: one that differs by two units is found."""
    forest = deepcopy(fitted("tree"))
    found = sklearn_trees.flat(forest)
    leaves = np.flatnonzero(found.trees.nodes["left"] == 0)
    nodes = found.trees.nodes.copy()
    nodes["value"][leaves[-1]] *= 1 + 2**-51
    changed = EstimatorTrees(FlatTrees(nodes, found.trees.roots, found.trees.groups, found.trees.base, COLUMNS))
    with pytest.raises(NotFlat, match="answered otherwise than scikit-learn"):
        estimators_to_trees._prove(forest, changed, estimators_to_trees._facts(forest, changed))


def test_it_is_served_without_scikit_learn(tmp_path: Path) -> None:
    (tmp_path / "trees").write_bytes(file_of("boosted, classes"))
    program = f"""
import sys
for module in ("sklearn", "joblib", "scipy", "xgboost"):
    sys.modules[module] = None
from pathlib import Path
from torpor_container.formats.format import Conventions, Mapped
from torpor_container.formats.sklearn import flat_estimators
from torpor_container.invocation import Invocation
file = Path({str(tmp_path)!r}, "trees").read_bytes()
model = flat_estimators.serve(file, Mapped("trees", len(file)), Conventions())
print(model.invoke(Invocation(b"0.5,2,1,1,1", "text/csv", "application/json")).body.decode())
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert json.loads(ran.stdout) == fitted("boosted, classes").predict([[0.5, 2, 1, 1, 1]]).tolist()


def test_the_file_is_smaller_than_the_pickle() -> None:
    for name in ("forest", "forest of classes", "by histograms"):
        assert len(file_of(name)) < len(pickle.dumps(fitted(name)))
