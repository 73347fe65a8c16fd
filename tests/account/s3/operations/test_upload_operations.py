"""Multipart uploads through boto3."""

import urllib.request
from base64 import b64decode, b64encode
from hashlib import md5, sha256
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.s3_server import client

MIB = 2**20
FIRST, SECOND = b"1" * (5 * MIB), b"22"


def code(error: pytest.ExceptionInfo[ClientError]) -> str:
    text: str = error.value.response["Error"]["Code"]
    return text


def begun(s3: Any, bucket: str, key: str = "k", **more: Any) -> dict[str, str]:
    upload = s3.create_multipart_upload(Bucket=bucket, Key=key, **more)
    return {"Bucket": bucket, "Key": key, "UploadId": upload["UploadId"]}


def parts_of(s3: Any, upload: dict[str, str], *bodies: bytes, **more: Any) -> list[dict[str, Any]]:
    answers = [
        s3.upload_part(**upload, PartNumber=number, Body=body, **more) for number, body in enumerate(bodies, start=1)
    ]
    kept = [{name: value for name, value in one.items() if name == "ETag" or name[:8] == "Checksum"} for one in answers]
    return [{"PartNumber": number, **one} for number, one in enumerate(kept, start=1)]


def completed(s3: Any, upload: dict[str, str], parts: list[dict[str, Any]], **more: Any) -> Any:
    return s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts}, **more)


def test_the_parts_become_one_object(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket, ContentType="text/plain", Metadata={"a": "1"})
    done = completed(s3, upload, parts_of(s3, upload, FIRST, SECOND))
    got = s3.get_object(Bucket=bucket, Key="k")
    assert got["Body"].read() == FIRST + SECOND
    assert (got["ContentType"], got["Metadata"]) == ("text/plain", {"a": "1"})
    whole = md5(md5(FIRST).digest() + md5(SECOND).digest()).hexdigest()
    assert done["ETag"] == got["ETag"] == f'"{whole}-2"'
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_a_part_of_the_object_can_be_read_by_its_number(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket)
    completed(s3, upload, parts_of(s3, upload, FIRST, SECOND))
    part = s3.get_object(Bucket=bucket, Key="k", PartNumber=2)
    assert (part["Body"].read(), part["PartsCount"]) == (SECOND, 2)
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket=bucket, Key="k", PartNumber=3)
    assert code(refused) == "InvalidPartNumber"


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [
        ("CRC32", "COMPOSITE"),
        ("CRC32", "FULL_OBJECT"),
        ("CRC64NVME", "FULL_OBJECT"),
        ("SHA256", "COMPOSITE"),
        ("SHA512", "COMPOSITE"),
    ],
)
def test_the_object_has_the_checksum_of_its_upload(s3: Any, bucket: str, algorithm: str, kind: str) -> None:
    upload = begun(s3, bucket, ChecksumAlgorithm=algorithm, ChecksumType=kind)
    parts = parts_of(s3, upload, FIRST, SECOND, ChecksumAlgorithm=algorithm)
    done = completed(s3, upload, parts)
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert head["ChecksumType"] == kind
    assert head[f"Checksum{algorithm}"] == done[f"Checksum{algorithm}"]
    if kind == "FULL_OBJECT":
        put = s3.put_object(Bucket=bucket, Key="l", Body=FIRST + SECOND, ChecksumAlgorithm=algorithm)
        assert put[f"Checksum{algorithm}"] == done[f"Checksum{algorithm}"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda parts: parts[::-1], "InvalidPartOrder"),
        (lambda parts: [*parts, {**parts[0], "PartNumber": 3}], "InvalidPart"),
        (lambda parts: [{**parts[0], "ETag": '"other"'}], "InvalidPart"),
        (lambda parts: [], "MalformedXML"),
    ],
)
def test_an_upload_is_completed_with_its_own_parts_in_order(s3: Any, bucket: str, change: Any, expected: str) -> None:
    upload = begun(s3, bucket)
    parts = parts_of(s3, upload, FIRST, SECOND)
    with pytest.raises(ClientError) as refused:
        completed(s3, upload, change(parts))
    assert code(refused) == expected
    completed(s3, upload, parts)  # nothing was lost


def test_only_the_last_part_may_be_small(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket)
    with pytest.raises(ClientError) as refused:
        completed(s3, upload, parts_of(s3, upload, SECOND, FIRST))
    assert code(refused) == "EntityTooSmall"


