"""Finds the weights of an ONNX model: in which other files they are, and those that could be in one.

It parts a model into its graph and its weights: one file with the raw weights at the beginning of pages, then the
graph, which names the places of the weights, then where the graph is. It reads no more of a protocol buffer than it
needs, and copies all other bytes as they are. A model that it does not understand is not parted.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, NamedTuple

from torpor_container.errors import LoadFailed
from torpor_container.formats.format import NotMapped

PAGE_BYTES = 4096
LEAST_BYTES = 4096
"""Smaller weights stay in the graph."""
WORTH_BYTES = 256 * 1024
"""A model with fewer bytes in weights that would move stays as it is."""

END = struct.Struct("<8sQQI")
MAGIC = b"torporW1"

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
# field numbers of onnx.proto
GRAPH, INITIALIZER = 7, 5
RAW_DATA, EXTERNAL_DATA, DATA_LOCATION = 9, 13, 14
KEY, VALUE = 1, 2
EXTERNAL = 1

LOCATION = b"location"
"""The key of the name of another file. A model in which it stands nowhere has all weights in its own."""
WITHIN: Mapping[str, Mapping[int, str]] = {
    "model": {GRAPH: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", INITIALIZER: "tensor", 15: "sparse tensor"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor", 23: "sparse tensor"},
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {EXTERNAL_DATA: "place"},
    "place": {},
}
"""The messages in which tensors are, by their names here: in which fields of each are others."""


class Damaged(Exception):
    """The file does not end as a parted model does."""


class ProtoField(NamedTuple):
    """One field of a message: its number, its bytes with the tag, and its value's bytes."""

    number: int
    wire_type: int
    whole: memoryview
    value: memoryview


def other_files(model: bytes | memoryview) -> Iterator[str]:
    """The names of the files in which a model says that some of its weights are, at any depth of its graphs.

    Raises NotMapped for what is no protocol buffer.
    """
    waiting = [("model", memoryview(model))]
    while waiting:
        kind, message = waiting.pop()
        fields = [field for field in _fields(message) if field.wire_type == BYTES]
        waiting += [(WITHIN[kind][one.number], one.value) for one in fields if one.number in WITHIN[kind]]
        if kind == "place" and any(one.number == KEY and one.value == LOCATION for one in fields):
            yield from (str(one.value, "utf-8", "replace") for one in fields if one.number == VALUE)


def check_places(model: Path) -> None:
    """Raises LoadFailed if weights are said to be where no file of the model's folder is: ONNX Runtime would read it,
    in some of its versions."""
    with model.open("rb") as file, suppress(ValueError), mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        if content.find(LOCATION) < 0:
            return
    try:
        for name in other_files(model.read_bytes()):
            if name.startswith("/") or ".." in name.split("/") or not os.path.isfile(model.parent / name):
                raise LoadFailed(
                    f"{model.name} has weights in {name[:200]!r}, which is no file of its folder: pack that file "
                    f"beside {model.name}, under this name"
                )
    except NotMapped as error:
        raise LoadFailed(f"{model.name} is not a model that ONNX Runtime can read: {error}") from error


def write(model: Path, file: BinaryIO) -> int:
    """See `part`."""
    return part(memoryview(model.read_bytes()), Path(file.name).name, file)


def part(model: memoryview, location: str, file: BinaryIO) -> int:
    """Write the parted model into a file that will have the name `location`. The bytes of the weights that moved.

    Raises NotMapped, OSError.
    """
    if next(other_files(model), None) is not None:
        raise NotMapped("the model has weights in other files already")
    fields = list(_fields(model))
    graphs = [one for one in fields if one.number == GRAPH]
    if len(graphs) != 1 or graphs[0].wire_type != BYTES:
        raise NotMapped("the model has not exactly one graph")
    moved_bytes, graph = 0, list[bytes | memoryview]()
    for one in _fields(graphs[0].value):
        weights = _weights(one)
        if weights is None:
            graph.append(one.whole)
            continue
        offset = _next_page(file)
        file.write(weights.value)
        moved_bytes += len(weights.value)
        rest = (field.whole for field in _fields(one.value) if field.number != RAW_DATA)
        graph.append(_message(INITIALIZER, b"".join([*rest, *_place(location, offset, len(weights.value))])))
    if moved_bytes < WORTH_BYTES:
        raise NotMapped(f"only {moved_bytes:,} bytes of its weights could be shared")
    parted = b"".join(_message(GRAPH, b"".join(graph)) if one.number == GRAPH else one.whole for one in fields)
    offset = _next_page(file)
    file.write(parted + END.pack(MAGIC, offset, len(parted), zlib.crc32(parted)))
    return moved_bytes


def graph_of(parted: Path) -> bytes:
    """The graph of a parted model. Raises Damaged, OSError."""
    with parted.open("rb") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes < END.size:
            raise Damaged("it is too short")
        file.seek(size_bytes - END.size)
        magic, offset, length, checksum = END.unpack(file.read(END.size))
        if magic != MAGIC or offset + length + END.size != size_bytes:
            raise Damaged("it does not end with the place of its graph")
        file.seek(offset)
        graph = file.read(length)
    if zlib.crc32(graph) != checksum:
        raise Damaged("its graph is not what was written")
    return graph


# -- reading -----------------------------------------------------------------------------------------------------------
def _fields(message: memoryview) -> Iterator[ProtoField]:
    at = 0
    while at < len(message):
        began = at
        tag, at = _varint(message, at)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == VARINT:
            value_at, (_, at) = at, _varint(message, at)
        elif wire_type == BYTES:
            length, value_at = _varint(message, at)
            at = value_at + length
        elif wire_type in (FIXED64, FIXED32):
            value_at, at = at, at + (8 if wire_type == FIXED64 else 4)
        else:
            raise NotMapped(f"a field has the wire type {wire_type}")
        if not number or at > len(message):
            raise NotMapped("a field ends after its message")
        yield ProtoField(number, wire_type, message[began:at], message[value_at:at])


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """The number, and where the next field begins."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 64:
                break
            return value, at
    raise NotMapped("a number has no end")


def _weights(one: ProtoField) -> ProtoField | None:
    """The raw bytes of an initializer that can move; None for any other field of the graph. Raises NotMapped."""
    if one.number != INITIALIZER or one.wire_type != BYTES:
        return None
    tensor = list(_fields(one.value))
    if any(field.number == DATA_LOCATION for field in tensor):
        raise NotMapped("the model has weights in other files already")
    raw = [field for field in tensor if field.number == RAW_DATA]
    movable = len(raw) == 1 and raw[0].wire_type == BYTES and len(raw[0].value) >= LEAST_BYTES
    return raw[0] if movable else None


# -- writing -----------------------------------------------------------------------------------------------------------
def _next_page(file: BinaryIO) -> int:
    return file.seek(-file.tell() % PAGE_BYTES, os.SEEK_CUR)


def _place(location: str, offset: int, length: int) -> Iterator[bytes]:
    """The fields of a tensor whose bytes are in another file."""
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        yield _message(EXTERNAL_DATA, _message(KEY, key.encode()) + _message(VALUE, value.encode()))
    yield _number(DATA_LOCATION << 3 | VARINT) + _number(EXTERNAL)


def _message(number: int, value: bytes) -> bytes:
    return _number(number << 3 | BYTES) + _number(len(value)) + value


def _number(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
