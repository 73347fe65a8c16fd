"""What hostile and broken clients may send: each such request is refused, or means the same to every parser."""

import pytest

from tests.container.helpers.read_heads import ReadHeads
from torpor_container.http.messages.request_heads import (
    FIELD_MAX_BYTES,
    HEADERS_MAX,
    HOST_MAX_BYTES,
    LINE_MAX_BYTES,
    RequestRefused,
    forwarded_scheme,
)
from torpor_container.http.messages.request_reader import RequestReader


def head(*lines: bytes) -> bytes:
    """A request's line, or GET's, with these headers."""
    return b"".join(line + b"\r\n" for line in (*lines, b""))


def get(*headers: bytes) -> bytes:
    return head(b"GET /a HTTP/1.1", b"Host: h", *headers)


def post(*headers: bytes) -> bytes:
    return head(b"POST /a HTTP/1.1", b"Host: h", *headers)


def chunks(body: bytes, *headers: bytes) -> bytes:
    return post(b"Transfer-Encoding: chunked", *headers) + body


def line(text: bytes) -> bytes:
    return head(text, b"Host: h")


def read(data: bytes) -> list[tuple[str, bytes, bytes] | int]:
    """The requests in these bytes, each by method, target and body; the status of a refusal; 0 for a part of one."""
    reader, found = RequestReader(ReadHeads()), list[tuple[str, bytes, bytes] | int]()
    reader.add(data)
    try:
        while reader.unread:
            begun = reader.head()
            if begun is None:
                return [*found, 0]
            reader.begin_body(begun)
            body, before = b"", b""
            while not reader.body_whole and reader.unread != before:
                before = bytes(reader.unread)
                body += reader.body()
            found.append((begun.method, begun.target, body) if reader.body_whole else 0)
    except RequestRefused as refused:
        found.append(refused.status)
    return found


ACCEPTED = {
    "plain": (get(), b""),
    "obsolete text in a value": (get(b"X: \xe9"), b""),
    "an underscore in a name": (get(b"x_amz_meta: v"), b""),
    "no host": (head(b"GET /a HTTP/1.1"), b""),
    "as many headers as there may be": (get(*[b"x: 1"] * (HEADERS_MAX - 1)), b""),
    "zeros before a length": (post(b"Content-Length: 0001") + b"x", b"x"),
    "a coding in capitals": (post(b"Transfer-Encoding: CHUNKED") + b"1\r\nx\r\n0\r\n\r\n", b"x"),
    "an extension": (chunks(b"3;a=b\r\nabc\r\n0\r\n\r\n"), b"abc"),
    "a quoted extension": (chunks(b'3;a="b;c"\r\nabc\r\n0\r\n\r\n'), b"abc"),
    "a trailer": (chunks(b"0\r\nX: 1\r\n\r\n"), b""),
    "an offer of HTTP/2, with a body": (
        post(b"Connection: upgrade", b"Upgrade: h2c", b"Content-Length: 3") + b"abc",
        b"abc",
    ),
    "an offer of WebSocket": (get(b"Connection: upgrade", b"Upgrade: websocket"), b""),
    "another expectation": (post(b"Expect: 200-ok", b"Content-Length: 1") + b"x", b"x"),
    "an empty line first": (b"\r\n" + get(), b""),
}


@pytest.mark.parametrize(("data", "body"), ACCEPTED.values(), ids=ACCEPTED)
def test_an_unusual_request_is_read(data: bytes, body: bytes) -> None:
    [(_, target, found)] = read(data)  # type: ignore[misc]  # no refusal
    assert (target, found) == (b"/a", body)


