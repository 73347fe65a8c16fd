"""The bytes of an answer in parts, between an instance and its endpoint: it keeps where a part ends, and how all ended.

The body of an answer that has the header `IN_PARTS` is a sequence of records, all numbers in network order:

    kind 1 | length of content 4 | content

A PART has the part. The last record is an END without content, or a FAULT whose content says as JSON why the model made
no more parts. A body that ends without either of the two was cut off. HTTP's own chunks would not do: what stands
between may join and split them, and they have no place for a failure after the first part.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from struct import Struct

from torpor_container import wire
from torpor_container.frozen_class import frozen
from torpor_container.invocation import PART_MAX_BYTES
from torpor_container.transport.frames import Header
from torpor_container.typed_json import read, written

IN_PARTS: Header = (wire.STREAM.lower().encode(), wire.STREAM_IN_PARTS.encode())
"""The header of a request whose caller takes the answer in parts, and of an answer that comes in parts."""

RECORD = Struct("!BI")


class RecordKind(IntEnum):
    PART = 0
    END = 1
    FAULT = 2


_PART = int(RecordKind.PART)
END = RECORD.pack(RecordKind.END, 0)


class BadRecord(Exception):
    """The body is no sequence of records."""


@frozen
class StreamFault:
    """Why a model made no more parts. `timed_out`: the next part took longer than it may."""

    message: str
    timed_out: bool = False


def encoded(parts: Sequence[bytes]) -> bytes:
    """The bytes of a PART for each part, which is within PART_MAX_BYTES."""
    records: list[bytes] = []
    for content in parts:
        records += RECORD.pack(_PART, len(content)), content
    return b"".join(records)


def fault(failure: StreamFault) -> bytes:
    """The bytes of a FAULT."""
    content = json.dumps(written(replace(failure, message=failure.message[: PART_MAX_BYTES // 8]))).encode()
    return RECORD.pack(RecordKind.FAULT, len(content)) + content


class RecordReader:
    """Reads the records of one body. `ended` is True after an END; `failure` is set by a FAULT."""

    def __init__(self) -> None:
        self.ended = False
        self.failure: StreamFault | None = None
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The parts that are whole now, in their order. Raises BadRecord."""
        return list(self._parts(self._rest + data if self._rest else data))

    def _parts(self, data: bytes) -> Iterator[bytes]:
        at, size = 0, len(data)
        while size - at >= RECORD.size and not self.ended and self.failure is None:
            kind, length = RECORD.unpack_from(data, at)
            if length > PART_MAX_BYTES:
                raise BadRecord(f"a record of {length} bytes")
            start, end = at + RECORD.size, at + RECORD.size + length
            if end > size:
                break
            at = end
            if kind == _PART:
                yield data[start:end]
            else:
                self._last(kind, data[start:end])
        self._rest = data[at:]

    def _last(self, kind: int, content: bytes) -> None:
        if kind == RecordKind.END:
            self.ended = True
        elif kind == RecordKind.FAULT:
            self.failure = _failure(content)
        else:
            raise BadRecord(f"a record of kind {kind}")


def _failure(content: bytes) -> StreamFault:
    try:
        return read(StreamFault, json.loads(content))
    except ValueError as error:
        raise BadRecord("a fault that says nothing") from error
