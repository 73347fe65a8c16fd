"""XGBoost models: columns by name, missing values, early stopping, boosters of every kind, files that are no model."""

import base64
import json
import pickle
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from tests.container.helpers.format_models import Trained
from tests.container.helpers.served_models import CONVENTIONS, ROW, answer, backwards, load
from tests.helpers.thorough_values import thorough
from torpor_container.errors import BadInput, LoadFailed
from torpor_container.formats import Conventions
from torpor_container.formats.xgboost import boosters
from torpor_container.invocation import Invocation


def trained_with(trained: Trained, parameters: dict[str, Any], rounds: int = 4) -> tuple[Any, Any]:
    matrix = xgboost.DMatrix(trained.rows, (trained.target > 0).astype(int) + (trained.target > 2))
    return xgboost.train(parameters, matrix, rounds), matrix


@pytest.mark.parametrize(
    "parameters",
    [
        {"objective": "multi:softprob", "num_class": 3},
        {"objective": "multi:softmax", "num_class": 3},
        {"objective": "reg:squarederror", "booster": "gblinear"},
        {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5},
        {"objective": "count:poisson"},
    ],
    ids=lambda parameters: parameters.get("booster", parameters["objective"]),
)
def test_xgboost_answers_the_objectives_own_output_for_any_booster(
    trained: Trained, parameters: dict[str, Any], tmp_path: Path
) -> None:
    booster, matrix = trained_with(trained, parameters)
    booster.save_model(tmp_path / "model.ubj")
    body = json.dumps(trained.rows.tolist()).encode()
    for model in (boosters.serve(booster.copy(), CONVENTIONS), load(tmp_path)):
        assert answer(model, body, "application/json") == booster.predict(matrix).tolist()


@pytest.mark.parametrize("saved", ["model.ubj", "model.json", "model.pkl", "wrapper.pkl"])
def test_xgboost_takes_columns_by_their_names(trained: Trained, tmp_path: Path, saved: str) -> None:
    frame = pytest.importorskip("pandas").DataFrame(trained.rows.astype(float), columns=list("xyzw"))
    regressor = xgboost.XGBRegressor(n_estimators=4, n_jobs=1).fit(frame, trained.target)
    booster = regressor.get_booster()
    if saved.endswith(".pkl"):
        (tmp_path / saved).write_bytes(pickle.dumps(booster if saved == "model.pkl" else regressor))
    else:
        booster.save_model(tmp_path / saved)
    for body in backwards(frame):
        assert answer(load(tmp_path), body, "application/json") == booster.predict(xgboost.DMatrix(frame)).tolist()
    with pytest.raises(BadInput, match="unknown: v; missing: w, y, z"):
        answer(load(tmp_path), b'{"columns": {"x": [1], "v": [2]}}', "application/json")


class AskedBooster(xgboost.Booster):
    """Notes which threads ask for its names."""

    asked: tuple[str, ...] = ()

    @property  # type: ignore[misc]  # nobody sets them here
    def feature_names(self) -> list[str]:
        self.asked += (threading.current_thread().name,)
        return ["a", "b", "c", "d"]


def test_a_booster_is_asked_for_its_names_once_and_not_before_a_body_has_some(trained: Trained) -> None:
    booster = AskedBooster(model_file=bytearray(trained.booster.save_raw()))
    model = boosters.serve(booster, CONVENTIONS)
    answer(model, b"[[1, 2, 3, 4]]", "application/json")
    assert not booster.asked
    for _ in range(2):
        answer(model, b'{"columns": ["a", "b", "c", "d"], "data": [[1, 2, 3, 4]]}', "application/json")
    assert [name.partition("_")[0] for name in booster.asked] == ["boosters"]


def test_no_name_keeps_a_closed_booster(trained: Trained) -> None:
    booster = trained.booster.copy()
    held = weakref.ref(booster)
    model = boosters.serve(booster, CONVENTIONS)
    answer(model, b'{"columns": {"a": [1], "b": [2], "c": [3], "d": [4]}}', "application/json")
    del booster
    model.close()
    assert held() is None


@pytest.mark.parametrize(
    ("names", "asked"),
    [(["a", "b", "c", "d"], 0), (["a", "best_iteration", "c", "d"], 1)],
    ids=["says it", "may say something else"],
)
def test_a_model_whose_file_says_how_it_predicts_is_not_queried(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], asked: int
) -> None:
    """To ask takes a trip to another thread and back, at each load."""
    booster, matrix = trained_with(trained, {"max_depth": 2})
    booster.feature_names = names
    booster.save_model(tmp_path / "model.ubj")
    configurations = []
    save_config = xgboost.Booster.save_config

    def saved(booster: Any) -> Any:
        configurations.append(booster)
        return save_config(booster)

    monkeypatch.setattr(xgboost.Booster, "save_config", saved)
    model = load(tmp_path)
    body = json.dumps(trained.rows.tolist()).encode()
    assert len(configurations) == asked
    assert answer(model, body, "application/json") == booster.predict(matrix, validate_features=False).tolist()