def test_the_whole_must_have_the_checksum_that_its_writer_names(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    parts = parts_of(s3, upload, SECOND, ChecksumAlgorithm="CRC32")
    with pytest.raises(ClientError) as refused:
        completed(s3, upload, parts, ChecksumCRC32="AAAAAA==", ChecksumType="FULL_OBJECT")
    assert code(refused) == "BadDigest"


def test_a_composite_checksum_is_made_of_those_that_the_caller_names(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket, ChecksumAlgorithm="SHA256")
    parts = parts_of(s3, upload, SECOND, ChecksumAlgorithm="SHA256")
    with pytest.raises(ClientError, match="missing for part 1 in the request") as refused:
        completed(s3, upload, [{"PartNumber": 1, "ETag": parts[0]["ETag"]}])
    assert code(refused) == "InvalidRequest"
    with pytest.raises(ClientError, match="created using the COMPOSITE checksum mode") as refused:
        completed(s3, upload, parts, ChecksumType="FULL_OBJECT")
    assert code(refused) == "InvalidRequest"
    whole = b64encode(sha256(b64decode(parts[0]["ChecksumSHA256"])).digest()).decode()
    with pytest.raises(ClientError) as refused:
        completed(s3, upload, parts, ChecksumType="COMPOSITE", ChecksumSHA256=f"{whole}-2")
    assert code(refused) == "BadDigest"
    completed(s3, upload, parts, ChecksumType="COMPOSITE", ChecksumSHA256=f"{whole}-1")


def test_a_completed_upload_has_the_location_of_its_object(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket, "a b/ü")
    done = completed(s3, upload, parts_of(s3, upload, SECOND))
    with urllib.request.urlopen(done["Location"]) as answer:
        assert answer.read() == SECOND


def test_a_part_sent_again_replaces_the_earlier_one(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket)
    s3.upload_part(**upload, PartNumber=1, Body=b"first try")
    completed(s3, upload, parts_of(s3, upload, SECOND))
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == SECOND


def test_a_part_can_be_a_range_of_another_object(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="source", Body=b"0123456789")
    upload = begun(s3, bucket)
    source = {"CopySource": {"Bucket": bucket, "Key": "source"}, "CopySourceRange": "bytes=2-5"}
    copy = s3.upload_part_copy(**upload, PartNumber=7, **source)["CopyPartResult"]
    completed(s3, upload, [{"PartNumber": 7, "ETag": copy["ETag"]}])
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"2345"


def test_a_part_is_no_copy_of_bytes_that_are_not_there(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="source", Body=b"0123456789")
    upload = begun(s3, bucket)
    source = {"CopySource": {"Bucket": bucket, "Key": "source"}, "CopySourceRange": "bytes=2-10"}
    with pytest.raises(ClientError, match="not valid for source object of size: 10") as refused:
        s3.upload_part_copy(**upload, PartNumber=1, **source)
    assert code(refused) == "InvalidArgument"
    assert "Parts" not in s3.list_parts(**upload)


def test_uploads_and_parts_are_listed_in_pages(s3: Any, bucket: str) -> None:
    uploads = [begun(s3, bucket, key) for key in ("a", "b/c", "b/d")]
    assert s3.list_parts(**uploads[0])["NextPartNumberMarker"] == 0
    parts_of(s3, uploads[0], SECOND, SECOND, SECOND)
    pages = s3.get_paginator("list_parts").paginate(**uploads[0], PaginationConfig={"PageSize": 2})
    assert [part["PartNumber"] for page in pages for part in page["Parts"]] == [1, 2, 3]
    listed = s3.list_multipart_uploads(Bucket=bucket, MaxUploads=2)
    assert [upload["Key"] for upload in listed["Uploads"]] == ["a", "b/c"]
    assert listed["IsTruncated"]
    rolled = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/")
    assert [prefix["Prefix"] for prefix in rolled["CommonPrefixes"]] == ["b/"]


def test_an_aborted_upload_leaves_nothing(s3: Any, server: Any, bucket: str) -> None:
    before = set((server.root / ".torpor" / "tmp").iterdir())
    upload = begun(s3, bucket)
    parts = parts_of(s3, upload, SECOND)
    s3.abort_multipart_upload(**upload)
    for call in (lambda: completed(s3, upload, parts), lambda: parts_of(s3, upload, SECOND)):
        with pytest.raises(ClientError) as refused:
            call()
        assert code(refused) == "NoSuchUpload"
    assert set((server.root / ".torpor" / "tmp").iterdir()) <= before
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_uploads_of_the_same_key_are_listed_in_the_order_of_their_start(s3: Any, bucket: str) -> None:
    begun(s3, bucket, "a")
    ids = [begun(s3, bucket)["UploadId"] for _ in range(5)]
    begun(s3, bucket, "z")
    pages = list(s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, PaginationConfig={"PageSize": 2}))
    found = [(upload["Key"], upload["UploadId"]) for page in pages for upload in page["Uploads"]]
    assert len(pages) == 4
    assert found[1:-1] == [("k", upload_id) for upload_id in ids]


