"""scikit-learn's estimators of text and mixed columns: bodies reach them with the types of the fit."""

import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, VotingRegressor
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC

from torpor.calling.bodies import encode
from torpor_container.errors import BadInput, PredictionFailed, UnsupportedContentType
from torpor_container.formats import Conventions
from torpor_container.formats.sklearn.estimators import serve
from torpor_container.formats.sklearn.fitted_columns import taken_by
from torpor_container.formats.sklearn.mixed import reader
from torpor_container.invocation import Invocation

JSON, HEADED = "application/json", "text/csv; header=present"
HOUSES = pd.DataFrame(
    {
        "city": ["Oslo", "Rome", "Oslo", "Bern"] * 5,
        "zip": ["01234", "99999", "01234", "00007"] * 5,
        "sqft": np.arange(20.0) * 100,
        "new": [True, False] * 10,
        "text": ["big house, garden", "small flat", "nice", "garden"] * 5,
    }
)
PRICES = np.arange(20.0) + (HOUSES["city"] == "Rome") * 7
TWO = HOUSES[:2]


def pipeline() -> Any:
    """By names: categories with missing ones filled, numbers, truths and text."""
    filled = SimpleImputer(strategy="most_frequent")
    columns = ColumnTransformer(
        [
            ("words", make_pipeline(filled, OneHotEncoder(handle_unknown="ignore")), ["city", "zip"]),
            ("numbers", StandardScaler(), ["sqft"]),
            ("truths", OneHotEncoder(), ["new"]),
            ("text", TfidfVectorizer(), "text"),
        ]
    )
    return make_pipeline(columns, LinearRegression())


@pytest.fixture(scope="module")
def fitted() -> Any:
    return pipeline().fit(HOUSES, PRICES)


def answer(estimator: Any, body: bytes, content_type: str) -> Any:
    return json.loads(serve(estimator, Conventions()).invoke(Invocation(body, content_type, JSON)).body)


def written(frame: Any, **options: Any) -> bytes:
    return str(frame.to_json(**options)).encode()


