"""A model of AWS's XGBoost image reads bodies as AWS's container does."""

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
import xgboost

from torpor_container.app import body_max_bytes
from torpor_container.errors import BadInput, ContainerError, UnsupportedContentType
from torpor_container.formats import Conventions
from torpor_container.formats.format import ServableModel
from torpor_container.formats.xgboost import boosters
from torpor_container.invocation import Invocation, Reply
from torpor_container.settings import Settings

ROWS = np.random.default_rng(4).random((90, 4))
AWS, STRICT = Conventions(image="xgboost"), Conventions(image="xgboost", strict=True)


@cache
def booster() -> Any:
    return xgboost.train({"nthread": 1, "max_depth": 3}, xgboost.DMatrix(ROWS, ROWS.sum(axis=1)), 5)


def model(conventions: Conventions = AWS, pickled: bool = False) -> ServableModel:
    return boosters.serve(booster(), conventions, pickled=pickled)


def predicted(*row: float) -> list[float]:
    """With missing values for the columns that the row lacks."""
    rows = np.full((1, 4), np.nan)
    rows[0, : len(row)] = row
    scores: list[float] = booster().predict(xgboost.DMatrix(rows)).tolist()
    return scores


def answer(model: ServableModel, body: bytes, content_type: str = "text/csv") -> Any:
    return json.loads(model.invoke(Invocation(body, content_type, "application/json")).body)


def test_an_empty_body_has_an_empty_answer() -> None:
    with pytest.raises(ContainerError) as raised:
        model().invoke(Invocation(b"", "text/csv"))
    assert (raised.value.reply().status, raised.value.reply().body) == (204, b"")
    with pytest.raises(BadInput, match="empty"):
        model(Conventions()).invoke(Invocation(b"", "text/csv"))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"a,b,c,d", "text/csv"),
        (b"1,2,3,4\n1,2", "text/csv"),
        (b" \n", "text/csv"),
        (b"0:1 2", "text/libsvm"),
        (b"1,2,3,4", "text/x-libsvm"),
        (b"[1, 2", "application/json"),
        (b"1,2,3,4", "application/x-recordio-protobuf"),
    ],
)
def test_a_body_that_is_not_of_its_type_is_an_unsupported_media_type(body: bytes, content_type: str) -> None:
    with pytest.raises(UnsupportedContentType) as raised:
        model().invoke(Invocation(body, content_type))
    assert raised.value.status == 415


@pytest.mark.parametrize("width", [3, 5])
@pytest.mark.parametrize("conventions", [AWS, Conventions()], ids=["aws", "own"])
def test_rows_that_the_model_does_not_take_are_a_bad_request(width: int, conventions: Conventions) -> None:
    with pytest.raises(BadInput, match=f"takes 4 columns, and the rows have {width}") as raised:
        model(conventions).invoke(Invocation(b",".join([b"0.5"] * width), "text/csv"))
    assert raised.value.status == 400


@pytest.mark.parametrize(
    ("conventions", "csv"),
    [
        (Conventions(image="xgboost", multi_model=False), "text/csv; charset=utf-8"),
        (Conventions(image="xgboost", multi_model=True), "text/csv"),
        (Conventions(multi_model=False), "text/csv"),
    ],
    ids=["one model", "many models", "another image"],
)
def test_flask_which_serves_one_model_names_the_charset(conventions: Conventions, csv: str) -> None:
    served, accepts = model(conventions), ("text/csv", "application/json")
    alone = [served.invoke(Invocation(b"1,2,3,4", "text/csv", accept)) for accept in accepts]
    together = served.invoke_together([Invocation(b"1,2,3,4", "text/csv", accept) for accept in accepts])
    replies: list[Reply | Exception] = [*alone, *together]
    found = [reply.content_type for reply in replies if not isinstance(reply, Exception)]
    assert found == [csv, "application/json"] * 2


def test_indexes_of_libsvm_count_from_0_and_another_image_refuses_rows_that_count_from_1_with_advice() -> None:
    for content_type in ("text/libsvm", "text/x-libsvm", "libsvm"):
        assert answer(model(), b"1 0:0.5 3:0.25", content_type) == predicted(0.5, np.nan, np.nan, 0.25)
    with pytest.raises(BadInput, match="seem to count from 1"):
        model(Conventions()).invoke(Invocation(b"1:0.5 4:0.25", "text/libsvm"))


@pytest.mark.parametrize("conventions", [AWS, STRICT], ids=["aws", "strict"])
@pytest.mark.parametrize("pickled", [False, True])
def test_libsvm_may_have_one_column_more_than_the_model_which_is_passed_over(
    conventions: Conventions, pickled: bool, caplog: pytest.LogCaptureFixture
) -> None:
    served = model(conventions, pickled)
    body = b"1:0.5 4:0.25\n0:0.5\n"
    for _ in range(2):
        assert answer(served, body, "text/libsvm") == [*predicted(np.nan, 0.5), *predicted(0.5)]
    assert caplog.text.count("have the column 4, and the model's columns are 0 to 3") == 1
    with pytest.raises(BadInput, match="takes 4 columns, and the rows have 6"):
        served.invoke(Invocation(b"1:0.5 5:0.25", "text/libsvm"))


def test_a_model_that_was_trained_on_libsvm_that_counts_from_1_takes_such_rows() -> None:
    wide = np.hstack([np.full((90, 1), np.nan), ROWS])
    trained = xgboost.train({"nthread": 1}, xgboost.DMatrix(wide, ROWS.sum(axis=1)), 3)
    expected = trained.predict(xgboost.DMatrix(np.array([[np.nan, 0.5, np.nan, np.nan, 0.25]]))).tolist()
    assert answer(boosters.serve(trained, AWS), b"1:0.5 4:0.25", "text/libsvm") == expected


# -- --aws-strict ------------------------------------------------------------------------------------------------------
def test_strictly_a_short_row_lacks_values() -> None:
    assert answer(model(STRICT), b"0.5,0.2") == predicted(0.5, 0.2)
    assert answer(model(STRICT), b"0:0.5", "text/libsvm") == predicted(0.5)
    assert answer(model(STRICT, pickled=True), b"0.5,0.2,0.1") == predicted(0.5, 0.2, 0.1)


def test_strictly_a_long_row_and_two_columns_too_few_for_a_pickle_are_refused() -> None:
    with pytest.raises(BadInput, match="Feature size of csv inference data 2 is not consistent"):
        model(STRICT, pickled=True).invoke(Invocation(b"0.5,0.2", "text/csv"))
    for pickled in (False, True):
        with pytest.raises(BadInput):
            model(STRICT, pickled=pickled).invoke(Invocation(b"1,2,3,4,5", "text/csv"))


@pytest.mark.parametrize(
    ("variables", "most"),
    [
        ({}, 6291456),
        ({"MAX_CONTENT_LENGTH": "20"}, 20),
        ({"MAX_CONTENT_LENGTH": "9000000"}, 6291456),
        ({"MAX_CONTENT_LENGTH": "99000000", "TORPOR_BODY_MAX_BYTES": "88000000"}, 20 * 1024**2),
        ({"MAX_CONTENT_LENGTH": "20", "TORPOR_IMAGE": ""}, 6291456),
    ],
)
def test_max_content_length_bounds_bodies_up_to_a_cap(variables: dict[str, str], most: int) -> None:
    assert body_max_bytes(Settings.read({"TORPOR_IMAGE": "xgboost", **variables})) == most
