"""The bytes of the frame protocol: many requests at once on one connection, answered in any order.

Why a protocol of our own: between an endpoint and its instances, HTTP/1.1 costs more than a small prediction. It allows
one request at a time on a connection, so that many callers need many connections, and each request and answer is one
write, one wake-up of the other side, and one parse. Here all callers share one connection, whatever comes in one round
of the event loop leaves in one write, and a head of fixed size replaces the parse. HTTP/2 would share a connection too,
but its streams, windows and compressed headers cost more than they save on one machine. Both ends are always of the
same version of this package, so the protocol has no versions and no options.

A connection is in one of three states; the client's end is `transport.multiplexed`, the server's is
`http.clients.framed_requests`:

    HTTP ──── the client sends UPGRADE ────> ASKED ──── the server sends UPGRADED ────> FRAMES

- *HTTP.* It begins as HTTP/1.1, and the client asks for an upgrade (RFC 9110, section 7.8). The path of that request is
  the path of all requests that follow.
- *ASKED.* The client sends nothing more. A server that speaks no frames answers the request as any other, and the
  client then closes the connection.
- *FRAMES.* The client sends requests at any time; the server sends the answer to each, in any order. There is no way
  back to HTTP.

A frame, all numbers in network order:

    number 4 | status 2 | length of head 4 | length of body 4 | head | body

An answer has the number of its request. Numbers are the client's to choose: no two requests that wait for an answer may
have the same. The status is 0 in a request, and NO_ANSWER in an answer that cannot be given; its body then says why.
The head is header lines as in HTTP/1.1, without the empty line at its end. The same heads come again and again, and
`KnownLines` splits each of them once. In an answer, the first line alone is looked at by itself: it is the one that
differs every time, `Server-Timing`.

What ends a connection: either side closes it; or one announces a head over HEAD_MAX_BYTES or a body over
BODY_MAX_BYTES. The reader then raises FrameTooLong before it takes in any of it, and its owner closes, since nothing
says where a next frame would begin. A frame is taken in whole, so these bounds are what one frame can cost in memory,
and for how long it keeps those behind it waiting. Larger bodies go by HTTP (`transport.upstream`).
"""

import re
from collections.abc import Iterator, Sequence
from struct import Struct

Header = tuple[bytes, bytes]
"""A header's name and value. Names are in lower case."""

UPGRADE = re.compile(
    rb"GET (/[!->@-~]*) HTTP/1\.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: frames\r\n\r\n"
)
"""What `upgrade` makes; the group is the path. The server knows no other form of it: its one client writes this one."""

UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: frames\r\n\r\n"
"""The server's agreement. The bytes after it are frames."""

NO_ANSWER = 0
"""The status of an answer that cannot be given: the request was called, and what came of it is lost."""

LINES = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+: [\t -~\x80-\xff]*\r\n)*")
"""Header lines (RFC 9110, section 5): a name is a token, and a value has no control characters but tabs."""

_LINE = b"%b: %b\r\n".__mod__

START = Struct("!IHII")
"""Number, status, length of the head, length of the body."""

HEAD_MAX_BYTES = 1024 * 1024
BODY_MAX_BYTES = 64 * 1024 * 1024


class BadHeaders(ValueError):
    """A header has a name or a value that would break its line."""


class FrameTooLong(ValueError):
    """A frame announces more than may be taken in. Its connection cannot be read any further."""


Frame = tuple[int, int, bytes, bytes]
"""One request, or one answer: its number, its status, its head and its body."""

KNOWN_MAX = 256
KNOWN_MAX_BYTES = 4096
"""So many heads are remembered, each of at most so many bytes."""


class KnownLines(dict[bytes, Sequence[Header]]):
    """The headers of a head, by its lines. Whoever gets them changes nothing in them."""

    def __missing__(self, head: bytes) -> Sequence[Header]:
        headers = headers_of(head)
        if len(head) <= KNOWN_MAX_BYTES:
            if len(self) == KNOWN_MAX:
                self.clear()
            self[head] = headers
        return headers


def upgrade(path: str) -> bytes:
    """The request that asks for frames."""
    return b"GET %b HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: frames\r\n\r\n" % path.encode()


def encoded(number: int, status: int, head: bytes, body: bytes) -> bytes:
    """One frame. `head` is header lines, as `lines` or `valid_lines` makes them."""
    return START.pack(number, status, len(head), len(body)) + head + body


def number_of(frame: bytes) -> int:
    """The number of one whole frame."""
    number: int = START.unpack_from(frame)[0]
    return number


def lines(headers: Sequence[Header]) -> bytes:
    """The headers as lines of HTTP/1.1. The caller vouches that no value has an end of line in it."""
    return b"".join(map(_LINE, headers))


def valid_lines(headers: Sequence[Header]) -> bytes:
    """The same for headers that an application made. Raises BadHeaders where one would break its line."""
    head = b"".join(map(_LINE, headers))
    if not LINES.fullmatch(head) or head.count(b"\n") != len(headers):  # a value cannot end its line
        raise BadHeaders(f"the application's headers are not valid: {headers}")
    return head


class FrameReader:
    """Reads frames out of a connection's bytes, however these are cut.

    It keeps the bytes of a frame that is not whole, and how long that frame will be: until then, more bytes are only
    added, and a frame of many reads is copied once and not with each of them.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._whole_bytes = START.size  # of the frame that has begun, as far as is known

    def read(self, data: bytes) -> Iterator[Frame]:
        """The frames that these bytes complete. Raises FrameTooLong, after the frames before the one at fault."""
        there: bytes | memoryview = data
        if self._rest:
            self._rest += data
            if len(self._rest) < self._whole_bytes:
                return
            there, self._rest = memoryview(self._rest), bytearray()
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
            yield number, status, bytes(there[head_at:body_at]), bytes(there[body_at:next_at])
            at = next_at
        self._rest += there[at:]


def headers_of(head: bytes) -> Sequence[Header]:
    """The headers that these lines are."""
    headers = []
    for line in head.split(b"\r\n")[:-1]:
        name, _, value = line.partition(b": ")
        headers.append((name, value))
    return headers
