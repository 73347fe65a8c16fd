"""Deletes the buckets that a test has made, with everything in them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torpor.hosting.endpoint_options import BUCKET


@contextmanager
def new_buckets_deleted(s3: Any) -> Iterator[None]:
    """Delete, after the block, each bucket that was not there before. That of `torpor.local` stays: endpoints of other
    tests read their models from it."""
    before = _names(s3)
    try:
        yield
    finally:
        for name in _names(s3) - before - {BUCKET}:
            _delete(s3, name)


def _names(s3: Any) -> set[str]:
    return {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}


def _delete(s3: Any, bucket: str) -> None:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        if keys := [{"Key": found["Key"]} for found in page.get("Contents", ())]:
            s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
    for upload in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", ()):
        s3.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    s3.delete_bucket(Bucket=bucket)
