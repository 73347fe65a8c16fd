"""Tensors are written as TensorFlow Serving writes them."""

from typing import Any

import numpy as np
import pytest

from torpor_container.content.open_inference.tensor_bytes import of_objects
from torpor_container.content.tf_serving.tfs_answer import written
from torpor_container.content.tf_serving.tfs_request import TfsRequest
from torpor_container.errors import BadInput

SCORES = np.array([0.1, np.nan], np.float32)
TABLE = np.array([[0.25, 0.75]], np.float64)
TEXT = of_objects([b"a", b"b"])


@pytest.mark.parametrize(
    ("tensors", "request_", "expected"),
    [
        ({"y": SCORES}, TfsRequest({}), b'{"predictions": [0.1, NaN]}'),
        ({"y": SCORES}, TfsRequest({}, rows=False), b'{"outputs": [0.1, NaN]}'),
        ({"y": SCORES, "z": TEXT}, TfsRequest({}), b'{"predictions": [{"y": 0.1, "z": "a"}, {"y": NaN, "z": "b"}]}'),
        ({"y": TABLE, "z": TEXT}, TfsRequest({}, rows=False), b'{"outputs": {"y": [[0.25, 0.75]], "z": ["a", "b"]}}'),
        ({"z_bytes": TEXT}, TfsRequest({}), b'{"predictions": [{"b64": "YQ=="}, {"b64": "Yg=="}]}'),
        ({"y": TABLE}, TfsRequest({}, "classify"), b'{"results": [[["0", 0.25], ["1", 0.75]]]}'),
        ({"y": SCORES, "z": TEXT}, TfsRequest({}, "regress"), b'{"results": [0.1, NaN]}'),
    ],
)  # fmt: skip
def test_each_form_is_answered_in_kind(tensors: Any, request_: TfsRequest, expected: bytes) -> None:
    assert written(tensors, request_) == (expected, "application/json")


@pytest.mark.parametrize(
    ("tensors", "method", "text"),
    [
        ({"y": SCORES}, "classify", "Expected classification signature method_name"),
        ({"y": TABLE}, "regress", "Expected regression signature method_name"),
        ({"y": np.float32(1)}, "predict", "Tensor name: y has no shape information "),
        ({"y": SCORES, "z": TABLE}, "predict", "Tensor name: z has inconsistent batch size: 1 expecting: 2"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(tensors: Any, method: str, text: str) -> None:
    with pytest.raises(BadInput, match=text):
        written({name: np.asarray(array) for name, array in tensors.items()}, TfsRequest({}, method))
