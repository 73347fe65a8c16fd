"""Cuts the bytes of an object into payloads: the bodies of requests. No payload has a part of a record.

SageMaker: "mini-batches are subsets of an input object", and never have records of two objects.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from struct import Struct

NEWLINE = b"\n"

Parts = Iterable[bytes]


class SplitType(StrEnum):
    """The values of TransformInput.SplitType."""

    NONE = "None"
    LINE = "Line"
    RECORD_IO = "RecordIO"
    TF_RECORD = "TFRecord"


class BatchStrategy(StrEnum):
    """The values of BatchStrategy."""

    MULTI_RECORD = "MultiRecord"
    SINGLE_RECORD = "SingleRecord"


class NotSplit(Exception):
    """The object cannot be cut into payloads. The text tells a person why."""


def payloads(parts: Parts, split: SplitType, strategy: BatchStrategy, max_bytes: int) -> Iterator[bytes]:
    """The payloads of an object whose bytes come in these parts, in order; none for an empty object.

    With `MultiRecord` a payload has as many records as `max_bytes` allows. A line keeps its newline. A record of
    RecordIO or TFRecord keeps its frame with `MultiRecord`, and goes without it with `SingleRecord`. Raises NotSplit
    for a record, or an object that is not split, of more than `max_bytes`, and for a broken frame.
    """
    if split is SplitType.NONE:
        return _whole(parts, max_bytes)
    multi = strategy is BatchStrategy.MULTI_RECORD
    if split is SplitType.LINE:
        return (_lines_together if multi else _line_by_line)(parts, max_bytes)
    frame = RECORD_IO if split is SplitType.RECORD_IO else TF_RECORD
    records = _framed(parts, frame, max_bytes)
    if multi:
        return _together((whole for whole, _ in records), max_bytes)
    return (content for _, content in records)


def records_in(payload: bytes, split: SplitType, strategy: BatchStrategy) -> int:
    """The number of records in a payload that `payloads` made."""
    if split is SplitType.NONE or strategy is BatchStrategy.SINGLE_RECORD:
        return 1
    if split is SplitType.LINE:
        return payload.count(NEWLINE) + (not payload.endswith(NEWLINE))
    frame = RECORD_IO if split is SplitType.RECORD_IO else TF_RECORD
    return sum(1 for _ in _framed([payload], frame, len(payload)))


def _whole(parts: Parts, max_bytes: int) -> Iterator[bytes]:
    held = bytearray()
    for part in parts:
        held += part
        if len(held) > max_bytes:
            raise _too_large("the object, which is not split,", max_bytes)
    if held:
        yield bytes(held)


def _lines_together(parts: Parts, max_bytes: int) -> Iterator[bytes]:
    held = bytearray()
    for part in parts:
        held += part
        begin = 0
        while len(held) - begin > max_bytes:
            end = held.rfind(NEWLINE, begin, begin + max_bytes) + 1
            if not end:
                raise _too_large("a line", max_bytes)
            yield bytes(held[begin:end])
            begin = end
        del held[:begin]
    if held:
        yield bytes(held)


def _line_by_line(parts: Parts, max_bytes: int) -> Iterator[bytes]:
    held = b""
    for part in parts:
        *lines, held = (held + part).split(NEWLINE)
        for line in lines:
            if len(line) >= max_bytes:
                raise _too_large("a line", max_bytes)
            yield line + NEWLINE
        if len(held) > max_bytes:
            raise _too_large("a line", max_bytes)
    if held:
        yield held


# -- records in frames -------------------------------------------------------------------------------------------------
class _Frame:
    """How a format frames its records. `read` gives the bytes of a record's frame and of its content from its head."""

    def __init__(self, name: str, head: Struct, read: Callable[[tuple[int, ...]], tuple[int, int]]) -> None:
        self.name = name
        self.head = head
        self.read = read


def _read_record_io(magic: int, flags: tuple[int, ...]) -> tuple[int, int]:
    """MXNet's RecordIO: a magic number, then a length of 29 bits; the content is padded to four bytes."""
    if flags[0] != magic:
        raise NotSplit("the object is no RecordIO: a record does not begin with its magic number")
    if flags[1] >> 29:
        raise NotSplit("the object has a RecordIO record in several parts, which is not read")
    size = flags[1] & 0x1FFFFFFF
    return size + -size % 4, size


def _read_tf_record(head: tuple[int, ...]) -> tuple[int, int]:
    """TensorFlow's TFRecord: a length of 64 bits and its checksum; the content's checksum follows it."""
    return head[0] + 4, head[0]


RECORD_IO = _Frame("RecordIO", Struct("<II"), partial(_read_record_io, 0xCED7230A))
TF_RECORD = _Frame("TFRecord", Struct("<QI"), _read_tf_record)


def _framed(parts: Parts, frame: _Frame, max_bytes: int) -> Iterator[tuple[bytes, bytes]]:
    """Each record with its frame, and without."""
    held, head_bytes = bytearray(), frame.head.size
    for part in parts:
        held += part
        begin = 0
        while len(held) - begin >= head_bytes:
            framed_bytes, content_bytes = frame.read(frame.head.unpack_from(held, begin))
            content = begin + head_bytes
            if content_bytes > max_bytes:
                raise _too_large("a record", max_bytes)
            if len(held) < content + framed_bytes:
                break
            yield bytes(held[begin : content + framed_bytes]), bytes(held[content : content + content_bytes])
            begin = content + framed_bytes
        del held[:begin]
    if held:
        raise NotSplit(f"the object ends within a {frame.name} record")


def _together(records: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for record in records:
        if len(record) > max_bytes:
            raise _too_large("a record", max_bytes)
        if held and size + len(record) > max_bytes:
            yield b"".join(held)
            held, size = [], 0
        held.append(record)
        size += len(record)
    if held:
        yield b"".join(held)


def _too_large(what: str, max_bytes: int) -> NotSplit:
    return NotSplit(f"{what} has more than {max_bytes} bytes, which MaxPayloadInMB allows")