WAYS = {
    "a frame": encode(TWO),
    "a frame as csv": encode(TWO, "text/csv"),
    "a frame in another order": encode(TWO[["text", "new", "sqft", "zip", "city"]]),
    "csv": (TWO.to_csv(index=False).encode(), HEADED),
    "csv with semicolons": (TWO.to_csv(index=False, sep=";").encode(), HEADED),
    "records": (written(TWO, orient="records"), JSON),
    "instances": (b'{"instances": %b}' % written(TWO, orient="records"), JSON),
    "split": (written(TWO, orient="split"), JSON),
    "columns": (written(TWO), JSON),
    "lines": (written(TWO, orient="records", lines=True), "application/jsonlines"),
    "tensors": (
        json.dumps(
            {
                "inputs": [
                    {"name": name, "shape": [2, 1], "datatype": datatype, "data": TWO[name].tolist()}
                    for name, datatype in zip(TWO, ("BYTES", "BYTES", "FP64", "BOOL", "BYTES"), strict=True)
                ]
            }
        ).encode(),
        JSON,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_rows_with_names_reach_a_pipeline_as_a_frame(fitted: Any, way: str) -> None:
    np.testing.assert_allclose(answer(fitted, *WAYS[way]), fitted.predict(TWO), atol=1e-9)


def test_a_missing_word_is_pandas_missing_value(fitted: Any) -> None:
    missing = TWO.assign(city=[np.nan, "Rome"])
    for body, content_type in (encode(missing), encode(missing, "text/csv")):
        np.testing.assert_allclose(answer(fitted, body, content_type), fitted.predict(missing), atol=1e-9)


REFUSED = {
    "no names": (
        b"Oslo,01234,900,True,nice",
        "text/csv",
        r"by name \(city, zip, sqft, new, text\), .* header=present'",
    ),
    "names that are not announced": (
        TWO.to_csv(index=False).encode(),
        "text/csv",
        "row 1 holds their names: say so in",
    ),
    "lists": (b'[["Oslo", "01234", 900, true, "nice"]]', JSON, "by name .* and the body has none"),
    "an unknown name": (
        encode(TWO.rename(columns={"city": "cty"}))[0],
        JSON,
        r"cty \(did you mean city\?\); missing: city",
    ),
    "a number for a word": (
        encode(TWO.assign(zip=[1234, 5]))[0],
        JSON,
        "row 1, column zip: the model takes text there",
    ),
    "a word for a number": (encode(TWO.assign(sqft="many"))[0], JSON, "many"),
    "a word for a truth": (
        encode(TWO.assign(new="maybe"))[0],
        JSON,
        "row 1, column new: the model takes true or false",
    ),
    "nothing for a document": (encode(TWO.assign(text=None))[0], JSON, "row 1, column text: the model takes text"),
    "a list in a cell": (
        b'[{"city": "Oslo", "zip": "1", "sqft": [1], "new": true, "text": "x"}]',
        JSON,
        "single value",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rows_that_a_pipeline_cannot_take_are_refused_by_name(fitted: Any, name: str) -> None:
    body, content_type, said = REFUSED[name]
    with pytest.raises(BadInput, match=said):
        answer(fitted, body, content_type)


def test_a_type_that_carries_no_such_table_lists_those_that_do(fitted: Any) -> None:
    with pytest.raises(UnsupportedContentType, match="text/csv, application/json"):
        answer(fitted, b"0:1", "text/libsvm")


CITY = HOUSES[["city", "sqft"]]
OTHERS = {
    "a search": lambda: (GridSearchCV(pipeline(), {"linearregression__fit_intercept": [True]}, cv=2), HOUSES),
    "a vote": lambda: (VotingRegressor([("one", pipeline())]), HOUSES),
    "columns by their types": lambda: (
        make_pipeline(
            make_column_transformer(
                (OneHotEncoder(), make_column_selector(dtype_exclude="number")), remainder="passthrough"
            ),
            LinearRegression(),
        ),
        CITY,
    ),
    "boosted categories": lambda: (
        HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=1, categorical_features="from_dtype"),
        CITY.astype({"city": "category"}),
    ),
    "numbers by their names": lambda: (
        make_pipeline(ColumnTransformer([("numbers", StandardScaler(), ["sqft"])]), LinearRegression()),
        HOUSES[["sqft"]],
    ),
    "records": lambda: (make_pipeline(DictVectorizer(), LinearRegression()), CITY.to_dict("records")),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_that_take_more_than_numbers_are_seen_too(name: str) -> None:
    estimator, rows = OTHERS[name]()
    estimator.fit(rows, PRICES)
    bodies = [encode(rows[:2]), encode(pd.DataFrame(rows[:2]), "text/csv")]
    for body, content_type in bodies:
        np.testing.assert_allclose(answer(estimator, body, content_type), estimator.predict(rows[:2]), atol=1e-9)


def test_cells_of_any_type_need_no_names_where_the_estimator_was_fitted_without() -> None:
    rows = HOUSES[["zip", "sqft"]].to_numpy()
    columns = ColumnTransformer([("words", OrdinalEncoder(), [0]), ("numbers", "passthrough", slice(1, 2))])
    estimator = make_pipeline(columns, LinearRegression()).fit(rows, PRICES)
    for body, content_type in ((b"01234,0\n99999,100", "text/csv"), (b'[["01234", 0], ["99999", 100]]', JSON)):
        np.testing.assert_allclose(answer(estimator, body, content_type), estimator.predict(rows[:2]), atol=1e-9)
    with pytest.raises(BadInput, match="takes 2 columns, and the rows have 3"):
        answer(estimator, b"01234,0,1", "text/csv")


DOCUMENTS = {
    "csv": (b'"big house, garden"\nsmall flat\n', "text/csv"),
    "csv with a header": (b'text\n"big house, garden"\nsmall flat\n', HEADED),
    "json": (b'["big house, garden", "small flat"]', JSON),
    "instances": (b'{"instances": [["big house, garden"], ["small flat"]]}', JSON),
    "records": (b'[{"text": "big house, garden"}, {"text": "small flat"}]', JSON),
    "lines": (b'"big house, garden"\n"small flat"', "application/jsonlines"),
    "npy": (encode(np.array(["big house, garden", "small flat"]), "application/x-npy")[0], "application/x-npy"),
}


@pytest.mark.parametrize("way", DOCUMENTS)
@pytest.mark.parametrize(
    "first", [TfidfVectorizer(), FeatureUnion([("words", TfidfVectorizer())])], ids=["one", "union"]
)
def test_a_pipeline_of_text_takes_one_text_a_row(way: str, first: Any) -> None:
    estimator = make_pipeline(first, LogisticRegression()).fit(HOUSES["text"], HOUSES["city"])
    assert answer(estimator, *DOCUMENTS[way]) == estimator.predict(TWO["text"]).tolist()


@pytest.mark.parametrize(
    ("body", "content_type", "said"),
    [(b"big house, garden", "text/csv", "2 columns, .* between quotes"), (b"[1]", JSON, "text there, and not 1")],
)
def test_a_row_that_is_no_single_text_is_refused(body: bytes, content_type: str, said: str) -> None:
    estimator = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(HOUSES["text"], HOUSES["city"])
    with pytest.raises(BadInput, match=said):
        answer(estimator, body, content_type)


def test_the_error_without_pandas_names_the_extra_to_install(fitted: Any) -> None:
    columns = taken_by(fitted)
    assert columns is not None
    with pytest.raises(PredictionFailed, match=r"pip install --editable '\.\[pandas\]'"):
        reader(columns, pandas=lambda: None)(Invocation(*WAYS["csv"]))


def test_estimators_of_numbers_alone_need_no_frame() -> None:
    numbers = HOUSES[["sqft"]]
    for estimator in (
        make_pipeline(SimpleImputer(), StandardScaler(), LinearRegression()),
        HistGradientBoostingRegressor(max_iter=2),
        make_pipeline(OrdinalEncoder(), LinearRegression()),
    ):
        assert taken_by(estimator.fit(numbers, PRICES)) is None


# -- sparse rows -------------------------------------------------------------------------------------------------------
NUMBERS = np.random.default_rng(5).random((40, 3)).round(1)
SIDES = (NUMBERS.sum(axis=1) > 1.5).astype(int)


def npz(rows: Any) -> bytes:
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_matrix(rows))
    return stream.getvalue()


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(MaxAbsScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GaussianNB(),
        SVC(),
        KNeighborsClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_sparse_rows_are_rows_whether_the_estimator_takes_them_so_or_not(estimator: Any) -> None:
    estimator.fit(NUMBERS, SIDES)
    assert answer(estimator, npz(NUMBERS), "application/x-npz") == estimator.predict(NUMBERS).tolist()
