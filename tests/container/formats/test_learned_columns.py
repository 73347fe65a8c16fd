"""Categories of text reach the boosters of three libraries as they were learned, and columns go by their names.

LightGBM and CatBoost need not be installed: without them, objects with their methods stand for their models.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost

from tests.container.formats.test_frameworks import of
from tests.container.helpers.served_models import load
from torpor.calling.bodies import encode
from torpor_container.errors import BadInput, UnsupportedContentType
from torpor_container.formats import Conventions, ServableModel, pickled
from torpor_container.formats.script.model import ScriptModel
from torpor_container.formats.xgboost import learned_categories, ubjson
from torpor_container.invocation import Invocation, Reply

JSON, CSV, HEADED = "application/json", "text/csv", "text/csv; header=present"
DRAW = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "sqft": DRAW.random(300).round(3),
        "city": pd.Categorical(DRAW.choice(["Oslo", "Rome", "Bern"], 300)),
        "beds": DRAW.integers(1, 5, 300).astype(float),
        "size": pd.Categorical(DRAW.choice([10, 20, 300], 300)),
    }
)
PRICES = FRAME["sqft"] + FRAME["city"].cat.codes * 3 + FRAME["size"].astype(int) / 10
NUMBERS = FRAME[["sqft", "beds"]]
FIVE = FRAME[:5]


def answer(model: ServableModel, body: bytes, content_type: str) -> Any:
    return json.loads(model.invoke(Invocation(body, content_type, JSON)).body)


def boosted(booster: str = "gbtree") -> Any:
    parameters = {"nthread": 1, "booster": booster, "max_cat_to_onehot": 1}
    return xgboost.train(parameters, xgboost.DMatrix(FRAME, PRICES, enable_categorical=True), 8)


def matrix(frame: pd.DataFrame) -> Any:
    return xgboost.DMatrix(frame, enable_categorical=True)


WAYS: dict[str, tuple[bytes, str]] = {
    "a frame": encode(FIVE),
    "a frame in another order": encode(FIVE[["size", "city", "beds", "sqft"]]),
    "csv with a header": (FIVE.to_csv(index=False).encode(), HEADED),
    "csv": (FIVE.to_csv(index=False, header=False).encode(), CSV),
    "records": encode(FIVE.to_dict("records")),
    "lists": encode(FIVE.to_numpy(object).tolist()),
    "json lines": (str(FIVE.to_json(orient="records", lines=True)).encode(), "application/jsonlines"),
}
REFUSED: dict[str, tuple[bytes, str]] = {
    "a code for a text": (b"[[0.5, 1, 2, 10]]", "row 1, column city: the model takes text there, and not 1"),
    "a text for a number": (b'[[0.5, "Oslo", 2, "10"]]', "row 1, column size: the model takes numbers there, and not"),
    "too few columns": (b'[[0.5, "Oslo"]]', "the model takes 4 columns, and the rows have 2"),
    "another name": (b'[{"sqft": 1, "town": "Oslo", "beds": 2, "size": 10}]', r"unknown: town; missing: city"),
}


def check(model: ServableModel, right: Any, missing: float) -> None:
    """The answers to all ways are right; a category that is missing or was not learned is missing to the model."""
    for way, (body, content_type) in WAYS.items():
        np.testing.assert_allclose(answer(model, body, content_type), right, rtol=1e-5, err_msg=way)
    for cell in (b"null", b'"Paris"'):
        assert answer(model, b"[[0.5, %b, 2, 10]]" % cell, JSON) == pytest.approx([missing], rel=1e-5)
    for body, said in REFUSED.values():
        with pytest.raises(BadInput, match=said):
            answer(model, body, JSON)
    with pytest.raises(UnsupportedContentType, match="text/libsvm is not an accepted ContentType"):
        answer(model, b"0:1 1:1", "text/libsvm")


# -- XGBoost -----------------------------------------------------------------------------------------------------------
ONE = pd.DataFrame({"sqft": [0.5], "city": pd.Categorical([None], ["Oslo"]), "beds": [2.0], "size": [10]})
ONE = ONE.astype({"size": "category"})


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("kind", ["ubj", "json", "pickle"])
def test_xgboost_gets_its_categories_as_they_were_learned(tmp_path: Path, booster: str, kind: str) -> None:
    trained = boosted(booster)
    if kind == "pickle":
        model: ServableModel = pickled.adopt(trained, Conventions())
    else:
        trained.save_model(tmp_path / f"model.{kind}")
        model = load(tmp_path)
    check(model, trained.predict(matrix(FIVE)), float(trained.predict(matrix(ONE))[0]))


def test_xgboost_that_was_trained_on_codes_takes_codes() -> None:
    codes = np.stack([FRAME["sqft"], FRAME["city"].cat.codes], axis=1)
    rows = xgboost.DMatrix(codes, PRICES, feature_types=["q", "c"], enable_categorical=True)
    trained = xgboost.train({"nthread": 1}, rows, 5)
    model = pickled.adopt(trained, Conventions())
    expected = trained.predict(xgboost.DMatrix(codes[:3]), validate_features=False)
    assert answer(model, *encode(codes[:3])) == pytest.approx(expected.tolist())
    with pytest.raises(BadInput, match='column 2: "Oslo" is not a number'):
        answer(model, b'[[0.5, "Oslo"]]', JSON)


def test_a_script_predicts_with_xgboosts_categories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = boosted()
    trained.save_model(tmp_path / "model.ubj")
    script = tmp_path / "inference.py"
    script.write_text("def predict_fn(rows, model): return model.predict(rows) + 1\n")
    monkeypatch.setattr("sys.path", [*sys.path])  # a script's folder comes first on it
    model = ScriptModel.load(script, tmp_path, Conventions())
    expected = (trained.predict(matrix(FIVE)) + 1).tolist()
    for way in ("a frame in another order", "csv with a header", "lists"):
        body, content_type = WAYS[way]
        reply = model.invoke(Invocation(body, content_type, JSON))
        assert isinstance(reply, Reply)
        assert json.loads(reply.body) == pytest.approx(expected)


@pytest.mark.parametrize("made", [boosted, lambda: boosted("dart")], ids=["gbtree", "dart"])
def test_ubjson_is_read_as_the_json_of_the_same_model(made: Callable[[], Any]) -> None:
    trained = made()
    value, end = ubjson.read(saved := bytes(trained.save_raw("ubj")), 0)
    assert end == len(saved)
    told = json.loads(bytes(trained.save_raw("json")))

    def texts(one: Any) -> Any:
        if isinstance(one, dict):
            return {name: texts(part) for name, part in one.items() if name != "trees"}
        return [texts(part) for part in one] if isinstance(one, list | np.ndarray) else one

    assert texts(value) == texts(told)


def test_the_first_bytes_say_whether_there_may_be_categories() -> None:
    plain = [xgboost.train({}, xgboost.DMatrix(rows, PRICES), 1) for rows in (NUMBERS, NUMBERS.to_numpy())]
    assert [learned_categories.may_be_in(bytes(one.save_raw("ubj"))) for one in plain] == [False, False]
    assert [learned_categories.of(one) for one in plain] == [None, None]
    assert learned_categories.may_be_in(bytes(boosted().save_raw("ubj")))


# -- LightGBM ----------------------------------------------------------------------------------------------------------
WEIGHTS = np.array([1.0, 10.0, 100.0, 1000.0])
INFOS = "feature_infos=[0.001:0.997] -1:0:1:2 [1:4] -1:2:1:0"


def lightgbm_booster(
    names: list[str], categories: list[list[Any]] | None = None, infos: str = INFOS, name: str = "Booster"
) -> Any:
    """An object as a booster of LightGBM, whose answers show which cell came to which column."""
    members: dict[str, Any] = {
        "feature_name": lambda self: names,
        "num_feature": lambda self: len(names),
        "pandas_categorical": categories,
        "model_to_string": lambda self, num_iteration: f"tree\nfeature_names=a b\n{infos}\ntree_sizes=1\n",
        "predict": lambda self, rows: np.nan_to_num(rows, nan=7.0) @ WEIGHTS[: len(names)],
    }
    return of("lightgbm.basic", name, **members)


LEARNED: list[list[Any]] = [["Bern", "Oslo", "Rome"], [10, 20, 300]]


def test_lightgbm_gets_its_categories_as_they_were_learned() -> None:
    booster = lightgbm_booster(list(FRAME), LEARNED)
    codes = FIVE.assign(city=FIVE["city"].cat.codes, size=FIVE["size"].cat.codes).to_numpy(float)
    missing = 0.5 + 70 + 200
    check(pickled.adopt(booster, Conventions()), codes @ WEIGHTS, missing)
    members = {"booster_": booster, "n_features_in_": 4, "predict": lambda self, rows: booster.predict(rows)}
    estimator = of("lightgbm.sklearn", "LGBMModel", **members)
    check(pickled.adopt(estimator, Conventions()), codes @ WEIGHTS, missing)


def test_lightgbms_constant_columns_are_categories_where_nothing_else_can_be() -> None:
    body = b'[[0.5, "Oslo", 2, 10]]'
    sure = lightgbm_booster(list(FRAME), [["Oslo"], [10]], "feature_infos=[0:1] none [1:4] none")
    assert answer(pickled.adopt(sure, Conventions()), body, JSON) == [200.5]
    unsure = lightgbm_booster(list(FRAME), [["Oslo"], [10]], "feature_infos=none none [1:4] none")
    with pytest.raises(BadInput, match=r'column 2: "Oslo" is not a number'):
        answer(pickled.adopt(unsure, Conventions()), body, JSON)


def test_lightgbm_takes_columns_by_its_names() -> None:
    model = pickled.adopt(lightgbm_booster(["sqft", "beds"]), Conventions())
    right = NUMBERS[:3].to_numpy() @ WEIGHTS[:2]
    for rows in (NUMBERS[:3], NUMBERS[:3][["beds", "sqft"]], NUMBERS[:3][["beds", "sqft"]].to_dict("records")):
        assert answer(model, *encode(rows)) == pytest.approx(right.tolist())
    with pytest.raises(BadInput, match=r"unknown: bed \(did you mean beds\?\)"):
        answer(model, *encode(NUMBERS.rename(columns={"beds": "bed"})))


def test_lightgbm_that_numbered_its_columns_has_no_names() -> None:
    model = pickled.adopt(lightgbm_booster(["Column_0", "Column_1"]), Conventions())
    assert answer(model, *encode(NUMBERS[:3])) == pytest.approx((NUMBERS[:3].to_numpy() @ WEIGHTS[:2]).tolist())
    with pytest.raises(BadInput, match="the model has no names for its columns"):
        answer(model, *encode(NUMBERS[:3].to_dict("records")))


# -- CatBoost ----------------------------------------------------------------------------------------------------------
def catboost_model(names: list[str], labels: tuple[int, ...] = ()) -> Any:
    """An object as a model of CatBoost that was loaded from a file; its answer is its rows."""
    members: dict[str, Any] = {
        "feature_names_": names,
        "n_features_in_": 0,
        "get_cat_feature_indices": lambda self: list(labels),
        "get_text_feature_indices": lambda self: [],
        "predict": lambda self, rows: [[type(cell).__name__, cell] for row in rows.tolist() for cell in row],
    }
    return of("catboost.core", "CatBoost", **members)


def test_catboost_that_was_loaded_from_a_file_takes_its_columns() -> None:
    model = pickled.adopt(catboost_model(["sqft", "beds"]), Conventions())
    assert answer(model, b"1.5,2", CSV) == answer(model, b'[{"beds": 2, "sqft": 1.5}]', JSON)
    assert answer(model, b"1.5,2", CSV) == [["float", 1.5], ["float", 2.0]]
    with pytest.raises(BadInput, match="the model takes 2 columns, and the rows have 3"):
        answer(model, b"1,2,3", CSV)


def test_catboost_that_numbered_its_columns_has_no_names() -> None:
    model = pickled.adopt(catboost_model(["0", "1"]), Conventions())
    assert answer(model, *encode(NUMBERS[:1]))[1] == ["float", NUMBERS["beds"][0]]
    with pytest.raises(BadInput, match="the model has no names for its columns"):
        answer(model, *encode(NUMBERS[:1].to_dict("records")))


def test_catboost_gets_labels_as_text_or_whole_numbers() -> None:
    model = pickled.adopt(catboost_model(["sqft", "city", "size"], labels=(1, 2)), Conventions())
    assert answer(model, b'[{"city": "Oslo", "size": 10, "sqft": 1}]', JSON) == [
        ["int", 1],
        ["str", "Oslo"],
        ["int", 10],
    ]
    assert answer(model, b"sqft,city,size\n1.5,01234,10", HEADED) == [["float", 1.5], ["str", "01234"], ["str", "10"]]
    for cell in (b"null", b"1.5"):
        with pytest.raises(BadInput, match="row 1, column city: the model takes text or whole numbers there"):
            answer(model, b"[[1, %b, 10]]" % cell, JSON)
    with pytest.raises(BadInput, match="row 1, column sqft: the model takes numbers there"):
        answer(model, b'[["x", "Oslo", 10]]', JSON)


# -- the libraries themselves ------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_models_of_lightgbm_answer_as_lightgbm_does() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rows = lightgbm.Dataset(FRAME, PRICES)
    trained = lightgbm.train({"verbose": -1, "min_data_in_leaf": 5}, rows, 10)
    loaded = lightgbm.Booster(model_str=trained.model_to_string())
    estimator = lightgbm.LGBMRegressor(verbose=-1).fit(FRAME, PRICES)
    for native, asked in ((trained, trained), (loaded, trained), (estimator, estimator)):
        check(pickled.adopt(native, Conventions()), asked.predict(FIVE), float(asked.predict(ONE)[0]))


def test_models_of_catboost_answer_as_catboost_does(tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    options: dict[str, Any] = {"iterations": 5, "verbose": 0, "allow_writing_files": False}
    for frame, labels in ((FRAME, ["city", "size"]), (NUMBERS, None)):
        trained = catboost.CatBoostRegressor(cat_features=labels, **options).fit(frame, PRICES)
        trained.save_model(str(tmp_path / "model.cbm"))
        model = pickled.adopt(catboost.CatBoost().load_model(str(tmp_path / "model.cbm")), Conventions())
        for rows in (frame[:5], frame[:5][list(frame)[::-1]], frame[:5].to_dict("records")):
            np.testing.assert_allclose(answer(model, *encode(rows)), trained.predict(frame[:5]))
