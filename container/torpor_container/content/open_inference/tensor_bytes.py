"""Reads and writes the bytes of one tensor, as the protocol's extension of binary data lays them out.

Values are little-endian and in row-major order, BOOL has a byte each, and an element of BYTES has its length before it,
in four bytes (triton-inference-server/server, docs/protocol/extension_binary_data.md).
"""

import struct
import sys
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor_container.content.reading.tensors import DATATYPES
from torpor_container.errors import BadInput

BYTES = "BYTES"
IS_LITTLE = sys.byteorder == "little"
LENGTH = struct.Struct("<I")
Array = NDArray[Any]


def array_of(name: str, datatype: str, shape: Sequence[int], data: memoryview) -> Array:
    """The array, which may be changed. Elements of BYTES are `bytes`. Raises BadInput, which names the tensor."""
    count = prod(shape)
    if datatype == BYTES:
        return _elements(name, count, data).reshape(shape)
    dtype = np.dtype(DATATYPES[datatype]).newbyteorder("<")
    if len(data) != count * dtype.itemsize:
        raise BadInput(
            f"tensor {name} has {len(data)} bytes of data, and its shape {list(shape)} of {datatype} has "
            f"{count * dtype.itemsize}"
        )
    # A copy, whose memory is aligned, as compiled code wants it, and may be changed in place, as some models do.
    return np.frombuffer(bytearray(data), dtype).reshape(shape).astype(DATATYPES[datatype], copy=False)


def bytes_of(array: Array) -> bytes:
    """The bytes of an array of numbers, of truths, or of text and `bytes`."""
    dtype = array.dtype
    if dtype.kind in "OUS":
        return b"".join(LENGTH.pack(len(one)) + one for one in map(as_bytes, array.ravel().tolist()))
    if dtype.isnative and IS_LITTLE:
        return array.tobytes()
    return array.astype(dtype.newbyteorder("<"), copy=False).tobytes()


def as_bytes(element: str | bytes) -> bytes:
    """An element of BYTES: text is UTF-8."""
    return element.encode("utf-8", "surrogatepass") if isinstance(element, str) else element


def texts(name: str, array: Array) -> Array:
    """The same elements as text. Raises BadInput for bytes that are not UTF-8."""
    try:
        cells = [one.decode() if isinstance(one, bytes) else one for one in array.ravel().tolist()]
    except UnicodeDecodeError as error:
        raise BadInput(f"tensor {name}: an element of BYTES is not text in UTF-8: {error.reason}") from None
    return of_objects(cells).reshape(array.shape)


def of_objects(cells: Sequence[object]) -> Array:
    """One dimension of these objects, whatever they are."""
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):  # numpy would make more dimensions of objects that are lists
        array[place] = cell
    return array


def _elements(name: str, count: int, data: memoryview) -> Array:
    cells: list[bytes] = []
    at = 0
    while at < len(data):
        if at + LENGTH.size > len(data):
            raise BadInput(f"tensor {name}: the data ends within the length of element {len(cells) + 1}")
        (size,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size
        if at + size > len(data):
            raise BadInput(f"tensor {name}: the data ends within element {len(cells) + 1}, of {size} bytes")
        cells.append(bytes(data[at : at + size]))
        at += size
    if len(cells) != count:
        raise BadInput(f"tensor {name} has {len(cells)} elements of BYTES, and its shape has {count}")
    return of_objects(cells)
