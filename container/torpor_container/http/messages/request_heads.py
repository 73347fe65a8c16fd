"""Reads the head of a request: its line and its headers, whole, or not at all.

httptools (llhttp) reads each head, and refuses what is not HTTP/1.1 to the letter: a line that ends with a bare LF, a
folded header, a space before a colon, control characters, two lengths, a length beside chunks. What it accepts means
the same to every parser, and is split here. This module is stricter where llhttp is not: in the request's line, in what
may be there once, in sizes. Two parsers that disagree on where a request ends let one client smuggle requests into
another's connection (RFC 9112, section 11.2).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import httptools

from torpor_container.transport.frames import Header

LINE_MAX_BYTES = 32 * 1024
"""The size of the line with the path and the query. It is large because presigned URLs are long."""
FIELD_MAX_BYTES = 64 * 1024
"""The size of one header. It is large because session tokens are long."""
HEADERS_MAX = 100
HEAD_MAX_BYTES = 128 * 1024
"""A request's line and headers together."""
NAMES_MAX = 256
NAME_MAX_BYTES = 64
HOST_MAX_BYTES = 255 + len(":65535")
"""RFC 1035, section 2.3.4: a name has "255 octets or less"."""

LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/(1\.[01])\r\n")
"""RFC 9112, section 3, with printable characters alone in the target (RFC 3986, section 2)."""
BARE_LF = re.compile(rb"(?<!\r)\n")

ONLY_ONCE = (b"host", b"content-type", b"content-length", b"transfer-encoding")
"""RFC 9110, section 5.3: a second one cannot be merged with the first, so each reader may choose another."""
ONLY_ONCE_FROM = b"x-amzn-sagemaker-"
"""So begin the names of headers that are members of a call, such as its target model: no member has two values."""
FORWARDED = {
    b"x-forwarded-proto": b"https",
    b"x-forwarded-protocol": b"ssl",
    b"x-forwarded-ssl": b"on",
}
"""The headers by which a proxy tells whether its client speaks TLS, each with the value that says so."""
FORWARDED_NAMES = frozenset(FORWARDED)


