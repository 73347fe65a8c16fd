"""Requests as other clients send them, byte by byte."""

import http.client
import socket
import zlib
from base64 import b64encode
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.account.helpers.s3_server import Server
from torpor_account.s3.wire.checksums import ALGORITHMS, encoded

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
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
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
    assert ("ChecksumCRC64NVME" in got) is not bool(trailer)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("right", [True, False])
def test_a_trailer_is_held_against_the_body(server: Server, bucket: str, algorithm: str, right: bool) -> None:
    digest = ALGORITHMS[algorithm].start()
    digest.update(BODY if right else BODY[:-1])
    name, value = f"x-amz-checksum-{algorithm.lower()}", encoded(digest.digest())
    headers = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-trailer": name}
    headers["x-amz-decoded-content-length"] = str(len(BODY))
    status, told, answer = asked(server, "PUT", f"/{bucket}/k", framed(False, f"{name}:{value}\r\n"), headers)
    assert (status, told.get(name)) == ((200, value) if right else (400, None))
    assert right or b"BadDigest" in answer


@pytest.mark.parametrize(
    ("body", "length", "code"),
    [
        (framed(False), len(BODY), b"MalformedTrailerError"),
        (framed(False, f"x-amz-checksum-crc32c:{CRC}\r\n"), len(BODY), b"MalformedTrailerError"),
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
    "host",
    [
        "{}.localhost:4700",
        "{}.s3.localhost:4700",
        "{}.s3.us-west-2.localhost",
        "{}.s3.us-west-2.amazonaws.com",
        "{}.s3.amazonaws.com",
    ],
)
def test_a_bucket_can_be_named_by_the_host(server: Server, s3: Any, bucket: str, host: str) -> None:
    named = {"host": host.format(bucket)}
    assert asked(server, "PUT", "//odd%20key", b"hello", named)[0] == 200
    assert s3.get_object(Bucket=bucket, Key="/odd key")["Body"].read() == b"hello"
    assert b"<Key>/odd key</Key>" in asked(server, "GET", "/?list-type=2", headers=named)[2]


@pytest.mark.parametrize(
    "host",
    ["localhost", "s3.localhost:4700", "s3.us-east-1.localhost", "s3.us-east-1.amazonaws.com", "127.0.0.1", "[::1]:80"],
)
def test_a_host_that_names_no_bucket_leaves_it_to_the_path(server: Server, bucket: str, host: str) -> None:
    assert asked(server, "HEAD", f"/{bucket}", headers={"host": host})[0] == 200


@pytest.mark.parametrize(
    "name", ["s3.models", "my.s3.models", "localhost", "endpoints", "service", "sagemaker", "s3-eu"]
)
def test_a_bucket_that_is_called_like_a_host_or_a_service_is_a_bucket(server: Server, name: str) -> None:
    assert asked(server, "PUT", "/", b"", {"host": f"{name}.localhost:4700"})[0] == 200
    assert asked(server, "PUT", "/key", b"hello", {"host": f"{name}.s3.localhost:4700"})[0] == 200
    assert asked(server, "GET", f"/{name}/key")[2] == b"hello"


def test_every_answer_has_a_request_id_and_an_error_says_it_too(server: Server, bucket: str) -> None:
    status, headers, body = asked(server, "GET", f"/{bucket}/none")
    assert status == 404
    assert f"<RequestId>{headers['x-amz-request-id']}</RequestId>".encode() in body
    assert f"<HostId>{headers['x-amz-id-2']}</HostId>".encode() in body
    assert f"<Resource>/{bucket}/none</Resource>".encode() in body
    assert b"<Code>NoSuchKey</Code>" in body
    assert b"<Key>none</Key>" in body


def test_an_error_to_a_head_has_no_body(server: Server, bucket: str) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), timeout=60) as raw:
        raw.sendall(f"HEAD /{bucket}/none HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 404")
    assert answer.endswith(b"\r\n\r\n")


