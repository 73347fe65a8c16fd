"""Uploads by HTML form: the parsed form, and the stored object."""

import http.client
import xml.etree.ElementTree as ET
from base64 import b64encode
from collections.abc import Mapping
from hashlib import md5, sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.account.helpers.s3_server import Server, client
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.forms import FIELDS_MAX_BYTES, FormDecoder

BOUNDARY = "----WebKitFormBoundaryA"
TYPE = f"multipart/form-data; boundary={BOUNDARY}"
FILE = b"hello\r\n------WebKitFormBoundary\r\nworld"


def written(fields: Mapping[str, str], file: bytes = FILE, filename: str = "a.txt", more: str = "") -> bytes:
    """The form as a browser writes it."""
    parts = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items()]
    opening = f'Content-Disposition: form-data; name="file"; filename="{filename}"\r\nContent-Type: text/x\r\n\r\n'
    parts.append(f"--{BOUNDARY}\r\n{opening}")
    return "".join(parts).encode() + file + f"\r\n{more}--{BOUNDARY}--\r\n".encode()


def posted(
    url: str, fields: Mapping[str, str], file: bytes = FILE, filename: str = "a.txt"
) -> tuple[int, dict[str, str], bytes]:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.netloc, timeout=60)
    try:
        connection.request("POST", where.path, written(fields, file, filename), {"content-type": TYPE})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def read(content_type: str, body: bytes) -> None:
    decoder = FormDecoder(content_type)
    decoder.feed(body)
    decoder.finish()


@given(st.integers(min_value=1, max_value=99), st.binary(max_size=200), st.booleans())
def test_any_split_of_a_form_gives_the_same_file(step: int, file: bytes, more: bool) -> None:
    behind = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="submit"\r\n\r\nGo\r\n' if more else ""
    body = written({"Key": "ü", "empty": "", "two": "a\r\nb"}, file, "ü.txt", behind)
    decoder = FormDecoder(TYPE)
    payload = b"".join(decoder.feed(body[at : at + step]) for at in range(0, len(body), step))
    decoder.finish()
    assert (payload, decoder.filename) == (file, "ü.txt")
    assert decoder.fields == {"key": "ü", "empty": "", "two": "a\r\nb"}


@pytest.mark.parametrize("file", [FILE, b"", FILE * 300_000])
def test_a_presigned_post_stores_the_file_with_all_that_the_form_says(
    server: Server, s3: Any, bucket: str, file: bytes
) -> None:
    fields = {"Content-Type": "text/plain", "x-amz-meta-who": "mé", "acl": "private", "x-amz-storage-class": "GLACIER"}
    fields["tagging"] = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"
    conditions = [*({name: value} for name, value in fields.items()), ["content-length-range", 0, len(file)]]
    post = s3.generate_presigned_post(bucket, "up/${filename}", Fields=fields, Conditions=conditions)
    status, headers, body = posted(post["url"], post["fields"], file, "C:\\models\\a b.txt")
    assert (status, body, headers["etag"]) == (204, b"", f'"{md5(file).hexdigest()}"')
    assert headers["location"] == f"{server.url}/{bucket}/up/a%20b.txt"
    found = s3.get_object(Bucket=bucket, Key="up/a b.txt", ChecksumMode="ENABLED")
    assert found["Body"].read() == file
    assert (found["ContentType"], found["StorageClass"], found["TagCount"]) == ("text/plain", "GLACIER", 1)
    assert found["Metadata"] == {"who": "mé".encode().decode("latin-1")}  # as headers are read
    assert found["ChecksumCRC64NVME"]


def test_a_form_signed_in_the_old_way_is_taken_too(server: Server, bucket: str) -> None:
    old = client(server.url, signature_version="s3")
    post = old.generate_presigned_post(bucket, "k")
    assert "AWSAccessKeyId" in post["fields"]
    assert posted(post["url"], post["fields"])[0] == 204


