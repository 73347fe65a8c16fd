"""What is particular to one format: missing values, early stopping, boosters of other kinds, trust, several inputs."""

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
import onnx
import pytest
import xgboost
from onnx import TensorProto, helper
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from tests.container.formats.format_models import Trained
from torpor_container.errors import BadInput, LoadFailed
from torpor_container.formats import Conventions, ServableModel, detect
from torpor_container.formats.sklearn.estimators import serve
from torpor_container.formats.xgboost import boosters
from torpor_container.invocation import Invocation

CONVENTIONS = Conventions()
ROW = b"1,2,3,4"


def load(directory: Path, conventions: Conventions = CONVENTIONS) -> ServableModel:
    known, path = detect(directory)
    return known.load(path, conventions)


def answer(model: ServableModel, body: bytes = ROW, content_type: str = "text/csv") -> Any:
    return json.loads(model.invoke(Invocation(body, content_type, "application/json")).body)


def trained_with(trained: Trained, parameters: dict[str, Any], rounds: int = 4) -> tuple[Any, Any]:
    matrix = xgboost.DMatrix(trained.rows, (trained.target > 0).astype(int) + (trained.target > 2))
    return xgboost.train(parameters, matrix, rounds), matrix


# -- XGBoost -----------------------------------------------------------------------------------------------------------
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


def backwards(frame: Any) -> list[bytes]:
    """JSON with the frame's columns in the opposite order, by name."""
    other = frame[frame.columns[::-1]]
    return [
        json.dumps({"columns": other.to_dict("list")}).encode(),
        json.dumps({"columns": list(other.columns), "data": other.to_numpy().tolist()}).encode(),
    ]


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


def test_a_booster_is_asked_for_its_names_once_and_not_before_a_body_has_some(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    booster, asked = trained.booster.copy(), list[str]()

    def names(booster: Any) -> list[str]:
        asked.append(threading.current_thread().name)
        return ["a", "b", "c", "d"]

    monkeypatch.setattr(xgboost.Booster, "feature_names", property(names))
    model = boosters.serve(booster, CONVENTIONS)
    answer(model, b"[[1, 2, 3, 4]]", "application/json")
    assert not asked
    for _ in range(2):
        answer(model, b'{"columns": ["a", "b", "c", "d"], "data": [[1, 2, 3, 4]]}', "application/json")
    assert len(asked) == 1
    assert asked[0].startswith("boosters")


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
def test_a_model_that_says_itself_how_it_predicts_is_not_asked(
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


def test_one_thread_asks_boosters_about_themselves_and_frees_them(
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


def test_after_early_stopping_the_best_iteration_answers(trained: Trained, tmp_path: Path) -> None:
    booster, matrix = trained_with(trained, {"max_depth": 2}, rounds=10)
    booster.set_attr(best_iteration="3")
    booster.save_model(tmp_path / "model.ubj")
    body = json.dumps(trained.rows.tolist()).encode()
    served = answer(load(tmp_path), body, "application/json")
    np.testing.assert_array_equal(np.float32(served), booster.predict(matrix, iteration_range=(0, 4)))
    assert not np.array_equal(np.float32(served), booster.predict(matrix))


def test_xgboost_answers_otherwise_on_a_single_model_endpoint(artifact: Callable[..., Path]) -> None:
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
    [b"binf" + OLD + b"gbtree", b"bs64\t" + base64.b64encode(OLD + b"gbtree"), OLD + b"gbtree"],
    ids=["headed", "base64", "without a head"],
)
def test_the_old_binary_format_of_xgboost_is_a_load_failure_that_says_what_to_do(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "xgboost-model").write_bytes(content)
    with pytest.raises(LoadFailed, match=r"xgboost-model was saved in XGBoost's old binary .* save it as \.json or"):
        load(tmp_path)


@pytest.mark.parametrize(("content", "said"), [(b"", "empty"), (b"ab\xff\xff", "neither JSON nor UBJSON")])
def test_a_file_that_is_no_xgboost_model_says_why(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "xgboost-model").write_bytes(content)
    with pytest.raises(LoadFailed, match=f"xgboost-model is .*{said}"):
        load(tmp_path)


# -- scikit-learn ------------------------------------------------------------------------------------------------------
def test_scikit_learn_refuses_nan_unless_the_estimator_takes_it(trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="NaN"):
        answer(serve(LinearRegression().fit(trained.rows, trained.target), CONVENTIONS), b"1,nan,3,4")
    tolerant = HistGradientBoostingRegressor(max_iter=2).fit(trained.rows, trained.target)
    assert answer(serve(tolerant, CONVENTIONS), b"1,nan,3,4") == tolerant.predict([[1, np.nan, 3, 4]]).tolist()


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


def test_it_is_seen_in_an_array_of_objects_too(trained: Trained) -> None:
    """Gradient boosting keeps its trees in one."""
    regressor = GradientBoostingRegressor(n_estimators=3).fit(trained.rows, trained.target)
    assert not serve(regressor, CONVENTIONS).foreign
    regressor.estimators_[2, 0] = Unknown().fit(trained.rows, trained.target)
    assert serve(regressor, CONVENTIONS).foreign


def test_a_type_that_nobody_knows_may_hang(trained: Trained) -> None:
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
def test_a_pickle_that_is_no_model_says_why(tmp_path: Path, payload: bytes, said: str) -> None:
    (tmp_path / "model.pkl").write_bytes(payload)
    with pytest.raises(LoadFailed, match=said):
        load(tmp_path)


# -- ONNX --------------------------------------------------------------------------------------------------------------
def save_sum(path: Path, shape: list[int | None], kind: int = TensorProto.FLOAT) -> None:
    """A graph that adds its two inputs."""
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name in ("a", "b")]
    outputs = [helper.make_tensor_value_info("sum", kind, shape)]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["sum"])], "sum", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.mark.parametrize("envelope", [lambda tensors: {"inputs": tensors}, lambda tensors: tensors])
