"""Writes answers of HTTP/1.1 as bytes."""

import time
from collections.abc import Iterable
from email.utils import formatdate
from functools import cache
from http import HTTPStatus

from torpor_container.transport.frames import Header, valid_lines

SERVER = b"Server: gunicorn/asgi\r\n"
"""As gunicorn's own worker writes it. gunicorn still opens the port and starts what answers."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE = b"Connection: close\r\n"
FRAMING = (b"content-length", b"transfer-encoding")
LAST_CHUNK = b"0\r\n\r\n"
BODILESS = frozenset({204, 304, *range(100, 200)})
"""The statuses of answers without a body (RFC 9112, section 6.3)."""

REASONS = {413: "Payload Too Large", 414: "URI Too Long", 416: "Range Not Satisfiable", 422: "Unprocessable Entity"}
"""Where versions of Python differ."""


@cache
def status_line(status: int, version: bytes = b"1.1") -> bytes:
    """An answer's first line. `version` is that of the request."""
    try:
        reason = REASONS.get(status) or HTTPStatus(status).phrase
    except ValueError:
        reason = "Unknown"
    return b"HTTP/%b %d %b\r\n" % (version, status, reason.encode())


_date = (0, b"")


def date_line() -> bytes:
    """The line `Date: …` of this second."""
    global _date
    second = int(time.time())
    if second != _date[0]:
        _date = second, b"Date: %b\r\n" % formatdate(second, usegmt=True).encode()
    return _date[1]


def whole_answer(status: int, headers: list[Header], body: bytes, version: bytes, closes: bool) -> bytes:
    """An answer in one piece, to any request but a HEAD. Its length is added here. Raises BadHeaders."""
    length = b"content-length: %d\r\n" % len(body)
    if status in BODILESS:
        headers, length, body = without_framing(headers, status), b"", b""
    lines = valid_lines(headers)
    closing = CLOSE if closes else b""
    return b"".join((status_line(status, version), lines, length, SERVER, date_line(), closing, b"\r\n", body))


def answer_head(status: int, headers: list[Header], version: bytes, closes: bool) -> bytes:
    """The line and the headers of an answer, and those of ours that it does not have yet. Raises BadHeaders."""
    names = {name.lower() for name, _ in headers}
    own = [
        b"" if b"server" in names else SERVER,
        b"" if b"date" in names else date_line(),
        CLOSE if closes and b"connection" not in names else b"",
    ]
    return b"".join((status_line(status, version), valid_lines(headers), *own, b"\r\n"))


def without_framing(headers: Iterable[Header], status: int) -> list[Header]:
    """The headers of an answer without a body. A length stays where it is that of the answer to a GET, or of 200 in
    place of 304; with 204 it is forbidden (RFC 9110, section 8.6)."""
    forbidden = {b"transfer-encoding"} if status not in BODILESS or status == 304 else {*FRAMING}
    return [(name, value) for name, value in headers if name.lower() not in forbidden]


def chunk_frame(content: bytes, last: bool) -> tuple[bytes, bytes]:
    """What stands before and after a piece of an answer in chunks. A piece without content is no chunk."""
    before, after = (b"%x\r\n" % len(content), b"\r\n") if content else (b"", b"")
    return before, after + LAST_CHUNK if last else after


def refusal(status: int, why: str) -> bytes:
    """A whole answer with which a connection ends."""
    body = why.encode()
    head = b"Content-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
    return status_line(status) + head + body