def test_a_form_says_how_it_is_answered(server: Server, bucket: str) -> None:
    url, etag = f"{server.url}/{bucket}/", f'"{md5(FILE).hexdigest()}"'
    assert posted(url, {"key": "k", "success_action_status": "200"})[::2] == (200, b"")
    assert posted(url, {"key": "k", "success_action_status": "404"})[::2] == (204, b"")
    status, headers, body = posted(url, {"key": "a/k", "success_action_status": "201"})
    told = {item.tag: item.text for item in ET.fromstring(body)}
    assert status == 201
    assert told == {"Location": headers["location"], "Bucket": bucket, "Key": "a/k", "ETag": etag}
    assert headers["location"] == f"{url}a/k"
    status, headers, _ = posted(url, {"key": "a/k", "success_action_redirect": "http://there.test/done?a=1#x"})
    onward = urlsplit(headers["location"])
    assert (status, onward.netloc, onward.fragment) == (303, "there.test", "x")
    assert parse_qs(onward.query) == {"a": ["1"], "bucket": [bucket], "key": ["a/k"], "etag": [etag]}
    assert posted(url, {"key": "k", "success_action_redirect": "no url"})[0] == 204


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({}, 400, b"field named 'key'"),
        ({"key": ""}, 400, b"length greater than 0"),
        ({"key": "k" * 1025}, 400, b"KeyTooLongError"),
        ({"key": "k", "Content-MD5": b64encode(bytes(16)).decode()}, 400, b"BadDigest"),
        ({"key": "k", "x-amz-checksum-sha256": b64encode(bytes(32)).decode()}, 400, b"BadDigest"),
        ({"key": "k", "x-amz-storage-class": "ICE"}, 400, b"InvalidStorageClass"),
        ({"key": "k", "Content-Type": "a\r\nb: c"}, 400, b"InvalidArgument"),
        ({"key": "k", "x-amz-meta-a:b": "c"}, 400, b"InvalidArgument"),
        ({"key": "k", "tagging": "no XML"}, 400, b"MalformedXML"),
        ({"key": "k", "policy": "{}"}, 400, b"field named"),
        ({"key": "k", "more": "m" * FIELDS_MAX_BYTES}, 400, b"MaxPostPreDataLengthExceeded"),
    ],
)
def test_a_form_that_is_wrong_stores_nothing(
    server: Server, s3: Any, bucket: str, fields: dict[str, str], status: int, told: bytes
) -> None:
    answer = posted(f"{server.url}/{bucket}", fields)
    assert (answer[0], told in answer[2]) == (status, True)
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)


def test_the_checksums_of_a_form_are_checked_and_kept(server: Server, s3: Any, bucket: str) -> None:
    digest = b64encode(sha256(FILE).digest()).decode()
    fields = {"key": "k", "x-amz-checksum-sha256": digest, "Content-MD5": b64encode(md5(FILE).digest()).decode()}
    assert posted(f"{server.url}/{bucket}", fields)[0] == 204
    assert s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")["ChecksumSHA256"] == digest


@pytest.mark.parametrize(
    ("content_type", "body", "refusal"),
    [
        ("text/plain", b"", Refusal.PreconditionFailed),
        ("multipart/form-data", b"", Refusal.PreconditionFailed),
        (TYPE, b"", Refusal.InvalidArgument),
        (TYPE, f"--{BOUNDARY}--\r\n".encode(), Refusal.InvalidArgument),
        (TYPE, written({})[:-9], Refusal.MalformedPOSTRequest),
        (TYPE, f"--{BOUNDARY}\r\nContent-Type: a\r\n\r\n".encode(), Refusal.MalformedPOSTRequest),
        (TYPE, written({}).replace(b"a.txt", b"\xff"), Refusal.MalformedPOSTRequest),
    ],
)
def test_a_malformed_form_is_refused(content_type: str, body: bytes, refusal: Refusal) -> None:
    with pytest.raises(S3Error) as refused:
        read(content_type, body)
    assert refused.value.refusal is refusal


def test_a_form_to_a_missing_bucket_is_refused(server: Server) -> None:
    status, _, body = posted(f"{server.url}/not-there", {"key": "k"})
    assert (status, b"NoSuchBucket" in body) == (404, True)
