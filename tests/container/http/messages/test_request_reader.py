"""Whatever the reader accepts, httptools reads the same out of it, and it does not matter how the bytes are cut."""

from itertools import pairwise

import httptools
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.container.helpers.read_heads import ReadHeads
from tests.helpers.example_counts import tries
from torpor_container.http.messages.body_framing import CHUNKS_AT_ONCE
from torpor_container.http.messages.request_heads import RequestHead, RequestRefused
from torpor_container.http.messages.request_reader import RequestReader
from torpor_container.transport.frames import Header

Request = tuple[bytes, bytes, list[Header], bytes]
"""Method, target, headers and body."""


class Reading:
    """Whole requests as they are read out of pieces, and where the last one ends. `ended`: its connection is closed."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.end = 0
        self.refused = 0
        self.ended = False
        self._come = 0
        self._reader = RequestReader(ReadHeads())
        self._head: RequestHead | None = None
        self._body = b""

    def take(self, piece: bytes) -> None:
        self._come += len(piece)
        self._reader.add(piece)
        try:
            while not self.ended and self._step():
                pass
        except RequestRefused as refused:
            self.refused, self.ended = refused.status, True

    def _step(self) -> bool:
        """Whether there may be more to read."""
        reader = self._reader
        if self._head is None:
            self._head = reader.head() if reader.unread else None
            if self._head is None:
                return False
            reader.begin_body(self._head)
        before = len(reader.unread)
        self._body += b"" if reader.body_whole else reader.body()
        if not reader.body_whole:
            return len(reader.unread) < before
        self.requests.append((self._head.method.encode(), self._head.target, self._head.headers, self._body))
        self.end, self.ended = self._come - len(reader.unread), not self._head.keeps_alive
        self._head, self._body = None, b""
        return True


class Oracle:
    """The requests that httptools reads out of bytes."""

    def __init__(self, data: bytes) -> None:
        self.requests: list[Request] = []
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._target, self._headers, self._body, self._trailers = b"", list[Header](), b"", False

    def on_url(self, target: bytes) -> None:
        self._target += target

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._trailers:
            self._headers.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        self._trailers = True

    def on_body(self, piece: bytes) -> None:
        self._body += piece

    def on_message_complete(self) -> None:
        self.requests.append((self._parser.get_method(), self._target, self._headers, self._body))


NAMES = st.sampled_from([b"x-a", b"Host", b"Content-Type", b"Expect", b"Connection", b"Content-Length", b"TE", b"X_b"])
VALUES = st.sampled_from([b"", b"1", b"a b", b" \t", b"close", b"keep-alive", b"100-continue", b"\xe9", b"chunked"])
FIELDS = st.lists(
    st.builds(b"%b:%b%b\r\n".__mod__, st.tuples(NAMES, st.sampled_from([b"", b" ", b"\t"]), VALUES)), max_size=3
)
LINES = st.sampled_from(
    [
        b"GET / HTTP/1.1",
        b"POST /a?b=%20 HTTP/1.1",
        b"PUT http://h/a HTTP/1.1",
        b"HEAD //x HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
    ]
)
SIZED = st.binary(max_size=9).map(lambda body: b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
CHUNK = st.binary(min_size=1, max_size=20).map(lambda piece: b"%x;e=1\r\n%b\r\n" % (len(piece), piece))
CHUNKED = st.lists(CHUNK, max_size=4).map(
    lambda pieces: b"Transfer-Encoding: chunked\r\n\r\n%b0\r\nt: 1\r\n\r\n" % b"".join(pieces)
)
REQUESTS = st.builds(
    lambda line, fields, rest: b"%b\r\n%b%b" % (line, b"".join(fields), rest), LINES, FIELDS, st.one_of(SIZED, CHUNKED)
)
ODD = st.sampled_from(
    [b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"\0", b"0", b"f", b"\xff", b";", b",", b"chunked", b"1.0"]
)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Requests, one after another, of whose bytes a few are changed."""
    data = b"".join(draw(st.lists(REQUESTS, min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 3))):
        at, gone = draw(st.integers(0, len(data))), draw(st.integers(0, 2))
        data = data[:at] + draw(ODD) + data[at + gone :]
    return data


@given(streams(), st.lists(st.integers(0, 400), max_size=8))
@example(
    b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n", list(range(80))
)
@example(b"chunkedGET / HTTP/1.1\r\nx-a: b\r\r\n\n\r\n\r\n", [32])
@settings(max_examples=tries(40), deadline=None)
def test_what_is_accepted_means_the_same_to_httptools_however_it_is_cut(data: bytes, cuts: list[int]) -> None:
    whole, cut = Reading(), Reading()
    whole.take(data)
    edges = [0, *sorted(at for at in cuts if at < len(data)), len(data)]
    for start, end in pairwise(edges):
        cut.take(data[start:end])
    assert (cut.requests, cut.end, cut.refused) == (whole.requests, whole.end, whole.refused)
    assert Oracle(data[: whole.end]).requests == whole.requests


@given(st.binary(max_size=300))
@settings(max_examples=tries(40), deadline=None)
def test_no_bytes_break_the_reader(data: bytes) -> None:
    reading = Reading()
    reading.take(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + data)
    assert reading.refused in (0, 400, 414, 431, 501)


def test_many_chunks_are_read_some_at_a_time() -> None:
    reader = RequestReader(ReadHeads())
    reader.add(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * (CHUNKS_AT_ONCE + 1))
    head = reader.head()
    assert head is not None
    reader.begin_body(head)
    assert [len(reader.body()) for _ in range(3)] == [CHUNKS_AT_ONCE, 1, 0]
