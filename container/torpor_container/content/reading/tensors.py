"""Reads the named tensors of the Open Inference Protocol (KServe's V2, which Triton and MLServer speak).

{"inputs": [{"name": "a", "shape": [2, 1], "datatype": "FP32", "data": [1, 3]}, ...]}

`data` is flat in row-major order, or nested as the shape says. The datatype and the shape are checked against it, and
what changes a tensor's meaning and is not known here is refused.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from torpor_container.content.kinds import kind_of
from torpor_container.errors import BadInput
from torpor_container.frozen_class import frozen

MEMBERS = ("name", "shape", "datatype", "data")
"""The members of each tensor, all required."""
REQUEST = ("inputs", "id", "outputs", "parameters")
"""The members of a request."""
CODECS = ("np", "pd", "str")
"""MLServer's codecs for arrays, frames and text: they change nothing here."""
RANK_MAX = 32
CELLS_MAX = 2**40
"""The most elements of a shape, each size of 0 taken as 1: no array has more, not even an empty one."""

DATATYPES: Mapping[str, Any] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "BYTES": np.object_,
}
"""The protocol's table; BYTES is text here, as JSON has it."""
DATATYPE_OF: Mapping[Any, str] = {np.dtype(dtype): name for name, dtype in DATATYPES.items()}
NAMED_TYPES: Mapping[str, str] = {dtype.name: name for dtype, name in DATATYPE_OF.items()}


class Tensor(NamedTuple):
    """One checked tensor: its values fit its shape and its datatype."""

    name: str
    shape: tuple[int, ...]
    datatype: str
    values: list[Any] | None = None
    """As JSON has them, flat."""
    array: Any = None
    """As an array of the tensor's shape and datatype, if its data came in binary: its BYTES are `bytes`."""

    @property
    def flat(self) -> list[Any]:
        """The values, in row-major order. Those of BYTES are text. Raises BadInput for bytes that are none."""
        if self.values is not None:
            return self.values
        if self.datatype != "BYTES":
            flat: list[Any] = self.array.ravel().tolist()
            return flat
        try:
            return [one.decode() if isinstance(one, bytes) else one for one in self.array.ravel().tolist()]
        except UnicodeDecodeError as error:
            raise BadInput(f"tensor {self.name}: an element is not text in UTF-8: {error.reason}") from None

    @property
    def nested(self) -> Any:
        """The values as nested lists of the tensor's shape."""
        value: Any = self.flat
        for size in reversed(self.shape[1:]):
            value = [value[at : at + size] for at in range(0, len(value), size)] if size else []
        return value if self.shape else self.flat[0]


@frozen
class TensorRequest:
    """What a request of this protocol has besides its tensors."""

    outputs: tuple[str, ...] = ()
    """The names of the outputs; empty for all."""
    request_id: str | None = None


def are_tensors(value: object) -> bool:
    """Whether these are tensors of this protocol, valid or not: `data` alone is an instance of another protocol."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(one, dict) and ("datatype" in one or "shape" in one) and "name" in one for one in value)


def asked(request: Mapping[str, Any]) -> TensorRequest:
    """Read the options. Raises BadInput for an unsupported one that changes the request's meaning."""
    if unknown := [key for key in request if key not in REQUEST]:
        raise BadInput(
            f"a request of the Open Inference Protocol has {', '.join(REQUEST)}, and no {', '.join(unknown)}"
        )
    _check_parameters(request.get("parameters"), "the request")
    outputs = request.get("outputs") or []
    if not (isinstance(outputs, list) and all(isinstance(one, dict) and "name" in one for one in outputs)):
        raise BadInput("outputs is a list of objects, each with the name of an output")
    for one in outputs:
        _check_parameters(one.get("parameters"), f"output {one['name']}")
    request_id = request.get("id")
    names = tuple(str(one["name"]) for one in outputs)
    return TensorRequest(names, None if request_id is None else str(request_id))