def test_a_booster_is_queried_and_freed_on_the_same_thread(
    artifact: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """XGBoost keeps its last answer to a thread until that thread frees the booster, and else for ever."""
    asked: list[int] = []

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def called(booster: Any, *arguments: Any) -> Any:
            asked.append(threading.get_ident())
            return method(booster, *arguments)

        return called

    for name in ("attr", "save_config", "__del__"):
        monkeypatch.setattr(xgboost.Booster, name, noted(getattr(xgboost.Booster, name)))
    directory = artifact("model.json")
    document = directory / "model.json"
    document.write_bytes(document.read_bytes().replace(b"{", b"{ ", 1))  # its traits are not found in such JSON
    with ThreadPoolExecutor(1) as loading, ThreadPoolExecutor(1) as closing:
        model = loading.submit(load, directory).result()
        answer(model)
        closing.submit(model.close).result()
    assert len(asked) == 3
    assert len(set(asked)) == 1
    assert threading.get_ident() not in asked


def test_xgboost_takes_nan_and_empty_cells_for_missing(trained: Trained, artifact: Callable[..., Path]) -> None:
    model = load(artifact("model.json"))
    expected = trained.booster.predict(xgboost.DMatrix(np.array([[1, np.nan, 3, 4]]))).tolist()
    assert answer(model, b"1,nan,3,4") == answer(model, b"1,,3,4") == expected
    assert answer(model, b"0:1 2:3 3:4", "text/libsvm") == expected


def test_an_xgboost_estimators_own_mark_for_missing_is_kept(trained: Trained, artifact: Callable[..., Path]) -> None:
    model = load(artifact("wrapper.joblib"))
    assert answer(model, b"1,2,3,-999") == trained.regressor.predict([[1, 2, 3, -999]]).tolist()
    assert answer(model, b"1,2,3,-999") != answer(load(artifact("booster.pkl")), b"1,2,3,-999")


@pytest.mark.parametrize("more", [{}, {"a": "gradient_booster"}, {"gradient_booster": "a"}, {"z": "gbtree"}])
def test_after_early_stopping_the_best_iteration_answers(
    trained: Trained, tmp_path: Path, more: dict[str, str]
) -> None:
    booster, matrix = trained_with(trained, {"max_depth": 2}, rounds=10)
    booster.set_attr(best_iteration="3", **more)
    booster.save_model(tmp_path / "model.ubj")
    body = json.dumps(trained.rows.tolist()).encode()
    served = answer(load(tmp_path), body, "application/json")
    np.testing.assert_array_equal(np.float32(served), booster.predict(matrix, iteration_range=(0, 4)))
    assert not np.array_equal(np.float32(served), booster.predict(matrix))


def test_a_single_model_endpoint_answers_csv_and_a_multi_model_endpoint_json(artifact: Callable[..., Path]) -> None:
    single = load(artifact("model.json"), Conventions(multi_model=False)).invoke(Invocation(ROW))
    several = load(artifact("model.json")).invoke(Invocation(ROW))
    assert (single.content_type, several.content_type) == ("text/csv", "application/json")
    assert float(single.body) == json.loads(several.body)[0]


def test_the_default_answer_type_can_be_set(artifact: Callable[..., Path]) -> None:
    conventions = Conventions(default_accept="application/jsonlines")
    assert load(artifact("model.json"), conventions).invoke(Invocation(ROW)).content_type == "application/jsonlines"


OLD = (
    bytes([0, 0, 0, 63, 4]) + bytes([255] * 131) + b"\x10".ljust(8, b"\0") + b"reg:squarederror" + b"\6".ljust(8, b"\0")
)
"""How a model begins in the binary format: its parameters, its objective, its booster."""


@pytest.mark.parametrize(
    "content",
    [b"binf" + OLD + b"gbtree", *thorough(b"bs64\t" + base64.b64encode(OLD + b"gbtree"), OLD + b"gbtree")],
    ids=["headed", "base64", "without a head"],
)
def test_the_old_binary_format_of_xgboost_is_a_load_failure_that_says_what_to_do(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "xgboost-model").write_bytes(content)
    with pytest.raises(LoadFailed, match=r"xgboost-model was saved in XGBoost's old binary .* save it as \.json or"):
        load(tmp_path)


@pytest.mark.parametrize(("content", "said"), [(b"", "empty"), (b"ab\xff\xff", "neither JSON nor UBJSON")])
def test_a_file_that_is_no_xgboost_model_is_refused_with_the_reason(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "xgboost-model").write_bytes(content)
    with pytest.raises(LoadFailed, match=f"xgboost-model is .*{said}"):
        load(tmp_path)
