"""Tiny models of every format, and the files they are saved as."""

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import xgboost
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from torpor_container.content import Rows

COLUMNS = 4


@dataclass(frozen=True)
class Trained:
    """The rows that the models were trained on, and the models."""

    rows: Rows
    target: Rows

    @cached_property
    def booster(self) -> Any:
        return xgboost.train({"max_depth": 3}, xgboost.DMatrix(self.rows, self.target), 5)

    @cached_property
    def regressor(self) -> Any:
        return xgboost.XGBRegressor(n_estimators=5, max_depth=3, missing=-999.0).fit(self.rows, self.target)

    @cached_property
    def forest(self) -> Any:
        return RandomForestRegressor(5, n_jobs=4, random_state=0).fit(self.rows, self.target)

    @cached_property
    def pipeline(self) -> Any:
        return make_pipeline(StandardScaler(), LinearRegression()).fit(self.rows, self.target)

    @cached_property
    def lightgbm(self) -> Any:
        import lightgbm  # here, for it is slow to import, and few tests need it

        data = lightgbm.Dataset(self.rows, self.target)
        return lightgbm.train({"verbose": -1, "min_data_in_leaf": 3, "num_threads": 1}, data, 5)

    def expected(self, kind: str) -> Rows:
        """The framework's own predictions for the first three rows."""
        rows = self.rows[:3]
        if kind == "booster":
            return np.asarray(self.booster.predict(xgboost.DMatrix(rows)))
        return np.asarray(getattr(self, kind).predict(rows)).reshape(-1)


def save_skops(trained: Trained, path: Path) -> None:
    import skops.io

    skops.io.dump(trained.pipeline, path)


def save_onnx(trained: Trained, path: Path) -> None:
    from skl2onnx import to_onnx  # here, for it takes a second, as skops takes three: no other tests wait for them

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path.write_bytes(to_onnx(trained.pipeline, trained.rows[:1]).SerializeToString())


def save_pickle(model: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(model))


ARTIFACTS: dict[str, tuple[str, str, Callable[[Trained, Path], object]]] = {
    "model.json": ("xgboost", "booster", lambda trained, path: trained.booster.save_model(path)),
    "model.ubj": ("xgboost", "booster", lambda trained, path: trained.booster.save_model(path)),
    "price.model": ("xgboost", "booster", lambda trained, path: path.write_bytes(trained.booster.save_raw("json"))),
    "xgboost-model": ("xgboost", "booster", lambda trained, path: path.write_bytes(trained.booster.save_raw("ubj"))),
    "booster.pkl": ("xgboost", "booster", lambda trained, path: save_pickle(trained.booster, path)),
    "wrapper.joblib": ("xgboost", "regressor", lambda trained, path: joblib.dump(trained.regressor, path)),
    "model.joblib": ("scikit-learn", "forest", lambda trained, path: joblib.dump(trained.forest, path, compress=3)),
    "model.pickle": ("scikit-learn", "pipeline", lambda trained, path: save_pickle(trained.pipeline, path)),
    "model.skops": ("scikit-learn", "pipeline", save_skops),
    "model.onnx": ("onnx", "pipeline", save_onnx),
    "model.txt": ("lightgbm", "lightgbm", lambda trained, path: trained.lightgbm.save_model(path)),
}
"""By file name: the format, which model it holds, and how it is saved."""