REFUSED = {
    "a bare LF after the line": (400, b"GET /a HTTP/1.1\nHost: h\r\n\r\n"),
    "bare LFs alone": (400, b"GET /a HTTP/1.1\nHost: h\n\n"),
    "a bare LF after a header": (400, b"GET /a HTTP/1.1\r\nHost: h\nX: 1\r\n\r\n"),
    "a bare LF at the end": (400, b"GET /a HTTP/1.1\r\nHost: h\r\n\n"),
    "a bare CR in a value": (400, get(b"X: a\rb")),
    "NUL in a value": (400, get(b"X: a\0")),
    "a control character in a value": (400, get(b"X: \x01")),
    "DEL in a value": (400, get(b"X: \x7f")),
    "a space before a colon": (400, get(b"X : a")),
    "a space before a name": (400, get(b" X: a")),
    "a folded header": (400, get(b"X: a", b" b")),
    "a header folded by a tab": (400, get(b"X: a", b"\tb")),
    "a folded first header": (400, head(b"GET /a HTTP/1.1", b" Host: h")),
    "no colon": (400, get(b"nocolon")),
    "no name": (400, get(b": v")),
    "a delimiter in a name": (400, get(b"X(: v")),
    "eight bits in a name": (400, get(b"X\xe9: v")),
    "two equal lengths": (400, post(b"Content-Length: 1", b"Content-Length: 1") + b"x"),
    "two lengths": (400, post(b"Content-Length: 1", b"Content-Length: 2") + b"xy"),
    "a list of lengths": (400, post(b"Content-Length: 1, 1") + b"x"),
    "a length with a sign": (400, post(b"Content-Length: +1") + b"x"),
    "a negative length": (400, post(b"Content-Length: -1")),
    "a length in hex": (400, post(b"Content-Length: 0x1") + b"x"),
    "an empty length": (400, post(b"Content-Length: ")),
    "a length with an underscore": (400, post(b"Content-Length: 1_0") + b"x" * 10),
    "a length without end": (400, post(b"Content-Length: " + b"9" * 5000)),
    "a length beside chunks": (400, chunks(b"0\r\n\r\n", b"Content-Length: 5")),
    "chunks beside a length": (400, post(b"Content-Length: 5", b"Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    "chunks twice": (400, chunks(b"0\r\n\r\n", b"Transfer-Encoding: chunked")),
    "chunks, and gzip around them": (400, post(b"Transfer-Encoding: chunked, gzip") + b"0\r\n\r\n"),
    "gzip without chunks": (400, post(b"Transfer-Encoding: gzip")),
    "gzip in chunks": (501, post(b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n"),
    "identity in chunks": (501, post(b"Transfer-Encoding: identity, chunked") + b"0\r\n\r\n"),
    "a coding like chunks": (400, post(b"Transfer-Encoding: xchunked")),
    "a coding behind a control character": (400, post(b"Transfer-Encoding: \x0bchunked") + b"0\r\n\r\n"),
    "chunks of HTTP/1.0": (400, head(b"POST /a HTTP/1.0", b"Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    "a space after a size": (400, chunks(b"3 \r\nabc\r\n0\r\n\r\n")),
    "a space before a size": (400, chunks(b" 3\r\nabc\r\n0\r\n\r\n")),
    "a size with 0x": (400, chunks(b"0x3\r\nabc\r\n0\r\n\r\n")),
    "a size with a sign": (400, chunks(b"+3\r\nabc\r\n0\r\n\r\n")),
    "a negative size": (400, chunks(b"-3\r\nabc\r\n0\r\n\r\n")),
    "no size": (400, chunks(b"\r\nabc\r\n0\r\n\r\n")),
    "a size with an underscore": (400, chunks(b"1_0\r\n" + b"a" * 16 + b"\r\n0\r\n\r\n")),
    "a size without end": (400, chunks(b"f" * 17 + b"\r\nabc")),
    "a space before an extension": (400, chunks(b"3 ;a\r\nabc\r\n0\r\n\r\n")),
    "a space in an extension": (400, chunks(b"3;a =b\r\nabc\r\n0\r\n\r\n")),
    "an extension without a name": (400, chunks(b"3;\r\nabc\r\n0\r\n\r\n")),
    "a bare CR in an extension": (400, chunks(b"3;a\rb\r\nabc\r\n0\r\n\r\n")),
    "a bare LF after a size": (400, chunks(b"3\nabc\r\n0\r\n\r\n")),
    "a chunk that goes on": (400, chunks(b"3\r\nabcd\r\n0\r\n\r\n")),
    "a bare LF after a chunk": (400, chunks(b"3\r\nabc\n0\r\n\r\n")),
    "a bare CR after a chunk": (400, chunks(b"3\r\nabc\rX0\r\n\r\n")),
    "a bare LF after the last chunk": (400, chunks(b"3\r\nabc\r\n0\r\n\n")),
    "a length as a trailer": (400, chunks(b"0\r\nContent-Length: 1\r\n\r\n")),
    "a host as a trailer": (400, chunks(b"0\r\nHost: x\r\n\r\n")),
    "a trailer with a space before its colon": (400, chunks(b"0\r\nX : 1\r\n\r\n")),
    "a trailer without a colon": (400, chunks(b"0\r\nfoo\r\n\r\n")),
    "too many trailers": (431, chunks(b"0\r\n" + b"x: 1\r\n" * (HEADERS_MAX + 1) + b"\r\n")),
    "a trailer that is too large": (431, chunks(b"0\r\nx: " + b"1" * FIELD_MAX_BYTES + b"\r\n\r\n")),
    "two hosts": (400, get(b"Host: x")),
    "a host that no name can be": (400, head(b"GET /a HTTP/1.1", b"Host: " + b"a" * (HOST_MAX_BYTES + 1))),
    "two content types": (400, post(b"Content-Type: a/b", b"content-type: a/b")),
    "two target models": (
        400,
        post(b"X-Amzn-SageMaker-Target-Model: a.tar.gz", b"x-amzn-sagemaker-target-model: b.tar.gz"),
    ),
    "too many headers": (431, get(*[b"x: 1"] * HEADERS_MAX)),
    "a header that is too large": (431, get(b"x: " + b"1" * FIELD_MAX_BYTES)),
    "headers that are too large together": (431, get(*[b"x: " + b"1" * 60_000] * 3)),
    "a line that is too long": (414, line(b"GET /" + b"a" * LINE_MAX_BYTES + b" HTTP/1.1")),
    "a line that does not end": (414, b"GET /" + b"a" * LINE_MAX_BYTES),
    "a method that is not known": (501, line(b"FOO /a HTTP/1.1")),
    "a method in lower case": (501, line(b"get /a HTTP/1.1")),
    "a method that is no token": (400, line(b"G(T /a HTTP/1.1")),
    "two spaces": (400, line(b"GET  /a HTTP/1.1")),
    "a tab": (400, line(b"GET\t/a HTTP/1.1")),
    "a space after the version": (400, line(b"GET /a HTTP/1.1 ")),
    "a space in the path": (400, line(b"GET /a b HTTP/1.1")),
    "eight bits in the path": (400, line(b"GET /\xe9 HTTP/1.1")),
    "NUL in the path": (400, line(b"GET /\0 HTTP/1.1")),
    "HTTP/0.9": (400, b"GET /a\r\n\r\n"),
    "HTTP/1.2": (400, line(b"GET /a HTTP/1.2")),
    "HTTP/2": (400, line(b"GET /a HTTP/2.0")),
    "a version with a further digit": (400, line(b"GET /a HTTP/1.10")),
    "HTTP/2's preface": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    "a proxy's own line": (400, b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n" + get()),
    "an authority": (400, line(b"GET h:80 HTTP/1.1")),
    "a star": (400, line(b"GET * HTTP/1.1")),
    "a path without a slash": (400, line(b"GET a HTTP/1.1")),
    "a query alone": (400, line(b"GET ?a HTTP/1.1")),
    "no target": (400, line(b"GET  HTTP/1.1")),
    "two empty lines first": (400, b"\r\n\r\n" + get()),
    "a bare LF first": (400, b"\n" + get()),
}


@pytest.mark.parametrize(("status", "data"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_parsers_could_read_differently_is_refused(status: int, data: bytes) -> None:
    assert read(data)[-1] == status
    assert len(read(data)) == 1


@pytest.mark.parametrize(
    ("target", "method"),
    [(b"http://h/a", b"GET"), (b"*", b"OPTIONS"), (b"h:80", b"CONNECT"), (b"/a#b", b"GET"), (b"//a", b"GET")],
)
def test_each_form_of_a_target_is_read_where_it_may_stand(method: bytes, target: bytes) -> None:
    assert read(line(b"%b %b HTTP/1.1" % (method, target))) == [(method.decode(), target, b"")]


def test_what_stands_behind_a_body_is_the_next_request_and_nothing_else() -> None:
    smuggled = get(b"Content-Length: 5") + b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n"
    assert read(smuggled) == [("GET", b"/a", b"GET /"), 400]
    assert read(get() + post(b"Content-Length: 1") + b"x" + get()) == [
        ("GET", b"/a", b""),
        ("POST", b"/a", b"x"),
        ("GET", b"/a", b""),
    ]


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Connection: close", False),
        (b"1.1", b"Connection: foo, Close", False),
        (b"1.1", b"Connection: closed", True),
        (b"1.1", b"Connection: keep-alive\r\nConnection: close", False),
        (b"1.0", b"", False),
        (b"1.0", b"Connection: Keep-Alive", True),
        (b"1.0", b"Connection: keep-alive, close", False),
    ],
)
def test_a_connection_is_kept_as_the_request_says(version: bytes, connection: bytes, keeps: bool) -> None:
    reader = RequestReader(ReadHeads())
    reader.add(head(b"GET /a HTTP/" + version, *([connection] if connection else [])))
    found = reader.head()
    assert found is not None
    assert found.keeps_alive is keeps


def test_a_proxy_tells_its_clients_scheme_unless_its_headers_disagree() -> None:
    assert forwarded_scheme([(b"x-forwarded-proto", b"https"), (b"x-forwarded-ssl", b"on")]) == "https"
    assert forwarded_scheme([(b"x-forwarded-proto", b"http")]) == "http"
    with pytest.raises(RequestRefused):
        forwarded_scheme([(b"x-forwarded-proto", b"https"), (b"x-forwarded-ssl", b"off")])
