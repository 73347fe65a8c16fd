"""Writes `application/x-recordio-protobuf`: one RecordIO record a row, each a `Record` of SageMaker's algorithms.

The message is `aialgs.data.Record`, in which `label` is a map from a name to a float32 tensor. This module writes it
field by field, since five kinds of fields do not need a protobuf library.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence

MAGIC = 0xCED7230A
LABEL, KEY, VALUE, FLOAT32_TENSOR, VALUES = 2, 1, 2, 2, 1
"""Field numbers: of Record, of an entry of its map (twice), of Value, and of Float32Tensor."""


def write_records(rows: Iterable[Mapping[str, Sequence[float]]]) -> bytes:
    """Write rows; each is a map from a name to numbers."""
    return b"".join(framed(b"".join(_label(name, numbers) for name, numbers in row.items())) for row in rows)


def framed(message: bytes) -> bytes:
    """A record of RecordIO: a magic number, the length, and the message, filled up to four bytes."""
    return struct.pack("<II", MAGIC, len(message)) + message + bytes(-len(message) % 4)


def _label(name: str, numbers: Sequence[float]) -> bytes:
    packed = field(VALUES, struct.pack(f"<{len(numbers)}f", *numbers))
    value = field(FLOAT32_TENSOR, packed)
    return field(LABEL, field(KEY, name.encode()) + field(VALUE, value))


def field(number: int, content: bytes) -> bytes:
    """A field of wire type 2: its length, and then itself."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """A number from 0 in base 128, its lowest digits first."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
