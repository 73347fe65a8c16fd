"""Reads and writes objects in another S3 than the embedded one. Only this module needs boto3.

Every method blocks, so call it in a worker thread.
"""

from pathlib import Path
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from torpor_endpoint.services.s3.access.embedded import storage_errors

ERRORS = (ClientError, BotoCoreError, Boto3Error)


class RemoteStorage:
    """Another S3, by a boto3 client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @classmethod
    def at(cls, url: str, region: str) -> "RemoteStorage":
        return cls(boto3.client("s3", region, endpoint_url=url))

    def keys(self, bucket: str, prefix: str) -> list[str]:
        with storage_errors(f"s3://{bucket}/{prefix}", *ERRORS):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
            return [found["Key"] for page in pages for found in page.get("Contents", ())]

    def fetch(self, bucket: str, key: str, into: Path) -> None:
        with storage_errors(f"s3://{bucket}/{key}", *ERRORS):
            self._client.download_file(bucket, key, str(into))

    def put(self, file: Path, bucket: str, key: str, content_type: str = "") -> None:
        with storage_errors(f"s3://{bucket}/{key}", *ERRORS):
            further = {"ContentType": content_type} if content_type else {}
            self._client.upload_file(str(file), bucket, key, ExtraArgs=further)

    def write(self, body: bytes, bucket: str, key: str) -> None:
        with storage_errors(f"s3://{bucket}/{key}", *ERRORS):
            self._client.put_object(Bucket=bucket, Key=key, Body=body)
