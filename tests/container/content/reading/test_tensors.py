"""Tensors of the Open Inference Protocol as rows: by name and shape, or not at all."""

import json
from typing import Any

import numpy as np
import pytest

from torpor_container.content import RowLayout, decode
from torpor_container.errors import BadInput

LAYOUT = RowLayout(np.float64, columns=3, names=lambda: ["a", "b", "c"])
NAMELESS = RowLayout(np.float64, columns=3)
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
FLAT = [1, 2, 3, 4, 5, 6]


def tensor(name: str, shape: Any, data: Any, datatype: str = "FP32", **more: Any) -> dict[str, Any]:
    return {"name": name, "shape": shape, "datatype": datatype, "data": data, **more}


def rows(inputs: list[dict[str, Any]], layout: RowLayout = LAYOUT, **more: Any) -> Any:
    return decode(json.dumps({"inputs": inputs, **more}).encode(), "application/json", layout).tolist()


def columns(names: str) -> list[dict[str, Any]]:
    """A tensor for each of three columns, in the order given."""
    data = (
        dict(zip(names, zip(*ROWS, strict=True), strict=True))
        if names != "cba"
        else {"c": (3, 6), "b": (2, 5), "a": (1, 4)}
    )
    return [tensor(name, [2, 1], list(column)) for name, column in data.items()]


def test_a_tensor_is_rows_by_columns_flat_or_nested() -> None:
    assert rows([tensor("any", [2, 3], FLAT)]) == rows([tensor("any", [2, 3], ROWS)]) == ROWS


def test_a_tensor_for_each_column_goes_by_its_name() -> None:
    assert rows(columns("abc")) == rows(columns("cba")) == ROWS


def test_a_column_may_be_of_one_dimension_and_nested() -> None:
    mixed = [tensor("a", [2], [1, 4]), tensor("b", [2, 1], [[2], [5]], "INT64"), tensor("c", [2], [3.0, 6.0], "FP64")]
    assert rows(mixed) == ROWS


def test_numbered_tensors_are_the_columns_of_a_model_without_names() -> None:
    numbered = [tensor(f"f{number}", [2, 1], [ROWS[0][number], ROWS[1][number]]) for number in (2, 0, 1)]
    assert rows(numbered, NAMELESS) == ROWS


def test_members_that_change_nothing_are_accepted() -> None:
    one = tensor("any", [2, 3], FLAT, parameters={"content_type": "np"})
    assert rows([one], id="7", parameters={"content_type": "pd"}, outputs=[{"name": "predict"}]) == ROWS


REFUSED: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]] = {
    "too few values": ([tensor("x", [2, 3], FLAT[:5])], {}, r"tensor x has 5 values, and its shape \[2, 3\] has 6"),
    "another nesting": ([tensor("x", [2, 3], [[1, 2], [3, 4], [5, 6]])], {}, "not nested as its shape"),
    "no shape": ([{"name": "x", "datatype": "FP32", "data": FLAT}], {}, "tensor x lacks shape"),
    "no data": ([{"name": "x", "shape": [1, 3], "datatype": "FP32"}], {}, "tensor x lacks data"),
    "a shape that is none": ([tensor("x", "2x3", FLAT)], {}, "a list of sizes"),
    "too many dimensions": ([tensor("x", [1] * 3000, [1])], {}, "tensor x has 3000 dimensions, and 32 are the most"),
    "a size that no array has": ([tensor("x", [10**30, 0], [])], {}, "tensor x has the shape .*, which is too large"),
    "an unknown datatype": ([tensor("x", [2, 3], FLAT, "FLOAT")], {}, "'FLOAT', and these are known: BOOL, "),
    "a fraction in whole numbers": ([tensor("x", [1, 3], [1, 2.5, 3], "INT32")], {}, "value 2: '2.5' is not of its"),
    "text in numbers": ([tensor("x", [1, 3], [1, "2", 3])], {}, "value 2: '2' is not of its datatype"),
    "text for a number": ([tensor("x", [1, 3], ["1", "x", "3"], "BYTES")], {}, "is not a number"),
    "another name": ([tensor(name, [1, 1], [1]) for name in "abd"], {}, "unknown: d; missing: c"),
    "a column alone": ([tensor("a", [2, 1], [1, 2])], {}, "missing: b, c"),
    "a name twice": ([tensor("a", [1, 1], [1])] * 2, {}, "there twice"),
    "other lengths": ([tensor("a", [2], [1, 2]), tensor("b", [1], [1])], {}, "the same number of rows: a 2, b 1"),
    "several of rows": (
        [tensor("a", [1, 3], [1, 2, 3]), tensor("b", [1], [1])],
        {},
        r"tensor a has the shape \[1, 3\]",
    ),
    "binary data": (
        [tensor("x", [1, 3], [1, 2, 3], parameters={"binary_data_size": 12})],
        {},
        "binary_data_size of tensor x",
    ),
    "a parameter": ([tensor("x", [2, 3], FLAT)], {"parameters": {"sequence_id": 1}}, "sequence_id of the request"),
    "another output": (
        [tensor("x", [2, 3], FLAT)],
        {"outputs": [{"name": "proba"}]},
        "one output, predict, and no proba",
    ),
    "a member that is none": ([tensor("x", [2, 3], FLAT)], {"batch": 1}, "and no batch"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_tensor_that_does_not_fit_the_model_is_refused_by_name(name: str) -> None:
    inputs, more, said = REFUSED[name]
    with pytest.raises(BadInput, match=said):
        rows(inputs, **more)


def test_tensors_have_no_order_where_the_model_knows_no_names() -> None:
    with pytest.raises(BadInput, match="has no names for its columns"):
        rows(columns("abc"), NAMELESS)
