"""Trains the models that the SageMaker SDK scripts deploy, into a folder, and records the expected answers.

Torpor's own Python runs it: the SDK's environment need hold no XGBoost, no scikit-learn and no Torpor.
"""

import json
import sys
from pathlib import Path

import numpy as np
import xgboost
from sklearn.linear_model import LinearRegression

import torpor

INFERENCE = """\
import os
import joblib
from greeting import GREETING


def model_fn(model_dir):
    return joblib.load(os.path.join(model_dir, "model.joblib"))


def predict_fn(rows, model):
    return model.predict(rows) + 1000.0


def output_fn(prediction, accept):
    return ",".join(f"{value:.6f}" for value in prediction) + GREETING, "text/plain"
"""

XGBOOST_INFERENCE = """\
import os
import xgboost


def model_fn(model_dir):
    booster = xgboost.Booster()
    booster.load_model(os.path.join(model_dir, "xgboost-model"))
    return booster


def output_fn(prediction, accept):
    return ",".join(f"{value + 2000.0:.4f}" for value in prediction), "text/csv"
"""


def main(folder: Path) -> None:
    draw = np.random.default_rng(5)
    table = draw.normal(size=(400, 3)).round(3)
    prices = table @ np.array([3.0, -1.0, 0.5]) + 40.0
    booster = xgboost.train({"max_depth": 4, "nthread": 1}, xgboost.DMatrix(table, label=prices), 30)
    linear = LinearRegression().fit(table, prices)
    torpor.bundle(booster, folder / "booster.tar.gz")
    torpor.bundle(linear, folder / "linear.tar.gz")
    _code(folder / "code", INFERENCE, greeting='GREETING = ";ready"\n')
    _code(folder / "xgboost_code", XGBOOST_INFERENCE)
    rows = table[:4]
    answers = {"booster": booster.predict(xgboost.DMatrix(rows)), "linear": linear.predict(rows)}
    expected = {"rows": rows.tolist(), **{name: np.asarray(values).tolist() for name, values in answers.items()}}
    (folder / "expected.json").write_text(json.dumps(expected))


def _code(folder: Path, inference: str, **modules: str) -> None:
    folder.mkdir()
    for name, text in {"inference": inference, **modules}.items():
        (folder / f"{name}.py").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
