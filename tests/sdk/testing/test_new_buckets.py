"""Buckets of a test are deleted after it, and no others."""

from typing import Any

import pytest

from torpor.hosting.shared_process import SharedProcess
from torpor.testing.new_buckets import new_buckets_deleted


@pytest.fixture(scope="module")
def s3(shared: SharedProcess) -> Any:
    return shared.client("s3")


def names(s3: Any) -> set[str]:
    return {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}


def test_new_buckets_go_with_their_objects_and_uploads(s3: Any) -> None:
    s3.create_bucket(Bucket="kept-bucket")
    before = names(s3)
    with new_buckets_deleted(s3):
        s3.create_bucket(Bucket="new-bucket")
        s3.put_object(Bucket="new-bucket", Key="a/b.txt", Body=b"1")
        s3.create_multipart_upload(Bucket="new-bucket", Key="large")
        s3.put_object(Bucket="kept-bucket", Key="a.txt", Body=b"1")
    assert names(s3) == before
    assert s3.get_object(Bucket="kept-bucket", Key="a.txt")["Body"].read() == b"1"


def test_they_go_after_a_test_that_fails(s3: Any) -> None:
    def fail() -> None:
        with new_buckets_deleted(s3):
            s3.create_bucket(Bucket="new-bucket")
            s3.list_objects_v2(Bucket="other-bucket")

    with pytest.raises(s3.exceptions.NoSuchBucket):
        fail()
    assert "new-bucket" not in names(s3)
