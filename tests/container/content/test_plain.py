"""The values that a model or a script may return, in each content type: never as Python would print them."""

import collections
import datetime
import decimal
import enum
import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from torpor_container.content import TOOLKIT, XGBOOST_MULTI_MODEL
from torpor_container.content.plain import Outputs
from torpor_container.errors import NotAcceptable, PredictionFailed

CSV, JSON, LINES, NPY = "text/csv", "application/json", "application/jsonlines", "application/x-npy"
Pair = collections.namedtuple("Pair", "a b")


class Word(str, enum.Enum):  # noqa: UP042  StrEnum is printed as its value
    """Printed as its name, and not as its value."""

    YES = "yes"


class Tensor:
    """As a framework's own: it becomes an array, and has no `tolist`."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([1.5, 2.5])


FRAME = pd.DataFrame({"label": [0, 1], "p": [0.25, 0.75]})
ROWS: dict[str, tuple[Callable[[], Any], bytes, Any]] = {
    "a frame": (lambda: FRAME, b"0,0.25\n1,0.75\n", [{"label": 0, "p": 0.25}, {"label": 1, "p": 0.75}]),
    "a frame without names": (lambda: pd.DataFrame([[1, "a"]]), b"1,a\n", [[1, "a"]]),
    "a frame of nothings": (
        lambda: pd.DataFrame({"a": pd.array([1, None], "Int64")}),
        b"1\n\n",
        [{"a": 1}, {"a": None}],
    ),
    "a series": (lambda: FRAME["p"], b"0.25\n0.75\n", [0.25, 0.75]),
    "a sparse matrix": (lambda: sparse.csr_matrix([[0, 1], [2, 0]]), b"0,1\n2,0\n", [[0, 1], [2, 0]]),
    "a sparse array": (lambda: sparse.coo_array(np.array([[0, 1.5]])), b"0.0,1.5\n", [[0.0, 1.5]]),
    "a generator": (lambda: (number for number in range(2)), b"0\n1\n", [0, 1]),
    "a range": (lambda: range(2), b"0\n1\n", [0, 1]),
    "a map": (lambda: map(int, "12"), b"1\n2\n", [1, 2]),
    "a deque": (lambda: collections.deque([1, 2]), b"1\n2\n", [1, 2]),
    "a list of arrays": (
        lambda: [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
        b"1.0,2.0\n3.0,4.0\n",
        [[1.0, 2.0], [3.0, 4.0]],
    ),
    "numpy's scalars": (lambda: [[np.float64(0.1), np.int64(2)]], b"0.1,2\n", [[0.1, 2]]),
    "a pair": (lambda: [Pair(1, 2)], b"1,2\n", [[1, 2]]),
    "a structured array": (lambda: np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]), b"1,2.5\n", [[1, 2.5]]),
    "a tensor": (Tensor, b"1.5\n2.5\n", [1.5, 2.5]),
    "a masked array": (lambda: np.ma.array([1.0, 2.0], mask=[False, True]), b'1.0\n""\n', [1.0, None]),
    "nothing in a cell": (lambda: [[1, None], [2, 3]], b"1,\n2,3\n", [[1, None], [2, 3]]),
    "days and times": (
        lambda: [datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3)],
        b"2026-01-02\n2026-01-02T03:00:00\n",
        ["2026-01-02", "2026-01-02T03:00:00"],
    ),
    "an array of days": (
        lambda: np.array(["2026-01-02", "NaT"], dtype="M8[D]"),
        b'2026-01-02\n""\n',
        ["2026-01-02", None],
    ),
    "an enumeration": (lambda: [Word.YES], b"yes\n", ["yes"]),
    "a map by numpy's numbers": (lambda: [{np.int64(1): 0.5}], b'"{""1"": 0.5}"\n', [{"1": 0.5}]),
    "one number": (lambda: np.float64(0.5), b"0.5\n", 0.5),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_written_as_rows(name: str) -> None:
    made, as_csv, as_json = ROWS[name]
    assert TOOLKIT.encode(made(), CSV) == as_csv
    assert json.loads(TOOLKIT.encode(made(), JSON)) == as_json
    lines = TOOLKIT.encode(made(), LINES).splitlines()
    assert list(map(json.loads, lines)) == (as_json if isinstance(as_json, list) else [as_json])


def test_an_arrow_table_has_rows_too() -> None:
    table = pytest.importorskip("pyarrow").table({"a": [1, 2], "b": ["x", None]})
    assert TOOLKIT.encode(table, CSV) == b"1,x\n2,\n"
    assert json.loads(TOOLKIT.encode(table, JSON))[1] == {"a": 2, "b": None}


WRONG_TYPE = {
    "exact digits": ([decimal.Decimal("1.10")], (NPY,), "numbers or text"),
    "three dimensions": (np.zeros((1, 2, 2)), (CSV,), "more than two dimensions .*: ask for application/json"),
    "many in three dimensions": (np.zeros((2, 100, 100)), (CSV,), "more than two dimensions"),
    "lists within rows": ([[[1]]], (CSV,), "more than two dimensions"),
    "rows of other lengths": ([[1], [2, 3]], (NPY,), "not of one length: ask for application/json or text/csv"),
    "text beside numbers": ([[1, "a"]], (NPY,), "numbers or text, not both, .*: ask for application/json or text/csv"),
}
"""Predictions that other types can carry."""


@pytest.mark.parametrize("name", WRONG_TYPE)
def test_a_prediction_that_only_other_types_can_carry_is_406_which_names_them(name: str) -> None:
    prediction, kinds, said = WRONG_TYPE[name]
    for kind in kinds:
        with pytest.raises(NotAcceptable, match=said) as raised:
            TOOLKIT.encode(prediction, kind)
        assert raised.value.status == 406


REFUSED: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "an object": (object(), (CSV, JSON, LINES, NPY), "type object cannot be written"),
    "an object in a row": ([[1, object()]], (CSV, JSON, LINES, NPY), "type object"),
    "bytes": (b"hello", (CSV, JSON, LINES, NPY), "type bytes .*: decode it, or return"),
    "bytes in an array": (np.array([b"a"]), (CSV, JSON, LINES), "type bytes"),
    "a view of bytes": (memoryview(b"ab"), (CSV, JSON, LINES, NPY), "type memoryview"),
    "a set": ({1, 2}, (CSV, JSON, LINES, NPY), "type set .*: a set has no order: return a list"),
    "a time span": ([datetime.timedelta(1)], (CSV, JSON, LINES, NPY), "datetime.timedelta"),
    "complex numbers": (np.array([1j]), (CSV, JSON, LINES), "complex128"),
    "exact digits": ([decimal.Decimal("1.10")], (JSON, LINES), "decimal.Decimal cannot be written"),
    "nothing at all": (None, (CSV, NPY), "predict_fn returned nothing"),
    "a huge sparse matrix": (sparse.coo_matrix((10**5, 10**5)), (CSV, JSON, LINES, NPY), "too large"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_prediction_that_a_type_cannot_carry_is_an_error_that_says_what_to_return(name: str) -> None:
    prediction, kinds, said = REFUSED[name]
    for kind in kinds:
        with pytest.raises(PredictionFailed, match=said) as raised:
            TOOLKIT.encode(prediction, kind)
        assert "Traceback" not in str(raised.value)


def test_a_list_that_holds_itself_is_an_error_too() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(PredictionFailed, match="contains itself"):
        TOOLKIT.encode(endless, JSON)


def test_exact_digits_are_digits_in_csv() -> None:
    assert TOOLKIT.encode([decimal.Decimal("1.10")], CSV) == b"1.10\n"


@pytest.mark.parametrize(
    ("prediction", "array"),
    [
        (FRAME, [[0.0, 0.25], [1.0, 0.75]]),
        (sparse.csr_matrix([[0, 1]]), [[0, 1]]),
        ([[1, None]], [[1.0, float("nan")]]),
        (range(2), [0, 1]),
        (["a", "bc"], ["a", "bc"]),
    ],
)
def test_npy_is_an_array_of_numbers_or_text(prediction: Any, array: list[Any]) -> None:
    read = np.load(io.BytesIO(TOOLKIT.encode(prediction, NPY)), allow_pickle=False)
    np.testing.assert_array_equal(read, np.array(array))


BOTH = Outputs(label=np.array([1, 0]), probability=np.array([[0.25, 0.75], [0.5, 0.5]]))


def test_several_outputs_are_named_in_json_and_beside_each_other_in_csv() -> None:
    assert json.loads(TOOLKIT.encode(BOTH, JSON)) == {"label": [1, 0], "probability": [[0.25, 0.75], [0.5, 0.5]]}
    assert TOOLKIT.encode(BOTH, CSV) == b"1,0.25,0.75\n0,0.5,0.5\n"
    assert TOOLKIT.encode(BOTH, LINES).splitlines()[1] == b'{"label": 0, "probability": [0.5, 0.5]}'


def test_several_outputs_are_no_one_array_nor_rows_of_other_counts() -> None:
    with pytest.raises(NotAcceptable, match="one array, and the model has the outputs label, probability: name one"):
        TOOLKIT.encode(BOTH, NPY)
    with pytest.raises(NotAcceptable, match="a, b have not one value for each row, as text/csv needs"):
        TOOLKIT.encode(Outputs(a=np.zeros(2), b=np.zeros(3)), CSV)


def test_the_single_line_of_xgboost_keeps_its_brackets_and_takes_no_deeper_array() -> None:
    assert XGBOOST_MULTI_MODEL.encode(np.array([[0.25, 0.75]]), CSV) == b"[0.25, 0.75]"
    with pytest.raises(NotAcceptable):
        XGBOOST_MULTI_MODEL.encode(np.zeros((1, 1, 1)), CSV)
