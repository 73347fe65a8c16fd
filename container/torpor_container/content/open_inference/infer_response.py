"""Writes predictions as the protocol's named tensors: JSON, with the data of some behind it in binary."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii as as_text
from math import isfinite
from typing import Any

import numpy as np

from torpor_container.content.open_inference.infer_request import BINARY_SIZE, InferRequest
from torpor_container.content.open_inference.tensor_bytes import BYTES, Array, as_bytes, bytes_of, of_objects
from torpor_container.content.plain import Outputs, Unwritable, plain
from torpor_container.content.reading.tensors import DATATYPE_OF, NAMED_TYPES
from torpor_container.core.protocols.protocol_types import HEADER_SIZE, TENSORS

PREDICTION = "predict"
"""What MLServer calls the output of XGBoost's and scikit-learn's models."""


def tensors_of(prediction: Any, only: str) -> dict[str, Array]:
    """The outputs of a prediction by name; `only` names the output of a model that has one. Raises Unwritable."""
    if type(prediction) is Outputs:
        return {name: array_of_values(value) for name, value in prediction.items()}
    return {only: array_of_values(prediction)}


def array_of_values(value: Any) -> Array:
    """An array of one of the protocol's types. What no such array holds is BYTES of JSON for each row. Raises
    Unwritable."""
    if type(value) is np.ndarray and value.dtype in DATATYPE_OF and not value.dtype.hasobject:
        return value
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) and value.dtype.name in NAMED_TYPES:
        return _of_cells(value) if value.dtype.hasobject else value
    values = plain(value, "tensors")
    if isinstance(values, dict):
        values = [values]
    try:
        array = np.array(values)
    except ValueError:  # its rows are not of one length
        array = of_objects(values)
    if array.dtype.name in NAMED_TYPES and not array.dtype.hasobject:
        return array
    return _of_cells(np.array(values, dtype=object) if array.dtype.kind in "USO" else array)


def _of_cells(array: Array) -> Array:
    """BYTES: text as it is, and any other value as JSON."""
    cells = [
        one if isinstance(one, str | bytes) else json.dumps(plain(one, "tensors")) for one in array.ravel().tolist()
    ]
    return of_objects(cells).reshape(array.shape)


def datatype_of(dtype: Any) -> str:
    """The protocol's name of the type of an array."""
    return DATATYPE_OF.get(dtype) or (BYTES if dtype.kind in "OUS" else NAMED_TYPES[dtype.name])


def written(tensors: Mapping[str, Array], request: InferRequest) -> tuple[bytes, str]:
    """The answer to a request, and its content type. Raises Unwritable for a number that JSON does not have."""
    before = f'{{"model_name": {as_text(request.model_name)}'
    if request.model_version:
        before += f', "model_version": {as_text(request.model_version)}'
    if request.request_id is not None:
        before += f', "id": {as_text(request.request_id)}'
    described: list[str] = []
    pieces: list[bytes] = []
    wanted, binary = request.outputs, request.binary
    for name, array in tensors.items():
        if wanted.get(name, binary) if wanted else binary:
            pieces.append(piece := bytes_of(array))
            described.append(_in_binary(name, array.dtype, array.shape, len(piece)))
        else:
            members = {"name": name, "datatype": datatype_of(array.dtype), "shape": array.shape}
            described.append(json.dumps({**members, "data": _as_json(name, array)}))
    head = f'{before}, "outputs": [{", ".join(described)}]}}'.encode()
    kind = f"{TENSORS};{HEADER_SIZE}={len(head)}" if pieces else TENSORS
    return b"".join((head, *pieces)), kind


@lru_cache(maxsize=256)
def _in_binary(name: str, dtype: Any, shape: tuple[int, ...], size: int) -> str:
    """An output whose data are so many bytes behind the JSON."""
    parameters = {BINARY_SIZE: size}
    return json.dumps({"name": name, "datatype": datatype_of(dtype), "shape": shape, "parameters": parameters})


def _as_json(name: str, array: Array) -> Sequence[Any]:
    values: list[Any] = array.ravel().tolist()
    if array.dtype.kind == "f" and not all(map(isfinite, values)):
        raise Unwritable.here(
            f"output {name} has a number that JSON does not have (NaN or infinity): ask for it in binary"
        )
    if array.dtype.kind not in "OUS":
        return values
    try:
        return [as_bytes(one).decode() for one in values]
    except UnicodeDecodeError:
        raise Unwritable.here(f"output {name} has bytes that are no text: ask for it in binary") from None
