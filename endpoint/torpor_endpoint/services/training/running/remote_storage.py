"""The objects that a job reads and writes, in any S3 but the embedded one. It alone needs boto3.

Every method blocks, so it is for worker threads.
"""

from pathlib import Path
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from torpor_endpoint.services.training.running.storage import told

ERRORS = (ClientError, BotoCoreError, Boto3Error)


class RemoteStorage:
    """Any S3, through a boto3 client of it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @classmethod
    def at(cls, url: str, region: str) -> "RemoteStorage":
        return cls(boto3.client("s3", region, endpoint_url=url))

    def keys(self, bucket: str, prefix: str) -> list[str]:
        with told(f"s3://{bucket}/{prefix}", *ERRORS):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
            return [found["Key"] for page in pages for found in page.get("Contents", ())]

    def fetch(self, bucket: str, key: str, into: Path) -> None:
        with told(f"s3://{bucket}/{key}", *ERRORS):
            self._client.download_file(bucket, key, str(into))

    def put(self, file: Path, bucket: str, key: str) -> None:
        with told(f"s3://{bucket}/{key}", *ERRORS):
            self._client.upload_file(str(file), bucket, key)
