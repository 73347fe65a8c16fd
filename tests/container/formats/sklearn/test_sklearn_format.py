"""scikit-learn models: columns by name, class names, foreign code, pickles and skops files that are refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from tests.container.helpers.format_models import Trained
from tests.container.helpers.served_models import CONVENTIONS, answer, backwards, load
from tests.helpers.counted_calls import calls_of
from torpor_container.errors import BadInput, LoadFailed, PredictionFailed
from torpor_container.formats.pickled import opened
from torpor_container.formats.sklearn.estimators import serve


def test_scikit_learn_refuses_nan_unless_the_estimator_takes_it(trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="NaN"):
        answer(serve(LinearRegression().fit(trained.rows, trained.target), CONVENTIONS), b"1,nan,3,4")
    tolerant = HistGradientBoostingRegressor(max_iter=2).fit(trained.rows, trained.target)
    assert answer(serve(tolerant, CONVENTIONS), b"1,nan,3,4") == tolerant.predict([[1, np.nan, 3, 4]]).tolist()


@pytest.mark.parametrize("estimator", [LinearRegression(), make_pipeline(StandardScaler(), LinearRegression())])
def test_an_estimator_that_was_never_fitted_is_the_models_fault(estimator: Any) -> None:
    with pytest.raises(PredictionFailed, match="not fitted yet"):
        answer(serve(estimator, CONVENTIONS), b"1,2,3,4")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("estimator", [LinearRegression(), make_pipeline(StandardScaler(), RandomForestRegressor(3))])
def test_scikit_learn_takes_columns_by_their_names(trained: Trained, estimator: Any) -> None:
    frame = pytest.importorskip("pandas").DataFrame(trained.rows.astype(float), columns=list("xyzw"))
    model = serve(estimator.fit(frame, trained.target), CONVENTIONS)
    for body in backwards(frame):
        np.testing.assert_allclose(answer(model, body, "application/json"), estimator.predict(frame), rtol=1e-12)
    with pytest.raises(BadInput, match="unknown: v; missing: w, y, z"):
        answer(model, b'{"columns": {"x": [1], "v": [2]}}', "application/json")


def test_an_object_that_cannot_be_held_weakly_has_no_names() -> None:
    class Slim:
        __slots__ = ()
        feature_names_in_ = ("x", "y")

        def predict(self, rows: Any) -> Any:
            return rows[:, 0]

    assert answer(serve(Slim(), CONVENTIONS), b'{"columns": {"y": [2], "x": [1]}}', "application/json") == [2.0]


def test_a_classifier_answers_its_class_names(trained: Trained) -> None:
    names = np.where(trained.target > 0, "dear", "cheap")
    classifier = LogisticRegression().fit(trained.rows, names)
    assert answer(serve(classifier, CONVENTIONS), b"9,9,9,9\n-9,-9,-9,-9") == ["dear", "cheap"]


def test_no_estimator_starts_a_pool_however_deep_it_sits(trained: Trained) -> None:
    voting = VotingRegressor([("forest", RandomForestRegressor(3))]).fit(trained.rows, trained.target)
    voting.n_jobs, voting.estimators_[0].n_jobs = 2, -1
    model = serve(voting, CONVENTIONS)
    assert model.native.n_jobs == model.native.estimators_[0].n_jobs == 1


@pytest.mark.parametrize(("function", "foreign"), [(np.log1p, False), (np.abs, False), (lambda rows: rows, True)])
def test_code_that_is_not_its_frameworks_is_seen_however_deep_it_sits(
    trained: Trained, function: Any, foreign: bool
) -> None:
    pipeline = make_pipeline(FunctionTransformer(function), StandardScaler(), RandomForestRegressor(3))
    model = serve(VotingRegressor([("all", pipeline)]).fit(np.abs(trained.rows), trained.target), CONVENTIONS)
    assert model.foreign is foreign


def test_foreign_code_is_found_in_an_array_of_objects_too(trained: Trained) -> None:
    """Gradient boosting keeps its trees in one."""
    regressor = GradientBoostingRegressor(n_estimators=3).fit(trained.rows, trained.target)
    assert not serve(regressor, CONVENTIONS).foreign
    regressor.estimators_[2, 0] = Unknown().fit(trained.rows, trained.target)
    assert serve(regressor, CONVENTIONS).foreign


def test_an_unknown_type_counts_as_foreign_code(trained: Trained) -> None:
    assert serve(Unknown().fit(trained.rows, trained.target), CONVENTIONS).foreign


class Unknown(LinearRegression):  # type: ignore[misc]  # scikit-learn ships no types
    """A type that skops has never heard of."""


def test_skops_loads_no_type_that_it_does_not_trust(trained: Trained, tmp_path: Path) -> None:
    import skops.io

    skops.io.dump(Unknown().fit(trained.rows, trained.target), tmp_path / "model.skops")
    with pytest.raises(LoadFailed, match=r"does not trust: .*Unknown"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("payload", "said"),
    [(pickle.dumps({"a": 1}), "dict has no predict"), (b"cno_such_module\nThing\n.", "no_such_module"), (b"", "EOF")],
)
def test_a_pickle_that_is_no_model_is_refused_with_the_reason(tmp_path: Path, payload: bytes, said: str) -> None:
    (tmp_path / "model.pkl").write_bytes(payload)
    with pytest.raises(LoadFailed, match=said):
        load(tmp_path)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (b"__main__ Mine", r"it needs Mine of the program that wrote it \(__main__\): move Mine to a module"),
        (b"no_such_package Thing", "No module named 'no_such_package': install it beside Torpor, or pack code/"),
        (b"sklearn.no_such_part Thing", "another version of sklearn wrote it"),
        (b"code.features Thing", "'code' is not a package: install it beside Torpor, or pack code/"),
        (b"sklearn.base Mine", "unpickled: AttributeError: .*'Mine'"),
    ],
)
@pytest.mark.parametrize("ends", [b"", b"X" + (12).to_bytes(4, "little") + b"ArrayWrapper0"], ids=["plain", "joblib"])
def test_a_pickle_whose_code_is_not_here_says_what_to_do(tmp_path: Path, named: bytes, said: str, ends: bytes) -> None:
    (tmp_path / "model.pkl").write_bytes(b"\x80\x02" + ends + b"c" + named.replace(b" ", b"\n") + b"\n.")
    with pytest.raises(LoadFailed, match=said):
        opened(tmp_path / "model.pkl", CONVENTIONS)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_python_interprets_no_instruction_of_a_plain_pickle(trained: Trained, tmp_path: Path, protocol: int) -> None:
    path, calls = tmp_path / "m.pkl", []
    for trees in (5, 10):
        forest = RandomForestRegressor(trees, n_jobs=1).fit(trained.rows, trained.target)
        path.write_bytes(pickle.dumps(forest, protocol))
        assert np.array_equal(opened(path, CONVENTIONS).predict(trained.rows), forest.predict(trained.rows))
        calls.append(calls_of(lambda: opened(path, CONVENTIONS)))
    assert calls[1] - calls[0] < 5 * 60, "each tree has about 150 instructions"


def test_a_pickle_of_python_2_is_read(tmp_path: Path) -> None:
    """Its texts are bytes, which hold an array's numbers."""
    text = b"\x80\x02U\x02\xe5\xff."
    (tmp_path / "m.pkl").write_bytes(text)
    assert opened(tmp_path / "m.pkl", CONVENTIONS) == "\xe5\xff"
