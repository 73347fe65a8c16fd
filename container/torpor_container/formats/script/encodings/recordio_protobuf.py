"""Turns rows into `application/x-recordio-protobuf` and back, as the toolkits of AWS's images do.

A row is one record of RecordIO, an `aialgs.data.Record`: `features` and `label` are maps from "values" to a tensor of
32 bit floats, 64 bit floats or 32 bit whole numbers. A sparse row has its columns (`keys`) and its width (`shape`) too.
The stand-ins for the toolkits share this module.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from torpor_container.content.recordio import MAGIC, field, framed, varint

FEATURES, LABEL = 1, 2
KEY, VALUE = 1, 2
VALUES, KEYS, SHAPE = 1, 2, 3
FLOAT32, FLOAT64, INT32 = 2, 3, 7
"""Field numbers: of Record, of an entry of its maps, of the tensors, and of Value."""
TENSORS: Final[Mapping[int, str]] = {FLOAT32: "<f4", FLOAT64: "<f8"}
INT32_RANGE = (-(2**31), 2**31 - 1)
NAME = b"values"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of protobuf."""


class NoRecords(ValueError):
    """A body that does not hold such records. The message says why."""


# -- writing -----------------------------------------------------------------------------------------------------------
def written(rows: Any, labels: Any = None) -> bytes:
    """Rows, an array or a sparse matrix of two dimensions, each with a label. Raises ValueError as the toolkit does."""
    if len(rows.shape) != 2:
        raise ValueError("Array must be a Matrix")
    if labels is not None and len(labels.shape) != 1:
        raise ValueError("Labels must be a Vector")
    if labels is not None and labels.shape[0] not in rows.shape:
        raise ValueError(f"Label shape {labels.shape} not compatible with array shape {rows.shape}")
    label_kind = None if labels is None else tensor_kind(labels.dtype)
    kind = tensor_kind(rows.dtype)
    out = []
    for place, features in enumerate(_tensors(rows, kind)):
        label = b"" if label_kind is None else _entry(LABEL, label_kind, _values(labels[place : place + 1], label_kind))
        out.append(framed(_entry(FEATURES, kind, features) + label))
    return b"".join(out)


def tensor_kind(dtype: Any) -> int:
    """The tensor for an array's type. Raises ValueError for one that the toolkit does not write."""
    kinds = {np.dtype(int): INT32, np.dtype(float): FLOAT64, np.dtype("float32"): FLOAT32}
    if dtype not in kinds:
        raise ValueError(f"Unsupported dtype {dtype} on array")
    return kinds[dtype]


def _tensors(rows: Any, kind: int) -> Iterator[bytes]:
    if not hasattr(rows, "tocsr"):
        for row in rows:
            yield _values(row, kind)
        return
    matrix = rows.tocsr()
    shape = field(SHAPE, varint(matrix.shape[1]))
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        keys = b"".join(map(varint, matrix.indices[start:end].tolist()))
        yield _values(matrix.data[start:end], kind) + (field(KEYS, keys) if keys else b"") + shape


def _values(numbers: Any, kind: int) -> bytes:
    if kind in TENSORS:
        packed = np.asarray(numbers, TENSORS[kind]).tobytes()
    else:
        packed = b"".join(map(_signed, np.asarray(numbers).tolist()))
    return field(VALUES, packed) if packed else b""


def _signed(number: int) -> bytes:
    """Of a negative number protobuf writes all 64 bits."""
    low, high = INT32_RANGE
    if not low <= number <= high:
        raise ValueError(f"Value out of range: {number}")
    return varint(number & (2**64 - 1))


def _entry(map_number: int, kind: int, tensor: bytes) -> bytes:
    return field(map_number, field(KEY, NAME) + field(VALUE, field(kind, tensor)))


# -- reading -----------------------------------------------------------------------------------------------------------
class FeatureTensor(NamedTuple):
    """The features of one row. `keys` are the columns of a sparse one."""

    values: Any
    keys: list[int] | None
    width: int


