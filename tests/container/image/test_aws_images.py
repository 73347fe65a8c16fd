"""The answers over HTTP of an instance that stands for one of AWS's images."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost
from sklearn.linear_model import LinearRegression

from tests.container.helpers.contract_platform import Platform

CSV = {"Content-Type": "text/csv"}
ROWS = np.random.default_rng(2).random((80, 3))


def booster(depth: int) -> Any:
    target = (ROWS.sum(axis=1) > 1.5) * 1
    parameters = {"nthread": 1, "objective": "binary:logistic", "max_depth": depth}
    return xgboost.train(parameters, xgboost.DMatrix(ROWS, target), 3)


def unpacked(directory: Path, **files: bytes) -> str:
    directory.mkdir()
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return str(directory)


def test_awss_xgboost_image_has_its_own_statuses(tmp_path: Path) -> None:
    with Platform(tmp_path, TORPOR_IMAGE="xgboost", MAX_CONTENT_LENGTH="1000") as platform:
        platform.load("a", unpacked(tmp_path / "a", model=bytes(booster(2).save_raw("ubj"))))
        told = {body: platform.invoke("a", body, CSV) for body in (b"1,2,3", b"", b"a,b,c", b"1,2", b"1" * 2000)}
        assert [answer.status for answer in told.values()] == [200, 204, 415, 400, 413]
        assert told[b""].body == b""


def test_folds_and_selected_outputs_are_served_as_one_model(tmp_path: Path) -> None:
    folds = [booster(1), booster(3)]
    with Platform(
        tmp_path, TORPOR_IMAGE="xgboost", SAGEMAKER_INFERENCE_OUTPUT="predicted_label,probability"
    ) as platform:
        saved = {name: bytes(one.save_raw("ubj")) for name, one in zip(("north", "south"), folds, strict=True)}
        platform.load("a", unpacked(tmp_path / "a", **saved))
        answer = platform.invoke("a", b"0.9,0.8,0.7", {**CSV, "Accept": "application/json"})
    score = float(np.mean([one.predict(xgboost.DMatrix([[0.9, 0.8, 0.7]])) for one in folds]))
    (told,) = json.loads(answer.body)["predictions"]
    assert told == {"predicted_label": int(score > 0.5), "probability": pytest.approx(score, abs=1e-6)}


def test_selected_outputs_of_another_kind_of_model_are_refused(tmp_path: Path) -> None:
    linear = pickle.dumps(LinearRegression().fit(ROWS, ROWS.sum(axis=1)))
    with Platform(tmp_path, TORPOR_IMAGE="scikit-learn", SAGEMAKER_INFERENCE_OUTPUT="predicted_label") as platform:
        answer = platform.load("a", unpacked(tmp_path / "a", my_model=linear))
        assert answer.status == 500
        assert "SAGEMAKER_INFERENCE_OUTPUT is set" in answer.json()["message"]
    with Platform(tmp_path, TORPOR_IMAGE="scikit-learn") as platform:
        platform.load("a", str(tmp_path / "a"))
        assert platform.invoke("a", b"0.5,0.25,0.25", CSV).status == 200
