"""Writes named tensors as TensorFlow Serving answers them: rows or columns, bare for one tensor, NaN as a token."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from torpor_container.content.media import JSON
from torpor_container.content.open_inference.tensor_bytes import Array, as_bytes
from torpor_container.content.tf_serving.tfs_request import B64, TfsRequest
from torpor_container.core.protocols.protocol_types import CLASSIFY, PREDICT
from torpor_container.errors import BadInput

OF_BYTES = "_bytes"
WRONG_METHOD = (
    "Expected {what} signature method_name to be tensorflow/serving/{method}. Was: tensorflow/serving/predict"
)


def written(tensors: Mapping[str, Array], request: TfsRequest) -> tuple[bytes, str]:
    """The answer to a request, and its content type. Raises BadInput for a method that the outputs do not fit."""
    if request.method != PREDICT:
        document: Any = {"results": _results(tensors, request.method)}
    elif not request.rows:
        columns = {name: _plain(name, array) for name, array in tensors.items()}
        document = {"outputs": next(iter(columns.values())) if len(columns) == 1 else columns}
    else:
        document = {"predictions": _rows(tensors)}
    return json.dumps(document).encode(), JSON


def _rows(tensors: Mapping[str, Array]) -> list[Any]:
    size = None
    for name, array in tensors.items():
        if not array.ndim:
            raise BadInput(f"Tensor name: {name} has no shape information ")
        if size is not None and len(array) != size:
            raise BadInput(f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {size}")
        size = len(array)
    plain = {name: _plain(name, array) for name, array in tensors.items()}
    if len(plain) == 1:
        rows: list[Any] = next(iter(plain.values()))
        return rows
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def _results(tensors: Mapping[str, Array], method: str) -> list[Any]:
    """A value for each example, or its classes with their scores, numbered from 0."""
    arrays = [array for array in tensors.values() if array.dtype.kind == "f"]
    array = arrays[0] if len(arrays) == 1 else np.empty(0)
    if method == CLASSIFY:
        if array.ndim != 2 or array.shape[1] < 2:
            raise BadInput(WRONG_METHOD.format(what="classification", method=method))
        return [[[str(place), score] for place, score in enumerate(row)] for row in _plain("", array)]
    if array.ndim == 0 or array.size != len(array):
        raise BadInput(WRONG_METHOD.format(what="regression", method=method))
    values: list[Any] = _plain("", array.reshape(-1))
    return values


def _plain(name: str, array: Array) -> Any:
    """Nested lists. A float of 32 bits has the shortest text that means it, as the server writes it."""
    if array.dtype.kind in "OUS":
        cells = map(as_bytes, array.ravel().tolist())
        return _nested([_text(one, name.endswith(OF_BYTES)) for one in cells], array.shape)
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        return _nested([float(text) for text in array.ravel().astype(str).tolist()], array.shape)
    return array.tolist()


def _text(element: bytes, as_base64: bool) -> Any:
    return {B64: b64encode(element).decode()} if as_base64 else element.decode("utf-8", "replace")


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    value: Any = flat
    for size in reversed(shape[1:]):
        value = [value[at : at + size] for at in range(0, len(value), size)] if size else []
    return value if shape else flat[0]
