"""Every kind of model that `bundle` takes predicts the same through a live endpoint as here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torpor
from tests.sdk.helpers.small_models import ROWS, TABLE, answers, train_booster, train_linear
from torpor.demo.linear_onnx import linear_onnx

Case = tuple[Any, list[float]]


def booster(folder: Path) -> Case:
    import xgboost

    model = train_booster()
    return model, model.predict(xgboost.DMatrix(np.array(ROWS))).tolist()


def xgb_model(folder: Path) -> Case:
    from xgboost import XGBRegressor

    model = XGBRegressor(n_estimators=20, n_jobs=1).fit(TABLE, answers())
    return model, model.predict(np.array(ROWS)).tolist()


def lightgbm_booster(folder: Path) -> Case:
    import lightgbm

    data = lightgbm.Dataset(TABLE, answers())
    model = lightgbm.train({"verbose": -1, "num_threads": 1, "min_data_in_leaf": 2}, data, 5)
    return model, np.asarray(model.predict(np.array(ROWS))).tolist()


def estimator(folder: Path) -> Case:
    model = train_linear()
    return model, model.predict(ROWS).tolist()


def model_proto(folder: Path) -> Case:
    from skl2onnx import to_onnx

    model = train_linear()
    return to_onnx(model, TABLE[:1].astype(np.float32)), model.predict(ROWS).tolist()


def onnx_bytes(folder: Path) -> Case:
    model = train_linear()
    return linear_onnx(model.coef_.tolist(), float(model.intercept_)), model.predict(ROWS).tolist()


def model_file(folder: Path) -> Case:
    model, predicted = booster(folder)
    model.save_model(folder / "model.json")
    return folder / "model.json", predicted


CASES = [booster, xgb_model, lightgbm_booster, estimator, model_proto, onnx_bytes, model_file]


@pytest.mark.parametrize("case", CASES)
def test_a_bundled_model_predicts_as_it_did(
    case: Callable[[Path], Case], endpoint: torpor.Local, tmp_path: Path
) -> None:
    model, predicted = case(tmp_path)
    target = endpoint.put(torpor.bundle(model, tmp_path / f"{case.__name__}.tar.gz"))
    answer = endpoint.invoke(target, ROWS)
    assert np.ravel(answer) == pytest.approx(predicted, rel=1e-4)


def test_a_script_predicts_with_the_model_beside_it(endpoint: torpor.Local, tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text(
        "import joblib\n"
        "def model_fn(folder):\n    return joblib.load(folder + '/model.joblib')\n"
        "def predict_fn(rows, model):\n    return model.predict(rows) + 1000\n"
    )
    artifact = torpor.bundle(train_linear(), tmp_path / "scripted.tar.gz", script=tmp_path / "serve.py")
    answer = endpoint.invoke(endpoint.put(artifact), ROWS, content_type="application/json")
    assert answer == pytest.approx((train_linear().predict(ROWS) + 1000).tolist(), rel=1e-4)