def rows_of(body: bytes) -> Any:
    """The features of all records: an array, or a sparse matrix if one of them is sparse. Raises NoRecords."""
    tensors = [_features(record) for record in records(body)]
    if not tensors:
        raise NoRecords("the body has no record")
    width = max(tensor.width for tensor in tensors)
    if all(tensor.keys is None for tensor in tensors):
        if any(tensor.width != width for tensor in tensors):
            raise NoRecords("the records differ in length")
        return np.array([tensor.values for tensor in tensors])
    from scipy.sparse import csr_matrix

    columns = [list(range(tensor.width)) if tensor.keys is None else tensor.keys for tensor in tensors]
    ends = np.cumsum([0, *map(len, columns)])
    values = np.concatenate([tensor.values for tensor in tensors])
    return csr_matrix((values, np.concatenate(columns).astype(np.int64), ends), shape=(len(tensors), width))


def records(body: bytes) -> Iterator[bytes]:
    """The messages in RecordIO. Raises NoRecords."""
    at = 0
    while at < len(body):
        if len(body) - at < 8:
            raise NoRecords("the body ends within a record")
        magic, size = struct.unpack_from("<II", body, at)
        if magic != MAGIC:
            raise NoRecords(f"no record of RecordIO begins at byte {at}")
        if at + 8 + size > len(body):
            raise NoRecords("the body ends within a record")
        yield body[at + 8 : at + 8 + size]
        at += 8 + (size + 3) // 4 * 4


def _features(message: bytes) -> FeatureTensor:
    """Raises NoRecords."""
    for number, entry in _fields(message):
        if number == FEATURES:
            parts = dict(_fields(_bytes(entry)))
            if parts.get(KEY) == NAME:
                return _tensor(_bytes(parts.get(VALUE, b"")))
    raise NoRecords('a record has no features called "values"')


def _tensor(value: bytes) -> FeatureTensor:
    for kind, content in _fields(value):
        if kind in (*TENSORS, INT32):
            return _read(kind, _bytes(content))
    raise NoRecords("features are no tensor of numbers")


def _read(kind: int, content: bytes) -> FeatureTensor:
    values: list[Any] = []
    keys: list[int] = []
    shape: list[int] = []
    for number, part in _fields(content):
        if number == VALUES:
            values.append(_numbers(kind, part))
        elif number in (KEYS, SHAPE):
            (keys if number == KEYS else shape).extend(_varints(part))
    numbers = np.concatenate(values) if values else np.zeros(0, np.float32)
    if not shape and not keys:
        return FeatureTensor(numbers, None, len(numbers))
    width = shape[-1] if shape else max(keys) + 1
    if len(keys) != len(numbers) or width > INT32_RANGE[1] or any(key >= width for key in keys):
        raise NoRecords("the keys of a sparse record do not fit its values and its shape")
    return FeatureTensor(numbers, keys, width)


def _numbers(kind: int, part: "bytes | int") -> Any:
    if kind == INT32:
        return np.array(_varints(part), np.uint64).astype(np.uint32).astype(np.int32)
    if isinstance(part, int) or len(part) % np.dtype(TENSORS[kind]).itemsize:
        raise NoRecords("values are cut off")
    return np.frombuffer(part, TENSORS[kind])


def _varints(part: "bytes | int") -> list[int]:
    """Numbers that are packed, or one that is not."""
    if isinstance(part, int):
        return [part]
    found, at = [], 0
    while at < len(part):
        number, at = _varint_at(part, at)
        found.append(number)
    return found


def _fields(message: bytes) -> Iterator[tuple[int, "bytes | int"]]:
    """The fields of a message with their numbers: bytes, or a varint as a number. Raises NoRecords."""
    at = 0
    while at < len(message):
        tag, at = _varint_at(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = _varint_at(message, at)
            yield number, value
            continue
        size = {FIXED64: 8, FIXED32: 4}.get(wire)
        if wire == BYTES:
            size, at = _varint_at(message, at)
        if size is None or at + size > len(message):
            raise NoRecords("a record is no message of protobuf")
        yield number, message[at : at + size]
        at += size


def _varint_at(message: bytes, at: int) -> tuple[int, int]:
    """The number, and where it ends. Raises NoRecords."""
    value = 0
    for place, byte in enumerate(message[at : at + 10]):
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at + place + 1
    raise NoRecords("a record is no message of protobuf")


def _bytes(value: "bytes | int") -> bytes:
    if isinstance(value, int):
        raise NoRecords("a record is no message of protobuf")
    return value
