"""Requests and answers as frames: many at once on one connection, and each answer goes as soon as it is there.

A connection begins as HTTP/1.1 and is upgraded (RFC 9110, section 7.8) for requests to one path. A frame is its number,
its status, how long its headers and its body are, and both; an answer has the number of its request. The status is 0 in
a request, and in an answer that could not be given. Headers are lines as in HTTP/1.1.
"""

import re
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

Header = tuple[bytes, bytes]

UPGRADE = re.compile(
    rb"GET (/[!->@-~]*) HTTP/1\.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: frames\r\n\r\n"
)
UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: frames\r\n\r\n"
NOT_GIVEN = 0
"""The status of an answer that broke."""

LINES = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+: [\t -~\x80-\xff]*\r\n)*")
START = Struct("!IHII")
HEAD_MAX_BYTES = 1024 * 1024
BODY_MAX_BYTES = 64 * 1024 * 1024
"""A longer one would hold up those behind it."""


class BadHeaders(ValueError):
    """A name or a value that would break its line."""


class FrameTooLong(ValueError):
    """What comes on this connection cannot be taken in, and its end is not waited for."""


class Frame(NamedTuple):
    """One request or answer."""

    number: int
    status: int
    headers: list[Header]
    body: bytes


def upgrade(path: str) -> bytes:
    """What asks for frames."""
    return b"GET %b HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: frames\r\n\r\n" % path.encode()


def framed(number: int, status: int, head: bytes, body: bytes) -> bytes:
    """`head` is the headers' lines."""
    return b"".join((START.pack(number, status, len(head), len(body)), head, body))


def lines(headers: Sequence[Header]) -> bytes:
    """As they stand in HTTP/1.1. No value may have an end of line in it."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def valid_lines(headers: Sequence[Header]) -> bytes:
    """The same of whatever an application gave. Raises BadHeaders."""
    told = lines(headers)
    if not LINES.fullmatch(told) or told.count(b"\n") != len(headers):  # a value cannot end its line
        raise BadHeaders(f"the application's headers are not valid: {headers}")
    return told


class Unframed:
    """Frames out of bytes, however they come."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._whole_bytes = START.size  # of the frame that has begun, as far as is known

    def read(self, data: bytes) -> Iterator[Frame]:
        """Those that are whole now. Raises FrameTooLong as soon as one says so."""
        there: bytes | memoryview = data
        if self._rest:
            self._rest += data
            if len(self._rest) < self._whole_bytes:
                return
            there, self._rest = memoryview(self._rest), bytearray()  # a large one is copied once more only
        at, end, self._whole_bytes = 0, len(there), START.size
        while at + START.size <= end:
            number, status, head_bytes, body_bytes = START.unpack_from(there, at)
            if head_bytes > HEAD_MAX_BYTES or body_bytes > BODY_MAX_BYTES:
                raise FrameTooLong(f"a frame of {head_bytes} and {body_bytes} bytes")
            head_at = at + START.size
            body_at = head_at + head_bytes
            next_at = body_at + body_bytes
            if next_at > end:
                self._whole_bytes = next_at - at
                break
            yield Frame(number, status, _headers(bytes(there[head_at:body_at])), bytes(there[body_at:next_at]))
            at = next_at
        self._rest += there[at:]


def _headers(told: bytes) -> list[Header]:
    headers = []
    for line in told.split(b"\r\n")[:-1]:
        name, _, value = line.partition(b": ")
        headers.append((name, value))
    return headers
