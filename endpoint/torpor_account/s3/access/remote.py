"""Reads and writes objects in another S3 than the embedded one. Only this module needs boto3.

Every method blocks, so call it in a worker thread.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import boto3
from boto3.exceptions import Boto3Error, RetriesExceededError, S3UploadFailedError
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    CredentialRetrievalError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    ParamValidationError,
    ResponseStreamingError,
)

from torpor_account.core.outages.error_owners import ErrorOwner, of_s3
from torpor_account.s3.access.embedded import ObjectHead, storage_errors, typed
from torpor_account.storage.failures import owner_of

ERRORS = (ClientError, BotoCoreError, Boto3Error)
AWAY = (
    ConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ResponseStreamingError,
    CredentialRetrievalError,
    NoCredentialsError,
    RetriesExceededError,
)
"""No whole answer came, or there was nobody to ask for credentials."""


class RemoteStorage:
    """Another S3, by a boto3 client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @classmethod
    def at(
        cls, url: str, region: str, keys: tuple[str, str, str | None] | None = None, trusted: str | None = None
    ) -> "RemoteStorage":
        """`keys` are an access key, its secret and the token of its session, if they are not those of the usual chain.
        `trusted` is a file of certificates, if they are not those of the system."""
        names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
        given = dict(zip(names, keys, strict=True)) if keys else {}
        return cls(boto3.client("s3", region, endpoint_url=url, verify=trusted, **given))

    def keys(self, bucket: str, prefix: str) -> list[str]:
        with _errors(f"s3://{bucket}/{prefix}"):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
            return [found["Key"] for page in pages for found in page.get("Contents", ())]

    def check(self, bucket: str) -> None:
        with _errors(f"s3://{bucket}"):
            self._client.head_bucket(Bucket=bucket)

    def check_writable(self, bucket: str, key: str) -> None:
        """It is known once the object is written."""

    def head(self, bucket: str, key: str) -> ObjectHead:
        with _errors(f"s3://{bucket}/{key}"):
            found = self._client.head_object(Bucket=bucket, Key=key)
            content_type, etag = typed(found.get("ContentType", "")), found.get("ETag", "")
            return ObjectHead(int(found["ContentLength"]), content_type, etag.strip('"'), etag)

    def fetch(self, bucket: str, key: str, into: Path) -> None:
        with _errors(f"s3://{bucket}/{key}"):
            self._client.download_file(bucket, key, str(into))

    def opened(self, bucket: str, key: str, copy: Path) -> BinaryIO:
        self.fetch(bucket, key, copy)
        with storage_errors(f"s3://{bucket}/{key}"):
            return copy.open("rb")

    def put(self, file: Path, bucket: str, key: str, content_type: str = "") -> None:
        with _errors(f"s3://{bucket}/{key}"):
            further = {"ContentType": content_type} if content_type else {}
            self._client.upload_file(str(file), bucket, key, ExtraArgs=further)

    def write(self, body: bytes, bucket: str, key: str, content_type: str = "") -> None:
        with _errors(f"s3://{bucket}/{key}"):
            further = {"ContentType": content_type} if content_type else {}
            self._client.put_object(Bucket=bucket, Key=key, Body=body, **further)

    def remove(self, bucket: str, key: str) -> None:
        with _errors(f"s3://{bucket}/{key}"):
            self._client.delete_object(Bucket=bucket, Key=key)


def _errors(url: str) -> AbstractContextManager[None]:
    return storage_errors(url, *ERRORS, owner=_owner)


def _owner(error: BaseException) -> ErrorOwner:
    """Whose an error of the other S3, or of the disk beside it, is."""
    if isinstance(error, S3UploadFailedError) and error.__context__ is not None:  # boto3 hides what S3 said behind it
        return _owner(error.__context__)
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return of_s3(int(status), error.response.get("Error", {}).get("Code", ""))
    if isinstance(error, ParamValidationError):
        return ErrorOwner.CALLER
    return of_s3(0) if isinstance(error, AWAY) else owner_of(error)
