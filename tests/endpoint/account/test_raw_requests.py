"""Requests as bytes on a real port: an unusual one gets a clear answer, and the connection serves the next request."""

import gzip
import json
import socket
from http.client import HTTPResponse

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint

SIGNED = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/{}/aws4_request, SignedHeaders=host, Signature=0"
JSON = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "SageMaker.ListModels"}
WAIT_S = 30.0
MIB = 1 << 20


def request(body: bytes = b"{}", *, line: str = "POST / HTTP/1.1", service: str = "sagemaker", **headers: str) -> bytes:
    """The bytes of a ListModels call, unless its headers say otherwise. A header given as "" is left out."""
    lengths = {} if "transfer_encoding" in headers else {"content-length": str(len(body))}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"host": "localhost", "authorization": SIGNED.format(service), **JSON, **lengths, **given}
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value)
    return f"{line}\r\n{head}\r\n".encode() + body


class Wire:
    """One connection."""

    def __init__(self, live: LiveEndpoint) -> None:
        host, port = live.url.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=WAIT_S)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self, data: bytes, *, last: bool = False) -> "Wire":
        self.socket.sendall(data)
        if last:
            self.socket.shutdown(socket.SHUT_WR)
        return self

    def answer(self, method: str = "POST") -> tuple[int, bytes]:
        response = HTTPResponse(self.socket, method=method)
        response.begin()
        return response.status, response.read()

    def is_good(self) -> bool:
        """Whether the connection still serves a proper request."""
        status, body = self.send(request()).answer()
        return status == 200 and "Models" in json.loads(body)


ODD = {
    "chunked": request(b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", transfer_encoding="chunked"),
    "gzip": request(gzip.compress(b"{}"), content_encoding="gzip"),
    "HTTP/1.0": request(line="POST / HTTP/1.0", connection="keep-alive"),
    "no host": request(host=""),
    "a query beside the body": request(line="POST /?a=b HTTP/1.1"),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_unusual_but_valid_request_is_answered(live: LiveEndpoint, odd: str) -> None:
    with Wire(live) as wire:
        status, body = wire.send(ODD[odd]).answer()
        assert (status, "Models" in json.loads(body)) == (200, True)
        assert wire.is_good()


REFUSED = {
    "malformed JSON": (request(b"{"), 400, "SerializationException"),
    "no JSON": (request(b"\xff\xfe"), 400, "SerializationException"),
    "truncated gzip": (request(gzip.compress(b"{}")[:-4], content_encoding="gzip"), 400, "SerializationException"),
    "wrong content type": (request(content_type="text/csv"), 415, "UnsupportedMediaTypeException"),
    "unknown operation": (request(x_amz_target="SageMaker.MakeCoffee"), 400, "UnknownOperationException"),
    "unknown target": (request(x_amz_target="CoffeeMaker.ListModels"), 400, "UnknownOperationException"),
    "no target": (request(x_amz_target=""), 400, "UnknownOperationException"),
    "GET": (request(b"", line="GET / HTTP/1.1", x_amz_target=""), 400, "UnknownOperationException"),
    "a GET that would change something": (
        request(
            b"", line="GET /?Action=CreateTopic&Name=a&Version=2010-03-31 HTTP/1.1", service="sns", x_amz_target=""
        ),
        405,
        "MethodNotAllowed",
    ),
    "a page of another origin": (request(origin="http://evil.test"), 403, "AccessDeniedException"),
    "a host that is not ours": (request(host="evil.test"), 403, "AccessDeniedException"),
    "a page's upload of 3 MB": (
        request(bytes(3 * MIB), line="POST /bucket HTTP/1.1", authorization="", x_amz_target="", origin="null"),
        403,
        "AccessForbidden",
    ),
    "signed for another service": (request(service="monitoring"), 400, "InvalidSignatureException"),
    "unknown service": (request(service="nosuch", x_amz_target=""), 400, "UnknownOperationException"),
    "large": (request(bytes(3 * MIB)), 413, "RequestEntityTooLargeException"),
    "large, to an unknown operation": (request(bytes(3 * MIB), x_amz_target="SageMaker.X"), 413, "TooLarge"),
    "large, to an unknown service": (
        request(bytes(3 * MIB), service="nosuch", x_amz_target=""),
        400,
        "UnknownOperationException",
    ),
    "large, to CloudWatch": (
        request(bytes(3 * MIB), service="monitoring", x_amz_target="GraniteServiceVersion20100801.ListMetrics"),
        413,
        "RequestEntityTooLargeException",
    ),
    "large, to no endpoint": (
        request(bytes(7 * MIB), line="POST /endpoints/none/invocations HTTP/1.1", x_amz_target=""),
        400,
        "Endpoint none of account",
    ),
    "large, to S3": (
        request(bytes(3 * MIB), line="PUT /none/key HTTP/1.1", service="s3", x_amz_target=""),
        404,
        "NoSuchBucket",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_request_is_read_to_its_end_and_the_connection_stays_open(live: LiveEndpoint, name: str) -> None:
    sent, expected, text = REFUSED[name]
    with Wire(live) as wire:
        status, body = wire.send(sent).answer()
        assert (status, text in body.decode()) == (expected, True), body
        assert wire.is_good()


def test_a_head_is_answered_without_a_body(live: LiveEndpoint) -> None:
    with Wire(live) as wire:
        assert wire.send(request(b"", line="HEAD / HTTP/1.1", x_amz_target="")).answer("HEAD") == (400, b"")
        assert wire.is_good()


def test_a_client_that_expects_100_continue_gets_it_before_it_sends_the_body(live: LiveEndpoint) -> None:
    with Wire(live) as wire:
        head, body = request(expect="100-continue").split(b"\r\n\r\n")
        wire.send(head + b"\r\n\r\n")
        assert wire.socket.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert wire.send(body).answer()[0] == 200


TRUNCATED = {
    "by its length": request(b"{}", content_length="20"),
    "within a chunk": request(b"5\r\n{}", transfer_encoding="chunked"),
    "between chunks": request(b"2\r\n{}\r\n", transfer_encoding="chunked"),
}


@pytest.mark.parametrize("truncated", TRUNCATED)
def test_a_truncated_body_is_never_taken_for_a_whole_one(live: LiveEndpoint, truncated: str) -> None:
    with Wire(live) as wire:
        assert wire.send(TRUNCATED[truncated], last=True).socket.recv(100) == b""


@pytest.mark.parametrize(
    "bad",
    [
        request(b"zz\r\n{}\r\n0\r\n\r\n", transfer_encoding="chunked"),
        request(content_length="two"),
        request(b"2\r\n{}\r\n0\r\n\r\n", content_length="2", transfer_encoding="chunked"),
        b"\x16\x03\x01 a TLS hello \r\n\r\n",
    ],
)
def test_bytes_that_are_no_http_are_a_bad_request(live: LiveEndpoint, bad: bytes) -> None:
    with Wire(live) as wire:
        assert wire.send(bad).answer()[0] == 400