class RequestRefused(Exception):
    """A request that is not read any further: the status of the answer, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class RequestHead(NamedTuple):
    """A head. `version` is `1.0` or `1.1`; `length` is None for a body in chunks. Header names are in lower case."""

    method: str
    target: bytes
    version: bytes
    headers: list[Header]
    length: int | None
    keeps_alive: bool
    expects_continue: bool
    forwarded: bool
    """Whether it has a header of FORWARDED."""


def read_head(data: bytes) -> RequestHead:
    """The head that these bytes are, with the empty line at their end. Raises RequestRefused."""
    line = LINE.match(data)
    if line is None or line.end() > LINE_MAX_BYTES or len(data) > HEAD_MAX_BYTES:
        check_begun(data)
    if line is None:
        raise RequestRefused(400, "Invalid request line")
    method, target, version = line.groups()
    taken = _Taken()
    _parse(data, method, taken)
    if b" \r\n" in data or b"\t\r\n" in data:
        headers = [(_LOWER[name], value.rstrip(b" \t")) for name, value in taken.items()]
    else:
        headers = [(_LOWER[name], value) for name, value in taken.items()]
    count = data.count(b"\r\n") - 2  # but for the line and the end
    if len(taken) < count:
        headers = _repeated_headers(data, method)
    if count > HEADERS_MAX:
        raise RequestRefused(431, "Too many headers")
    if target[0] != 47 and not _is_other_form(method, target):  # a slash
        raise RequestRefused(400, "Invalid request line")
    fields = dict(headers)
    if len(fields) < count:
        _check_repeated(headers)
    if len(data) > FIELD_MAX_BYTES:
        _check_large(headers)
    if len(fields.get(b"host", b"")) > HOST_MAX_BYTES:
        raise RequestRefused(400, f"The header Host is over {HOST_MAX_BYTES} bytes.")
    if b"transfer-encoding" in fields:
        _check_coding(fields[b"transfer-encoding"], version)
    expects = fields.get(b"expect")
    return RequestHead(
        method.decode("ascii"),
        target,
        version,
        headers,
        int(fields.get(b"content-length", b"0")) if b"transfer-encoding" not in fields else None,
        _keeps_alive(headers, version) if b"connection" in fields or version == b"1.0" else method != b"CONNECT",
        expects is not None and expects.lower() == b"100-continue" and version == b"1.1",
        not FORWARDED_NAMES.isdisjoint(fields),
    )


def check_begun(data: bytes | bytearray, searched: int = 0) -> None:
    """Raises RequestRefused for a head that is not whole, and that no more bytes can make a good one."""
    end = data.find(b"\r\n")
    if (len(data) if end < 0 else end) > LINE_MAX_BYTES:
        raise RequestRefused(414, "Request line is too large")
    if len(data) > HEAD_MAX_BYTES:
        raise RequestRefused(431, f"The request's head is over {HEAD_MAX_BYTES} bytes.")
    if BARE_LF.search(data, searched):
        raise RequestRefused(400, "A line ends with LF alone, and not with CRLF (RFC 9112, section 2.2)")


def forwarded_scheme(headers: Iterable[Header]) -> str:
    """The scheme that a proxy tells by headers of FORWARDED, of which there is one.

    Raises RequestRefused if two disagree.
    """
    told = {value == FORWARDED[name] for name, value in headers if name in FORWARDED}
    if len(told) > 1:
        raise RequestRefused(400, "The headers that tell the client's scheme disagree")
    return "https" if told.pop() else "http"


class _Names(dict[bytes, bytes]):
    """Names of headers in lower case, by how clients write them. There are few."""

    def __missing__(self, name: bytes) -> bytes:
        lower = name.lower()
        if len(name) <= NAME_MAX_BYTES:
            if len(self) == NAMES_MAX:
                self.clear()
            self[name] = lower
        return lower


_LOWER = _Names()


class _Taken(dict[bytes, bytes]):
    """What llhttp tells of a head: its headers, in their order. C calls `on_header`, where a function of Python's would
    cost each header a call."""

    on_header = dict.__setitem__
    on_message_begin = on_url = on_headers_complete = on_body = None
    on_message_complete = on_chunk_header = on_chunk_complete = None  # what is missing is looked for longer


class _Repeated(list[Header]):
    """The same, where several headers have one name."""

    on_message_begin = on_url = on_headers_complete = on_body = None
    on_message_complete = on_chunk_header = on_chunk_complete = None

    def on_header(self, name: bytes, value: bytes) -> None:
        self.append((name.lower(), value.rstrip(b" \t")))


def _parse(data: bytes, method: bytes, told: _Taken | _Repeated) -> None:
    """Have llhttp read a head, and tell it. Raises RequestRefused."""
    try:
        httptools.HttpRequestParser(told).feed_data(data)
    except httptools.HttpParserUpgrade:
        pass  # it stops behind such a head; the offer to speak another protocol is not taken up
    except httptools.HttpParserInvalidMethodError:  # RFC 9110, section 15.6.2
        check_begun(data)  # whose answer comes first where the head comes in pieces
        raise RequestRefused(501, f"The method {method.decode('ascii')} is not known") from None
    except httptools.HttpParserError as error:
        raise RequestRefused(400, str(error)) from None


def _repeated_headers(data: bytes, method: bytes) -> list[Header]:
    """The headers of a head in which several have one name."""
    found = _Repeated()
    _parse(data, method, found)
    return found


def _is_other_form(method: bytes, target: bytes) -> bool:
    """Whether a target without a slash at its start is one all the same (RFC 9112, sections 3.2.2 to 3.2.4)."""
    return method == b"CONNECT" or b"://" in target or (target == b"*" and method == b"OPTIONS")


def _check_large(headers: Iterable[Header]) -> None:
    if any(len(name) + len(value) + len(": \r\n") > FIELD_MAX_BYTES for name, value in headers):
        raise RequestRefused(431, "Request header field is too large")


def _check_repeated(headers: Iterable[Header]) -> None:
    names = [name for name, _ in headers]
    for name in {*ONLY_ONCE, *(name for name in names if name.startswith(ONLY_ONCE_FROM))}:
        if names.count(name) > 1:
            raise RequestRefused(400, f"Duplicate {name.decode()} header")


def _check_coding(coding: bytes, version: bytes) -> None:
    """Raises RequestRefused for any transfer coding but chunks: such a body, handed on as it is, would be another."""
    if version == b"1.0":
        raise RequestRefused(400, "Chunked encoding not allowed in HTTP/1.0")  # RFC 9112, section 6.1
    if coding.lower() != b"chunked":
        raise RequestRefused(501, f"The transfer coding {coding.decode('latin-1')} is not known")


def _keeps_alive(headers: Iterable[Header], version: bytes) -> bool:
    """RFC 9112, section 9.3."""
    told = b",".join([value for name, value in headers if name == b"connection"]).lower()
    options = {option.strip(b" \t") for option in told.split(b",")}
    return b"close" not in options and (version == b"1.1" or b"keep-alive" in options)
