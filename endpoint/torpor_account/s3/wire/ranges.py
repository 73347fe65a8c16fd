"""Finds the range of bytes that a request names. Pure."""

import re
from dataclasses import dataclass
from typing import Final

from torpor_account.s3.errors import Refusal, S3Error

_RANGE: Final = re.compile(r"bytes=(\d{0,19})-(\d{0,19})", re.ASCII)
_COPIED_RANGE: Final = re.compile(r"bytes=(\d{1,19})-(\d{1,19})", re.ASCII)
_COPIED: Final = "x-amz-copy-source-range"


@dataclass(frozen=True)
class ByteSpan:
    """Bytes `first` to `last` of an object, both included."""

    first: int
    last: int

    @property
    def size_bytes(self) -> int:
        return self.last - self.first + 1


def span(header: str | None, size_bytes: int) -> ByteSpan | None:
    """The requested range; None for the whole object. Like S3, it ignores a malformed range and a list of ranges."""
    match = _RANGE.fullmatch((header or "").strip())
    if match is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:
        requested = ByteSpan(max(size_bytes - int(last), 0), size_bytes - 1)
    else:
        requested = ByteSpan(int(first), min(int(last), size_bytes - 1) if last else size_bytes - 1)
        if last and int(last) < int(first):
            return None
    if requested.size_bytes < 1:
        raise S3Error(Refusal.InvalidRange, RangeRequested=match.group(), ActualObjectSize=str(size_bytes))
    return requested


def copied_span(header: str | None, size_bytes: int) -> ByteSpan:
    """The bytes of a source that a copy takes: all of them without `header`. Raises InvalidArgument, InvalidRequest."""
    if header is None:
        return ByteSpan(0, size_bytes - 1)
    match = _COPIED_RANGE.fullmatch(header)
    first, last = map(int, match.groups()) if match else (1, 0)
    given = {"ArgumentName": _COPIED, "ArgumentValue": header}
    if last < first:
        text = (
            f"The {_COPIED} value must be of the form bytes=first-last where first and last are the "
            "zero-based offsets of the first and last bytes to copy"
        )
        raise S3Error(Refusal.InvalidArgument, text, **given)
    if first >= size_bytes:
        raise S3Error(Refusal.InvalidRequest, "The specified copy range is invalid for the source object size")
    if last >= size_bytes:
        text = f"Range specified is not valid for source object of size: {size_bytes}"
        raise S3Error(Refusal.InvalidArgument, text, **given)
    return ByteSpan(first, last)
