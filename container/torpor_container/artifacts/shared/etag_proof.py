"""What an object's ETag in S3 says of its bytes. It reads no file.

AWS: the ETag of an object that was put whole, without encryption by a key of KMS, is the MD5 of its bytes. That of one
that came in parts is the MD5 of the parts' MD5s, and how many parts there were (`…-7`): it proves the bytes to whoever
knows where the parts begin. No answer of a HEAD says so, but uploaders cut all parts but the last alike, and most of
them at one of a few sizes.
"""

import re
from collections.abc import Iterable
from hashlib import md5
from math import ceil
from typing import Final

from torpor_container.artifacts.receiver import md5_of

_OF_PARTS = re.compile(r'"?([0-9a-f]{32})-([1-9][0-9]{0,4})"?')
MIB: Final = 1024 * 1024
PART_MIB: Final = (8, 5, 16, 10, 64, 100, 32, 128, 50, 25, 20, 15, 256, 512, 1024, 6, 7)
"""The sizes of parts that uploaders use, in MiB, the usual ones first. 8 is that of boto3 and of the AWS CLI."""
TRIED_MAX: Final = 4
"""At most so many sizes of parts are tried for one object: each takes an MD5 of all bytes."""


class EtagProof:
    """Takes the bytes of an object in pieces, and tells whether they are those of its ETag."""

    def __init__(self, etag: str, size_bytes: int) -> None:
        self._expected, self._sums = "", list[_PartSums]()
        if (whole := md5_of(etag)) is not None:
            self._expected, self._sums = whole, [_PartSums(max(size_bytes, 1), alone=True)]
        elif (parts := _OF_PARTS.fullmatch(etag)) is not None:
            self._expected = parts[1]
            self._sums = [_PartSums(each) for each in part_sizes(size_bytes, int(parts[2]))]

    @property
    def possible(self) -> bool:
        """Whether the ETag can prove any bytes."""
        return bool(self._sums)

    def take(self, piece: bytes) -> None:
        for sums in self._sums:
            sums.take(piece)

    def holds(self) -> bool:
        """Whether the bytes that were taken have this ETag. To be called once, at their end."""
        return any(sums.digest() == self._expected for sums in self._sums)


def part_sizes(size_bytes: int, parts: int) -> list[int]:
    """The sizes, in bytes, by which an object may have been cut into so many parts: the likelier first."""
    if parts == 1:
        return [max(size_bytes, 1)]
    return [each * MIB for each in PART_MIB if ceil(size_bytes / (each * MIB)) == parts][:TRIED_MAX]


class _PartSums:
    """The MD5 of the MD5s of all parts; of a whole object that came `alone`, its MD5."""

    def __init__(self, part_bytes: int, *, alone: bool = False) -> None:
        self._part_bytes = part_bytes
        self._alone = alone
        self._part, self._left = md5(usedforsecurity=False), part_bytes
        self._whole = md5(usedforsecurity=False)

    def take(self, piece: bytes) -> None:
        for part in _cut(piece, self._left, self._part_bytes):
            if not self._left:
                self._whole.update(self._part.digest())
                self._part, self._left = md5(usedforsecurity=False), self._part_bytes
            self._part.update(part)
            self._left -= len(part)

    def digest(self) -> str:
        if self._alone:
            return self._part.hexdigest()
        self._whole.update(self._part.digest())
        return self._whole.hexdigest()


def _cut(piece: bytes, left: int, part_bytes: int) -> Iterable[memoryview]:
    """The piece, cut where a part ends: the present one has room for `left` bytes more."""
    view, room = memoryview(piece), left or part_bytes
    while view:
        yield view[:room]
        view, room = view[room:], part_bytes
