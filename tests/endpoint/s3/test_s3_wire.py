"""Requests as other clients send them, byte by byte."""

import http.client
import socket
import zlib
from base64 import b64encode
from typing import Any
from urllib.parse import urlsplit

import pytest
from s3_server import Server

BODY = b"hello world" * 1000
CRC = b64encode(zlib.crc32(BODY).to_bytes(4, "big")).decode()
CHUNKS = [BODY[:1], BODY[1:8000], BODY[8000:]]


def framed(signed: bool, trailer: str = "") -> bytes:
    extension = ";chunk-signature=" + "0" * 64 if signed else ""
    frames = [f"{len(chunk):x}{extension}\r\n".encode() + chunk + b"\r\n" for chunk in CHUNKS]
    return b"".join([*frames, f"0{extension}\r\n{trailer}\r\n".encode()])


def asked(
    server: Server, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("transfer", ["length", "chunked"])
@pytest.mark.parametrize(
    ("payload", "signed", "trailer"),
    [
        ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", True, ""),
        (
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
            True,
            f"x-amz-checksum-crc32:{CRC}\r\nx-amz-trailer-signature:0\r\n",
        ),
        ("STREAMING-UNSIGNED-PAYLOAD-TRAILER", False, f"x-amz-checksum-crc32:{CRC}\r\n"),
    ],
)
def test_an_aws_chunked_body_is_decoded_in_all_six_forms(
    server: Server, s3: Any, bucket: str, transfer: str, payload: str, signed: bool, trailer: str
) -> None:
    headers = {"x-amz-content-sha256": payload, "x-amz-decoded-content-length": str(len(BODY))}
    headers |= {"content-encoding": "gzip,aws-chunked"}
    if trailer:
        headers["x-amz-trailer"] = "x-amz-checksum-crc32"
    body = framed(signed, trailer)
    status, _, _ = asked(
        server, "PUT", f"/{bucket}/k", body if transfer == "length" else iter([body[:99], body[99:]]), headers
    )
    got = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert (status, got["Body"].read(), got["ContentEncoding"]) == (200, BODY, "gzip")
    assert got.get("ChecksumCRC32") == (CRC if trailer else None)


@pytest.mark.parametrize(
    ("body", "length", "code"),
    [
        (framed(False, "x-amz-checksum-crc32:AAAAAA==\r\n"), len(BODY), b"BadDigest"),
        (framed(False, "x-amz-checksum-crc32:AAA\r\n"), len(BODY), b"InvalidRequest"),
        (framed(False, f"x-amz-checksum-crc32:{CRC}\r\n"), len(BODY) + 1, b"IncompleteBody"),
        (framed(False)[:4000], len(BODY), b"IncompleteBody"),
        (b"nonsense", len(BODY), b"IncompleteBody"),
        (b"", len(BODY), b"IncompleteBody"),
    ],
)
def test_an_aws_chunked_body_that_is_wrong_is_refused(
    server: Server, s3: Any, bucket: str, body: bytes, length: int, code: bytes
) -> None:
    headers = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-trailer": "x-amz-checksum-crc32"}
    status, _, answer = asked(
        server, "PUT", f"/{bucket}/k", body, {**headers, "x-amz-decoded-content-length": str(length)}
    )
    assert (status, code in answer) == (400, True)
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_body_with_another_hash_than_was_signed_is_refused(server: Server, bucket: str) -> None:
    status, _, answer = asked(server, "PUT", f"/{bucket}/k", b"hello", {"x-amz-content-sha256": "0" * 64})
    assert (status, b"XAmzContentSHA256Mismatch" in answer) == (400, True)


@pytest.mark.parametrize(
    "host", ["{}.localhost:4700", "{}.s3.localhost", "{}.s3.us-west-2.amazonaws.com", "{}.s3.amazonaws.com"]
)
def test_a_bucket_can_be_named_by_the_host(server: Server, s3: Any, bucket: str, host: str) -> None:
    named = {"host": host.format(bucket)}
    assert asked(server, "PUT", "//odd%20key", b"hello", named)[0] == 200
    assert s3.get_object(Bucket=bucket, Key="/odd key")["Body"].read() == b"hello"
    assert b"<Key>/odd key</Key>" in asked(server, "GET", "/?list-type=2", headers=named)[2]


@pytest.mark.parametrize("host", ["localhost", "s3.localhost:4700", "s3.us-east-1.amazonaws.com", "127.0.0.1"])
def test_a_host_that_names_no_bucket_leaves_it_to_the_path(server: Server, bucket: str, host: str) -> None:
    assert asked(server, "HEAD", f"/{bucket}", headers={"host": host})[0] == 200


def test_every_answer_has_a_request_id_and_an_error_says_it_too(server: Server, bucket: str) -> None:
    status, headers, body = asked(server, "GET", f"/{bucket}/none")
    assert status == 404
    assert f"<RequestId>{headers['x-amz-request-id']}</RequestId>".encode() in body
    assert b"<Code>NoSuchKey</Code>" in body
    assert b"<Key>none</Key>" in body


def test_an_error_to_a_head_has_no_body(server: Server, bucket: str) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), timeout=10) as raw:
        raw.sendall(f"HEAD /{bucket}/none HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 404")
    assert answer.endswith(b"\r\n\r\n")


def test_a_refused_upload_is_read_to_its_end_and_the_connection_goes_on(server: Server) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)
    for _ in range(2):
        connection.request("PUT", "/no-such-bucket/k", b"x" * 3_000_000)
        answer = connection.getresponse()
        assert (answer.status, b"NoSuchBucket" in answer.read()) == (404, True)
    connection.close()


def test_an_upload_that_is_cut_off_leaves_nothing(server: Server, s3: Any, bucket: str) -> None:
    staged = server.root / ".torpor" / "tmp"
    before = set(staged.iterdir())
    head = f"PUT /{bucket}/k HTTP/1.1\r\nhost: x\r\ncontent-length: 9000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0)) as raw:
        raw.sendall(head.encode() + b"x" * 4_000_000)
    for _ in range(200):  # every answer is one more turn of the server's loop
        if set(staged.iterdir()) == before:
            break
        s3.head_bucket(Bucket=bucket)
    assert set(staged.iterdir()) == before
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


@pytest.mark.parametrize("path", ["/{}/%ff", "/%ff", "/{}/k?prefix=%ff"])
def test_a_name_that_is_not_utf8_is_refused(server: Server, bucket: str, path: str) -> None:
    status, _, body = asked(server, "GET", path.format(bucket))
    assert (status, b"InvalidURI" in body) == (400, True)


def test_a_header_override_cannot_split_the_answer(server: Server, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    status, _, _ = asked(server, "GET", f"/{bucket}/k?response-content-type=a%0d%0ax-evil:1")
    assert status == 400


@pytest.mark.parametrize(
    "xml", [b"", b"<Delete>", b"<Other/>", b"<!DOCTYPE a [<!ENTITY b 'c'>]><Delete>&b;</Delete>", b"\xff"]
)
def test_a_document_that_is_no_such_document_is_refused(server: Server, bucket: str, xml: bytes) -> None:
    status, _, body = asked(server, "POST", f"/{bucket}?delete", xml)
    assert (status, b"MalformedXML" in body) == (400, True)


@pytest.mark.parametrize("method", ["PATCH", "OPTIONS", "POST"])
def test_a_method_that_s3_does_not_know_here_is_refused(server: Server, bucket: str, method: str) -> None:
    assert asked(server, method, f"/{bucket}/k", b"")[0] == 405
