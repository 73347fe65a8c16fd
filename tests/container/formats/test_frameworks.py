"""A library is known by the modules of an object's classes, never by a class name alone."""

from typing import Any

import numpy as np
import pytest
import xgboost

from torpor_container.errors import LoadFailed
from torpor_container.formats import Conventions, pickled
from torpor_container.formats.script.model import _as_taken_by
from torpor_container.invocation import Invocation


def of(module: str, name: str, *bases: type, **members: Any) -> Any:
    """An object of a class of this name, as if the module were installed."""
    return type(name, bases, {"__module__": module, **members})()


def mean(self: Any, rows: Any) -> Any:
    assert type(rows) is np.ndarray, "it is no model of XGBoost, and takes arrays"
    return rows.mean(axis=1)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("lightgbm.basic", "Booster"),
        ("lightgbm.sklearn", "LGBMRegressor"),
        ("catboost.core", "CatBoost"),
        ("mine", "Booster"),
        ("xgboost_like.core", "Booster"),
    ],
)
def test_another_librarys_booster_is_none_of_xgboosts(module: str, name: str) -> None:
    native = of(module, name, predict=mean, num_feature=lambda self: 2)
    assert type(_as_taken_by(native, np.zeros((1, 2)))) is np.ndarray
    model = pickled.adopt(native, Conventions())
    assert model.format == "scikit-learn"
    assert model.invoke(Invocation(b"1,2\n3,5", "text/csv", "application/json")).body == b"[1.5, 4.0]"


def test_a_lightgbm_booster_knows_its_number_of_columns() -> None:
    model = pickled.adopt(of("lightgbm.basic", "Booster", predict=mean, num_feature=lambda self: 2), Conventions())
    with pytest.raises(Exception, match="takes 2 columns, and the rows have 3"):
        model.invoke(Invocation(b"1,2,3", "text/csv"))


def test_a_class_of_ones_own_that_inherits_from_xgboosts_is_served_as_such() -> None:
    rows = np.random.default_rng(1).random((40, 2))
    trained = xgboost.train({"nthread": 1}, xgboost.DMatrix(rows, rows.sum(axis=1)), 2)
    own = type("Tuned", (xgboost.Booster,), {"__module__": "mine"})(model_file=None)
    own.load_model(trained.save_raw("ubj"))
    estimator = type("House", (xgboost.XGBRegressor,), {"__module__": "mine"})(n_estimators=2, n_jobs=1)
    estimator.fit(rows, rows.sum(axis=1))
    for native in (own, estimator):
        assert pickled.adopt(native, Conventions()).format == "xgboost"
    assert type(_as_taken_by(own, rows)) is xgboost.DMatrix
    assert type(_as_taken_by(estimator, rows)) is np.ndarray


def test_a_name_like_a_forests_does_not_make_answers_rowwise() -> None:
    alike = of("mine", "Smooth", of("mine", "BaseForest").__class__, predict=mean, num_feature=lambda self: 2)
    assert not pickled.adopt(alike, Conventions()).rowwise


def test_an_object_that_does_not_predict_is_refused() -> None:
    with pytest.raises(LoadFailed, match="type Booster has no predict method"):
        pickled.adopt(of("mine", "Booster"), Conventions())
