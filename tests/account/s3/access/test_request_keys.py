"""Each condition key is in the context of the actions for which AWS lists it, and of no other."""

from typing import Any

import pytest

from torpor_account.core.access.known_keys import is_known
from torpor_account.s3.access.request_keys import keys_of, keys_of_object, keys_of_tags
from torpor_account.s3.bucket_names import ObjectAddress
from torpor_account.s3.routes import OPERATIONS
from torpor_account.s3.wire.http_exchange import S3Request

AT_S = 1_770_000_000.0
LISTINGS = {"ListObjects", "ListObjectsV2", "ListObjectVersions"}
PUTS = {"PutObject", "CopyObject", "CreateMultipartUpload", "UploadPart", "UploadPartCopy", "CompleteMultipartUpload"}
COPIES = {"CopyObject", "UploadPartCopy"}


def keys(operation: str, *, query: Any = (), headers: Any = (), is_form: bool = False) -> dict[str, Any]:
    address = ObjectAddress("models", "k")
    request = S3Request("GET", "", address, dict(query), dict(headers), body=None)  # type: ignore[arg-type]
    if is_form:
        request = S3Request(**{**vars(request), "signer_of": lambda fields: None})
    return dict(keys_of(operation, request, AT_S))


@pytest.mark.parametrize(
    ("given", "operations"),
    [
        ("prefix", LISTINGS),
        ("delimiter", LISTINGS),
        ("max-keys", LISTINGS),
        ("x-amz-acl", {*PUTS, "PutObjectAcl", "PutBucketAcl", "CreateBucket"}),
        ("x-amz-grant-read", {*PUTS, "PutObjectAcl", "PutBucketAcl", "CreateBucket"}),
        ("x-amz-copy-source", COPIES),
        ("x-amz-metadata-directive", PUTS),
        ("x-amz-storage-class", {*PUTS, "PutObjectAcl"}),
        ("x-amz-server-side-encryption", PUTS),
        ("x-amz-object-ownership", {"CreateBucket"}),
        ("if-none-match", PUTS),
        ("if-match", {*PUTS, "DeleteObject"}),
    ],
)
def test_a_caller_cannot_bring_a_key_to_another_operation(given: str, operations: set[str]) -> None:
    both = dict.fromkeys((given, "authorization"), "tenant-a/x")
    assert is_known(f"s3:{given}")
    found = {one for one in OPERATIONS if f"s3:{given}" in keys(one, query=both, headers=both)}
    assert found == operations


@pytest.mark.parametrize(
    ("request_of", "kind", "version", "age_ms"),
    [
        (
            {"headers": {"authorization": "AWS4-HMAC-SHA256 x", "x-amz-date": "20260202T023950Z"}},
            "REST-HEADER",
            4,
            10000,
        ),
        ({"query": {"X-Amz-Signature": "x", "X-Amz-Date": "20260202T023950Z"}}, "REST-QUERY-STRING", 4, 10000),
        ({"query": {"Signature": "x", "AWSAccessKeyId": "AKIA"}}, "REST-QUERY-STRING", 2, None),
        ({"headers": {"policy": "x", "x-amz-algorithm": "a"}, "is_form": True}, "POST", 4, None),
        ({"headers": {"policy": "x"}, "is_form": True}, "POST", 2, None),
    ],
)
def test_how_a_request_was_signed(request_of: Any, kind: str, version: int, age_ms: int | None) -> None:
    found = keys("PostObject" if "is_form" in request_of else "GetObject", **request_of)
    assert found["s3:authtype"] == (kind,)
    assert found["s3:signatureversion"] == ({4: "AWS4-HMAC-SHA256", 2: "AWS"}[version],)
    assert found.get("s3:signatureage") == (None if age_ms is None else (str(age_ms),))


def test_who_signs_nothing_has_no_signature() -> None:
    assert keys("GetObject") == {}
    assert keys("PostObject", is_form=True, headers={"key": "k"}) == {"s3:objectcreationoperation": ("true",)}


def test_the_content_of_a_link_is_unsigned_unless_it_says_otherwise() -> None:
    assert keys("GetObject", query={"X-Amz-Signature": "x"})["s3:x-amz-content-sha256"] == ("UNSIGNED-PAYLOAD",)
    signed = {"authorization": "AWS4-HMAC-SHA256 x", "x-amz-content-sha256": "abc"}
    assert keys("PutObject", headers=signed)["s3:x-amz-content-sha256"] == ("abc",)


def test_new_tags_are_keys_of_a_put() -> None:
    found = keys("PutObject", headers={"x-amz-tagging": "Owner=b&size=1"})
    assert found["s3:requestobjecttag/owner"] == ("b",)
    assert found["s3:requestobjecttagkeys"] == ("Owner", "size")
    assert keys_of_tags({"a": "1", "A": "2"})["s3:requestobjecttag/a"] == ("1", "2")
    assert "s3:requestobjecttag/owner" not in keys("GetObject", headers={"x-amz-tagging": "Owner=b"})


def test_the_tags_of_an_object_are_read_when_a_policy_asks_for_one() -> None:
    read: list[str] = []

    def tags() -> dict[str, str]:
        read.append("read")
        return {"Owner": "b"}

    found = keys_of_object("GetObject", {"s3:prefix": ("p",)}, tags)
    assert (found.get("s3:prefix"), found.get("aws:other"), read) == (("p",), None, [])
    assert (found.get("s3:existingobjecttag/owner"), found.get("s3:existingobjecttag/size")) == (("b",), None)
    assert keys_of_object("PutObject", {}, tags).get("s3:existingobjecttag/owner") is None