def test_onnx_takes_named_tensors_of_any_rank(
    tmp_path: Path, envelope: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    save_sum(tmp_path / "model.onnx", [None, 2, 1])
    body = json.dumps(envelope({"a": [[[1], [2]]], "b": [[[10], [20]]]})).encode()
    assert answer(load(tmp_path), body, "application/json") == [[[11], [22]]]


def test_onnx_keeps_whole_numbers_whole(tmp_path: Path) -> None:
    save_sum(tmp_path / "model.onnx", [None, 1], TensorProto.INT64)
    body = b'{"a": [[9007199254740993]], "b": [[0]]}'
    assert answer(load(tmp_path), body, "application/json") == [[9007199254740993]]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"1,2", "text/csv"), (b"[[1]]", "application/json"), (b'{"a": [[1]]}', "application/json")],
)
def test_onnx_with_several_inputs_asks_for_each_by_name(tmp_path: Path, body: bytes, content_type: str) -> None:
    save_sum(tmp_path / "model.onnx", [None, 1])
    with pytest.raises(BadInput, match="a, b"):
        answer(load(tmp_path), body, content_type)


def test_onnx_refuses_tensors_that_do_not_go_together(tmp_path: Path) -> None:
    save_sum(tmp_path / "model.onnx", [None, 2, 1])
    with pytest.raises(BadInput, match="refuses"):
        answer(load(tmp_path), b'{"a": [[[1]]], "b": [[[1]]]}', "application/json")


TENSORS = {
    "digits as text": (TensorProto.STRING, "text/csv", b"1,2,3", [["1", "2", "3"]]),
    "text": (TensorProto.STRING, "text/csv", b"a,b,c", [["a", "b", "c"]]),
    "text in json": (TensorProto.STRING, "application/json", b'{"x": [["a", "b"]]}', [["a", "b"]]),
    "a large whole number": (TensorProto.INT64, "text/csv", b"9007199254740993", [[9007199254740993]]),
    "truths": (TensorProto.BOOL, "text/csv", b"true,0", [[True, False]]),
}


@pytest.mark.parametrize("name", TENSORS)
def test_onnx_gets_cells_as_they_were_written(tmp_path: Path, name: str) -> None:
    kind, content_type, body, expected = TENSORS[name]
    save_identity(tmp_path / "model.onnx", kind)
    assert answer(load(tmp_path), body, content_type) == expected


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        (TensorProto.STRING, b'[["a", null]]', "row 1, column 2: the model takes text only, and not null"),
        (TensorProto.INT64, b"[[1, null]]", "row 1, column 2: the model takes whole numbers only"),
        (TensorProto.BOOL, b"[[2]]", "row 1, column 1: the model takes true, false, 1 and 0 only, and not 2"),
    ],
)
def test_onnx_refuses_cells_that_would_become_others(tmp_path: Path, kind: int, body: bytes, said: str) -> None:
    save_identity(tmp_path / "model.onnx", kind)
    with pytest.raises(BadInput, match=said):
        answer(load(tmp_path), body, "application/json")


def test_onnx_with_an_input_of_another_type_says_which_are_taken(tmp_path: Path) -> None:
    save_identity(tmp_path / "model.onnx", TensorProto.BFLOAT16)
    with pytest.raises(
        LoadFailed, match=r"input x is a tensor\(bfloat16\), and Torpor takes only these: tensor\(float\), "
    ):
        load(tmp_path)


def test_onnx_answers_maps_as_cells_of_json(tmp_path: Path) -> None:
    save_zip_map(tmp_path / "model.onnx")
    reply = load(tmp_path).invoke(Invocation(b"0.25,0.75", "text/csv", "text/csv"))
    assert reply.body == b'"{""cat"": 0.25, ""dog"": 0.75}"\n'


def save_zip_map(path: Path) -> None:
    """A graph that gives its two columns the names of classes."""
    before = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])
    numbered = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    after = helper.make_value_info("y", helper.make_sequence_type_proto(numbered))
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    graph = helper.make_graph([node], "maps", [before], [after])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def save_identity(path: Path, kind: int) -> None:
    """A graph that answers its input."""
    before, after = (helper.make_tensor_value_info(name, kind, [None, None]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [before], [after])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
