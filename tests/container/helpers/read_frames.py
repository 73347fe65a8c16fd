"""Frames with names for their parts, for tests that look into them."""

from collections.abc import Iterator
from typing import NamedTuple

from torpor_container.transport.frames import FrameReader, Header, headers_of


class ReadFrame(NamedTuple):
    """One request, or one answer."""

    number: int
    status: int
    head: bytes
    body: bytes

    @property
    def headers(self) -> list[Header]:
        return list(headers_of(self.head))


class NamingReader:
    """A `FrameReader` that names the parts of what it reads."""

    def __init__(self) -> None:
        self._reader = FrameReader()

    def read(self, data: bytes) -> Iterator[ReadFrame]:
        for frame in self._reader.read(data):
            yield ReadFrame(*frame)