def tensors(inputs: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
    """The tensors by name. Raises BadInput, which names the tensor."""
    read = [checked_tensor(one) for one in inputs]
    named = {one.name: one for one in read}
    if len(named) < len(read):
        raise BadInput(f"a tensor's name is there twice: {', '.join(one.name for one in read)}")
    return named


def table_of_tensors(inputs: Sequence[Mapping[str, Any]]) -> tuple[Any, list[object] | None]:
    """Rows, and the columns' names: of one tensor of rows by columns, which has none, or of a tensor per column.

    Raises BadInput.
    """
    return table_of(list(tensors(inputs).values()))


def table_of(read: Sequence[Tensor]) -> tuple[Any, list[object] | None]:
    """As `table_of_tensors`, of tensors that were read. Raises BadInput."""
    if len(read) == 1 and len(read[0].shape) == 2 and read[0].shape[1] != 1:
        return read[0].nested, None
    for one in read:
        if not (len(one.shape) == 1 or (len(one.shape) == 2 and one.shape[1] == 1)):
            raise BadInput(
                f"tensor {one.name} has the shape {list(one.shape)}: the model takes one tensor of rows by columns, or "
                "one of shape [rows] or [rows, 1] for each column, named like it"
            )
    if len({one.shape[0] for one in read}) > 1:
        sizes = ", ".join(f"{one.name} {one.shape[0]}" for one in read)
        raise BadInput(f"the tensors do not have the same number of rows: {sizes}")
    return [list(row) for row in zip(*(one.flat for one in read), strict=True)], [one.name for one in read]


def checked_tensor(members: Mapping[str, Any]) -> Tensor:
    """The tensor, with its values as JSON has them. Raises BadInput, which names it."""
    name = str(members.get("name"))
    if missing := [member for member in MEMBERS if member not in members]:
        raise BadInput(f"tensor {name} lacks {', '.join(missing)}")
    if unknown := [member for member in members if member not in (*MEMBERS, "parameters")]:
        raise BadInput(f"tensor {name} has {', '.join(unknown)}, which the Open Inference Protocol does not have")
    _check_parameters(members.get("parameters"), f"tensor {name}")
    if not isinstance(members["datatype"], str) or members["datatype"] not in DATATYPES:
        raise BadInput(
            f"tensor {name} is of datatype {members['datatype']!r}, and these are known: {', '.join(DATATYPES)}"
        )
    return _checked(name, members["shape"], members["datatype"], members["data"])


def checked_shape(name: str, shape: object) -> tuple[int, ...]:
    """Raises BadInput."""
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise BadInput(f"tensor {name} has the shape {str(shape)[:60]}: it is a list of sizes")
    if len(shape) > RANK_MAX:
        raise BadInput(f"tensor {name} has {len(shape)} dimensions, and {RANK_MAX} are the most")
    if prod(size or 1 for size in shape) > CELLS_MAX:
        raise BadInput(f"tensor {name} has the shape {str(shape)[:60]}, which is too large")
    return tuple(shape)


def _checked(name: str, shape: Any, datatype: str, data: Any) -> Tensor:
    checked_shape(name, shape)
    nested = isinstance(data, list) and any(isinstance(one, list) for one in data)
    if nested and not _has_shape(data, shape):
        raise BadInput(f"tensor {name} has data that is not nested as its shape {shape} says")
    flat = _flattened(data, len(shape)) if nested else data if isinstance(data, list) else [data]
    if len(flat) != prod(shape):
        raise BadInput(f"tensor {name} has {len(flat)} values, and its shape {shape} has {prod(shape)}")
    kind = kind_of(DATATYPES[datatype])
    for number, value in enumerate(flat, start=1):
        if kind.fault(value):
            raise BadInput(f"tensor {name}, value {number}: {str(value)[:40]!r} is not of its datatype, {datatype}")
    return Tensor(name, tuple(shape), datatype, flat)


def _has_shape(data: Any, shape: Sequence[int]) -> bool:
    if not shape:
        return not isinstance(data, list)
    return isinstance(data, list) and len(data) == shape[0] and all(_has_shape(one, shape[1:]) for one in data)


def _flattened(data: Any, depth: int) -> list[Any]:
    for _ in range(depth - 1):
        data = [value for inner in data for value in inner]
    return list(data)


def _check_parameters(given: Any, owner: str) -> None:
    """Raise BadInput for each parameter, except a codec that changes nothing."""
    for name, value in (given or {}).items() if isinstance(given or {}, dict) else [("parameters", given)]:
        if not (name == "content_type" and value in CODECS):
            raise BadInput(f"the parameter {name} of {owner} is not supported: leave it out")
