"""The same calls to this store and to moto's S3: a caller must see the same outcomes."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto import mock_aws

from tests.account.helpers.s3_server import Server, client
from tests.helpers.example_counts import tries

Call = tuple[str, dict[str, Any]]

# What differs from call to call, from store to store, or is this store's own.
UNSEEN = {"ResponseMetadata", "LastModified", "Owner", "Location", "ServerSideEncryption", "CreationDate", "Date"}
UNSEEN |= {"ChecksumType", "ChecksumAlgorithm", "ChecksumCRC32", "VersionId", "BucketRegion", "NextContinuationToken"}
UNSEEN |= {"ContinuationToken", "RestoreStatus", "Initiated", "Initiator", "UploadId", "AbortDate", "ExpiresString"}
UNSEEN |= {
    "LocationConstraint",
    "RequestCharged",
    "EncodingType",
    "TagCount",
    "Expiration",
    "UploadIdMarker",
    "NextUploadIdMarker",
}


@pytest.fixture(scope="module")
def moto() -> Iterator[Any]:
    with mock_aws():
        yield client(None)


def seen(value: Any) -> Any:
    """A response without members that may differ and without empty echoes, which AWS sends; a streamed body is read."""
    if isinstance(value, dict):
        return {key: seen(item) for key, item in value.items() if key not in UNSEEN and item != ""}
    if isinstance(value, list):
        return [seen(item) for item in value]
    return value.read() if hasattr(value, "read") else value


def outcome(s3: Any, operation: str, parameters: dict[str, Any]) -> Any:
    try:
        return seen(getattr(s3, operation)(**parameters))
    except ClientError as error:
        return error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]


def played(s3: Any, bucket: str, calls: list[Call]) -> list[Any]:
    s3.create_bucket(Bucket=bucket)
    return [outcome(s3, operation, {"Bucket": bucket, **parameters}) for operation, parameters in calls]


def put(key: str, body: bytes = b"hello", **more: Any) -> Call:
    return "put_object", {"Key": key, "Body": body, **more}


KEYS = ["a", "a/b", "a/c/d", "b/", "b/x", "c d+e%2F", "é", "z"]
SEVEN = [put(key, key.encode()) for key in KEYS]

STORIES: dict[str, list[Call]] = {
    "objects come back with what was said of them": [
        put("k", ContentType="text/plain", Metadata={"a": "1", "k_2": "v"}, CacheControl="no-cache"),
        put("l", ContentEncoding="gzip", ContentLanguage="de", ContentDisposition="inline", Tagging="x=1&y=2"),
        ("get_object", {"Key": "k"}),
        ("head_object", {"Key": "k"}),
        ("head_object", {"Key": "l"}),
        ("get_object_tagging", {"Key": "l"}),
        ("get_object", {"Key": "k", "ResponseContentType": "text/html", "ResponseCacheControl": "max-age=1"}),
    ],
    "what is not there": [
        ("get_object", {"Key": "no"}),
        ("head_object", {"Key": "no"}),
        ("delete_object", {"Key": "no"}),
        ("get_object_tagging", {"Key": "no"}),
        ("list_parts", {"Key": "no", "UploadId": "none"}),
        ("abort_multipart_upload", {"Key": "no", "UploadId": "none"}),
        ("list_objects_v2", {"Bucket": "no-such-bucket"}),
        ("put_object", {"Bucket": "no-such-bucket", "Key": "k", "Body": b"lost"}),
        ("head_bucket", {"Bucket": "no-such-bucket"}),
        ("delete_bucket", {"Bucket": "no-such-bucket"}),
    ],
    "ranges": [
        put("k", b"0123456789"),
        *(("get_object", {"Key": "k", "Range": f"bytes={span}"}) for span in ("0-3", "5-", "-3", "-30", "8-99", "3-3")),
        ("get_object", {"Key": "k", "Range": "bytes=10-"}),
        ("head_object", {"Key": "k", "Range": "bytes=2-4"}),
    ],
    "preconditions": [
        put("k"),
        ("get_object", {"Key": "k", "IfMatch": '"5d41402abc4b2a76b9719d911017c592"'}),
        ("get_object", {"Key": "k", "IfMatch": '"other"'}),
        ("get_object", {"Key": "k", "IfNoneMatch": '"5d41402abc4b2a76b9719d911017c592"'}),
        ("head_object", {"Key": "k", "IfNoneMatch": '"5d41402abc4b2a76b9719d911017c592"'}),
        ("get_object", {"Key": "k", "IfModifiedSince": "2000-01-01"}),
        ("get_object", {"Key": "k", "IfUnmodifiedSince": "2000-01-01"}),
        put("k", b"second", IfNoneMatch="*"),
        put("new", b"first", IfNoneMatch="*"),
        ("get_object", {"Key": "k"}),
    ],
    "lists of every kind": [
        *SEVEN,
        ("list_objects_v2", {}),
        ("list_objects", {}),
        ("list_objects_v2", {"Prefix": "a"}),
        ("list_objects_v2", {"Delimiter": "/"}),
        ("list_objects_v2", {"Prefix": "a/", "Delimiter": "/"}),
        ("list_objects_v2", {"Prefix": "b/", "Delimiter": "/"}),
        ("list_objects_v2", {"StartAfter": "a/b"}),
        ("list_objects_v2", {"StartAfter": "a/", "Delimiter": "/"}),
        ("list_objects_v2", {"MaxKeys": 3}),
        ("list_objects_v2", {"Prefix": "none"}),
        ("list_objects_v2", {"Delimiter": "c"}),
        ("delete_bucket", {}),
        ("delete_objects", {"Delete": {"Objects": [{"Key": key} for key in ["a", "é", "not there"]]}}),
        ("list_objects_v2", {}),
    ],
    "tags": [
        put("k"),
        ("put_object_tagging", {"Key": "k", "Tagging": {"TagSet": [{"Key": "a", "Value": "1"}]}}),
        ("get_object_tagging", {"Key": "k"}),
        ("delete_object_tagging", {"Key": "k"}),
        ("get_object_tagging", {"Key": "k"}),
    ],
    "how an object is kept": [
        put("k", StorageClass="STANDARD_IA", ServerSideEncryption="aws:kms", SSEKMSKeyId="key"),
        put("l"),
        ("head_object", {"Key": "k"}),
        ("copy_object", {"Key": "l", "CopySource": "how-kept/none"}),
        ("list_objects_v2", {"FetchOwner": True}),
        ("list_objects_v2", {"EncodingType": "url", "StartAfter": "k"}),
        put("m", StorageClass="COLDER"),
    ],
    "deletions": [
        *SEVEN,
        ("delete_object", {"Key": "a", "VersionId": "null"}),
        ("delete_objects", {"Delete": {"Objects": [{"Key": "z"}, {"Key": "none"}]}}),
        ("delete_objects", {"Delete": {"Objects": [{"Key": "é", "VersionId": "null"}]}}),
        ("list_object_versions", {}),
        ("list_object_versions", {"Prefix": "a", "Delimiter": "/"}),
        ("list_object_versions", {"MaxKeys": 2}),
    ],
    "attributes": [
        put("k", ChecksumAlgorithm="SHA256"),
        ("get_object_attributes", {"Key": "k", "ObjectAttributes": ["ETag", "ObjectSize", "StorageClass", "Checksum"]}),
        ("get_object_attributes", {"Key": "k", "ObjectAttributes": ["ObjectSize"]}),
        ("get_object_attributes", {"Key": "none", "ObjectAttributes": ["ETag"]}),
    ],
    "a bucket that nobody configured": [
        ("get_bucket_policy", {}),
        ("get_bucket_cors", {}),
        ("get_bucket_website", {}),
        ("get_bucket_lifecycle_configuration", {}),
        ("get_bucket_replication", {}),
        ("get_bucket_tagging", {}),
        ("get_bucket_versioning", {}),
        ("get_bucket_logging", {}),
        ("get_bucket_notification_configuration", {}),
        ("get_public_access_block", {}),
        ("get_object_lock_configuration", {}),
        ("get_bucket_accelerate_configuration", {}),
        ("get_bucket_location", {}),
        ("list_multipart_uploads", {}),
    ],
    "names that no bucket may have": [("create_bucket", {"Bucket": name}) for name in ("ab", "x" * 64)],
}


@pytest.mark.parametrize("story", STORIES)
def test_a_story_has_the_same_outcomes_as_on_moto(s3: Any, moto: Any, story: str) -> None:
    name = f"story-{list(STORIES).index(story)}"
    ours, theirs = played(s3, name, STORIES[story]), played(moto, name, STORIES[story])
    for call, here, there in zip(STORIES[story], ours, theirs, strict=True):
        assert here == there, call


SMALL_KEYS = st.sampled_from(["a", "a/b", "a/b/c", "b", "b/"])
ETAG = '"5d41402abc4b2a76b9719d911017c592"'  # of "hello"
WRITES = st.builds(
    lambda key, body, wish: put(key, body, **wish),
    SMALL_KEYS,
    st.sampled_from([b"hello", b""]),
    st.sampled_from([{}, {"IfNoneMatch": "*"}, {"Metadata": {"m": "1"}}]),
)
READS = st.builds(
    lambda operation, key, wish: (operation, {"Key": key, **wish}),
    st.sampled_from(["get_object", "head_object"]),
    SMALL_KEYS,
    st.sampled_from([{}, {"IfMatch": ETAG}, {"IfNoneMatch": ETAG}]),
)
DELETES = st.builds(lambda key: ("delete_object", {"Key": key}), SMALL_KEYS)
LISTS = st.fixed_dictionaries(
    {},
    optional={
        "Prefix": st.sampled_from(["a", "a/", "b/"]),
        "Delimiter": st.just("/"),
        "StartAfter": SMALL_KEYS,
        "MaxKeys": st.integers(min_value=1, max_value=3),
    },
).map(lambda parameters: ("list_objects_v2", parameters))


@given(calls=st.lists(WRITES | READS | DELETES | LISTS, min_size=4, max_size=14))
@settings(max_examples=tries(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_calls_has_the_same_outcomes_as_on_moto(
    s3: Any, moto: Any, server: Server, calls: list[Call]
) -> None:
    name = f"any-{len(s3.list_buckets(Prefix='any-')['Buckets'])}"
    assert played(s3, name, calls) == played(moto, name, calls)


def pages(store: Any) -> list[Any]:
    paginator = store.get_paginator("list_objects_v2")
    return [seen(page) for page in paginator.paginate(Bucket="paged", Delimiter="/", PaginationConfig={"PageSize": 2})]


def test_a_listing_page_by_page_is_the_same_as_on_moto(s3: Any, moto: Any) -> None:
    for store in (s3, moto):
        played(store, "paged", SEVEN)
    assert pages(s3) == pages(moto)


def test_copies_have_the_same_outcomes_as_on_moto(s3: Any, moto: Any) -> None:
    def copy(key: str, **more: Any) -> Call:
        return "copy_object", {"Key": key, "CopySource": {"Bucket": "copies", "Key": "k"}, **more}

    calls = [
        put("k", ContentType="text/plain", Metadata={"a": "1"}, Tagging="x=1"),
        copy("plain"),
        copy("replaced", MetadataDirective="REPLACE", Metadata={"b": "2"}),
        copy("retagged", TaggingDirective="REPLACE", Tagging="y=2"),
        copy("k"),
        ("copy_object", {"Key": "no", "CopySource": {"Bucket": "copies", "Key": "none"}}),
        *(("head_object", {"Key": key}) for key in ("plain", "replaced", "retagged")),
        *(("get_object_tagging", {"Key": key}) for key in ("plain", "retagged")),
    ]
    assert played(s3, "copies", calls) == played(moto, "copies", calls)
