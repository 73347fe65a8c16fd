"""Decompresses an archive; counts, bounds and digests its bytes as they come. It knows gzip; it does not know tar."""

import hashlib
import zlib
from typing import Protocol

GZIP_MAGIC = b"\x1f\x8b"
PACKED_BYTES = 64 * 1024
_GZIP_WITH_CHECKSUM = 31
MEMBERS_MAX = 10_000
"""The most members of a gzip file with less than a KiB each on average: each takes microseconds, however small."""


class Refused(Exception):
    """The archive cannot be trusted. The text is the reason, for a person."""


class Readable(Protocol):
    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, at least one; none at the end."""


class Digested:
    """Reads a source, and takes the digest of all its bytes as they pass: nothing is read twice for it."""

    def __init__(self, source: Readable) -> None:
        self._source = source
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> str:
        """The SHA-256 of what was read until now, in hex."""
        return self._digest.hexdigest()

    def read(self, size: int, /) -> bytes:
        piece = self._source.read(size)
        self._digest.update(piece)
        return piece


class Gunzip:
    """The content of a gzip file, member after member, each checked against its own CRC."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._member = zlib.decompressobj(_GZIP_WITH_CHECKSUM)
        self._packed = b""
        self._members = 1
        self._unpacked_bytes = 0

    def read(self, size: int, /) -> bytes:
        while not self._member.eof or self._next_member():
            self._packed = self._packed or self._file.read(PACKED_BYTES)
            if not self._packed:
                raise Refused("it ends in the middle: the gzip data is truncated")
            if unpacked := self._inflate(size):
                self._unpacked_bytes += len(unpacked)
                return unpacked
        return b""

    def _inflate(self, size: int) -> bytes:
        try:
            unpacked = self._member.decompress(self._packed, size)
        except zlib.error as error:
            raise Refused(f"the gzip data is damaged ({error})") from error
        self._packed = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        return unpacked

    def _next_member(self) -> bool:
        # "gzip: decompression OK, trailing zero bytes ignored": tapes and block devices pad with them.
        self._packed = self._packed.lstrip(b"\0")
        while not self._packed and (more := self._file.read(PACKED_BYTES)):
            self._packed = more.lstrip(b"\0")
        if self._packed and not self._packed.startswith(GZIP_MAGIC[: len(self._packed)]):
            raise Refused("there is something else after the end of the gzip data")
        if not self._packed:
            return False
        self._members += 1
        if self._members > max(MEMBERS_MAX, self._unpacked_bytes // 1024):
            raise Refused(f"it is made of more than {MEMBERS_MAX} gzip members that have hardly any content")
        self._member = zlib.decompressobj(_GZIP_WITH_CHECKSUM)
        return True


class Bounded:
    """Reads and counts bytes. Raises Refused with `reason` beyond `bytes_max`."""

    def __init__(self, source: Readable, bytes_max: int, reason: str) -> None:
        self.position = 0
        self._source = source
        self._bytes_max = bytes_max
        self._reason = reason

    def read(self, size: int, /) -> bytes:
        piece = self._source.read(size)
        self.position += len(piece)
        if self.position > self._bytes_max:
            raise Refused(self._reason)
        return piece

    def exactly(self, size: int) -> bytes:
        """`size` bytes, or fewer at the very end."""
        pieces = []
        while size and (piece := self.read(size)):
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
