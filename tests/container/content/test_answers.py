"""Predictions become bytes: the chosen content type, and the format of each kind of container."""

import csv
import io
import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor_container.content import TOOLKIT, XGBOOST, XGBOOST_MULTI_MODEL, Answers
from torpor_container.content.accept import choose
from torpor_container.content.answers import MANY
from torpor_container.errors import NotAcceptable

OFFERED = ("text/csv", "application/json", "application/x-npy")
PREDICTION = np.array([0.5, 1.25], dtype=np.float32)
PER_CLASS = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)

CHOICES = {
    "": "text/csv",
    "*/*": "text/csv",
    "application/json": "application/json",
    "Application/JSON; charset=utf-8": "application/json",
    "json": "application/json",
    "application/*": "application/json",
    "application/json, text/csv": "application/json",
    "text/csv, application/json": "text/csv",
    "text/csv;q=0.5, application/json": "application/json",
    "text/csv;q=0.5, application/json;q=0.4": "text/csv",
    "*/*, application/json": "application/json",
    "*/*;q=0.1, application/x-npy;q=0.2": "application/x-npy",
    "text/csv;q=0, */*": "application/json",
    "text/html, application/json;q=0.9": "application/json",
    "text/html, */*;q=0.1": "text/csv",
    "application/json;q=high": "application/json",
}


@pytest.mark.parametrize("accept", CHOICES)
def test_the_type_that_the_caller_likes_best_is_chosen(accept: str) -> None:
    assert choose(accept, OFFERED) == CHOICES[accept]


@pytest.mark.parametrize("accept", ["text/html", "text/csv;q=0", "image/*", "application/jsonlines", ","])
def test_nothing_acceptable_is_406_and_lists_what_is_offered(accept: str) -> None:
    with pytest.raises(NotAcceptable) as raised:
        choose(accept, OFFERED)
    assert raised.value.status == 406
    assert all(kind in str(raised.value) for kind in OFFERED)


@given(st.text(max_size=40))
def test_any_header_gives_an_offered_type_or_406(accept: str) -> None:
    with suppress(NotAcceptable):
        assert choose(accept, OFFERED) in OFFERED


WRITTEN = [
    (XGBOOST, "text/csv", b"0.5\n1.25\n", b"0.25,0.75\n1.0,0.0\n"),
    (
        XGBOOST,
        "application/json",
        b'{"predictions": [{"score": 0.5}, {"score": 1.25}]}',
        b'{"predictions": [{"score": [0.25, 0.75]}, {"score": [1.0, 0.0]}]}',
    ),
    (
        XGBOOST,
        "application/jsonlines",
        b'{"score": 0.5}\n{"score": 1.25}\n',
        b'{"score": [0.25, 0.75]}\n{"score": [1.0, 0.0]}\n',
    ),
    (XGBOOST_MULTI_MODEL, "text/csv", b"0.5,1.25", b"[0.25, 0.75],[1.0, 0.0]"),
    (XGBOOST_MULTI_MODEL, "application/json", b"[0.5, 1.25]", b"[[0.25, 0.75], [1.0, 0.0]]"),
    (TOOLKIT, "text/csv", b"0.5\n1.25\n", b"0.25,0.75\n1.0,0.0\n"),
    (TOOLKIT, "application/json", b"[0.5, 1.25]", b"[[0.25, 0.75], [1.0, 0.0]]"),
    (TOOLKIT, "application/jsonlines", b"0.5\n1.25\n", b"[0.25, 0.75]\n[1.0, 0.0]\n"),
]


@pytest.mark.parametrize(("answers", "kind", "flat", "per_class"), WRITTEN)
def test_each_container_writes_as_its_clients_expect(
    answers: Answers, kind: str, flat: bytes, per_class: bytes
) -> None:
    assert answers.encode(PREDICTION, kind) == flat
    assert answers.encode(PER_CLASS, kind) == per_class


NUMBERS = st.one_of(st.floats(width=32), st.sampled_from([0.1, 1e-7, 1e22, -0.0, 3.0]))
DTYPES = st.sampled_from([np.float32, np.float64, np.int64, np.object_])


@pytest.mark.parametrize("answers", [XGBOOST, XGBOOST_MULTI_MODEL, TOOLKIT])
@settings(deadline=None, max_examples=tries(4))
@given(some=st.lists(NUMBERS, min_size=1, max_size=5), width=st.integers(0, 3), dtype=DTYPES, odd=st.booleans())
def test_many_rows_are_written_to_the_byte_as_if_at_once(
    answers: Answers, some: list[float], width: int, dtype: Any, odd: bool
) -> None:
    numbers = [number for number in some if np.isfinite(number)] or [1.5] if dtype is np.int64 else some
    flat = np.resize(np.array(numbers, np.float64).clip(-1e15, 1e15), 2 * MANY + odd).astype(dtype)
    prediction = flat if not width else np.stack([flat] * width, axis=1)
    for kind, encoder in answers.encoders.items():
        assert answers.encode(prediction, kind) == encoder(prediction)


@pytest.mark.parametrize("answers", [XGBOOST, XGBOOST_MULTI_MODEL, TOOLKIT])
def test_predictions_survive_npy(answers: Answers) -> None:
    body = answers.encode(PER_CLASS, "application/x-npy")
    np.testing.assert_array_equal(np.load(io.BytesIO(body), allow_pickle=False), PER_CLASS)


def test_xgboost_answers_csv_alone_and_json_under_the_multi_model_server() -> None:
    assert XGBOOST.choose("") == "text/csv"
    assert XGBOOST_MULTI_MODEL.choose("") == "application/json"
    assert XGBOOST_MULTI_MODEL.choose("*/*") == TOOLKIT.choose("*/*") == "application/json"


def test_the_default_can_be_set_to_anything_that_can_be_given() -> None:
    assert XGBOOST.preferring("application/jsonlines").choose("*/*") == "application/jsonlines"
    assert XGBOOST.preferring("text/html").choose("*/*") == "text/csv"
    assert XGBOOST.preferring("json").choose("text/csv") == "text/csv"


def test_class_names_are_written_too() -> None:
    names = np.array(["cat", 'big, "dog"'], dtype=object)
    assert TOOLKIT.encode(names, "text/csv") == b'cat\n"big, ""dog"""\n'
    assert json.loads(TOOLKIT.encode(names, "application/json")) == names.tolist()
    assert np.load(io.BytesIO(TOOLKIT.encode(names, "application/x-npy"))).tolist() == names.tolist()


def test_maps_are_written_as_json_in_every_type() -> None:
    """As an ONNX classifier answers them: from class to probability."""
    maps = [{"cat": 0.25, "dog": 0.75}, {0: 1.0}]
    kept = [{"cat": 0.25, "dog": 0.75}, {"0": 1.0}]
    assert json.loads(TOOLKIT.encode(maps, "application/json")) == kept
    cells = list(csv.reader(io.StringIO(TOOLKIT.encode(maps, "text/csv").decode())))
    assert [json.loads(cell) for (cell,) in cells] == kept
    elements = np.load(io.BytesIO(TOOLKIT.encode(maps, "application/x-npy")))
    assert [json.loads(element) for element in elements] == kept