def test_a_refused_upload_is_read_to_its_end_and_the_connection_stays_open(server: Server) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    for _ in range(2):
        connection.request("PUT", "/no-such-bucket/k", b"x" * 3_000_000)
        answer = connection.getresponse()
        assert (answer.status, b"NoSuchBucket" in answer.read()) == (404, True)
    connection.close()


def test_a_client_that_waits_for_a_continue_gets_the_refusal_and_keeps_its_connection(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), timeout=60) as raw:
        answers = raw.makefile("rb")
        for _ in range(2):  # on the same connection
            raw.sendall(
                b"PUT /no-such-bucket/k HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n"
            )
            assert answers.readline() == b"HTTP/1.1 100 Continue\r\n"
            assert answers.readline() == b"\r\n"
            raw.sendall(b"hello")
            assert answers.readline() == b"HTTP/1.1 404 Not Found\r\n"
            headers = http.client.parse_headers(answers)
            assert b"NoSuchBucket" in answers.read(int(headers["content-length"]))


@pytest.mark.parametrize("part", [False, True])
def test_a_body_without_a_length_is_refused(server: Server, s3: Any, bucket: str, part: bool) -> None:
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    path = f"/{bucket}/k?uploadId={upload}&partNumber=1" if part else f"/{bucket}/k"
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), timeout=60) as connection:
        connection.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 411")
    assert b"<Code>MissingContentLength</Code>" in answer
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_refused_upload_too_long_to_be_read_closes_its_connection(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), timeout=60) as raw:
        raw.sendall(b"PUT /no-such-bucket/k HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n")
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    "rest",
    ["transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo", "content-length: 9\r\n\r\nhello"],
)
def test_a_truncated_body_stores_nothing(server: Server, s3: Any, bucket: str, rest: str) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), timeout=60) as raw:
        raw.sendall(f"PUT /{bucket}/k HTTP/1.1\r\nhost: x\r\n{rest}".encode())
        raw.shutdown(socket.SHUT_WR)
        assert b" 200 " not in raw.recv(65536)
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


HOSTILE_BUCKETS = [
    "..",
    "%2e%2e",
    "a%2f..%2fb",
    ".torpor",
    "..%5c",
    "bu%00cket",
    "a\u0301bc",
    "x" * 300,
    "%20%20%20",
    "-",
]


@pytest.mark.parametrize("name", HOSTILE_BUCKETS)
@pytest.mark.parametrize("method", ["PUT", "GET", "DELETE", "HEAD"])
def test_a_hostile_bucket_name_leads_nowhere(server: Server, method: str, name: str) -> None:
    before = {path.name for path in server.root.parent.iterdir()}, {path.name for path in server.root.iterdir()}
    for path in (f"/{quote(name, safe='%')}", f"/{quote(name, safe='%')}/k"):
        assert asked(server, method, path, b"" if method == "PUT" else None)[0] in (400, 404)
    assert (
        {path.name for path in server.root.parent.iterdir()},
        {path.name for path in server.root.iterdir()},
    ) == before


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


MANY_DIGITS = "9" * 5000  # more than Python reads as one number


@pytest.mark.parametrize(
    ("method", "query", "headers", "status"),
    [
        ("GET", "", {"range": f"bytes=0-{MANY_DIGITS}"}, 200),
        ("GET", f"?partNumber={MANY_DIGITS}", {}, 400),
        ("PUT", "", {"x-amz-decoded-content-length": MANY_DIGITS, "content-encoding": "aws-chunked"}, 400),
        ("PUT", f"?partNumber={MANY_DIGITS}&uploadId=x", {}, 400),
        ("GET", f"?uploadId=x&max-parts={MANY_DIGITS}", {}, 400),
    ],
)
def test_a_number_without_end_is_no_number(
    server: Server, s3: Any, bucket: str, method: str, query: str, headers: dict[str, str], status: int
) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"hello")
    assert asked(server, method, f"/{bucket}/k{query}", headers=headers)[0] == status


