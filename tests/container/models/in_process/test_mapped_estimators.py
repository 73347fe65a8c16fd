"""Estimators and text models of an instance go over to flat trees, which later loads need no library for."""

import json
import pickle
import tarfile
from io import BytesIO
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.container.helpers import lightgbm_models
from tests.container.helpers.contract_platform import Platform
from tests.container.helpers.estimators_of_trees import fitted, rows
from tests.container.models.in_process.test_mapped_trees import TARGET, Machine, machine, maps, state, until_resized

__all__ = ["machine"]

ROWS = rows(missing=False, count=4)


def put(machine: Machine, name: str, file: str, content: bytes) -> None:
    entry = tarfile.TarInfo(file)
    entry.size = len(content)
    with tarfile.open(machine.models / name, "w:gz") as archive:
        archive.addfile(entry, BytesIO(content))


def said(instance: Platform, name: str, cells: Any = ROWS) -> Any:
    body = "\n".join(",".join(map(repr, row)) for row in cells.tolist()).encode()
    headers = {TARGET: name, "Content-Type": "text/csv", "Accept": "application/json"}
    answer = instance.request("POST", "/invocations", body, headers)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


@pytest.mark.parametrize("name", ["forest of classes", "boosted", "by histograms"])
def test_an_estimator_is_unpickled_once_and_then_answers_by_flat_trees(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    put(machine, "m", "model.pkl", pickle.dumps(fitted(name)))
    expected = fitted(name).predict(ROWS).tolist()
    one, other = machine.instance(), machine.instance()
    assert said(one, "m") == expected
    assert "flat trees answer, equal to scikit-learn" in until_resized(one, "m")
    assert said(one, "m") == expected
    monkeypatch.setattr(joblib, "load", lambda path: pytest.fail("it was unpickled again"))
    assert said(other, "m") == expected
    assert state(other, "m")[1] == [], "it never had scikit-learn answer"
    (file,) = machine.files()
    assert maps(file) == 2


def test_a_text_model_goes_over_to_the_file_that_every_instance_maps(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = lightgbm_models.trained("multiclass")
    put(machine, "m", "model.txt", text.encode())
    cells = np.nan_to_num(lightgbm_models.rows_of(2)[:4])
    expected = lightgbm_models.predicted(text, cells).tolist()
    one, other = machine.instance(), machine.instance()
    assert said(one, "m", cells) == expected
    assert until_resized(one, "m") == "flat trees answer: a text model of LightGBM needs no other library"
    monkeypatch.setattr("torpor_container.trees.lightgbm_text.read", lambda content: pytest.fail("it was read again"))
    assert said(one, "m", cells) == said(other, "m", cells) == expected
    assert maps(machine.files()[0]) == 2


def test_what_is_no_flat_tree_stays_with_scikit_learn_and_the_ledger_says_why(machine: Machine) -> None:
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(ROWS, ROWS[:, 0])
    put(machine, "m", "model.joblib", pickle.dumps(pipeline))
    one = machine.instance()
    assert said(one, "m") == pytest.approx(pipeline.predict(ROWS).tolist())
    assert until_resized(one, "m") == "flat trees do not know the estimator Pipeline"