def test_a_repeated_completion_answers_with_the_same_object(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket)
    parts = parts_of(s3, upload, FIRST, SECOND)
    first = completed(s3, upload, parts)
    assert completed(s3, upload, parts)["ETag"] == first["ETag"]
    s3.put_object(Bucket=bucket, Key="k", Body=b"later")
    with pytest.raises(ClientError) as gone:
        completed(s3, upload, parts)
    assert code(gone) == "NoSuchUpload"


def test_without_any_checksum_the_whole_has_the_default_one(server: Any, bucket: str) -> None:
    plain = client(server.url, request_checksum_calculation="when_required")
    upload = begun(plain, bucket)
    parts = parts_of(plain, upload, FIRST, SECOND)
    assert set(parts[0]) == {"PartNumber", "ETag"}
    done = completed(plain, upload, parts)
    whole = plain.put_object(Bucket=bucket, Key="l", Body=FIRST + SECOND)
    assert (done["ChecksumCRC64NVME"], done["ChecksumType"]) == (whole["ChecksumCRC64NVME"], "FULL_OBJECT")
    head = plain.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert head["ChecksumCRC64NVME"] == whole["ChecksumCRC64NVME"]


def test_a_copied_part_has_the_checksum_of_its_upload(s3: Any, bucket: str) -> None:
    put = s3.put_object(Bucket=bucket, Key="source", Body=b"hello", ChecksumAlgorithm="SHA256")
    upload = begun(s3, bucket, ChecksumAlgorithm="SHA256")
    copy = s3.upload_part_copy(**upload, PartNumber=1, CopySource={"Bucket": bucket, "Key": "source"})
    assert copy["CopyPartResult"]["ChecksumSHA256"] == put["ChecksumSHA256"]
    part = s3.list_parts(**upload)["Parts"][0]
    assert part["ChecksumSHA256"] == put["ChecksumSHA256"]


@pytest.mark.parametrize("number", [0, 10_001])
def test_a_part_number_out_of_range_is_refused(s3: Any, bucket: str, number: int) -> None:
    upload = begun(s3, bucket)
    with pytest.raises(ClientError) as refused:
        s3.upload_part(**upload, PartNumber=number, Body=b"")
    assert code(refused) == "InvalidArgument"


def test_a_conditional_completion_does_not_overwrite(s3: Any, bucket: str) -> None:
    upload = begun(s3, bucket)
    parts = parts_of(s3, upload, SECOND)
    s3.put_object(Bucket=bucket, Key="k", Body=b"earlier")
    with pytest.raises(ClientError) as refused:
        completed(s3, upload, parts, IfNoneMatch="*")
    assert code(refused) == "PreconditionFailed"
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"earlier"


@pytest.mark.parametrize(
    ("number", "told"),
    [(-42, "Argument max-parts must be an integer between 0 and"), (2**31, "not an integer or within integer range")],
)
def test_a_number_of_parts_that_is_none_is_refused(s3: Any, bucket: str, number: int, told: str) -> None:
    with pytest.raises(ClientError, match=told) as refused:
        s3.list_parts(**begun(s3, bucket), MaxParts=number)
    assert code(refused) == "InvalidArgument"


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA256"])
def test_an_upload_that_agreed_on_no_checksum_ends_with_the_default_one(s3: Any, bucket: str, algorithm: str) -> None:
    upload = begun(s3, bucket)
    parts = parts_of(s3, upload, FIRST, SECOND, ChecksumAlgorithm=algorithm)
    assert all(f"Checksum{algorithm}" in part for part in parts)
    done = completed(s3, upload, parts)
    put = s3.put_object(Bucket=bucket, Key="l", Body=FIRST + SECOND, ChecksumAlgorithm="CRC64NVME")
    assert (done["ChecksumCRC64NVME"], done["ChecksumType"]) == (put["ChecksumCRC64NVME"], "FULL_OBJECT")
    assert (
        s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")["ChecksumCRC64NVME"] == done["ChecksumCRC64NVME"]
    )