@pytest.mark.parametrize("method", ["PATCH", "POST"])
def test_a_method_that_s3_does_not_know_here_is_refused(server: Server, bucket: str, method: str) -> None:
    assert asked(server, method, f"/{bucket}/k", b"")[0] == 405


def test_a_resumed_read_of_a_changed_object_gets_the_whole_object(server: Server, s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"hello")["ETag"]
    headers = {"range": "bytes=2-", "if-range": etag}
    status, told, body = asked(server, "GET", f"/{bucket}/k", headers=headers)
    assert (status, told["content-range"], body) == (206, "bytes 2-4/5", b"llo")
    s3.put_object(Bucket=bucket, Key="k", Body=b"HELLO")
    status, _, body = asked(server, "GET", f"/{bucket}/k", headers=headers)
    assert (status, body) == (200, b"HELLO")


def test_a_deletion_that_is_malformed_anywhere_deletes_nothing(server: Server, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    body = b"<Delete><Object><Key>k</Key></Object><Object><ETag>e</ETag></Object></Delete>"
    status, _, answer = asked(server, "POST", f"/{bucket}?delete", body)
    assert (status, b"MalformedXML" in answer) == (400, True)
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("{}/a+b%2Bc/d", 200),
        ("/{}/a%20b%2Bc/d", 200),
        ("{}%2Fa%20b%2Bc%2Fd", 200),
        ("%2F{}%2Fa%20b%2Bc%2Fd", 200),
        ("{}/a%20b%2Bc%2Fd?versionId=null", 200),
        ("{}/a%20b+c/d", 404),
        ("{}%2F", 400),
    ],
)
def test_the_source_of_a_copy_is_read_as_a_query_is(
    server: Server, s3: Any, bucket: str, source: str, status: int
) -> None:
    """`encodeURIComponent` encodes its slashes, Go's `QueryEscape` writes its spaces so."""
    s3.put_object(Bucket=bucket, Key="a b+c/d", Body=b"hello")
    headers = {"x-amz-copy-source": source.format(bucket)}
    assert asked(server, "PUT", f"/{bucket}/copy", b"", headers)[0] == status


@pytest.mark.parametrize("algorithm", ["sha512", "md5", "xxhash64", "xxhash3", "xxhash128"])
def test_a_wrong_checksum_is_refused_whether_it_can_be_computed_or_not(
    server: Server, s3: Any, bucket: str, algorithm: str
) -> None:
    sizes_bytes = {"sha512": 64, "md5": 16, "xxhash128": 16}
    wrong = {f"x-amz-checksum-{algorithm}": encoded(bytes(sizes_bytes.get(algorithm, 8)))}
    upload = s3.create_multipart_upload(Bucket=bucket, Key="k")["UploadId"]
    for path in (f"/{bucket}/k", f"/{bucket}/k?partNumber=1&uploadId={upload}"):
        status, _, answer = asked(server, "PUT", path, BODY, wrong)
        assert (status, b"BadDigest" in answer or algorithm.encode() in answer) == (400, True)
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_first_part_of_an_object_without_bytes_is_all_of_it(
    server: Server, s3: Any, bucket: str, method: str
) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    status, told, body = asked(server, method, f"/{bucket}/k?partNumber=1", headers={"x-amz-checksum-mode": "ENABLED"})
    assert (status, told["content-length"], body) == (200, "0", b"")
    assert "content-range" not in told
    assert "x-amz-checksum-crc32" in told


@pytest.mark.parametrize(
    ("element", "code"),
    [("<LocationConstrain>eu-west-1</LocationConstrain>", b"MalformedXML"), ("<Bucket/>", b"NotImplemented")],
)
def test_a_bucket_is_not_made_by_an_element_that_is_not_understood(server: Server, element: str, code: bytes) -> None:
    document = f"<CreateBucketConfiguration>{element}</CreateBucketConfiguration>"
    status, _, answer = asked(server, "PUT", "/misunderstood", document)
    assert (status, code in answer) == (400, True)
    assert asked(server, "HEAD", "/misunderstood")[0] == 404
